//! What files of one trace need beside each other: ranks told apart by file names, lane keys that are unique.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::open::file_name;
use crate::model::{LaneId, ProcessId, SourceId, TraceBuilder};

/// Gives sources that do not say their rank the one in their file name (`rank_3.json`, `worker3.pt.trace.json`,
/// `trace-3-of-8.pfw`), where that tells the files apart.
pub(crate) fn ranks_by_name(builder: &mut TraceBuilder) {
    let sources = builder.so_far().sources();
    let named: Vec<Option<u32>> = sources.iter().map(|s| rank_of_name(&s.path)).collect();
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

/// The rank that a file name states: `rank-34…`, `rank_0`, `Rank0`, `worker2_step_12…`, `TP-0`, `3-of-8`.
pub(crate) fn rank_of_name(path: &Path) -> Option<u32> {
    let name = file_name(path);
    let small = name.to_ascii_lowercase();
    if let Some((before, rest)) = small.split_once("-of-") {
        let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 && rest.starts_with(|c: char| c.is_ascii_digit()) {
            return before[before.len() - digits..].parse().ok();
        }
    }
    let behind = |text: &str, word: &str| text_numbers(text, word).next().map(|n| n.0);
    behind(&small, "rank")
        // In small letters it ends too many words.
        .or_else(|| behind(&name, "TP-"))
        .or_else(|| {
            // Before a dot or a step: `worker-3_4567` is a host and a process.
            text_numbers(&small, "worker").find_map(|(number, rest)| {
                let ends = rest.is_empty() || rest.starts_with('.') || rest.starts_with("_step");
                ends.then_some(number)
            })
        })
}

/// The numbers that follow a word, and what stands behind each.
fn text_numbers<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = (u32, &'a str)> {
    text.match_indices(word).filter_map(move |(at, _)| {
        let rest = &text[at + word.len()..];
        // One of them separates; a second one is a minus sign.
        let rest = rest.strip_prefix(['-', '_', '=']).unwrap_or(rest);
        let end = rest.find(|c: char| !c.is_ascii_digit());
        let (digits, rest) = rest.split_at(end.unwrap_or(rest.len()));
        Some((digits.parse().ok()?, rest))
    })
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
            ("cpu_only_rank-34.Jul_15.pt.trace.json.gz", Some(34)),
            ("tb__rank0.1795966204.pt.trace.json", Some(0)),
            ("Rank=5.json", Some(5)),
            ("worker2_step_12.1694128201554.pt.trace.json", Some(2)),
            ("worker3.pt.trace.json", Some(3)),
            ("decode-TP-3-DECODE.trace.json.gz", Some(3)),
            ("rank_-1.json", None),
            ("rank=-1.pt.trace.json", None),
            ("http-3.json", None),
            ("rank_unavailable_rank_not_found.json.gz", None),
            ("rank.1795966204.json", None),
            ("workers_4_trace.json", None),
            ("job-worker-3_4567.1694128201554.pt.trace.json", None),
            ("resnet50_num_workers_4_worker0.pt.trace.json", Some(0)),
            ("trace-384a0dfdf3e2aed7-app.pfw.gz", None),
            ("one-of-us.json", None),
        ] {
            assert_eq!(rank_of_name(Path::new(name)), rank, "{name}");
        }
    }
}
