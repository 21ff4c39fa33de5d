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

    /// A fact of this kind with what is missing because of it.
    #[must_use]
    pub const fn losing(self, loss: Loss) -> Fact {
        Fact { kind: self, loss }
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

/// How much was lost; `None` where nobody can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lost {
    /// Bytes of text (inflated) or of the file.
    pub bytes: Option<u64>,
    /// Events, records or rows.
    pub events: Option<u64>,
    /// The number of events is an estimate: bytes, by the mean length of an event of the file.
    pub estimated: bool,
}

impl Lost {
    /// This many events, exactly.
    #[must_use]
    pub fn events(events: u64) -> Self {
        Self {
            events: Some(events),
            ..Self::default()
        }
    }

    /// Bytes that nothing could be read of; of the file's others, `read` hold `events`.
    #[must_use]
    pub fn stretch(bytes: u64, read: u64, events: u64) -> Self {
        let read = u128::from(read.max(1));
        let about = (u128::from(bytes) * u128::from(events) + read / 2) / read;
        Self {
            bytes: Some(bytes),
            // Where nothing was read, nobody knows how long an event is.
            events: (events > 0).then(|| u64::try_from(about).unwrap_or(u64::MAX)),
            estimated: true,
        }
    }

    fn add(&mut self, other: Self) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.bytes = sum(self.bytes, other.bytes);
        self.events = sum(self.events, other.events);
        self.estimated |= other.estimated;
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = if self.estimated { "about " } else { "" };
        let noun = |n: u64, one: &str| {
            let end = if n == 1 { "" } else { "s" };
            format!("{} {one}{end}", format_count(n))
        };
        match (self.bytes, self.events) {
            (None, None) => write!(f, "an unknown number of events"),
            (Some(bytes), None | Some(0)) => write!(f, "{}", noun(bytes, "byte")),
            (None, Some(events)) => write!(f, "{about}{}", noun(events, "event")),
            (Some(bytes), Some(events)) => {
                write!(
                    f,
                    "{} with {about}{}",
                    noun(bytes, "byte"),
                    noun(events, "event")
                )
            }
        }
    }
}

/// What is missing from the timeline because of a fact. Exit codes, the cut of a source and what the window warns of follow
/// from it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Loss {
    /// Nothing that any figure is made of.
    #[default]
    Nothing,
    /// Some events.
    Part(Lost),
    /// A stretch of the file with whatever it held: what the rest does not show may have been recorded all the same.
    Cut(Lost),
    /// A whole file.
    File,
    /// Nothing, but nobody knows whose some rows are: figures of processes and GPUs lack or mix them.
    Unplaced,
}

impl Loss {
    /// How much was lost, where something was.
    #[must_use]
    pub fn lost(self) -> Option<Lost> {
        match self {
            Self::Part(lost) | Self::Cut(lost) => Some(lost),
            Self::Nothing | Self::File | Self::Unplaced => None,
        }
    }

    fn add(&mut self, other: Self) {
        match (&mut *self, other.lost()) {
            (Self::Part(lost) | Self::Cut(lost), Some(more)) => lost.add(more),
            _ => *self = other,
        }
    }
}

/// What kind of fact a notice states, and what is missing because of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// The kind.
    pub kind: NoticeKind,
    /// What is missing.
    pub loss: Loss,
}

impl From<NoticeKind> for Fact {
    /// What is skipped or damaged is lost, in an unknown amount; nothing is lost otherwise.
    fn from(kind: NoticeKind) -> Self {
        let loss = match kind {
            NoticeKind::Skipped | NoticeKind::Damaged => Loss::Part(Lost::default()),
            NoticeKind::Info
            | NoticeKind::NotRecorded
            | NoticeKind::Guessed
            | NoticeKind::Repaired => Loss::Nothing,
        };
        Self { kind, loss }
    }
}

/// One reason, its count and its first places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What kind of fact.
    pub kind: NoticeKind,
    /// What is missing because of it.
    pub loss: Loss,
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
        fact: impl Into<Fact>,
        code: &'static str,
        source: Option<SourceId>,
        place: Option<Place>,
        text: impl FnOnce() -> String,
    ) {
        self.note_many(fact, code, source, 1, place.as_slice(), text);
    }

    /// Counts `count` more occurrences, with the first places among them.
    pub fn note_many(
        &mut self,
        fact: impl Into<Fact>,
        code: &'static str,
        source: Option<SourceId>,
        count: u64,
        places: &[Place],
        text: impl FnOnce() -> String,
    ) {
        if count == 0 {
            return;
        }
        let Fact { kind, loss } = fact.into();
        let found = self
            .notices
            .iter_mut()
            .find(|n| n.source == source && n.kind == kind && n.code == code);
        let notice = if let Some(n) = found {
            n.loss.add(loss);
            n
        } else {
            self.notices.push(Notice {
                kind,
                loss,
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
        fact: impl Into<Fact>,
        code: &'static str,
        source: Option<SourceId>,
        count: u64,
        places: &[Place],
        text: String,
    ) {
        let Fact { kind, loss } = fact.into();
        if count > 0 {
            self.notices.push(Notice {
                kind,
                loss,
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
    pub fn note_path(
        &mut self,
        fact: impl Into<Fact>,
        code: &'static str,
        path: &Path,
        text: String,
    ) {
        let Fact { kind, loss } = fact.into();
        self.notices.push(Notice {
            kind,
            loss,
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

    /// What of all inputs is missing, in words and short: `40 % of the events were lost`. `None` where nothing is.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        let mut sum = None;
        let (mut files, mut unplaced, mut unknown) = (0_u64, false, false);
        for notice in &self.notices {
            match notice.loss {
                Loss::Nothing => {}
                Loss::File => files += 1,
                Loss::Unplaced => unplaced = true,
                Loss::Part(lost) | Loss::Cut(lost) => {
                    unknown |= lost.events.is_none();
                    sum.get_or_insert(Lost::default()).add(lost);
                }
            }
        }
        let read: u64 = self.files.iter().map(|f| f.events).sum();
        let share = |lost: u64| 100.0 * lost as f64 / (lost.saturating_add(read).max(1)) as f64;
        match sum {
            Some(Lost {
                events: Some(events),
                estimated,
                ..
            }) if events > 0 && !unknown => {
                let about = if estimated { "about " } else { "" };
                Some(match share(events) {
                    share if share >= 0.95 => {
                        format!("{about}{share:.0} % of the events were lost")
                    }
                    _ => format!("{about}{} events were lost", format_count(events)),
                })
            }
            Some(_) => Some("events were lost".to_owned()),
            None if files == 1 => Some("a file was not read".to_owned()),
            None if files > 1 => Some(format!("{} files were not read", format_count(files))),
            None => unplaced.then(|| "whose some rows are is unknown".to_owned()),
        }
    }

    /// Damaged and skipped first, facts last; stable otherwise.
    pub fn sort(&mut self) {
        self.notices.sort_by_key(|n| std::cmp::Reverse(n.kind));
    }
}
