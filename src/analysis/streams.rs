//! Streams of one GPU against each other: were they ever busy at once, and with what.

use rayon::prelude::*;

use super::Analysis;
use super::intervals::{Union, UnionBuilder};
use super::layers::LayerId;
use super::stats::ratio;
use crate::model::StreamId;
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

#[derive(Default)]
struct Work {
    any: Union,
    kernels: Union,
    comm: Union,
    copies: Union,
}

impl Analysis {
    /// All pairs of streams of the same GPU, in the order of the trace's streams; streams without operations, too.
    /// Costs what lies in the window.
    #[must_use]
    pub fn stream_pairs(&self, window: TimeRange) -> Vec<StreamPair> {
        let trace = &self.core.trace;
        let ids = (0_u32..).zip(trace.streams());
        let streams: Vec<(StreamId, &crate::model::Stream)> = ids
            .map(|(i, s)| (StreamId(i), s))
            .filter(|(_, s)| trace.device(s.device).counts)
            .collect();
        let work: Vec<Work> = streams
            .par_iter()
            .map(|(_, s)| self.work(s, window))
            .collect();
        let pairs: Vec<(usize, usize)> = (0..streams.len())
            .flat_map(|i| (i + 1..streams.len()).map(move |j| (i, j)))
            .filter(|&(i, j)| streams[i].1.device == streams[j].1.device)
            .collect();
        let pair = |&(i, j): &(usize, usize)| {
            let (p, q) = (&work[i], &work[j]);
            let both = |a: &Union, b: &Union| a.measure_common(b, window);
            StreamPair {
                first: streams[i].0,
                second: streams[j].0,
                both: both(&p.any, &q.any),
                min_busy: p.any.measure().min(q.any.measure()),
                kernel_kernel: both(&p.kernels, &q.kernels),
                copy_kernel: both(&p.copies, &q.kernels),
                kernel_copy: both(&p.kernels, &q.copies),
                comm_kernel: both(&p.comm, &q.kernels),
                kernel_comm: both(&p.kernels, &q.comm),
            }
        };
        pairs.par_iter().map(pair).collect()
    }

    fn work(&self, stream: &crate::model::Stream, window: TimeRange) -> Work {
        let Some(lane) = stream.ops else {
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
