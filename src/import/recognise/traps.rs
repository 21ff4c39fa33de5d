//! Files that are no trace, though people open them: what each is and what to do with it.
//!
//! Texts only; recognising them is [`super::sniff`]'s.

use std::path::Path;

use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::contract::names::file_name;

/// A recognised file that cannot be opened as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trap {
    /// No bytes.
    Empty,
    /// Only blanks.
    Blank,
    /// Only blanks and zero bytes.
    Zeros,
    /// Data that is damaged before anything of it can be told: what is wrong.
    Damaged(String),
    /// A native Nsight Systems report, with the version that wrote it.
    NsightReport(Option<String>),
    /// An export of Nsight Systems in another format.
    NsightExport(&'static str),
    /// Its JSON-lines export.
    NsightJsonLines,
    /// A gzip-compressed SQLite database.
    CompressedSqlite,
    /// A Git LFS pointer in place of the file.
    LfsPointer,
    /// An archive inside an archive.
    NestedArchive,
    /// Gzip data inside gzip data.
    TwiceCompressed,
    /// Another compression: name and command.
    Compressed(&'static str, &'static str),
    /// Text in units of several bytes: the name of the encoding.
    Wide(&'static str),
    /// XPlane protobuf of JAX and TensorFlow.
    XPlane,
    /// JSON of rocprofiler-sdk.
    Rocprofiler,
    /// The memory timeline of torch.profiler.
    MemoryTimeline,
    /// An execution trace of PyTorch or Chakra.
    ExecutionTrace,
    /// A profile in the format of speedscope.
    Speedscope,
    /// A profile in the format of the Firefox profiler.
    FirefoxProfile,
    /// A tokenizer.
    Tokenizer,
    /// JSON that holds no events.
    OtherJson,
    /// Lines of JSON that are no events.
    JsonLines,
    /// A log with events inside.
    TextLog,
    /// Other text, with its first line.
    OtherText(String),
    /// Anything else.
    Unknown,
}

const AGAIN_SQLITE: &str = "Export the report again with --type sqlite and open that file.";

impl Trap {
    /// True for files that hold a recording or held one: worth a word when they lie in an opened folder.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        matches!(
            self,
            Self::Damaged(_)
                | Self::CompressedSqlite
                | Self::TwiceCompressed
                | Self::LfsPointer
                | Self::NestedArchive
        )
    }

    /// True where a folder that holds nothing else is best refused with this trap's own words.
    #[must_use]
    pub fn explains_folder(&self) -> bool {
        self.is_recording()
            || matches!(
                self,
                Self::NsightReport(_)
                    | Self::NsightExport(_)
                    | Self::NsightJsonLines
                    | Self::XPlane
                    | Self::Rocprofiler
            )
    }

    /// The refusal. `supported` says which files can be opened, where that is all there is to say.
    #[must_use]
    pub fn refuse(&self, path: &Path, supported: &str) -> LoadError {
        let (kind, cause, mut remedy) = self.texts();
        if remedy.is_empty() {
            supported.clone_into(&mut remedy);
        }
        let error = LoadError::new(kind, path, cause, remedy);
        match self.command(path) {
            Some(command) if self.is_unknown() => {
                let hint = "If it is an Nsight Systems report, convert it first";
                let remedy = format!("{hint}: `{command}`. {}", error.remedy);
                LoadError { remedy, ..error }.with_command(command)
            }
            Some(command) => {
                let remedy = format!("{}: `{command}`", error.remedy.trim_end_matches(['.', ':']));
                LoadError { remedy, ..error }.with_command(command)
            }
            None => error,
        }
    }

    fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown | Self::OtherText(_))
    }

    /// Kind, cause and remedy; no remedy where it is to open what is supported.
    fn texts(&self) -> (ErrorKind, String, String) {
        use ErrorKind::{Corrupt, Unknown, Unsupported};
        let unpack = "Unpack it and open the result:";
        match self {
            Self::Damaged(cause) => (
                Corrupt,
                cause.clone(),
                "Copy the file again from where it was written.".to_owned(),
            ),
            Self::NsightReport(Some(version)) => (
                Unsupported,
                format!("This is an Nsight Systems report (written by {version})."),
                "Convert it with nsys of that version or newer:".to_owned(),
            ),
            Self::Wide(name) => (
                Unsupported,
                format!("This is text in {name}."),
                "Save it as UTF-8 and open it again.".to_owned(),
            ),
            Self::NsightExport(format) => (
                Unsupported,
                format!(
                    "This is a table in {format} format, as nsys exports them, not a SQLite export."
                ),
                AGAIN_SQLITE.to_owned(),
            ),
            Self::Compressed(name, _) => (
                Unsupported,
                format!("This file is compressed with {name}; only gzip is read directly."),
                unpack.to_owned(),
            ),
            Self::OtherText(line) => (
                Unknown,
                format!(
                    "This file is not a trace we can read: it is text that begins with “{line}”."
                ),
                String::new(),
            ),
            other => {
                let (kind, cause, remedy) = other.fixed_texts();
                (kind, cause.to_owned(), remedy.to_owned())
            }
        }
    }

    fn fixed_texts(&self) -> (ErrorKind, &'static str, &'static str) {
        use ErrorKind::{Empty, Unknown, Unsupported};
        match self {
            Self::Empty => (
                Empty,
                "The file is empty (0 bytes): the program that wrote it was killed before it wrote anything.",
                "Record again; files of other processes of the same run may be complete.",
            ),
            Self::Blank => (Empty, "The file holds nothing but blanks.", "Record again."),
            Self::Zeros => (
                Empty,
                "The file holds nothing but zero bytes: its room was reserved, and nothing was written into it.",
                "Copy the file again from where it was written, or record again.",
            ),
            Self::NsightReport(_) => (
                Unsupported,
                "This is an Nsight Systems report (written by a version before 2023.4).",
                "Convert it with nsys of the version that wrote it, or newer:",
            ),
            Self::NsightJsonLines => (
                Unsupported,
                "This is a JSON-lines export of Nsight Systems, not a SQLite export.",
                AGAIN_SQLITE,
            ),
            Self::CompressedSqlite => (
                Unsupported,
                "This is a compressed SQLite database: it can only be read unpacked.",
                "Unpack it and open the result:",
            ),
            Self::TwiceCompressed => (
                Unsupported,
                "This file was compressed twice: it is gzip data inside gzip data.",
                "Unpack it once and open the result:",
            ),
            Self::LfsPointer => (
                Unsupported,
                "This is a Git LFS pointer (a few lines of text in place of the file).",
                "Fetch the file itself:",
            ),
            Self::NestedArchive => (
                Unsupported,
                "This is an archive inside an archive.",
                "Unpack the outer archive and open the folder.",
            ),
            Self::XPlane => (
                Unsupported,
                "This is an XPlane protobuf of JAX or TensorFlow.",
                "Open the .trace.json.gz that the profiler wrote beside it.",
            ),
            Self::Rocprofiler => (
                Unsupported,
                "This is rocprofiler-sdk JSON (it has no traceEvents).",
                "Record with torch.profiler, or convert it to Chrome-trace JSON.",
            ),
            Self::MemoryTimeline => (
                Unsupported,
                "This is a JSON array of arrays, as torch's memory timeline is written: it holds [time, action, …] \
                 rows, not events.",
                "Open the file that export_chrome_trace wrote.",
            ),
            Self::ExecutionTrace => (
                Unsupported,
                "This is an execution trace (a graph of nodes): it has no times on a clock.",
                "Open the torch.profiler JSON that was recorded with it.",
            ),
            Self::Speedscope => (
                Unsupported,
                "This is a speedscope profile (as py-spy writes it): samples of stacks, not events on a clock.",
                "Record with py-spy record -f chrometrace, or with torch.profiler, and open that file.",
            ),
            Self::FirefoxProfile => (
                Unsupported,
                "This is a profile of the Firefox profiler (as samply writes it): samples of stacks, not events on a \
                 clock.",
                "Record with torch.profiler, DFTracer or Nsight Systems and open what they write.",
            ),
            Self::Tokenizer => (
                Unsupported,
                "This is a tokenizer (JSON without traceEvents).",
                "",
            ),
            Self::OtherJson => (
                Unsupported,
                "This is JSON, but not a list of trace events.",
                "",
            ),
            Self::JsonLines => (
                Unsupported,
                "This file has one JSON object per line, but they are no trace events (none has a phase \"ph\").",
                "",
            ),
            Self::TextLog => (
                Unsupported,
                "This is a text log with JSON events inside.",
                "Extract the events into a JSON array (tlparse does so for PyTorch logs) and open that file.",
            ),
            _ => (Unknown, "This file is not a trace we can read.", ""),
        }
    }

    fn command(&self, path: &Path) -> Option<String> {
        let quoted = quote(path);
        let named_report = path
            .extension()
            .is_some_and(|e| e == "nsys-rep" || e == "qdrep");
        match self {
            _ if self.is_unknown() && !named_report => None,
            Self::NsightReport(_) | Self::Unknown | Self::OtherText(_) => Some(format!(
                "nsys export --type sqlite --output {} {quoted}",
                quote(&path.with_extension("sqlite")),
            )),
            Self::CompressedSqlite => Some(format!("gunzip -k {quoted}")),
            Self::TwiceCompressed => Some(format!(
                "gzip -dc {quoted} > {}",
                quote(&path.with_file_name(format!("once-{}", file_name(path))))
            )),
            Self::LfsPointer => Some(format!("git lfs pull --include {quoted}")),
            Self::Compressed(_, command) => Some(format!("{command} {quoted}")),
            _ => None,
        }
    }
}

/// A path as one word for a shell.
fn quote(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@,%~".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        return text.into_owned();
    }
    let dash = if text.starts_with('-') { "./" } else { "" };
    format!("'{dash}{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_comes_with_the_command_that_converts_it() {
        let trap = Trap::NsightReport(Some("2025.5.1".to_owned()));
        let error = trap.refuse(Path::new("/data/my report.nsys-rep"), "");
        let command = "nsys export --type sqlite --output '/data/my report.sqlite' '/data/my report.nsys-rep'";
        assert_eq!(error.command.as_deref(), Some(command));
        assert_eq!(
            error.to_string(),
            format!(
                "This is an Nsight Systems report (written by 2025.5.1).\nConvert it with nsys of that version or \
                 newer: `{command}`\n/data/my report.nsys-rep"
            )
        );
    }

    #[test]
    fn an_unknown_file_with_the_name_of_a_report_may_be_one() {
        let error = Trap::Unknown.refuse(Path::new("/data/r.nsys-rep"), "Supported: x.");
        let command = "nsys export --type sqlite --output /data/r.sqlite /data/r.nsys-rep";
        assert_eq!(error.command.as_deref(), Some(command));
        assert!(error.remedy.contains(command) && error.remedy.ends_with("Supported: x."));
        let error = Trap::Unknown.refuse(Path::new("/data/r.bin"), "Supported: x.");
        assert_eq!(
            (error.command, error.remedy.as_str()),
            (None, "Supported: x.")
        );
    }

    #[test]
    fn paths_become_one_word() {
        assert_eq!(quote(Path::new("a/b-c.x")), "a/b-c.x");
        assert_eq!(quote(Path::new("it's")), r"'it'\''s'");
        assert_eq!(quote(Path::new("-x")), "'./-x'");
        assert_eq!(quote(Path::new("a;b")), "'a;b'");
    }
}
