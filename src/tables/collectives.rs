//! Collectives as one rank has them.

use std::sync::Arc;

use super::{RANK, RUN, Row, columns};

/// A collective operation of a rank. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectivesRow {
    /// The name of the run.
    pub run: Arc<str>,
    /// The rank.
    pub rank: i32,
    /// The step in which it was launched, else in which it starts.
    pub step: Option<i32>,
    /// What matches it with those of other ranks.
    pub key: Arc<str>,
    /// The group of ranks that communicate.
    pub pg: Option<Arc<str>>,
    /// Its number in the group.
    pub seq: Option<i64>,
    /// All-reduce and so on.
    pub kind: Arc<str>,
    /// Normalised name of the kernel.
    pub name: Arc<str>,
    /// What the rank puts in.
    pub bytes: Option<i64>,
    /// Number of its stream; -1 on the CPU.
    pub stream: i32,
    /// Start of its launch call, from the start of the trace.
    pub launch: Option<i64>,
    /// Its start, from the start of the trace.
    pub start: i64,
    /// Its length.
    pub dur: i64,
    /// Of it no compute ran.
    pub exposed: i64,
    /// What it waited for other ranks; `None` where it is not matched.
    pub wait: Option<i64>,
    /// It came last, or as good as last.
    pub late: Option<bool>,
    /// What this rank is charged with.
    pub cost: Option<i64>,
}

impl Row for CollectivesRow {
    const TABLE: &'static str = "collectives";
    const ABOUT: &'static str =
        "A collective operation of a rank; told by run, rank, start, stream";
    const COLUMNS: &'static [super::Column<Self>] = columns! {
        "run" Plain RUN => Text(|r| &r.run);
        "rank" Plain RANK => I32(|r| r.rank);
        "step" Plain "The step in which it was launched, else in which it starts" => I32Or(|r| r.step);
        "key" Plain "What matches it with other ranks: group and number, else group, kind, bytes and place" => Text(|r| &r.key);
        "pg" Plain "The group of ranks that communicate" => TextOr(|r| r.pg.as_deref());
        "seq" Plain "Its number in the group" => I64Or(|r| r.seq);
        "kind" Plain "AllReduce, AllGather and so on" => Text(|r| &r.kind);
        "name" Plain "Name of the kernel without arguments and deep template parameters" => Text(|r| &r.name);
        "bytes" Bytes "What the rank puts in" => I64Or(|r| r.bytes);
        "stream" Plain "Number of its stream; -1 where it runs on the CPU" => I32(|r| r.stream);
        "launch" Ns "Start of its launch call, from the start of the rank's trace" => I64Or(|r| r.launch);
        "start" Ns "Its start, from the start of the rank's trace" => I64(|r| r.start);
        "dur" Ns "Its length" => I64(|r| r.dur);
        "exposed" Ns "Of it the GPU did not compute" => I64(|r| r.exposed);
        "wait" Ns "What it waited for other ranks; null where it is not matched" => I64Or(|r| r.wait);
        "late" Plain "It came last, or nearly so" => BoolOr(|r| r.late);
        "cost" Ns "What this rank is charged with for it" => I64Or(|r| r.cost);
    };
}
