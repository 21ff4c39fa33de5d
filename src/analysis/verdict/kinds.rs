//! What may be an issue: kinds, and where their time lies.

use std::cmp::Reverse;

use crate::analysis::Analysis;
use crate::analysis::base::core::outermost;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::{percentile, round6};
use crate::analysis::verdict::comm;
use crate::analysis::verdict::facts::{Among, Facts, share_of};
use crate::analysis::verdict::issue::{Details, Issue, IssueKind, Place, Whole};
use crate::analysis::verdict::ledger::IdleClass;
use crate::analysis::verdict::missing::Missing;
use crate::analysis::verdict::weigh::Candidate;
use crate::model::SpanId;
use crate::time::TimeRange;

/// The kind of a named stall.
fn stall_kind(class: IdleClass) -> Option<IssueKind> {
    match class.stall()? {
        LayerId::GC => Some(IssueKind::GcStall),
        LayerId::COMPILE => Some(IssueKind::CompileStall),
        LayerId::CHECKPOINT => Some(IssueKind::CheckpointStall),
        LayerId::LOG => Some(IssueKind::LogStall),
        LayerId::LOADER => Some(IssueKind::LoaderStall),
        LayerId::EVAL => Some(IssueKind::EvalStall),
        _ => None,
    }
}

impl Analysis {
    /// Everything that takes its tenth.
    pub(in crate::analysis) fn candidates(
        &self,
        facts: &Facts<'_>,
        missing: &mut Vec<Missing>,
    ) -> Vec<Issue> {
        if !facts.judged.enough() {
            return Vec::new();
        }
        let mut all = Vec::new();
        self.candidate_waits(facts, &mut all);
        self.candidate_stalls(facts, &mut all);
        if facts.gpu.is_some() {
            if !missing.contains(&Missing::UnlinkedIdle) {
                self.pauses(facts, &mut all);
                self.habits(facts, &mut all);
            }
            all.push(Candidate::new(
                IssueKind::H2dBound,
                Whole::Judged,
                facts.h2d.clone(),
            ));
            if facts.among == Among::Known {
                all.extend(comm::candidates(&facts.comm, facts.waiting.as_ref()));
            }
        }
        // Work that was launched and is not recorded may have run there: neither busy nor idle.
        let lost = facts.gpu.map(|g| self.gpus[g].not_recorded.clone());
        let lost = lost.unwrap_or_default();
        let may = |c: &Candidate| {
            let (_, of) = c.of.of(facts.judged);
            let most = c.value + self.may_hold(facts, c.kind, &lost);
            share_of(most, of) >= self.options.warn
        };
        // With the GPU work that is not recorded an issue might pass that does not without it.
        let doubtful = !lost.is_empty() && all.iter().any(may);
        let issues: Vec<Issue> = self.weighing(facts.judged, |scale| {
            all.into_iter().filter_map(|c| scale.issue(c)).collect()
        });
        if doubtful && issues.is_empty() {
            missing.push(Missing::UnrecordedLaunches);
        }
        issues
    }

    /// What of the time without a record could be of a kind, beside what certainly is, ns.
    fn may_hold(&self, facts: &Facts<'_>, kind: IssueKind, lost: &Union) -> i64 {
        let rank = &self.ranks[facts.rank];
        let (judged, stalls) = (facts.judged, &self.stalls[facts.rank]);
        let scope = match kind {
            IssueKind::InputBound => rank.wait.intersect(&judged.set),
            IssueKind::StartupBound => rank.wait.intersect(&judged.later),
            IssueKind::CheckpointStall
            | IssueKind::EvalStall
            | IssueKind::LogStall
            | IssueKind::GcStall
            | IssueKind::CompileStall
            | IssueKind::LoaderStall => stalls.stalls.intersect(&judged.reach),
            IssueKind::HostStall | IssueKind::UnnamedWait => judged
                .set
                .unite(&judged.between)
                .subtract(&stalls.explained),
            IssueKind::SyncBound | IssueKind::LaunchBound | IssueKind::DependencyBound => {
                judged.set.subtract(&stalls.explained)
            }
            // The others do not rest on idle time.
            _ => return 0,
        };
        lost.intersect(&scope).measure()
    }

    fn candidate_waits(&self, facts: &Facts<'_>, out: &mut Vec<Candidate>) {
        let rank = &self.ranks[facts.rank];
        if facts.gpu.is_none() {
            let set = rank.wait.intersect(&facts.judged.set);
            let mut wait = Candidate::new(IssueKind::InputWait, Whole::Judged, set);
            wait.details.by_loader = self.by_loader(facts.rank, wait.set.as_ref());
            out.push(wait);
        } else {
            let set = facts.ledger.set(IdleClass::Input);
            let mut wait = Candidate::new(IssueKind::InputBound, Whole::Judged, set);
            wait.details.by_loader = self.by_loader(facts.rank, wait.set.as_ref());
            wait.details.gain_at_most = Some(wait.value);
            out.push(wait);
            out.push(Candidate {
                kind: IssueKind::InputBound,
                set: None,
                value: facts.ledger.get(IdleClass::InputBetween),
                of: Whole::Loop,
                occurrences: None,
                details: Details {
                    place: Some(Place::BetweenSteps),
                    ..Details::default()
                },
            });
        }
        out.push(Candidate {
            kind: IssueKind::StartupBound,
            set: None,
            value: facts.ledger.get(IdleClass::Startup),
            of: Whole::Loop,
            occurrences: Some(facts.judged.starts_again()),
            details: Details {
                by_loader: self.by_loader(facts.rank, Some(&facts.ledger.set(IdleClass::Startup))),
                ..Details::default()
            },
        });
    }

    fn candidate_stalls(&self, facts: &Facts<'_>, out: &mut Vec<Candidate>) {
        for class in IdleClass::ALL {
            let Some((kind, layer)) = stall_kind(*class).zip(class.stall()) else {
                continue;
            };
            let set = facts.ledger.set(*class);
            if set.is_empty() {
                continue;
            }
            let mut stall = Candidate::new(kind, Whole::Loop, set);
            stall.occurrences = Some(self.occurrences(facts, layer));
            out.push(stall);
        }
    }

    /// How often a stall happens in the loop: its outermost spans; collections on any thread of the process.
    fn occurrences(&self, facts: &Facts<'_>, layer: LayerId) -> usize {
        let touches = |r: TimeRange| facts.judged.reach.measure_in(r) > 0;
        if layer == LayerId::GC {
            let all = self.stalls[facts.rank].gc.parts();
            return all.iter().filter(|r| touches(**r)).count();
        }
        self.stall_spans(facts.rank, layer)
            .iter()
            .filter(|(_, r)| touches(*r))
            .count()
    }

    /// Outermost spans of a layer on the loop of a rank.
    pub(in crate::analysis) fn stall_spans(
        &self,
        rank: usize,
        layer: LayerId,
    ) -> Vec<(SpanId, TimeRange)> {
        let lanes = self.ranks[rank].loop_lanes.iter();
        let mut spans: Vec<_> = lanes.flat_map(|&l| self.core.spans_of(l, layer)).collect();
        // Longest first of those that begin together, whichever record of the thread has them.
        spans.sort_by_key(|(id, r)| (r.start, Reverse(r.end), *id));
        spans.retain(|s| !s.1.is_empty());
        outermost(&spans)
    }

    fn pauses(&self, facts: &Facts<'_>, out: &mut Vec<Candidate>) {
        let Some(lane) = self.ranks[facts.rank].loop_lane else {
            return;
        };
        let set = facts.ledger.set(IdleClass::Pause);
        let (_, whole) = Whole::Loop.of(facts.judged);
        // Names are looked up only where they will be told.
        if share_of(set.measure(), whole) < self.options.warn {
            return;
        }
        let suspicious = self.suspicious(facts.rank, lane, &set).measure();
        let kind = match 2 * i128::from(suspicious) >= i128::from(set.measure()) {
            true => IssueKind::UnnamedWait,
            false => IssueKind::HostStall,
        };
        let mut pause = Candidate::new(kind, Whole::Loop, set.clone());
        pause.details.names = self.pause_names(lane, &set);
        pause.details.place = Some(self.pause_place(lane, &set, facts.judged));
        pause.details.suspicious = Some(suspicious);
        out.push(pause);
    }

    /// What the loop does in each step: blocking calls, slow launches, work that something else holds.
    fn habits(&self, facts: &Facts<'_>, out: &mut Vec<Candidate>) {
        #[expect(clippy::cast_precision_loss, reason = "a mean number of gaps")]
        let per_step = |n: usize| round6(n as f64 / facts.judged.len().max(1) as f64);
        let gaps = facts.ledger.gaps;
        let habit = |kind, class| Candidate::new(kind, Whole::Judged, facts.ledger.set(class));
        let mut sync = habit(IssueKind::SyncBound, IdleClass::Sync);
        sync.details.gaps_per_step = Some(per_step(gaps.sync));
        sync.details.gain_at_most = Some(self.gain_without_syncs(facts, sync.value));
        let mut launch = habit(IssueKind::LaunchBound, IdleClass::Launch);
        launch.details.gaps_per_step = Some(per_step(gaps.launch));
        launch.details.kernel_median = self.kernel_median(facts);
        let dependency = habit(IssueKind::DependencyBound, IdleClass::Dependency);
        out.extend([sync, launch, dependency]);
    }

    /// The most that a loop can win that never blocks: no more than the calls took or the GPU leaves.
    fn gain_without_syncs(&self, facts: &Facts<'_>, value: i64) -> i64 {
        let total = facts.total();
        let measure = |set: &Union| -> i64 {
            let parts = facts.judged.set.parts().iter();
            parts.map(|p| set.measure_in(*p)).sum()
        };
        let blocked = measure(&self.rank_sets[facts.rank].sync);
        let busy = facts.gpu.map_or(0, |g| measure(&self.gpus[g].busy));
        value.min((total - (total - blocked).max(busy)).max(0))
    }

    /// Median length of the GPU's kernels, ns.
    fn kernel_median(&self, facts: &Facts<'_>) -> Option<i64> {
        let mut kernels = Vec::new();
        for lane in self.core.gpu_lanes(facts.gpu?) {
            let columns = self.core.columns(lane);
            let (a, b) = columns.start_range(facts.judged.window);
            let found = (a..b).filter(|&i| columns.of[i] == LayerId::GPU_COMPUTE);
            kernels.extend(found.map(|i| columns.durs[i]));
        }
        percentile(&mut kernels, 50)
    }

    /// The name of a loader by one of its fetches: without the number that it ends with, under a name of its own inside an
    /// evaluation.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn loader_name(&self, rank: usize, fetch: SpanId) -> String {
        let trace = &self.core.trace;
        let name = trace.span_name(fetch);
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let plain = match plain.len() < name.len() {
            true => plain.trim_end_matches(['_', '#', ' ']),
            false => name,
        };
        let eval = self.stalls[rank].eval.contains(trace.spans().start(fetch));
        format!("{}{plain}", if eval { "eval: " } else { "" })
    }

    /// What of a set the fetches of each name hold, ns, the most first; those inside evaluation under a name of their own.
    fn by_loader(&self, rank: usize, set: Option<&Union>) -> Vec<(String, i64)> {
        let Some(set) = set.filter(|s| !s.is_empty()) else {
            return Vec::new();
        };
        let mut out: Vec<(String, i64)> = Vec::new();
        for (span, range) in self.stall_spans(rank, LayerId::FETCH) {
            let ns = set.measure_in(range);
            if ns == 0 {
                continue;
            }
            let name = self.loader_name(rank, span);
            match out.iter_mut().find(|o| o.0 == name) {
                Some(known) => known.1 += ns,
                None => out.push((name, ns)),
            }
        }
        out.sort_by_key(|o| Reverse(o.1));
        out
    }
}
