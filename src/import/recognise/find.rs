//! What lies at the given paths: files, folders, archives, each looked at once.
//!
//! Decides which importer reads what; reads nothing but heads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use super::candidate::Candidate;
use super::copies::{self, Copied};
use super::folder;
use super::memory;
use super::sniff::Content;
use super::traps::Trap;
use crate::import::bytes::archive::{Archive, Member};
use crate::import::bytes::damage::Damage;
use crate::import::bytes::handed;
use crate::import::bytes::head::Head;
use crate::import::bytes::packing::Packing;
use crate::import::bytes::small::metadata;
use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::contract::file::TraceFile;
use crate::import::contract::importer::{Claim, Importer};
use crate::import::contract::names::{NAMED, file_name, some_names};
use crate::import::contract::options::OpenOptions;
use crate::import::contract::progress::Progress;
use crate::import::contract::report::{Fact, ImportReport, Loss, NoticeKind};
use crate::import::importers;

/// Files of a folder that are looked at before the next ones.
const AT_ONCE: usize = 64;

/// What looking found.
#[derive(Default)]
pub(crate) struct Looked {
    /// Files to be read, in order of their paths.
    pub candidates: Vec<Candidate>,
    /// Why given paths cannot be opened, and files of folders whose refusal explains an otherwise empty folder.
    pub refusals: Vec<LoadError>,
    /// Files looked at.
    pub files_seen: u64,
    notes: Vec<(Fact, &'static str, PathBuf, String)>,
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
        for (fact, code, path, text) in &self.notes {
            report.note_path(*fact, code, path, text.clone());
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
            if seen.insert(candidate.file.place()) {
                self.candidates.push(candidate);
            } else {
                self.repeated.push(candidate.file.path);
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

    /// A file or folder inside a folder that the system does not give.
    fn unreadable(&mut self, path: &Path, why: &str) {
        // What has another name may hold anything.
        let loss = match path.is_dir() || is_named_as_a_trace(path) {
            true => NoticeKind::Skipped.losing(Loss::File),
            false => NoticeKind::Skipped.into(),
        };
        let text = format!("{} cannot be read: {why}.", file_name(path));
        self.note(loss, "unreadable", path, text);
    }

    fn note(&mut self, fact: impl Into<Fact>, code: &'static str, path: &Path, text: String) {
        self.notes.push((fact.into(), code, path.to_owned(), text));
    }

    /// A file that is refused although it was named, among several.
    fn refuse(&mut self, error: LoadError) {
        let text = format!("{} {}", error.cause, error.remedy);
        self.note(
            NoticeKind::Skipped.losing(Loss::File),
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
        if handed::is_handed(path)
            && let Err(e) = keep(path, options, progress)
        {
            if e.kind == ErrorKind::Cancelled {
                return Err(e);
            }
            looked.refuse(e);
            continue;
        }
        let meta = match metadata(path) {
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
                looked.note(
                    NoticeKind::Skipped.losing(Loss::File),
                    "file_refused",
                    path,
                    text,
                );
            }
        } else if meta.is_file() {
            looked.files_seen += 1;
            look_at_file(&mut looked, arg, path, meta.len(), progress)?;
        } else {
            looked.refuse(LoadError::new(
                ErrorKind::Io,
                path,
                "This is neither a file nor a folder.",
                "Save the trace to a file and open that, or send it through a pipe: `… | stallscope report -`.",
            ));
        }
    }
    looked.leave_out_repeated();
    // Who shifts a file wants it beside the other one.
    let may_be_left_out = |c: &Candidate| options.shift_of(c.arg).is_none();
    looked.copies = copies::take_out(&mut looked.candidates, may_be_left_out, progress)?;
    Ok(looked)
}

/// Reads a pipe, as far as there is memory for it. The model of a trace takes no less than its text.
fn keep(path: &Path, options: &OpenOptions, progress: &Progress) -> Result<(), LoadError> {
    handed::keep(path, &|bytes| {
        progress.check(path)?;
        match memory::available() {
            Some((free, limit)) if free < bytes && !options.force => Err(memory::too_large(
                path,
                bytes.saturating_mul(2),
                free,
                limit,
            )),
            _ => Ok(()),
        }
    })
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
    let glance = Glance::at(bytes, &head);
    if let Some(candidate) = glance.candidate(arg, path) {
        looked.candidates.push(candidate);
        return Ok(());
    }
    match glance.content {
        Content::Archive(packing) => {
            let before = looked.candidates.len();
            let archive = Archive::new(path, packing, glance.compressed);
            let why = look_into_archive(looked, arg, &archive, progress)?;
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
        content => looked.refuse(refusal(&content.into_trap(), path)),
    }
    Ok(())
}

/// Why a file is refused.
fn refusal(trap: &Trap, path: &Path) -> LoadError {
    trap.refuse(path, &importers::supported())
}

fn look_into_folder(
    looked: &mut Looked,
    arg: usize,
    folder: &Path,
    progress: &Progress,
) -> Result<(), LoadError> {
    let walk = folder::walk(folder, progress)?;
    for (path, why) in &walk.unreadable {
        looked.unreadable(path, why);
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
            Ok(Glance::at(bytes, &Head::of_file(path, progress)?))
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
    claim: Option<(&'static dyn Importer, Claim)>,
    bytes: u64,
    compressed: bool,
    damage: Option<Damage>,
    /// [`Head::digest`].
    head: u64,
}

impl Glance {
    /// At a file of `bytes` bytes. Databases and zip files inside gzip cannot be read in place.
    fn at(bytes: u64, head: &Head) -> Self {
        let content = match Content::of(head) {
            Content::Sqlite if head.compressed => Content::Trap(Trap::CompressedSqlite),
            Content::Archive(Packing::Zip) if head.compressed => Content::Trap(Trap::NestedArchive),
            content => content,
        };
        Self::of(content, bytes, head)
    }

    /// At a member of an archive.
    fn inside(head: &Head) -> Self {
        let content = match Content::of(head) {
            Content::Archive(_) => Content::Trap(Trap::NestedArchive),
            content => content,
        };
        Self::of(content, 0, head)
    }

    fn of(content: Content, bytes: u64, head: &Head) -> Self {
        Self {
            claim: importers::claim(&content, head),
            content,
            bytes,
            compressed: head.compressed,
            head: head.digest(),
            damage: head.damage.clone(),
        }
    }

    /// The file for who claims it.
    fn candidate(&self, arg: usize, path: &Path) -> Option<Candidate> {
        let (importer, _) = self.claim?;
        Some(Candidate {
            arg,
            importer,
            head: self.head,
            file: TraceFile {
                path: path.to_owned(),
                disk_bytes: self.bytes,
                compressed: self.compressed,
                member: None,
            },
        })
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
            looked.unreadable(path, &e.to_string());
            return Ok(());
        }
    };
    match glance.claim {
        Some((importer, Claim::Perhaps)) => match importer.confirms(path, progress) {
            Ok(true) => looked.candidates.extend(glance.candidate(arg, path)),
            Ok(false) => looked.other(path),
            Err(damage) => note_damaged(looked, path, Some(&damage)),
        },
        Some(_) => looked.candidates.extend(glance.candidate(arg, path)),
        None => look_at_unclaimed(looked, arg, path, glance, progress)?,
    }
    Ok(())
}

/// A file of a folder that no importer claims.
fn look_at_unclaimed(
    looked: &mut Looked,
    arg: usize,
    path: &Path,
    glance: Glance,
    progress: &Progress,
) -> Result<(), LoadError> {
    if let Content::Archive(packing) = glance.content {
        let archive = Archive::new(path, packing, glance.compressed);
        look_into_archive(looked, arg, &archive, progress)?;
        return Ok(());
    }
    let damage = glance.damage.as_ref();
    match glance.content.into_trap() {
        trap @ (Trap::Blank | Trap::Zeros) if names_a_trace(path) => {
            let what = match trap {
                Trap::Blank => "blanks",
                _ => "zero bytes",
            };
            let text = format!("{} holds nothing but {what}; skipped.", file_name(path));
            looked.note(lost_if_named(path), "empty_file", path, text);
        }
        Trap::Empty if names_a_trace(path) => looked.note(
            lost_if_named(path),
            "empty_file",
            path,
            format!(
                "{} is empty (0 bytes): its process was killed before it wrote anything; skipped.",
                file_name(path)
            ),
        ),
        Trap::Unknown | Trap::OtherText(_) if damage.is_some() => {
            note_damaged(looked, path, damage);
        }
        trap => {
            let error = refusal(&trap, path);
            // What is recognised as something else, such as settings, is none that is lost.
            let lost = error.kind != ErrorKind::Unsupported && is_named_as_a_trace(path);
            if trap.is_recording() || lost {
                let text = format!("{} {}", error.cause, error.remedy);
                looked.note(
                    NoticeKind::Skipped.losing(Loss::File),
                    "file_refused",
                    path,
                    text,
                );
            } else {
                looked.other(path);
            }
            if trap.explains_folder() {
                looked.refusals.push(error);
            }
        }
    }
    Ok(())
}

/// What an empty file means: by its name it may be a trace that is lost.
fn lost_if_named(path: &Path) -> Fact {
    match is_named_as_a_trace(path) {
        true => NoticeKind::Damaged.losing(Loss::File),
        false => NoticeKind::Damaged.into(),
    }
}

fn is_named_as_a_trace(path: &Path) -> bool {
    importers::is_named_as_a_trace(&file_name(path))
}

/// A damaged file of a folder in which no trace can be seen, though it may hold one.
fn note_damaged(looked: &mut Looked, path: &Path, damage: Option<&Damage>) {
    let Some(damage) = damage else {
        return;
    };
    let error = refusal(&Trap::Damaged(damage.nothing("event")), path);
    let text = format!("{} {}", error.cause, error.remedy);
    looked.note(
        NoticeKind::Skipped.losing(Loss::File),
        "file_refused",
        path,
        text,
    );
    looked.refusals.push(error);
}

/// Whether an empty file is worth a word: by its name, as there is nothing else to go by.
fn names_a_trace(path: &Path) -> bool {
    importers::names_a_trace(&file_name(path))
}

/// Looks at the members of an archive. Returns why some of them could not be looked at, if so.
fn look_into_archive(
    looked: &mut Looked,
    arg: usize,
    archive: &Arc<Archive>,
    progress: &Progress,
) -> Result<Option<String>, LoadError> {
    let path = archive.path();
    let listing = match archive.list(progress, Glance::inside) {
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
    for (member, glance) in listing.members {
        look_at_member(looked, arg, archive, member, &glance);
    }
    Ok(why)
}

fn look_at_member(
    looked: &mut Looked,
    arg: usize,
    archive: &Arc<Archive>,
    member: Member,
    glance: &Glance,
) {
    let full = archive.path().join(&member.name);
    match (&glance.content, glance.claim) {
        (Content::Trap(Trap::Empty), _) if names_a_trace(&full) => looked.note(
            NoticeKind::Damaged,
            "empty_file",
            &full,
            format!("{} is empty (0 bytes); skipped.", member.name),
        ),
        (Content::Sqlite, _) => {
            let error = LoadError::new(
                ErrorKind::Unsupported,
                &full,
                "This is a database inside an archive: it can only be read unpacked.",
                "Unpack the archive and open the folder.",
            );
            looked.refuse(error);
        }
        (_, Some((_, Claim::Sure))) => {
            let candidate = glance.candidate(arg, &full);
            looked.candidates.extend(candidate.map(|mut candidate| {
                candidate.file.disk_bytes = member.stored;
                candidate.file.member = Some((Arc::clone(archive), member));
                candidate
            }));
        }
        (Content::Trap(trap), None) if trap.explains_folder() => {
            looked.refuse(refusal(trap, &full));
        }
        _ => looked.other(&full),
    }
}
