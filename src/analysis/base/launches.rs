//! Launch links by calling lane and GPU: what a stretch of a thread launched, in O(log n).
//!
//! ```text
//! links    lane 1, GPU 0 │ lane 1, GPU 1 │ lane 2, GPU 0      sorted by (lane, GPU, call): a stretch of time is one range
//! range             ░░░░░├───┼───┼───┼───┤░░                  whole blocks of 128 from sums and trees, ░ link by link
//! ```

use std::ops::Range;

use crate::analysis::base::lanes::MaxTree;
use crate::analysis::identity::Identity;
use crate::analysis::layers::ids::{LayerId, Layers};
use crate::model::{LaneId, Link, SourceId, SpanId, Trace};
use crate::time::TimeRange;

/// Links per block of the aggregates.
const BLOCK: usize = 128;

/// The links of one calling lane to one GPU, by start of the call.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct LinkGroup {
    pub lane: LaneId,
    pub gpu: usize,
    pub links: Range<usize>,
}

/// All links to operations, sorted by (calling lane, GPU, call).
#[derive(Debug, Default)]
pub(in crate::analysis) struct Launches {
    /// `None` where it equals the trace's own list.
    own: Option<Vec<Link>>,
    pub groups: Vec<LinkGroup>,
    /// Per lane: its groups.
    by_lane: Vec<Range<usize>>,
    /// Per process: the lanes of operations that its calls launched.
    lanes_of: Vec<Vec<LaneId>>,
    /// Lanes of operations of which no call is known.
    unlinked: Vec<LaneId>,
    /// Per source: start of the last launch call without an operation.
    last_open: Vec<Option<i64>>,
    /// Per GPU: start of the last call that launched an operation on it.
    last_call: Vec<Option<i64>>,
    /// Per block: durations of the operations before it.
    sums: Vec<i64>,
    /// Per block: latest end.
    last: MaxTree,
    /// Per block: earliest start, negated.
    first: MaxTree,
    /// Per block: earliest start of a kernel (`gpu.compute`), negated.
    kernel: MaxTree,
}

/// What a set of launch calls started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Operations.
    pub n_ops: u64,
    /// Sum of their durations, ns.
    pub sum: i64,
    /// Earliest start, ns.
    pub first: Option<i64>,
    /// Latest end, ns.
    pub last: Option<i64>,
    /// Earliest start of a kernel, ns.
    pub first_kernel: Option<i64>,
}

impl Default for Launched {
    fn default() -> Self {
        Self::NOTHING
    }
}

impl Launched {
    /// Nothing was launched.
    pub const NOTHING: Self = Self {
        n_ops: 0,
        sum: 0,
        first: None,
        last: None,
        first_kernel: None,
    };

    pub(in crate::analysis) fn add(&mut self, other: &Self) {
        let low = |a: Option<i64>, b: Option<i64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.n_ops += other.n_ops;
        self.sum = self.sum.saturating_add(other.sum);
        self.first = low(self.first, other.first);
        self.first_kernel = low(self.first_kernel, other.first_kernel);
        self.last = self.last.max(other.last);
    }
}

impl Launches {
    pub fn new(
        trace: &Trace,
        layers: &Layers,
        lane_gpu: &[Option<usize>],
        identity: &Identity,
    ) -> Self {
        let spans = trace.spans();
        let gpu = |l: &Link| {
            let op = layers.of(l.to).is_operation();
            lane_gpu[spans.lane(l.to).index()].filter(|_| op)
        };
        let mut out = Self {
            by_lane: vec![0..0; trace.lanes().len()],
            ..Self::default()
        };
        let all = trace.launches();
        let key = |l: &Link| (spans.lane(l.from), gpu(l));
        let fine = all.iter().all(|l| gpu(l).is_some()) && all.is_sorted_by_key(key);
        if !fine {
            let mut links: Vec<Link> = all.iter().copied().filter(|l| gpu(l).is_some()).collect();
            links.sort_by_key(key);
            out.own = Some(links);
        }
        let links = out.own.as_deref().unwrap_or(all);
        let mut at = 0;
        while at < links.len() {
            let (lane, g) = key(&links[at]);
            let n = links[at..].partition_point(|l| key(l) == (lane, g));
            let slot = &mut out.by_lane[lane.index()];
            let place = out.groups.len();
            let start = if slot.end == 0 { place } else { slot.start };
            *slot = start..place + 1;
            out.groups.push(LinkGroup {
                lane,
                gpu: g.unwrap_or_default(),
                links: at..at + n,
            });
            at += n;
        }
        let blocks = links.len().div_ceil(BLOCK);
        let (mut last, mut first, mut kernel) = (Vec::new(), Vec::new(), Vec::new());
        out.sums.reserve_exact(blocks);
        let mut sum = 0_i64;
        for block in links.chunks(BLOCK) {
            out.sums.push(sum);
            let mut all = Launched::NOTHING;
            for link in block {
                all.add(&one(trace, layers, link.to));
            }
            sum = sum.saturating_add(all.sum);
            last.push(all.last.unwrap_or(i64::MIN));
            first.push(all.first.map_or(i64::MIN, |f| -f));
            kernel.push(all.first_kernel.map_or(i64::MIN, |f| -f));
        }
        out.last = MaxTree::new(&last);
        out.first = MaxTree::new(&first);
        out.kernel = MaxTree::new(&kernel);
        out.index(trace, layers, lane_gpu, identity);
        out
    }

    /// What is asked for per process, source and GPU.
    fn index(
        &mut self,
        trace: &Trace,
        layers: &Layers,
        lane_gpu: &[Option<usize>],
        identity: &Identity,
    ) {
        let spans = trace.spans();
        let gpus = lane_gpu.iter().flatten().max().map_or(0, |&g| g + 1);
        self.last_call = vec![None; gpus];
        self.lanes_of = vec![Vec::new(); identity.processes.len()];
        let mut linked = vec![false; trace.lanes().len()];
        for group in &self.groups {
            let links = &self.own.as_deref().unwrap_or(trace.launches())[group.links.clone()];
            let last = links.last().map(|l| spans.start(l.from));
            self.last_call[group.gpu] = self.last_call[group.gpu].max(last);
            let mut lanes: Vec<LaneId> = links.iter().map(|l| spans.lane(l.to)).collect();
            lanes.sort_unstable();
            lanes.dedup();
            for lane in &lanes {
                linked[lane.index()] = true;
            }
            if let Some(process) = identity.process(group.lane) {
                self.lanes_of[process].extend(lanes);
            }
        }
        for lanes in &mut self.lanes_of {
            lanes.sort_unstable();
            lanes.dedup();
        }
        self.last_open = vec![None; trace.sources().len()];
        for id in trace.lane_ids() {
            let lane = trace.lane(id);
            if lane_gpu[id.index()].is_some() && !linked[id.index()] {
                self.unlinked.push(id);
            }
            if lane.kind.is_gpu() {
                continue;
            }
            let is_open =
                |s: &SpanId| layers.of(*s) == LayerId::LAUNCH && trace.launched_by(*s).is_empty();
            // Spans are in order of their starts: the last one comes first here.
            let last = trace
                .lane_spans(id)
                .rev()
                .find(is_open)
                .map(|s| spans.start(s));
            let slot = &mut self.last_open[lane.source.index()];
            *slot = (*slot).max(last);
        }
    }

    /// Lanes of operations that a process may have launched: those that its calls launched on, and those of which no call
    /// is known.
    pub fn lanes_for(&self, process: usize) -> impl Iterator<Item = LaneId> + '_ {
        self.lanes_of[process].iter().chain(&self.unlinked).copied()
    }

    /// Whether a launch call of a source that starts after `t` has no operation.
    pub fn open_after(&self, source: SourceId, t: i64) -> bool {
        self.last_open[source.index()].is_some_and(|last| last > t)
    }

    /// Start of the last call that launched an operation on a GPU.
    pub fn last_call(&self, gpu: usize) -> Option<i64> {
        self.last_call.get(gpu).copied().flatten()
    }

    pub fn links<'a>(&'a self, trace: &'a Trace) -> &'a [Link] {
        self.own.as_deref().unwrap_or(trace.launches())
    }

    pub fn groups_of(&self, lane: LaneId) -> &[LinkGroup] {
        &self.groups[self.by_lane[lane.index()].clone()]
    }

    /// Number of operations that calls on a lane launched.
    pub fn count(&self, lane: LaneId) -> usize {
        self.groups_of(lane).iter().map(|t| t.links.len()).sum()
    }

    /// The links of a group whose call starts in `window`.
    pub fn within(&self, trace: &Trace, group: &LinkGroup, window: TimeRange) -> Range<usize> {
        let links = &self.links(trace)[group.links.clone()];
        let spans = trace.spans();
        let a = links.partition_point(|l| spans.start(l.from) < window.start);
        let b = links.partition_point(|l| spans.start(l.from) < window.end);
        group.links.start + a..group.links.start + b.max(a)
    }

    /// What the links of a range launched together.
    pub fn sum(&self, trace: &Trace, layers: &Layers, range: Range<usize>) -> Launched {
        let links = self.links(trace);
        let mut out = Launched::NOTHING;
        if range.is_empty() {
            return out;
        }
        let (a, b) = (range.start.div_ceil(BLOCK), range.end / BLOCK);
        if a >= b {
            for link in &links[range] {
                out.add(&one(trace, layers, link.to));
            }
            return out;
        }
        for link in links[range.start..a * BLOCK]
            .iter()
            .chain(&links[b * BLOCK..range.end])
        {
            out.add(&one(trace, layers, link.to));
        }
        let end = |b: usize| match self.sums.get(b) {
            Some(&s) => s,
            // The last block is full and nothing follows it: its own sum is added.
            None => {
                let tail = &links[(b - 1) * BLOCK..b * BLOCK];
                self.sums[b - 1] + tail.iter().map(|l| trace.spans().dur(l.to)).sum::<i64>()
            }
        };
        let known = |v: i64| (v != i64::MIN).then_some(v);
        out.add(&Launched {
            n_ops: ((b - a) * BLOCK) as u64,
            sum: end(b) - self.sums[a],
            first: known(self.first.max(a, b)).map(|v| -v),
            last: known(self.last.max(a, b)),
            first_kernel: known(self.kernel.max(a, b)).map(|v| -v),
        });
        out
    }

    /// The first operation of a range that ends at `end`.
    pub fn ending_at(&self, trace: &Trace, range: Range<usize>, end: i64) -> Option<SpanId> {
        let links = self.links(trace);
        let spans = trace.spans();
        let hit = |r: Range<usize>| links[r].iter().map(|l| l.to).find(|&o| spans.end(o) == end);
        let (a, b) = (range.start.div_ceil(BLOCK), range.end / BLOCK);
        if a >= b {
            return hit(range);
        }
        if let Some(op) = hit(range.start..a * BLOCK) {
            return Some(op);
        }
        let mut leaf = None;
        self.last.above(end - 1, a..b, &mut |block| {
            leaf.get_or_insert(block);
        });
        leaf.and_then(|block| hit(block * BLOCK..(block + 1) * BLOCK))
            .or_else(|| hit(b * BLOCK..range.end))
    }

    pub fn heap_bytes(&self) -> usize {
        self.own
            .as_ref()
            .map_or(0, |o| o.capacity() * size_of::<Link>())
            + self.sums.capacity() * 8
            + self.last.heap_bytes()
            + self.first.heap_bytes()
            + self.kernel.heap_bytes()
    }
}

fn one(trace: &Trace, layers: &Layers, op: SpanId) -> Launched {
    let range = trace.spans().range(op);
    Launched {
        n_ops: 1,
        sum: range.end - range.start,
        first: Some(range.start),
        last: Some(range.end),
        first_kernel: (layers.of(op) == LayerId::GPU_COMPUTE).then_some(range.start),
    }
}
