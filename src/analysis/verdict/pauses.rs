//! What a pause of the loop lies under: names of the loop's own ranges, whether those look like waits for data, where in
//! the step it lies.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::analysis::Analysis;
use crate::analysis::base::marks;
use crate::analysis::figures::judged::Judged;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::names;
use crate::analysis::sums::intervals::Union;
use crate::analysis::verdict::issue::{PauseName, Place};
use crate::model::{LaneId, NameId};
use crate::time::TimeRange;

/// The longest pieces that are looked at.
const PIECES: usize = 200;
/// Names that are told.
const NAMED: usize = 5;

/// Layers whose ranges may name a pause.
const NAMING: [LayerId; 14] = [
    LayerId::ANNOTATION,
    LayerId::OTHER,
    LayerId::TRANSFORM,
    LayerId::LOAD,
    LayerId::H2D,
    LayerId::FORWARD,
    LayerId::BACKWARD,
    LayerId::OPTIMIZER,
    LayerId::COMPUTE,
    LayerId::OP,
    LayerId::SYNCOP,
    LayerId::OS_BLOCK,
    LayerId::CUDA_API,
    LayerId::RECOMPUTE,
];

/// Layers whose names may look like a wait that nobody called one.
const SUSPECTED: [LayerId; 4] = [
    LayerId::ANNOTATION,
    LayerId::OTHER,
    LayerId::TRANSFORM,
    LayerId::LOAD,
];

impl Analysis {
    /// The innermost ranges of the loop over the longest pieces of a pause, the most together first.
    pub(in crate::analysis) fn pause_names(&self, lane: LaneId, pause: &Union) -> Vec<PauseName> {
        let mut pieces = pause.parts().to_vec();
        pieces.sort_by_key(|p| Reverse(p.len()));
        pieces.truncate(PIECES);
        // In the order in which they are found: equally long ones stay in it.
        let mut places: FxHashMap<Option<NameId>, usize> = FxHashMap::default();
        let mut out: Vec<(Option<NameId>, i64, usize)> = Vec::new();
        for piece in pieces {
            let name = self.covering(lane, piece);
            let place = *places.entry(name).or_insert_with(|| {
                out.push((name, 0, 0));
                out.len() - 1
            });
            out[place].1 += piece.len();
            out[place].2 += 1;
        }
        out.sort_by_key(|o| Reverse(o.1));
        out.truncate(NAMED);
        let text = |n: NameId| self.core.trace.name(n).to_owned();
        out.into_iter()
            .map(|(name, ns, n)| PauseName {
                name: name.map(text),
                ns,
                n,
            })
            .collect()
    }

    /// The innermost range that covers a piece, else the one that covers more than half of it; python frames only where
    /// nothing else does.
    fn covering(&self, lane: LaneId, piece: TimeRange) -> Option<NameId> {
        let columns = self.core.columns(lane);
        let index = self.core.index(lane);
        let innermost =
            |at: i64, wanted: &dyn Fn(LayerId) -> bool, fits: &dyn Fn(TimeRange) -> bool| {
                let mut best: Option<((i64, Reverse<i64>), usize)> = None;
                index.open_at(&columns, at, |i| {
                    let range = columns.range(i);
                    let key = (range.start, Reverse(range.end));
                    if wanted(columns.of[i]) && fits(range) && best.is_none_or(|(b, _)| key >= b) {
                        best = Some((key, i));
                    }
                });
                best.map(|(_, i)| self.core.trace.spans().name(columns.id(i)))
            };
        let ranges = |l: LayerId| NAMING.contains(&l);
        let python = |l: LayerId| l == LayerId::PYTHON;
        let whole = |r: TimeRange| r.covers(piece);
        let half = |r: TimeRange| 2 * i128::from(r.clip(piece).len()) > i128::from(piece.len());
        let (start, middle) = (piece.start.saturating_add(1), piece.start + piece.len() / 2);
        let of = |wanted: &dyn Fn(LayerId) -> bool| {
            innermost(start, wanted, &whole).or_else(|| innermost(middle, wanted, &half))
        };
        of(&ranges).or_else(|| of(&python))
    }

    /// Where a pause lies: mostly between the steps, mostly before the first launch of its step, or elsewhere.
    pub(in crate::analysis) fn pause_place(
        &self,
        lane: LaneId,
        pause: &Union,
        judged: &Judged,
    ) -> Place {
        let calls = marks::launch_starts(&self.core, lane);
        let cycles = &self.cycles[judged.rank].all;
        let (mut early, mut between) = (0_i128, 0_i128);
        for piece in pause.parts() {
            let outside = judged.between.measure_in(*piece);
            if outside > 0 {
                between += i128::from(outside);
                continue;
            }
            let k = cycles.partition_point(|c| c.range.start < piece.end);
            if let Some(cycle) = k.checked_sub(1).map(|k| cycles[k]) {
                let i = calls.partition_point(|&c| c < cycle.range.start);
                let first = calls.get(i).copied().unwrap_or(piece.end);
                early += i128::from((piece.end.min(first) - piece.start).max(0));
            }
        }
        let total = i128::from(pause.measure());
        if 2 * between >= total {
            Place::BetweenSteps
        } else if 2 * early >= total {
            Place::StepStart
        } else {
            Place::Inside
        }
    }

    /// The part of a pause under ranges of the loop whose names look like waits, or under fetches of other threads.
    pub(in crate::analysis) fn suspicious(
        &self,
        rank: usize,
        lane: LaneId,
        pause: &Union,
    ) -> Union {
        let columns = self.core.columns(lane);
        let spans = self.core.trace.spans();
        let mut known: BTreeMap<(NameId, bool), bool> = BTreeMap::new();
        let mut found = Vec::new();
        for i in 0..columns.len() {
            let python = columns.of[i] == LayerId::PYTHON;
            if !python && !SUSPECTED.contains(&columns.of[i]) {
                continue;
            }
            let name = spans.name(columns.id(i));
            let suspicious = *known.entry((name, python)).or_insert_with(|| {
                let text = self.core.trace.name(name);
                match python {
                    true => names::waits_in_python(text),
                    false => names::looks_like_wait(text),
                }
            });
            if suspicious {
                found.push(columns.range(i));
            }
        }
        let mut found = Union::from_sorted(found);
        // What another thread of the process waits for is not the loop's wait, but the loop may wait for that thread.
        for other in &self.ranks[rank].fetch_elsewhere {
            if let Some(fetches) = self.core.index(other.lane).union(LayerId::FETCH) {
                found = found.unite(fetches);
            }
        }
        found.intersect(pause)
    }

    /// The range name under which most of a pause that looks like a wait lies.
    pub(in crate::analysis) fn suspect(names: &[PauseName]) -> Option<&str> {
        let texts = names.iter().filter_map(|n| n.name.as_deref());
        let mut all = texts.filter(|n| names::looks_like_wait(n) || names::waits_in_python(n));
        all.next()
    }
}
