//! One scalar of a line.

use std::borrow::Cow;

use crate::import::text::decimal;

/// A scalar as it stands in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Token<'a> {
    /// Text without quotes; empty where there is none.
    pub bytes: &'a [u8],
    /// In quotes.
    pub quoted: bool,
    /// With backslashes inside.
    pub escaped: bool,
}

impl<'a> Token<'a> {
    /// True where the field is missing or null.
    #[must_use]
    pub fn is_missing(self) -> bool {
        !self.quoted && (self.bytes.is_empty() || self.bytes == b"null")
    }

    /// Its text, with escapes resolved and invalid bytes replaced.
    pub fn text(self) -> Cow<'a, str> {
        if self.is_missing() {
            return Cow::Borrowed("");
        }
        if self.escaped {
            let quoted = [b"\"", self.bytes, b"\""].concat();
            if let Ok(text) = serde_json::from_slice::<String>(&quoted) {
                return Cow::Owned(text);
            }
        }
        String::from_utf8_lossy(self.bytes)
    }

    /// The text of a number that is a name: the same for `7` and `7.0`.
    pub fn number_text(self) -> String {
        if memchr::memchr(b'.', self.bytes).is_some()
            && let Some(whole) = decimal::whole(self.bytes)
        {
            return whole.to_string();
        }
        self.text().into_owned()
    }
}
