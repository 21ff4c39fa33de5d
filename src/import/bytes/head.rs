//! The first bytes of a file, by which it is recognised.

use std::hash::Hasher;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::damage::{Damage, SharedGaps};
use super::gzip::Members;
use super::small::open_regular;
use crate::import::contract::progress::Progress;
use crate::import::text::json;
use crate::import::text::piece::{self, Piece};

/// Bytes that are looked at.
pub(crate) const HEAD: usize = 64 << 10;

/// Bytes that are looked at where the first record does not end before.
pub(crate) const LONG_HEAD: usize = 16 << 20;

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
    pub skipped: u64,
    /// Zero bytes were among them.
    pub zeros: bool,
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
            let blanks = self.bytes.len() - json::text_of(&self.bytes).len();
            if blanks > room / 2 {
                self.skipped += blanks as u64;
                self.zeros |= memchr::memchr(0, &self.bytes[..blanks]).is_some();
                self.bytes.drain(..blanks);
            } else if room < LONG_HEAD
                && (first_record_is_open(&self.bytes)
                    || piece::look(json::text_of(&self.bytes)) == Piece::Open)
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
}

/// True for a head that ends inside the first record of a list or of lines.
fn first_record_is_open(bytes: &[u8]) -> bool {
    let text = json::text_of(bytes);
    let record = match text.first() {
        Some(b'[') => json::trim_start(&text[1..]),
        _ => text,
    };
    if record.first() != Some(&b'{') {
        return false;
    }
    let first = json::first_object(record);
    first.end.is_none() && first.keys.contains(&b"ph".as_slice())
}
