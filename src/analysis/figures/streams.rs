//! Streams of one GPU against each other: were they ever busy at once, and with what.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::analysis::Analysis;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::{Union, UnionBuilder};
use crate::analysis::sums::stats::ratio;
use crate::model::{DeviceId, StreamId, Trace};
use crate::time::TimeRange;

/// Two streams of one GPU in a window. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPair {
    /// The earlier stream in the trace's order.
    pub first: StreamId,
    /// The later one.
    pub second: StreamId,
    /// Both busy.
    pub both: i64,
    /// Busy time of the one that is less busy.
    pub min_busy: i64,
    /// Kernels of both.
    pub kernel_kernel: i64,
    /// The first copies under kernels of the second.
    pub copy_kernel: i64,
    /// Kernels of the first over copies of the second.
    pub kernel_copy: i64,
    /// Communication of the first, kernels of the second.
    pub comm_kernel: i64,
    /// Kernels of the first, communication of the second.
    pub kernel_comm: i64,
}

impl StreamPair {
    /// both / `min_busy`.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        ratio(self.both, self.min_busy)
    }
}

/// Streams of one GPU whose pairs are all computed. Their number grows with the square.
pub const STREAMS_PAIRED: usize = 64;

/// Pairs of streams in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamPairs {
    /// In the order of the trace's streams.
    pub pairs: Vec<StreamPair>,
    /// By GPU: pairs of streams that worked in the window and are not among them, because it has too many.
    pub left_out: BTreeMap<DeviceId, u64>,
}

impl StreamPairs {
    /// Keeps the pairs of some GPUs only.
    pub fn retain_gpus(&mut self, trace: &Trace, mut keep: impl FnMut(DeviceId) -> bool) {
        self.left_out.retain(|&device, _| keep(device));
        self.pairs.retain(|p| keep(trace.stream(p.first).device));
    }

    /// All pairs that were left out.
    #[must_use]
    pub fn count_left_out(&self) -> u64 {
        self.left_out.values().sum()
    }
}

#[derive(Default)]
struct Work {
    any: Union,
    kernels: Union,
    comm: Union,
    copies: Union,
}

fn pair(
    (first, p): (StreamId, &Work),
    (second, q): (StreamId, &Work),
    window: TimeRange,
) -> StreamPair {
    let both = |a: &Union, b: &Union| a.measure_common(b, window);
    StreamPair {
        first,
        second,
        both: both(&p.any, &q.any),
        min_busy: p.any.measure().min(q.any.measure()),
        kernel_kernel: both(&p.kernels, &q.kernels),
        copy_kernel: both(&p.copies, &q.kernels),
        kernel_copy: both(&p.kernels, &q.copies),
        comm_kernel: both(&p.comm, &q.kernels),
        kernel_comm: both(&p.kernels, &q.comm),
    }
}

impl Analysis {
    /// Pairs of streams of the same GPU, in the order of the trace's streams; streams without operations, too. Of a GPU
    /// with more than [`STREAMS_PAIRED`] streams only those of the ones that are busiest in the window; how many others
    /// there are is counted. Costs what lies in the window.
    #[must_use]
    pub fn stream_pairs(&self, window: TimeRange) -> StreamPairs {
        let trace = &self.core.trace;
        let mut by_device: BTreeMap<DeviceId, Vec<StreamId>> = BTreeMap::new();
        for (i, s) in (0_u32..).zip(trace.streams()) {
            if trace.device(s.device).counts {
                by_device.entry(s.device).or_default().push(StreamId(i));
            }
        }
        // A stream alone has no partner.
        let devices: Vec<Vec<StreamId>> = by_device.into_values().filter(|s| s.len() > 1).collect();
        let found: Vec<StreamPairs> = devices
            .par_iter()
            .map(|streams| self.pairs_of(streams, window))
            .collect();
        let mut out = StreamPairs::default();
        for one in found {
            out.pairs.extend(one.pairs);
            out.left_out.extend(one.left_out);
        }
        out.pairs.sort_by_key(|p| (p.first, p.second));
        out
    }

    /// Two streams in a window, of the same GPU or not.
    #[must_use]
    pub fn stream_pair(&self, a: StreamId, b: StreamId, window: TimeRange) -> StreamPair {
        let (first, second) = (a.min(b), a.max(b));
        let (p, q) = (self.work(first, window), self.work(second, window));
        pair((first, &p), (second, &q), window)
    }

    /// Pairs of the streams of one GPU.
    fn pairs_of(&self, streams: &[StreamId], window: TimeRange) -> StreamPairs {
        let mut work: Vec<(StreamId, Work)> = streams
            .par_iter()
            .map(|&s| (s, self.work(s, window)))
            .collect();
        let mut left_out = BTreeMap::new();
        if work.len() > STREAMS_PAIRED {
            work.retain(|(_, w)| !w.any.is_empty());
            work.sort_by_key(|(s, w)| (std::cmp::Reverse(w.any.measure()), *s));
            let pairs = |n: usize| (n as u64) * (n as u64).saturating_sub(1) / 2;
            let others = pairs(work.len()) - pairs(work.len().min(STREAMS_PAIRED));
            if others > 0 {
                left_out.insert(self.trace().stream(streams[0]).device, others);
            }
            work.truncate(STREAMS_PAIRED);
            work.sort_by_key(|(s, _)| *s);
        }
        let ids: Vec<(usize, usize)> = (0..work.len())
            .flat_map(|i| (i + 1..work.len()).map(move |j| (i, j)))
            .collect();
        let of = |i: usize| (work[i].0, &work[i].1);
        let pairs = ids
            .par_iter()
            .map(|&(i, j)| pair(of(i), of(j), window))
            .collect();
        StreamPairs { pairs, left_out }
    }

    fn work(&self, stream: StreamId, window: TimeRange) -> Work {
        let Some(lane) = self.core.trace.stream(stream).ops else {
            return Work::default();
        };
        let columns = self.core.columns(lane);
        let mut found = Vec::new();
        self.core
            .index(lane)
            .open_at(&columns, window.start, |i| found.push(i));
        let (a, b) = columns.start_range(window);
        found.extend(a..b);
        let mut sets: [UnionBuilder; 4] = Default::default();
        for i in found.into_iter().filter(|&i| columns.of[i].is_operation()) {
            let range = columns.range(i).clip(window);
            let class = match columns.of[i] {
                LayerId::GPU_COMPUTE => 1,
                LayerId::GPU_COMM => 2,
                _ => 3,
            };
            sets[0].push(range);
            sets[class].push(range);
        }
        let [any, kernels, comm, copies] = sets.map(UnionBuilder::finish);
        Work {
            any,
            kernels,
            comm,
            copies,
        }
    }

    /// The key of a stream in reports: that of its lane of operations, else one made in the same way.
    #[must_use]
    pub fn stream_key(&self, id: StreamId) -> String {
        let trace = &self.core.trace;
        let s = trace.stream(id);
        if let Some(lane) = s.ops {
            return trace.lane(lane).key.clone();
        }
        let device = trace.device(s.device).index;
        match (s.context, s.process) {
            (Some(context), Some(p)) => {
                format!("G{}.{device}.{context}.{}", trace.process(p).pid, s.number)
            }
            _ => format!("G{device}.{}", s.number),
        }
    }
}
