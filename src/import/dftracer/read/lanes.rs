//! (pid, tid) to lane numbers, as a stretch of a file meets them.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::token::Token;

/// A lane as the file names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaneKey {
    pub pid: String,
    pub tid: String,
    /// Device of torch.profiler rows; 0 = CPU.
    pub device: i64,
    /// Host name, or hash of one (true).
    pub host: Option<(bool, String)>,
    /// Its first record is the child's copy of a fork.
    pub forked: bool,
}

/// Lanes in order of first appearance.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lanes {
    lanes: Vec<LaneKey>,
    index: HashTable<u32>,
    last: u32,
}

impl Lanes {
    /// The number of a lane; `make` is called for a new one. The same value as text or number is the same lane.
    pub fn find(
        &mut self,
        pid: Token<'_>,
        tid: Token<'_>,
        device: i64,
        make: impl FnOnce() -> LaneKey,
    ) -> u32 {
        let equal = |lane: &LaneKey| {
            lane.tid.as_bytes() == tid.bytes
                && lane.pid.as_bytes() == pid.bytes
                && lane.device == device
        };
        if self.lanes.get(self.last as usize).is_some_and(equal) {
            return self.last;
        }
        let hash = FxBuildHasher.hash_one((pid.bytes, tid.bytes, device));
        let lanes = &self.lanes;
        if let Some(&id) = self.index.find(hash, |&id| equal(&lanes[id as usize])) {
            self.last = id;
            return id;
        }
        // Escaped or invalid texts do not equal their bytes: they are found by their final text.
        let lane = make();
        let hash_of =
            |l: &LaneKey| FxBuildHasher.hash_one((l.pid.as_bytes(), l.tid.as_bytes(), l.device));
        let hash = hash_of(&lane);
        let same = |l: &LaneKey| l.pid == lane.pid && l.tid == lane.tid && l.device == lane.device;
        let found = self.index.find(hash, |&id| same(&lanes[id as usize]));
        self.last = if let Some(&id) = found {
            id
        } else {
            let id = u32::try_from(lanes.len()).unwrap_or(u32::MAX);
            self.lanes.push(lane);
            let lanes = &self.lanes;
            self.index
                .insert_unique(hash, id, |&id| hash_of(&lanes[id as usize]));
            id
        };
        self.last
    }

    /// Says that a lane begins with the child's copy of a fork.
    pub fn mark_forked(&mut self, lane: u32) {
        self.lanes[lane as usize].forked = true;
    }

    /// All lanes.
    pub fn iter(&self) -> impl Iterator<Item = &LaneKey> {
        self.lanes.iter()
    }
}
