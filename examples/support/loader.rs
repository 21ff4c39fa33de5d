//! The data loader: worker processes that load ahead, in order, as PyTorch's does.

use std::collections::VecDeque;

use super::model::{BatchLoad, Config, Item, Rng, Span};

/// Time between two entries of the loader's own code.
const OVERHEAD: i64 = 40_000;

/// One rank's data loader during one epoch.
pub struct Loader {
    config: Config,
    rng: Rng,
    /// When each worker can take its next batch.
    free_at: Vec<i64>,
    /// Batches handed to workers and not fetched yet, in order.
    ahead: VecDeque<BatchLoad>,
    /// Batches handed out in this epoch.
    handed_out: u64,
    next_file: u64,
}

impl Loader {
    pub fn new(config: &Config, rank: u32) -> Self {
        Self {
            config: config.clone(),
            rng: Rng::new(config.seed ^ (u64::from(rank) + 1).wrapping_mul(0x5851_f42d_4c95_7f2d)),
            free_at: Vec::new(),
            ahead: VecDeque::new(),
            handed_out: 0,
            next_file: 0,
        }
    }

    /// Starts the workers of an epoch and gives each of them its first batches.
    pub fn start_epoch(&mut self, now: i64) {
        self.handed_out = 0;
        self.ahead.clear();
        if !self.config.twists.persistent || self.free_at.is_empty() {
            self.free_at.clear();
            for _worker in 0..self.config.workers {
                let started = now + self.rng.around(self.config.startup, 200);
                self.free_at.push(started);
            }
        }
        for _batch in 0..u64::from(self.config.workers * self.config.prefetch) {
            self.hand_out(now);
        }
    }

    fn hand_out(&mut self, now: i64) {
        if self.handed_out >= self.config.epoch_steps {
            return;
        }
        let worker = u32::try_from(self.handed_out % u64::from(self.config.workers)).unwrap_or(0);
        self.handed_out += 1;
        let slot = worker as usize;
        let start = self.free_at[slot].max(now + OVERHEAD);
        let load = self.load(Some(worker), start);
        self.free_at[slot] = load.handover.end;
        self.ahead.push_back(load);
    }

    fn load(&mut self, worker: Option<u32>, start: i64) -> BatchLoad {
        let mut at = start;
        let mut items = Vec::new();
        for _sample in 0..self.config.batch {
            let item = self.item(at, worker);
            at = item.at.end + OVERHEAD;
            items.push(item);
        }
        let end = at + self.rng.around(self.config.handover, 150) + self.config.twists.collate;
        BatchLoad {
            worker,
            items,
            handover: Span::new(at, end),
        }
    }

    fn item(&mut self, start: i64, worker: Option<u32>) -> Item {
        let mut dur = self.rng.around(self.config.item, 150);
        // One sample in fifty is far larger than the others.
        if self.rng.below(50) == 0 {
            dur = dur * 5 / 2;
        }
        let twists = &self.config.twists;
        let file = twists
            .files
            .map_or(self.next_file, |n| self.next_file % n.max(1));
        let slow = twists.slow_worker.filter(|s| Some(s.0) == worker);
        dur += slow.map_or(0, |s| s.1);
        let slow = twists.slow_item.filter(|e| e.hits(self.next_file));
        dur += slow.map_or(0, |e| e.ns);
        let slow_read = twists.slow_file.filter(|s| s.0 == file).map_or(0, |s| s.1);
        let reads = i64::from(self.config.reads);
        let slot = dur * 9 / 10 / reads.max(1) + slow_read / reads.max(1);
        let read = dur / 6 / reads.max(1);
        let longer = slow_read * 7 / 10 / reads.max(1);
        dur += slow_read;
        let reads = (0..reads)
            .map(|i| {
                let s = start + i * slot + slot / 4;
                Span::new(s, s + self.rng.around(read, 300) + longer)
            })
            .collect();
        self.next_file += 1;
        Item {
            at: Span::new(start, start + dur),
            file,
            reads,
            augment: Span::new(start + dur * 19 / 20, start + dur * 99 / 100),
        }
    }

    /// The time in which the loop is blocked when it asks for a batch at `now`, and how that batch was loaded.
    pub fn fetch(&mut self, now: i64) -> (Span, BatchLoad) {
        if self.config.workers == 0 {
            let load = self.load(None, now + OVERHEAD / 2);
            return (Span::new(now, load.handover.end + OVERHEAD / 2), load);
        }
        let load = self
            .ahead
            .pop_front()
            .expect("epochs end before their batches do");
        let got = (now + OVERHEAD).max(load.handover.end) + self.rng.around(OVERHEAD, 300);
        self.hand_out(got);
        (Span::new(now, got), load)
    }

    /// The request that ends an epoch: the workers are joined.
    pub fn exhaust(&mut self, now: i64) -> Span {
        let join = if self.config.workers == 0 {
            12_000
        } else if self.config.twists.persistent {
            90_000
        } else {
            4_300_000
        };
        Span::new(now, now + self.rng.around(join, 200))
    }
}
