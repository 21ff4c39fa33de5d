//! Collectives that several ranks recorded, as witnesses of their clocks: only those that no rank can leave before all have
//! entered, and only where what they are called leaves no doubt.

use std::collections::BTreeMap;

use super::Identity;
use super::same;
use crate::analysis::layers::classify::{ArgSource, GoOn};
use crate::model::{LaneKind, SpanId, Trace};
use crate::time::TimeRange;

/// A collective of one recording.
pub(super) struct Collective {
    key: String,
    /// Its key is a number that all members count alike.
    pub counted: bool,
    range: TimeRange,
}

/// The collectives that no rank can leave before all have entered, of each recording by time.
pub(super) fn collectives(
    trace: &Trace,
    who: &Identity,
    args: &dyn ArgSource,
    go_on: &GoOn<'_>,
) -> Vec<Vec<Collective>> {
    let mut spans: Vec<SpanId> = Vec::new();
    for id in trace.lane_ids() {
        if trace.lane(id).kind == LaneKind::Gpu {
            let of_lane = trace.lane_spans(id);
            spans.extend(of_lane.filter(|&s| lower(trace.span_name(s)).contains("nccl")));
        }
    }
    let mut all: Vec<Vec<Collective>> = who.recordings.iter().map(|_| Vec::new()).collect();
    args.each(&spans, go_on, &mut |span, arg| {
        let name = trace.span_name(span);
        let stated = arg("Collective name");
        if is_collective(name) || stated.as_deref().is_some_and(is_collective) {
            let group = arg("Process Group Name").unwrap_or_default();
            let number = arg("Seq");
            let key = match &number {
                Some(number) => format!("{group}\n{number}"),
                None => format!(
                    "{group}\n{name}\n{}",
                    arg("In msg nelems").unwrap_or_default()
                ),
            };
            let source = trace.lane(trace.spans().lane(span)).source;
            all[who.recording(source)].push(Collective {
                key,
                counted: number.is_some(),
                range: same::on_own_clock(trace, source, trace.spans().range(span)),
            });
        }
        true
    });
    for own in &mut all {
        own.sort_by_key(|c| c.range);
    }
    all
}

fn lower(name: &str) -> String {
    name.to_ascii_lowercase()
}

fn is_collective(name: &str) -> bool {
    let plain: String = lower(name).chars().filter(|&c| c != '_').collect();
    let all = [
        "allreduce",
        "allgather",
        "reducescatter",
        "alltoall",
        "barrier",
    ];
    all.iter().any(|c| plain.contains(c))
}

/// Pairs of one collective on two ranks: by the number that both count, else in order where both have the same sequence.
pub(super) fn pairs(a: &[Collective], b: &[Collective]) -> Vec<(TimeRange, TimeRange)> {
    if a.iter().chain(b).all(|c| c.counted) {
        let numbered: BTreeMap<&str, TimeRange> = b.iter().map(|c| (&*c.key, c.range)).collect();
        let both = a.iter();
        return both
            .filter_map(|c| Some((c.range, *numbered.get(&*c.key)?)))
            .collect();
    }
    let same = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.key == b.key);
    let all = a.iter().zip(b).filter(|_| same);
    all.map(|(a, b)| (a.range, b.range)).collect()
}
