//! The span ids of one row, ascending, in little more than one byte each.

use super::span_tree::SpanList;
use crate::model::SpanId;

/// Ids per block.
const BLOCK: usize = 32;
/// Bits of [`Block::at`] that say how wide the offsets are.
const WIDTH_BITS: u32 = 2;

/// Ascending span ids.
#[derive(Debug)]
pub enum Ids {
    /// Consecutive ids: the row is the whole lane.
    Dense {
        /// The first of them.
        first: u32,
        /// How many.
        len: u32,
    },
    /// Ids with holes: per block of 32 a base and distances to it of 1, 2 or 4 bytes.
    Packed {
        /// One per 32 ids.
        blocks: Vec<Block>,
        /// The distances of all blocks.
        pool: Vec<u8>,
        /// How many ids.
        len: u32,
    },
}

/// Where the distances of 32 ids are.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    base: u32,
    /// Place in the pool in units of 32 bytes, and below it the width: 0 for 1 byte, 1 for 2, 2 for 4.
    at: u32,
}

impl Ids {
    /// From ascending ids.
    pub fn new(ids: &[u32]) -> Self {
        let len = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        match (ids.first(), ids.last()) {
            (Some(&first), Some(&last)) if last - first != len - 1 => Self::pack(ids, len),
            (Some(&first), _) => Self::Dense { first, len },
            _ => Self::Dense { first: 0, len: 0 },
        }
    }

    fn pack(ids: &[u32], len: u32) -> Self {
        let mut blocks = Vec::with_capacity(ids.len().div_ceil(BLOCK));
        let mut pool = Vec::new();
        for block in ids.chunks(BLOCK) {
            let base = block[0];
            let reach = block[block.len() - 1] - base;
            let width = match reach {
                0..=0xFF => 0,
                0x100..=0xFFFF => 1,
                _ => 2,
            };
            let unit = u32::try_from(pool.len() / BLOCK).unwrap_or(u32::MAX);
            blocks.push(Block {
                base,
                at: unit << WIDTH_BITS | width,
            });
            let bytes = 1 << width;
            for id in block {
                pool.extend_from_slice(&(id - base).to_le_bytes()[..bytes]);
            }
            pool.resize((unit as usize + bytes) * BLOCK, 0);
        }
        pool.shrink_to_fit();
        Self::Packed { blocks, pool, len }
    }
}

impl SpanList for Ids {
    fn len(&self) -> usize {
        match self {
            Self::Dense { len, .. } | Self::Packed { len, .. } => *len as usize,
        }
    }

    #[inline(always)]
    fn id(&self, i: usize) -> SpanId {
        match self {
            Self::Dense { first, .. } => SpanId(first + i as u32),
            Self::Packed { blocks, pool, .. } => {
                let block = blocks[i / BLOCK];
                let start = (block.at >> WIDTH_BITS) as usize * BLOCK;
                let i = i % BLOCK;
                let offset = match block.at & 3 {
                    0 => u32::from(pool[start + i]),
                    1 => {
                        let at = start + i * 2;
                        u32::from(u16::from_le_bytes([pool[at], pool[at + 1]]))
                    }
                    _ => {
                        let at = start + i * 4;
                        let bytes = [pool[at], pool[at + 1], pool[at + 2], pool[at + 3]];
                        u32::from_le_bytes(bytes)
                    }
                };
                SpanId(block.base + offset)
            }
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Dense { .. } => 0,
            Self::Packed { blocks, pool, .. } => {
                blocks.capacity() * size_of::<Block>() + pool.capacity()
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
        let back: Vec<u32> = (0..ids.len()).map(|i| packed.id(i).0).collect();
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
        check(&[0, u32::MAX]);
    }

    #[test]
    fn nested_lanes_take_little() {
        let ids: Vec<u32> = (0..100_000).map(|i| i * 4).collect();
        let bytes = Ids::new(&ids).heap_bytes();
        assert!(bytes <= ids.len() * 5 / 4 + 64, "{bytes}");
    }

    proptest! {
        #[test]
        fn any_ascending_ids_come_back(steps in proptest::collection::vec(1_u32..40_000, 0..300)) {
            let ids: Vec<u32> = steps.iter().scan(0, |at, s| { *at += s; Some(*at) }).collect();
            check(&ids);
            prop_assert!(Ids::new(&ids).heap_bytes() <= ids.len() * 5 + 200);
        }
    }
}
