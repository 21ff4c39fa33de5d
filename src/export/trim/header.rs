//! What stands in front of the events of a trace that is written anew: the tables of the model, so that it reads back as it
//! was. Other readers pass it over. `import::trimmed` reads it.

use serde_json::{Value, json};

use super::numbers::Numbers;
use crate::model::{Clock, Cut, LaneId, Measure, Role, SourceId, Trace};
use crate::time::TimeRange;

/// The value of the key `stallscope`. Times are those of the file: trace time less `offset`.
pub(super) fn header(trace: &Trace, cut: &Cut, numbers: &Numbers, offset: i64) -> Value {
    let range = |r: TimeRange| [r.start, r.end].map(|t| t.saturating_sub(offset));
    let zero = trace.unix_origin().map(|o| o.saturating_add(offset));
    let sources: Vec<Value> = numbers
        .sources
        .iter()
        .map(|&id| {
            let source = trace.source(id);
            let name = source.path.file_name().unwrap_or_default();
            json!({
                "source": source.tracer.key,
                "from": source.from.clone().unwrap_or_else(|| name.to_string_lossy().into_owned()),
                "producer": source.producer,
                "capture": cut.capture(trace, id).map(range),
                "host": source.host,
                "rank": source.rank,
                "world": source.world,
                // Times of the file have one zero; what had no clock gets none by that.
                "zero": match source.clock {
                    Clock::Unix { .. } => zero,
                    Clock::Unknown => None,
                },
                "quantum": source.quantum_ns,
                "cut": trace.is_cut(id),
            })
        })
        .collect();
    json!({
        "schema": 1,
        "trim": range(cut.window()),
        "rules": "source",
        "sources": sources,
        "processes": processes(trace, numbers),
        "devices": devices(trace, numbers),
        "streams": streams(trace, numbers),
        "lanes": numbers.lanes.iter().map(|&l| lane(trace, numbers, l)).collect::<Vec<_>>(),
        "counters": counters(trace, numbers),
    })
}

fn source(numbers: &Numbers, id: SourceId) -> Option<usize> {
    numbers.sources.iter().position(|&s| s == id)
}

fn processes(trace: &Trace, numbers: &Numbers) -> Vec<Value> {
    let all = numbers.processes.iter().map(|&id| (id, trace.process(id)));
    all.map(|(id, p)| {
        json!({
            "source": source(numbers, p.source),
            "pid": p.pid,
            "name": p.name,
            "space": p.space,
            "host": p.host,
            "rank": p.rank.or(numbers.ranks[id.index()]),
            "role": p.role.map(Role::key),
            "parent": p.parent,
            "sort": p.sort_index,
        })
    })
    .collect()
}

fn devices(trace: &Trace, numbers: &Numbers) -> Vec<Value> {
    let all = numbers.devices.iter().map(|&id| trace.device(id));
    all.map(|d| {
        json!({
            "source": source(numbers, d.source),
            "index": d.index,
            "space": d.space,
            "name": d.name,
            "counts": d.counts,
        })
    })
    .collect()
}

fn streams(trace: &Trace, numbers: &Numbers) -> Vec<Value> {
    let all = numbers.streams.iter().map(|&id| trace.stream(id));
    all.map(|s| {
        json!({
            "device": numbers.device(s.device),
            "process": s.process.and_then(|p| numbers.process(p)),
            "context": s.context,
            "number": s.number,
        })
    })
    .collect()
}

fn lane(trace: &Trace, numbers: &Numbers, id: LaneId) -> Value {
    let lane = trace.lane(id);
    json!({
        "source": source(numbers, lane.source),
        "kind": lane.kind.key(),
        "key": lane.key,
        "name": lane.name,
        "process": lane.process.and_then(|p| numbers.process(p)),
        "stream": lane.stream.and_then(|s| numbers.stream(s)),
        "thread": lane.thread,
        "rank": lane.rank,
        "role": lane.role.map(Role::key),
        "autograd": lane.autograd,
        "sort": lane.sort_index,
    })
}

fn counters(trace: &Trace, numbers: &Numbers) -> Vec<Value> {
    let all = numbers.counters.iter().map(|&i| &trace.counters()[i]);
    all.map(|c| {
        json!({
            "source": source(numbers, c.source),
            "process": c.process.and_then(|p| numbers.process(p)),
            "name": c.name,
            "series": c.series,
            "measure": match c.measure {
                Measure::Anything => "anything",
                Measure::Allocated => "allocated",
                Measure::Reserved => "reserved",
                Measure::Growth => "growth",
            },
        })
    })
    .collect()
}
