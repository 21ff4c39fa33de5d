//! JSON as programs really wrote it, to [`serde_json::Value`]: bare NaN and inf, commas before closing brackets, raw
//! control characters, unknown escapes.
//!
//! For args on demand, when strict parsing fails; never for whole files.

use serde_json::{Map, Number, Value};

/// Brackets inside brackets that are followed.
const DEPTH: usize = 128;

/// The object that a text is, whole or damaged.
pub(crate) fn args(text: &[u8]) -> Option<Map<String, Value>> {
    let strict = serde_json::from_slice(text).ok();
    strict.or_else(|| object(text).map(|(map, _)| map))
}

/// The object at the start of `text`, and the bytes it takes. `None` when it does not end there.
pub(crate) fn object(text: &[u8]) -> Option<(Map<String, Value>, usize)> {
    let mut parser = Parser { text, at: 0 };
    match parser.value(0)? {
        Value::Object(map) => Some((map, parser.at)),
        other => {
            let mut map = Map::new();
            map.insert("args".to_owned(), other);
            Some((map, parser.at))
        }
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self
            .peek()
            .is_some_and(|b| b.is_ascii_whitespace() || b == 0)
        {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return None;
        }
        self.blanks();
        match self.peek()? {
            b'"' => Some(Value::String(self.string()?)),
            b'{' => {
                self.at += 1;
                let mut map = Map::new();
                while !self.closes(b'}')? {
                    let key = if self.peek()? == b'"' {
                        self.string()?
                    } else {
                        self.word()?
                    };
                    self.blanks();
                    if self.peek()? != b':' {
                        return None;
                    }
                    self.at += 1;
                    let value = self.value(depth + 1)?;
                    map.insert(key, value);
                }
                Some(Value::Object(map))
            }
            b'[' => {
                self.at += 1;
                let mut list = Vec::new();
                while !self.closes(b']')? {
                    list.push(self.value(depth + 1)?);
                }
                Some(Value::Array(list))
            }
            _ => self.scalar(),
        }
    }

    /// Passes commas; true behind the closing bracket.
    fn closes(&mut self, bracket: u8) -> Option<bool> {
        loop {
            self.blanks();
            match self.peek()? {
                b',' => self.at += 1,
                b if b == bracket => {
                    self.at += 1;
                    return Some(true);
                }
                _ => return Some(false),
            }
        }
    }

    fn word(&mut self) -> Option<String> {
        let start = self.at;
        while self.peek().is_some_and(|b| {
            !b.is_ascii_whitespace() && !matches!(b, b',' | b':' | b'}' | b']' | b'{' | b'[' | b'"')
        }) {
            self.at += 1;
        }
        (self.at > start).then(|| String::from_utf8_lossy(&self.text[start..self.at]).into_owned())
    }

    fn scalar(&mut self) -> Option<Value> {
        let word = self.word()?;
        Some(match word.as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => match serde_json::from_str::<Number>(&word) {
                Ok(number) => Value::Number(number),
                // nan, inf, hexadecimal numbers, enum words: shown as they stand.
                Err(_) => Value::String(word),
            },
        })
    }

    fn string(&mut self) -> Option<String> {
        self.at += 1;
        let mut bytes = Vec::new();
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(String::from_utf8_lossy(&bytes).into_owned()),
                b'\\' => {
                    let escape = self.peek()?;
                    self.at += 1;
                    self.escape(escape, &mut bytes)?;
                }
                other => bytes.push(other),
            }
        }
    }

    fn escape(&mut self, escape: u8, bytes: &mut Vec<u8>) -> Option<()> {
        let plain = match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'"' | b'\\' | b'/' => escape,
            b'u' => {
                let c = self.unicode()?;
                let mut buffer = [0; 4];
                bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
                return Some(());
            }
            // `\c` of a Windows path.
            _ => {
                bytes.push(b'\\');
                escape
            }
        };
        bytes.push(plain);
        Some(())
    }

    fn unicode(&mut self) -> Option<char> {
        let high = self.hex4()?;
        if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with(b"\\u") {
            let back = self.at;
            self.at += 2;
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Some(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            self.at = back;
        }
        Some(char::from_u32(high).unwrap_or('\u{fffd}'))
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        let text = std::str::from_utf8(digits).ok()?;
        Some(u32::from_str_radix(text, 16).unwrap_or(0xfffd))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> Option<String> {
        let (map, used) = object(json.as_bytes())?;
        assert!(used <= json.len());
        serde_json::to_string(&map).ok()
    }

    #[test]
    fn what_programs_wrote_is_read() {
        let cases = [
            (r#"{"a":1,"b":[1,2,],}rest"#, r#"{"a":1,"b":[1,2]}"#),
            (
                r#"{"x":nan,"y":-inf,"z":0x7f}"#,
                r#"{"x":"nan","y":"-inf","z":"0x7f"}"#,
            ),
            ("{\"p\":\"C:\\c\\_x\n\"}", r#"{"p":"C:\\c\\_x\n"}"#),
            (
                r#"{"u":"\u00e9\ud83d\ude00\ud83d"}"#,
                "{\"u\":\"é😀\u{fffd}\"}",
            ),
            (
                r#"{"n":17868160079272185648}"#,
                r#"{"n":17868160079272185648}"#,
            ),
            ("[1]", r#"{"args":[1]}"#),
        ];
        for (json, expected) in cases {
            assert_eq!(text(json).as_deref(), Some(expected), "{json}");
        }
    }

    #[test]
    fn what_does_not_end_is_no_object() {
        for json in [
            "",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":\"",
            "{\"a\":\"\\",
            "{\"a\":\"\\u12",
            "{\"a\" 1}",
            "[[",
        ] {
            assert_eq!(text(json), None, "{json}");
        }
        assert_eq!(text(&"[".repeat(100_000)), None);
    }
}
