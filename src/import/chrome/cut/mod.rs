//! A window of a whole file, copied event by event, byte for byte.
//!
//! ```text
//!  text ─▶ events as written ─▶ sieve (which stay; flows, syncs and names are decided at the end) ─▶ text
//! ```
//!
//! What is not plain (begins and ends, several documents, defects) is left to others: then there is no such text.

mod flows;
mod sieve;

use crate::import::bytes::input::{Blocks, Input};
use crate::import::bytes::stages::Spares;
use crate::import::chrome::read::chunk::Chunk;
use crate::import::chrome::read::event::Event;
use crate::import::chrome::read::parser::Parser;
use crate::import::chrome::read::root::{Form, Root, Step};
use crate::import::chrome::read::scan::Fail;
use crate::import::contract::error::LoadError;
use crate::import::contract::progress::Progress;
use crate::import::text::json::skip_ws;
use crate::model::{Cut, SourceId, Trace};
use crate::time::TimeRange;
use sieve::Sieve;

/// What stands around the list of a file is copied up to this length on either side.
const MOST_AROUND: usize = 64 << 20;

/// The file of a source with nothing in its list but what the cut keeps, and the recorder's window as it is now.
///
/// # Errors
/// On cancel.
pub(super) fn cut(
    input: Input,
    (trace, source): (&Trace, SourceId),
    cut: &Cut,
    progress: &Progress,
) -> Result<Option<Vec<u8>>, LoadError> {
    let path = input.path.clone();
    let mut sieve = Sieve::new(trace, source, cut);
    let mut window = Window {
        blocks: input.blocks(progress),
        buffers: Spares::new(),
        text: Vec::new(),
        at: 0,
    };
    let around = read(&mut window, &mut sieve);
    let damaged = window.blocks.damage().is_some() || trace.is_cut(source);
    progress.check(&path)?;
    let Some((mut text, tail)) = around.filter(|_| !damaged) else {
        return Ok(None);
    };
    let Some(mut events) = sieve.finish() else {
        return Ok(None);
    };
    let shift = trace.source(source).to_trace_ns;
    if let Some(capture) = cut.capture(trace, source) {
        events.push(recorder(capture, shift).into_bytes());
    }
    text.push(b'\n');
    text.append(&mut events.join(&b",\n"[..]));
    text.push(b'\n');
    text.extend_from_slice(&tail);
    Ok(Some(text))
}

/// The recorder's own row: what it covers.
fn recorder(capture: TimeRange, shift: i64) -> String {
    let micros = |ns: i64| {
        let sign = if ns < 0 { "-" } else { "" };
        let ns = ns.unsigned_abs();
        format!("{sign}{}.{:03}", ns / 1000, ns % 1000)
    };
    format!(
        "{{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\",\"tid\":\"PyTorch Profiler\",\
         \"ts\":{},\"dur\":{},\"args\":{{\"Op count\":0}}}}",
        micros(capture.start.saturating_sub(shift)),
        micros(capture.len())
    )
}

/// What of the text is in memory.
struct Window<'p> {
    blocks: Blocks<'p>,
    buffers: Spares<Vec<u8>>,
    text: Vec<u8>,
    /// Offset of its first byte.
    at: u64,
}

impl Window<'_> {
    /// Drops what is done with and reads on; false at the end. What is left over at least doubles, so that however long
    /// one event is, its text is looked at a few times only.
    fn more(&mut self, done: usize) -> bool {
        let done = done.min(self.text.len());
        self.text.drain(..done);
        self.at += done as u64;
        let wanted = 2 * self.text.len() + 1;
        let before = self.text.len();
        while self.text.len() < wanted {
            let Some(block) = self.blocks.next(&self.buffers) else {
                break;
            };
            self.text.extend_from_slice(&block.bytes);
            self.buffers.give(block.bytes);
        }
        self.text.len() > before
    }
}

/// What stands before and behind the list, brackets included; none where the file is not plain.
fn read(window: &mut Window<'_>, sieve: &mut Sieve<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
    let (mut root, mut head) = (Root::default(), Vec::new());
    let mut last = false;
    loop {
        let (done, found) = match root.feed(&window.text, window.at, 0, last) {
            Step::List(next, _) => (next, true),
            Step::Wait(next) => (next, false),
        };
        head.extend_from_slice(window.text.get(..done)?);
        if head.len() > MOST_AROUND || (last && !found) {
            return None;
        }
        if found {
            window.text.drain(..done);
            window.at += done as u64;
            break;
        }
        last = !window.more(done);
    }
    if !matches!(root.form, Form::Object | Form::Array) {
        return None;
    }
    let end = events(window, sieve)?;
    window.text.drain(..end);
    window.at += end as u64;
    while window.more(0) {
        if window.text.len() > MOST_AROUND {
            return None;
        }
    }
    root.after_list();
    root.feed(&window.text, window.at, 1, true);
    let whole = root.is_complete() && root.further == 0 && root.unread.is_none();
    whole.then(|| (head, std::mem::take(&mut window.text)))
}

/// Reads the list; where its closing bracket is in the window.
fn events(window: &mut Window<'_>, sieve: &mut Sieve<'_>) -> Option<usize> {
    let mut chunk = Box::<Chunk>::default();
    let mut event_before = false;
    loop {
        let mut pos = 0;
        chunk.clear();
        let mut parser = Parser {
            w: &window.text,
            at: window.at,
            careful: false,
            chunk: &mut chunk,
        };
        let mut event = Event::empty();
        loop {
            let w = parser.w;
            pos = skip_ws(w, pos);
            match w.get(pos) {
                None => break,
                Some(b',') if event_before => {
                    event_before = false;
                    pos += 1;
                }
                Some(b'{') if !event_before => match parser.event(pos, &mut event) {
                    Ok(end) => {
                        sieve.take(&parser, (pos, end), &event)?;
                        event_before = true;
                        pos = end;
                    }
                    Err(Fail::More) => break,
                    Err(Fail::Broken(_)) => return None,
                },
                Some(b']') => return Some(pos),
                Some(_) => return None,
            }
        }
        if !window.more(pos) {
            return None;
        }
    }
}
