//! The whole stream: blocks to windows, windows to chunks, on one thread or several.
//!
//! Every block is read from a place where an event probably begins; what lies before that place is read together with
//! the rest of the block before. Where that comes out at the same place, the guess was right and the block's events
//! are taken over, else the block is read once more from where the list really goes on. The cuts do not depend on the
//! number of threads, so neither do the results.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use super::chunk::Chunk;
use super::elements::{self, State, Stop};
use super::event::Parser;
use super::merge::Merged;
use super::root::{Root, Step};
use super::tally::{Odd, Tally};
use crate::import::Context;
use crate::import::input::{Block, Blocks};
use crate::model::Source;

/// An event larger than this is no event.
const MAX_EVENT: usize = 64 << 20;

/// A block for a worker: its number, and a chunk to fill.
type Job = (u64, Block, Box<Chunk>);

/// What a worker hands back.
enum Done {
    /// The block with its number, and its events or the unused chunk.
    Block(u64, Block, Result<Guess, Box<Chunk>>),
    /// The worker panicked: nobody may wait for its block.
    Panicked,
}

/// Tells the merging thread about a panic.
struct Watch<'a>(&'a SyncSender<Done>);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Nobody listens any more: then nobody waits either.
            let _ = self.0.send(Done::Panicked);
        }
    }
}

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
    /// Bytes that are not done with.
    carry: Vec<u8>,
    carry_at: u64,
    chunk: Box<Chunk>,
}

/// What was counted of a file that has given no event yet.
#[derive(Default)]
pub(super) struct Early {
    /// Oddities.
    pub tally: Tally,
    /// Elements, none of which is an object.
    pub events: u64,
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

/// A block that was read from a guessed place.
struct Guess {
    chunk: Box<Chunk>,
    start: usize,
    stop: Stop,
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
            carry: Vec::new(),
            carry_at: 0,
            chunk: Box::default(),
        }
    }

    /// Reads all blocks on this thread and `threads` others; with fewer than 2, on this one alone.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn run(&mut self, blocks: &mut Blocks, threads: usize) -> std::io::Result<()> {
        if threads < 2 {
            let mut spare = Box::default();
            while let Some(block) = blocks.next() {
                if self.ctx.progress.is_cancelled() {
                    return Ok(());
                }
                spare = self.accept(&block, Err(spare));
                blocks.recycle(block.bytes);
            }
        } else {
            self.run_parallel(blocks, threads)?;
        }
        if !self.ctx.progress.is_cancelled() {
            self.close();
        }
        Ok(())
    }

    /// Reads what is left over when no more blocks follow.
    fn close(&mut self) {
        let (carry, at) = (std::mem::take(&mut self.carry), self.carry_at);
        self.feed(&carry, at, 0, true);
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
                self.accept(&block, Err(Box::default()));
            }
            start = cut;
        }
        self.close();
    }

    fn run_parallel(&mut self, blocks: &mut Blocks, threads: usize) -> std::io::Result<()> {
        let (to_workers, jobs) = sync_channel::<Job>(threads);
        let (to_merge, results) = sync_channel::<Done>(threads + 1);
        let jobs = Mutex::new(jobs);
        std::thread::scope(|scope| {
            for i in 0..threads {
                let (jobs, to_merge) = (&jobs, to_merge.clone());
                std::thread::Builder::new()
                    .name(format!("stallscope-parse-{i}"))
                    .spawn_scoped(scope, move || work(jobs, &to_merge))?;
            }
            drop(to_merge);
            self.merge_in_order(blocks, threads, to_workers, &results);
            Ok(())
        })
    }

    fn merge_in_order(
        &mut self,
        blocks: &mut Blocks,
        threads: usize,
        to_workers: SyncSender<Job>,
        results: &Receiver<Done>,
    ) {
        let mut waiting = BTreeMap::new();
        let mut spare = Vec::new();
        let (mut sent, mut merged) = (0_u64, 0_u64);
        let mut more = true;
        loop {
            while more && sent - merged < threads as u64 + 1 && !self.ctx.progress.is_cancelled() {
                match blocks.next() {
                    Some(block) => {
                        let chunk = spare.pop().unwrap_or_default();
                        if to_workers.send((sent, block, chunk)).is_err() {
                            more = false;
                        } else {
                            sent += 1;
                        }
                    }
                    None => more = false,
                }
            }
            if merged == sent || self.ctx.progress.is_cancelled() {
                break;
            }
            while let Some((block, guess)) = waiting.remove(&merged) {
                let block: Block = block;
                spare.push(self.accept(&block, guess));
                blocks.recycle(block.bytes);
                merged += 1;
            }
            if merged == sent {
                continue;
            }
            match results.recv() {
                Ok(Done::Block(i, block, guess)) => {
                    waiting.insert(i, (block, guess));
                }
                // The scope passes the panic on.
                Ok(Done::Panicked) | Err(_) => break,
            }
        }
        // Without jobs the workers end; results that nobody waits for are dropped with the channel.
        drop(to_workers);
        while results.recv().is_ok() {}
    }

    /// Takes the next block over, with what a worker made of it, or a chunk to use here. Returns a chunk for reuse.
    fn accept(&mut self, block: &Block, guess: Result<Guess, Box<Chunk>>) -> Box<Chunk> {
        let w = &block.bytes;
        self.bytes = block.offset + w.len() as u64;
        let (start, mut ready, mut scratch) = match guess {
            Ok(guess) => (
                Some(guess.start),
                Some((guess.chunk, guess.stop)),
                Box::default(),
            ),
            Err(mut chunk) => {
                let start = elements::guess(w, block.offset, &mut chunk);
                (start, None, chunk)
            }
        };
        let head = start.unwrap_or(w.len());
        self.feed_joined(&w[..head], block.offset);
        if let Some(start) = start {
            let lined_up =
                self.carry.is_empty() && matches!(self.list, Some(State::Element | State::Lost));
            if lined_up {
                let (mut chunk, stop) = ready.take().unwrap_or_else(|| {
                    let mut chunk = std::mem::take(&mut scratch);
                    let stop = read_from(w, block.offset, start, &mut chunk);
                    (chunk, stop)
                });
                self.take(&mut chunk, w, block.offset);
                scratch = chunk;
                self.stopped(w, block.offset, stop);
            } else {
                self.feed_joined(&w[head..], block.offset + head as u64);
            }
        }
        if let Some((chunk, _)) = ready {
            scratch = chunk;
        }
        scratch
    }

    /// Reads on with what was left over in front of `w`.
    fn feed_joined(&mut self, w: &[u8], at: u64) {
        if self.carry.is_empty() {
            self.feed(w, at, 0, false);
        } else {
            let (mut joined, at) = (std::mem::take(&mut self.carry), self.carry_at);
            joined.extend_from_slice(w);
            self.feed(&joined, at, 0, false);
        }
    }

    /// Reads a window; what it is not done with becomes the carry.
    fn feed(&mut self, w: &[u8], at: u64, mut pos: usize, last: bool) {
        loop {
            if let Some(state) = self.list {
                let mut chunk = std::mem::take(&mut self.chunk);
                chunk.clear();
                let too_large = w.len() - pos > MAX_EVENT;
                let mut parser = Parser {
                    w,
                    at,
                    careful: last || too_large,
                    chunk: &mut chunk,
                };
                let stop = elements::read(&mut parser, pos, state, last || too_large);
                self.take(&mut chunk, w, at);
                self.chunk = chunk;
                pos = stop.consumed;
                if stop.ended {
                    self.list = None;
                    self.root.after_list();
                    continue;
                }
                self.list = Some(stop.state);
                break;
            }
            match self.root.feed(w, at, pos, last) {
                Step::List(next, state) => {
                    self.list = Some(state);
                    pos = next;
                }
                Step::Wait(next) => {
                    pos = next;
                    break;
                }
            }
        }
        self.carry.clear();
        self.carry.extend_from_slice(&w[pos.min(w.len())..]);
        self.carry_at = at + pos as u64;
    }

    /// Goes on behind a block that was read from a guessed place.
    fn stopped(&mut self, w: &[u8], at: u64, stop: Stop) {
        if stop.ended {
            self.list = None;
            self.root.after_list();
            self.feed(w, at, stop.consumed, false);
        } else {
            self.list = Some(stop.state);
            self.carry.clear();
            self.carry.extend_from_slice(&w[stop.consumed..]);
            self.carry_at = at + stop.consumed as u64;
        }
    }

    fn take(&mut self, chunk: &mut Chunk, w: &[u8], at: u64) {
        if self.merged.is_none() {
            if chunk.events == chunk.tally.count(Odd::NotObject) {
                self.early.events += chunk.events;
                self.early.tally.take(&mut chunk.tally);
                return;
            }
            let early = std::mem::take(&mut self.early);
            self.merged = Some(Merged::new(self.source.clone(), early, self.ctx.builder));
        }
        if let Some(merged) = &mut self.merged {
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

fn work(jobs: &Mutex<Receiver<Job>>, to_merge: &SyncSender<Done>) {
    let _watch = Watch(to_merge);
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((i, block, mut chunk)) = job else {
            return;
        };
        let guess = match elements::guess(&block.bytes, block.offset, &mut chunk) {
            Some(start) => {
                let stop = read_from(&block.bytes, block.offset, start, &mut chunk);
                Ok(Guess { chunk, start, stop })
            }
            None => Err(chunk),
        };
        if to_merge.send(Done::Block(i, block, guess)).is_err() {
            return;
        }
    }
}

fn read_from(w: &[u8], at: u64, start: usize, chunk: &mut Chunk) -> Stop {
    chunk.clear();
    let mut parser = Parser {
        w,
        at,
        careful: false,
        chunk,
    };
    elements::read(&mut parser, start, State::Element, false)
}
