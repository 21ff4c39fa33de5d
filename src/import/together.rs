//! What files of one trace need beside each other: ranks told apart by file names, lane keys that are unique.

use std::collections::{BTreeMap, BTreeSet};

use super::open::file_name;
use crate::model::{LaneId, ProcessId, SourceId, TraceBuilder};

/// Gives sources that do not say their rank the one in their file name (`rank_3.json`, `worker3.pt.trace.json`,
/// `trace-3-of-8.pfw`), where that tells the files apart.
pub(super) fn ranks_by_name(builder: &mut TraceBuilder) {
    let sources = builder.so_far().sources();
    let named: Vec<Option<u32>> = sources
        .iter()
        .map(|s| rank_in(&file_name(&s.path)))
        .collect();
    let silent: Vec<usize> = (0..sources.len())
        .filter(|&i| sources[i].rank.is_none())
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
    for i in 0..builder.so_far().processes().len() {
        let source = builder.so_far().processes()[i].source.index();
        if let Some(&rank) = given.get(&source) {
            builder.process_mut(ProcessId(number(i))).rank = rank;
        }
    }
    for i in 0..builder.so_far().lanes().len() {
        let source = builder.so_far().lanes()[i].source.index();
        if let Some(&rank) = given.get(&source) {
            builder.lane_mut(LaneId(number(i))).rank = rank;
        }
    }
}

fn number(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

/// The rank that a file name states.
fn rank_in(name: &str) -> Option<u32> {
    let name = name.to_lowercase();
    if let Some((before, rest)) = name.split_once("-of-") {
        let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 && rest.starts_with(|c: char| c.is_ascii_digit()) {
            return before[before.len() - digits..].parse().ok();
        }
    }
    for word in ["rank", "worker"] {
        for (at, _) in name.match_indices(word) {
            let rest = name[at + word.len()..].trim_start_matches(['-', '_', '.']);
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            if let Ok(rank) = rest[..end].parse() {
                return Some(rank);
            }
        }
    }
    None
}

/// Two files may hold the same process and thread numbers (other hosts, ranks, tracers): later lanes get `~2`, `~3`.
pub(super) fn unique_keys(builder: &mut TraceBuilder) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_stand_in_file_names() {
        for (name, rank) in [
            ("trace-3-of-8.pfw", Some(3)),
            (".trace-0-of-4.pfw", Some(0)),
            ("rank_12.json.gz", Some(12)),
            ("profile_trace_rank-7.pt.trace.json", Some(7)),
            ("worker2_step_12.1694128201554.pt.trace.json", Some(2)),
            ("workers_4_trace.json", None),
            ("trace-384a0dfdf3e2aed7-app.pfw.gz", None),
            ("one-of-us.json", None),
        ] {
            assert_eq!(rank_in(name), rank, "{name}");
        }
    }
}
