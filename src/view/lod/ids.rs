//! The span ids of one row, ascending, in about two bytes each.

use crate::model::SpanId;

/// Ids per block.
const BLOCK: usize = 32;

/// Ascending span ids.
pub(super) enum Ids {
    /// Consecutive ids: the row is the whole lane.
    Dense { first: u32, len: u32 },
    /// Ids with holes: a base per block of 32 and 16-bit distances to it.
    Packed {
        base: Vec<u32>,
        offset: Vec<u16>,
        /// Blocks that reach further than 16 bits, by block number: their ids as they are.
        wide: Vec<(u32, [u32; BLOCK])>,
    },
}

/// Marks a block whose ids are in `wide`. No id can be the base of a block and this: it is the last possible one.
const IS_WIDE: u32 = u32::MAX;

impl Ids {
    /// From ascending ids.
    pub fn new(ids: &[u32]) -> Self {
        let len = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        match (ids.first(), ids.last()) {
            (Some(&first), Some(&last)) if last - first + 1 != len => Self::pack(ids),
            (Some(&first), _) => Self::Dense { first, len },
            _ => Self::Dense { first: 0, len: 0 },
        }
    }

    fn pack(ids: &[u32]) -> Self {
        let mut base = Vec::with_capacity(ids.len().div_ceil(BLOCK));
        let mut offset = Vec::with_capacity(ids.len());
        let mut wide = Vec::new();
        for (number, block) in ids.chunks(BLOCK).enumerate() {
            let first = block[0];
            let reach = block[block.len() - 1] - first;
            if reach > u32::from(u16::MAX) {
                let mut all = [0; BLOCK];
                all[..block.len()].copy_from_slice(block);
                wide.push((u32::try_from(number).unwrap_or(u32::MAX), all));
                base.push(IS_WIDE);
                offset.extend(block.iter().map(|_| 0));
            } else {
                base.push(first);
                offset.extend(
                    block
                        .iter()
                        .map(|id| u16::try_from(id - first).unwrap_or(0)),
                );
            }
        }
        wide.shrink_to_fit();
        Self::Packed { base, offset, wide }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Dense { len, .. } => *len as usize,
            Self::Packed { offset, .. } => offset.len(),
        }
    }

    #[inline]
    pub fn get(&self, i: usize) -> SpanId {
        match self {
            Self::Dense { first, .. } => SpanId(first + u32::try_from(i).unwrap_or(0)),
            Self::Packed { base, offset, wide } => {
                let block = i / BLOCK;
                if base[block] != IS_WIDE {
                    return SpanId(base[block] + u32::from(offset[i]));
                }
                let at = wide.partition_point(|w| (w.0 as usize) < block);
                SpanId(wide[at].1[i % BLOCK])
            }
        }
    }

    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Dense { .. } => 0,
            Self::Packed { base, offset, wide } => {
                base.capacity() * 4
                    + offset.capacity() * 2
                    + wide.capacity() * size_of::<(u32, [u32; BLOCK])>()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(ids: &[u32]) {
        let packed = Ids::new(ids);
        assert_eq!(packed.len(), ids.len());
        let back: Vec<u32> = (0..ids.len()).map(|i| packed.get(i).0).collect();
        assert_eq!(back, ids);
    }

    #[test]
    fn dense_sparse_and_wide_ids_come_back() {
        check(&[]);
        check(&[7]);
        check(&(5..500).collect::<Vec<_>>());
        check(&(0..500).map(|i| i * 3).collect::<Vec<_>>());
        check(&(0..90).map(|i| i * 70_000).collect::<Vec<_>>());
        check(&[1, u32::MAX]);
    }

    proptest! {
        #[test]
        fn any_ascending_ids_come_back(steps in proptest::collection::vec(1_u32..40_000, 0..300)) {
            let ids: Vec<u32> = steps.iter().scan(0, |at, s| { *at += s; Some(*at) }).collect();
            check(&ids);
            let packed = Ids::new(&ids);
            prop_assert!(packed.heap_bytes() <= ids.len() * 7 + 200);
        }
    }
}
