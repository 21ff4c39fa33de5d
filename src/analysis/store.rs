//! What an analysis keeps beside the causes of waits.

use std::sync::OnceLock;

use super::base::core::Core;
use super::base::cycles::Cycles;
use super::base::gpus::{Gpu, GpuSets};
use super::base::layer_sets::LayerSets;
use super::base::loops::{Rank, Wait};
use super::base::name_index::NameIndex;
use super::base::options::Options;
use super::base::phases::Phases;
use super::base::primary::Primary;
use super::base::queues::Queue;
use super::base::rank_sets::{IdleByPhase, RankSets};
use super::base::stalls::Stalls;
use super::base::syncs::CallStarts;
use super::base::tails::Tail;
use super::collectives::ranks::Collectives;
use super::figures::recorded::Recorded;
use super::figures::step_table::StepRow;
use super::layers::rules::Rules;
use super::notices::Notice;

/// Everything of an analysis but the causes of waits, which may come later.
pub struct Store {
    pub(super) core: Core,
    pub(super) rules: Rules,
    pub(super) options: Options,
    pub(super) gpus: Vec<Gpu>,
    pub(super) gpu_sets: Vec<GpuSets>,
    /// Idle time by phase of the loop, for GPUs of a rank.
    pub(super) idle_by_phase: Vec<Option<IdleByPhase>>,
    /// By lane.
    pub(super) phases: Vec<Phases>,
    pub(super) call_starts: Vec<CallStarts>,
    pub(super) queues: Vec<Queue>,
    pub(super) ranks: Vec<Rank>,
    pub(super) notices: Vec<Notice>,
    /// By GPU: the first rank that works on it.
    pub(super) of_gpu: Vec<Option<usize>>,
    /// By rank.
    pub(super) primaries: Vec<Primary>,
    /// By rank: what is judged of its loop.
    pub(super) cycles: Vec<Cycles>,
    pub(super) rank_sets: Vec<RankSets>,
    /// By rank: what its idle time belongs to.
    pub(super) stalls: Vec<Stalls>,
    /// By rank: which of its figures the record can tell.
    pub(super) recorded: Vec<Recorded>,
    /// By rank: the loop loads its own batches.
    pub(super) loads_by_itself: Vec<bool>,
    pub(super) step_rows: Vec<Vec<StepRow>>,
    pub(super) sets: LayerSets,
    pub(super) waits: Vec<Wait>,
    /// By rank: places in `waits`, ascending.
    pub(super) waits_of: Vec<Vec<usize>>,
    pub(super) tails: Vec<Tail>,
    /// By run.
    pub(super) collectives: Vec<Collectives>,
    /// Made when names are asked for first.
    pub(super) names: OnceLock<NameIndex>,
}
