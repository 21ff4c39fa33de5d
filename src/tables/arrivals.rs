//! Collectives of several ranks.

use std::sync::Arc;

use super::{RUN, Row, columns};

/// A matched collective. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalsRow {
    /// The name of the run.
    pub run: Arc<str>,
    /// What matches it.
    pub key: Arc<str>,
    /// The group of ranks that communicate.
    pub pg: Option<Arc<str>>,
    /// All-reduce and so on.
    pub kind: Arc<str>,
    /// What one rank puts in.
    pub bytes: Option<i64>,
    /// The step of the late rank in which it was launched; of several the lowest rank.
    pub step: Option<i32>,
    /// The number of that step.
    pub number: Option<i64>,
    /// Ranks of the group.
    pub members: i32,
    /// Of them recorded.
    pub recorded: i32,
    /// The one rank that came last.
    pub late_rank: Option<i32>,
    /// Ranks that came last, or as good as last; all: they came together.
    pub late_ranks: i32,
    /// What the others waited, the lower median.
    pub cost: i64,
    /// What all ranks waited together.
    pub waited: i64,
    /// The shortest operation.
    pub min_dur: i64,
    /// The longest one.
    pub max_dur: i64,
}

impl Row for ArrivalsRow {
    const TABLE: &'static str = "arrivals";
    const ABOUT: &'static str = "A matched collective, all ranks together; told by run, key";
    const COLUMNS: &'static [super::Column<Self>] = columns! {
        "run" Plain RUN => Text(|r| &r.run);
        "key" Plain "What its operations have in common: group and number, else group, kind, bytes and place" => Text(|r| &r.key);
        "pg" Plain "The group of ranks that communicate" => TextOr(|r| r.pg.as_deref());
        "kind" Plain "AllReduce, AllGather and so on" => Text(|r| &r.kind);
        "bytes" Bytes "What one rank puts in" => I64Or(|r| r.bytes);
        "step" Plain "The step of the late rank in which it was launched; of several, that of the lowest" => I32Or(|r| r.step);
        "number" Plain "The number that the marker of this step states" => I64Or(|r| r.number);
        "members" Number "Ranks of the group" => I32(|r| r.members);
        "recorded" Number "Ranks of the group in these tables" => I32(|r| r.recorded);
        "late_rank" Plain "The one rank that came last; null where several did, or all came together" => I32Or(|r| r.late_rank);
        "late_ranks" Number "Ranks that came last, or nearly so; all: they came together" => I32(|r| r.late_ranks);
        "cost" Ns "What the others waited for the late ranks: the lower median" => I64(|r| r.cost);
        "waited" Ns "What all ranks waited, summed" => I64(|r| r.waited);
        "min_dur" Ns "Length of the shortest operation" => I64(|r| r.min_dur);
        "max_dur" Ns "Length of the longest operation" => I64(|r| r.max_dur);
    };
}
