//! Collectives as one rank has them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{RANK, RUN, Row, Whose, columns, narrow};
use crate::analysis::{
    Analysis, Collective, CollectiveKind, CommGroup, RankCollectives, norm_kernel,
};
use crate::model::SpanId;
use crate::time::TimeRange;

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

/// The name of a kind in tables.
#[must_use]
pub fn kind_of(kind: CollectiveKind) -> &'static str {
    match kind {
        CollectiveKind::AllToAll => "AllToAll",
        CollectiveKind::ReduceScatter => "ReduceScatter",
        CollectiveKind::AllGather => "AllGather",
        CollectiveKind::AllReduce => "AllReduce",
    }
}

/// The name of a group without the list of its members; `None` where operations name no group.
#[must_use]
pub fn name_of(group: &CommGroup) -> Option<&str> {
    let name = group.name.split(" [").next().unwrap_or_default();
    (!name.is_empty()).then_some(name)
}

/// What collectives of one rank have in their keys before their place: those of ranks that are matched have the same.
fn prefix(group: &CommGroup) -> String {
    let name = name_of(group).unwrap_or(CommGroup::ALL);
    // Groups of other ranks may have the same name.
    match group.members.as_ref().and_then(|m| m.first()) {
        Some(lowest) if *lowest > 0 => format!("{name}@{lowest}"),
        _ => name.to_owned(),
    }
}

/// The keys of a rank's collectives: by number in a group where all have one, else by kind, bytes and place.
#[must_use]
pub fn keys(all: &[Collective], groups: &[CommGroup]) -> Vec<String> {
    let mut numbered = vec![true; groups.len()];
    for c in all {
        numbered[c.group as usize] &= c.number.is_some();
    }
    let prefixes: Vec<String> = groups.iter().map(prefix).collect();
    let mut seen: FxHashMap<String, u32> = FxHashMap::default();
    let key = |c: &Collective| {
        let group = c.group as usize;
        let number = c.number.filter(|_| numbered[group]);
        let base = match number {
            Some(number) => format!("{}/{number}", prefixes[group]),
            None => format!("{}/{}/{}", prefixes[group], kind_of(c.kind), c.bytes),
        };
        let n = seen.entry(base.clone()).or_default();
        *n += 1;
        match (number, *n - 1) {
            // Coalesced ones share a number.
            (Some(_), 0) => base,
            (_, n) => format!("{base}/{n}"),
        }
    };
    all.iter().map(key).collect()
}

/// The key of an operation that its step tells from the others; `seen` counts those before it.
pub(super) fn key_in_step(
    group: &CommGroup,
    op: &Collective,
    number: i64,
    seen: &mut FxHashMap<String, u32>,
) -> String {
    let base = format!(
        "{}/{}/{}/step {number}",
        prefix(group),
        kind_of(op.kind),
        op.bytes
    );
    let n = seen.entry(base.clone()).or_default();
    *n += 1;
    format!("{base}/{}", *n - 1)
}

/// The keys of operations of several ranks that are matched by their step, as they do not have equally many: by the
/// operation of the lowest rank.
#[must_use]
pub fn keys_by_step(
    analysis: &Analysis,
    all: &[(usize, &RankCollectives)],
) -> FxHashMap<SpanId, String> {
    let mut out = FxHashMap::default();
    let own: Vec<Vec<String>> = all.iter().map(|(_, c)| keys(&c.all, &c.groups)).collect();
    let mut of_lowest: FxHashMap<SpanId, (&str, bool)> = FxHashMap::default();
    for ((_, c), keys) in all.iter().zip(&own) {
        for (part, key) in c.matched.iter().zip(keys) {
            let Some(part) = part else { continue };
            let known = of_lowest.entry(part.lowest).or_insert((key, true));
            known.1 &= known.0 == key;
        }
    }
    for (rank, c) in all {
        let mut seen: FxHashMap<String, u32> = FxHashMap::default();
        for (op, part) in c.all.iter().zip(&c.matched) {
            let Some(part) = part else { continue };
            let differs = of_lowest.get(&part.lowest).is_some_and(|k| !k.1);
            if !differs || part.lowest != op.op {
                continue;
            }
            let step = analysis.step_at(*rank, op.launched);
            let steps = &analysis.ranks()[*rank].steps;
            let number = step.and_then(|s| steps[s].number).unwrap_or_default();
            let group = &c.groups[op.group as usize];
            let key = key_in_step(group, op, number, &mut seen);
            out.insert(op.op, key);
        }
    }
    out
}

/// The collectives of a rank that touch a window, by start; `by_step` holds keys that other ranks decide.
///
/// # Panics
/// If there is no such rank.
#[must_use]
pub fn collectives(
    analysis: &Analysis,
    whose: &Whose,
    window: TimeRange,
    own: &RankCollectives,
    by_step: &FxHashMap<SpanId, String>,
) -> Vec<CollectivesRow> {
    let (trace, rank) = (analysis.trace(), &analysis.ranks()[whose.rank]);
    let (spans, zero) = (trace.spans(), trace.extent().start);
    let groups: Vec<Option<Arc<str>>> = own
        .groups
        .iter()
        .map(|g| name_of(g).map(Into::into))
        .collect();
    let rows = own
        .all
        .iter()
        .zip(keys(&own.all, &own.groups))
        .zip(&own.matched);
    let rows = rows.filter(|((c, _), _)| spans.range(c.op).touches(window));
    rows.map(|((c, key), part)| {
        let key = part
            .and_then(|p| by_step.get(&p.lowest))
            .cloned()
            .unwrap_or(key);
        let stream = trace
            .lane(spans.lane(c.op))
            .stream
            .map(|s| trace.stream(s).number);
        CollectivesRow {
            run: Arc::clone(&whose.run),
            rank: narrow(rank.rank),
            step: analysis.step_at(whose.rank, c.launched).map(narrow),
            key: key.into(),
            pg: groups[c.group as usize].clone(),
            seq: c.number,
            kind: kind_of(c.kind).into(),
            name: norm_kernel(trace.span_name(c.op)).into(),
            bytes: Some(c.bytes).filter(|&b| b >= 0),
            stream: stream.and_then(|n| i32::try_from(n).ok()).unwrap_or(-1),
            launch: trace.launch_of(c.op).map(|call| spans.start(call) - zero),
            start: spans.start(c.op) - zero,
            dur: spans.dur(c.op),
            exposed: analysis.without_compute(whose.rank, c.op),
            wait: part.map(|p| p.wait),
            late: part.map(|p| p.late),
            cost: part.map(|p| p.cost),
        }
    })
    .collect()
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
