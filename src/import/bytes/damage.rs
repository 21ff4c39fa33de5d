//! Why a stream of bytes ended before its end, or is not what was written: told apart, and said.
//!
//! Knows readers and their errors, nothing of what the bytes mean.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::import::contract::report::{Fact, ImportReport, Loss, Lost, NoticeKind, Place};
use crate::model::SourceId;
use crate::time::format_count;

/// What is wrong with a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The compressed data ends early.
    Early,
    /// The compressed data cannot be decoded.
    Corrupt,
    /// All of it was decoded, and is not what was compressed.
    Checksum,
    /// Something else follows the compressed data.
    Trailing,
    /// The system cannot read it.
    Unreadable,
}

/// What readers of archives say about a member whose bytes are not those that were put in.
pub(crate) const CHECKSUM: &str = "its bytes do not match the checksum in the archive";

impl Fault {
    /// What an error of a reader means, after `offset` bytes of text.
    pub fn of(error: &io::Error, offset: u64) -> Self {
        let text = error.to_string();
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Early,
            _ if text.contains("checksum") => Self::Checksum,
            _ if text.contains("gzip header") && offset > 0 => Self::Trailing,
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Self::Corrupt,
            _ => Self::Unreadable,
        }
    }

    /// An error that [`Fault::of`] takes for this.
    pub fn error(self) -> io::Error {
        let (kind, text) = match self {
            Self::Early => (io::ErrorKind::UnexpectedEof, "the gzip data ends early"),
            Self::Corrupt => (io::ErrorKind::InvalidData, "corrupt deflate stream"),
            Self::Checksum => (io::ErrorKind::InvalidData, "wrong gzip checksum"),
            Self::Trailing => (io::ErrorKind::InvalidData, "invalid gzip header"),
            Self::Unreadable => (io::ErrorKind::Other, "unreadable"),
        };
        io::Error::new(kind, text)
    }

    /// Of a whole archive or of compressed data: `it ends early`, …
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Early => "it ends early",
            Self::Corrupt => "its compressed data is damaged",
            Self::Checksum => "it does not match its checksum",
            Self::Trailing => "something that is no gzip data follows it",
            Self::Unreadable => "the system cannot read it",
        }
    }
}

/// Damaged members of compressed data behind which reading went on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// Where text is missing.
    torn: Spots,
    /// Bytes of the file from the beginnings of damaged members to where the next ones begin.
    bytes: u64,
    /// Behind members that do not match their checksums.
    wrong: Spots,
}

/// A count with its first places in the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Spots {
    count: u64,
    places: Vec<Place>,
}

impl Spots {
    fn add(&mut self, at: u64) {
        self.count += 1;
        if self.places.len() < 3 {
            self.places.push(Place::Byte(at));
        }
    }
}

impl Gaps {
    /// Text is missing behind `at` bytes of it; `bytes` of the file were passed over for good.
    pub fn lost(&mut self, at: u64, bytes: u64) {
        self.torn.add(at);
        self.bytes += bytes;
    }

    /// The text of a member that ends at `at` is not what was compressed.
    pub fn checksum(&mut self, at: u64) {
        self.wrong.add(at);
    }

    /// Tells of them.
    pub fn report(&self, source: Option<SourceId>, report: &mut ImportReport) {
        let (torn, wrong) = (&self.torn, &self.wrong);
        report.note_many(
            NoticeKind::Damaged.losing(Loss::Cut(Lost {
                bytes: Some(self.bytes),
                ..Lost::default()
            })),
            "damaged_parts",
            source,
            torn.count,
            &torn.places,
            || {
                format!(
                    "Parts of the compressed data are damaged ({} bytes of the file in all): what can be read of \
                     them and all that follows is shown, the rest of them is lost. Places are those of the text.",
                    format_count(self.bytes)
                )
            },
        );
        report.note_many(
            NoticeKind::Damaged,
            "bad_checksum",
            source,
            wrong.count,
            &wrong.places,
            || {
                "Parts of the compressed data do not match their checksums: some of what they hold may be wrong. \
                 Places are their ends in the text."
                    .to_owned()
            },
        );
    }
}

/// [`Gaps`] of a reader that somebody else has by now.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedGaps(Arc<Mutex<Gaps>>);

impl SharedGaps {
    /// Lets `f` see or change them.
    pub fn with<T>(&self, f: impl FnOnce(&mut Gaps) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Where a stream ended before its end, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Bytes (inflated) that could be read before it.
    pub offset: u64,
    /// Why.
    pub fault: Fault,
    /// The bytes are those of an inflated text.
    inflated: bool,
    /// What the system said.
    text: String,
}

impl Damage {
    /// What a reader's error means after `offset` bytes, which were inflated or are those of the file.
    pub fn new(error: &io::Error, offset: u64, inflated: bool) -> Self {
        Self {
            offset,
            fault: Fault::of(error, offset),
            inflated,
            text: error.to_string(),
        }
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        Place::Byte(self.offset)
    }

    /// True where more may have been written than was read.
    pub fn is_cut(&self) -> bool {
        matches!(
            self.fault,
            Fault::Early | Fault::Corrupt | Fault::Unreadable
        )
    }

    /// `byte 1,234 of its text`.
    fn at(&self) -> String {
        byte_of_text(self.offset, self.inflated)
    }

    /// What was wrong, as the beginning of a sentence.
    fn cause(&self) -> String {
        match self.fault {
            Fault::Early if self.inflated => {
                "The file ends early, inside its compressed data".to_owned()
            }
            Fault::Early => "The file ends early".to_owned(),
            Fault::Corrupt if self.offset == 0 => {
                "The compressed data is damaged from its start on".to_owned()
            }
            Fault::Corrupt => format!("The compressed data is damaged behind {}", self.at()),
            Fault::Checksum => "The content does not match its checksum".to_owned(),
            Fault::Trailing => format!("Something that is no gzip data follows {}", self.at()),
            Fault::Unreadable => format!("The file cannot be read to its end ({})", self.text),
        }
    }

    /// The notice about a file of which `shown` (`122 events`) could be read: kind, machine name, text. `cut` is the
    /// machine name where the file may hold more.
    pub fn notice(&self, cut: &'static str, shown: &str) -> (Fact, &'static str, String) {
        let (cause, at) = (self.cause(), self.at());
        match self.fault {
            Fault::Checksum => (
                NoticeKind::Damaged.into(),
                "bad_checksum",
                format!("{cause}: some of it may be wrong. Showing the {shown} before {at}."),
            ),
            Fault::Trailing => (
                NoticeKind::Skipped.into(),
                "trailing_data",
                format!("{cause}: it was not read. Showing the {shown} before it."),
            ),
            Fault::Corrupt => (
                NoticeKind::Damaged.losing(Loss::Cut(Lost::default())),
                cut,
                format!("{cause}. Showing the {shown} before that."),
            ),
            Fault::Early | Fault::Unreadable => (
                NoticeKind::Damaged.losing(Loss::Cut(Lost::default())),
                cut,
                format!("{cause}. Showing the {shown} before {at}."),
            ),
        }
    }

    /// Why nothing could be read at all.
    pub fn nothing(&self, what: &str) -> String {
        match self.offset {
            0 => format!("{}: no {what} can be read.", self.cause()),
            _ => format!("{}, and no {what} could be read before that.", self.cause()),
        }
    }
}

/// `byte 1,234`, or `byte 1,234 of its text` for compressed files, whose own bytes have other numbers.
pub(crate) fn byte_of_text(offset: u64, inflated: bool) -> String {
    let place = Place::Byte(offset);
    if inflated {
        format!("{place} of its text")
    } else {
        place.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use flate2::Compression;
    use flate2::bufread::MultiGzDecoder;
    use flate2::write::GzEncoder;

    use super::*;

    fn fault(bytes: &[u8]) -> Fault {
        let mut out = Vec::new();
        let error = MultiGzDecoder::new(bytes).read_to_end(&mut out);
        Fault::of(&error.expect_err("damaged"), out.len() as u64)
    }

    #[test]
    fn what_the_decoder_says_is_told_apart() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let text: Vec<u8> = (0..9_000_u32).map(|i| (i * i % 251) as u8).collect();
        encoder.write_all(&text).expect("memory");
        let whole = encoder.finish().expect("memory");
        let end = whole.len();
        assert_eq!(fault(&whole[..end - 300]), Fault::Early);
        assert_eq!(fault(&whole[..end - 3]), Fault::Early);
        let mut changed = whole.clone();
        changed[end - 8] ^= 1;
        assert_eq!(fault(&changed), Fault::Checksum);
        let mut changed = whole.clone();
        // A block of no known type.
        changed[10] = 0xff;
        assert_eq!(fault(&changed), Fault::Corrupt);
        let trailing = [whole.as_slice(), b"more text behind it"].concat();
        assert_eq!(fault(&trailing), Fault::Trailing);
        assert_eq!(
            fault(&[0x1f, 0x8b, 9, 0, 0, 0, 0, 0, 0, 0, 0]),
            Fault::Corrupt
        );
    }
}
