//! The bytes of one input, after inflating, read front to back in blocks.
//!
//! Nothing is memory-mapped: a mapped file that shrinks kills its reader, and a file larger than memory must open
//! too. A reader thread reads (and inflates) ahead of the parser, two blocks at most, so that memory stays bounded.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use flate2::bufread::MultiGzDecoder;

use super::damage::Damage;
use super::error::LoadError;
use super::progress::Progress;
use crate::model::ArgsOrigin;

/// Bytes per block: large enough that hand-over costs nothing, small enough that a cancel is felt at once. Fuzzers work
/// on small inputs, which have to be cut as well.
pub(crate) const BLOCK: usize = if cfg!(fuzzing) { 512 } else { 1 << 20 };

/// Buffer in front of decoders.
const GZIP_BUFFER: usize = 256 << 10;

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
    reader: Box<dyn Read + Send>,
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

/// The blocks of a stream, in order. Give used buffers back with [`Blocks::recycle`].
pub(crate) struct Blocks {
    full: Receiver<Result<Block, Damage>>,
    empty: SyncSender<Vec<u8>>,
    damage: Option<Damage>,
}

impl Blocks {
    /// The next block; `None` at the end, at damage and after a cancel.
    pub fn next(&mut self) -> Option<Block> {
        match self.full.recv() {
            Ok(Ok(block)) => Some(block),
            Ok(Err(damage)) => {
                self.damage = Some(damage);
                None
            }
            Err(_closed) => None,
        }
    }

    /// Hands a buffer back to the reader.
    pub fn recycle(&self, buffer: Vec<u8>) {
        // A full or closed queue only means that the buffer is freed instead.
        let _ = self.empty.try_send(buffer);
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
        let mut file = File::open(path).map_err(|e| io(&e))?;
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
        let reader: Box<dyn Read + Send> = if compressed {
            Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(
                GZIP_BUFFER,
                reader,
            )))
        } else {
            reader
        };
        Self {
            path,
            disk_bytes,
            compressed,
            args,
            reader,
        }
    }

    /// The inflated bytes, to be read by somebody else.
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        self.reader
    }

    /// Reads the stream on a thread of its own while `consume` works on the blocks. Adds the bytes on disk to
    /// `progress` as they are read (for compressed inputs in proportion, since members hide their positions).
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn with_blocks<R>(
        mut self,
        progress: &Progress,
        consume: impl FnOnce(&mut Blocks) -> R,
    ) -> Result<R, LoadError> {
        let (to_parser, full) = sync_channel(2);
        let (empty, from_parser) = sync_channel(4);
        let path = self.path.clone();
        std::thread::scope(|scope| {
            std::thread::Builder::new()
                .name("stallscope-read".to_owned())
                .spawn_scoped(scope, move || {
                    self.read_all(&to_parser, &from_parser, progress);
                })
                .map_err(|e| LoadError::io(&path, &e))?;
            let mut blocks = Blocks {
                full,
                empty,
                damage: None,
            };
            Ok(consume(&mut blocks))
        })
    }

    fn read_all(
        &mut self,
        to_parser: &SyncSender<Result<Block, Damage>>,
        from_parser: &Receiver<Vec<u8>>,
        progress: &Progress,
    ) {
        let mut offset = 0_u64;
        let step = match self.args {
            ArgsOrigin::File => BLOCK,
            _ => STEP,
        };
        while !progress.is_cancelled() {
            let mut bytes = from_parser.try_recv().unwrap_or_default();
            bytes.resize(BLOCK, 0);
            let (got, failure) = read_some(&mut self.reader, &mut bytes, step);
            bytes.truncate(got);
            if !self.compressed {
                progress.add_done(got as u64);
            }
            let block = Block { offset, bytes };
            offset += got as u64;
            if got > 0 && to_parser.send(Ok(block)).is_err() {
                return;
            }
            if let Some(error) = failure {
                // The parser may have stopped listening; then nobody needs to know.
                let _ = to_parser.send(Err(Damage::new(&error, offset, self.compressed)));
                break;
            }
            if got < BLOCK {
                break;
            }
        }
        if self.compressed {
            progress.add_done(self.disk_bytes);
        }
    }
}

/// Fills `buffer` as far as the reader goes, `step` bytes at most at once; returns the bytes read and the error that
/// ended it, if any.
fn read_some(reader: &mut dyn Read, buffer: &mut [u8], step: usize) -> (usize, Option<io::Error>) {
    let mut got = 0;
    while got < buffer.len() {
        let end = buffer.len().min(got + step);
        match reader.read(&mut buffer[got..end]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return (got, Some(e)),
        }
    }
    (got, None)
}

fn read_full(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    match read_some(reader, buffer, usize::MAX >> 1) {
        (n, None) => Ok(n),
        (_, Some(e)) => Err(e),
    }
}
