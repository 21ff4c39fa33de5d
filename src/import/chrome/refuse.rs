//! JSON and texts that are no traces: what they are and what to do.

use std::path::Path;

use super::facts::Facts;
use super::merge::early::Early;
use super::tally::Odd;
use crate::import::bytes::damage::Damage;
use crate::import::chrome::read::root::{Form, Root};
use crate::import::contract::error::{ErrorKind, LoadError};
use crate::import::contract::report::Place;
use crate::import::text::piece::Piece;

/// Why a file without any event cannot be opened; `open` says that its list or root object does not end.
pub(super) fn refuse(root: &Root, early: &Early, open: bool, facts: &Facts) -> LoadError {
    let (path, tally) = (facts.path.as_path(), &early.tally);
    let first = tally.first(Odd::Broken);
    let error = |kind, cause: String, remedy: &str| LoadError::new(kind, path, cause, remedy);
    let has = |key: &str| root.keys.iter().any(|k| k == key);
    match root.form {
        Form::Empty => error(
            ErrorKind::Empty,
            "The file is empty.".to_owned(),
            "Record again: the profiler did not get to write its trace.",
        ),
        Form::Array if tally.count(Odd::NotObject) > 0 => array(path, root, first),
        Form::Array | Form::Object if single_quotes(&early.broken) => single_quoted(path),
        Form::Array | Form::Object
            if root.has_list && open && (early.cut_off || first.is_none()) =>
        {
            cut(facts, "before its first whole event")
        }
        Form::Object if root.has_list => error(
            ErrorKind::Corrupt,
            "No event of its list traceEvents can be read: it is no valid JSON.".to_owned(),
            "Record again, or open the file that the profiler wrote itself.",
        ),
        Form::Object if has("rocprofiler-sdk-tool") => error(
            ErrorKind::Unsupported,
            "This is the JSON output of rocprofiler-sdk (rocprofv3), not a Chrome trace: it has no traceEvents.".to_owned(),
            "Record with torch.profiler, or let rocprofv3 write --output-format pftrace and convert that.",
        ),
        Form::Object if has("nodes") => error(
            ErrorKind::Unsupported,
            "This is an execution trace (a graph of \"nodes\"), which holds no times.".to_owned(),
            "Open the trace that torch.profiler wrote beside it (export_chrome_trace, *.pt.trace.json).",
        ),
        Form::Object if has("added_tokens") || has("model") && has("normalizer") => error(
            ErrorKind::Unknown,
            "This is a tokenizer, not a trace: its object has no traceEvents.".to_owned(),
            "Open the *.pt.trace.json that torch.profiler wrote.",
        ),
        Form::Object if root.no_list.is_some() => error(
            ErrorKind::Unknown,
            format!(
                "This JSON object is no trace: its traceEvents is {}, not a list.",
                root.no_list.unwrap_or_default()
            ),
            "Open the *.pt.trace.json that torch.profiler wrote.",
        ),
        Form::Object if single_quotes(&root.head) => single_quoted(path),
        Form::Object if root.is_cut() => {
            let list = "before any event list (traceEvents)";
            let keys = root.keys.join(", ");
            let place = match root.keys.len() {
                0 => list.to_owned(),
                1 => format!("behind the key {keys} and {list}"),
                _ => format!("behind the keys {keys} and {list}"),
            };
            cut(facts, &place)
        }
        Form::Object => {
            let keys = match root.keys.len() {
                0 => "It has no keys that can be read".to_owned(),
                _ => format!("Its keys are {}", root.keys.join(", ")),
            };
            error(
                ErrorKind::Unknown,
                format!("This JSON object is no trace: it has no list traceEvents. {keys}."),
                "Open the *.pt.trace.json that torch.profiler wrote.",
            )
        }
        Form::Array => error(
            ErrorKind::Corrupt,
            "No event of this list can be read.".to_owned(),
            "Record again, or open the file that the profiler wrote itself.",
        ),
        Form::Headless | Form::Lines => headless(path, root),
    }
    .at_first(first)
}

/// The end of the file is missing.
fn cut(facts: &Facts, place: &str) -> LoadError {
    LoadError::new(
        ErrorKind::Corrupt,
        &facts.path,
        format!("The file ends early, {place}: nothing of it can be shown."),
        "Copy the file again from where it was written; if it ends there too, record again and let the profiler finish \
         before the program ends.",
    )
    .at(Place::Byte(facts.inflated_bytes))
}

/// True where keys stand between single quotes.
fn single_quotes(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let inner = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    inner.is_some_and(|inner| inner.first() == Some(&b'\''))
}

fn single_quoted(path: &Path) -> LoadError {
    LoadError::new(
        ErrorKind::Corrupt,
        path,
        "This is no valid JSON: its keys stand between single quotes, as Python prints a dict.",
        "Write it with json.dump, or open the file that the profiler wrote itself.",
    )
}

/// Why a file of which no event could be read before it is damaged cannot be opened.
pub(super) fn damaged(path: &Path, damage: &Damage) -> LoadError {
    LoadError::new(
        ErrorKind::Corrupt,
        path,
        damage.nothing("event"),
        "Copy the file again from where it was written.",
    )
}

fn array(path: &Path, root: &Root, first: Option<u64>) -> LoadError {
    let inner = root.head.trim_ascii_start().get(1..).unwrap_or_default();
    let (cause, remedy) = if inner.trim_ascii_start().first() == Some(&b'[') {
        (
            "This is a list of lists, such as the memory timeline of torch.profiler, not of events.",
            "Open the trace itself: export_chrome_trace writes it, export_memory_timeline does not.",
        )
    } else {
        (
            "This is a JSON list whose elements are no events.",
            "Open the *.pt.trace.json that torch.profiler wrote.",
        )
    };
    LoadError::new(ErrorKind::Unsupported, path, cause, remedy).at_first(first)
}

fn headless(path: &Path, root: &Root) -> LoadError {
    let head = &root.head;
    let binary = head
        .iter()
        .any(|&b| b == 0 || (b < 0x20 && !b.is_ascii_whitespace() && b != 0x1b));
    if binary {
        return LoadError::new(
            ErrorKind::Unknown,
            path,
            "This is binary data (a protobuf such as an XPlane or Perfetto trace, perhaps), not JSON.",
            "Export the trace as Chrome JSON: for JAX, the *.trace.json.gz that lies beside the .xplane.pb.",
        );
    }
    if root.piece != Piece::No && memchr::memchr(b'"', head).is_some() {
        return LoadError::new(
            ErrorKind::Corrupt,
            path,
            "This looks like a piece of a trace without its beginning, and no whole event is in it.",
            "Open the whole file.",
        );
    }
    if memchr::memchr(b'{', head).is_some() {
        return LoadError::new(
            ErrorKind::Unsupported,
            path,
            "This is a text log with JSON inside, not a trace.",
            "Extract the JSON first (tlparse does that for torch logs) and open the result.",
        );
    }
    LoadError::new(
        ErrorKind::Unknown,
        path,
        "This is no JSON: it begins with neither { nor [.",
        "Open the *.pt.trace.json that torch.profiler wrote.",
    )
}

trait AtFirst {
    fn at_first(self, first: Option<u64>) -> Self;
}

impl AtFirst for LoadError {
    fn at_first(self, first: Option<u64>) -> Self {
        match first {
            Some(offset) if self.place.is_none() => self.at(Place::Byte(offset)),
            _ => self,
        }
    }
}
