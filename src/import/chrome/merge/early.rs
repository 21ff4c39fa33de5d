//! What is known of a file before its first event.

use crate::import::chrome::read::chunk::Chunk;
use crate::import::chrome::tally::{Odd, Tally};

/// What was counted of a file that has given no event yet.
#[derive(Default)]
pub(crate) struct Early {
    /// Oddities.
    pub tally: Tally,
    /// Elements, none of which is an object.
    pub events: u64,
    /// The text ends inside an event.
    pub cut_off: bool,
    /// How the first stretch begins that is no event.
    pub broken: Vec<u8>,
}

impl Early {
    /// Counts what a chunk without events holds. `w` is the window it was read from, at offset `at`.
    pub fn take(&mut self, chunk: &mut Chunk, w: &[u8], at: u64) {
        /// Enough to see how texts are quoted.
        const SHOWN: usize = 64;
        if self.tally.count(Odd::Broken) == 0
            && let Some(first) = chunk.tally.first(Odd::Broken)
        {
            let from = usize::try_from(first - at).unwrap_or(usize::MAX);
            let rest = w.get(from..).unwrap_or_default();
            self.broken = rest[..rest.len().min(SHOWN)].to_vec();
        }
        self.events += chunk.events;
        self.cut_off |= chunk.cut_off;
        self.tally.take(&mut chunk.tally);
    }
}
