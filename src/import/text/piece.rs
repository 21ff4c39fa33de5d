//! Whether a text is a piece of a Chrome trace whose beginning is missing.
//!
//! Such a piece may begin anywhere, inside a text too. What tells it from a log with JSON inside is that it is JSON from
//! its first byte on, that something ends in it which did not begin in it, and that whole events follow.

use super::json::{skip_ws, text_end};

/// What a text looks like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A piece of a trace.
    Yes,
    /// Something else: a whole trace, or no trace at all.
    #[default]
    No,
    /// It could become one: no whole event was seen.
    Open,
}

/// Looks at the beginning of a text, blanks apart.
pub(crate) fn look(text: &[u8]) -> Piece {
    // A piece starts between values, inside a text, or behind its backslash.
    let starts = [(false, 0), (true, 0), (true, 1)];
    let mut open = false;
    for (in_text, pos) in starts {
        match Walk::over(text, in_text, pos) {
            Piece::Yes => return Piece::Yes,
            Piece::Open => open = true,
            Piece::No => {}
        }
    }
    // A whole value may take any number of bytes.
    if open && !matches!(text.first(), Some(b'{' | b'[')) {
        Piece::Open
    } else {
        Piece::No
    }
}

/// Containers inside containers that are followed.
const MAX_DEPTH: u32 = 127;

/// What was read last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing: the text begins here.
    Start,
    /// An opening bracket, a comma or a colon.
    Opening,
    /// A value or a key.
    Value,
}

struct Walk<'t> {
    text: &'t [u8],
    pos: usize,
    before: Before,
    /// Containers that opened in the text and are open.
    depth: u32,
    /// Depth inside the last object that has a phase.
    phase: u32,
    /// The text begins inside something, by its first byte or since something ended that did not begin in it.
    headless: bool,
}

impl<'t> Walk<'t> {
    fn over(text: &'t [u8], in_text: bool, pos: usize) -> Piece {
        let mut walk = Self {
            text,
            pos,
            before: Before::Start,
            depth: 0,
            phase: u32::MAX,
            headless: in_text,
        };
        if in_text && let Some(found) = walk.behind_text() {
            // Text without any quote is no JSON.
            return match found {
                Piece::Open => Piece::No,
                other => other,
            };
        }
        loop {
            if let Some(found) = walk.step() {
                return found;
            }
        }
    }

    fn step(&mut self) -> Option<Piece> {
        self.blanks();
        let Some(&byte) = self.text.get(self.pos) else {
            return Some(Piece::Open);
        };
        let (before, at) = (self.before, self.pos);
        self.pos += 1;
        self.before = Before::Opening;
        match byte {
            b'"' if before != Before::Value => return self.behind_text(),
            b'{' | b'[' if before != Before::Value && self.depth < MAX_DEPTH => self.depth += 1,
            b',' if before != Before::Opening => self.headless |= at == 0,
            b':' if before != Before::Opening => self.headless |= at == 0,
            b'}' | b']' => return self.close(byte == b'}'),
            _ if before != Before::Value && is_word(byte) => {
                self.before = Before::Value;
                while self.text.get(self.pos).is_some_and(|&b| is_word(b)) {
                    self.pos += 1;
                }
            }
            _ => return Some(Piece::No),
        }
        None
    }

    fn close(&mut self, object: bool) -> Option<Piece> {
        self.before = Before::Value;
        let event = object && self.phase == self.depth;
        match self.depth {
            0 => self.headless = true,
            _ if event && self.headless => return Some(Piece::Yes),
            // Events inside something that begins in the text: it has its head.
            2.. if event => return Some(Piece::No),
            _ => {}
        }
        if event {
            self.phase = u32::MAX;
        }
        self.depth = self.depth.saturating_sub(1);
        None
    }

    /// Goes on behind the quote that ends a text.
    fn behind_text(&mut self) -> Option<Piece> {
        let Some((end, _)) = text_end(self.text, self.pos) else {
            return Some(Piece::Open);
        };
        let inner = &self.text[self.pos..end];
        self.pos = end + 1;
        self.before = Before::Value;
        self.blanks();
        match self.text.get(self.pos) {
            Some(b':') => self.key(inner),
            Some(b',' | b'}' | b']') => None,
            Some(_) => Some(Piece::No),
            None => Some(Piece::Open),
        }
    }

    /// A key, with its colon at the position.
    fn key(&mut self, key: &[u8]) -> Option<Piece> {
        if key == b"ph" {
            self.phase = self.depth;
        }
        if key != b"traceEvents" {
            return None;
        }
        self.pos += 1;
        self.before = Before::Opening;
        self.blanks();
        match self.text.get(self.pos) {
            Some(b'[') if self.depth == 0 => Some(Piece::Yes),
            Some(b'[') => Some(Piece::No),
            Some(_) => None,
            None => Some(Piece::Open),
        }
    }

    fn blanks(&mut self) {
        self.pos = skip_ws(self.text, self.pos);
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &str = r#"{"ph":"X","cat":"cpu_op","name":"a [1] {\"b\"}, \\","pid":1,"ts":10,"dur":5,"args":{"Input Dims":[[1,2],[]],"d":{}}}"#;

    #[test]
    fn a_trace_cut_anywhere_in_front_of_a_whole_event_is_a_piece() {
        let text = format!(
            r#"{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"GPU {{0}}"}}],"INFO":[],"traceEvents":[{EVENT},{EVENT}]}}"#
        );
        assert_eq!(look(text.as_bytes()), Piece::No);
        let last = text.rfind(EVENT).expect("there");
        // A list of its own is no piece, nor is an event.
        let is_whole = |at: usize| text[at..].trim_start_matches('[').starts_with(EVENT);
        for from in (1..last).filter(|&i| !is_whole(i)) {
            let piece = &text[from..];
            assert_eq!(look(piece.as_bytes()), Piece::Yes, "{piece}");
        }
        // Without a whole event it may become one.
        let cut = &text[..text.len() - EVENT.len() / 2];
        for from in last - EVENT.len() + 1..last {
            assert_ne!(look(&cut.as_bytes()[from..]), Piece::Yes, "{from}");
        }
        let long = format!(
            "{},{EVENT}",
            &EVENT[30..].replace("Dims", &"x".repeat(1_000))
        );
        assert_eq!(look(&long.as_bytes()[..1_000]), Piece::Open);
        assert_eq!(look(long.as_bytes()), Piece::Yes);
    }

    #[test]
    fn logs_and_other_json_are_none() {
        for text in [
            "V1206 15:20:13 torch/x.py:12] {\"chromium_event\": {}}\n\t{\n\t\"name\": \"d\",\n\t\"ph\": \"B\"\n\t}\n",
            "[[-1, 1, 5], [2, 3, 4]]",
            r#"[1, 2]"#,
            r#"["a", "b"]"#,
            r#"{"a": {"ph": 1}, "b": [{"ph": "X"}, {"ph": "Y"}]}"#,
            r#"{"model": {"vocab": {"ph": 12, "ts": 13}}}"#,
            r#"trace = [{"ph":"X"},{"ph":"X"}]"#,
            r#"He said "ph": {"ph": 1}}, {"ph": 2}"#,
            "hello",
            "",
        ] {
            assert_ne!(look(text.as_bytes()), Piece::Yes, "{text}");
        }
        let list = format!("[{EVENT},{EVENT}]");
        assert_eq!(look(list.as_bytes()), Piece::No);
    }
}
