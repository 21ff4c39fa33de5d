//! One pfw file: its stream cut at line ends into stretches that are read in parallel.

use super::chunk::Chunk;
use super::scan::end_of_records;
use crate::import::bytes::damage::{Damage, SharedGaps};
use crate::import::bytes::input::Input;
use crate::import::bytes::input::{Block, Blocks};
use crate::import::bytes::stages::{self, Spares};
use crate::import::contract::error::LoadError;
use crate::import::contract::progress::Progress;
use crate::import::dftracer::tally::Odd;
use crate::model::ArgsOrigin;
use std::path::PathBuf;

/// A record longer than this is passed over: no recorder writes one.
const LONGEST_LINE: usize = 64 << 20;

/// What a file holds, in stretches.
pub(crate) struct FileData {
    pub path: PathBuf,
    pub disk_bytes: u64,
    pub inflated_bytes: u64,
    /// The bytes on disk are compressed.
    pub compressed: bool,
    pub args: ArgsOrigin,
    pub chunks: Vec<Chunk>,
    /// Why the stream ended before its end.
    pub damage: Option<Damage>,
    /// What was lost before that.
    pub gaps: SharedGaps,
    /// The last line has no line break and is no record.
    pub cut_line: bool,
    /// Where lines begin that were too long.
    pub overlong: Vec<u64>,
}

/// A block with the part of the line before it.
struct Piece {
    /// The line that the block before began, complete.
    seam: Vec<u8>,
    seam_offset: u64,
    block: Block,
    /// Whole lines inside the block.
    from: usize,
    to: usize,
    /// The seam is the beginning of a line only.
    goes_on: bool,
}

/// Reads a file through spare buffers.
///
/// # Errors
/// On cancel.
pub(crate) fn read(
    input: Input,
    buffers: &Spares<Vec<u8>>,
    progress: &Progress,
) -> Result<FileData, LoadError> {
    progress.check(&input.path)?;
    let mut data = FileData {
        path: input.path.clone(),
        disk_bytes: input.disk_bytes,
        inflated_bytes: 0,
        compressed: input.compressed,
        args: input.args.clone(),
        chunks: Vec::new(),
        damage: None,
        gaps: input.gaps.clone(),
        cut_line: false,
        overlong: Vec::new(),
    };
    let path = input.path.clone();
    data.read_blocks(&mut input.blocks(progress), buffers, progress);
    progress.check(&path)?;
    if !data.compressed {
        // Archives may state more than they hold.
        data.disk_bytes = data.disk_bytes.min(data.inflated_bytes);
    }
    Ok(data)
}

impl FileData {
    fn read_blocks(
        &mut self,
        blocks: &mut Blocks<'_>,
        buffers: &Spares<Vec<u8>>,
        progress: &Progress,
    ) {
        let mut rest = Rest::default();
        stages::in_order(
            || loop {
                let block = blocks.next(buffers)?;
                self.inflated_bytes = block.offset + block.bytes.len() as u64;
                match rest.cut(block) {
                    Ok(piece) => return Some(piece),
                    Err(buffer) => buffers.give(buffer),
                }
            },
            Piece::read,
            |(chunk, buffer)| {
                buffers.give(buffer);
                progress.add_events(chunk.events);
                self.chunks.push(chunk);
            },
        );
        self.damage = blocks.damage().cloned();
        self.overlong = rest.overlong;
        if !rest.line.is_empty() {
            let mut last = Chunk::default();
            last.read(&rest.line, rest.offset);
            self.cut_line = last.tally.count(Odd::Unreadable) > 0 || last.torn_end;
            self.chunks.push(last);
        }
    }
}

/// The line that the blocks so far began but did not end.
#[derive(Default)]
struct Rest {
    line: Vec<u8>,
    offset: u64,
    /// Inside a line that is too long.
    skipping: bool,
    overlong: Vec<u64>,
}

impl Rest {
    /// Cuts a block at its first and last line end; gives its memory back when it holds none.
    fn cut(&mut self, block: Block) -> Result<Piece, Vec<u8>> {
        let Some(first) = memchr::memchr(b'\n', &block.bytes) else {
            self.keep(&block.bytes, block.offset);
            return self.part(block);
        };
        let last = memchr::memrchr(b'\n', &block.bytes).unwrap_or(first);
        let mut from = 0;
        let mut seam_offset = self.offset;
        let mut seam = std::mem::take(&mut self.line);
        if self.skipping || !seam.is_empty() {
            from = first + 1;
            if self.skipping {
                // A line break stays, so that lines are numbered right.
                seam = b"\n".to_vec();
                seam_offset = block.offset;
            } else {
                seam.extend_from_slice(&block.bytes[..from]);
            }
        }
        self.skipping = false;
        self.keep(&block.bytes[last + 1..], block.offset + last as u64 + 1);
        Ok(Piece {
            seam,
            seam_offset,
            from,
            to: last + 1,
            block,
            goes_on: false,
        })
    }

    /// Cuts a line that is too long behind the last whole record on it: lists may stand on one. Where there is none, the
    /// line is passed over.
    fn part(&mut self, block: Block) -> Result<Piece, Vec<u8>> {
        if self.line.len() <= LONGEST_LINE {
            return Err(block.bytes);
        }
        let len = end_of_records(&self.line, self.offset);
        if len == 0 {
            self.line = Vec::new();
            self.skipping = true;
            self.overlong.push(self.offset);
            return Err(block.bytes);
        }
        let rest = self.line.split_off(len);
        let seam_offset = self.offset;
        self.offset += len as u64;
        Ok(Piece {
            seam: std::mem::replace(&mut self.line, rest),
            seam_offset,
            from: 0,
            to: 0,
            block,
            goes_on: true,
        })
    }

    fn keep(&mut self, bytes: &[u8], offset: u64) {
        if self.skipping {
            return;
        }
        if self.line.is_empty() {
            self.offset = offset;
        }
        self.line.extend_from_slice(bytes);
    }
}

impl Piece {
    fn read(self) -> (Chunk, Vec<u8>) {
        let mut chunk = Chunk::default();
        // 205 bytes per line were measured over many runs.
        chunk.reserve(self.block.bytes.len() / 200);
        chunk.read(&self.seam, self.seam_offset);
        chunk.read(
            &self.block.bytes[self.from..self.to],
            self.block.offset + self.from as u64,
        );
        if self.goes_on {
            // What follows tells of the line.
            chunk.lines -= 1;
            chunk.tally.clear(Odd::Crowded);
        }
        chunk.shrink();
        (chunk, self.block.bytes)
    }
}
