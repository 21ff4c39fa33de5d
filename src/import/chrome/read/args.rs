//! The few args that are needed during import; everything else in `args` stays in the file.

use super::category::Class;
use super::chunk::Extra;
use super::key::{ARG_PLACES, Arg, END};
use super::parser::{Parser, Scalar};
use super::scan::Scan;
use crate::import::chrome::tally::Odd;
use crate::import::text::decimal;
use crate::model::CopyKind;

/// Args of a GPU row or an API call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawExtra {
    /// What the model needs.
    pub extra: Extra,
    /// GPU.
    pub device: Option<i64>,
    /// Stream.
    pub stream: Option<i64>,
}

/// Walks the keys of the object at `pos`; `value` gets each key and the position of its value, and returns the
/// position behind it.
pub(crate) fn each<'w, 'c>(
    parser: &mut Parser<'w, 'c>,
    pos: usize,
    mut value: impl FnMut(&mut Parser<'w, 'c>, &'w [u8], usize) -> Scan,
) -> Scan {
    let (mut before, mut end, mut first) = (pos, pos + 1, true);
    loop {
        let found = parser.follow(first, before, end)?;
        let Some(key) = found.key else {
            return Ok(found.value);
        };
        end = value(parser, key, found.value)?;
        (before, first) = (found.value, false);
    }
}

/// Reads the args object at `pos`.
pub(crate) fn read(
    parser: &mut Parser<'_, '_>,
    class: Class,
    pos: usize,
    raw: &mut RawExtra,
) -> Scan {
    let shape_of = match class {
        Class::Api => 0,
        Class::Kernel => 1,
        Class::Memcpy => 2,
        Class::Memset => 3,
        _ => 4,
    };
    let (mut before, mut end) = (pos, pos + 1);
    let mut number = 0;
    loop {
        let place = if number < ARG_PLACES {
            shape_of * ARG_PLACES + number
        } else {
            usize::MAX
        };
        let (arg, value) = match parser.chunk.args_shape.next(place, parser.w, end) {
            Some((END, behind)) => return Ok(behind),
            Some((arg, value)) if !parser.starts_blank(value) => {
                (Arg::ALL[usize::from(arg)], value)
            }
            _ => {
                let found = parser.follow(number == 0, before, end)?;
                let arg = found.key.map(Arg::of);
                if found.clean {
                    let key = arg.map_or(END, |arg| arg as u8);
                    let shape = &mut parser.chunk.args_shape;
                    shape.learn(place, key, parser.w, end, found.value);
                }
                match arg {
                    Some(arg) => (arg, found.value),
                    None => return Ok(found.value),
                }
            }
        };
        end = if arg == Arg::Other {
            parser.skip(value)?
        } else {
            take(parser, class, arg, value, raw)?
        };
        before = value;
        number += 1;
    }
}

fn take(
    parser: &mut Parser<'_, '_>,
    class: Class,
    arg: Arg,
    value: usize,
    raw: &mut RawExtra,
) -> Scan {
    let mut scalar = Scalar::Missing;
    let end = parser.scalar(value, &mut scalar)?;
    let int = match scalar {
        Scalar::Int(i) => Some(i),
        _ => None,
    };
    match arg {
        Arg::Correlation => raw.extra.correlation = int.filter(|&c| c > 0),
        Arg::Device | Arg::Stream => {
            let number = number_in(scalar);
            if number.is_none() && scalar != Scalar::Missing && class.is_gpu() {
                let offset = parser.at + value as u64;
                parser.chunk.tally.add(Odd::GpuNumber, offset);
            }
            match arg {
                Arg::Device => raw.device = number,
                _ => raw.stream = number,
            }
        }
        Arg::Bytes => raw.extra.bytes = int.filter(|&b| b >= 0),
        Arg::Kind => {
            if let Scalar::Text(text) = scalar {
                raw.extra.copy = direction(text);
            }
        }
        Arg::WaitOnStream => raw.extra.wait_on_stream = int,
        Arg::RecordCorrelation => {
            raw.extra.record_correlation = int.filter(|&c| c > 0);
        }
        Arg::Rank => raw.extra.rank = int.filter(|&r| r >= 0),
        Arg::Other => {}
    }
    Ok(end)
}

/// The number of a device or stream: a whole number, or the first one behind a word (`stream 7`). Other numbers
/// (`1.5`) and lists are none.
pub(crate) fn number_in(scalar: Scalar<'_>) -> Option<i64> {
    match scalar {
        Scalar::Missing => None,
        Scalar::Int(i) => Some(i),
        Scalar::Text(text) => {
            let word = text.trim_ascii_start().first()?;
            if matches!(word, b'0'..=b'9' | b'.' | b'+' | b'-' | b'[' | b'{') {
                return None;
            }
            let start = text.iter().position(u8::is_ascii_digit)?;
            let digits = &text[start..];
            let len = digits
                .iter()
                .position(|b| !b.is_ascii_digit())
                .unwrap_or(digits.len());
            decimal::integer(&digits[..len])
        }
    }
}

/// The direction of a copy from its name (`Memcpy HtoD (Pinned -> Device)`) or kind.
pub(crate) fn direction(text: &[u8]) -> Option<CopyKind> {
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
        for none in [
            "default",
            "5e-4",
            "1.5",
            ".5",
            "-1.5",
            "[7]",
            "99999999999999999999",
        ] {
            assert_eq!(number_in(Scalar::Text(none.as_bytes())), None, "{none}");
        }
    }

    #[test]
    fn directions_are_found_in_names() {
        let kind = direction(b"Memcpy HtoD (Pinned -> Device)");
        assert_eq!(kind, Some(CopyKind::HostToDevice));
        assert_eq!(direction(b"CopyDeviceToHost"), Some(CopyKind::DeviceToHost));
        assert_eq!(direction(b"Memset (Device)"), None);
    }
}
