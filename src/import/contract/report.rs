//! What an import did: read, repaired, skipped, guessed, not recorded, each by reason with a count and first examples.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::model::SourceId;
use crate::time::format_count;

/// A place in an input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Byte offset (of the inflated text for compressed files).
    Byte(u64),
    /// Line, from 1.
    Line(u64),
    /// Row number of a database table (the table is named in the notice's text).
    Row(i64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(b) => write!(f, "byte {}", format_count(*b)),
            Self::Line(l) => write!(f, "line {}", format_count(*l)),
            Self::Row(r) => write!(f, "row {r}"),
        }
    }
}

/// What kind of fact a notice states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NoticeKind {
    /// A fact that is good to know; nothing is wrong.
    Info,
    /// Something that the trace does not contain, so that figures are unknown rather than zero.
    NotRecorded,
    /// Something was assumed.
    Guessed,
    /// Broken input that was read all the same.
    Repaired,
    /// Input that was left out.
    Skipped,
    /// The input ends early or is damaged.
    Damaged,
}

impl NoticeKind {
    /// True where the user should look: data is missing or was changed.
    #[must_use]
    pub fn is_warning(self) -> bool {
        !matches!(self, Self::Info)
    }

    /// `info`, `not recorded`, `guessed`, `repaired`, `skipped`, `damaged`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::NotRecorded => "not recorded",
            Self::Guessed => "guessed",
            Self::Repaired => "repaired",
            Self::Skipped => "skipped",
            Self::Damaged => "damaged",
        }
    }
}

/// One reason, its count and its first places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What kind of fact.
    pub kind: NoticeKind,
    /// Stable machine name: `b_without_e`, `no_gpu`, …
    pub code: &'static str,
    /// A sentence for the user, without count and places unless `whole` is set.
    pub text: String,
    /// The sentence names count and places itself: they are not to be shown beside it.
    pub whole: bool,
    /// How often.
    pub count: u64,
    /// The first three places.
    pub places: Vec<Place>,
    /// The file, where it concerns one.
    pub source: Option<SourceId>,
    /// The file's path, where it concerns one (also for files that became no source).
    pub path: Option<PathBuf>,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.label(), self.text)?;
        if self.whole {
            return Ok(());
        }
        if self.count > 1 {
            write!(f, " ({}×)", format_count(self.count))?;
        }
        if let Some(first) = self.places.first() {
            write!(f, " [first: {first}")?;
            for place in &self.places[1..] {
                write!(f, ", {place}")?;
            }
            write!(f, "]")?;
        }
        Ok(())
    }
}

/// What was read of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// The source it became.
    pub source: Option<SourceId>,
    /// Format in words: `torch.profiler JSON (object form)`.
    pub format: String,
    /// Bytes on disk.
    pub bytes: u64,
    /// Bytes after inflating; equal to `bytes` for plain files.
    pub inflated_bytes: u64,
    /// Elements read: JSON events, lines, rows.
    pub events: u64,
    /// Elements by kind (`X`, `M`, `kernel rows`, …), for `info`.
    pub by_kind: Vec<(String, u64)>,
    /// Facts of the file for display: versions, device names, rank.
    pub facts: Vec<(String, String)>,
}

/// What an import did with all its inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// One entry per file that was looked at.
    pub files: Vec<FileReport>,
    /// Facts about them, most important first once [`ImportReport::sort`] has run.
    pub notices: Vec<Notice>,
}

impl ImportReport {
    /// Counts one more occurrence of a reason. `text` is used when the reason is new for that source.
    pub fn note(
        &mut self,
        kind: NoticeKind,
        code: &'static str,
        source: Option<SourceId>,
        place: Option<Place>,
        text: impl FnOnce() -> String,
    ) {
        self.note_many(kind, code, source, 1, place.as_slice(), text);
    }

    /// Counts `count` more occurrences, with the first places among them.
    pub fn note_many(
        &mut self,
        kind: NoticeKind,
        code: &'static str,
        source: Option<SourceId>,
        count: u64,
        places: &[Place],
        text: impl FnOnce() -> String,
    ) {
        if count == 0 {
            return;
        }
        let found = self
            .notices
            .iter_mut()
            .find(|n| n.source == source && n.kind == kind && n.code == code);
        let notice = if let Some(n) = found {
            n
        } else {
            self.notices.push(Notice {
                kind,
                code,
                text: text(),
                whole: false,
                count: 0,
                places: Vec::new(),
                source,
                path: None,
            });
            let last = self.notices.len() - 1;
            &mut self.notices[last]
        };
        notice.count += count;
        let room = 3_usize.saturating_sub(notice.places.len());
        notice.places.extend(places.iter().take(room));
    }

    /// A fact whose sentence names count and places itself.
    pub fn note_whole(
        &mut self,
        kind: NoticeKind,
        code: &'static str,
        source: Option<SourceId>,
        count: u64,
        places: &[Place],
        text: String,
    ) {
        if count > 0 {
            self.notices.push(Notice {
                kind,
                code,
                text,
                whole: true,
                count,
                places: places.iter().take(3).copied().collect(),
                source,
                path: None,
            });
        }
    }

    /// A fact about a file that became no source.
    pub fn note_path(&mut self, kind: NoticeKind, code: &'static str, path: &Path, text: String) {
        self.notices.push(Notice {
            kind,
            code,
            text,
            whole: false,
            count: 1,
            places: Vec::new(),
            source: None,
            path: Some(path.to_owned()),
        });
    }

    /// True when there is a notice of this machine name.
    #[must_use]
    pub fn has(&self, code: &str) -> bool {
        self.notices.iter().any(|n| n.code == code)
    }

    /// Notices that say data is missing or was changed.
    pub fn warnings(&self) -> impl Iterator<Item = &Notice> {
        self.notices.iter().filter(|n| n.kind.is_warning())
    }

    /// Damaged and skipped first, facts last; stable otherwise.
    pub fn sort(&mut self) {
        self.notices.sort_by_key(|n| std::cmp::Reverse(n.kind));
    }
}
