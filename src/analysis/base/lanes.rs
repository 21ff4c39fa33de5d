//! One sweep over each lane: its layers' unions, and blocks of counts from which any window is counted without a rescan.
//!
//! ```text
//! spans by start  ▪▪▪▪▪▪▪▪│▪▪▪▪▪▪▪▪│▪▪▪▪▪▪▪▪│▪▪▪▪     blocks of 256, here of 8
//! kept per block  0       │8       │16      │24       count, sum of durations, union of all spans before it
//!                                   ▲▲▲ t             before t: what is kept of its block, and a scan inside the block
//! ```
//!
//! A window's figure is "before its end" − "before its start". The spans that are open at an instant may have started at
//! any time before: a [`MaxTree`] over the latest end of each block leads to the few blocks that hold one.

use std::ops::Range;
use std::sync::Arc;

use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::{Union, UnionBuilder};
use crate::analysis::sums::watch::Watch;
use crate::model::{LaneId, Spans, Trace};
use crate::time::TimeRange;

/// Spans per block: a window's count scans at most two blocks per lane.
const BLOCK: usize = 256;

/// Blocks between two checks whether somebody cancelled.
const CHECK_EVERY: usize = 256;

/// Maxima of blocks of an array of times, for "which blocks hold a value above t" and range maxima.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct MaxTree {
    /// A binary heap: the root is 1, the leaves start at `leaves`.
    nodes: Vec<i64>,
    leaves: usize,
}

impl MaxTree {
    pub fn new(values: &[i64]) -> Self {
        let leaves = values.len().next_power_of_two();
        let mut nodes = vec![i64::MIN; leaves * 2];
        nodes[leaves..leaves + values.len()].copy_from_slice(values);
        for i in (1..leaves).rev() {
            nodes[i] = nodes[2 * i].max(nodes[2 * i + 1]);
        }
        Self { nodes, leaves }
    }

    /// The maximum of all.
    pub fn all(&self) -> Option<i64> {
        self.nodes.get(1).copied()
    }

    /// The maximum of `values[a..b]`.
    pub fn max(&self, a: usize, b: usize) -> i64 {
        let (mut a, mut b) = (a + self.leaves, b + self.leaves);
        let mut out = i64::MIN;
        while a < b {
            if a & 1 == 1 {
                out = out.max(self.nodes[a]);
                a += 1;
            }
            if b & 1 == 1 {
                b -= 1;
                out = out.max(self.nodes[b]);
            }
            a /= 2;
            b /= 2;
        }
        out
    }

    /// Calls `found` with the leaves in `within` whose value is above `t`, ascending.
    pub fn above(&self, t: i64, within: Range<usize>, found: &mut impl FnMut(usize)) {
        if self.leaves > 0 {
            self.walk(1, 0, self.leaves, t, &within, found);
        }
    }

    fn walk(
        &self,
        node: usize,
        first: usize,
        width: usize,
        t: i64,
        within: &Range<usize>,
        found: &mut impl FnMut(usize),
    ) {
        if first >= within.end || first + width <= within.start || self.nodes[node] <= t {
            return;
        }
        if width == 1 {
            found(first);
            return;
        }
        let half = width / 2;
        self.walk(2 * node, first, half, t, within, found);
        self.walk(2 * node + 1, first + half, half, t, within, found);
    }

    pub fn heap_bytes(&self) -> usize {
        self.nodes.capacity() * 8
    }
}

/// Number and total length of the spans of one layer that start in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Started {
    /// How many.
    pub count: u64,
    /// Sum of their whole durations, ns.
    pub whole: i64,
}

/// Spans that count as a lane's own work.
pub(in crate::analysis) fn is_leaf(layer: LayerId) -> bool {
    !matches!(
        layer,
        LayerId::GPU_ANNOTATION | LayerId::GPU_SYNC | LayerId::RECORDER
    )
}

/// The length of a union while it is swept by start.
#[derive(Clone, Copy)]
struct UnionLength {
    length: i64,
    reach: i64,
}

impl Default for UnionLength {
    fn default() -> Self {
        Self {
            length: 0,
            reach: i64::MIN,
        }
    }
}

impl UnionLength {
    fn add(&mut self, range: TimeRange) {
        let start = range.start.max(self.reach);
        if range.end > start {
            self.length += range.end - start;
            self.reach = range.end;
        }
    }
}

/// What one sweep over a lane finds.
#[derive(Debug, Default)]
pub(in crate::analysis) struct LaneIndex {
    /// Per block: union of the spans before it (GPU lanes: without annotations and syncs), and how far they reach.
    busy: Vec<(i64, i64)>,
    /// Layers that occur, ascending.
    pub layers: Vec<LayerId>,
    /// Their unions, parallel to `layers`.
    pub unions: Vec<Arc<Union>>,
    /// Place in `layers` by layer id; `u16::MAX` where it does not occur.
    place: Vec<u16>,
    /// Per block and layer, of the spans before the block: count.
    counts: Vec<u32>,
    /// The same: sum of durations.
    wholes: Vec<i64>,
    /// Latest end per block.
    ends: MaxTree,
}

impl LaneIndex {
    pub fn new(
        trace: &Trace,
        lane: LaneId,
        column: &[LayerId],
        known: usize,
        watch: &Watch<'_>,
    ) -> Self {
        let range = trace.lane(lane).spans.clone();
        let (first, last) = (range.start as usize, range.end as usize);
        let of = &column[first..last];
        let (starts, durs) = (
            &trace.spans().starts()[first..last],
            &trace.spans().durs()[first..last],
        );
        let mut place = vec![u16::MAX; known];
        for layer in of {
            place[layer.index()] = 0;
        }
        let mut layers = Vec::new();
        for (id, p) in (0_u16..).zip(&mut place) {
            if *p == 0 {
                *p = u16::try_from(layers.len()).unwrap_or(u16::MAX);
                layers.push(LayerId(id));
            }
        }
        let width = layers.len();
        let blocks = of.len().div_ceil(BLOCK);
        let mut counts = Vec::with_capacity(blocks * width);
        let mut wholes = Vec::with_capacity(blocks * width);
        let mut ends = Vec::with_capacity(blocks);
        let (mut count, mut whole) = (vec![0_u32; width], vec![0_i64; width]);
        let mut unions = vec![UnionBuilder::default(); width];
        let mut busy = Vec::with_capacity(blocks);
        let mut covered = UnionLength::default();
        for block in 0..blocks {
            if block.is_multiple_of(CHECK_EVERY) && watch.stopped() {
                break;
            }
            counts.extend_from_slice(&count);
            wholes.extend_from_slice(&whole);
            busy.push((covered.length, covered.reach));
            let end = of.len().min((block + 1) * BLOCK);
            let mut latest = i64::MIN;
            for i in block * BLOCK..end {
                let range = TimeRange {
                    start: starts[i],
                    end: starts[i] + durs[i],
                };
                let p = usize::from(place[of[i].index()]);
                count[p] += 1;
                whole[p] = whole[p].saturating_add(durs[i]);
                latest = latest.max(range.end);
                unions[p].push(range);
                if is_leaf(of[i]) {
                    covered.add(range);
                }
            }
            ends.push(latest);
        }
        Self {
            busy,
            layers,
            unions: unions.into_iter().map(|u| Arc::new(u.finish())).collect(),
            place,
            counts,
            wholes,
            ends: MaxTree::new(&ends),
        }
    }

    /// Union of the lane's spans inside a window, ns.
    pub fn busy_in(&self, lane: &Lane<'_>, window: TimeRange) -> i64 {
        if window.is_empty() {
            return 0;
        }
        self.busy_before(lane, window.end) - self.busy_before(lane, window.start)
    }

    fn busy_before(&self, lane: &Lane<'_>, t: i64) -> i64 {
        let n = lane.starts.partition_point(|&s| s < t);
        let Some(block) = n.checked_sub(1).map(|last| last / BLOCK) else {
            return 0;
        };
        let (length, reach) = self.busy[block];
        let mut covered = UnionLength { length, reach };
        for i in (block * BLOCK..n).filter(|&i| is_leaf(lane.of[i])) {
            covered.add(lane.range(i));
        }
        covered.length - covered.reach.saturating_sub(t).max(0)
    }

    /// The layers that occur, with their number of spans.
    pub fn counted(&self, lane: &Lane<'_>) -> Vec<(LayerId, u64)> {
        let all = TimeRange {
            start: i64::MIN,
            end: i64::MAX,
        };
        let counts = self.started(lane, all);
        self.layers
            .iter()
            .copied()
            .zip(counts.into_iter().map(|s| s.count))
            .collect()
    }

    /// The latest end of its spans.
    pub fn last_end(&self) -> Option<i64> {
        self.ends.all().filter(|_| !self.layers.is_empty())
    }

    pub fn union(&self, layer: LayerId) -> Option<&Arc<Union>> {
        let p = usize::from(*self.place.get(layer.index())?);
        self.unions.get(p)
    }

    /// The place in `layers` of a layer that occurs.
    pub fn slot(&self, layer: LayerId) -> usize {
        usize::from(self.place[layer.index()])
    }

    /// Per layer of `self.layers`: the spans with index in `[0, i)` of the lane.
    fn before(&self, lane: &Lane<'_>, i: usize, out: &mut [Started], sign: i64) {
        let width = self.layers.len();
        let block = (i / BLOCK).min((lane.starts.len().saturating_sub(1)) / BLOCK);
        if lane.starts.is_empty() {
            return;
        }
        for (p, slot) in out.iter_mut().enumerate() {
            let n = i64::from(self.counts[block * width + p]);
            slot.count = slot.count.wrapping_add_signed(sign * n);
            slot.whole = slot
                .whole
                .wrapping_add(sign * self.wholes[block * width + p]);
        }
        for k in block * BLOCK..i {
            let slot = &mut out[usize::from(self.place[lane.of[k].index()])];
            slot.count = slot.count.wrapping_add_signed(sign);
            slot.whole = slot.whole.wrapping_add(sign * lane.durs[k]);
        }
    }

    /// The spans that start in `window`, per layer of `self.layers`.
    pub fn started(&self, lane: &Lane<'_>, window: TimeRange) -> Vec<Started> {
        let mut out = vec![Started::default(); self.layers.len()];
        if !window.is_empty() {
            let (a, b) = lane.start_range(window);
            self.before(lane, b, &mut out, 1);
            self.before(lane, a, &mut out, -1);
        }
        out
    }

    /// Calls `found` with the indices in the lane of the spans with start < t < end, ascending.
    pub fn open_at(&self, lane: &Lane<'_>, t: i64, found: impl FnMut(usize)) {
        let n = lane.starts.partition_point(|&s| s < t);
        self.open_before(lane, n, t, found);
    }

    /// The same of the first `n` spans of the lane that end after `t`.
    pub fn open_before(&self, lane: &Lane<'_>, n: usize, t: i64, mut found: impl FnMut(usize)) {
        self.ends.above(t, 0..n.div_ceil(BLOCK), &mut |block| {
            for i in block * BLOCK..n.min((block + 1) * BLOCK) {
                if lane.starts[i] + lane.durs[i] > t {
                    found(i);
                }
            }
        });
    }

    pub fn heap_bytes(&self) -> usize {
        self.counts.capacity() * 4
            + self.wholes.capacity() * 8
            + self.ends.heap_bytes()
            + self.place.capacity() * 2
            + self.busy.capacity() * 16
    }

    /// Frees the unions that are not needed per lane.
    pub fn keep(&mut self, wanted: impl Fn(LayerId) -> bool) {
        for (layer, union) in self.layers.iter().zip(&mut self.unions) {
            if !wanted(*layer) {
                *union = Arc::default();
            }
        }
    }
}

/// The columns of one lane.
#[derive(Clone, Copy)]
pub(in crate::analysis) struct Lane<'a> {
    pub first: u32,
    pub starts: &'a [i64],
    pub durs: &'a [i64],
    pub of: &'a [LayerId],
}

impl<'a> Lane<'a> {
    pub fn new(trace: &'a Trace, column: &'a [LayerId], lane: LaneId) -> Self {
        let range = trace.lane(lane).spans.clone();
        let spans: &Spans = trace.spans();
        let (a, b) = (range.start as usize, range.end as usize);
        Self {
            first: range.start,
            starts: &spans.starts()[a..b],
            durs: &spans.durs()[a..b],
            of: &column[a..b],
        }
    }

    /// Indices of the spans that start in `window`.
    pub fn start_range(&self, window: TimeRange) -> (usize, usize) {
        let a = self.starts.partition_point(|&s| s < window.start);
        let b = self.starts.partition_point(|&s| s < window.end);
        (a, b.max(a))
    }

    pub fn range(&self, i: usize) -> TimeRange {
        TimeRange {
            start: self.starts[i],
            end: self.starts[i] + self.durs[i],
        }
    }

    pub fn id(&self, i: usize) -> crate::model::SpanId {
        crate::model::SpanId(self.first + u32::try_from(i).unwrap_or(u32::MAX))
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }
}
