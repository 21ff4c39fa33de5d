//! What only the owner of a trace should see: folders, with the names of users in them, hosts, command lines. Reports are
//! sent to strangers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::analysis::Analysis;

/// What of a trace's texts is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Privacy {
    /// Everything is.
    all: bool,
    /// What is shown of a name, longest names first: hosts get a number, command lines lose what follows the program.
    names: Vec<(String, String)>,
}

/// Signs that no path has inside of a sentence or a name.
const ENDS: &[char] = &[
    ' ', '\t', '\n', '\r', '"', '\'', '`', '<', '>', '(', ')', '[', ']', '{', '}', ',', ';', ':',
    '=', '|', '*', '&', '?', '!',
];

impl Privacy {
    /// Everything is shown.
    #[must_use]
    pub fn everything() -> Self {
        Self {
            all: true,
            names: Vec::new(),
        }
    }

    /// Nothing is shown of folders, hosts and command lines of these.
    #[must_use]
    pub fn of(analyses: &[&Analysis]) -> Self {
        let mut hosts: BTreeSet<&str> = BTreeSet::new();
        let mut commands: BTreeSet<&str> = BTreeSet::new();
        let mut paths: BTreeSet<&Path> = BTreeSet::new();
        for analysis in analyses {
            let (trace, who) = (analysis.trace(), analysis.identity());
            hosts.extend(trace.sources().iter().filter_map(|s| s.host.as_deref()));
            hosts.extend(who.recordings.iter().filter_map(|r| r.host.as_deref()));
            hosts.extend(who.processes.iter().filter_map(|p| p.host.as_deref()));
            for process in trace.processes() {
                hosts.extend(process.host.as_deref());
                commands.extend(process.name.as_deref().filter(|n| is_command(n)));
            }
            let names = trace.sources().iter().filter_map(|s| s.path.file_name());
            hosts.extend(names.filter_map(|n| host_of_file(n.to_str()?)));
            paths.extend(trace.sources().iter().map(|s| s.path.as_path()));
        }
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut names: Vec<(String, String)> = Vec::new();
        for host in hosts.into_iter().filter(|h| !h.is_empty()) {
            let short = host.split('.').next().unwrap_or(host);
            let next = numbers.len() + 1;
            let number = *numbers.entry(short).or_insert(next);
            for name in BTreeSet::from([host, short]) {
                names.push((name.to_owned(), format!("host{number}")));
            }
        }
        for command in commands {
            let program = command.split_whitespace().next().unwrap_or_default();
            names.push((command.to_owned(), program.to_owned()));
        }
        names.extend(paths.into_iter().flat_map(without_parent));
        names.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        names.dedup();
        Self { all: false, names }
    }

    /// What is shown of a text.
    #[must_use]
    pub fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.all {
            return Cow::Borrowed(text);
        }
        let mut out = Cow::Borrowed(text);
        for (name, instead) in &self.names {
            if out.contains(name.as_str()) {
                out = Cow::Owned(replace_words(&out, name, instead));
            }
        }
        if !out.contains(['/', '\\']) {
            return out;
        }
        Cow::Owned(without_folders(&out))
    }

    /// The same of all texts in a value, also of its keys.
    #[must_use]
    pub fn json(&self, value: Value) -> Value {
        if self.all {
            return value;
        }
        match value {
            Value::String(text) => self.shown(&text).into_owned().into(),
            Value::Array(all) => all.into_iter().map(|v| self.json(v)).collect(),
            Value::Object(all) => {
                let one = |(k, v): (String, Value)| (self.shown(&k).into_owned(), self.json(v));
                Value::Object(all.into_iter().map(one).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }
}

/// What is shown of a path that was opened, and of its folder: whatever their names hold, blanks too.
fn without_parent(path: &Path) -> Vec<(String, String)> {
    let parent = path.parent().and_then(Path::to_str);
    let parent = parent.filter(|p| p.chars().any(char::is_alphanumeric));
    let (Some(parent), Some(whole)) = (parent, path.to_str()) else {
        return Vec::new();
    };
    let last = path.file_name().map_or("".into(), |n| n.to_string_lossy());
    vec![
        (whole.to_owned(), format!("…/{last}")),
        (parent.to_owned(), "…".to_owned()),
    ]
}

/// A program with what it was called with.
fn is_command(name: &str) -> bool {
    let mut words = name.split_whitespace().skip(1);
    words.any(|w| w.starts_with('-') || w.contains(['/', '\\', '=']))
}

/// The host in a name such as `HOST_4711.1700000000000.pt.trace.json`, which torch gives its files.
fn host_of_file(name: &str) -> Option<&str> {
    let stem = name.split(".pt.trace.json").next().filter(|s| *s != name)?;
    let (host, rest) = stem.rsplit_once('_')?;
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    (rest.contains('.') && rest.chars().all(digits)).then_some(host)
}

/// Puts `instead` where `name` stands as a word of its own.
fn replace_words(text: &str, name: &str, instead: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, from) = rest.split_at(at);
        let behind = &from[name.len()..];
        let inside = |c: char| c.is_alphanumeric() || c == '-';
        let mut next = behind.chars();
        let goes_on = match next.next() {
            Some('.') => next.next().is_some_and(inside),
            c => c.is_some_and(inside),
        };
        let whole = !goes_on && !before.chars().next_back().is_some_and(inside);
        out.push_str(before);
        out.push_str(if whole { instead } else { name });
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Leaves of each path in a text the last part: `/home/a/train.py(7)` becomes `…/train.py(7)`.
fn without_folders(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(ENDS).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        match last_part(word) {
            Some(last) => {
                out.push_str("…/");
                out.push_str(last);
            }
            None => out.push_str(word),
        }
        let sign = behind.chars().next().map_or(0, char::len_utf8);
        let (sign, behind) = behind.split_at(sign);
        out.push_str(sign);
        rest = behind;
    }
    out
}

/// The last part of a path; `None` for what is none.
fn last_part(word: &str) -> Option<&str> {
    let parts: Vec<&str> = word.split(['/', '\\']).collect();
    let (last, folders) = parts.split_last()?;
    let first = folders.first()?;
    // `/a/b`, `~/a`, `../a`; a cut name has lost its beginning.
    let rooted = first.is_empty() || first.starts_with(['~', '.', '…']);
    let deep = folders.iter().any(|f| !f.is_empty() && *f != ".");
    let ending = last.rsplit_once('.').is_some_and(|(stem, ending)| {
        let letter = ending.starts_with(|c: char| c.is_ascii_alphabetic());
        !stem.is_empty() && letter && ending.len() <= 8
    });
    match deep && (rooted || ending) {
        // What is left of a cut name may be a folder.
        true => Some(if last.ends_with('…') { "…" } else { last }),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_paths_the_last_part_is_left() {
        let shown = |text: &str| Privacy::default().shown(text).into_owned();
        for (text, left) in [
            ("/home/ann/train.py(12): step", "…/train.py(12): step"),
            ("src/deep/model.py(7)", "…/model.py(7)"),
            ("C:\\Users\\ann\\a.json", "C:…/a.json"),
            ("read s3://bucket/x/y.jpg", "read s3:…/y.jpg"),
            ("~/x, ../a/b and ./c", "…/x, …/b and ./c"),
            ("/home/ann/", "…/"),
            ("/home/an…", "…/…"),
            ("3.5 GB/s of 1/2", "3.5 GB/s of 1/2"),
            ("aten::div / aten::mul", "aten::div / aten::mul"),
            ("void k<a, b>(int)", "void k<a, b>(int)"),
        ] {
            assert_eq!(shown(text), left, "{text}");
        }
        assert_eq!(Privacy::everything().shown("/home/ann/x"), "/home/ann/x");
    }

    #[test]
    fn of_what_was_opened_the_name_is_left() {
        let of = |path: &str| without_parent(Path::new(path));
        let names = of("/Users/Jane Doe/traces/run.json");
        let privacy = Privacy { all: false, names };
        let shown = privacy.shown("read /Users/Jane Doe/traces/run.json in /Users/Jane Doe/traces");
        assert_eq!(shown, "read …/run.json in …");
        let names = of("runs/ann/exp1");
        let privacy = Privacy { all: false, names };
        assert_eq!(privacy.shown("report runs/ann/exp1"), "report …/exp1");
        assert_eq!(of("run.json"), Vec::new());
    }

    #[test]
    fn hosts_get_numbers_where_they_are_words() {
        let privacy = Privacy {
            all: false,
            names: vec![
                ("gpu7.lab".to_owned(), "host1".to_owned()),
                ("gpu7".to_owned(), "host1".to_owned()),
            ],
        };
        let shown = |text: &str| privacy.shown(text).into_owned();
        assert_eq!(
            shown("gpu7_12.json on gpu7.lab."),
            "host1_12.json on host1."
        );
        assert_eq!(shown("gpu77, my-gpu7, gpu7.py"), "gpu77, my-gpu7, gpu7.py");
    }

    #[test]
    fn hosts_in_names_of_files_are_found() {
        let name = "my_node_4711.1700000000000.pt.trace.json.gz";
        assert_eq!(host_of_file(name), Some("my_node"));
        assert_eq!(host_of_file("trace_rank_0.json"), None);
        assert!(is_command("python train.py --data /x") && !is_command("python 4711"));
    }
}
