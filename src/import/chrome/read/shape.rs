//! How the events of a file are laid out, learned while reading them.
//!
//! A tracer writes the same bytes between two values in nearly all of its events: `,\n    "ts": `. They are remembered
//! by the place before them and compared as a whole, so that most keys cost three word comparisons instead of a scan.
//! Whatever does not match is scanned as usual: what is read never depends on what was learned.

/// Longest text between two values that is remembered.
const ROOM: usize = 40;

/// Words of that.
const WORDS: usize = ROOM / 8;

/// Words that are compared at once; longer gaps are rare.
const FIRST: usize = 3;

/// The bytes between two values, and which key is among them.
#[derive(Clone, Copy, Debug)]
struct Gap {
    words: [u64; WORDS],
    masks: [u64; WORDS],
    len: u8,
    key: u8,
}

impl Gap {
    const NONE: Self = Self {
        // Bits outside the mask never compare equal.
        words: [1; WORDS],
        masks: [0; WORDS],
        len: 0,
        key: 0,
    };

    #[inline]
    fn matches(&self, text: &[u64; WORDS]) -> bool {
        let differs = |i: usize| (text[i] & self.masks[i]) ^ self.words[i];
        let first = (0..FIRST).fold(0, |d, i| d | differs(i));
        first == 0
            && (usize::from(self.len) <= 8 * FIRST
                || (FIRST..WORDS).fold(0, |d, i| d | differs(i)) == 0)
    }
}

/// The layout learned so far: two gaps in each of `N` places.
#[derive(Clone, Debug)]
pub(crate) struct Shape<const N: usize> {
    gaps: [[Gap; 2]; N],
}

impl<const N: usize> Default for Shape<N> {
    fn default() -> Self {
        Self {
            gaps: [[Gap::NONE; 2]; N],
        }
    }
}

#[inline]
fn words(w: &[u8], pos: usize) -> Option<[u64; WORDS]> {
    let bytes = w.get(pos..)?.first_chunk::<ROOM>()?;
    let (parts, _) = bytes.as_chunks::<8>();
    let mut words = [0; WORDS];
    for (word, part) in words.iter_mut().zip(parts) {
        *word = u64::from_le_bytes(*part);
    }
    Some(words)
}

impl<const N: usize> Shape<N> {
    /// The key that follows in `place` behind the value that ended at `pos`, and the position behind the gap.
    #[inline]
    pub fn next(&self, place: usize, w: &[u8], pos: usize) -> Option<(u8, usize)> {
        let text = words(w, pos)?;
        let gaps = self.gaps.get(place)?;
        let gap = if gaps[0].matches(&text) {
            &gaps[0]
        } else if gaps[1].matches(&text) {
            &gaps[1]
        } else {
            return None;
        };
        Some((gap.key, pos + usize::from(gap.len)))
    }

    /// Remembers the gap in `place` between the value that ended at `pos` and the value of `key` at `value`.
    pub fn learn(&mut self, place: usize, key: u8, w: &[u8], pos: usize, value: usize) {
        let (Some(text), Some(gaps)) = (words(w, pos), self.gaps.get_mut(place)) else {
            return;
        };
        let len = match u8::try_from(value - pos) {
            Ok(len @ 1..) if usize::from(len) <= ROOM => len,
            _ => return,
        };
        let mut gap = Gap {
            words: text,
            masks: [0; WORDS],
            len,
            key,
        };
        for (i, (word, mask)) in gap.words.iter_mut().zip(&mut gap.masks).enumerate() {
            *mask = match usize::from(len).saturating_sub(8 * i).min(8) {
                0 => 0,
                n => u64::MAX >> (64 - 8 * n),
            };
            *word &= *mask;
        }
        gaps[1] = gaps[0];
        gaps[0] = gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_recognised_once_it_was_seen() {
        let w = b"1,\n    \"ts\": 55.5, \"dur\": 3, and more text behind it";
        let mut shape = Shape::<4>::default();
        assert_eq!(shape.next(2, w, 1), None);
        shape.learn(2, 7, w, 1, 13);
        assert_eq!(shape.next(2, w, 1), Some((7, 13)));
        assert_eq!(shape.next(3, w, 1), None);
        let other = b"1,\n    \"tt\": 55.5, \"dur\": 3, and more text behind it";
        assert_eq!(shape.next(2, other, 1), None);
        // The one before stays known; longer ones than fit are not learned.
        shape.learn(2, 8, other, 1, 40);
        shape.learn(2, 9, other, 1, 50);
        assert_eq!(shape.next(2, w, 1), Some((7, 13)));
        assert_eq!(shape.next(2, other, 1), Some((8, 40)));
        assert_eq!(shape.next(9, w, 1), None);
    }

    #[test]
    fn nothing_matches_before_anything_was_learned() {
        let shape = Shape::<1>::default();
        for byte in [0, 1] {
            assert_eq!(shape.next(0, &[byte; 50], 0), None);
        }
    }
}
