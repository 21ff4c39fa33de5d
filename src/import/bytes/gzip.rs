//! Gzip data of one or many members, read past damage.
//!
//! What comes out does not depend on how much is asked for at once, so that places in the text stay the same whoever
//! reads it.
//!
//! # How reading goes on behind damage
//!
//! Members do not depend on each other, so one that is damaged costs itself alone, once the next one is found. It is
//! looked for from the byte behind the damaged one's beginning on (1 MiB back at most), not from where the decoder
//! stopped: a decoder notices damage late, and what it took for data may be whole members.
//!
//! ```text
//!           begun                damage         noticed
//!           ▼                    ▼              ▼
//!  ┌────────┬───────────────────────┬───────────────┬───────────────┐
//!  │ member │ member ~~~~~~~~~~~~~  │ member        │ member        │   compressed
//!  └────────┴───────────────────────┴───────────────┴───────────────┘
//!            └─ 1f 8b 08 ? ─ no ─ no ─▶ yes: read on from here
//!
//!  ├────────┼────────────┤\n├───────────────┼───────────────┤            text
//!                        └ what was torn ends its line; the bytes that are missing are told as a gap
//! ```
//!
//! The three bytes that begin a member occur by chance as well, about once in 16 MiB. A place counts as a member if its
//! header is sound and either all of it inflates within the trial and its checksum is right, or what inflates is text.
//! Trials are work for nothing, which a file could be made to cause without end: it may cost a fixed amount and so much
//! per byte that was read. Where only the checksum is wrong and no other member begins before the end, the next one
//! begins right there: nothing is missing, and the text is kept.

use std::io::{self, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::damage::{Fault, SharedGaps};

/// Bytes that are read at first, and at once later on: of most files of a folder only the beginning is looked at.
const FIRST_STEP: usize = 16 << 10;
const STEP: usize = 256 << 10;

/// Compressed bytes of a member that stay, to be searched when it proves damaged.
const KEPT: usize = 1 << 20;

/// Bytes that are inflated, and from which that is done, to see whether a member begins somewhere.
const TRIAL: usize = 64 << 10;

/// What beginning to do so costs, in bytes inflated.
const TRIAL_START: u64 = 1 << 10;

/// Text that has to come out of a member that is not whole, to be taken for one.
const SOME_TEXT: usize = 64;

/// What a header may take, names and comments included.
const LONGEST_HEADER: usize = 128 << 10;

/// Work that looking for members may cost besides reading once: what is for nothing has to stay in proportion to the
/// length of the file. Bytes at the start, and for each byte read.
const FREE_WORK: u64 = 64 << 20;
const WORK_PER_BYTE: u64 = 16;

/// Bytes searched until whoever asked may change his mind.
const PATIENCE: u64 = 64 << 20;

/// The beginning of every member: mark and method.
const MARK: [u8; 3] = [0x1f, 0x8b, 8];

/// A reader of the inflated text.
pub(crate) struct Members<R> {
    reader: R,
    /// Bytes that are read next.
    step: usize,
    /// Why `reader` gives no more.
    ended: Option<io::Result<()>>,
    /// Compressed bytes; those before `at` are done with.
    buffer: Vec<u8>,
    at: usize,
    /// Where `buffer` begins in the file.
    offset: u64,
    /// Where the member begins in the file.
    begun: u64,
    /// Where a member ends whose checksum is wrong.
    behind: Option<u64>,
    state: State,
    inflate: Decompress,
    crc: Crc,
    trial: Vec<u8>,
    /// Bytes of text given out.
    given: u64,
    /// The last of them.
    last: u8,
    /// Work done for nothing.
    spent: u64,
    gaps: SharedGaps,
}

#[derive(Clone, Copy)]
enum State {
    Header,
    Body,
    Trailer,
    /// Looking for the member that follows a damaged one.
    Lost(Fault),
    /// The damage to be told.
    Failed(Fault),
    End,
}

/// What the bytes at a place are.
enum Header {
    /// One of this length.
    Is(usize),
    /// One that goes on, if it is one.
    Goes,
    No,
}

impl<R: Read> Members<R> {
    /// Nothing is read yet. What is lost on the way goes into `gaps`.
    pub fn new(reader: R, gaps: SharedGaps) -> Self {
        Self {
            reader,
            step: FIRST_STEP,
            ended: None,
            buffer: Vec::new(),
            at: 0,
            offset: 0,
            begun: 0,
            behind: None,
            state: State::Header,
            inflate: Decompress::new(false),
            crc: Crc::new(),
            trial: Vec::new(),
            given: 0,
            last: b'\n',
            spent: 0,
            gaps,
        }
    }

    /// Where the member begins in the buffer, or the buffer itself.
    fn start(&self) -> usize {
        usize::try_from(self.begun.saturating_sub(self.offset)).unwrap_or(usize::MAX)
    }

    /// The place in the file.
    fn place(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// Reads more compressed bytes; false at their end.
    fn fill(&mut self) -> bool {
        if self.ended.is_some() {
            return false;
        }
        let keep = self.start().max(self.at.saturating_sub(KEPT));
        // Moving what stays costs less than was read since the last time.
        if keep >= self.buffer.len() - keep {
            self.buffer.drain(..keep);
            self.at -= keep;
            self.offset += keep as u64;
        }
        let step = self.step;
        self.step = (2 * step).min(STEP);
        let part = self.reader.by_ref().take(step as u64);
        let result = { part }.read_to_end(&mut self.buffer);
        match result {
            Ok(got) if got == step => {}
            Ok(_) => self.ended = Some(Ok(())),
            Err(e) => self.ended = Some(Err(e)),
        }
        true
    }

    /// Reads until `len` bytes lie ahead, or all there are.
    fn ahead(&mut self, len: usize) -> &[u8] {
        while self.buffer.len() - self.at < len && self.fill() {}
        let end = self.buffer.len().min(self.at + len);
        &self.buffer[self.at..end]
    }

    /// Between members.
    fn header(&mut self) {
        self.begun = self.place();
        let mut len = 64;
        loop {
            let bytes = self.ahead(len);
            let (short, none) = (bytes.len() < len, bytes.is_empty());
            self.state = match header_of(bytes) {
                _ if none => State::End,
                Header::Is(len) => {
                    self.at += len;
                    self.inflate.reset(false);
                    self.crc.reset();
                    State::Body
                }
                Header::Goes if !short && len < LONGEST_HEADER => {
                    len *= 2;
                    continue;
                }
                Header::Goes if short => self.lost(Fault::Early),
                Header::Goes | Header::No => self.lost(Fault::Trailing),
            };
            return;
        }
    }

    /// Inflates; returns the bytes of text.
    fn body(&mut self, out: &mut [u8]) -> usize {
        let (taken, given) = (self.inflate.total_in(), self.inflate.total_out());
        let input = &self.buffer[self.at..];
        let result = self.inflate.decompress(input, out, FlushDecompress::None);
        let taken = (self.inflate.total_in() - taken) as usize;
        let given = (self.inflate.total_out() - given) as usize;
        self.at += taken;
        self.crc.update(&out[..given]);
        match result {
            Ok(Status::StreamEnd) => self.state = State::Trailer,
            Ok(_) if taken == 0 && given == 0 && !self.fill() => {
                self.state = self.lost(Fault::Early);
            }
            Ok(_) => {}
            Err(_corrupt) => self.state = self.lost(Fault::Corrupt),
        }
        given
    }

    /// Behind the data of a member.
    fn trailer(&mut self) {
        let expected = trailer_of(&self.crc);
        let bytes = self.ahead(8);
        if bytes.len() < 8 {
            self.state = self.lost(Fault::Early);
        } else if bytes == expected {
            self.at += 8;
            self.state = State::Header;
        } else {
            // Other members may be what was inflated: their ends look like one of this member.
            self.at += 8;
            self.behind = Some(self.place());
            self.state = self.lost(Fault::Checksum);
        }
    }

    /// Goes back to where the damaged member begins, if it is there and was not too much work.
    fn lost(&mut self, fault: Fault) -> State {
        let first = (self.start() + 1).max(self.at.saturating_sub(KEPT));
        let again = self.at.saturating_sub(first) as u64;
        let ratio = self.inflate.total_out() / self.inflate.total_in().max(1) + 1;
        if again == 0 || self.may_spend(again.saturating_mul(ratio)) {
            self.at = first.min(self.buffer.len());
        }
        State::Lost(fault)
    }

    fn may_spend(&mut self, work: u64) -> bool {
        let read = self.offset + self.buffer.len() as u64;
        let room = FREE_WORK.saturating_add(read.saturating_mul(WORK_PER_BYTE));
        let spent = self.spent.saturating_add(work);
        if spent <= room {
            self.spent = spent;
        }
        spent <= room
    }

    /// Looks for the next member, at the latest until some megabytes were looked at. True where one was found and text
    /// before it is missing.
    fn search(&mut self, fault: Fault) -> bool {
        let (damaged, first) = (self.begun, self.place());
        while self.place() - first <= PATIENCE {
            self.ahead(TRIAL);
            match memchr::memmem::find(&self.buffer[self.at..], &MARK) {
                Some(found) => {
                    self.at += found;
                    if self.behind == Some(self.place()) || self.is_member() {
                        let place = self.place();
                        let torn = self.behind.take() != Some(place);
                        self.gaps.with(|gaps| match torn {
                            true => gaps.lost(self.given, place - damaged),
                            false => gaps.checksum(self.given),
                        });
                        self.state = State::Header;
                        return torn;
                    }
                    self.at += 1;
                }
                None if self.ended.is_some() => {
                    self.state = State::Failed(fault);
                    return false;
                }
                // A mark may go on in what is read next.
                None => {
                    self.at = self
                        .buffer
                        .len()
                        .saturating_sub(MARK.len() - 1)
                        .max(self.at)
                }
            }
        }
        false
    }

    /// Whether a member begins here: one that is whole, or one of which at least some text comes out.
    fn is_member(&mut self) -> bool {
        if !self.may_spend(TRIAL_START) {
            return false;
        }
        self.ahead(TRIAL);
        let end = self.buffer.len().min(self.at + TRIAL);
        let bytes = &self.buffer[self.at..end];
        let len = match header_of(bytes) {
            Header::Is(len) => len,
            Header::Goes => {
                self.spent += bytes.len() as u64;
                return false;
            }
            Header::No => return false,
        };
        self.inflate.reset(false);
        self.trial.resize(TRIAL, 0);
        let (inflate, trial) = (&mut self.inflate, &mut self.trial);
        let result = inflate.decompress(&bytes[len..], trial, FlushDecompress::None);
        let text = &trial[..inflate.total_out() as usize];
        self.spent += len as u64 + inflate.total_in() + inflate.total_out();
        if let Ok(Status::StreamEnd) = result {
            let behind = &bytes[len + inflate.total_in() as usize..];
            let mut crc = Crc::new();
            crc.update(text);
            if behind.starts_with(&trailer_of(&crc)) {
                return true;
            }
        }
        text.len() >= SOME_TEXT && is_text(text)
    }

    /// The end of it all: what is wrong with the reader goes before what is wrong with its bytes.
    fn failure(&mut self, fault: Option<Fault>) -> io::Result<usize> {
        self.state = State::End;
        if let Some(Err(_)) = &self.ended {
            let error = self.ended.replace(Ok(()));
            error.unwrap_or(Ok(()))?;
        }
        fault.map_or(Ok(0), |fault| Err(fault.error()))
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let got = match self.state {
                State::Header => {
                    self.header();
                    0
                }
                State::Body => self.body(out),
                State::Trailer => {
                    self.trailer();
                    0
                }
                State::Lost(fault) => {
                    let torn = self.search(fault);
                    if let State::Lost(_) = self.state {
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                    // What was torn must not run into what follows.
                    let ends = torn && self.last != b'\n';
                    if ends {
                        out[0] = b'\n';
                    }
                    usize::from(ends)
                }
                State::Failed(fault) => return self.failure(Some(fault)),
                State::End => return self.failure(None),
            };
            if got > 0 {
                self.given += got as u64;
                self.last = out[got - 1];
                return Ok(got);
            }
        }
    }
}

/// What stands behind the data: its checksum and its length.
fn trailer_of(crc: &Crc) -> [u8; 8] {
    let (sum, len) = (u64::from(crc.sum()), u64::from(crc.amount()));
    (sum | len << 32).to_le_bytes()
}

fn header_of(bytes: &[u8]) -> Header {
    if !MARK.starts_with(&bytes[..bytes.len().min(MARK.len())]) {
        return Header::No;
    }
    let Some(&flags) = bytes.get(3) else {
        return Header::Goes;
    };
    if flags & 0xe0 != 0 {
        return Header::No;
    }
    header_len(bytes, flags).map_or(Header::Goes, Header::Is)
}

/// The length of a header with the parts that `flags` name; `None` where it does not end.
fn header_len(bytes: &[u8], flags: u8) -> Option<usize> {
    let mut at = 10;
    if flags & 4 != 0 {
        let len = bytes.get(at..at + 2)?;
        at += 2 + usize::from(u16::from_le_bytes([len[0], len[1]]));
    }
    // Name and comment.
    for flag in [8, 16] {
        if flags & flag != 0 {
            at += memchr::memchr(0, bytes.get(at..)?)? + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    (at <= bytes.len()).then_some(at)
}

/// The beginning is text: no control characters but those of lines, and not mostly what is no ASCII.
fn is_text(bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(4096)];
    let control = |b: &&u8| (**b < b' ' && !matches!(**b, b'\t' | b'\n' | b'\r')) || **b == 0x7f;
    sample.iter().filter(control).count() == 0
        && sample.iter().filter(|b| !b.is_ascii()).count() * 2 < sample.len()
}

#[cfg(test)]
mod tests;
