//! Verdicts: what bounds the steps of a rank in a window, with shares, severity and evidence. A missing signal is never
//! a zero: the rule abstains, and `missing` says so.

use std::cmp::Reverse;

use crate::analysis::Analysis;
use crate::analysis::figures::ranks::Straggler;
use crate::analysis::figures::step_table::{StepRow, steady};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::{percentile, ratio, round6};
use crate::analysis::verdict::evidence::largest;
use crate::analysis::verdict::missing::Missing;
use crate::analysis::verdict::texts;
use crate::model::SpanId;
use crate::time::TimeRange;

/// How bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// A fifth of the time, over enough steps.
    Critical,
    /// A tenth of the time.
    Warning,
    /// For information.
    Info,
}

impl Severity {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $key:literal,)*) => {
        /// What bounds the steps.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum IssueKind { $($(#[$doc])* $kind,)* }

        impl IssueKind {
            /// The name in reports.
            #[must_use]
            pub fn key(self) -> &'static str {
                match self { $(Self::$kind => $key,)* }
            }
        }
    };
}

kinds! {
    /// Σ exposed wait / Σ step time.
    InputBound = "INPUT_BOUND",
    /// Σ wait / Σ step time, where no GPU was recorded.
    InputWait = "INPUT_WAIT",
    /// Communication not covered by compute.
    CommBound = "COMM_BOUND",
    /// Host-to-device copies not covered by compute or communication.
    H2dBound = "H2D_BOUND",
    /// The GPU was idle after synchronising calls.
    SyncBound = "SYNC_BOUND",
    /// The GPU was idle because the CPU had not asked for work.
    LaunchBound = "LAUNCH_BOUND",
    /// Work was asked for and did not start.
    DependencyBound = "DEPENDENCY_BOUND",
    /// Compute nearly all the time, and nothing else.
    ComputeBound = "COMPUTE_BOUND",
    /// At least half of the waiting is in first steps.
    StartupWait = "STARTUP_WAIT",
    /// Too little was recorded to judge.
    Inconclusive = "INCONCLUSIVE",
    /// The loop waits little; nothing is known of the GPU.
    InputOk = "INPUT_OK",
    /// No single cause.
    NoSingleBound = "NO_SINGLE_BOUND",
    /// A rank is late because it waits for input.
    InputStraggler = "INPUT_STRAGGLER",
    /// A rank is late because of its copies.
    H2dStraggler = "H2D_STRAGGLER",
    /// A rank is late because of its forward pass.
    ComputeStraggler = "COMPUTE_STRAGGLER",
    /// A rank is late.
    Straggler = "STRAGGLER",
}

/// Uneven waits: a quarter of the steps holds most of the waiting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// The quarter of steps with the largest waits holds 75 % of the wait and the median is below half the mean.
    pub bursty: bool,
    /// Steps in that quarter.
    pub top: usize,
    /// Steps in all.
    pub of: usize,
    /// Share of the wait that they hold.
    pub share: f64,
}

/// A place that shows an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// A span to select.
    pub span: SpanId,
    /// What to look at: inside the trace.
    pub range: TimeRange,
    /// What it costs, ns: its part of the issue's `value` (exposed wait, lost idle time, …). Evidence is ordered by it.
    pub value: i64,
}

/// A step that was not judged, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Index in the rank's steps.
    pub step: usize,
    /// Its number or name.
    pub label: String,
    /// Why, for display.
    pub reason: &'static str,
    /// Its wait for data, ns.
    pub wait: i64,
    /// Of it exposed, ns.
    pub exposed: i64,
    /// The longest wait in it.
    pub place: Option<Evidence>,
}

/// Verdict, why, and what to look at next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentences {
    /// One sentence.
    pub verdict: String,
    /// The figures behind it.
    pub why: String,
    /// The next thing to look at or try.
    pub next: String,
}

/// One thing that bounds the steps, or why none is named.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// What.
    pub kind: IssueKind,
    /// How bad.
    pub severity: Severity,
    /// `value` / `total`, rounded to six decimals; a straggler's score.
    pub share: f64,
    /// Numerator, ns.
    pub value: i64,
    /// Denominator, ns: time of the steps judged.
    pub total: i64,
    /// For waits for data: whether the share is on the GPU's clock (`true`) or on the CPU's.
    pub gpu_clock: Option<bool>,
    /// For waits for data.
    pub burst: Option<Burst>,
    /// Filled texts.
    pub text: Sentences,
    /// At most three places, the largest first.
    pub evidence: Vec<Evidence>,
}

/// Sums over the steady steps of a window, ns: numerators of verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SteadyGpu {
    /// Communication not covered by compute.
    pub exposed_comm: i64,
    /// Host-to-device copies not covered by compute or communication.
    pub exposed_h2d: i64,
    /// Idle after synchronising calls, less waits.
    pub bubble: i64,
    /// Idle because the CPU had not asked, less waits and bubbles.
    pub host_idle: i64,
    /// Idle although work was asked for, less waits and bubbles.
    pub other_idle: i64,
    /// Idle without a known cause, less waits and bubbles.
    pub unknown_idle: i64,
    /// Compute.
    pub compute: i64,
}

/// What bounds a rank in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Index in [`Analysis::ranks`].
    pub rank: usize,
    /// Most severe first; the first is the verdict.
    pub issues: Vec<Issue>,
    /// Signals that were not recorded.
    pub missing: Vec<Missing>,
    /// Whole steps in the window.
    pub steps: usize,
    /// Steps that were judged: without the first of each run, where two others remain.
    pub steady_steps: usize,
    /// Steps only partly in the window.
    pub partial_steps: usize,
    /// Whole steps in the window that were not judged.
    pub left_out: Vec<LeftOut>,
    /// Which steps were judged, which were not and why, in a sentence; empty without steps.
    pub judged: String,
    /// Numerators, where there is a GPU.
    pub steady_gpu: Option<SteadyGpu>,
    /// Their wait, exposed wait, and time, ns.
    pub steady_wait: (i64, i64, i64),
}

impl Verdict {
    /// The first issue's kind.
    #[must_use]
    pub fn kind(&self) -> IssueKind {
        self.issues
            .first()
            .map_or(IssueKind::Inconclusive, |i| i.kind)
    }
}

/// What a rank is judged by.
pub(in crate::analysis) struct Facts<'a> {
    pub rank: usize,
    pub window: TimeRange,
    pub rows: Vec<&'a StepRow>,
    pub steady: Vec<&'a StepRow>,
    pub filtered: bool,
    /// Σ time of steady steps.
    pub total: i64,
    pub gpu: Option<usize>,
    pub sums: Option<SteadyGpu>,
    pub set: Union,
}

impl Analysis {
    pub(in crate::analysis) fn facts(&self, rank: usize, window: TimeRange) -> (Facts<'_>, usize) {
        let (rows, partial) = self.step_rows(rank, window);
        let (steady, filtered) = steady(&rows);
        let set = Union::new(steady.iter().map(|r| r.range).collect());
        let gpu = self.ranks[rank].gpu;
        let sums = gpu
            .filter(|_| !rows.is_empty())
            .map(|g| self.steady_gpu(rank, g, &set));
        let facts = Facts {
            rank,
            window,
            total: steady.iter().map(|r| r.time()).sum(),
            rows,
            steady,
            filtered,
            gpu,
            sums,
            set,
        };
        (facts, partial)
    }

    fn steady_gpu(&self, rank: usize, gpu: usize, set: &Union) -> SteadyGpu {
        let (sets, gpu_sets) = (&self.rank_sets[rank], &self.gpu_sets[gpu]);
        let m = |u: &Union| set.parts().iter().map(|p| u.measure_in(*p)).sum();
        let mut causes = [0; 4];
        for part in set.parts() {
            let idle = gpu_sets.causes.measure_in(&self.gpus[gpu].idle, *part);
            for (i, sum) in causes.iter_mut().enumerate() {
                *sum += idle[i] - sets.excused[i].measure_in(*part);
            }
        }
        let [host_idle, _, other_idle, unknown_idle] = causes;
        SteadyGpu {
            exposed_comm: m(&gpu_sets.comm_only),
            exposed_h2d: m(&gpu_sets.h2d_exposed),
            bubble: m(&sets.bubble),
            host_idle,
            other_idle,
            unknown_idle,
            compute: m(gpu_sets.class(LayerId::GPU_COMPUTE)),
        }
    }

    /// What bounds a rank over the whole steps of a window.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn verdict(&self, rank: usize, window: TimeRange) -> Verdict {
        let (facts, partial_steps) = self.facts(rank, window);
        let r = &self.ranks[rank];
        let mut missing = Vec::new();
        let mut miss = |when: bool, what: Missing| {
            if when {
                missing.push(what);
            }
        };
        miss(facts.gpu.is_none(), Missing::NoGpu);
        miss(r.n_fetch == 0, Missing::NoFetch);
        miss(facts.rows.is_empty(), Missing::NoSteps);
        miss(self.rank_sets[rank].loaders.is_empty(), Missing::NoWorkers);
        let mut issues = self.issues(&facts);
        issues.sort_by(|a, b| (a.severity.cmp(&b.severity)).then(b.share.total_cmp(&a.share)));
        if issues.iter().all(|i| i.kind == IssueKind::StartupWait) {
            let few = facts.rows.len() < self.options.min_steps_warn;
            let blind = missing.contains(&Missing::NoSteps) || missing.contains(&Missing::NoFetch);
            let kind = if blind || few {
                IssueKind::Inconclusive
            } else if facts.gpu.is_none() {
                IssueKind::InputOk
            } else {
                IssueKind::NoSingleBound
            };
            issues.insert(0, Issue::plain(kind, Severity::Info, 0, facts.total));
        }
        let sum = |f: fn(&StepRow) -> Option<i64>| facts.steady.iter().filter_map(|r| f(r)).sum();
        let mut verdict = Verdict {
            rank,
            issues,
            missing,
            steps: facts.rows.len(),
            steady_steps: facts.steady.len(),
            partial_steps,
            left_out: self.left_out(&facts),
            judged: String::new(),
            steady_gpu: facts.sums,
            steady_wait: (sum(|r| r.wait), sum(|r| r.wait_exposed), facts.total),
        };
        verdict.judged = texts::judged(self, &verdict);
        let mut issues = std::mem::take(&mut verdict.issues);
        for issue in &mut issues {
            issue.evidence = self.evidence(issue.kind, &facts);
            issue.text = texts::fill(self, issue, &facts, &verdict);
        }
        verdict.issues = issues;
        verdict
    }

    /// Whole steps in the window that are not judged: the first ones of each run of the loader.
    fn left_out(&self, facts: &Facts<'_>) -> Vec<LeftOut> {
        let steps = &self.ranks[facts.rank].steps;
        let waits = |row: &StepRow| {
            let from = self
                .waits
                .partition_point(|w| w.range.start < row.range.start);
            let until = self
                .waits
                .partition_point(|w| w.range.start < row.range.end);
            let own = self.waits[from..until]
                .iter()
                .filter(|w| w.rank == facts.rank);
            largest(own.map(|w| (w.range.len(), w.span, w.range)))
        };
        let out = facts.rows.iter().filter(|r| r.first && facts.filtered);
        out.map(|row| LeftOut {
            step: row.step,
            label: steps[row.step].label.clone(),
            reason: "first step of a run of the loader: start-up",
            wait: row.wait.unwrap_or(0),
            exposed: row.wait_exposed.unwrap_or(0),
            place: waits(row).first().copied(),
        })
        .collect()
    }

    fn issues(&self, facts: &Facts<'_>) -> Vec<Issue> {
        let options = &self.options;
        let mut out = Vec::new();
        if facts.rows.len() < options.min_steps_warn || facts.total <= 0 {
            return out;
        }
        let total = facts.total;
        let mut add = |kind: IssueKind, value: i64, enough: bool| {
            let share = ratio(value, total).unwrap_or(0.0);
            if share < options.warn || !enough {
                return;
            }
            let critical = share >= options.crit && facts.rows.len() >= options.min_steps_crit;
            let severity = if critical {
                Severity::Critical
            } else {
                Severity::Warning
            };
            out.push(Issue::plain(kind, severity, value, total));
        };
        let has_fetch = self.ranks[facts.rank].n_fetch > 0;
        let gpu = facts.gpu.is_some();
        let (kind, waited) = if gpu {
            (
                IssueKind::InputBound,
                facts.steady.iter().filter_map(|r| r.wait_exposed).sum(),
            )
        } else {
            (
                IssueKind::InputWait,
                facts.steady.iter().filter_map(|r| r.wait).sum::<i64>(),
            )
        };
        add(kind, waited, has_fetch);
        if let Some(s) = facts.sums {
            add(IssueKind::CommBound, s.exposed_comm, true);
            add(IssueKind::H2dBound, s.exposed_h2d, true);
            add(IssueKind::SyncBound, s.bubble, true);
            add(IssueKind::LaunchBound, s.host_idle, true);
            add(IssueKind::DependencyBound, s.other_idle, true);
        }
        if let Some(issue) = out.iter_mut().find(|i| i.kind == kind) {
            issue.gpu_clock = Some(gpu);
            issue.burst = Some(burst(&facts.steady));
            if !gpu {
                // A CPU clock cannot show that the GPU was idle.
                issue.severity = Severity::Warning;
            }
        }
        if let Some(s) = facts.sums
            && ratio(s.compute, total).is_some_and(|c| c >= options.compute_bound)
            && out.is_empty()
        {
            let kind = IssueKind::ComputeBound;
            out.push(Issue::plain(kind, Severity::Info, s.compute, total));
        }
        let firsts = facts.rows.iter().filter(|r| r.first);
        let first: i64 = firsts.filter_map(|r| r.wait).sum();
        let all: i64 = facts.rows.iter().filter_map(|r| r.wait).sum();
        if first > 0 && facts.filtered && 2 * i128::from(first) >= i128::from(all) {
            let time = facts.rows.iter().map(|r| r.time()).sum();
            out.push(Issue::plain(
                IssueKind::StartupWait,
                Severity::Info,
                first,
                time,
            ));
        }
        out
    }

    /// Verdicts of all ranks, and in front of them the rank that holds the others up where that is at least as severe.
    /// The first verdict is the one to show.
    #[must_use]
    pub fn verdicts(&self, window: TimeRange) -> Vec<Verdict> {
        let mut all: Vec<Verdict> = (0..self.ranks.len())
            .map(|r| self.verdict(r, window))
            .collect();
        let key = |v: &Verdict| {
            v.issues
                .first()
                .map_or((Severity::Info, 0.0), |i| (i.severity, i.share))
        };
        all.sort_by(|a, b| {
            let ((sa, xa), (sb, xb)) = (key(a), key(b));
            sa.cmp(&sb)
                .then(xb.total_cmp(&xa))
                .then(a.rank.cmp(&b.rank))
        });
        if self.ranks.len() > 1 {
            let table = self.rank_table(window);
            let best = all.first().map_or(Severity::Info, |v| key(v).0);
            if let Some(s) = table.straggler.as_ref().filter(|s| s.severity <= best) {
                let issue = self.straggler_issue(s, &table.rows, window);
                if let Some(at) = all.iter().position(|v| v.rank == s.culprit) {
                    let mut verdict = all.remove(at);
                    verdict.issues.insert(0, issue);
                    all.insert(0, verdict);
                }
            }
        }
        all
    }

    fn straggler_issue(
        &self,
        s: &Straggler,
        rows: &[crate::analysis::figures::ranks::RankMeans],
        window: TimeRange,
    ) -> Issue {
        use crate::analysis::figures::ranks::StragglerKind as K;
        let kind = match s.kind {
            K::Input => IssueKind::InputStraggler,
            K::H2d => IssueKind::H2dStraggler,
            K::Compute => IssueKind::ComputeStraggler,
            K::Unattributed => IssueKind::Straggler,
        };
        let time = rows[s.victim].time.unwrap_or(0.0);
        #[expect(clippy::cast_possible_truncation, reason = "means far below 2^63 ns")]
        let (value, total) = ((s.score * time).round() as i64, time.round() as i64);
        let mut issue = Issue::plain(kind, s.severity, value, total);
        issue.share = round6(s.score);
        let waits = self.waits.iter().filter(|w| w.rank == s.culprit);
        let inside = waits.map(|w| (w.span, w.range.clip(window)));
        issue.evidence = largest(inside.map(|(span, range)| (range.len(), span, range)));
        issue.text = texts::straggler(self, s, rows);
        issue
    }
}

impl Issue {
    fn plain(kind: IssueKind, severity: Severity, value: i64, total: i64) -> Self {
        Self {
            kind,
            severity,
            share: round6(ratio(value, total).unwrap_or(0.0)),
            value,
            total,
            gpu_clock: None,
            burst: None,
            text: Sentences::default(),
            evidence: Vec::new(),
        }
    }
}

/// Whether a quarter of the steps holds most of the waiting.
pub(in crate::analysis) fn burst(rows: &[&StepRow]) -> Burst {
    let mut waits: Vec<i64> = rows.iter().map(|r| r.wait.unwrap_or(0)).collect();
    waits.sort_unstable_by_key(|&w| Reverse(w));
    let sum: i64 = waits.iter().sum();
    let top = waits.len().div_ceil(4).max(1);
    let held = waits.iter().take(top).sum();
    let share = ratio(held, sum.max(1)).unwrap_or(0.0);
    let of = waits.len();
    let median = percentile(&mut waits, 50).unwrap_or(0);
    // median < mean / 2
    let uneven = 2 * i128::from(median) * (of as i128) < i128::from(sum);
    Burst {
        bursty: share >= 0.75 && uneven,
        top,
        of,
        share,
    }
}
