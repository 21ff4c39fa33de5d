//! The whole stream: blocks to windows, windows to chunks, on one thread or several.
//!
//! Every block is read from a place where an event probably begins; what lies before that place is read together with
//! the rest of the block before. Where that comes out at the same place, the guess was right and the block's events
//! are taken over, else the block is read once more from where the list really goes on. The cuts do not depend on the
//! number of threads, so neither do the results.

use super::read::elements;
use super::tally::Odd;
use crate::import::bytes::input::{Block, Blocks};
use crate::import::bytes::stages::{self, Spares};
use crate::import::chrome::merge::early::Early;
use crate::import::chrome::merge::merged::Merged;
use crate::import::chrome::read::chunk::Chunk;
use crate::import::chrome::read::elements::{MAX_EVENT, State, Stop};
use crate::import::chrome::read::parser::Parser;
use crate::import::chrome::read::root::{Root, Step, text_of};
use crate::import::contract::importer::Context;
use crate::import::text::piece;
use crate::model::Source;

/// Text that is left over is read again with each block up to this length, and above it each time it has doubled:
/// however long one event is, its text is looked at a few times only. Unit tests and fuzzers work on small inputs.
const AGAIN: usize = if cfg!(any(test, fuzzing)) {
    1 << 10
} else {
    1 << 20
};

/// Puts windows in order and takes their events over.
pub(super) struct Stream<'a, 'b> {
    ctx: &'a mut Context<'b>,
    root: Root,
    /// What was read, once there was an event.
    merged: Option<Merged>,
    /// What was odd before that.
    early: Early,
    bytes: u64,
    source: Source,
    /// The state of the list; `None` outside it.
    list: Option<State>,
    /// Lists in the list that are open.
    nested: u32,
    /// Bytes that are not done with.
    carry: Vec<u8>,
    carry_at: u64,
    /// Length of the carry when it was read last.
    tried: usize,
    chunk: Box<Chunk>,
    /// Bytes that windows held in all.
    #[cfg(test)]
    pub looked_at: usize,
}

/// What a whole stream came to.
pub(super) struct End {
    /// The text around the list.
    pub root: Root,
    /// Its events, if there were any.
    pub merged: Option<Merged>,
    /// What was counted if not.
    pub early: Early,
    /// The list or the object around it was not closed.
    pub open: bool,
    /// Length of the stream.
    pub bytes: u64,
}

/// A block as it reads from a guessed place.
struct Guess {
    chunk: Box<Chunk>,
    /// The place, and how far it was read from there; `None` where no event seems to begin in the block.
    found: Option<(usize, Stop)>,
}

impl Guess {
    fn read(block: &Block, mut chunk: Box<Chunk>) -> Self {
        let (w, at) = (&block.bytes, block.offset);
        let found = elements::guess(w, at, &mut chunk).map(|start| {
            chunk.clear();
            let mut parser = Parser {
                w,
                at,
                careful: false,
                chunk: &mut chunk,
            };
            let stop = elements::read(&mut parser, start, (State::Element, 0), false);
            (start, stop)
        });
        Self { chunk, found }
    }
}

impl<'a, 'b> Stream<'a, 'b> {
    /// A stream that becomes `source` with its first event.
    pub fn new(ctx: &'a mut Context<'b>, source: Source) -> Self {
        Self {
            ctx,
            root: Root::default(),
            merged: None,
            early: Early::default(),
            bytes: 0,
            source,
            list: None,
            nested: 0,
            carry: Vec::new(),
            carry_at: 0,
            tried: 0,
            chunk: Box::default(),
            #[cfg(test)]
            looked_at: 0,
        }
    }

    /// Reads all blocks.
    pub fn run(&mut self, blocks: &mut Blocks<'_>) {
        let progress = self.ctx.progress;
        let (buffers, chunks) = (Spares::new(), Spares::new());
        stages::in_order(
            || blocks.next(&buffers),
            |block| {
                let guess = Guess::read(&block, chunks.take());
                (block, guess)
            },
            |(block, guess)| {
                // Blocks that were under way are of no use, and an event that spans many of them takes long.
                if progress.is_cancelled() {
                    return;
                }
                chunks.give(self.accept(&block, guess));
                buffers.give(block.bytes);
            },
        );
        if !progress.is_cancelled() {
            self.close();
        }
    }

    /// Reads what is left over when no more blocks follow.
    fn close(&mut self) {
        let (carry, at) = (std::mem::take(&mut self.carry), self.carry_at);
        let done = self.feed(&carry, at, 0, true);
        self.carry = carry.get(done..).unwrap_or_default().to_vec();
    }

    /// Reads a text cut into blocks at the given places: what [`Stream::run`] does with blocks of one size.
    #[cfg(test)]
    pub fn run_cut(&mut self, text: &[u8], cuts: &[usize]) {
        let mut start = 0;
        for &cut in cuts.iter().chain([&text.len()]) {
            let block = Block {
                offset: start as u64,
                bytes: text[start..cut].to_vec(),
            };
            if !block.bytes.is_empty() {
                let guess = Guess::read(&block, Box::default());
                self.accept(&block, guess);
            }
            start = cut;
        }
        self.close();
    }

    /// Takes the next block over, with what was made of it. Returns the chunk for reuse.
    fn accept(&mut self, block: &Block, guess: Guess) -> Box<Chunk> {
        let w = &block.bytes;
        self.bytes = block.offset + w.len() as u64;
        if block.offset == 0 {
            self.root.piece = piece::look(text_of(w));
        }
        let Guess { mut chunk, found } = guess;
        let head = found.map_or(w.len(), |(start, _)| start);
        self.feed_joined(&w[..head], block.offset);
        if let Some((start, stop)) = found {
            let lined_up = self.carry.is_empty()
                && self.nested == 0
                && matches!(self.list, Some(State::Element | State::Lost));
            if lined_up {
                if self.list == Some(State::Lost) {
                    let offset = block.offset + start as u64;
                    chunk.found = Some(offset);
                    chunk.tally.found(offset);
                }
                self.take(&mut chunk, w, block.offset);
                self.stopped(w, block.offset, stop);
            } else {
                self.feed_joined(&w[start..], block.offset + start as u64);
            }
        }
        chunk
    }

    /// Reads on with what was left over in front of `w`.
    fn feed_joined(&mut self, w: &[u8], at: u64) {
        if self.carry.is_empty() {
            let done = self.feed(w, at, 0, false);
            self.carry_from(w, at, done);
            return;
        }
        let (mut joined, at) = (std::mem::take(&mut self.carry), self.carry_at);
        joined.extend_from_slice(w);
        let enough = (2 * self.tried).min(MAX_EVENT + 1);
        if self.tried > AGAIN && joined.len() < enough {
            self.carry = joined;
            return;
        }
        let done = self.feed(&joined, at, 0, false);
        joined.drain(..done.min(joined.len()));
        if joined.len() <= AGAIN {
            joined.shrink_to(2 * AGAIN);
        }
        self.tried = joined.len();
        (self.carry, self.carry_at) = (joined, at + done as u64);
    }

    /// Leaves the rest of a window for the next one.
    fn carry_from(&mut self, w: &[u8], at: u64, done: usize) {
        self.carry.clear();
        self.carry
            .extend_from_slice(w.get(done..).unwrap_or_default());
        self.carry_at = at + done as u64;
        self.tried = self.carry.len();
    }

    /// Reads a window; returns how much of it is done with.
    fn feed(&mut self, w: &[u8], at: u64, mut pos: usize, last: bool) -> usize {
        #[cfg(test)]
        {
            self.looked_at += w.len() - pos;
        }
        loop {
            if let Some(state) = self.list {
                let mut chunk = std::mem::take(&mut self.chunk);
                chunk.clear();
                let mut parser = Parser {
                    w,
                    at,
                    careful: last,
                    chunk: &mut chunk,
                };
                let stop = elements::read(&mut parser, pos, (state, self.nested), last);
                self.take(&mut chunk, w, at);
                self.chunk = chunk;
                (pos, self.nested) = (stop.consumed, stop.nested);
                if stop.ended {
                    self.list = None;
                    self.root.after_list();
                    continue;
                }
                self.list = Some(stop.state);
                return pos;
            }
            match self.root.feed(w, at, pos, last) {
                Step::List(next, state) => {
                    self.list = Some(state);
                    pos = next;
                }
                Step::Wait(next) => return next,
            }
        }
    }

    /// Goes on behind a block that was read from a guessed place.
    fn stopped(&mut self, w: &[u8], at: u64, stop: Stop) {
        self.nested = stop.nested;
        if stop.ended {
            self.list = None;
            self.root.after_list();
            let done = self.feed(w, at, stop.consumed, false);
            self.carry_from(w, at, done);
        } else {
            self.list = Some(stop.state);
            self.carry_from(w, at, stop.consumed);
        }
    }

    fn take(&mut self, chunk: &mut Chunk, w: &[u8], at: u64) {
        self.root.first_event = self.root.first_event.or(chunk.found);
        if self.merged.is_none() {
            if chunk.events == chunk.tally.count(Odd::NotObject) {
                self.early.take(chunk, w, at);
                return;
            }
            let early = std::mem::take(&mut self.early);
            self.merged = Some(Merged::new(self.source.clone(), early, self.ctx.builder));
        }
        if let Some(merged) = &mut self.merged {
            merged.document(self.root.further);
            merged.take(chunk, w, at, self.ctx);
        }
    }

    /// What it all came to.
    pub fn end(self) -> End {
        End {
            open: self.list.is_some() || !self.root.is_complete(),
            root: self.root,
            merged: self.merged,
            early: self.early,
            bytes: self.bytes,
        }
    }
}
