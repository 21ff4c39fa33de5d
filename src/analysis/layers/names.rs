//! Forms of a name that rules match: as written, without its dress, or one spelling of many.

use std::cell::OnceCell;

/// Which form of a name a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum Norm {
    /// As it is written.
    Written,
    /// Without its dress: [`norm_name`].
    Bare,
    /// One spelling of many: [`norm2`].
    Spelled,
}

/// A name without leading and trailing runs of `# = * - :` and white space.
#[must_use]
pub fn norm_name(name: &str) -> &str {
    let dress = |c: char| {
        matches!(c, '#' | '=' | '*' | '-' | ':' | '\u{1c}'..='\u{1f}') || c.is_whitespace()
    };
    name.trim_matches(dress)
}

/// The name of an operator without what `emit_nvtx` of PyTorch says of one call of it: `aten::to, op_id = 17` and
/// `aten::to, seq = 4, op_id = 18, sizes = [[2]]` are `aten::to`.
#[must_use]
pub fn without_call(name: &str) -> &str {
    let said = [", seq = ", ", op_id = "];
    let cut = said.iter().filter_map(|part| name.find(part)).min();
    cut.map_or(name, |at| &name[..at])
}

/// A name in one spelling of many: without leading `[parts]`, in lower case, with `_` for each run of blanks, `-`, `.`,
/// `/` and `:`, without `# = * _` and blanks at its ends and without the number that it ends with.
#[must_use]
pub fn norm2(name: &str) -> String {
    let mut rest = name;
    while let Some(end) = rest.strip_prefix('[').and_then(|r| r.find(']')) {
        rest = &rest[end + 2..];
    }
    if rest.len() < name.len() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
    }
    let gap =
        |c: char| matches!(c, '-' | '.' | '/' | ':' | '\u{1c}'..='\u{1f}') || c.is_whitespace();
    let mut out = String::with_capacity(rest.len());
    let mut in_gap = false;
    for c in rest.chars() {
        if !gap(c) {
            out.extend(c.to_lowercase());
        } else if !in_gap {
            out.push('_');
        }
        in_gap = gap(c);
    }
    let spelled = out.trim_matches(['#', '=', '*', '_', ' ']);
    let unnumbered = spelled.trim_end_matches(|c: char| c.is_ascii_digit());
    if unnumbered.len() == spelled.len() {
        return spelled.to_owned();
    }
    match unnumbered.trim_end_matches(['_', '#']) {
        "" => spelled.to_owned(),
        bare => bare.to_owned(),
    }
}

/// Words that say that something is loaded, in a name of [`norm2`].
const WAITING: [&str; 24] = [
    "data",
    "batch",
    "batches",
    "load",
    "loader",
    "loading",
    "fetch",
    "fetcher",
    "fetching",
    "next",
    "input",
    "inputs",
    "sample",
    "samples",
    "prefetch",
    "prefetcher",
    "reader",
    "queue",
    "dequeue",
    "iter",
    "iterator",
    "stage_in",
    "feed",
    "feeder",
];

/// Parts of a name that say that it is something else.
const NO_WAIT: [&str; 16] = [
    "to_gpu",
    "to_device",
    "to_cuda",
    "transfer",
    "prep",
    "generat",
    "parallel",
    "dataset",
    "size",
    "norm",
    "forward",
    "backward",
    "layer",
    "optim",
    "aten",
    "cuda",
];

/// Whether the name of a range that nobody called a wait looks like one. Only ever asked about.
#[must_use]
pub fn looks_like_wait(name: &str) -> bool {
    let name = norm2(name);
    let word = |w: &&str| {
        name.match_indices(*w).any(|(at, _)| {
            let (before, after) = (&name[..at], &name[at + w.len()..]);
            (before.is_empty() || before.ends_with('_'))
                && (after.is_empty() || after.starts_with('_'))
        })
    };
    let moved = ["load_", "save_", "restore_"].iter().any(|verb| {
        ["model", "state", "weight", "checkpoint"]
            .iter()
            .any(|what| name.contains(&format!("{verb}{what}")))
    });
    WAITING.iter().any(word) && !moved && !NO_WAIT.iter().any(|w| name.contains(w))
}

/// Whether a python frame is one in which a loader's iterator waits.
#[must_use]
pub fn waits_in_python(name: &str) -> bool {
    let Some((file, rest)) = name.split_once(".py(") else {
        return false;
    };
    let Some((line, function)) = rest.split_once("): ") else {
        return false;
    };
    let number = !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
    let loader = [
        "__next__",
        "get",
        "_get_data",
        "_try_get_data",
        "_next_data",
    ];
    number
        && (file == "queue" && function == "get"
            || file.contains("/data/") && loader.contains(&function))
}

/// A name as the expression of a rule between single quotes, that matches it alone.
#[must_use]
pub fn quoted(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '\'' => out.push('.'),
            '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// The forms of one name, each made when the first rule asks for it.
pub(in crate::analysis) struct Forms<'a> {
    name: &'a str,
    spelled: OnceCell<String>,
}

impl<'a> Forms<'a> {
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            spelled: OnceCell::new(),
        }
    }

    pub fn get(&self, form: Norm) -> &str {
        match form {
            Norm::Written => self.name,
            Norm::Bare => norm_name(self.name),
            Norm::Spelled => self.spelled.get_or_init(|| norm2(self.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spelling_of_many() {
        for (name, want) in [
            (
                "[pl][profile][_TrainingEpochLoop].train_dataloader_next",
                "train_dataloader_next",
            ),
            ("Data Loading", "data_loading"),
            ("data--loading #3", "data_loading"),
            ("## next_batch ##", "next_batch"),
            ("next(fetcher)", "next(fetcher)"),
            ("Validation_3", "validation"),
            ("42", "42"),
            ("_#_", ""),
            ("[open", "[open"),
            ("", ""),
        ] {
            assert_eq!(norm2(name), want, "{name}");
        }
    }
}
