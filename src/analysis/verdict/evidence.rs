//! Places that show an issue: waits, gaps, calls, operations, the largest first.

use std::cmp::Reverse;

use crate::analysis::Analysis;
use crate::analysis::base::stalls::{blocking_calls, call_before};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::verdict::facts::Facts;
use crate::analysis::verdict::issue::{Evidence, Issue, IssueKind, Place};
use crate::analysis::verdict::ledger::IdleClass;
use crate::model::SpanId;
use crate::time::TimeRange;

impl Analysis {
    /// At most three places that show an issue, the largest first: by what they cost inside what the issue is about.
    /// Ranges lie inside the trace, also where the record begins before its first span.
    pub(in crate::analysis) fn evidence(&self, issue: &Issue, facts: &Facts<'_>) -> Vec<Evidence> {
        let extent = self.core.trace.extent();
        let mut places = self.places(issue, facts);
        for place in &mut places {
            place.range = place.range.clip(extent);
        }
        places
    }

    fn places(&self, issue: &Issue, facts: &Facts<'_>) -> Vec<Evidence> {
        let rank = &self.ranks[facts.rank];
        match issue.kind {
            IssueKind::InputBound if issue.details.place == Some(Place::BetweenSteps) => {
                self.waits_in(facts, &facts.ledger.set(IdleClass::InputBetween))
            }
            IssueKind::InputBound => self.waits_in(facts, &facts.ledger.set(IdleClass::Input)),
            IssueKind::InputWait | IssueKind::InputOk | IssueKind::NoSingleBound => {
                let costly = match facts.gpu {
                    Some(_) => &rank.wait_exposed,
                    None => &rank.wait,
                };
                self.waits_in(facts, &costly.intersect(&facts.judged.set))
            }
            IssueKind::StartupBound => self.waits_in(facts, &facts.ledger.set(IdleClass::Startup)),
            IssueKind::StartupWait => {
                let starts = rank.waits.all.iter().filter(|w| w.first || !w.is_batch());
                let starts = starts.map(|w| w.range.clip(facts.judged.window));
                self.waits_in(facts, &Union::new(starts.collect()))
            }
            IssueKind::CheckpointStall => self.stall_places(facts, IdleClass::Checkpoint),
            IssueKind::EvalStall => self.stall_places(facts, IdleClass::Eval),
            IssueKind::LogStall => self.stall_places(facts, IdleClass::Log),
            IssueKind::GcStall => self.stall_places(facts, IdleClass::Gc),
            IssueKind::CompileStall => self.stall_places(facts, IdleClass::Compile),
            IssueKind::LoaderStall => self.stall_places(facts, IdleClass::Loader),
            IssueKind::HostStall | IssueKind::UnnamedWait => {
                self.gap_places(facts, IdleClass::Pause)
            }
            IssueKind::LaunchBound => self.gap_places(facts, IdleClass::Launch),
            IssueKind::DependencyBound => self.gap_places(facts, IdleClass::Dependency),
            IssueKind::SyncBound => self.call_places(facts),
            IssueKind::CommBound => self.operations(facts, LayerId::GPU_COMM, &facts.comm),
            IssueKind::H2dBound => self.operations(facts, LayerId::GPU_H2D, &facts.h2d),
            IssueKind::ComputeBound => {
                self.operations(facts, LayerId::GPU_COMPUTE, &facts.judged.set)
            }
            IssueKind::RankWait => self.waits_for_ranks(facts),
            // Lateness brings its own.
            _ => Vec::new(),
        }
    }

    /// Collectives by what their rank waits in them, as far as that is judged and not covered.
    fn waits_for_ranks(&self, facts: &Facts<'_>) -> Vec<Evidence> {
        let Some((run, place)) = self.run_of(facts.rank) else {
            return Vec::new();
        };
        let Some(waiting) = &facts.waiting else {
            return Vec::new();
        };
        let exposed = facts.comm.intersect(waiting);
        largest(run.own[place].iter().map(|own| {
            let member = own.member as usize;
            let op = run.op(&run.matching.members[member]);
            let range = self.core.range(op);
            let until = range.start.saturating_add(run.arrivals.waits[member]);
            let cost = exposed.measure_in(TimeRange::new(range.start, until));
            (cost, op, range)
        }))
    }

    /// Waits of the loop by their part of a set.
    fn waits_in(&self, facts: &Facts<'_>, costly: &Union) -> Vec<Evidence> {
        let own = self.rank_waits(facts.rank);
        largest(own.map(|w| (costly.measure_in(w.range), w.span, w.range)))
    }

    /// Spans of a named stall; collections on any thread of the process.
    fn stall_places(&self, facts: &Facts<'_>, class: IdleClass) -> Vec<Evidence> {
        let Some(layer) = class.stall() else {
            return Vec::new();
        };
        let set = facts.ledger.set(class);
        let cost = |(span, range): (SpanId, TimeRange)| (set.measure_in(range), span, range);
        if class != IdleClass::Gc {
            return largest(self.stall_spans(facts.rank, layer).into_iter().map(cost));
        }
        let threads = self.core.threads_of(self.ranks[facts.rank].rank);
        let threads = threads.into_iter();
        let threads = threads.filter(|&l| self.core.index(l).layers.contains(&layer));
        largest(threads.flat_map(|l| self.core.spans_of(l, layer)).map(cost))
    }

    /// The longest pieces of a set, each with the whole gap that it lies in.
    fn longest_gaps(&self, gpu: usize, set: &Union) -> Vec<(i64, TimeRange)> {
        let idle = self.gpus[gpu].idle.parts();
        let mut at = 0;
        let mut lost: Vec<(i64, TimeRange)> = Vec::new();
        for piece in set.parts() {
            while idle.get(at).is_some_and(|gap| gap.end <= piece.start) {
                at += 1;
            }
            let Some(gap) = idle.get(at).filter(|gap| gap.start < piece.end) else {
                continue;
            };
            match lost.last_mut().filter(|l| l.1 == *gap) {
                Some(own) => own.0 += piece.len(),
                None => lost.push((piece.len(), *gap)),
            }
        }
        // They ascend: of equals the earlier one stays in front.
        lost.sort_by_key(|l| Reverse(l.0));
        lost.truncate(3);
        lost
    }

    fn gap_places(&self, facts: &Facts<'_>, class: IdleClass) -> Vec<Evidence> {
        let Some(gpu) = facts.gpu else {
            return Vec::new();
        };
        let gaps = self.longest_gaps(gpu, &facts.ledger.set(class));
        let place =
            |(lost, gap): (i64, TimeRange)| Some((lost, self.operation_at(gpu, gap.end)?, gap));
        largest(gaps.into_iter().filter_map(place))
    }

    /// Blocking calls, by the gap that each leaves.
    fn call_places(&self, facts: &Facts<'_>) -> Vec<Evidence> {
        let Some(gpu) = facts.gpu else {
            return Vec::new();
        };
        let calls = blocking_calls(&self.core, &self.ranks[facts.rank]);
        let gaps = self.longest_gaps(gpu, &facts.ledger.set(IdleClass::Sync));
        let place = |(lost, gap): (i64, TimeRange)| {
            let call = call_before(&calls, gap)?;
            Some((lost, call, self.core.range(call)))
        };
        largest(gaps.into_iter().filter_map(place))
    }

    /// Operations of a layer by their part of a set.
    fn operations(&self, facts: &Facts<'_>, layer: LayerId, set: &Union) -> Vec<Evidence> {
        let Some(gpu) = facts.gpu else {
            return Vec::new();
        };
        let lanes = self.core.gpu_lanes(gpu);
        let ops = lanes.flat_map(|l| {
            let columns = self.core.columns(l);
            let (a, b) = columns.start_range(facts.judged.window);
            let ops = (a..b).filter(move |&i| columns.of[i] == layer);
            ops.map(move |i| (columns.id(i), columns.range(i)))
        });
        largest(ops.map(|(id, r)| (set.measure_in(r), id, r)))
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
