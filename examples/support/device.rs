//! One GPU: streams that work off launches in order, and the exact time it was busy.

use std::collections::VecDeque;

use super::model::{COMM_STREAM, COMPUTE_STREAM, Span};

/// Launches in flight before the next launch call blocks.
const QUEUE: usize = 1_022;

/// A simulated GPU.
pub struct Device {
    compute_free: i64,
    comm_free: i64,
    /// Ends of operations that may still run, in launch order.
    in_flight: VecDeque<i64>,
    /// Busy intervals after the last settled instant, sorted and disjoint.
    recent: Vec<Span>,
    settled_to: i64,
    settled_busy: i64,
    /// Start of the first and end of the last operation.
    pub hull: Option<Span>,
    /// Number of operations and their summed durations.
    pub ops: u64,
    pub op_time: i64,
}

impl Device {
    pub fn new() -> Self {
        Self {
            compute_free: 0,
            comm_free: 0,
            in_flight: VecDeque::new(),
            recent: Vec::new(),
            settled_to: 0,
            settled_busy: 0,
            hull: None,
            ops: 0,
            op_time: 0,
        }
    }

    /// When a launch call that begins at `now` may go on: at once, unless the queue is full.
    pub fn queue_has_room(&mut self, now: i64) -> i64 {
        while self.in_flight.front().is_some_and(|&end| end <= now) {
            self.in_flight.pop_front();
        }
        if self.in_flight.len() < QUEUE {
            now
        } else {
            self.in_flight[self.in_flight.len() - QUEUE].max(now)
        }
    }

    /// When a stream can start work that was asked for at `ready`.
    pub fn earliest(&self, stream: u32, ready: i64) -> i64 {
        let free = if stream == COMM_STREAM {
            self.comm_free
        } else {
            self.compute_free
        };
        ready.max(free)
    }

    /// Lets the compute stream wait for the collectives queued so far.
    pub fn compute_waits_for_comm(&mut self) {
        self.compute_free = self.compute_free.max(self.comm_free);
    }

    /// Runs an operation.
    pub fn run(&mut self, stream: u32, at: Span) {
        if stream == COMM_STREAM {
            self.comm_free = at.end;
        } else {
            // The next operation of a stream starts a little after the end of this one.
            self.compute_free = at.end + 900;
            self.in_flight.push_back(at.end);
        }
        debug_assert!(
            at.start >= self.settled_to,
            "operations start after the step that is over"
        );
        let hull = self.hull.get_or_insert(at);
        hull.start = hull.start.min(at.start);
        hull.end = hull.end.max(at.end);
        self.ops += 1;
        self.op_time += at.len();
        self.merge(at);
    }

    fn merge(&mut self, at: Span) {
        let first = self.recent.partition_point(|s| s.end < at.start);
        let mut last = first;
        let mut whole = at;
        while let Some(s) = self.recent.get(last).filter(|s| s.start <= whole.end) {
            whole = Span::new(whole.start.min(s.start), whole.end.max(s.end));
            last += 1;
        }
        self.recent.splice(first..last, [whole]);
    }

    /// Time in `at` in which any operation ran. Exact for times that are not settled and in which nothing can start
    /// any more.
    pub fn busy_in(&self, at: Span) -> i64 {
        self.recent
            .iter()
            .map(|s| (s.end.min(at.end) - s.start.max(at.start)).max(0))
            .sum()
    }

    /// When everything queued on the compute stream has run.
    pub fn idle_from(&self) -> i64 {
        self.compute_free
    }

    /// Forgets what happened before `now`; nothing starts before it any more.
    pub fn settle(&mut self, now: i64) {
        self.settled_busy += self.busy_in(Span::new(self.settled_to, now));
        self.settled_to = now;
        self.recent.retain(|s| s.end > now);
    }

    /// Time in which any operation ran, in the whole job.
    pub fn total_busy(&self) -> i64 {
        self.settled_busy + self.busy_in(Span::new(self.settled_to, i64::MAX))
    }

    /// The stream of copies: they are queued with the kernels, as `tensor.to(device)` does.
    pub fn copy_stream() -> u32 {
        COMPUTE_STREAM
    }
}
