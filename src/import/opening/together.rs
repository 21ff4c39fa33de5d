//! What files of one trace need beside each other: ranks told apart by file names, lane keys that are unique.

use std::collections::{BTreeMap, BTreeSet};

use crate::import::contract::names::rank_of_name;
use crate::model::{LaneId, SourceId, TraceBuilder};

/// Gives sources that do not say their rank the one in their file name (`rank_3.json`, `worker3.pt.trace.json`,
/// `trace-3-of-8.pfw`), where that tells the files apart.
pub(crate) fn ranks_by_name(builder: &mut TraceBuilder) {
    let sources = builder.so_far().sources();
    let named: Vec<Option<u32>> = sources.iter().map(|s| rank_of_name(&s.path)).collect();
    let silent: Vec<usize> = (0..sources.len())
        .filter(|&i| sources[i].rank.is_none() && !sources[i].tracer.joins_runs)
        .collect();
    let distinct: BTreeSet<u32> = silent.iter().filter_map(|&i| named[i]).collect();
    if distinct.len() < 2 {
        return;
    }
    let given: BTreeMap<usize, u32> = silent
        .iter()
        .filter_map(|&i| Some((i, named[i]?)))
        .collect();
    for (&source, &rank) in &given {
        builder.source_mut(SourceId(number(source))).rank = Some(rank);
    }
}

fn number(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

/// Two files may hold the same process and thread numbers (other hosts, ranks, tracers): later lanes get `~2`, `~3`.
pub(crate) fn unique_keys(builder: &mut TraceBuilder) {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for i in 0..builder.so_far().lanes().len() {
        let key = builder.so_far().lanes()[i].key.clone();
        let count = seen.entry(key.clone()).or_default();
        *count += 1;
        if *count > 1 {
            builder.lane_mut(LaneId(number(i))).key = format!("{key}~{count}");
        }
    }
}
