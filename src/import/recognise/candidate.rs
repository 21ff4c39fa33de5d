//! A file that is to be read, and by whom.

use std::path::PathBuf;
use std::sync::Arc;

use super::container::{Archive, Member};
use crate::import::bytes::input::Input;
use crate::import::contract::error::LoadError;

/// Who reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Chrome-trace JSON.
    Chrome,
    /// DFTracer lines.
    Pfw,
    /// An SQLite database.
    Sqlite,
}

/// A file, or a member of an archive, that may be a trace.
#[derive(Clone)]
pub(crate) struct Candidate {
    /// Index of the path that was given.
    pub arg: usize,
    /// Where it is; `archive/member` for members.
    pub path: PathBuf,
    /// Who reads it.
    pub format: Format,
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Whether they are compressed.
    pub compressed: bool,
    /// [`super::sniff::Head::digest`].
    pub head: u64,
    /// The archive that it lies in.
    pub member: Option<(Arc<Archive>, Member)>,
}

impl Candidate {
    /// The same for all paths that lead here: the file without links and detours, and the member.
    pub fn place(&self) -> (PathBuf, Option<String>) {
        let (file, member) = match &self.member {
            Some((archive, member)) => (archive.path(), Some(member.name.clone())),
            None => (self.path.as_path(), None),
        };
        let place = std::fs::canonicalize(file).unwrap_or_else(|_gone| file.to_owned());
        (place, member)
    }

    /// True for members of archives that share a decoder: out of their order they would be inflated again and again.
    pub fn shares_decoder(&self) -> bool {
        let archive = self.member.as_ref().map(|(archive, _)| archive);
        archive.is_some_and(|archive| archive.is_sequential())
    }

    /// Opens it.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn input(&self) -> Result<Input, LoadError> {
        match &self.member {
            Some((archive, member)) => archive.input(member),
            None => Input::open(&self.path),
        }
    }
}
