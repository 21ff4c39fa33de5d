//! The event list: elements one after the other, and the way back into it after a defect.
//!
//! # Where an event starts after a defect
//!
//! JSON has no marks by which a reader finds its way back: a brace may stand inside a text, and an object may be an arg
//! of another one. So every brace is a candidate, and three tests follow each other, from the cheap one to the dear one:
//! it stands behind `,` or `[`; a key that events have follows it; it reads as an event with a phase, to its very end.
//!
//! ```text
//!      the element that is broken          the defect
//!      ▼                                   ▼
//!  … , {"ph":"X","name":"a , {"ph":"X",… , {"pX � 0 "}} , {"k":1} , {"ph":"X","ts":5,…} , {"ph":…
//!      └────────── lost ──────────────────────────────────────────┘ └── reads: go on here
//!       └── at most 8 are tried to the end ┘└────── all are tried ──▶
//! ```
//!
//! The search begins right behind the brace of the broken element, not at the defect: the quote that is missing or too
//! many may lie far before the place where it is noticed, and whole events between the two. As many such candidates
//! could each be read to the end of the window, only a few are tried before the defect; behind it each one that fails
//! leads further. A closing bracket behind which the object around the list goes on or ends is found in the same way
//! and ends the list. Where the window ends inside a candidate, the search waits for the next one, which begins with
//! the byte that stands before the candidate, so that the first test has the same answer again.
//!
//! The same tests, with `},` in place of the comma, tell where a block may be read from while the one before it is
//! not read yet (see [`guess`]); there a wrong answer costs time only, since the blocks are compared afterwards.

use super::chunk::Chunk;
use super::event::Event;
use super::key::is_event_key;
use super::parser::Parser;
use super::scan::{Fail, Scan, before, byte, skip_value, string_end};
use crate::import::chrome::tally::Odd;
use crate::import::text::json::skip_ws;

/// Where in the list a window begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Behind the opening bracket.
    First,
    /// Behind a comma.
    Element,
    /// Behind an element.
    Comma,
    /// Behind a defect, looking for the next event.
    Lost,
}

/// How far a window was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Bytes that are done with; the rest belongs to the next window.
    pub consumed: usize,
    /// State there.
    pub state: State,
    /// Lists in the list that are open there.
    pub nested: u32,
    /// The list ended: `consumed` is behind its bracket.
    pub ended: bool,
}

/// An event larger than this is skipped; [`Odd::TooLarge`] says so. Unit tests and fuzzers work on small inputs.
pub(crate) const MAX_EVENT: usize = if cfg!(any(test, fuzzing)) {
    256 << 10
} else {
    64 << 20
};

/// After this many candidates that are no events either, the search goes on behind the defect.
const MAX_TRIES: u32 = 8;

/// Candidates for a speculative start that are tried in one block.
const MAX_GUESSES: u32 = 64;

/// The longest key that begins an event, with its quotes.
const KEY_ROOM: usize = 14;

/// A place in the list: position, state, open lists in the list.
type Place = (usize, State, u32);

fn stop((consumed, state, nested): Place) -> Stop {
    Stop {
        consumed,
        state,
        nested,
        ended: false,
    }
}

fn ended((consumed, state, nested): Place) -> Stop {
    Stop {
        ended: true,
        ..stop((consumed, state, nested))
    }
}

/// Reads the elements of `w` from `pos`, where `nested` lists in the list are open. `last` says that no more text
/// follows.
pub(crate) fn read(
    parser: &mut Parser<'_, '_>,
    mut pos: usize,
    (mut state, mut nested): (State, u32),
    last: bool,
) -> Stop {
    let w = parser.w;
    let mut event = Event::empty();
    let mut defect = pos;
    loop {
        if state == State::Lost {
            match find_event(parser, pos, defect, last) {
                Found::Event(at) => {
                    let offset = parser.at + at as u64;
                    parser.chunk.found.get_or_insert(offset);
                    parser.chunk.tally.found(offset);
                    (pos, state) = (at, State::Element);
                }
                Found::End(behind) => {
                    parser.chunk.tally.found(parser.at + behind as u64);
                    return ended((behind, state, nested));
                }
                Found::Nothing(consumed) => return stop((consumed, state, nested)),
            }
        }
        let gap = pos;
        pos = skip_ws(w, pos);
        // Byte by byte, so that a cut inside the gap changes nothing.
        for (i, _) in (gap..pos)
            .zip(&w[gap..pos])
            .filter(|(_, b)| !b.is_ascii_whitespace())
        {
            parser.chunk.tally.add(Odd::Padding, parser.at + i as u64);
        }
        let here = (pos, state, nested);
        let Some(&b) = w.get(pos) else {
            return stop(here);
        };
        let mut odd = |odd: Odd| parser.chunk.tally.add(odd, parser.at + pos as u64);
        let next = match b {
            b',' => {
                if state != State::Comma {
                    odd(Odd::Comma);
                }
                Ok((pos + 1, State::Element, nested))
            }
            b'{' => {
                if state == State::Comma {
                    odd(Odd::NoComma);
                }
                match parser.event(pos, &mut event) {
                    Ok(end) => {
                        parser.push(pos, &event);
                        Ok((end, State::Comma, nested))
                    }
                    Err(fail) => {
                        defect = match fail {
                            Fail::Broken(at) => at,
                            Fail::More => w.len(),
                        };
                        no_event(parser, here, fail, last)
                    }
                }
            }
            b']' => closing(parser, here, last),
            b'[' => opening(parser, here, last),
            _ => element(parser, here, last),
        };
        match next {
            Ok(next) => (pos, state, nested) = next,
            Err(stop) => return stop,
        }
    }
}

/// Goes on at an object that could not be read.
#[cold]
fn no_event(
    parser: &mut Parser<'_, '_>,
    (pos, _, nested): Place,
    fail: Fail,
    last: bool,
) -> Result<Place, Stop> {
    let (offset, len) = (parser.at + pos as u64, parser.w.len());
    if fail == Fail::More && !last {
        take_back(parser, |p| p.event(pos, &mut Event::empty()));
        if len - pos <= MAX_EVENT {
            return Err(stop((pos, State::Element, nested)));
        }
        parser.chunk.tally.add(Odd::TooLarge, offset);
        parser.chunk.tally.lost(offset);
        return Err(stop((len, State::Lost, nested)));
    }
    parser.chunk.tally.add(Odd::Broken, offset);
    parser.chunk.tally.lost(offset);
    parser.chunk.cut_off |= fail == Fail::More;
    Ok((pos + 1, State::Lost, nested))
}

/// Goes on at a closing bracket.
fn closing(
    parser: &mut Parser<'_, '_>,
    (pos, state, nested): Place,
    last: bool,
) -> Result<Place, Stop> {
    let w = parser.w;
    let mut odd = |odd: Odd| parser.chunk.tally.add(odd, parser.at + pos as u64);
    let decides = match nested {
        0 => list_goes_on(w, pos),
        _ => closes_root_list(w, pos),
    };
    match decides {
        Err(_) if !last => return Err(stop((pos, state, nested))),
        Ok(true) if nested > 0 => return Err(ended((pos + 1, state, nested))),
        Ok(true) => {
            odd(Odd::Bracket);
            return Ok((pos + 1, State::Comma, nested));
        }
        _ => {}
    }
    if state == State::Element {
        odd(Odd::Comma);
    }
    match nested {
        0 => Err(ended((pos + 1, state, nested))),
        _ => Ok((pos + 1, State::Comma, nested - 1)),
    }
}

/// Goes on at an opening bracket: of a list in the list, whose events count, or of another value.
fn opening(
    parser: &mut Parser<'_, '_>,
    (pos, state, nested): Place,
    last: bool,
) -> Result<Place, Stop> {
    match begins_event(parser.w, skip_ws(parser.w, pos + 1)) {
        Err(_) if !last => Err(stop((pos, state, nested))),
        Ok(true) => {
            let mut odd = |odd: Odd| parser.chunk.tally.add(odd, parser.at + pos as u64);
            if state == State::Comma {
                odd(Odd::NoComma);
            }
            odd(Odd::Nested);
            Ok((pos + 1, State::First, nested.saturating_add(1)))
        }
        _ => element(parser, (pos, state, nested), last),
    }
}

/// Goes on at an element that is no object.
fn element(
    parser: &mut Parser<'_, '_>,
    (pos, state, nested): Place,
    last: bool,
) -> Result<Place, Stop> {
    let w = parser.w;
    let offset = parser.at + pos as u64;
    let scan = match state {
        // Without a comma before it, it is no element.
        State::Comma => Err(Fail::Broken(pos)),
        _ => skip_value(w, pos, parser.at, &mut parser.chunk.tally),
    };
    match scan {
        Ok(end) => {
            parser.chunk.events += 1;
            parser.chunk.tally.add(Odd::NotObject, offset);
            Ok((end, State::Comma, nested))
        }
        Err(Fail::More) if !last => {
            take_back(parser, |p| skip_value(w, pos, p.at, &mut p.chunk.tally));
            if w.len() - pos <= MAX_EVENT {
                return Err(stop((pos, state, nested)));
            }
            parser.chunk.tally.add(Odd::TooLarge, offset);
            parser.chunk.tally.lost(offset);
            Err(stop((w.len(), State::Lost, nested)))
        }
        Err(_) => {
            parser.chunk.tally.add(Odd::Broken, offset);
            parser.chunk.tally.lost(offset);
            Ok((pos + 1, State::Lost, nested))
        }
    }
}

/// Takes back what an element counted that the window cuts off: the next window reads it from its beginning.
fn take_back<'w, 'c>(
    parser: &mut Parser<'w, 'c>,
    read_again: impl FnOnce(&mut Parser<'w, 'c>) -> Scan,
) {
    if parser.chunk.tally.is_empty() {
        return;
    }
    let all = std::mem::take(&mut parser.chunk.tally);
    // It ends where it ended before; only what it counts on the way is wanted.
    let _more = read_again(parser);
    let cut_off = std::mem::replace(&mut parser.chunk.tally, all);
    parser.chunk.tally.forget(&cut_off);
}

/// What a search for the next event found.
enum Found {
    /// An event at this position.
    Event(usize),
    /// The end of the list; the position behind it.
    End(usize),
    /// Neither; the window is done with up to here.
    Nothing(usize),
}

/// The next event, or the end of the list, from `pos` on. In front of the defect only a few candidates are tried: a
/// stray quote may hide whole events there, but nobody may make the search slow.
fn find_event(parser: &mut Parser<'_, '_>, pos: usize, defect: usize, last: bool) -> Found {
    let w = parser.w;
    let mut from = pos;
    let mut tries = 0;
    while let Some(found) = w
        .get(from..)
        .and_then(|rest| memchr::memchr2(b'{', b']', rest))
    {
        let at = from + found;
        from = at + 1;
        if w[at] == b']' {
            if closes_list(w, at) {
                return Found::End(at + 1);
            }
            continue;
        }
        if !stands_in_list(w, at) {
            continue;
        }
        match begins_event(w, at) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(_) if last => continue,
            Err(_) => return Found::Nothing(context(w, at)),
        }
        match try_event(parser, at) {
            Ok(true) => return Found::Event(at),
            Err(Fail::More) if !last && w.len() - at <= MAX_EVENT => {
                return Found::Nothing(context(w, at));
            }
            _ => {}
        }
        tries += 1;
        if tries == MAX_TRIES && from < defect {
            from = defect;
        }
    }
    Found::Nothing(w.len())
}

/// Where the next window has to begin so that an event at `at` is found again: at what stands before it.
fn context(w: &[u8], at: usize) -> usize {
    before(w, at).map_or(0, |(_, i)| i)
}

/// True when the object at `at` reads as an event.
fn try_event(parser: &mut Parser<'_, '_>, at: usize) -> Result<bool, Fail> {
    // What is odd in a candidate counts once it is read as an event.
    let tally = parser.chunk.tally.clone();
    let mut event = Event::empty();
    let result = parser.event(at, &mut event).map(|_| !event.ph.is_empty());
    parser.chunk.tally = tally;
    result
}

/// True for a brace behind a comma or an opening bracket.
fn stands_in_list(w: &[u8], at: usize) -> bool {
    before(w, at).is_none_or(|(b, _)| b == b',' || b == b'[')
}

/// True for a closing bracket behind which more events follow.
fn list_goes_on(w: &[u8], at: usize) -> Result<bool, Fail> {
    let comma = skip_ws(w, at + 1);
    if byte(w, comma)? != b',' {
        return Ok(false);
    }
    let next = skip_ws(w, comma + 1);
    match byte(w, next)? {
        b'[' => begins_event(w, skip_ws(w, next + 1)),
        _ => begins_event(w, next),
    }
}

/// True for a bracket behind which the root object goes on or ends, though lists in its list are open.
fn closes_root_list(w: &[u8], at: usize) -> Result<bool, Fail> {
    let next = skip_ws(w, at + 1);
    match byte(w, next)? {
        b'}' => Ok(true),
        b',' => {
            let key = skip_ws(w, next + 1);
            if byte(w, key)? != b'"' {
                return Ok(false);
            }
            Ok(byte(w, skip_ws(w, string_end(w, key)? + 1))? == b':')
        }
        _ => Ok(false),
    }
}

/// True for a brace that is followed by a key of events.
fn begins_event(w: &[u8], at: usize) -> Result<bool, Fail> {
    if byte(w, at)? != b'{' {
        return Ok(false);
    }
    let key = skip_ws(w, at + 1);
    if byte(w, key)? != b'"' {
        return Ok(false);
    }
    let room = w.len().min(key + KEY_ROOM);
    match string_end(&w[..room], key) {
        Ok(end) if is_event_key(&w[key + 1..end]) => Ok(byte(w, skip_ws(w, end + 1))? == b':'),
        Ok(_) => Ok(false),
        Err(fail) if room == w.len() => Err(fail),
        Err(_) => Ok(false),
    }
}

/// True for a bracket behind which the root object goes on or ends.
fn closes_list(w: &[u8], at: usize) -> bool {
    let next = skip_ws(w, at + 1);
    match w.get(next) {
        Some(b'}') => skip_ws(w, next + 1) == w.len(),
        Some(b',') => {
            let key = skip_ws(w, next + 1);
            w.get(key) == Some(&b'"')
                && string_end(w, key).is_ok_and(|end| {
                    matches!(
                        &w[key + 1..end],
                        b"traceName"
                            | b"displayTimeUnit"
                            | b"baseTimeNanoseconds"
                            | b"schemaVersion"
                            | b"deviceProperties"
                            | b"distributedInfo"
                            | b"otherData"
                    )
                })
        }
        _ => false,
    }
}

/// A place in a block where an event probably begins: behind `},`, and readable as an event.
pub(crate) fn guess(w: &[u8], at: u64, scratch: &mut Chunk) -> Option<usize> {
    scratch.clear();
    let mut parser = Parser {
        w,
        at,
        careful: false,
        chunk: scratch,
    };
    let mut tries = 0;
    for found in memchr::memchr_iter(b'{', w) {
        let behind_event = matches!(before(w, found), Some((b',', comma))
            if matches!(before(w, comma), Some((b'}', _))));
        if !behind_event || begins_event(w, found) != Ok(true) {
            continue;
        }
        if try_event(&mut parser, found) == Ok(true) {
            return Some(found);
        }
        tries += 1;
        if tries == MAX_GUESSES {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_odd_counts_once_wherever_windows_are_cut() {
        let text = br#"0x1,inf,[1,]],{"ph":"X",,"a":nan,"args":[nan,],"ts":1,} {"ph":"i","name":"x "y" z","ts":2},{}]"#;
        let read = |chunk: &mut Chunk, from: usize, to: usize, state, last| {
            let mut parser = Parser {
                w: &text[from..to],
                at: from as u64,
                careful: false,
                chunk,
            };
            read(&mut parser, 0, (state, 0), last)
        };
        let mut whole = Chunk::default();
        read(&mut whole, 0, text.len(), State::First, true);
        let kinds = [
            Odd::BareWord,
            Odd::Comma,
            Odd::NoComma,
            Odd::Quote,
            Odd::NotObject,
        ];
        let counts =
            |chunk: &Chunk| kinds.map(|odd| (chunk.tally.count(odd), chunk.tally.first(odd)));
        assert_eq!(counts(&whole).map(|c| c.0), [4, 4, 1, 1, 3]);
        for cut in 0..text.len() {
            let mut parts = Chunk::default();
            let stop = read(&mut parts, 0, cut, State::First, false);
            read(&mut parts, stop.consumed, text.len(), stop.state, true);
            assert_eq!(counts(&parts), counts(&whole), "cut at {cut}");
        }
    }
}
