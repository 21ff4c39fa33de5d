//! Session files: which traces were looked at and how, as a small JSON that goes where the user says. Opened again, also on
//! another machine, it finds the traces by where they lay or by what is in them.

mod find;
mod key;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use find::{NotFound, WhereNow, relative};
pub use key::content_key;

use crate::import::{open_regular, read_small};
use crate::time::{TimeRange, format_count};
use crate::view::{Note, RowState, RowTree};

/// Version of the file. A newer one is not read.
const VERSION: u32 = 1;
/// What the name of a session file ends with, where the window writes it.
pub const ENDING: &str = ".session.json";
/// What a session file begins with.
pub const BEGINS: &[u8] = b"{\n  \"stallscope_session\":";
/// Files of a session that are looked for.
const MOST_FILES: usize = 10_000;

/// How a trace is looked at. What is not there is as when it is opened first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Look {
    /// Visible window, ns.
    pub view: Option<(i64, i64)>,
    /// Selected range, ns.
    pub range: Option<(i64, i64)>,
    /// Open tab, by its name.
    pub tab: Option<String>,
    /// Keys of pinned lanes.
    pub pinned: Vec<String>,
    /// Keys of hidden lanes.
    pub hidden: Vec<String>,
    /// Names of groups whose openness differs from the default.
    pub toggled: Vec<String>,
    /// What lanes and groups are called, by their keys.
    pub names: BTreeMap<String, String>,
    /// Keys of lanes and groups that were moved, in their order.
    pub order: Vec<String>,
    /// Marks on the time axis.
    pub notes: Vec<KeptNote>,
}

/// A mark on the time axis.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptNote {
    /// Where it begins, ns.
    pub start: i64,
    /// Where it ends, ns; `None` for a moment.
    #[serde(default)]
    pub end: Option<i64>,
    /// What was written.
    #[serde(default)]
    pub text: String,
}

impl KeptNote {
    /// A mark as it is kept.
    #[must_use]
    pub fn of(note: &Note) -> Self {
        let TimeRange { start, end } = note.range;
        Self {
            start,
            end: (end > start).then_some(end),
            text: note.text.clone(),
        }
    }
}

impl Look {
    /// A pair of it as a range of a trace; `None` where it shares no time with it.
    #[must_use]
    pub fn range_of(pair: Option<(i64, i64)>, extent: TimeRange) -> Option<TimeRange> {
        let (start, end) = pair.filter(|(start, end)| end > start)?;
        let range = TimeRange::new(start, end);
        range.overlaps(extent).then(|| range.clip(extent))
    }

    /// What of it is about rows that there are.
    #[must_use]
    pub fn rows(&self, tree: &RowTree) -> RowState {
        let known = |key: &&String| tree.find(key).is_some();
        let names = self.names.iter().filter(|(key, _)| known(key));
        RowState {
            pinned: self.pinned.iter().filter(known).cloned().collect(),
            hidden: self.hidden.iter().filter(known).cloned().collect(),
            toggled: self.toggled.iter().filter(known).cloned().collect(),
            order: self.order.iter().filter(known).cloned().collect(),
            names: names.map(|(k, v)| (k.clone(), v.clone())).collect(),
            ..RowState::default()
        }
    }

    /// Its marks in the time of a trace, by start, and how many lie outside of it.
    #[must_use]
    pub fn marks(&self, extent: TimeRange) -> (Arc<[Note]>, usize) {
        let note = |kept: &KeptNote| Note {
            range: TimeRange::new(kept.start, kept.end.unwrap_or(kept.start)),
            text: kept.text.clone(),
        };
        let all = self.notes.iter().map(note);
        let mut inside: Vec<Note> = all.filter(|note| note.touches(extent)).collect();
        inside.sort();
        let outside = self.notes.len() - inside.len();
        (inside.into(), outside)
    }

    /// What of it does not fit a trace, in words.
    #[must_use]
    pub fn gone(&self, tree: &RowTree, extent: TimeRange) -> Vec<String> {
        let (lanes, (_, marks)) = (self.unknown_rows(tree), self.marks(extent));
        let mut gone = Vec::new();
        if lanes > 0 {
            let lanes = counted(lanes, "lane");
            gone.push(format!(
                "The session names {lanes} that this trace does not have"
            ));
        }
        if marks > 0 {
            let marks = counted(marks, "mark");
            gone.push(format!(
                "The session has {marks} outside of the time of this trace"
            ));
        }
        gone
    }

    /// How many lanes and groups it names that are not there.
    #[must_use]
    pub fn unknown_rows(&self, tree: &RowTree) -> usize {
        let all = self.pinned.iter().chain(&self.hidden).chain(&self.toggled);
        let all: BTreeSet<&String> = all.chain(&self.order).chain(self.names.keys()).collect();
        let known: HashSet<&String> = tree.nodes().iter().map(|n| &n.key).collect();
        all.iter().filter(|key| !known.contains(**key)).count()
    }
}

/// A file or folder that was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Where it lay: as seen from the folder of the session, where they share one; always with `/`.
    pub path: String,
    /// [`content_key`] of it.
    pub key: String,
}

/// Which traces were looked at, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Version of the file.
    pub stallscope_session: u32,
    /// What was opened, as one trace.
    pub files: Vec<Kept>,
    /// What it was compared with.
    #[serde(default)]
    pub before: Vec<Kept>,
    /// Keys of lanes that the user made loops.
    #[serde(default)]
    pub loops: Vec<String>,
    /// How it was looked at.
    #[serde(default)]
    pub look: Look,
}

/// Why a file is no session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// It cannot be read.
    #[error("{0}")]
    Unread(#[from] io::Error),
    /// It is something else.
    #[error("it is no session file of Stallscope: it has no `stallscope_session`")]
    Other,
    /// It was written by a newer version.
    #[error("it has version {0}, and this program knows {VERSION}: open it with a newer one")]
    Newer(u64),
    /// It cannot be understood.
    #[error("it cannot be understood: {0}")]
    Broken(#[from] serde_json::Error),
    /// It names no file.
    #[error("it names no file to open")]
    Empty,
    /// It names too many files.
    #[error("it names {0} files, and {MOST_FILES} are the most")]
    TooMany(usize),
}

impl Session {
    /// A session of files with their keys, both as they are kept.
    #[must_use]
    pub fn new(files: Vec<Kept>, before: Vec<Kept>, loops: Vec<String>, look: Look) -> Self {
        Self {
            stallscope_session: VERSION,
            files,
            before,
            loops,
            look,
        }
    }

    /// Reads the text of a session file.
    ///
    /// # Errors
    /// For what is no session, or of a newer version.
    pub fn parse(text: &str) -> Result<Self, SessionError> {
        /// As much as every version has.
        #[derive(Deserialize)]
        struct Head {
            stallscope_session: Option<serde_json::Number>,
        }
        let head: Head = serde_json::from_str(text)?;
        let version = head.stallscope_session.ok_or(SessionError::Other)?;
        match version.as_u64() {
            Some(v) if v > u64::from(VERSION) => return Err(SessionError::Newer(v)),
            Some(v) if v == u64::from(VERSION) => {}
            _ => return Err(SessionError::Other),
        }
        let session: Self = serde_json::from_str(text)?;
        let files = session.files.len() + session.before.len();
        match files {
            _ if session.files.is_empty() => Err(SessionError::Empty),
            n if n > MOST_FILES => Err(SessionError::TooMany(n)),
            _ => Ok(session),
        }
    }

    /// Reads a session file.
    ///
    /// # Errors
    /// For what cannot be read, and as [`Self::parse`].
    pub fn read(path: &Path) -> Result<Self, SessionError> {
        Self::parse(&read_small(path)?)
    }

    /// The text of its file.
    #[must_use]
    pub fn text(&self) -> String {
        // Nothing in it can fail to be written.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

fn counted(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {what}{plural}", format_count(n as u64))
}

/// Whether a file begins as session files do: traces have no such first key.
#[must_use]
pub fn is_session(path: &Path) -> bool {
    let mut head = Vec::new();
    if let Ok(file) = open_regular(path) {
        // What cannot be read is told when it is opened.
        let _ = file.take(256).read_to_end(&mut head);
    }
    head.retain(|b| !b.is_ascii_whitespace());
    head.starts_with(b"{\"stallscope_session\":")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn session() -> Session {
        let kept = |path: &str| Kept {
            path: path.to_owned(),
            key: "12-00ff".to_owned(),
        };
        let look = Look {
            view: Some((-5, i64::MAX)),
            tab: Some("Waits".to_owned()),
            hidden: vec!["a \"b\"".to_owned()],
            ..Look::default()
        };
        Session::new(
            vec![kept("../a.json")],
            vec![kept("b")],
            vec!["C1.1".to_owned()],
            look,
        )
    }

    #[test]
    fn what_is_written_is_read_again() {
        let session = session();
        assert_eq!(Session::parse(&session.text()).ok(), Some(session));
        // What a file leaves out is as at first.
        let least = r#"{"stallscope_session":1,"files":[{"path":"a","key":"1-0"}],"new":[]}"#;
        let read = Session::parse(least).expect("a session");
        assert_eq!((read.look, read.before.len()), (Look::default(), 0));
    }

    #[test]
    fn other_and_newer_files_are_told_apart() {
        let error = |text: &str| Session::parse(text).map_err(|e| e.to_string()).err();
        let has = |text: &str, part: &str| error(text).is_some_and(|e| e.contains(part));
        assert!(has("{}", "no session file"));
        assert!(has(
            r#"{"stallscope_session":0,"files":[]}"#,
            "no session file"
        ));
        assert!(has(r#"{"stallscope_session":7,"tabs":1}"#, "version 7"));
        assert!(has(
            r#"{"stallscope_session":1,"files":[]}"#,
            "names no file"
        ));
        assert!(has(r#"{"stallscope_session":1,"files":3}"#, "line 1"));
        assert!(has("not JSON", "line 1"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}", at in 0..400_usize, with in ".{0,3}") {
            let _ = Session::parse(&text);
            let mut damaged = session().text();
            let at = (0..=at.min(damaged.len())).rev().find(|&i| damaged.is_char_boundary(i));
            damaged.insert_str(at.unwrap_or(0), &with);
            if let Ok(read) = Session::parse(&damaged) {
                prop_assert!(!read.files.is_empty());
            }
        }
    }
}
