//! Level of detail: per row of every lane a tree over its spans (leaves of 8, factor 4: hull, busy sum, count, layer
//! with the most time), so that a row costs the same at every zoom. Built once per trace, off the UI thread.
//!
//! ```text
//! window          |---------------------------------------------------|                 what the canvas shows
//! level 1   [-- a -------------------------------------------------------------------]  4 nodes of level 0
//! level 0   [-- b -------------][-- c ---------][-- d -----------][-- e -------------]  4 leaves each, 32 spans
//! leaves    [---][---][---][---][-][-][---][---][--][---][---][--][---][---][---][---]  8 spans each
//! spans     ▪▪ ▪▪▪▪ ▪ ▪▪▪▪▪▪ ▪▪ ▪ ▪▪▪▪ ▪▪▪▪▪▪ ▪▪▪▪ ▪▪▪▪▪▪ ▪ ▪▪▪▪▪▪▪▪▪ ▪▪▪▪▪▪▪ ▪▪▪▪ ▪▪
//! pieces          ▪ ▪ ▪▪▪▪▪▪ ▪▪ [-- c ---------][-- d -----------]▪▪▪ ▪                 what a walk yields
//! ```
//!
//! A walk starts at the top. A node outside of the window is passed over. A node inside of it in which no span or gap
//! would be wide enough to be drawn for itself (see `merges` in `tree`) is yielded whole: one [`Piece`], as c and d
//! above. What is neither, as a, b and e, is opened, down to the single spans. So what a walk costs depends on the
//! points of the canvas, not on the spans in its window. Busy sums are exact integers, and what a window cuts is
//! walked span by span: nothing is estimated.
//!
//! A [`SpanTree`] is a list of spans with such a tree. The lists differ in how ids are kept and in what a span adds: a
//! sub-row of a lane, and the search hits in it, count each span whole; the row of a collapsed group counts only what
//! no earlier span covers. Waits and the busy time of GPUs have trees over their unions; counters and instants have
//! levels of their own (`samples`).

mod collectives;
mod group;
mod highlights;
mod ids;
mod leaf;
mod samples;
mod span_tree;
mod tails;
pub(in crate::view) mod tree;

use std::collections::BTreeMap;

use rayon::prelude::*;

pub use collectives::CollectiveRow;
pub use group::GroupRow;
pub use highlights::Highlights;
pub use leaf::{Leaf, Part, SubRow};
pub use samples::{
    Columns, CounterTree, Extremes, InstantRow, format_sample, format_value, value_at,
};
pub use span_tree::{SpanList, SpanTree};
pub use tails::TailRow;
pub use tree::{Intervals, Piece, Tree};

use crate::analysis::{Analysis, Cancelled, LayerId, OnProgress, Union};
use crate::model::{LaneId, SpanId, Trace};

/// Levels of detail of a whole trace.
pub struct Lod {
    leaves: Vec<Leaf>,
    /// First leaf of each lane; one more at the end.
    first: Vec<u32>,
    gpu_busy: Vec<Tree>,
    /// Per GPU, when it only communicates.
    gpu_comm: Vec<(Union, Tree)>,
    ranks: Vec<RankTrees>,
    waits: Vec<WaitRow>,
    /// Place of each row in `waits`, by leaf and sub-row.
    wait_at: BTreeMap<(u32, u16), u32>,
    /// Per rank, those of [`Analysis::waits`] that are its own.
    rank_waits: Vec<Vec<u32>>,
    tails: BTreeMap<(u32, u16), TailRow>,
    collectives: BTreeMap<(u32, u16), CollectiveRow>,
    counters: Vec<CounterTree>,
    instants: Vec<InstantRow>,
}

/// Levels of detail of a rank's waits; the intervals are those of [`crate::analysis::Rank`].
#[derive(Clone, Debug, Default)]
pub struct RankTrees {
    /// Over `wait`.
    pub wait: Tree,
    /// Over `wait_exposed`.
    pub exposed: Tree,
    /// Over `wait_unrecorded`.
    pub unrecorded: Tree,
    /// The exposed waits cost enough for a warning, as in verdicts.
    pub costly: bool,
}

/// The batch waits of one row of a loop lane.
#[derive(Clone, Debug)]
pub struct WaitRow {
    /// Index in [`Analysis::ranks`].
    pub rank: usize,
    /// Index in [`Lod::leaves`].
    pub leaf: u32,
    /// Sub-row in that leaf.
    pub sub: u16,
    /// Wait spans there, by start.
    pub spans: Vec<SpanId>,
    /// For each of them, whether it lies inside a wait of a row above.
    pub inner: Vec<bool>,
    /// What of them is exposed.
    pub exposed: Union,
    /// Levels of detail of `exposed`.
    pub exposed_tree: Tree,
    /// What of them is not recorded.
    pub unrecorded: Union,
    /// Levels of detail of `unrecorded`.
    pub unrecorded_tree: Tree,
}

impl Lod {
    /// Builds all levels, on all cores.
    #[must_use]
    pub fn build(trace: &Trace, analysis: &Analysis) -> Self {
        match Self::build_while(trace, analysis, &|_| true) {
            Ok(this) => this,
            Err(Cancelled) => unreachable!("nobody cancels"),
        }
    }

    /// The same, as long as `on` says so. It is asked often, from several threads.
    ///
    /// # Errors
    /// When `on` returned `false`.
    pub fn build_while(
        trace: &Trace,
        analysis: &Analysis,
        on: OnProgress<'_>,
    ) -> Result<Self, Cancelled> {
        let lanes: Vec<LaneId> = trace.lane_ids().collect();
        let per_lane = lanes
            .into_par_iter()
            .map(|lane| leaf::build(trace, analysis.layers(), lane, on))
            .collect::<Result<Vec<Vec<Leaf>>, Cancelled>>()?;
        let mut first = Vec::with_capacity(per_lane.len() + 1);
        let mut leaves = Vec::new();
        for lane in per_lane {
            first.push(u32::try_from(leaves.len()).unwrap_or(u32::MAX));
            leaves.extend(lane);
        }
        first.push(u32::try_from(leaves.len()).unwrap_or(u32::MAX));
        leaf::check(on)?;
        let gpu_busy = analysis
            .gpus()
            .par_iter()
            .map(|g| Tree::of_union(&g.busy))
            .collect();
        let gpu_comm = (0..analysis.gpus().len()).map(|g| {
            let only = analysis.only_communication(g);
            let tree = Tree::of_union(&only);
            (only, tree)
        });
        let gpu_comm = gpu_comm.collect();
        let counters = trace.counters().par_iter().map(|counter| {
            leaf::check(on)?;
            Ok(CounterTree::new(counter))
        });
        let counters = counters.collect::<Result<_, Cancelled>>()?;
        let mut this = Self {
            leaves,
            first,
            gpu_busy,
            gpu_comm,
            ranks: analysis
                .ranks()
                .iter()
                .enumerate()
                .map(|(i, r)| RankTrees {
                    costly: analysis
                        .exposed_share(i)
                        .is_some_and(|s| s.telling() >= analysis.options().warn),
                    wait: Tree::of_union(&r.wait),
                    exposed: Tree::of_union(&r.wait_exposed),
                    unrecorded: Tree::of_union(&r.wait_unrecorded),
                })
                .collect(),
            waits: Vec::new(),
            wait_at: BTreeMap::new(),
            rank_waits: rank_waits(analysis),
            tails: BTreeMap::new(),
            collectives: BTreeMap::new(),
            counters,
            instants: InstantRow::all(trace),
        };
        this.waits = this.wait_rows(trace, analysis, on)?;
        let places = (0..).zip(&this.waits);
        this.wait_at = places.map(|(i, w)| ((w.leaf, w.sub), i)).collect();
        leaf::check(on)?;
        this.tails = tails::rows(trace, analysis, &this);
        this.collectives = collectives::rows(trace, analysis, &this);
        Ok(this)
    }

    /// Rows of all lanes: one leaf per lane, two where API calls were split off.
    #[must_use]
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// A leaf.
    #[must_use]
    pub fn leaf(&self, index: u32) -> &Leaf {
        &self.leaves[index as usize]
    }

    /// Indices of the leaves of a lane.
    pub fn leaves_of(&self, lane: LaneId) -> impl ExactSizeIterator<Item = u32> + use<> {
        self.first[lane.index()]..self.first[lane.index() + 1]
    }

    /// Where a span is drawn: (leaf, sub-row).
    #[must_use]
    pub fn place(&self, trace: &Trace, span: SpanId) -> Option<(u32, u16)> {
        let lane = trace.spans().lane(span);
        self.leaves_of(lane).find_map(|leaf| {
            let rows = &self.leaves[leaf as usize].rows;
            let sub = rows.iter().position(|r| r.find(span).is_some())?;
            Some((leaf, u16::try_from(sub).ok()?))
        })
    }

    /// Busy intervals of a GPU: index in [`Analysis::gpus`].
    #[must_use]
    pub fn gpu_busy(&self, gpu: usize) -> &Tree {
        &self.gpu_busy[gpu]
    }

    /// When a GPU does nothing but communicate: index in [`Analysis::gpus`].
    #[must_use]
    pub fn gpu_comm(&self, gpu: usize) -> &(Union, Tree) {
        &self.gpu_comm[gpu]
    }

    /// Waits of a rank: index in [`Analysis::ranks`].
    #[must_use]
    pub fn rank(&self, rank: usize) -> &RankTrees {
        &self.ranks[rank]
    }

    /// The tails of a sub-row of a leaf, if it has any.
    #[must_use]
    pub fn tails(&self, leaf: u32, sub: u16) -> Option<&TailRow> {
        self.tails.get(&(leaf, sub))
    }

    /// The matched collectives of a sub-row of a leaf, if it has any.
    #[must_use]
    pub fn collectives(&self, leaf: u32, sub: u16) -> Option<&CollectiveRow> {
        self.collectives.get(&(leaf, sub))
    }

    /// Least and greatest values of a counter: index in [`Trace::counters`].
    #[must_use]
    pub fn counter(&self, index: u32) -> &CounterTree {
        &self.counters[index as usize]
    }

    /// Instants by lane.
    #[must_use]
    pub fn instants(&self) -> &[InstantRow] {
        &self.instants
    }

    /// The instants of a lane: index in [`Self::instants`].
    #[must_use]
    pub fn instants_of(&self, lane: LaneId) -> Option<u32> {
        let at = self.instants.binary_search_by_key(&Some(lane), |r| r.lane);
        at.ok().and_then(|i| u32::try_from(i).ok())
    }

    /// Batch waits by row of the loop lanes.
    #[must_use]
    pub fn waits(&self) -> &[WaitRow] {
        &self.waits
    }

    /// The batch waits of a rank (index in [`Analysis::ranks`]), by start: indices in [`Analysis::waits`].
    #[must_use]
    pub fn waits_of(&self, rank: usize) -> &[u32] {
        self.rank_waits.get(rank).map_or(&[], Vec::as_slice)
    }

    /// The batch waits of a sub-row of a leaf, if it has any.
    #[must_use]
    pub fn waits_at(&self, leaf: u32, sub: u16) -> Option<&WaitRow> {
        let at = *self.wait_at.get(&(leaf, sub))?;
        self.waits.get(at as usize)
    }

    /// Bytes held per trace, all levels together.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.span_bytes() + self.sample_bytes()
    }

    /// Of [`Self::heap_bytes`]: what samples of counters and instants take.
    #[must_use]
    pub fn sample_bytes(&self) -> usize {
        let counters: usize = self.counters.iter().map(CounterTree::heap_bytes).sum();
        let instants: usize = self.instants.iter().map(|r| r.ids.capacity() * 4).sum();
        counters + instants
    }

    /// Of [`Self::heap_bytes`]: what spans, waits and tails take.
    fn span_bytes(&self) -> usize {
        let leaves: usize = self.leaves.iter().map(Leaf::heap_bytes).sum();
        let busy: usize = self.gpu_busy.iter().map(Tree::heap_bytes).sum();
        let waits: usize = self
            .waits
            .iter()
            .map(|w| {
                w.spans.capacity() * 5
                    + w.exposed.heap_bytes()
                    + w.exposed_tree.heap_bytes()
                    + w.unrecorded.heap_bytes()
                    + w.unrecorded_tree.heap_bytes()
            })
            .sum();
        let ranks: usize = self
            .ranks
            .iter()
            .map(|r| r.wait.heap_bytes() + r.exposed.heap_bytes() + r.unrecorded.heap_bytes())
            .sum();
        let tails: usize = self.tails.values().map(TailRow::heap_bytes).sum();
        let comm: usize = self
            .gpu_comm
            .iter()
            .map(|(u, t)| u.heap_bytes() + t.heap_bytes())
            .sum();
        let collectives = self.collectives.values();
        let collectives: usize = collectives.map(CollectiveRow::heap_bytes).sum();
        let own: usize = self.rank_waits.iter().map(|w| w.capacity() * 4).sum();
        leaves + busy + comm + waits + ranks + tails + collectives + own
    }

    fn wait_rows(
        &self,
        trace: &Trace,
        analysis: &Analysis,
        on: OnProgress<'_>,
    ) -> Result<Vec<WaitRow>, Cancelled> {
        let mut out = Vec::new();
        for (rank, info) in analysis.ranks().iter().enumerate() {
            let Some(lane) = info.loop_lane else {
                continue;
            };
            for leaf in self.leaves_of(lane) {
                leaf::check(on)?;
                out.extend(self.wait_rows_of(trace, analysis, rank, leaf));
            }
        }
        Ok(out)
    }

    fn wait_rows_of(
        &self,
        trace: &Trace,
        analysis: &Analysis,
        rank: usize,
        leaf: u32,
    ) -> Vec<WaitRow> {
        let info = &analysis.ranks()[rank];
        let layers = analysis.layers();
        let is_wait: Vec<bool> = layers
            .infos()
            .iter()
            .map(|l| l.class == crate::analysis::LayerClass::Wait)
            .collect();
        let wait_layer = |id: LayerId| is_wait[usize::from(id.0)];
        // Rows go from the outside in: what lies inside an outer wait is part of the same wait.
        let mut outside = Union::empty();
        let mut out = Vec::new();
        for (sub, row) in self.leaf(leaf).rows.iter().enumerate() {
            let range = |id: SpanId| trace.spans().range(id);
            let spans: Vec<SpanId> = row.ids().filter(|&id| wait_layer(layers.of(id))).collect();
            if spans.is_empty() {
                continue;
            }
            let inner = spans
                .iter()
                .map(|&id| outside.measure_in(range(id)) == range(id).len())
                .collect();
            let here = Union::from_sorted(spans.iter().map(|&id| range(id)));
            let exposed = here.intersect(&info.wait_exposed);
            let unrecorded = here.intersect(&info.wait_unrecorded);
            out.push(WaitRow {
                rank,
                leaf,
                sub: u16::try_from(sub).unwrap_or(u16::MAX),
                exposed_tree: Tree::of_union(&exposed),
                exposed,
                unrecorded_tree: Tree::of_union(&unrecorded),
                unrecorded,
                spans,
                inner,
            });
            outside = outside.unite(&here);
        }
        out
    }
}

fn rank_waits(analysis: &Analysis) -> Vec<Vec<u32>> {
    let mut out = vec![Vec::new(); analysis.ranks().len()];
    for (i, wait) in (0_u32..).zip(analysis.waits()) {
        out[wait.rank].push(i);
    }
    out
}
