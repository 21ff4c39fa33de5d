//! What is found: the kinds of issues, an issue with its evidence and sentences, the verdict of a rank.

use std::cmp::Reverse;

use crate::analysis::base::options::Severity;
use crate::analysis::figures::judged::Judged;
use crate::analysis::sums::stats::{ratio, round6};
use crate::analysis::verdict::ledger::Ledger;
use crate::analysis::verdict::missing::Missing;
use crate::model::SpanId;
use crate::time::TimeRange;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $key:literal,)*) => {
        /// What bounds the steps. Of equally severe and long ones the earlier here stands first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum IssueKind { $($(#[$doc])* $kind,)* }

        impl IssueKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// The name in reports.
            #[must_use]
            pub fn key(self) -> &'static str {
                match self { $(Self::$kind => $key,)* }
            }

            /// The kind of a name, letter case ignored.
            #[must_use]
            pub fn find(name: &str) -> Option<Self> {
                let mut all = Self::ALL.iter().copied();
                all.find(|k| k.key().eq_ignore_ascii_case(name))
            }
        }
    };
}

kinds! {
    /// The GPU was idle while the loop waited for data.
    InputBound = "INPUT_BOUND",
    /// The GPU was idle while the loader started again.
    StartupBound = "STARTUP_BOUND",
    /// The GPU was idle during checkpoints.
    CheckpointStall = "CHECKPOINT_STALL",
    /// The GPU was idle during evaluation.
    EvalStall = "EVAL_STALL",
    /// The GPU was idle while the loop logged.
    LogStall = "LOG_STALL",
    /// The GPU was idle during garbage collection.
    GcStall = "GC_STALL",
    /// The GPU was idle during compilation.
    CompileStall = "COMPILE_STALL",
    /// The GPU was idle while a loader was made.
    LoaderStall = "LOADER_STALL",
    /// The GPU was idle while the CPU launched nothing.
    HostStall = "HOST_STALL",
    /// The same, in ranges whose names look like waits for data.
    UnnamedWait = "UNNAMED_WAIT",
    /// The loop blocks again and again, and the GPU runs dry each time.
    SyncBound = "SYNC_BOUND",
    /// Many short gaps: the CPU launches more slowly than the GPU works.
    LaunchBound = "LAUNCH_BOUND",
    /// Host-to-device copies not covered by compute or communication.
    H2dBound = "H2D_BOUND",
    /// Work was launched in time and did not start.
    DependencyBound = "DEPENDENCY_BOUND",
    /// Communication not covered by compute; where the collectives of several ranks are matched, the transfer alone.
    CommBound = "COMM_BOUND",
    /// Collectives in which the rank waits for a late one.
    RankWait = "RANK_WAIT",
    /// The loop waits for data, where no GPU was recorded.
    InputWait = "INPUT_WAIT",
    /// Compute nearly throughout, and nothing else.
    ComputeBound = "COMPUTE_BOUND",
    /// At least half of the waiting is in the very first step.
    StartupWait = "STARTUP_WAIT",
    /// Too little was recorded to judge.
    Inconclusive = "INCONCLUSIVE",
    /// The loop waits little; nothing is known of the GPU.
    InputOk = "INPUT_OK",
    /// No single cause.
    NoSingleBound = "NO_SINGLE_BOUND",
    /// One rank comes last to the collectives, since it waits for data.
    InputStraggler = "INPUT_STRAGGLER",
    /// One rank comes last to the collectives, since its kernels run longer.
    ComputeStraggler = "COMPUTE_STRAGGLER",
    /// One rank comes last to the collectives, since its copies to the device run longer.
    H2dStraggler = "H2D_STRAGGLER",
    /// One rank comes last to the collectives, since its CPU launches later.
    HostStraggler = "HOST_STRAGGLER",
    /// One rank comes last to the collectives, since it collects garbage.
    GcStraggler = "GC_STRAGGLER",
    /// One rank comes last to the collectives, since it compiles.
    CompileStraggler = "COMPILE_STRAGGLER",
    /// One rank comes last to the collectives, since it saves.
    CheckpointStraggler = "CHECKPOINT_STRAGGLER",
    /// One rank comes last to the collectives, since it logs.
    LogStraggler = "LOG_STRAGGLER",
    /// One rank comes last to the collectives, since it evaluates.
    EvalStraggler = "EVAL_STRAGGLER",
    /// One rank comes last to the collectives; why cannot be told.
    Straggler = "STRAGGLER",
    /// Now this, now that rank comes last to the collectives, since it waits for data.
    InputImbalance = "INPUT_IMBALANCE",
    /// Now this, now that rank comes last to the collectives, since its kernels run longer.
    ComputeImbalance = "COMPUTE_IMBALANCE",
    /// Now this, now that rank comes last to the collectives, since its copies to the device run longer.
    H2dImbalance = "H2D_IMBALANCE",
    /// Now this, now that rank comes last to the collectives, since its CPU launches later.
    HostImbalance = "HOST_IMBALANCE",
    /// Now this, now that rank comes last to the collectives, since it collects garbage.
    GcImbalance = "GC_IMBALANCE",
    /// Now this, now that rank comes last to the collectives, since it compiles.
    CompileImbalance = "COMPILE_IMBALANCE",
    /// Now this, now that rank comes last to the collectives, since it saves.
    CheckpointImbalance = "CHECKPOINT_IMBALANCE",
    /// Now this, now that rank comes last to the collectives, since it logs.
    LogImbalance = "LOG_IMBALANCE",
    /// Now this, now that rank comes last to the collectives, since it evaluates.
    EvalImbalance = "EVAL_IMBALANCE",
    /// Now this, now that rank comes last to the collectives; why cannot be told.
    Imbalance = "IMBALANCE",
}

impl IssueKind {
    /// Whether it is about a rank beside the others, not about a rank alone.
    #[must_use]
    pub fn compares_ranks(self) -> bool {
        // They stand last.
        self >= Self::InputStraggler
    }
}

/// What an issue's share is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// The judged steps.
    Judged,
    /// The loop: from the end of the very first step to the end of the last.
    Loop,
    /// The record, or the window of it.
    Record,
}

impl Whole {
    /// With its time, ns.
    pub(in crate::analysis) fn of(self, judged: &Judged) -> (Self, i64) {
        let ns = match self {
            Self::Judged => judged.account.judged,
            Self::Loop => judged.reach.measure(),
            Self::Record => judged.account.total(),
        };
        (self, ns)
    }

    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Judged => "judged",
            Self::Loop => "loop",
            Self::Record => "record",
        }
    }

    /// As part of a sentence: `in 12 % of the judged steps`.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Judged => "the judged steps",
            Self::Loop => "the loop",
            Self::Record => "the record",
        }
    }
}

/// How an issue's time lies over the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// At most a quarter of the steps holds nine tenths of it, and the median is below half the mean.
    Burst,
    /// At least half of the steps have half the mean or more.
    EveryStep,
    /// Neither.
    SomeSteps,
}

impl Pattern {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Burst => "burst",
            Self::EveryStep => "every step",
            Self::SomeSteps => "some steps",
        }
    }
}

/// The fewest steps that hold nine tenths of an issue's time.
#[derive(Clone, Debug, PartialEq)]
pub struct Burst {
    /// How many.
    pub k: usize,
    /// Of so many: judged steps and, for an issue of the loop, other stretches that hold some.
    pub n: usize,
    /// What they hold of it.
    pub share: f64,
    /// The first of them by name.
    pub steps: Vec<String>,
    /// They are so many steps apart, give or take one.
    pub period: Option<i64>,
}

/// Where a pause lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Mostly before the first launch of its step.
    StepStart,
    /// Mostly between the steps.
    BetweenSteps,
    /// Elsewhere.
    Inside,
}

impl Place {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::StepStart => "step start",
            Self::BetweenSteps => "between steps",
            Self::Inside => "inside",
        }
    }
}

/// A range that covers pieces of a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseName {
    /// Its name; `None` where no range covers them.
    pub name: Option<String>,
    /// The pieces, ns.
    pub ns: i64,
    /// How many.
    pub n: usize,
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
    /// Of it exposed, ns; unknown without a GPU.
    pub exposed: Option<i64>,
    /// The longest wait in it.
    pub place: Option<Evidence>,
}

/// Verdict, why, and what to look at next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentences {
    /// One sentence: what, how much of what, since when or how often.
    pub verdict: String,
    /// The figures behind it.
    pub why: String,
    /// One cure with its condition and the most it can bring, or the next thing to look at.
    pub next: String,
}

/// What is known of an issue beside its share; what does not apply to its kind is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// How it lies over the steps.
    pub pattern: Option<Pattern>,
    /// Which steps hold it.
    pub burst: Option<Burst>,
    /// What covers a pause, the most first.
    pub names: Vec<PauseName>,
    /// Where a pause, or a wait, lies.
    pub place: Option<Place>,
    /// Waits by loader, ns.
    pub by_loader: Vec<(String, i64)>,
    /// The most that can be won, ns.
    pub gain_at_most: Option<i64>,
    /// How often it happened.
    pub occurrences: Option<usize>,
    /// Gaps per judged step.
    pub gaps_per_step: Option<f64>,
    /// Median length of a kernel, ns.
    pub kernel_median: Option<i64>,
    /// Part of a pause that lies under names that look like waits, ns.
    pub suspicious: Option<i64>,
}

/// One thing that bounds the steps, or why none is named.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// What.
    pub kind: IssueKind,
    /// How bad.
    pub severity: Severity,
    /// `value` / `of_ns`, rounded to six decimals; a straggler's score.
    pub share: f64,
    /// Numerator, ns.
    pub value: i64,
    /// What the share is of.
    pub of: Whole,
    /// Denominator, ns.
    pub of_ns: i64,
    /// Whether the numerator is time of the GPU (`true`) or of the CPU alone.
    pub gpu_clock: Option<bool>,
    /// What else is known.
    pub details: Details,
    /// Filled texts.
    pub text: Sentences,
    /// At most three places, the largest first.
    pub evidence: Vec<Evidence>,
}

impl Issue {
    /// Most severe first, what is only said beside others last.
    pub(in crate::analysis) fn sort(issues: &mut [Self]) {
        issues.sort_by_key(|i| {
            let last = i.kind == IssueKind::StartupWait;
            (i.severity, last, Reverse(i.value), i.kind)
        });
    }

    /// An issue whose evidence and sentences are still to come.
    pub(in crate::analysis) fn plain(
        kind: IssueKind,
        severity: Severity,
        value: i64,
        (of, of_ns): (Whole, i64),
    ) -> Self {
        Self {
            kind,
            severity,
            share: round6(ratio(value, of_ns).unwrap_or(0.0)),
            value,
            of,
            of_ns,
            gpu_clock: None,
            details: Details::default(),
            text: Sentences::default(),
            evidence: Vec::new(),
        }
    }
}

/// Communication of a rank's GPU in its judged steps, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Communication {
    /// Collectives run.
    pub time: i64,
    /// Of it not covered by compute.
    pub exposed: i64,
    /// The same without and with waiting for late ranks; `None` where the collectives of no other rank are matched.
    pub split: Option<CommSplit>,
}

/// Communication of a rank whose collectives are matched with those of others, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommSplit {
    /// Collectives in which it waits for a late rank.
    pub wait: i64,
    /// Of it not covered by compute.
    pub wait_exposed: i64,
    /// What is exposed and no waiting: the transfer, and collectives that are not matched.
    pub transfer_exposed: i64,
    /// Its collectives that have no partners.
    pub unmatched: usize,
}

/// What bounds a rank in a window.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Index in [`crate::analysis::Analysis::ranks`].
    pub rank: usize,
    /// Most severe first; the first is the verdict.
    pub issues: Vec<Issue>,
    /// Signals that were not recorded, and why nothing is concluded.
    pub missing: Vec<Missing>,
    /// It has a GPU with operations; else times are those of the CPU alone.
    pub gpu_clock: bool,
    /// Its steps were inferred from marks of the optimizer.
    pub inferred: bool,
    /// What was judged, and of how much.
    pub judged: Judged,
    /// The judged steps are a small part of the record.
    pub little: bool,
    /// Where the idle time went.
    pub ledger: Ledger,
    /// Where there is a GPU.
    pub comm: Option<Communication>,
    /// Whole steps in the window that were not judged.
    pub left_out: Vec<LeftOut>,
    /// Which steps were judged, which were not and why, in a sentence; empty without steps.
    pub coverage: String,
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
