//! What is found: the kinds of issues, an issue with its evidence and sentences, the verdict of a rank.

use crate::analysis::base::options::Severity;
use crate::analysis::sums::stats::{ratio, round6};
use crate::analysis::verdict::missing::Missing;
use crate::model::SpanId;
use crate::time::TimeRange;

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

impl IssueKind {
    /// Whether it is about a rank beside the others, not about a rank alone.
    #[must_use]
    pub fn compares_ranks(self) -> bool {
        matches!(
            self,
            Self::InputStraggler | Self::H2dStraggler | Self::ComputeStraggler | Self::Straggler
        )
    }
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
    /// Index in [`crate::analysis::Analysis::ranks`].
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

impl Issue {
    /// An issue whose evidence and sentences are still to come.
    pub(in crate::analysis) fn plain(
        kind: IssueKind,
        severity: Severity,
        value: i64,
        total: i64,
    ) -> Self {
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
