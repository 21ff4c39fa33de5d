//! Recognises what a file is from its first 64 KiB (inflated), never from its name.
//!
//! Order: gzip (many members) → tar → binary signatures → JSON → lines of JSON → text. Knows no importer: it says
//! what the content is, and [`super::traps`] says what to do about files that are no trace.

use std::hash::Hasher;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::traps::Trap;
use crate::import::bytes::damage::{Damage, SharedGaps};
use crate::import::bytes::gzip::Members;
use crate::import::bytes::small::open_regular;
use crate::import::contract::progress::Progress;
use crate::import::text::piece::{self, Piece};
use lines::Lines;

/// Bytes that are looked at.
pub(crate) const HEAD: usize = 64 << 10;

/// Bytes that are looked at where the first record does not end before.
const LONG_HEAD: usize = 16 << 20;

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// Chrome-trace JSON, torch.profiler's among them. `sure` when events were seen; without, a JSON object whose
    /// events may come later.
    Chrome {
        /// Events or their list were seen.
        sure: bool,
    },
    /// DFTracer: one JSON record per line.
    Pfw,
    /// An SQLite database.
    Sqlite,
    /// A tar archive.
    Tar,
    /// A zip archive.
    Zip,
    /// Something else that is recognised.
    Trap(Trap),
}

/// A reader that goes on where another one pauses, until somebody cancels.
struct Watched<'p, R>(R, &'p Progress);

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted && self.1.is_cancelled() => {
                Err(io::Error::other("cancelled"))
            }
            result => result,
        }
    }
}

/// The start of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head {
    /// The first bytes, inflated; behind blanks where it begins with very many.
    pub bytes: Vec<u8>,
    /// Whether the file is gzip-compressed.
    pub compressed: bool,
    /// Whether that is all.
    pub whole: bool,
    /// Why reading ended before that: the error, and how many bytes were read.
    pub damage: Option<Damage>,
    /// Blanks that were passed over.
    skipped: u64,
    /// Zero bytes were among them.
    zeros: bool,
}

impl Head {
    /// Reads the head of a file.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn of_file(path: &Path, progress: &Progress) -> io::Result<Self> {
        Self::of_reader(open_regular(path)?, progress)
    }

    /// Reads the head of a stream, which may be compressed.
    ///
    /// # Errors
    /// When the first read fails.
    pub fn of_reader(reader: impl Read, progress: &Progress) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(16 << 10, reader);
        let start = io::BufRead::fill_buf(&mut reader)?;
        let compressed = start.starts_with(&[0x1f, 0x8b]);
        let mut head = Self {
            compressed,
            ..Self::default()
        };
        let result = if compressed {
            let members = Members::new(reader, SharedGaps::default());
            head.fill(&mut Watched(members, progress), progress)
        } else {
            head.fill(&mut reader, progress)
        };
        if let Err(error) = result {
            let offset = head.skipped + head.bytes.len() as u64;
            head.damage = Some(Damage::new(&error, offset, compressed));
        }
        Ok(head)
    }

    /// Reads until something can be told: past leading blanks, and to the end of the first record.
    fn fill(&mut self, reader: &mut dyn Read, progress: &Progress) -> io::Result<()> {
        let mut room = HEAD;
        loop {
            let want = (room + 1 - self.bytes.len()) as u64;
            reader.take(want).read_to_end(&mut self.bytes)?;
            self.whole = self.bytes.len() <= room;
            if self.whole || progress.is_cancelled() {
                return Ok(());
            }
            let blanks = self.bytes.len() - text_of(&self.bytes).len();
            if blanks > room / 2 {
                self.skipped += blanks as u64;
                self.zeros |= memchr::memchr(0, &self.bytes[..blanks]).is_some();
                self.bytes.drain(..blanks);
            } else if room < LONG_HEAD
                && (first_record_is_open(&self.bytes)
                    || piece::look(text_of(&self.bytes)) == Piece::Open)
            {
                room *= 16;
            } else {
                self.bytes.truncate(room);
                return Ok(());
            }
        }
    }

    /// The same for all files that begin alike.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut hash = rustc_hash::FxHasher::default();
        hash.write(&self.bytes);
        hash.finish()
    }

    /// What the file is.
    #[must_use]
    pub fn content(&self) -> Content {
        let bytes = self.bytes.as_slice();
        if bytes.is_empty() && self.skipped == 0 {
            return Content::Trap(match &self.damage {
                Some(damage) => Trap::Damaged(damage.nothing("byte")),
                None => Trap::Empty,
            });
        }
        if self.skipped > 0 {
            return self.text_content();
        }
        if self.compressed && bytes.starts_with(&[0x1f, 0x8b]) {
            return Content::Trap(Trap::TwiceCompressed);
        }
        if let Some(name) = wide_text(bytes) {
            return Content::Trap(Trap::Wide(name));
        }
        if is_tar(bytes) {
            return Content::Tar;
        }
        if is_xplane(bytes) {
            return Content::Trap(Trap::XPlane);
        }
        signature(bytes).unwrap_or_else(|| self.text_content())
    }

    fn text_content(&self) -> Content {
        use Trap::{JsonLines, MemoryTimeline, OtherJson, OtherText, TextLog};
        let text = text_of(&self.bytes);
        match self.whole_content(text) {
            Content::Chrome { sure: false }
            | Content::Trap(JsonLines | MemoryTimeline | OtherJson | OtherText(_) | TextLog)
                if piece::look(text) == Piece::Yes =>
            {
                Content::Chrome { sure: true }
            }
            content => content,
        }
    }

    /// What the text is if it is whole.
    fn whole_content(&self, text: &[u8]) -> Content {
        match text.first() {
            None => Content::Trap(match &self.damage {
                Some(damage) => Trap::Damaged(damage.nothing("text")),
                None if self.zeros || memchr::memchr(0, &self.bytes).is_some() => Trap::Zeros,
                None => Trap::Blank,
            }),
            Some(b'{') => self.object_content(text),
            Some(b'[') => self.array_content(text),
            Some(_) if is_binary(text) => Content::Trap(Trap::Unknown),
            Some(_) => self.other_text(text),
        }
    }

    fn object_content(&self, text: &[u8]) -> Content {
        let first = first_object(text);
        let has = |key: &str| first.keys.contains(&key.as_bytes());
        if has("traceEvents") {
            return Content::Chrome { sure: true };
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
            return Content::Pfw;
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
            let lines = Lines::count(text, self.whole);
            if lines.records > 0 && lines.with_comma == 0 {
                return Content::Pfw;
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
        Content::Chrome { sure: has("ph") }
    }

    fn array_content(&self, text: &[u8]) -> Content {
        let inside = trim_start(&text[1..]);
        match inside.first() {
            None | Some(b']' | b',') => return Content::Chrome { sure: true },
            Some(b'{') => {}
            Some(b'[') => return Content::Trap(Trap::MemoryTimeline),
            Some(_) => return Content::Trap(Trap::OtherJson),
        }
        let first = first_object(inside);
        let Some(end) = first.end else {
            return if looks_like_dftracer(inside) {
                Content::Pfw
            } else {
                Content::Chrome { sure: true }
            };
        };
        let after = trim_start(&inside[end..]);
        let lines = match after.first() {
            Some(b'{') => true,
            // One record alone is valid either way; the recorder's own signs decide.
            None | Some(b']') => looks_like_dftracer(&inside[..end]),
            Some(b',') => are_dftracer(inside),
            Some(_) => {
                let lines = Lines::count(inside, self.whole);
                lines.records > lines.with_comma
            }
        };
        if lines {
            Content::Pfw
        } else {
            Content::Chrome { sure: true }
        }
    }

    fn other_text(&self, text: &[u8]) -> Content {
        if text.starts_with(b"version https://git-lfs") {
            return Content::Trap(Trap::LfsPointer);
        }
        let lines = Lines::count(text, self.whole);
        // Lines may begin with the commas, too.
        let rest = text.strip_prefix(b",").map(trim_start);
        if rest.is_some_and(are_dftracer)
            || lines.records > 0
                && lines.records >= lines.other
                && lines.with_comma == 0
                && piece::look(text) != Piece::Yes
        {
            return Content::Pfw;
        }
        let events = memchr::memmem::find(text, b"\"ph\"").is_some();
        // A slice of a JSON trace starts inside an event. Lines of a log may start with a quote or with the time.
        let is_slice = match text[0] {
            b',' | b':' | b'}' | b']' => true,
            b'"' | b'0'..=b'9' => piece::look(text) != Piece::No,
            _ => false,
        };
        if events && is_slice {
            return Content::Chrome { sure: true };
        }
        Content::Trap(if events {
            Trap::TextLog
        } else {
            Trap::OtherText(first_line(text))
        })
    }
}

fn signature(bytes: &[u8]) -> Option<Content> {
    let trap = |t| Some(Content::Trap(t));
    match bytes {
        _ if bytes.starts_with(b"SQLite format 3\0") => Some(Content::Sqlite),
        _ if bytes.starts_with(b"NVIDIA Tegra Profiler Report ") => {
            trap(Trap::NsightReport(report_version(&bytes[29..])))
        }
        _ if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") => {
            Some(Content::Zip)
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

/// What follows a byte order mark and blanks.
fn text_of(bytes: &[u8]) -> &[u8] {
    trim_start(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// True for a head that ends inside the first record of a list or of lines.
fn first_record_is_open(bytes: &[u8]) -> bool {
    let text = text_of(bytes);
    let record = match text.first() {
        Some(b'[') => trim_start(&text[1..]),
        _ => text,
    };
    if record.first() != Some(&b'{') {
        return false;
    }
    let first = first_object(record);
    first.end.is_none() && first.keys.contains(&b"ph".as_slice())
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

/// The checksum of a tar header: the sum of its bytes with the checksum field as blanks, in octal.
fn is_tar(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..512) else {
        return false;
    };
    let field: Vec<u8> = header[148..156]
        .iter()
        .copied()
        .filter(|b| !matches!(b, b' ' | 0))
        .collect();
    let Some(stated) = std::str::from_utf8(&field)
        .ok()
        .and_then(|t| u32::from_str_radix(t, 8).ok())
    else {
        return false;
    };
    let sum: u32 = header
        .iter()
        .enumerate()
        .map(|(i, &b)| u32::from(if (148..156).contains(&i) { b' ' } else { b }))
        .sum();
    header[0] != 0 && sum == stated
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

fn trim_start(bytes: &[u8]) -> &[u8] {
    let start = bytes
        .iter()
        .position(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n' | 0))
        .unwrap_or(bytes.len());
    &bytes[start..]
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

/// The keys of the outermost object and the position behind it, if it ends inside the head.
struct FirstObject<'a> {
    keys: Vec<&'a [u8]>,
    end: Option<usize>,
}

/// Tolerant of everything but quotes and brackets.
fn first_object(text: &[u8]) -> FirstObject<'_> {
    let mut keys = Vec::new();
    let mut depth = 0_i32;
    let mut i = 0;
    while i < text.len() {
        match text[i] {
            b'"' => {
                let Some(end) = string_end(text, i + 1) else {
                    break;
                };
                let colon = trim_start(&text[end + 1..]).first() == Some(&b':');
                if depth == 1 && colon && keys.len() < 64 {
                    keys.push(&text[i + 1..end]);
                }
                i = end;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return FirstObject {
                        keys,
                        end: Some(i + 1),
                    };
                }
            }
            _ => {}
        }
        i += 1;
    }
    FirstObject { keys, end: None }
}

/// Position of the quote that ends a string whose content starts at `from`.
fn string_end(text: &[u8], from: usize) -> Option<usize> {
    let mut i = from;
    loop {
        let next = memchr::memchr2(b'"', b'\\', text.get(i..)?)?;
        i += next;
        if text[i] == b'"' {
            return Some(i);
        }
        i += 2;
    }
}

mod lines;
#[cfg(test)]
mod tests;
