//! The rows of a lane: API calls and python frames split off the ops of a CPU thread, spans by sub-row.

use std::collections::BTreeMap;

use super::ids::Ids;
use super::span_tree::SpanTree;
use crate::analysis::{Cancelled, Layers, OnProgress, Union};
use crate::model::{LaneId, LaneKind, SpanId, Spans, Trace, assign_rows};
use crate::time::TimeRange;

/// Which spans of a lane a leaf shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// All.
    All,
    /// All that is in no other part.
    Work,
    /// API, launch and sync calls.
    Api,
    /// Python frames: deep stacks that would bury everything else.
    Python,
}

/// A lane, or the part of a lane that has rows of its own.
pub struct Leaf {
    /// The lane.
    pub lane: LaneId,
    /// Which of its spans.
    pub part: Part,
    /// Sub-rows, outermost first.
    pub rows: Vec<SubRow>,
    /// Number of spans.
    pub spans: u32,
    /// Busy time over the whole trace (union of all sub-rows), ns.
    pub busy: i64,
    /// What deeper rows cover beyond the first one: spans that outlast what they started in.
    beyond: Union,
}

/// One row: spans that do not overlap.
pub type SubRow = SpanTree<Ids>;

impl SubRow {
    /// Of ascending ids.
    pub(super) fn new(trace: &Trace, layers: &Layers, ids: &[u32]) -> Self {
        Self::over(trace, layers, Ids::new(ids))
    }

    /// Position of a span in the row.
    #[must_use]
    pub fn find(&self, span: SpanId) -> Option<u32> {
        let i = u32::try_from(self.partition_point(|id| id < span)).ok()?;
        ((i as usize) < self.len() && self.id(i) == span).then_some(i)
    }

    /// The last span that starts at or before `t`.
    #[must_use]
    pub fn at_or_before(&self, trace: &Trace, t: i64) -> Option<SpanId> {
        let i = self.partition_point(|id| trace.spans().start(id) <= t);
        i.checked_sub(1).map(|i| self.id(i as u32))
    }

    /// The first span that starts after `t`.
    #[must_use]
    pub fn after(&self, trace: &Trace, t: i64) -> Option<SpanId> {
        let i = self.partition_point(|id| trace.spans().start(id) <= t);
        (i < self.len()).then(|| self.id(i as u32))
    }

    /// Position of the first span from the `from`-th on that ends after `t`: near ones are found at once.
    pub(super) fn first_that_ends_after(&self, trace: &Trace, t: i64, from: u32) -> u32 {
        let ends = |i: usize| trace.spans().end(self.id(i as u32));
        let (mut low, mut step) = (from as usize, 1);
        while low + step <= self.len() && ends(low + step - 1) <= t {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(self.len());
        while low < high {
            let mid = low + (high - low) / 2;
            if ends(mid) <= t {
                low = mid + 1;
            } else {
                high = mid;
            }
        }
        u32::try_from(low).unwrap_or(u32::MAX)
    }
}

impl Leaf {
    /// Busy time of the whole leaf (union of its rows) in a window, ns.
    #[must_use]
    pub fn busy_in(&self, trace: &Trace, layers: &Layers, window: TimeRange) -> i64 {
        let first = self
            .rows
            .first()
            .map_or(0, |r| r.busy_in(trace, layers, window));
        first + self.beyond.measure_in(window)
    }

    /// The rows that together are busy whenever the leaf is: the first, or all where some span outlasts what it
    /// started in.
    pub(super) fn outer_rows(&self) -> &[SubRow] {
        match self.is_its_first_row() {
            true => self.rows.get(..1).unwrap_or_default(),
            false => &self.rows,
        }
    }

    /// Whether the first row is busy whenever the leaf is.
    pub(in crate::view) fn is_its_first_row(&self) -> bool {
        self.beyond.is_empty()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let rows: usize = self
            .rows
            .iter()
            .map(|r| r.heap_bytes() + size_of::<SubRow>())
            .sum();
        rows + self.beyond.heap_bytes()
    }
}

/// Fails once the caller cancelled.
pub(super) fn check(on: OnProgress<'_>) -> Result<(), Cancelled> {
    if on(0) { Ok(()) } else { Err(Cancelled) }
}

/// The leaves of a lane; none where it has no spans.
pub(super) fn build(
    trace: &Trace,
    layers: &Layers,
    lane: LaneId,
    on: OnProgress<'_>,
) -> Result<Vec<Leaf>, Cancelled> {
    check(on)?;
    let ids: Vec<u32> = trace.lane_spans(lane).map(|id| id.0).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let part_of = parts(layers);
    let part = |id: u32| part_of[usize::from(layers.of(SpanId(id)).0)];
    let mut by_part: BTreeMap<Part, Vec<u32>> = BTreeMap::new();
    if trace.lane(lane).kind == LaneKind::Cpu {
        for &id in &ids {
            by_part.entry(part(id)).or_default().push(id);
        }
    }
    if by_part.len() < 2 {
        let part = match by_part.keys().next() {
            None | Some(Part::Work) => Part::All,
            Some(&part) => part,
        };
        let rows = |i: usize| trace.spans().row(SpanId(ids[i]));
        return Ok(vec![leaf(trace, layers, (lane, part), &ids, &rows, on)?]);
    }
    by_part
        .into_iter()
        .map(|(part, ids)| {
            check(on)?;
            let rows = nest(trace.spans(), &ids);
            leaf(trace, layers, (lane, part), &ids, &|i| rows[i], on)
        })
        .collect()
}

/// The part that each layer of a CPU thread belongs to.
fn parts(layers: &Layers) -> Vec<Part> {
    layers
        .infos()
        .iter()
        .map(|l| match l.name.as_str() {
            "launch" | "cuda_api" | "sync" => Part::Api,
            "python" => Part::Python,
            _ => Part::Work,
        })
        .collect()
}

fn leaf(
    trace: &Trace,
    layers: &Layers,
    (lane, part): (LaneId, Part),
    ids: &[u32],
    row_of: &dyn Fn(usize) -> u16,
    on: OnProgress<'_>,
) -> Result<Leaf, Cancelled> {
    let mut by_row: Vec<Vec<u32>> = Vec::new();
    for (i, &id) in ids.iter().enumerate() {
        let row = usize::from(row_of(i));
        if by_row.len() <= row {
            by_row.resize_with(row + 1, Vec::new);
        }
        by_row[row].push(id);
    }
    let spans = trace.spans();
    let rows: Vec<SubRow> = by_row
        .iter()
        .map(|ids| {
            check(on)?;
            Ok(SubRow::new(trace, layers, ids))
        })
        .collect::<Result<_, Cancelled>>()?;
    let beyond = if rows.len() > 1 {
        let union = |ids: &[u32]| Union::from_sorted(ids.iter().map(|&id| spans.range(SpanId(id))));
        union(ids).subtract(&union(&by_row[0]))
    } else {
        Union::empty()
    };
    let first: i64 = by_row
        .first()
        .map_or(0, |ids| ids.iter().map(|&id| spans.dur(SpanId(id))).sum());
    Ok(Leaf {
        lane,
        part,
        rows,
        spans: u32::try_from(ids.len()).unwrap_or(u32::MAX),
        busy: first + beyond.measure(),
        beyond,
    })
}

/// Sub-rows of a selection of a lane's spans, by the rule of the model.
fn nest(spans: &Spans, ids: &[u32]) -> Vec<u16> {
    let column =
        |of: &dyn Fn(SpanId) -> i64| -> Vec<i64> { ids.iter().map(|&id| of(SpanId(id))).collect() };
    let (starts, durs) = (column(&|id| spans.start(id)), column(&|id| spans.dur(id)));
    let mut rows = vec![0; ids.len()];
    assign_rows(&starts, &durs, &mut rows);
    rows
}
