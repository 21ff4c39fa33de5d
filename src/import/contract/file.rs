//! A file as importers get it: on its own, or a member of an archive.

use std::path::PathBuf;
use std::sync::Arc;

use super::error::LoadError;
use crate::import::bytes::archive::{Archive, Member};
use crate::import::bytes::input::Input;

/// A file, or a member of an archive, that holds a trace.
#[derive(Clone)]
pub(crate) struct TraceFile {
    /// Where it is; `archive/member` for members.
    pub path: PathBuf,
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Whether they are compressed.
    pub compressed: bool,
    /// The archive that it lies in.
    pub member: Option<(Arc<Archive>, Member)>,
}

impl TraceFile {
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
