//! The write-ahead log of a database: what was written last and is not yet in the file itself. SQLite reads it only with
//! files of its own beside the database, so that its pages are put over those of the file here.
//!
//! Knows pages, not what is in them.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use crate::import::bytes::small::open_regular;

/// Bytes in front of the first frame, and in front of each page.
const HEADER: usize = 32;
const FRAME: usize = 24;

/// What lies beside a database in place of its log.
pub(crate) enum Beside {
    /// Nothing, or nothing that was finished.
    Nothing,
    /// A log with finished changes.
    Log(Log),
    /// Something that cannot be read, and why.
    Unreadable(String),
}

/// The finished changes of a log.
pub(crate) struct Log {
    file: File,
    page: usize,
    /// Where the newest form of a page is.
    places: FxHashMap<u32, u64>,
    /// Pages of the database.
    pages: u32,
}

/// The path of what SQLite keeps beside a database.
pub(crate) fn beside(database: &Path, end: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// Looks for the log of a database.
pub(crate) fn look(database: &Path) -> Beside {
    let path = beside(database, "-wal");
    let file = match open_regular(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Beside::Nothing,
        Err(e) => return Beside::Unreadable(e.to_string()),
    };
    match Log::read(file) {
        Ok(Some(log)) => Beside::Log(log),
        Ok(None) => Beside::Nothing,
        Err(e) => Beside::Unreadable(e.to_string()),
    }
}

/// The checksum of the format, of whole pairs of words.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sum {
    big: bool,
    a: u32,
    b: u32,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let word = |bytes: &[u8]| {
            let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
            match self.big {
                true => u32::from_be_bytes(bytes),
                false => u32::from_le_bytes(bytes),
            }
        };
        for pair in bytes.chunks_exact(8) {
            self.a = self.a.wrapping_add(word(&pair[..4])).wrapping_add(self.b);
            self.b = self.b.wrapping_add(word(&pair[4..])).wrapping_add(self.a);
        }
    }

    fn is(self, a: u32, b: u32) -> bool {
        (self.a, self.b) == (a, b)
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
    bytes.map_or(0, u32::from_be_bytes)
}

impl Log {
    /// Reads up to the last change that was finished: what follows it is of an older log, or was being written.
    fn read(file: File) -> io::Result<Option<Self>> {
        let mut from = BufReader::with_capacity(1 << 20, &file);
        let mut header = [0; HEADER];
        if !fill(&mut from, &mut header)? {
            return Ok(None);
        }
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its header is damaged");
        let magic = number(&header, 0);
        let page = number(&header, 8);
        let sizes = 512..=65_536;
        if magic & !1 != 0x377f_0682 || !page.is_power_of_two() || !sizes.contains(&page) {
            return Err(damaged());
        }
        let page = page as usize;
        let mut sum = Sum {
            big: magic & 1 == 1,
            a: 0,
            b: 0,
        };
        sum.add(&header[..24]);
        if !sum.is(number(&header, 24), number(&header, 28)) {
            return Err(damaged());
        }
        let mut places = FxHashMap::default();
        let mut begun = Vec::new();
        let mut pages = None;
        let mut at = HEADER as u64;
        let mut frame = vec![0; FRAME + page];
        while fill(&mut from, &mut frame)? {
            sum.add(&frame[..8]);
            sum.add(&frame[FRAME..]);
            if frame[8..16] != header[16..24] || !sum.is(number(&frame, 16), number(&frame, 20)) {
                break;
            }
            begun.push((number(&frame, 0), at + FRAME as u64));
            let size = number(&frame, 4);
            if size > 0 {
                places.extend(begun.drain(..));
                pages = Some(size);
            }
            at += (FRAME + page) as u64;
        }
        drop(from);
        Ok(pages.map(|pages| Self {
            file,
            page,
            places,
            pages,
        }))
    }

    /// Pages that are newer in the log.
    pub fn pages(&self) -> u64 {
        self.places.len() as u64
    }

    /// Size of the database with them, bytes.
    pub fn size(&self) -> u64 {
        u64::from(self.pages) * self.page as u64
    }

    /// The database with them, as one that has no log.
    pub fn over(self, database: File) -> Merged {
        Merged {
            log: self,
            database,
            next: 1,
            bytes: Vec::new(),
            taken: 0,
        }
    }
}

/// Fills a buffer; false where less is left.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

/// A database with the pages of its log, read front to back.
pub(crate) struct Merged {
    log: Log,
    database: File,
    /// Number of the next page, from 1.
    next: u32,
    /// The page that is being read, and how much of it was.
    bytes: Vec<u8>,
    taken: usize,
}

impl Merged {
    fn page(&mut self) -> io::Result<()> {
        let size = self.log.page;
        let (file, place) = match self.log.places.get(&self.next) {
            Some(&place) => (&mut self.log.file, place),
            None => (&mut self.database, u64::from(self.next - 1) * size as u64),
        };
        file.seek(SeekFrom::Start(place))?;
        self.bytes.clear();
        file.take(size as u64).read_to_end(&mut self.bytes)?;
        // A database that is cut short lacks pages: SQLite finds them empty.
        self.bytes.resize(size, 0);
        if self.next == 1 {
            mark_plain(&mut self.bytes);
        }
        self.next += 1;
        self.taken = 0;
        Ok(())
    }
}

impl Read for Merged {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.bytes.len() {
            if self.next > self.log.pages {
                return Ok(0);
            }
            self.page()?;
        }
        let rest = &self.bytes[self.taken..];
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        self.taken += n;
        Ok(n)
    }
}

/// Marks the head of a database as one that has no log.
fn mark_plain(head: &mut [u8]) {
    if let Some(versions) = head.get_mut(18..20) {
        for version in versions.iter_mut().filter(|v| **v == 2) {
            *version = 1;
        }
    }
}

/// A database as it stands, as one that has no log.
pub(crate) struct Alone {
    head: Vec<u8>,
    rest: File,
}

impl Alone {
    /// Of an open file.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(mut file: File) -> io::Result<Self> {
        let mut head = Vec::new();
        file.by_ref().take(100).read_to_end(&mut head)?;
        mark_plain(&mut head);
        Ok(Self { head, rest: file })
    }
}

impl Read for Alone {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.head.is_empty() {
            return self.rest.read(buffer);
        }
        let n = self.head.len().min(buffer.len());
        buffer[..n].copy_from_slice(&self.head[..n]);
        self.head.drain(..n);
        Ok(n)
    }
}
