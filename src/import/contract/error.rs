//! Why a file could not be opened: the cause, the place, the remedy; the path comes last.

use std::path::{Path, PathBuf};

use super::report::Place;

/// A fatal failure of opening one input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}{}\n{remedy}\n{}", place_text(*place), path.display())]
pub struct LoadError {
    /// Stable machine name of the case.
    pub kind: ErrorKind,
    /// One sentence: what is wrong.
    pub cause: String,
    /// One sentence: what to do.
    pub remedy: String,
    /// A command that helps, ready to be copied.
    pub command: Option<String>,
    /// Where in the file.
    pub place: Option<Place>,
    /// The file.
    pub path: PathBuf,
}

fn place_text(place: Option<Place>) -> String {
    place.map_or(String::new(), |p| format!(" ({p})"))
}

/// The cases of [`LoadError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The file system refused.
    Io,
    /// No bytes.
    Empty,
    /// Not a format that Stallscope knows.
    Unknown,
    /// A known format that is not a trace, or one that has to be converted first.
    Unsupported,
    /// The right format, but nothing in it could be read.
    Corrupt,
    /// A folder or archive without a trace.
    NothingInside,
    /// The user cancelled.
    Cancelled,
    /// It would not fit into memory.
    TooLarge,
}

impl LoadError {
    /// An error of `kind` at `path`.
    #[must_use]
    pub fn new(
        kind: ErrorKind,
        path: &Path,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            cause: cause.into(),
            remedy: remedy.into(),
            command: None,
            place: None,
            path: path.to_owned(),
        }
    }

    /// With the place in the file.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// With a command that helps.
    #[must_use]
    pub fn with_command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// What the file system said.
    #[must_use]
    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        let what = if path.is_dir() { "folder" } else { "file" };
        let remedy = match error.kind() {
            std::io::ErrorKind::NotFound => "Check the path.".to_owned(),
            std::io::ErrorKind::PermissionDenied => format!("Check the permissions of the {what}."),
            _ => format!("Check that the {what} is still there and that the disk is readable."),
        };
        let cause = format!("The {what} cannot be read: {error}.");
        Self::new(ErrorKind::Io, path, cause, remedy)
    }

    /// The user asked to stop.
    #[must_use]
    pub fn cancelled(path: &Path) -> Self {
        Self::new(
            ErrorKind::Cancelled,
            path,
            "Loading was cancelled.",
            "Open the file again to load it.",
        )
    }
}
