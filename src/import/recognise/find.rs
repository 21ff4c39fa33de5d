//! What lies at the given paths: files, folders, archives, each looked at once.
//!
//! Decides which importer reads what; reads nothing but heads.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use super::candidate::{Candidate, Format};
use super::container::{Archive, Member};
use super::copies::{self, Copied};
use super::folder;
use super::sniff::{Content, Head};
use super::traps::Trap;
use crate::import::OpenOptions;
use crate::import::bytes::damage::Damage;
use crate::import::bytes::input::Input;
use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::contract::progress::Progress;
use crate::import::contract::report::{ImportReport, NoticeKind};
use crate::import::opening::open::{file_name, note_path};

/// Files of a folder that are looked at before the next ones.
const AT_ONCE: usize = 64;

/// Names that a notice about many files gives.
pub(crate) const NAMED: usize = 3;

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

/// What looking found.
#[derive(Default)]
pub(crate) struct Looked {
    /// Files to be read, in order of their paths.
    pub candidates: Vec<Candidate>,
    /// Why given paths cannot be opened, and files of folders whose refusal explains an otherwise empty folder.
    pub refusals: Vec<LoadError>,
    /// Files looked at.
    pub files_seen: u64,
    notes: Vec<(NoticeKind, &'static str, PathBuf, String)>,
    /// Files beside the traces that are none.
    others: u64,
    /// The first of those.
    other_names: Vec<String>,
    /// Files that several of the given paths lead to, without the first mention.
    repeated: Vec<PathBuf>,
    /// Files that hold what another one holds.
    copies: Vec<Copied>,
}

impl Looked {
    /// The first thing that could not be read.
    pub fn first_note(&self) -> Option<&str> {
        self.notes.first().map(|(.., text)| text.as_str())
    }

    /// Tells what was left out.
    pub fn report(&self, report: &mut ImportReport) {
        for (kind, code, path, text) in &self.notes {
            note_path(report, *kind, code, path, || text.clone());
        }
        report.note_many(
            NoticeKind::Info,
            "other_files",
            None,
            self.others,
            &[],
            || {
                format!(
                    "Files that are no traces lie beside them and were left alone: {}.",
                    some_names(&self.other_names, self.others)
                )
            },
        );
        if let Some(first) = self.copies.first() {
            let count = self.copies.len() as u64;
            report.note_many(NoticeKind::Info, "copies", None, count, &[], || {
                let names: Vec<String> = self.copies.iter().map(|c| file_name(&c.path)).collect();
                format!(
                    "The same recording under another name was read once: byte for byte, {} is {}. Left out: {}.",
                    file_name(&first.path),
                    file_name(&first.of),
                    some_names(&names, count),
                )
            });
        }
        if let Some(first) = self.repeated.first() {
            let count = self.repeated.len() as u64;
            report.note_many(NoticeKind::Info, "named_twice", None, count, &[], || {
                format!(
                    "{} was named more than once, by another path or with its folder: it was read once.",
                    file_name(first)
                )
            });
        }
    }

    /// Leaves out what another of the given paths leads to already: figures would count it twice.
    fn leave_out_repeated(&mut self) {
        let mut seen = std::collections::BTreeSet::new();
        let all = std::mem::take(&mut self.candidates);
        for candidate in all {
            if seen.insert(candidate.place()) {
                self.candidates.push(candidate);
            } else {
                self.repeated.push(candidate.path);
            }
        }
    }

    /// A file that is no trace and need not be one.
    fn other(&mut self, path: &Path) {
        self.others += 1;
        if self.other_names.len() < NAMED {
            self.other_names.push(file_name(path));
        }
    }

    fn note(&mut self, kind: NoticeKind, code: &'static str, path: &Path, text: String) {
        self.notes.push((kind, code, path.to_owned(), text));
    }

    /// A file that is refused although it was named, among several.
    fn refuse(&mut self, error: LoadError) {
        let text = format!("{} {}", error.cause, error.remedy);
        self.note(
            NoticeKind::Skipped,
            "file_refused",
            &error.path.clone(),
            text,
        );
        self.refusals.push(error);
    }
}

/// Looks at all given paths.
///
/// # Errors
/// When a path cannot be read at all, and on cancel.
pub(crate) fn look(
    paths: &[PathBuf],
    options: &OpenOptions,
    progress: &Progress,
) -> Result<Looked, LoadError> {
    let mut looked = Looked::default();
    for (arg, path) in paths.iter().enumerate() {
        progress.check(path)?;
        let meta = match std::fs::metadata(path) {
            Ok(meta) => meta,
            Err(e) => {
                looked.refuse(LoadError::io(path, &e));
                continue;
            }
        };
        if meta.is_dir() {
            let before = (looked.candidates.len(), looked.refusals.len());
            look_into_folder(&mut looked, arg, path, progress)?;
            // Alone, it is refused with more words.
            if (looked.candidates.len(), looked.refusals.len()) == before && paths.len() > 1 {
                let text = "No trace was found in this folder.".to_owned();
                looked.note(NoticeKind::Skipped, "file_refused", path, text);
            }
        } else if meta.is_file() {
            looked.files_seen += 1;
            look_at_file(&mut looked, arg, path, meta.len(), progress)?;
        } else {
            looked.refuse(LoadError::new(
                ErrorKind::Io,
                path,
                "This is neither a file nor a folder.",
                "Save the trace to a file and open that.",
            ));
        }
    }
    looked.leave_out_repeated();
    // Who shifts a file wants it beside the other one.
    let may_be_left_out = |c: &Candidate| options.shift_of(c.arg).is_none();
    looked.copies = copies::take_out(&mut looked.candidates, may_be_left_out, progress)?;
    Ok(looked)
}

fn look_at_file(
    looked: &mut Looked,
    arg: usize,
    path: &Path,
    bytes: u64,
    progress: &Progress,
) -> Result<(), LoadError> {
    let head = match Head::of_file(path, progress) {
        Ok(head) => head,
        Err(e) => {
            looked.refuse(LoadError::io(path, &e));
            return Ok(());
        }
    };
    progress.check(path)?;
    let glance = Glance::at(bytes, head);
    match &glance.content {
        Content::Trap(trap) => looked.refuse(trap.refuse(path)),
        content @ (Content::Tar | Content::Zip) => {
            let before = looked.candidates.len();
            let why = look_into_archive(looked, arg, path, content, glance.compressed, progress)?;
            if looked.candidates.len() == before && looked.refusals.is_empty() {
                let cause = match why {
                    Some(why) => format!("No trace in this archive can be read: {why}."),
                    None => "No trace was found in this archive.".to_owned(),
                };
                looked.refuse(LoadError::new(
                    ErrorKind::NothingInside,
                    path,
                    cause,
                    "Unpack it and look at what it holds.",
                ));
            }
        }
        _ => looked.candidates.extend(candidate(arg, path, &glance)),
    }
    Ok(())
}

/// The content of a file; databases and zip files inside gzip cannot be read in place.
fn of_file(head: &Head) -> Content {
    match head.content() {
        Content::Sqlite if head.compressed => Content::Trap(Trap::CompressedSqlite),
        Content::Zip if head.compressed => Content::Trap(Trap::NestedArchive),
        content => content,
    }
}

fn candidate(arg: usize, path: &Path, glance: &Glance) -> Option<Candidate> {
    let format = match glance.content {
        Content::Chrome { .. } => Format::Chrome,
        Content::Pfw => Format::Pfw,
        Content::Sqlite => Format::Sqlite,
        _ => return None,
    };
    Some(Candidate {
        arg,
        path: path.to_owned(),
        format,
        disk_bytes: glance.bytes,
        compressed: glance.compressed,
        head: glance.head,
        member: None,
    })
}

fn look_into_folder(
    looked: &mut Looked,
    arg: usize,
    folder: &Path,
    progress: &Progress,
) -> Result<(), LoadError> {
    let walk = folder::walk(folder, progress)?;
    for (path, why) in &walk.unreadable {
        looked.note(
            NoticeKind::Skipped,
            "unreadable",
            path,
            format!("{} cannot be read: {why}.", file_name(path)),
        );
    }
    for path in &walk.too_deep {
        looked.note(
            NoticeKind::Skipped,
            "too_deep",
            path,
            format!(
                "The folder {} lies too deep and was not looked at.",
                file_name(path)
            ),
        );
    }
    if walk.too_many {
        looked.note(
            NoticeKind::Skipped,
            "too_many_files",
            folder,
            format!(
                "More than {} files lie in this folder; only those were looked at.",
                crate::time::format_count(folder::FILES as u64)
            ),
        );
    }
    for path in &walk.special {
        looked.other(path);
    }
    looked.files_seen += (walk.files.len() + walk.special.len()) as u64;
    for paths in walk.files.chunks(AT_ONCE) {
        let read = paths.par_iter().map(|path| {
            let bytes = std::fs::metadata(path)?.len();
            Ok(Glance::at(bytes, Head::of_file(path, progress)?))
        });
        let glances: Vec<std::io::Result<Glance>> = read.collect();
        for (path, glance) in paths.iter().zip(glances) {
            progress.check(path)?;
            look_at_folder_file(looked, arg, path, glance, progress)?;
        }
    }
    Ok(())
}

/// What the head of a file says. Without its bytes: a few compressed ones may inflate to megabytes each.
struct Glance {
    content: Content,
    bytes: u64,
    compressed: bool,
    damage: Option<Damage>,
    /// [`Head::digest`].
    head: u64,
}

impl Glance {
    fn at(bytes: u64, head: Head) -> Self {
        Self {
            content: of_file(&head),
            bytes,
            compressed: head.compressed,
            head: head.digest(),
            damage: head.damage,
        }
    }
}

fn look_at_folder_file(
    looked: &mut Looked,
    arg: usize,
    path: &Path,
    glance: std::io::Result<Glance>,
    progress: &Progress,
) -> Result<(), LoadError> {
    let glance = match glance {
        Ok(glance) => glance,
        Err(e) => {
            looked.note(
                NoticeKind::Skipped,
                "unreadable",
                path,
                format!("{} cannot be read: {e}.", file_name(path)),
            );
            return Ok(());
        }
    };
    let damage = glance.damage.as_ref();
    match &glance.content {
        Content::Trap(trap @ (Trap::Blank | Trap::Zeros)) if names_a_trace(path) => {
            let what = match trap {
                Trap::Blank => "blanks",
                _ => "zero bytes",
            };
            let text = format!("{} holds nothing but {what}; skipped.", file_name(path));
            looked.note(NoticeKind::Damaged, "empty_file", path, text);
        }
        Content::Trap(Trap::Empty) if names_a_trace(path) => looked.note(
            NoticeKind::Damaged,
            "empty_file",
            path,
            format!(
                "{} is empty (0 bytes): its process was killed before it wrote anything; skipped.",
                file_name(path)
            ),
        ),
        Content::Trap(Trap::Unknown | Trap::OtherText(_)) if damage.is_some() => {
            note_damaged(looked, path, damage);
        }
        Content::Trap(trap) => {
            if trap.is_recording() {
                let error = trap.refuse(path);
                let text = format!("{} {}", error.cause, error.remedy);
                looked.note(NoticeKind::Skipped, "file_refused", path, text);
            } else {
                looked.other(path);
            }
            if trap.explains_folder() {
                looked.refusals.push(trap.refuse(path));
            }
        }
        content @ (Content::Tar | Content::Zip) => {
            look_into_archive(looked, arg, path, content, glance.compressed, progress)?;
        }
        Content::Chrome { sure: false } => match mentions_events(path, progress) {
            Ok(true) => looked.candidates.extend(candidate(arg, path, &glance)),
            Ok(false) => looked.other(path),
            Err(damage) => note_damaged(looked, path, Some(&damage)),
        },
        _ => looked.candidates.extend(candidate(arg, path, &glance)),
    }
    Ok(())
}

/// A damaged file of a folder in which no trace can be seen, though it may hold one.
fn note_damaged(looked: &mut Looked, path: &Path, damage: Option<&Damage>) {
    let Some(damage) = damage else {
        return;
    };
    let error = Trap::Damaged(damage.nothing("event")).refuse(path);
    let text = format!("{} {}", error.cause, error.remedy);
    looked.note(NoticeKind::Skipped, "file_refused", path, text);
    looked.refusals.push(error);
}

/// Whether an empty file is worth a word: by its name, as there is nothing else to go by.
fn names_a_trace(path: &Path) -> bool {
    let name = file_name(path).to_lowercase();
    [".pfw", ".json", ".sqlite", ".gz", ".nsys-rep"]
        .iter()
        .any(|part| name.contains(part))
}

/// Whether `"traceEvents"` stands anywhere in a JSON file that lies in an opened folder.
///
/// # Errors
/// Where it could not be seen before the file is damaged.
fn mentions_events(path: &Path, progress: &Progress) -> Result<bool, Damage> {
    const KEY: &[u8] = b"\"traceEvents\"";
    let Ok(input) = Input::open(path) else {
        return Ok(false);
    };
    let compressed = input.compressed;
    let mut reader = input.into_reader();
    let mut buffer = vec![0_u8; 64 << 10];
    let (mut kept, mut offset) = (0, 0);
    while !progress.is_cancelled() {
        match reader.read(&mut buffer[kept..]) {
            Ok(0) => return Ok(false),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Damage::new(&e, offset, compressed)),
            Ok(got) => {
                offset += got as u64;
                let filled = kept + got;
                if memchr::memmem::find(&buffer[..filled], KEY).is_some() {
                    return Ok(true);
                }
                // The key may lie across two reads.
                kept = filled.min(KEY.len() - 1);
                buffer.copy_within(filled - kept..filled, 0);
            }
        }
    }
    Ok(false)
}

/// Looks at the members of an archive. Returns why some of them could not be looked at, if so.
fn look_into_archive(
    looked: &mut Looked,
    arg: usize,
    path: &Path,
    content: &Content,
    compressed: bool,
    progress: &Progress,
) -> Result<Option<String>, LoadError> {
    let archive = Archive::new(path, content, compressed);
    let listing = match archive.list(progress) {
        Ok(listing) => listing,
        Err(e) if e.kind == ErrorKind::Cancelled => return Err(e),
        Err(e) => {
            looked.refuse(e);
            return Ok(None);
        }
    };
    let mut why = None;
    if let Some(damage) = listing.damage {
        let (kind, code, text) = damage.notice();
        looked.note(kind, code, path, text);
        why = damage.is_cut().then(|| damage.phrase().to_owned());
    }
    if listing.too_many {
        looked.note(
            NoticeKind::Skipped,
            "too_many_files",
            path,
            "The archive holds more than 5,000 files; only those were looked at.".to_owned(),
        );
    }
    if listing.hidden > 0 {
        let text = match listing.hidden {
            1 => "A file lies in the archive that has the same name as a later one".to_owned(),
            n => format!(
                "{} files lie in the archive that have the same names as later ones",
                crate::time::format_count(n)
            ),
        };
        let text = format!("{text}: of each name the last one was looked at, as when unpacking.");
        looked.note(NoticeKind::Skipped, "same_name", path, text);
    }
    for (name, why) in &listing.unreadable {
        looked.note(
            NoticeKind::Skipped,
            "unreadable",
            &path.join(name),
            format!("{name} cannot be read: {why}."),
        );
    }
    if let Some((name, reason)) = listing.unreadable.first() {
        let more = match listing.unreadable.len() - 1 {
            0 => String::new(),
            n => format!(" (and {} more)", crate::time::format_count(n as u64)),
        };
        why = Some(format!("{name}: {reason}{more}"));
    }
    for member in listing.members {
        look_at_member(looked, arg, path, &archive, member);
    }
    Ok(why)
}

fn look_at_member(
    looked: &mut Looked,
    arg: usize,
    path: &Path,
    archive: &Arc<Archive>,
    member: Member,
) {
    let full = path.join(&member.name);
    match &member.content {
        Content::Trap(Trap::Empty) if names_a_trace(&full) => looked.note(
            NoticeKind::Damaged,
            "empty_file",
            &full,
            format!("{} is empty (0 bytes); skipped.", member.name),
        ),
        Content::Sqlite => {
            let error = LoadError::new(
                ErrorKind::Unsupported,
                &full,
                "This is a database inside an archive: it can only be read unpacked.",
                "Unpack the archive and open the folder.",
            );
            looked.refuse(error);
        }
        Content::Trap(trap) if trap.explains_folder() => looked.refuse(trap.refuse(&full)),
        Content::Trap(_) | Content::Chrome { sure: false } => looked.other(&full),
        content => {
            let glance = Glance {
                content: content.clone(),
                bytes: member.stored,
                compressed: member.compressed,
                damage: None,
                head: member.head,
            };
            let found = candidate(arg, &full, &glance);
            looked.candidates.extend(found.map(|c| Candidate {
                member: Some((Arc::clone(archive), member.clone())),
                ..c
            }));
        }
    }
}
