//! Places that show an issue: waits, gaps, calls, operations, the largest first.

use std::cmp::Reverse;

use crate::analysis::Analysis;
use crate::analysis::base::gpus::GapCause;
use crate::analysis::figures::gpu::Gap;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::verdict::facts::Facts;
use crate::analysis::verdict::issue::{Evidence, IssueKind};
use crate::model::SpanId;
use crate::time::TimeRange;

impl Analysis {
    /// At most three places that show an issue, the largest first: by what they cost inside the judged steps. Ranges lie
    /// inside the trace, also where the record begins before its first span.
    pub(in crate::analysis) fn evidence(
        &self,
        kind: IssueKind,
        facts: &Facts<'_>,
    ) -> Vec<Evidence> {
        let extent = self.core.trace.extent();
        let mut places = self.places(kind, facts);
        for place in &mut places {
            place.range = place.range.clip(extent);
        }
        places
    }

    fn places(&self, kind: IssueKind, facts: &Facts<'_>) -> Vec<Evidence> {
        let inside = |r: TimeRange| !facts.set.parts_in(r).is_empty();
        // The part of a set that lies both in a range and in the judged steps.
        let judged = |of: &Union, range: TimeRange| -> i64 {
            let parts = facts.set.parts_in(range).iter();
            parts.map(|p| of.measure_in(p.clip(range))).sum()
        };
        match kind {
            IssueKind::InputBound
            | IssueKind::InputWait
            | IssueKind::InputOk
            | IssueKind::NoSingleBound => {
                let waits = self
                    .waits
                    .iter()
                    .filter(|w| w.rank == facts.rank && inside(w.range));
                let rank = &self.ranks[facts.rank];
                let costly = if facts.gpu.is_some() {
                    &rank.wait_exposed
                } else {
                    &rank.wait
                };
                largest(waits.map(|w| (judged(costly, w.range), w.span, w.range)))
            }
            IssueKind::StartupWait => {
                let steps = &self.ranks[facts.rank].steps;
                let waits = self.waits.iter().filter(|w| {
                    w.rank == facts.rank
                        && w.step.is_some_and(|s| steps[s].first)
                        && facts.window.overlaps(w.range)
                });
                largest(waits.map(|w| (w.range.len(), w.span, w.range)))
            }
            IssueKind::LaunchBound | IssueKind::DependencyBound => {
                let Some(gpu) = facts.gpu else {
                    return Vec::new();
                };
                let wanted = if kind == IssueKind::LaunchBound {
                    GapCause::Host
                } else {
                    GapCause::Other
                };
                let sets = &self.rank_sets[facts.rank];
                let excused = &sets.excused[wanted as usize];
                let gaps = self.gaps(gpu, facts.window);
                let mut top: Vec<(i64, Gap)> = Vec::with_capacity(4);
                for gap in gaps.filter(|g| g.cause == wanted && inside(g.range)) {
                    let lost = facts.set.measure_in(gap.range) - judged(excused, gap.range);
                    // Gaps ascend: of equals the earlier one stays in front.
                    let at = top.partition_point(|t| t.0 >= lost);
                    if lost > 0 && at < 3 {
                        top.insert(at, (lost, gap));
                        top.truncate(3);
                    }
                }
                let place =
                    |(lost, g): &(i64, Gap)| Some((*lost, self.after_gap(gpu, g)?, g.range));
                largest(top.iter().filter_map(place))
            }
            IssueKind::SyncBound => {
                let lane = self.ranks[facts.rank].loop_lane;
                let calls = lane
                    .map(|l| self.core.spans_of(l, LayerId::SYNC))
                    .unwrap_or_default();
                let bubble = &self.rank_sets[facts.rank].bubble;
                let calls = calls
                    .into_iter()
                    .filter(|(_, r)| inside(*r))
                    .map(|(id, r)| {
                        // The bubble that begins while the call returns.
                        let reach = TimeRange::new(r.start, r.end.saturating_add(1));
                        let parts = bubble.parts_in(reach).iter();
                        let lost = parts.map(|&p| facts.set.measure_in(p)).sum();
                        (lost, id, r)
                    });
                largest(calls)
            }
            IssueKind::CommBound | IssueKind::H2dBound | IssueKind::ComputeBound => {
                let Some(gpu) = facts.gpu else {
                    return Vec::new();
                };
                let (layer, set) = match kind {
                    IssueKind::CommBound => {
                        (LayerId::GPU_COMM, Some(&self.gpu_sets[gpu].comm_only))
                    }
                    IssueKind::H2dBound => {
                        (LayerId::GPU_H2D, Some(&self.gpu_sets[gpu].h2d_exposed))
                    }
                    // All of a kernel is compute.
                    _ => (LayerId::GPU_COMPUTE, None),
                };
                let lanes = self.core.gpu_lanes(gpu);
                let ops = lanes.flat_map(|l| {
                    let columns = self.core.columns(l);
                    let (a, b) = columns.start_range(facts.window);
                    let ops = (a..b).filter(move |&i| columns.of[i] == layer);
                    ops.map(move |i| (columns.id(i), columns.range(i)))
                });
                largest(ops.filter(|(_, r)| inside(*r)).map(|(id, r)| {
                    let lost = set.map_or_else(|| facts.set.measure_in(r), |s| judged(s, r));
                    (lost, id, r)
                }))
            }
            _ => Vec::new(),
        }
    }
}

/// The three largest places.
pub(in crate::analysis) fn largest(
    places: impl Iterator<Item = (i64, SpanId, TimeRange)>,
) -> Vec<Evidence> {
    let mut top: Vec<(i64, SpanId, TimeRange)> = Vec::with_capacity(4);
    for place in places.filter(|p| p.0 > 0) {
        let at = top.partition_point(|t| (Reverse(t.0), t.1) < (Reverse(place.0), place.1));
        if at < 3 {
            top.insert(at, place);
            top.truncate(3);
        }
    }
    top.into_iter()
        .map(|(value, span, range)| Evidence { span, range, value })
        .collect()
}
