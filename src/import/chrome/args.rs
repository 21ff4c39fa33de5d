//! The few args that are needed during import; everything else in `args` stays in the file.

use super::chunk::Extra;
use super::event::{Parser, Scalar};
use super::number;
use super::scan::{Fail, Scan, byte, repaired_end, skip_ws, string_end};
use super::tally::Odd;
use crate::model::CopyKind;

/// Args of a GPU row or an API call, as written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawExtra<'w> {
    /// Correlation id.
    pub correlation: Scalar<'w>,
    /// GPU.
    pub device: Scalar<'w>,
    /// Stream.
    pub stream: Scalar<'w>,
    /// Bytes moved.
    pub bytes: Scalar<'w>,
    /// Direction of a copy.
    pub kind: Scalar<'w>,
    /// Stream of an event that was waited for.
    pub wait_on_stream: Scalar<'w>,
    /// Correlation of the call that recorded it.
    pub record_correlation: Scalar<'w>,
}

/// Walks the keys of the object at `pos`; `value` gets each key and the position of its value, and returns the
/// position behind it.
pub(super) fn each<'w, 'c>(
    parser: &mut Parser<'w, 'c>,
    pos: usize,
    mut value: impl FnMut(&mut Parser<'w, 'c>, &'w [u8], usize) -> Scan,
) -> Scan {
    let w = parser.w;
    let mut pos = pos + 1;
    let mut after_comma = false;
    loop {
        pos = skip_ws(w, pos);
        match byte(w, pos)? {
            b'"' => {}
            b'}' => {
                if after_comma {
                    parser.chunk.tally.add(Odd::Comma, parser.at + pos as u64);
                }
                return Ok(pos + 1);
            }
            _ => return Err(Fail::Broken(pos)),
        }
        let end = string_end(w, pos)?;
        let colon = skip_ws(w, end + 1);
        if byte(w, colon)? != b':' {
            return Err(Fail::Broken(colon));
        }
        let start = skip_ws(w, colon + 1);
        let mut behind = value(parser, &w[pos + 1..end], start)?;
        let mut next = skip_ws(w, behind);
        if !matches!(byte(w, next)?, b',' | b'}') && w[start] == b'"' {
            behind = repaired_end(w, start)? + 1;
            parser.chunk.tally.add(Odd::Quote, parser.at + start as u64);
            next = skip_ws(w, behind);
        }
        match byte(w, next)? {
            b',' => (pos, after_comma) = (next + 1, true),
            b'}' => (pos, after_comma) = (next, false),
            _ => return Err(Fail::Broken(next)),
        }
    }
}

/// Reads the args object at `pos`.
pub(super) fn read<'w>(parser: &mut Parser<'w, '_>, pos: usize, extra: &mut RawExtra<'w>) -> Scan {
    each(parser, pos, |parser, key, value| {
        let slot = match key {
            b"correlation" => &mut extra.correlation,
            b"device" => &mut extra.device,
            b"stream" => &mut extra.stream,
            b"bytes" => &mut extra.bytes,
            b"kind" => &mut extra.kind,
            b"wait_on_stream" => &mut extra.wait_on_stream,
            b"wait_on_cuda_event_record_corr_id" => &mut extra.record_correlation,
            _ => return parser.skip(value),
        };
        parser.scalar(value, slot)
    })
}

impl RawExtra<'_> {
    /// The args as numbers.
    pub fn resolve(&self, name: &[u8]) -> Extra {
        let int = |s: Scalar<'_>| match s {
            Scalar::Int(i) => Some(i),
            _ => None,
        };
        let kind = match self.kind {
            Scalar::Text(text) => direction(text),
            _ => None,
        };
        Extra {
            correlation: int(self.correlation).filter(|&c| c > 0),
            bytes: int(self.bytes).filter(|&b| b >= 0),
            copy: direction(name).or(kind),
            wait_on_stream: int(self.wait_on_stream),
            record_correlation: int(self.record_correlation).filter(|&c| c > 0),
        }
    }
}

/// The number of a device or stream: a whole number, or the first one in a text (`stream 7`).
pub(super) fn number_in(scalar: Scalar<'_>) -> Option<i64> {
    match scalar {
        Scalar::Missing => None,
        Scalar::Int(i) => Some(i),
        Scalar::Text(text) => {
            let start = text.iter().position(u8::is_ascii_digit)?;
            let digits = &text[start..];
            let len = digits
                .iter()
                .position(|b| !b.is_ascii_digit())
                .unwrap_or(digits.len());
            number::integer(&digits[..len])
        }
    }
}

/// The direction of a copy from its name (`Memcpy HtoD (Pinned -> Device)`) or kind.
fn direction(text: &[u8]) -> Option<CopyKind> {
    const DIRECTIONS: [(&[u8], CopyKind); 8] = [
        (b"HtoD", CopyKind::HostToDevice),
        (b"HostToDevice", CopyKind::HostToDevice),
        (b"DtoH", CopyKind::DeviceToHost),
        (b"DeviceToHost", CopyKind::DeviceToHost),
        (b"DtoD", CopyKind::DeviceToDevice),
        (b"DeviceToDevice", CopyKind::DeviceToDevice),
        (b"PtoP", CopyKind::PeerToPeer),
        (b"HtoH", CopyKind::HostToHost),
    ];
    DIRECTIONS
        .iter()
        .find(|(word, _)| memchr::memmem::find(text, word).is_some())
        .map(|&(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_numbers_in_texts() {
        assert_eq!(number_in(Scalar::Text(b"stream 7 ")), Some(7));
        assert_eq!(number_in(Scalar::Int(-1)), Some(-1));
        assert_eq!(number_in(Scalar::Text(b"default")), None);
    }

    #[test]
    fn directions_are_found_in_names() {
        let kind = direction(b"Memcpy HtoD (Pinned -> Device)");
        assert_eq!(kind, Some(CopyKind::HostToDevice));
        assert_eq!(direction(b"CopyDeviceToHost"), Some(CopyKind::DeviceToHost));
        assert_eq!(direction(b"Memset (Device)"), None);
    }
}
