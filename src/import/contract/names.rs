//! Names of files, as texts name them and for what they say.

use std::path::Path;

/// Names that a notice about many files gives.
pub(crate) const NAMED: usize = 3;

/// The last part of a path.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// `a, b, c and 7 more`.
pub(crate) fn some_names(names: &[String], all: u64) -> String {
    let shown = &names[..names.len().min(NAMED)];
    match all.saturating_sub(shown.len() as u64) {
        0 => shown.join(", "),
        more => format!(
            "{} and {} more",
            shown.join(", "),
            crate::time::format_count(more)
        ),
    }
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
