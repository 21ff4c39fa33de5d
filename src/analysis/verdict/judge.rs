//! Verdicts: what bounds the steps of a rank in a window, with shares, severity and evidence. A missing signal is never
//! a zero: the rule abstains, and `missing` says so.

use crate::analysis::Analysis;
use crate::analysis::base::loops::Wait;
use crate::analysis::base::options::Severity;
use crate::analysis::base::steps::StepSource;
use crate::analysis::figures::judged::{CycleRow, Judged};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::verdict::comm;
use crate::analysis::verdict::evidence::largest;
use crate::analysis::verdict::facts::{Among, Facts, share_of};
use crate::analysis::verdict::issue::{
    Communication, Issue, IssueKind, LeftOut, Sentences, Verdict, Whole,
};
use crate::analysis::verdict::ledger::IdleClass;
use crate::analysis::verdict::missing::Missing;
use crate::analysis::verdict::texts;
use crate::time::TimeRange;

impl Analysis {
    /// What bounds a rank over the whole steps of a window.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn verdict(&self, rank: usize, window: TimeRange) -> Verdict {
        self.judge(rank, window, Among::Known).0
    }

    /// The same without communication, which is judged when the ranks are compared ([`Among::Later`]); with the first
    /// issue's sentences for where another comes to stand before it.
    pub(in crate::analysis) fn judge(
        &self,
        rank: usize,
        window: TimeRange,
        among: Among,
    ) -> (Verdict, Option<Sentences>) {
        let judged = self.judged(rank, window);
        let ledger = self.ledger(&judged);
        let gpu = self.ranks[rank].gpu;
        let sets = gpu.map(|g| &self.gpu_sets[g]);
        let inside =
            |set: Option<&Union>| set.map(|s| s.intersect(&judged.set)).unwrap_or_default();
        let facts = Facts {
            rank,
            gpu,
            compute: inside(sets.map(|s| &**s.class(LayerId::GPU_COMPUTE))),
            comm: inside(sets.map(|s| &s.comm_only)),
            h2d: inside(sets.map(|s| &s.h2d_exposed)),
            waiting: self.waiting(rank, &judged),
            among,
            judged: &judged,
            ledger: &ledger,
        };
        let mut missing = self.missing(&facts);
        let mut issues = self.candidates(&facts, &mut missing);
        self.rest(&facts, &mut issues, &missing);
        for issue in &mut issues {
            issue.evidence = self.evidence(issue, &facts);
        }
        let of_gpu = sets.map(|s| Communication {
            time: inside(Some(&**s.class(LayerId::GPU_COMM))).measure(),
            exposed: facts.comm.measure(),
            split: facts
                .waiting
                .as_ref()
                .map(|w| comm::split(&facts.comm, w, self.without_partners(rank))),
        });
        let left_out = self.left_out(&judged);
        let coverage = texts::coverage::coverage(self, &judged, &left_out);
        let little = judged.is_little(self.options.min_judged);
        let texts: Vec<_> = issues
            .iter()
            .enumerate()
            .map(|(i, issue)| texts::fill(self, issue, &facts, &missing, (i == 0, little)))
            .collect();
        let behind = issues.first().filter(|_| among == Among::Later);
        let behind = behind.map(|i| texts::fill(self, i, &facts, &missing, (false, little)));
        for (issue, text) in issues.iter_mut().zip(texts) {
            issue.text = text;
        }
        let verdict = Verdict {
            rank,
            gpu_clock: gpu.is_some(),
            inferred: self.ranks[rank].steps_how == StepSource::Optimizer,
            issues,
            missing,
            little,
            comm: of_gpu,
            left_out,
            coverage,
            judged,
            ledger,
        };
        (verdict, behind)
    }

    /// When a rank waits for others in the collectives of its GPU, in the judged steps; `None` where none is matched.
    fn waiting(&self, rank: usize, judged: &Judged) -> Option<Union> {
        let (run, place) = self.run_of(rank)?;
        let matched = run.gpu && !run.own[place].is_empty();
        matched.then(|| run.waiting[place].intersect(&judged.set))
    }

    /// Collectives of a rank that are not matched with those of others.
    fn without_partners(&self, rank: usize) -> usize {
        let run = self.run_of(rank);
        run.map_or(0, |(run, place)| run.of[place].len() - run.own[place].len())
    }

    fn missing(&self, facts: &Facts<'_>) -> Vec<Missing> {
        let r = &self.ranks[facts.rank];
        let cycles = &self.cycles[facts.rank];
        let unknown = facts.ledger.get(IdleClass::Unknown);
        let dark = share_of(unknown, facts.total()) >= self.options.unknown;
        let all = [
            (facts.gpu.is_none(), Missing::NoGpu),
            (r.wait.is_empty(), Missing::NoFetch),
            (
                facts.judged.cycles.is_empty() && !cycles.irregular(),
                Missing::NoSteps,
            ),
            (cycles.irregular(), Missing::StepsIrregular),
            (
                facts.gpu.is_some() && facts.total() > 0 && dark,
                Missing::UnlinkedIdle,
            ),
            (
                self.rank_sets[facts.rank].loaders.is_empty(),
                Missing::NoWorkers,
            ),
        ];
        all.into_iter().filter(|m| m.0).map(|m| m.1).collect()
    }

    /// What is only said where nothing else is, the order of all, and why none is named.
    fn rest(&self, facts: &Facts<'_>, issues: &mut Vec<Issue>, missing: &[Missing]) {
        let (judged, total) = (facts.judged, facts.total());
        let compute = facts.compute.measure();
        if judged.enough()
            && facts.gpu.is_some()
            && share_of(compute, total) >= self.options.compute_bound
            && issues.is_empty()
        {
            let kind = IssueKind::ComputeBound;
            issues.push(Issue::plain(
                kind,
                Severity::Info,
                compute,
                Whole::Judged.of(facts.judged),
            ));
        }
        // What starting the loader took against all other waits.
        let waits = &self.ranks[facts.rank].waits;
        let start_up = waits.start_up_in(judged.window);
        let steady = waits.batches().filter(|w| !w.first);
        let steady: i64 = steady.map(|w| w.range.clip(judged.window).len()).sum();
        let bound = issues.iter().any(|i| i.kind == IssueKind::StartupBound);
        if start_up.first > 0 && start_up.total() >= steady && !bound {
            let kind = IssueKind::StartupWait;
            issues.push(Issue::plain(
                kind,
                Severity::Info,
                start_up.total(),
                Whole::Record.of(facts.judged),
            ));
        }
        Issue::sort(issues);
        if issues.iter().all(|i| i.kind == IssueKind::StartupWait) {
            let blind = [
                Missing::NoSteps,
                Missing::NoFetch,
                Missing::StepsIrregular,
                Missing::UnlinkedIdle,
                Missing::UnrecordedLaunches,
            ];
            let kind = if !judged.enough() || blind.iter().any(|m| missing.contains(m)) {
                IssueKind::Inconclusive
            } else if facts.gpu.is_none() {
                IssueKind::InputOk
            } else {
                IssueKind::NoSingleBound
            };
            let issue = Issue::plain(kind, Severity::Info, 0, Whole::Judged.of(facts.judged));
            issues.insert(0, issue);
        }
    }

    /// Whole steps in the window that are not judged: those in which the loader started.
    fn left_out(&self, judged: &Judged) -> Vec<LeftOut> {
        let steps = &self.ranks[judged.rank].steps;
        let own: Vec<&Wait> = self.rank_waits(judged.rank).collect();
        let waits = |row: &CycleRow| {
            let before = |t: i64| own.partition_point(|w| w.range.start < t);
            let (from, until) = (before(row.range.start), before(row.range.end));
            let inside = own[from..until.max(from)].iter();
            largest(inside.map(|w| (w.range.len(), w.span, w.range)))
        };
        let out = judged.left_out().map(|row| LeftOut {
            step: row.step,
            label: steps[row.step].label.clone(),
            reason: "first step of a run of the loader: start-up",
            wait: row.wait.unwrap_or(0),
            exposed: row.wait_exposed,
            place: waits(row).first().copied(),
        });
        out.collect()
    }
}
