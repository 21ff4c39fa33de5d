//! What a record is, and which recorder wrote it.

use super::scan::{Record, for_each_member};
use super::token::Token;
use crate::import::text::decimal;

/// What a record is, by its phase in letters (up to 2.0) or numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Complete,
    Counter,
    Aggregated,
    Metadata,
    Other,
}

impl Kind {
    pub fn of(ph: Token<'_>) -> Self {
        // Phases are one byte, but for numbers that are written as fractions.
        match ph.bytes {
            b"X" | b"1" => Self::Complete,
            b"C" | b"2" => Self::Counter,
            b"A" | b"3" => Self::Aggregated,
            b"M" | b"4" => Self::Metadata,
            [_] => Self::Other,
            other => match decimal::whole(other) {
                Some(1) => Self::Complete,
                Some(2) => Self::Counter,
                Some(3) => Self::Aggregated,
                Some(4) => Self::Metadata,
                _ => Self::Other,
            },
        }
    }
}

/// Which recorder wrote the lines, recognised by the records (never by a version).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Generation {
    /// Python tracer of 2023: no id, no args, floating-point microseconds.
    G1,
    /// DLIO profiler: no id.
    G2,
    /// 2023–2024: every scalar is text.
    G3,
    /// 1.0.5–1.0.8: integer hashes.
    G4,
    /// 1.0.9–2.0: hexadecimal hashes.
    G5,
    /// 2.1 and newer: integer phases.
    G6,
}

impl Generation {
    pub fn of(record: &Record<'_>, kind: Kind) -> Option<Self> {
        if record.ph.bytes.first().is_some_and(u8::is_ascii_digit) {
            return Some(Self::G6);
        }
        if !matches!(kind, Kind::Complete | Kind::Metadata) {
            return None;
        }
        if record.id.is_missing() {
            return match record.args {
                None => Some(Self::G1),
                Some(_) => (kind == Kind::Complete).then_some(Self::G2),
            };
        }
        if record.id.quoted {
            return Some(Self::G3);
        }
        let (mut hash, mut value) = (Token::default(), Token::default());
        for_each_member(record.args?, |key, token| match key {
            b"hhash" => hash = token,
            b"value" => value = token,
            _ => {}
        });
        let found = if hash.is_missing() { value } else { hash };
        (!found.is_missing()).then_some(if found.quoted { Self::G5 } else { Self::G4 })
    }
}

/// Number of records by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    pub complete: u64,
    pub counter: u64,
    pub aggregated: u64,
    pub metadata: u64,
    pub other: u64,
}

impl Kinds {
    /// All records.
    pub fn total(self) -> u64 {
        self.complete + self.counter + self.aggregated + self.metadata + self.other
    }
}
