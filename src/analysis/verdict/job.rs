//! The verdict of a job: what its ranks make of each other first, then what bounds each of them.

use std::cell::OnceCell;
use std::cmp::Reverse;

use rayon::prelude::*;

use crate::analysis::Analysis;
use crate::analysis::base::options::Severity;
use crate::analysis::collectives::ranks::Ends;
use crate::analysis::figures::waiting::loads_slowly;
use crate::analysis::verdict::issue::{Issue, IssueKind, Sentences, Verdict};
use crate::analysis::verdict::late::{Arrived, LateRank, Lateness, Trial};
use crate::analysis::verdict::late_parts::{Before, LateCause};
use crate::analysis::verdict::texts;
use crate::time::TimeRange;

/// Why less can be said of a job than of one that was recorded whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JobMissing {
    /// Not all ranks of the job were opened.
    Ranks,
    /// Some collectives have no partners on the other ranks.
    Unmatched,
    /// The ranks do not leave collectives together: lengths do not tell who was late.
    EndsDisagree,
}

impl JobMissing {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Ranks => "RANKS",
            Self::Unmatched => "UNMATCHED",
            Self::EndsDisagree => "ENDS_DISAGREE",
        }
    }
}

/// Whose kind a job's verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindOf {
    /// What the ranks make of each other.
    Job,
    /// All ranks have it.
    AllRanks,
    /// One rank: index in [`Analysis::ranks`]. Its issue is the most severe of all.
    Rank(usize),
}

/// The verdict of the ranks of one run.
#[derive(Clone, Debug)]
pub struct JobVerdict {
    /// Index in [`Analysis::collectives`].
    pub run: usize,
    /// What bounds the job.
    pub kind: IssueKind,
    /// Whose kind that is.
    pub kind_of: KindOf,
    /// What the ranks make of each other: at most one.
    pub issues: Vec<Issue>,
    /// By rank; empty for one rank alone.
    pub late: Vec<LateRank>,
    /// What lateness costs; `None` where nobody is charged or too little is judged.
    pub lateness: Option<Lateness>,
    /// Collectives of the window whose operations are known of all recorded members.
    pub matched: usize,
    /// Of them those to which all came together.
    pub together: usize,
    /// Ranks of the job, as far as somebody states it.
    pub world: u32,
    /// How well ranks leave together.
    pub ends: Option<Ends>,
    /// Why less can be said.
    pub missing: Vec<JobMissing>,
    /// The verdict in sentences.
    pub text: Sentences,
    /// The ranks, ascending.
    pub ranks: Vec<Verdict>,
}

impl JobVerdict {
    /// What late ranks cost, of the judged steps; 0 where all came together, `None` where that cannot be told.
    #[must_use]
    pub fn score(&self) -> Option<f64> {
        if self.missing.contains(&JobMissing::EndsDisagree) {
            return None;
        }
        match &self.lateness {
            Some(late) => Some(late.score()),
            None => self.nobody_late().then_some(0.0),
        }
    }

    /// Collectives were matched, and nobody was charged in the judged steps.
    fn nobody_late(&self) -> bool {
        let charged = self.late.iter().any(|l| l.cost_judged > 0);
        self.matched > 0 && !charged && self.ranks.iter().any(|v| v.judged.enough())
    }

    /// Why its score cannot be told; `None` where it can.
    #[must_use]
    pub fn no_score(&self) -> Option<&'static str> {
        if self.ranks.len() < 2 {
            Some("one rank was opened: who is late shows beside others only")
        } else if self.missing.contains(&JobMissing::EndsDisagree) {
            Some("the ranks do not leave collectives together")
        } else if self.matched == 0 {
            Some("no collectives of the ranks could be matched")
        } else if self.score().is_none() {
            Some("fewer than two whole steps")
        } else {
            None
        }
    }
}

impl Analysis {
    /// The verdict of each run over the whole steps of a window, with those of its ranks.
    #[must_use]
    pub fn jobs(&self, window: TimeRange) -> Vec<JobVerdict> {
        let runs = 0..self.collectives.len();
        runs.map(|run| self.job(run, window)).collect()
    }

    fn job(&self, index: usize, window: TimeRange) -> JobVerdict {
        let run = &self.collectives[index];
        let ranks: Vec<Verdict> = run
            .ranks
            .par_iter()
            .map(|&r| self.verdict(r, window))
            .collect();
        // Asked for only where somebody is charged.
        let parts: OnceCell<Vec<Before<'_>>> = OnceCell::new();
        let all = || {
            let ranks = ranks.iter().zip(&run.of);
            ranks.map(|(v, own)| self.before(v, own)).collect()
        };
        let trial = Trial {
            run,
            verdicts: &ranks,
            options: &self.options,
            before: &|place, at, since| parts.get_or_init(all)[place].measure(at, since),
            batches: &|rank| self.batch_time(rank),
        };
        let (job, _) = JobVerdict::of(index, &trial, Some(window));
        drop(parts);
        JobVerdict { ranks, ..job }
    }
}

impl JobVerdict {
    /// The verdict of ranks, but for their own, which the caller adds; `window` as of [`Trial::arrived`].
    pub(in crate::analysis) fn of(
        index: usize,
        trial: &Trial<'_>,
        window: Option<TimeRange>,
    ) -> (Self, Arrived) {
        let run = trial.run;
        let mut job = Self {
            run: index,
            kind: IssueKind::Inconclusive,
            kind_of: KindOf::Job,
            issues: Vec::new(),
            late: Vec::new(),
            lateness: None,
            matched: 0,
            together: 0,
            world: run.world,
            ends: run.ends,
            missing: Vec::new(),
            text: Sentences::default(),
            ranks: Vec::new(),
        };
        let disagree = run.ends.is_some_and(Ends::disagree);
        let recorded = u32::try_from(run.ranks.len()).unwrap_or(u32::MAX);
        let missing = [
            (
                run.world > recorded || !run.matching.absent.is_empty(),
                JobMissing::Ranks,
            ),
            (run.matching.unmatched > 0, JobMissing::Unmatched),
            (disagree, JobMissing::EndsDisagree),
        ];
        job.missing = missing.into_iter().filter(|m| m.0).map(|m| m.1).collect();
        let arrived = trial.arrived(window);
        if run.ranks.len() > 1 {
            (job.matched, job.together) = (arrived.matched, arrived.together);
            job.lateness = trial.lateness(&arrived);
            job.late.clone_from(&arrived.late);
            let late = job.lateness.as_ref().filter(|_| !disagree);
            job.issues.extend(late.and_then(|l| trial.late_issue(l)));
        }
        (job.kind, job.kind_of) = choose(&job.issues, trial.verdicts);
        if let Some((issue, late)) = job.issues.first().zip(job.lateness.as_ref()) {
            let slow = late
                .culprit
                .filter(|_| late.cause == Some(LateCause::Input));
            let slow = slow.and_then(|rank| loads_slowly(rank, &run.ranks, trial.batches));
            let text = texts::late::late(run, &job, issue, late, slow);
            job.issues[0].text = text;
        }
        job.text = texts::late::job(run, &job, trial.verdicts);
        (job, arrived)
    }
}

/// The job's own issue where it is as severe as the best of the ranks that is no consequence of it; else what all ranks
/// have; else the most severe of all.
fn choose(own: &[Issue], ranks: &[Verdict]) -> (IssueKind, KindOf) {
    let own = own.first();
    let mut rest: Vec<(Severity, Reverse<i64>, usize, IssueKind)> = Vec::new();
    for verdict in ranks {
        let counts = |i: &&Issue| match i.kind {
            IssueKind::RankWait | IssueKind::StartupWait => false,
            IssueKind::CommBound => own.is_none(),
            _ => true,
        };
        let issues = verdict.issues.iter().filter(counts);
        rest.extend(issues.map(|i| (i.severity, Reverse(i.value), verdict.rank, i.kind)));
    }
    let best = rest.iter().min_by_key(|r| (r.0, r.1, r.2));
    if let Some(own) = own.filter(|i| best.is_none_or(|b| i.severity <= b.0)) {
        return (own.kind, KindOf::Job);
    }
    if let [first, others @ ..] = ranks
        && others.iter().all(|v| v.kind() == first.kind())
    {
        let of = match others.is_empty() {
            true => KindOf::Rank(first.rank),
            false => KindOf::AllRanks,
        };
        return (first.kind(), of);
    }
    match best {
        Some(&(_, _, rank, kind)) => (kind, KindOf::Rank(rank)),
        None => (IssueKind::Inconclusive, KindOf::Job),
    }
}
