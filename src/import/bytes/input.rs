//! The bytes of one input, after inflating, read front to back in blocks.
//!
//! Nothing is memory-mapped: a mapped file that shrinks kills its reader, and a file larger than memory must open too.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::damage::{Damage, SharedGaps};
use super::gzip::Members;
use super::small::open_regular;
use super::stages::Spares;
use crate::import::contract::error::LoadError;
use crate::import::contract::progress::Progress;
use crate::model::ArgsOrigin;

/// Bytes per block: large enough that hand-over costs nothing, small enough that a cancel is felt at once. Fuzzers work
/// on small inputs, which have to be cut as well.
pub(crate) const BLOCK: usize = if cfg!(fuzzing) { 512 } else { 1 << 20 };

/// One input to be parsed.
pub(crate) struct Input {
    /// Where it is, for messages; `archive/member` for members of archives.
    pub path: PathBuf,
    /// Bytes on disk (of the member, for archives).
    pub disk_bytes: u64,
    /// Whether the bytes on disk are compressed.
    pub compressed: bool,
    /// How args can be read later, byte offsets being those of the stream that is parsed.
    pub args: ArgsOrigin,
    /// What its bytes lost to damage behind which reading went on; known once they are read.
    pub gaps: SharedGaps,
    reader: Bytes,
}

/// Where the bytes come from.
enum Bytes {
    Plain(Box<dyn Read + Send>),
    Gzip(Box<Members<Box<dyn Read + Send>>>),
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(reader) => reader.read(buffer),
            Self::Gzip(members) => members.read(buffer),
        }
    }
}

/// Bytes that are asked for at once where they are decoded: what a decoder wrote before it fails is lost with it.
const STEP: usize = 32 << 10;

/// A block of the stream.
pub(crate) struct Block {
    /// Offset of the first byte in the stream.
    pub offset: u64,
    /// The bytes; never empty.
    pub bytes: Vec<u8>,
}

/// The blocks of a stream, in order.
pub(crate) struct Blocks<'p> {
    input: Input,
    progress: &'p Progress,
    offset: u64,
    ended: bool,
    damage: Option<Damage>,
}

impl Blocks<'_> {
    /// The next block, in one of `buffers`; `None` at the end, at damage and after a cancel. Adds the bytes on disk to
    /// the progress (for compressed inputs at the end, since members hide their positions).
    pub fn next(&mut self, buffers: &Spares<Vec<u8>>) -> Option<Block> {
        if self.ended || self.progress.is_cancelled() {
            return None;
        }
        let mut buffer = buffers.take();
        let step = match self.input.args {
            ArgsOrigin::File => BLOCK,
            _ => STEP,
        };
        let compressed = self.input.compressed;
        if buffer.capacity() < BLOCK {
            // Not by growing: the system gives zeros, and only what is used of them costs anything.
            buffer = vec![0; BLOCK];
        }
        buffer.resize(BLOCK, 0);
        let progress = self.progress;
        let go_on = || !progress.is_cancelled();
        let (got, failure) = read_some(&mut self.input.reader, &mut buffer, step, &go_on);
        buffer.truncate(got);
        let offset = self.offset;
        self.offset += got as u64;
        self.ended = got < BLOCK || failure.is_some();
        if !compressed {
            self.progress.add_done(got as u64);
        } else if self.ended {
            self.progress.add_done(self.input.disk_bytes);
        }
        self.damage = failure.map(|error| Damage::new(&error, self.offset, compressed));
        if got == 0 {
            buffers.give(buffer);
            return None;
        }
        Some(Block {
            offset,
            bytes: buffer,
        })
    }

    /// What ended the stream early, known once [`Blocks::next`] returned `None`.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }
}

impl Input {
    /// Opens a plain or gzip-compressed file (by content).
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let io = |e: &io::Error| LoadError::io(path, e);
        let mut file = open_regular(path).map_err(|e| io(&e))?;
        let disk_bytes = file.metadata().map_err(|e| io(&e))?.len();
        let mut head = [0_u8; 2];
        let got = read_full(&mut file, &mut head).map_err(|e| io(&e))?;
        let start = io::Cursor::new(head[..got].to_vec());
        let compressed = head[..got] == [0x1f, 0x8b];
        Ok(Self::from_reader(
            path.to_owned(),
            disk_bytes,
            compressed,
            if compressed {
                ArgsOrigin::Gzip
            } else {
                ArgsOrigin::File
            },
            Box::new(start.chain(file)),
        ))
    }

    /// An input over any reader; `compressed` says that it has to be inflated (gzip, one or many members).
    pub fn from_reader(
        path: PathBuf,
        disk_bytes: u64,
        compressed: bool,
        args: ArgsOrigin,
        reader: Box<dyn Read + Send>,
    ) -> Self {
        let gaps = SharedGaps::default();
        let reader = if compressed {
            Bytes::Gzip(Box::new(Members::new(reader, gaps.clone())))
        } else {
            Bytes::Plain(reader)
        };
        Self {
            path,
            disk_bytes,
            compressed,
            args,
            gaps,
            reader,
        }
    }

    /// The inflated bytes, to be read by somebody else.
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        Box::new(self.reader)
    }

    /// The stream in blocks.
    pub fn blocks(self, progress: &Progress) -> Blocks<'_> {
        Blocks {
            input: self,
            progress,
            offset: 0,
            ended: false,
            damage: None,
        }
    }
}

/// Fills `buffer` as far as the reader goes, `step` bytes at most at once; returns the bytes read and the error that
/// ended it, if any. Asks whether to go on where the reader pauses.
fn read_some(
    reader: &mut dyn Read,
    buffer: &mut [u8],
    step: usize,
    go_on: &dyn Fn() -> bool,
) -> (usize, Option<io::Error>) {
    let mut got = 0;
    while got < buffer.len() {
        let end = buffer.len().min(got + step);
        match reader.read(&mut buffer[got..end]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted && go_on() => {}
            Err(e) => return (got, Some(e)),
        }
    }
    (got, None)
}

fn read_full(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    match read_some(reader, buffer, usize::MAX >> 1, &|| true) {
        (n, None) => Ok(n),
        (_, Some(e)) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_go_from_file_to_file() {
        let (buffers, progress) = (Spares::new(), Progress::new());
        for size in [0, 5, BLOCK, BLOCK + 1] {
            let text = vec![b'x'; size];
            let input = Input::from_reader(
                PathBuf::new(),
                size as u64,
                false,
                ArgsOrigin::None,
                Box::new(io::Cursor::new(text)),
            );
            let mut blocks = input.blocks(&progress);
            let mut read = 0;
            while let Some(block) = blocks.next(&buffers) {
                assert_eq!(block.offset, read);
                read += block.bytes.len() as u64;
                buffers.give(block.bytes);
            }
            assert_eq!(read, size as u64);
            assert!(blocks.next(&buffers).is_none());
            let used = buffers.take();
            assert!(used.capacity() >= BLOCK, "{size} bytes lost the buffer");
            buffers.give(used);
        }
    }
}
