//! Stretches of time that belong to one part each: made from spans that lie in each other, and cut to windows.

use super::parts::Part;
use crate::time::TimeRange;

/// A stretch that belongs to one part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub range: TimeRange,
    pub part: Part,
}

/// Those that share time with a window. `segments` are disjoint, ascending.
pub(super) fn within(segments: &[Segment], window: TimeRange) -> &[Segment] {
    let from = segments.partition_point(|s| s.range.end <= window.start);
    let to = segments.partition_point(|s| s.range.start < window.end);
    &segments[from..to.max(from)]
}

/// Cuts a window into stretches of one part, or of none.
pub(super) fn pieces(
    segments: &[Segment],
    window: TimeRange,
    mut piece: impl FnMut(TimeRange, Option<Part>),
) {
    let mut at = window.start;
    for segment in within(segments, window) {
        let range = segment.range.clip(window);
        if at < range.start {
            piece(TimeRange::new(at, range.start), None);
        }
        piece(range, Some(segment.part));
        at = range.end;
    }
    if at < window.end {
        piece(TimeRange::new(at, window.end), None);
    }
}

/// The innermost part at each instant: that of the span that started last, of the shorter one where several did.
/// `spans` by start, longest first.
pub(super) fn flatten(spans: impl Iterator<Item = (TimeRange, Part)>) -> Vec<Segment> {
    let mut out: Vec<Segment> = Vec::new();
    let mut open: Vec<(TimeRange, Part)> = Vec::new();
    let mut at = i64::MIN;
    let mut push = |range: TimeRange, part: Part| match out.last_mut() {
        _ if range.is_empty() => {}
        Some(last) if last.part == part && last.range.end == range.start => {
            last.range.end = range.end;
        }
        _ => out.push(Segment { range, part }),
    };
    // Emits what the open spans say up to a time.
    let mut advance = |open: &mut Vec<(TimeRange, Part)>, at: &mut i64, to: i64| {
        while let Some(&(range, part)) = open.last() {
            if range.end > *at {
                let end = range.end.min(to);
                push(TimeRange::new(*at, end), part);
                *at = (*at).max(end);
                if range.end > to {
                    break;
                }
            }
            open.pop();
        }
        *at = (*at).max(to);
    };
    for (range, part) in spans.filter(|s| !s.0.is_empty()) {
        advance(&mut open, &mut at, range.start);
        open.push((range, part));
    }
    advance(&mut open, &mut at, i64::MAX);
    out
}
