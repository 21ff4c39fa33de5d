//! Finding quotes, backslashes and braces sixteen bytes at a time.
//!
//! The only module with `unsafe`: SSE2, which every x86-64 processor has, so that nothing has to be detected at run
//! time. Other processors use the byte loops, and tests hold the two equal.

#![cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "SSE2 intrinsics; loads are inside array references"
    )
)]

/// Objects nested deeper than this are not followed.
pub(crate) const MAX_DEPTH: u32 = 127;

/// Bytes per block of [`object_end`].
const BLOCK: usize = 64;

/// One bit per byte of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Masks {
    quotes: u64,
    backslashes: u64,
    opens: u64,
    closes: u64,
}

/// Position of the first quote or backslash at or behind `from`.
#[inline]
pub(crate) fn quote_or_backslash(w: &[u8], mut from: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    while let Some(bytes) = w.get(from..).and_then(|rest| rest.first_chunk::<16>()) {
        let found = sse2::quotes_or_backslashes(bytes);
        if found != 0 {
            return Some(from + found.trailing_zeros() as usize);
        }
        from += 16;
    }
    let rest = w.get(from..)?;
    let found = rest.iter().position(|b| matches!(b, b'"' | b'\\'))?;
    Some(from + found)
}

/// Position behind the object that opens at `start`, by matching braces outside strings; `None` where it does not end
/// in `w`, or is nested too deep.
#[inline]
pub(crate) fn object_end(w: &[u8], start: usize) -> Option<usize> {
    let mut pos = start;
    let mut depth = 0_u32;
    // All ones while inside a string; 1 while the first byte of the block is escaped.
    let (mut in_string, mut escaped) = (0_u64, 0_u64);
    while let Some(bytes) = w.get(pos..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
        let masks = masks(bytes);
        let plain = !escapes(masks.backslashes, &mut escaped);
        let inside = prefix_xor(masks.quotes & plain) ^ in_string;
        in_string = (inside.cast_signed() >> 63).cast_unsigned();
        let opens = masks.opens;
        let mut braces = (masks.opens | masks.closes) & plain & !inside;
        // Few blocks hold more than one or two.
        while braces != 0 {
            let bit = braces & braces.wrapping_neg();
            if opens & bit != 0 {
                depth += 1;
            } else {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(pos + bit.trailing_zeros() as usize + 1);
                }
            }
            braces ^= bit;
        }
        if depth > MAX_DEPTH {
            return None;
        }
        pos += BLOCK;
    }
    let state = Bytewise {
        depth,
        in_string: in_string != 0,
        escaped: escaped != 0,
    };
    state.object_end(w, pos)
}

/// The bytes that a backslash escapes. `carry` is 1 where the block before ended in an odd run of backslashes.
#[inline]
fn escapes(backslashes: u64, carry: &mut u64) -> u64 {
    if backslashes == 0 {
        return std::mem::take(carry);
    }
    let mut escaped = *carry;
    let mut rest = backslashes & !*carry;
    *carry = 0;
    while rest != 0 {
        let bit = rest & rest.wrapping_neg();
        let next = bit << 1;
        if next == 0 {
            *carry = 1;
        }
        escaped |= next;
        // An escaped backslash escapes nothing.
        rest &= !(bit | next);
    }
    escaped
}

/// Each bit becomes the parity of itself and all lower ones.
#[inline]
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[inline]
fn masks(bytes: &[u8; BLOCK]) -> Masks {
    #[cfg(target_arch = "x86_64")]
    return sse2::masks(bytes);
    #[cfg(not(target_arch = "x86_64"))]
    return masks_bytewise(bytes);
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn masks_bytewise(bytes: &[u8; BLOCK]) -> Masks {
    let mask = |wanted: u8| {
        let bits = bytes.iter().enumerate();
        bits.fold(0, |m, (i, &b)| m | u64::from(b == wanted) << i)
    };
    Masks {
        quotes: mask(b'"'),
        backslashes: mask(b'\\'),
        opens: mask(b'{'),
        closes: mask(b'}'),
    }
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };

    use super::{BLOCK, Masks};

    #[inline]
    fn load(bytes: &[u8; 16]) -> __m128i {
        // SAFETY: SSE2 is part of x86-64, and the unaligned load stays inside the array.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[inline]
    pub(crate) fn quotes_or_backslashes(bytes: &[u8; 16]) -> u32 {
        let x = load(bytes);
        // SAFETY: SSE2 is part of x86-64.
        let found = unsafe {
            let quotes = _mm_cmpeq_epi8(x, _mm_set1_epi8(b'"'.cast_signed()));
            let backslashes = _mm_cmpeq_epi8(x, _mm_set1_epi8(b'\\'.cast_signed()));
            _mm_movemask_epi8(_mm_or_si128(quotes, backslashes))
        };
        found.cast_unsigned()
    }

    #[inline]
    pub(crate) fn masks(bytes: &[u8; BLOCK]) -> Masks {
        let (parts, _) = bytes.as_chunks::<16>();
        let mut masks = Masks {
            quotes: 0,
            backslashes: 0,
            opens: 0,
            closes: 0,
        };
        for (i, part) in parts.iter().enumerate() {
            let x = load(part);
            let mask = |wanted: u8| {
                // SAFETY: SSE2 is part of x86-64.
                let found = unsafe {
                    _mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8(wanted.cast_signed())))
                };
                u64::from(found.cast_unsigned()) << (16 * i)
            };
            masks.quotes |= mask(b'"');
            masks.backslashes |= mask(b'\\');
            masks.opens |= mask(b'{');
            masks.closes |= mask(b'}');
        }
        masks
    }
}

/// The state of matching braces byte by byte.
struct Bytewise {
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl Bytewise {
    fn object_end(mut self, w: &[u8], from: usize) -> Option<usize> {
        for (i, &b) in w.get(from..)?.iter().enumerate() {
            if self.escaped {
                self.escaped = false;
                continue;
            }
            match b {
                // Backslashes outside strings escape as well: the wide loop cannot tell, and JSON has none.
                b'\\' => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' if !self.in_string => self.depth += 1,
                b'}' if !self.in_string => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(from + i + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytewise(w: &[u8], start: usize) -> Option<usize> {
        let state = Bytewise {
            depth: 0,
            in_string: false,
            escaped: false,
        };
        state.object_end(w, start)
    }

    #[test]
    fn objects_end_at_their_brace() {
        let text = br#"{"a":{"b":"}\"}\\"},"c":[{}]} , {"x":1}"#;
        assert_eq!(object_end(text, 0), Some(29));
        let mut long = b"{\"k\":\"".to_vec();
        long.extend(std::iter::repeat_n(b'}', 200));
        long.extend(b"\"}x");
        assert_eq!(object_end(&long, 0), Some(long.len() - 1));
        assert_eq!(object_end(b"{{}", 0), None);
    }

    proptest! {
        #[test]
        fn the_wide_loops_equal_the_byte_loops(
            text in proptest::collection::vec(
                prop_oneof![Just(b'"'), Just(b'\\'), Just(b'{'), Just(b'}'), Just(b'a'), any::<u8>()],
                0..300,
            ),
            start in 0_usize..20,
        ) {
            // An object opens with its brace; what lies before does not matter.
            let mut text = text;
            text.insert(start.min(text.len()), b'{');
            let start = start.min(text.len() - 1);
            prop_assert_eq!(object_end(&text, start), bytewise(&text, start));
            for from in 0..text.len() {
                let plain = text[from..].iter().position(|b| matches!(b, b'"' | b'\\'));
                prop_assert_eq!(quote_or_backslash(&text, from), plain.map(|i| from + i));
            }
            if let Some(block) = text.first_chunk::<BLOCK>() {
                prop_assert_eq!(masks(block), masks_bytewise(block));
            }
        }
    }
}
