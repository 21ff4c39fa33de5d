//! Which of the times in a file are those of the recording.

use crate::import::contract::importer::UNIX_FROM;
use crate::import::dftracer::read::chunk::Chunk;
use crate::model::TIME_LIMIT;

/// True for times that fit on the axis of the trace.
pub(crate) fn is_time(ns: i64) -> bool {
    (-TIME_LIMIT..=TIME_LIMIT).contains(&ns)
}

/// Starts of records, by what they can be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// At 0 and below.
    none: Range,
    /// Up to what cannot be Unix time.
    small: Range,
    unix: Range,
}

#[derive(Debug, Clone, Copy)]
struct Range {
    count: u64,
    first: i64,
    last: i64,
}

impl Default for Times {
    fn default() -> Self {
        let empty = Range {
            count: 0,
            first: i64::MAX,
            last: i64::MIN,
        };
        Self {
            none: empty,
            small: empty,
            unix: empty,
        }
    }
}

impl Range {
    fn add(&mut self, ns: i64) {
        self.count += 1;
        self.first = self.first.min(ns);
        self.last = self.last.max(ns);
    }
}

impl Times {
    /// With those of a stretch of lines.
    pub fn with_chunk(mut self, chunk: &Chunk, unit: i64) -> Self {
        for start in &chunk.start {
            self.add(start.saturating_mul(unit));
        }
        for total in &chunk.totals {
            self.add(total.at.to_ns(unit));
        }
        for time in chunk.counters.values().flat_map(|s| &s.times) {
            self.add(time.to_ns(unit));
        }
        self
    }

    fn add(&mut self, ns: i64) {
        if !is_time(ns) {
            return;
        }
        match ns {
            UNIX_FROM.. => self.unix.add(ns),
            1.. => self.small.add(ns),
            _ => self.none.add(ns),
        }
    }

    /// True where there is no time at all.
    pub fn is_empty(&self) -> bool {
        self.none.count + self.small.count + self.unix.count == 0
    }

    /// The first time of the recording, and the one below which times are not its own: zeros and the like far from
    /// everything else, and what is decades before most of it.
    pub fn begin(&self) -> (Option<i64>, i64) {
        const MINUTE: i64 = 60_000_000_000;
        let Self { none, small, unix } = self;
        if unix.count > none.count + small.count {
            return (Some(unix.first), UNIX_FROM);
        }
        let last = small.last.max(unix.last);
        let far = small.first > MINUTE && small.first / 10 > last.saturating_sub(small.first);
        if small.count > none.count && far {
            return (Some(small.first), 1);
        }
        let first = none.first.min(small.first).min(unix.first);
        ((!self.is_empty()).then_some(first), i64::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(times: &[i64]) -> (Option<i64>, i64) {
        let mut all = Times::default();
        times.iter().for_each(|&t| all.add(t));
        all.begin()
    }

    #[test]
    fn times_far_from_all_others_are_not_of_the_recording() {
        const NOW: i64 = 1_795_965_822_000_000_000;
        let hour = 3_600_000_000_000;
        assert_eq!(begin(&[0, NOW, NOW + 1]), (Some(NOW), UNIX_FROM));
        assert_eq!(begin(&[NOW, -5_000, 7, NOW, NOW]), (Some(NOW), UNIX_FROM));
        assert_eq!(begin(&[0, hour, hour + 1]), (Some(hour), 1));
        // Near the others, or as many as they are.
        assert_eq!(begin(&[0, 5, 9]), (Some(0), i64::MIN));
        assert_eq!(begin(&[-3, hour, 2 * hour]), (Some(-3), i64::MIN));
        assert_eq!(begin(&[7, NOW]), (Some(7), i64::MIN));
        assert_eq!(begin(&[0, 0, 0, hour]), (Some(0), i64::MIN));
        assert_eq!(begin(&[0, 0]), (Some(0), i64::MIN));
        assert_eq!(begin(&[i64::MAX]), (None, i64::MIN));
        assert_eq!(begin(&[]), (None, i64::MIN));
    }
}
