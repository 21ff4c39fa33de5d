//! Where nearly all spans of a trace are, where a few far away stretch its time axis.

use crate::analysis::counted;
use crate::model::Trace;
use crate::time::{TimeRange, about_ns};

/// Where nearly all spans are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DensePart {
    /// From the first start to the last end of them.
    pub range: TimeRange,
    /// Spans that start elsewhere.
    pub outside: u64,
    /// The whole trace, ns.
    pub of: i64,
}

impl DensePart {
    /// What shows of the trace, and how the rest is reached.
    #[must_use]
    pub fn text(&self) -> String {
        format!(
            "Shown: {} of {} where nearly all spans are; {} elsewhere. Fit again shows all.",
            about_ns(self.range.len()),
            about_ns(self.of),
            counted(self.outside, "span")
        )
    }
}

/// Share of the spans that may start elsewhere, in thousandths.
const ELSEWHERE: u64 = 10;
/// The part is at most this share of the axis, else nothing is stretched: one of so many.
const STRETCHED: i64 = 8;
/// What is as near as this share of the part belongs to it: one of so many.
const AROUND: i64 = 8;
/// Fewer spans tell nothing.
const LEAST: u64 = 50;
/// Steps of the axis in which spans are counted.
const BUCKETS: usize = 4_096;

/// The part of the time axis with nearly all spans, where it is a small part.
#[must_use]
pub fn dense_part(trace: &Trace) -> Option<DensePart> {
    let spans = trace.spans();
    let all = spans.len() as u64;
    let extent = trace.extent();
    if all < LEAST || extent.len() < BUCKETS as i64 {
        return None;
    }
    let keep = all - all * ELSEWHERE / 1_000;
    let mut window = extent;
    // Each look makes the part a few hundred times as exact; what is far away may be a million times as far.
    for _ in 0..4 {
        let found = shortest(spans.starts(), window, keep)?;
        if found.len() * 2 > window.len() {
            break;
        }
        window = found;
    }
    if window.len().saturating_mul(STRETCHED) > extent.len() {
        return None;
    }
    // The shortest part leaves out what is rare at its own ends as well.
    let around = window.len() / AROUND;
    let window = TimeRange::new(
        window.start.saturating_sub(around),
        window.end.saturating_add(around),
    );
    let mut inside = 0;
    let mut end = window.start;
    let mut start = window.end;
    for (&from, &dur) in spans.starts().iter().zip(spans.durs()) {
        if window.contains(from) {
            inside += 1;
            start = start.min(from);
            // A span that lasts nearly as long as the trace says nothing of where the others are.
            if dur <= window.len() {
                end = end.max(from + dur);
            }
        }
    }
    let range = TimeRange::new(start, end.max(start)).clip(extent);
    (!range.is_empty()).then_some(DensePart {
        range,
        outside: all - inside,
        of: extent.len(),
    })
}

/// The shortest run of buckets of a window in which so many spans start; of equals the first.
fn shortest(starts: &[i64], window: TimeRange, keep: u64) -> Option<TimeRange> {
    let width = window.len() / BUCKETS as i64 + 1;
    let mut counts = vec![0_u64; BUCKETS];
    for &start in starts {
        let at = start.checked_sub(window.start).filter(|&t| t >= 0);
        let bucket = at.and_then(|t| usize::try_from(t / width).ok());
        if let Some(n) = bucket.and_then(|b| counts.get_mut(b)) {
            *n += 1;
        }
    }
    let (mut from, mut sum) = (0, 0);
    let mut best: Option<(usize, usize)> = None;
    for (to, n) in counts.iter().enumerate() {
        sum += n;
        while sum - counts[from] >= keep {
            sum -= counts[from];
            from += 1;
        }
        if sum >= keep && best.is_none_or(|(a, b)| to - from < b - a) {
            best = Some((from, to));
        }
    }
    let (from, to) = best?;
    let edge = |bucket: usize| {
        window
            .start
            .saturating_add(width.saturating_mul(bucket as i64))
    };
    Some(TimeRange::new(edge(from), edge(to + 1)))
}
