//! Settings of the analysis, with the defaults that its figures are defined with.

use crate::analysis::base::steps::StepClass;
use crate::analysis::base::tails::OwnRule;
use crate::analysis::identity::ClockSettings;
use crate::model::LaneId;

/// Settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Idle gaps up to this length between operations that were asked for in time are usual, ns.
    pub kernel_gap: i64,
    /// An operation that ends up to this much after a call of unknown scope may have been waited for, ns.
    pub sync_tol: i64,
    /// GPU tails up to this length are not marked, ns.
    pub lag_flag: i64,
    /// Share of the step time from which an issue is a warning.
    pub warn: f64,
    /// Share from which it is critical, with at least `min_steps_crit` steps.
    pub crit: f64,
    /// Steps needed to judge at all.
    pub min_steps_warn: usize,
    /// Steps needed to call something critical.
    pub min_steps_crit: usize,
    /// Gaps of this length or more before a late launch are pauses: one by one they are no habit, ns.
    pub pause: i64,
    /// Shorter ones are pauses too where a judged step has fewer than this many.
    pub min_launch_gaps: usize,
    /// Share of the judged steps from which idle time without a known cause keeps other causes from being named.
    pub unknown: f64,
    /// Share of the record below which the judged steps are little of it.
    pub min_judged: f64,
    /// Compute share from which a loop without another issue is compute-bound.
    pub compute_bound: f64,
    /// Ranks that arrive at a collective within this are together, ns.
    pub together: i64,
    /// Share of a late rank's cost that one cause must cover to be named.
    pub cause_cov: f64,
    /// Which launches are a CPU span's own.
    pub own: OwnRule,
    /// Loop lanes chosen by the user; each counts for its own rank.
    pub loop_lanes: Vec<LaneId>,
    /// The only class of steps to look for; `None` = the best that there is.
    pub steps: Option<StepClass>,
    /// What is assumed of the clocks of files; as the trace was placed by.
    pub clocks: ClockSettings,
    /// Samples per step where the user knows them: rates are in samples, else in batches.
    pub samples_per_step: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kernel_gap: 10_000,
            sync_tol: 5_000,
            lag_flag: 100_000,
            warn: 0.10,
            crit: 0.20,
            min_steps_warn: 2,
            min_steps_crit: 20,
            pause: 1_000_000,
            min_launch_gaps: 20,
            unknown: 0.20,
            min_judged: 0.50,
            compute_bound: 0.90,
            together: 5_000,
            cause_cov: 0.80,
            own: OwnRule::default(),
            loop_lanes: Vec::new(),
            steps: None,
            clocks: ClockSettings::default(),
            samples_per_step: None,
        }
    }
}

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
