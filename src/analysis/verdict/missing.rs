//! Signals that were not recorded, and how to say so: never recorded, behind the end of a cut file, or not there to be
//! recorded at all. Decides nothing.

use crate::analysis::Analysis;
use crate::model::TracerFacts;

/// A signal that was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Missing {
    /// No GPU operations.
    NoGpu,
    /// No waits for data.
    NoFetch,
    /// No steps.
    NoSteps,
    /// No loading work.
    NoWorkers,
    /// Steps were inferred from marks that come too unevenly.
    StepsIrregular,
    /// A fifth of the judged steps is idle time whose cause is not recorded.
    UnlinkedIdle,
    /// GPU work was launched and not recorded, and what looks idle may be busy: only with it something would be found.
    UnrecordedLaunches,
}

impl Missing {
    /// Whether it is a signal that somebody can record; else why nothing is concluded from what was.
    #[must_use]
    pub fn is_signal(self) -> bool {
        matches!(
            self,
            Self::NoGpu | Self::NoFetch | Self::NoSteps | Self::NoWorkers
        )
    }

    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::NoGpu => "NO_GPU",
            Self::NoFetch => "NO_FETCH",
            Self::NoSteps => "NO_STEPS",
            Self::NoWorkers => "NO_WORKERS",
            Self::StepsIrregular => "STEPS_IRREGULAR",
            Self::UnlinkedIdle => "UNLINKED_IDLE",
            Self::UnrecordedLaunches => "UNRECORDED_LAUNCHES",
        }
    }
}

impl Missing {
    /// What was not recorded, and how to record it.
    fn text(self, tracer: Option<&TracerFacts>) -> String {
        let text = match self {
            Self::NoGpu => {
                "No GPU events in this record (torch: ProfilerActivity.CUDA needs CUPTI; nsys: --trace=cuda; DFTracer \
                 never has them)."
            }
            Self::NoSteps => {
                "No steps found: no ProfilerStep, NVTX or step spans, and no fetch spans to derive them from."
            }
            Self::NoFetch => {
                "No waits for data found: put a record_function named 'batch_wait' (or an NVTX range) around the line in \
                 which the loop takes its batch, or name its range with a layer rule."
            }
            Self::NoWorkers => {
                if let Some(alone) = tracer.filter(|t| !t.sees_workers) {
                    return format!(
                        "The DataLoader workers are not in this trace: {} records only the main process. Open the \
                         DFTracer files of the same run beside it, or record with nsys.",
                        alone.name
                    );
                }
                "No loading work in this record: the worker processes were not traced."
            }
            Self::StepsIrregular => {
                "No steps are marked, and the marks of the optimizer come too unevenly to tell them."
            }
            Self::UnlinkedIdle => {
                "Launch calls of much of the GPU work are not recorded: why the GPU was idle before it cannot be told."
            }
            Self::UnrecordedLaunches => {
                "GPU work was launched that is not recorded: what looks idle may be busy."
            }
        };
        text.to_owned()
    }
}

impl Analysis {
    /// What was not recorded of a rank, and how to record it: told apart from what does not exist (workers of a loop that
    /// loads by itself) and from what may lie behind the end of a file that was cut.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn missing_text(&self, rank: usize, what: Missing) -> String {
        let trace = self.trace();
        let lane = self.ranks[rank].loop_lane;
        let source = lane.map(|l| trace.lane(l).source);
        let tracer = source.map(|s| trace.source(s).tracer);
        let tracer = tracer.or_else(|| trace.sources().first().map(|s| s.tracer));
        match what {
            Missing::NoWorkers if self.loads_by_itself(rank) => ALONE.to_owned(),
            Missing::NoGpu if self.ends_early(rank) => {
                "No GPU events were read, but the file ends early: its GPU part may be missing. Look for a complete copy."
                    .to_owned()
            }
            Missing::NoSteps | Missing::NoFetch if self.ends_early(rank) => {
                format!("{} The file ends early: they may be missing.", what.text(tracer))
            }
            _ => what.text(tracer),
        }
    }

    /// Whether a file that may hold the signals of a rank ends early.
    pub(in crate::analysis) fn ends_early(&self, rank: usize) -> bool {
        let trace = self.trace();
        let number = self.ranks[rank].rank;
        let lanes = self.core.identity.lanes_of(number).iter();
        let mut sources = lanes.map(|&l| trace.lane(l).source);
        sources.any(|s| trace.is_cut(s))
    }

    /// Why nothing is known of the GPU, as part of a sentence.
    pub(in crate::analysis) fn no_gpu(&self, rank: usize) -> &'static str {
        if self.ends_early(rank) {
            "the file ends early and its GPU part may be missing"
        } else {
            "this record has no GPU events"
        }
    }
}

/// Said where the loop loads its own batches.
const ALONE: &str =
    "There are no loader workers (num_workers=0): the loop loads each batch itself.";
