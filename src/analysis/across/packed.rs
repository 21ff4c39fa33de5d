//! Lists of times of which most are zero, in few bytes each.

use crate::analysis::verdict::late_parts::PartTimes;

/// Lists of times that are not negative: which of them are there, then those in groups of seven bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::analysis) struct Packed {
    bytes: Vec<u8>,
    /// Where each list begins.
    starts: Vec<u32>,
}

impl Packed {
    /// Adds a list. Of a rank there are fewer than 2³² bytes: its spans are counted in 32 bits, its operations far fewer.
    pub fn push(&mut self, times: &PartTimes) {
        self.starts
            .push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
        let there = |i: usize| u16::from(times[i] > 0) << i;
        let mask: u16 = (0..times.len()).map(there).sum();
        self.bytes.extend(mask.to_le_bytes());
        for &time in times.iter().filter(|t| **t > 0) {
            let mut rest = time.unsigned_abs();
            while rest >= 0x80 {
                self.bytes.push((rest & 0x7f) as u8 | 0x80);
                rest >>= 7;
            }
            self.bytes.push(rest as u8);
        }
    }

    /// A list by its place; zeros where there is none.
    pub fn get(&self, at: usize) -> PartTimes {
        let mut out = PartTimes::default();
        let start = self.starts.get(at).map_or(usize::MAX, |&s| s as usize);
        let Some([low, high, rest @ ..]) = self.bytes.get(start..) else {
            return out;
        };
        let mask = u16::from_le_bytes([*low, *high]);
        let mut bytes = rest.iter();
        for (i, slot) in out.iter_mut().enumerate() {
            if mask & (1 << i) == 0 {
                continue;
            }
            for shift in (0..i64::BITS).step_by(7) {
                let byte = bytes.next().copied().unwrap_or(0);
                *slot |= i64::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    break;
                }
            }
        }
        out
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + 4 * self.starts.capacity()
    }

    /// Gives back what was set aside for more.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.starts.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_packed_comes_back(lists in prop::collection::vec(
            prop::array::uniform16(prop_oneof![Just(0), 0..1_000_000_i64, 0..=i64::MAX]), 0..6,
        )) {
            let mut packed = Packed::default();
            for list in &lists {
                packed.push(list);
            }
            for (i, list) in lists.iter().enumerate() {
                prop_assert_eq!(&packed.get(i), list);
            }
            prop_assert_eq!(packed.get(lists.len()), PartTimes::default());
        }
    }

    #[test]
    fn three_usual_times_take_little_room() {
        let mut packed = Packed::default();
        let mut times = PartTimes::default();
        (times[0], times[3], times[11]) = (60_000_000, 2_000_000, 40_000);
        packed.push(&times);
        assert!(packed.bytes.len() <= 14, "{}", packed.bytes.len());
    }
}
