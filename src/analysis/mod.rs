//! Overlap analysis: who the GPU waited for, exactly, from a [`Trace`].
//!
//! Owns intervals, layer rules, every figure and the verdicts. Knows no file format and no pixel, does no input or
//! output, and is deterministic: equal traces and options give equal figures.

use std::sync::Arc;

use crate::model::{LaneId, NameId, Role, SpanId, Trace};

mod across;
mod base;
mod build;
mod cause;
mod collectives;
pub mod compare;
mod figures;
mod identity;
mod layers;
mod notices;
mod store;
mod sums;
mod verdict;

pub use across::pass::{Across, HostRow};
pub use across::row::{RankRow, RowWaits};
pub use across::steps::{Columns, WorstStep};
pub use base::callers::{CallerKind, Callers};
pub use base::cycles::{Confidence, Cycle, Cycles};
pub use base::gpus::{GapCause, Gpu};
pub use base::lanes::Started;
pub use base::launches::Launched;
pub use base::layer_sets::Owner;
pub use base::loops::{FetchElsewhere, Rank, Wait};
pub use base::lost_work::{LostLaunches, Overruns};
pub use base::options::{Options, Severity};
pub use base::primary::GpuHow;
pub use base::queues::{Delays, LaunchFigures, QueueFigures};
pub use base::start_up::StartUp;
pub use base::steps::{Step, StepClass, StepSource};
pub use base::syncs::{SyncFigures, SyncNameRow};
pub use base::tails::{Containment, OwnRule, Tail, Threads};
pub use base::waits::{EndHow, LoaderRun, LoopWait, LoopWaits, MakeHow, WaitKind};
pub use cause::assign::{Order, Rule, Violation};
pub use cause::decide::{LoopCause, decide};
pub use cause::items::{Blame, FileRead};
pub use cause::loader::FileId;
pub use cause::partition::{Parts, Share};
pub use cause::parts::{Group, Part};
pub use cause::reason::Reason;
pub use cause::totals::{ByGroup, FileTotal, SlowFile, SlowWorker, Totals, WorkerTotal};
pub use cause::wait::{Ahead, Cause, Kind, Level};
pub use cause::{IteratorCauses, LoaderWorker, Production, RankCauses};
pub use collectives::arrival::{Arrival, Arrivals};
pub use collectives::attendance::Attendance;
pub use collectives::kinds::{CollectiveKind, NotCompared};
pub use collectives::matching::{Collective, CommGroup, Matched, Matching, Member, matching};
pub use collectives::own::{MatchedPart, RankCollectives};
pub use collectives::ranks::{Collectives, Ends, Own};
pub use figures::as_if::{AsIf, Otherwise};
pub use figures::chain::{ChainLink, ChainPart, Spent};
pub use figures::device_memory::DeviceMemory;
pub use figures::gpu::{Gap, GpuFigures, Partition};
pub use figures::insight::{InferredPasses, LoadingDuring, QUEUE_FULL, WaitRow};
pub use figures::judged::{Account, CycleRow, ExposedShare, Judged, Unjudged};
pub use figures::kernels::KernelSum;
pub use figures::lag::LagRow;
pub use figures::made::MadeBatch;
pub use figures::memory::Memory;
pub use figures::names::NameTime;
pub use figures::pace::{Basis, Pace};
pub use figures::parts::{CPU_PARTS, GPU_PARTS, GpuParts, part_title};
pub use figures::ranks::{RankMeans, RankTable};
pub use figures::rates::{Costs, Job, RateSet, Rates, WhatIf};
pub use figures::selection::{GpuHeadline, LayerRow, Percentiles, Scope, Selection, WaitParts};
pub use figures::span::SpanFigures;
pub use figures::step_parts::{PartedStep, StepParts};
pub use figures::step_table::{ColumnSummary, StepRow};
pub use figures::streams::{STREAMS_PAIRED, StreamPair, StreamPairs};
pub use figures::sync_callers::{SyncCaller, SyncCallers, SyncLine};
pub use figures::training_loop::{LaneFigures, LoopFigures};
pub use figures::wait_text::WaitText;
pub use figures::waiting::Waiting;
pub use figures::windows::{LayerGroup, MAX_WINDOWS, TooManyWindows, WINDOW_GROUPS, WindowCell};
pub use figures::workers::{WorkerFigures, WorkerRow};
pub use identity::{
    ClockRelation, ClockSettings, Evidence as SameProcess, Fork, Identity, OsProcess, Placement,
    Purpose, Recording, Relation, Run, Witness, placed, placed_with, thread,
};
pub use layers::classify::{ArgSource, Found, GoOn, NoArgs};
pub use layers::ids::{LayerClass, LayerId, LayerInfo, Layers};
pub use layers::kernels::norm_kernel;
pub use layers::names::{norm_name, norm2, without_call};
pub use layers::rules::{LaneGroup, RuleProblem, Rules};
pub use layers::short::{
    LONGEST_NAME, name_head, short_name, without_arguments, without_return_type,
};
pub use notices::{Certainty, Notice};
pub use sums::bag::Bag;
pub use sums::intervals::Union;
pub use sums::stats::{percentile, percentile_sorted, ratio, round6};
pub use sums::watch::{Cancelled, OnProgress};
pub use verdict::issue::{
    Burst, CommSplit, Communication, Details, Evidence, Issue, IssueKind, LeftOut, Pattern,
    PauseName, Place, Sentences, Verdict, Whole,
};
pub use verdict::job::{JobMissing, JobVerdict, KindOf};
pub use verdict::late::{LatePattern, LateRank, Lateness, StepCost, WhyLate};
pub use verdict::late_parts::{Excess, LateCause, LatePart};
pub use verdict::ledger::{GapCounts, IdleClass, Ledger};
pub use verdict::missing::Missing;
pub use verdict::texts::{PROFILED_SPEED, counted, percent};

/// Everything that is computed once per trace. Windowed figures are derived from it in O(log n) per array.
pub struct Analysis {
    base: Arc<store::Store>,
    /// By rank: why it waited; empty ones until they are known.
    causes: Vec<RankCauses>,
    causes_known: bool,
}

/// What does not depend on causes is there before them, and shared by the analysis that has them.
impl std::ops::Deref for Analysis {
    type Target = store::Store;

    fn deref(&self) -> &store::Store {
        &self.base
    }
}

impl Analysis {
    /// The trace.
    #[must_use]
    pub fn trace(&self) -> &Arc<Trace> {
        &self.core.trace
    }
    /// Settings that it was computed with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }
    /// Layers of all spans.
    #[must_use]
    pub fn layers(&self) -> &Layers {
        &self.core.layers
    }
    /// Who is who: processes, runs, ranks.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.core.identity
    }
    /// What had to be guessed, and what is not known.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }
    /// The role of a lane.
    #[must_use]
    pub fn role(&self, lane: LaneId) -> Role {
        self.core.identity.roles()[lane.index()]
    }
    /// The rank of a lane, where it belongs to one.
    #[must_use]
    pub fn lane_rank(&self, lane: LaneId) -> Option<u32> {
        self.core.rank(lane)
    }
    /// Whether an autograd engine runs on a lane.
    #[must_use]
    pub fn is_autograd(&self, lane: LaneId) -> bool {
        self.core.autograd[lane.index()]
    }
    /// GPUs with operations, by device number.
    #[must_use]
    pub fn gpus(&self) -> &[Gpu] {
        &self.gpus
    }
    /// Ranks, ascending.
    #[must_use]
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }
    /// The number of the first rank that works on a GPU.
    #[must_use]
    pub fn rank_of_gpu(&self, gpu: usize) -> Option<u32> {
        let rank = self.ranks[self.of_gpu[gpu]?].rank;
        self.core.identity.training(rank).map(|_| rank)
    }
    /// How it is known which GPU a rank works on; `None` where none is recorded.
    #[must_use]
    pub fn gpu_how(&self, rank: usize) -> Option<GpuHow> {
        self.primaries[rank].map(|(_, how)| how)
    }
    /// Collectives of the ranks of each run, by run.
    #[must_use]
    pub fn collectives(&self) -> &[Collectives] {
        &self.collectives
    }
    /// Why the loop of a rank waited. Says nothing of any wait before [`Self::causes_known`].
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn causes(&self, rank: usize) -> &RankCauses {
        &self.causes[rank]
    }
    /// Whether the causes of waits were worked out: figures and verdicts that follow from them are not to be asked for before.
    #[must_use]
    pub fn causes_known(&self) -> bool {
        self.causes_known
    }
    /// What is judged of the loop of a rank.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn cycles(&self, rank: usize) -> &Cycles {
        &self.cycles[rank]
    }
    /// The first name that is the same but for what it says of one call: see [`without_call`].
    #[must_use]
    pub fn shared_name(&self, name: NameId) -> NameId {
        self.core.names.shared(name)
    }
    /// All batch waits, by start.
    #[must_use]
    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }
    /// The batch waits of a rank, by start.
    pub fn rank_waits(&self, rank: usize) -> impl DoubleEndedIterator<Item = &Wait> {
        self.waits_of[rank].iter().map(|&i| &self.waits[i])
    }
    /// CPU spans that end before their GPU work, by span id.
    #[must_use]
    pub fn tails(&self) -> &[Tail] {
        &self.tails
    }

    /// The id of the rule that gave a span its layer: the first that matches the span and gives that layer. `None`
    /// where no rule matched or the layer was given.
    #[must_use]
    pub fn rule_of(&self, span: SpanId) -> Option<&str> {
        let (trace, spans) = (&self.core.trace, self.core.trace.spans());
        let group = layers::classify::group_of(trace, self.core.identity.roles(), spans.lane(span));
        let cat = &trace.category(spans.cat(span)).name;
        let layer = self.core.layer(span);
        let candidates: Vec<usize> = self
            .rules
            .candidates(group, cat)
            .into_iter()
            .filter(|&r| self.rules.rules[r].layer == layer)
            .collect();
        let outcome = self.rules.outcome(&candidates, trace.span_name(span));
        let rule = outcome.conditional.first().copied().or(outcome.last)?;
        Some(&self.rules.rules[rule].id)
    }
}
