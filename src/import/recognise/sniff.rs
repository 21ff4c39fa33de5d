//! Recognises what a file is from its first 64 KiB (inflated), never from its name.
//!
//! Order: gzip (many members) → archives → binary signatures → JSON → lines of JSON → text. Knows no importer: it says
//! what the content is, importers claim it, and [`super::traps`] says what to do about files that nobody claims. The
//! JSON formats are told apart here together, since each is known by not being the other.

use super::traps::Trap;
use crate::import::bytes::head::Head;
use crate::import::bytes::packing::Packing;
use crate::import::text::json::{first_object, text_of, trim_start};
use crate::import::text::piece::{self, Piece};
use lines::Lines;

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// JSON with a list of events, as Chrome traces are. `sure` when events were seen; without, a JSON object whose
    /// events may come later.
    Events {
        /// Events or their list were seen.
        sure: bool,
    },
    /// One JSON record per line, as DFTracer writes them.
    Records,
    /// An SQLite database.
    Sqlite,
    /// An archive.
    Archive(Packing),
    /// Something else that is recognised.
    Trap(Trap),
}

impl Content {
    /// What it is to nobody who could read it.
    pub fn into_trap(self) -> Trap {
        match self {
            Self::Trap(trap) => trap,
            _ => Trap::Unknown,
        }
    }

    /// What the file is.
    #[must_use]
    pub fn of(head: &Head) -> Self {
        let bytes = head.bytes.as_slice();
        if bytes.is_empty() && head.skipped == 0 {
            return Content::Trap(match &head.damage {
                Some(damage) => Trap::Damaged(damage.nothing("byte")),
                None => Trap::Empty,
            });
        }
        if head.skipped > 0 {
            return text_content(head);
        }
        if head.compressed && bytes.starts_with(&[0x1f, 0x8b]) {
            return Content::Trap(Trap::TwiceCompressed);
        }
        if let Some(name) = wide_text(bytes) {
            return Content::Trap(Trap::Wide(name));
        }
        if let Some(packing) = Packing::of(bytes) {
            return Content::Archive(packing);
        }
        if is_xplane(bytes) {
            return Content::Trap(Trap::XPlane);
        }
        signature(bytes).unwrap_or_else(|| text_content(head))
    }
}

impl Content {
    /// True for text that is neither JSON nor pieces of it: only its head can tell whose it is.
    pub fn is_plain_text(&self) -> bool {
        matches!(self, Self::Trap(Trap::OtherText(_) | Trap::TextLog))
    }
}

fn text_content(head: &Head) -> Content {
    use Trap::{JsonLines, MemoryTimeline, OtherJson, OtherText, TextLog};
    let text = text_of(&head.bytes);
    match whole_content(head, text) {
        Content::Events { sure: false }
        | Content::Trap(JsonLines | MemoryTimeline | OtherJson | OtherText(_) | TextLog)
            if piece::look(text) == Piece::Yes =>
        {
            Content::Events { sure: true }
        }
        content => content,
    }
}

/// What the text is if it is whole.
fn whole_content(head: &Head, text: &[u8]) -> Content {
    match text.first() {
        None => Content::Trap(match &head.damage {
            Some(damage) => Trap::Damaged(damage.nothing("text")),
            None if head.zeros || memchr::memchr(0, &head.bytes).is_some() => Trap::Zeros,
            None => Trap::Blank,
        }),
        Some(b'{') => object_content(head, text),
        Some(b'[') => array_content(head, text),
        Some(_) if is_binary(text) => Content::Trap(Trap::Unknown),
        Some(_) => other_text(head, text),
    }
}

fn object_content(head: &Head, text: &[u8]) -> Content {
    let first = first_object(text);
    let has = |key: &str| first.keys.contains(&key.as_bytes());
    if has("traceEvents") {
        return Content::Events { sure: true };
    }
    let next = first.end.map(|end| trim_start(&text[end..]).first());
    let is_line = match (first.end, next.flatten()) {
        (None, _) | (_, Some(b',')) => false,
        // The last event of a list without its beginning.
        (Some(end), Some(b']')) => looks_like_dftracer(&text[..end]),
        _ => true,
    };
    // A record that the head cuts off says by its own signs whose it is.
    let is_line = is_line || (first.end.is_none() && looks_like_dftracer(text));
    if has("ph") && (is_line || are_dftracer(text)) {
        return if are_chrome(text) {
            Content::Events { sure: true }
        } else {
            Content::Records
        };
    }
    let begins = |n: usize, sign: &str| {
        let head = &text[..text.len().min(n)];
        memchr::memmem::find(head, sign.as_bytes()).is_some()
    };
    if (has("$schema") && begins(1_024, "speedscope")) || (has("profiles") && has("shared")) {
        return Content::Trap(Trap::Speedscope);
    }
    if has("meta")
        && (begins(8_192, "preprocessedProfileVersion") || begins(8_192, "\"stackwalk\""))
    {
        return Content::Trap(Trap::FirefoxProfile);
    }
    if has("rocprofiler-sdk-tool") {
        return Content::Trap(Trap::Rocprofiler);
    }
    if has("nodes") && (has("schema") || has("start_ts")) {
        return Content::Trap(Trap::ExecutionTrace);
    }
    if has("added_tokens") || (has("model") && has("normalizer")) {
        return Content::Trap(Trap::Tokenizer);
    }
    if matches!(next, Some(Some(b'{'))) {
        let lines = Lines::count(text, head.whole);
        if lines.records > 0 && lines.with_comma == 0 {
            return Content::Records;
        }
        let nsight = [
            "StringIds",
            "CudaEvent",
            "NvtxEvent",
            "TraceProcessEvent",
            "Type",
            "data",
        ];
        return Content::Trap(if nsight.iter().any(|k| has(k)) {
            Trap::NsightJsonLines
        } else {
            Trap::JsonLines
        });
    }
    Content::Events { sure: has("ph") }
}

fn array_content(head: &Head, text: &[u8]) -> Content {
    let inside = trim_start(&text[1..]);
    match inside.first() {
        None | Some(b']' | b',') => return Content::Events { sure: true },
        Some(b'{') => {}
        Some(b'[') => return Content::Trap(Trap::MemoryTimeline),
        Some(_) => return Content::Trap(Trap::OtherJson),
    }
    let first = first_object(inside);
    let Some(end) = first.end else {
        return if looks_like_dftracer(inside) {
            Content::Records
        } else {
            Content::Events { sure: true }
        };
    };
    let after = trim_start(&inside[end..]);
    let lines = match after.first() {
        Some(b'{') => true,
        // One record alone is valid either way; the recorder's own signs decide.
        None | Some(b']') => looks_like_dftracer(&inside[..end]),
        Some(b',') => are_dftracer(inside),
        Some(_) => {
            let lines = Lines::count(inside, head.whole);
            lines.records > lines.with_comma
        }
    };
    if lines && !are_chrome(inside) {
        Content::Records
    } else {
        Content::Events { sure: true }
    }
}

fn other_text(head: &Head, text: &[u8]) -> Content {
    if text.starts_with(b"version https://git-lfs") {
        return Content::Trap(Trap::LfsPointer);
    }
    let lines = Lines::count(text, head.whole);
    // Lines may begin with the commas, too.
    let rest = text.strip_prefix(b",").map(trim_start);
    if rest.is_some_and(are_dftracer)
        || lines.records > 0
            && lines.records >= lines.other
            && lines.with_comma == 0
            && piece::look(text) != Piece::Yes
    {
        return Content::Records;
    }
    let events = memchr::memmem::find(text, b"\"ph\"").is_some();
    // A slice of a JSON trace starts inside an event. Lines of a log may start with a quote or with the time.
    let is_slice = match text[0] {
        b',' | b':' | b'}' | b']' => true,
        b'"' | b'0'..=b'9' => piece::look(text) != Piece::No,
        _ => false,
    };
    if events && is_slice {
        return Content::Events { sure: true };
    }
    Content::Trap(if events {
        Trap::TextLog
    } else {
        Trap::OtherText(first_line(text))
    })
}

fn signature(bytes: &[u8]) -> Option<Content> {
    let trap = |t| Some(Content::Trap(t));
    match bytes {
        _ if bytes.starts_with(b"SQLite format 3\0") => Some(Content::Sqlite),
        _ if bytes.starts_with(b"NVIDIA Tegra Profiler Report ") => {
            trap(Trap::NsightReport(report_version(&bytes[29..])))
        }
        _ if bytes.starts_with(b"PAR1") => trap(Trap::NsightExport("Parquet")),
        _ if bytes.starts_with(b"ARROW1") => trap(Trap::NsightExport("Arrow")),
        _ if bytes.starts_with(b"\x89HDF") => trap(Trap::NsightExport("HDF5")),
        _ if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) => {
            trap(Trap::Compressed("zstd", "unzstd"))
        }
        _ if bytes.starts_with(b"\xfd7zXZ\0") => trap(Trap::Compressed("xz", "unxz")),
        _ if bytes.starts_with(b"BZh") && bytes.get(4..10) == Some(b"1AY&SY") => {
            trap(Trap::Compressed("bzip2", "bunzip2"))
        }
        _ if bytes.starts_with(b"7z\xbc\xaf\x27\x1c") => trap(Trap::Compressed("7-Zip", "7z x")),
        _ => None,
    }
}

/// The encoding of text in units of two or four bytes: by its mark, or by the zeros beside its first letters.
fn wide_text(bytes: &[u8]) -> Option<&'static str> {
    const LETTERS: usize = 8;
    let all = |unit: usize, letter: usize| {
        let mut units = bytes.chunks_exact(unit).take(LETTERS);
        let plain = |u: &[u8]| {
            let is_letter = |b: u8| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~');
            let zero = |(i, &b): (usize, &u8)| i == letter || b == 0;
            is_letter(u[letter]) && u.iter().enumerate().all(zero)
        };
        units.len() == LETTERS && units.all(plain)
    };
    let starts = |mark: &[u8]| bytes.starts_with(mark);
    if starts(&[0xff, 0xfe, 0, 0]) || starts(&[0, 0, 0xfe, 0xff]) || all(4, 0) || all(4, 3) {
        Some("UTF-32")
    } else if starts(&[0xff, 0xfe]) || starts(&[0xfe, 0xff]) || all(2, 0) || all(2, 1) {
        Some("UTF-16")
    } else {
        None
    }
}

/// `2025@5@1@121-…` → `2025.5.1`; older reports (`1.`) do not say which build wrote them.
fn report_version(rest: &[u8]) -> Option<String> {
    let end = rest.iter().position(|b| matches!(b, b'\n' | b'-' | 0))?;
    let text = std::str::from_utf8(&rest[..end.min(64)]).ok()?;
    let mut parts = text.split('@');
    let (a, b, c) = (parts.next()?, parts.next()?, parts.next()?);
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    (digits(a) && digits(b) && digits(c)).then(|| format!("{a}.{b}.{c}"))
}

fn is_binary(text: &[u8]) -> bool {
    let sample = &text[..text.len().min(4096)];
    let control = sample
        .iter()
        .filter(|&&b| b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b))
        .count();
    control * 50 > sample.len()
}

/// An XSpace message: field 1 (0x0a, a line feed to text) holds planes whose names are `/host:…` or `/device:…`.
fn is_xplane(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0x0a)
        && is_binary(bytes)
        && ["/host:", "/device:"].iter().any(|name| {
            memchr::memmem::find(&bytes[..bytes.len().min(256)], name.as_bytes()).is_some()
        })
}

fn looks_like_dftracer(record: &[u8]) -> bool {
    [
        "\"dftracer\"",
        "\"hhash\"",
        "\"ph\":1",
        "\"ph\":2",
        "\"ph\":3",
        "\"ph\":4",
        "\"POSIX\"",
    ]
    .iter()
    .any(|sign| memchr::memmem::find(record, sign.as_bytes()).is_some())
}

/// Records that are looked at where commas stand between them.
const RECORDS: usize = 8;

/// Whether records with commas between them are DFTracer's, which only they themselves tell from those of a Chrome
/// trace: by a phase in numbers, or, where each has a line, by the recorder's own records and hashes.
fn are_dftracer(text: &[u8]) -> bool {
    let mut rest = text;
    for _ in 0..RECORDS {
        let first = first_object(rest);
        let Some(end) = first.end else {
            return false;
        };
        let record = &rest[..end];
        let value = |key: &str| {
            let found = first.keys.iter().find(|k| **k == key.as_bytes())?;
            let behind = found.as_ptr() as usize - record.as_ptr() as usize + found.len() + 1;
            trim_start(&record[behind..])
                .strip_prefix(b":")
                .map(trim_start)
        };
        let phase = value("ph").map(|v| v.strip_prefix(b"\"").unwrap_or(v));
        match phase.and_then(<[u8]>::first) {
            Some(b'0'..=b'9') => return true,
            None | Some(b'X' | b'C' | b'A' | b'M') => {}
            // It writes no others.
            Some(_) => return false,
        }
        let cat = value("cat").unwrap_or_default();
        let own = cat.starts_with(b"\"dftracer\"") || cat.starts_with(b"\"POSIX\"");
        // Others record POSIX calls too, and number none.
        let own = own && value("id").is_some();
        let own = own || memchr::memmem::find(record, b"\"hhash\"").is_some();
        if own && memchr::memchr(b'\n', record).is_none() {
            return true;
        }
        rest = trim_start(&rest[end..]);
        rest = rest.strip_prefix(b",").map_or(rest, trim_start);
        if rest.first() != Some(&b'{') {
            return false;
        }
    }
    false
}

/// Categories of torch.profiler that no other recorder writes.
const CHROME: [&[u8]; 10] = [
    b"\"kernel\"",
    b"\"gpu_memcpy\"",
    b"\"gpu_memset\"",
    b"\"cuda_runtime\"",
    b"\"cuda_driver\"",
    b"\"hip_runtime\"",
    b"\"user_annotation\"",
    b"\"gpu_user_annotation\"",
    b"\"cpu_op\"",
    b"\"python_function\"",
];

/// Whether lines are events of a Chrome trace, one each: by a phase in letters and a category of torch.profiler, and no
/// sign of DFTracer's.
fn are_chrome(text: &[u8]) -> bool {
    let mut rest = text;
    let mut found = false;
    for _ in 0..RECORDS {
        let Some(end) = first_object(rest).end else {
            break;
        };
        let record = &rest[..end];
        if looks_like_dftracer(record) {
            return false;
        }
        let is_one_of = |cat: &[u8]| memchr::memmem::find(record, cat).is_some();
        found |= CHROME.iter().any(|cat| is_one_of(cat));
        rest = trim_start(&rest[end..]);
        rest = rest.strip_prefix(b",").map_or(rest, trim_start);
        if rest.first() != Some(&b'{') {
            break;
        }
    }
    found
}

fn first_line(text: &[u8]) -> String {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    let line = String::from_utf8_lossy(&text[..end.min(300)]);
    let shown = line.trim().chars().take(60);
    // Whatever is not text must not act on a terminal.
    shown
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

mod lines;
#[cfg(test)]
mod tests;
