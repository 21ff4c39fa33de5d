//! Begin and end events: which end closes which begin.

use rustc_hash::FxHashMap;

use crate::import::chrome::read::chunk::NONE;
use crate::import::chrome::tally::{Odd, Tally};
use crate::import::contract::progress::Progress;
use crate::model::{CatId, RawSpan, TraceBuilder};

/// A begin or an end, with numbers of the whole file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Lane key.
    pub lane: u32,
    /// ns.
    pub ts: i64,
    /// Byte offset: order in the file.
    pub offset: u64,
    /// Name, or [`NONE`].
    pub name: u32,
    /// Category.
    pub cat: CatId,
    /// The span that begins, or [`NONE`] for an end.
    pub span: u32,
}

/// Marks between two looks at a cancel.
const LOOK: usize = 1 << 16;

/// The open begins of one lane. Finding and closing one takes the same time however many are open.
#[derive(Default)]
struct Open<'a> {
    /// By depth, each with the depth + 1 of the next outer one of its name (0: none). Closed ones inside are none.
    stack: Vec<Option<(&'a Mark, u32)>>,
    /// Depth + 1 of the innermost one of each name.
    named: FxHashMap<u32, u32>,
}

impl<'a> Open<'a> {
    fn push(&mut self, begin: &'a Mark) {
        // Fewer than 2^32 marks: each begin is a span of the model, which numbers them so.
        let place = u32::try_from(self.stack.len() + 1).unwrap_or(u32::MAX);
        let outer = self.named.insert(begin.name, place).unwrap_or(0);
        self.stack.push(Some((begin, outer)));
    }

    fn innermost(&self) -> Option<&'a Mark> {
        Some(self.stack.last().copied()??.0)
    }

    /// Takes the innermost one of a name out.
    fn take(&mut self, name: u32) -> Option<&'a Mark> {
        let place = self.named.get(&name).copied()?;
        let slot = self.stack.get_mut(place.checked_sub(1)? as usize)?;
        let (begin, outer) = slot.take()?;
        if outer == 0 {
            self.named.remove(&name);
        } else {
            self.named.insert(name, outer);
        }
        while self.stack.pop_if(|slot| slot.is_none()).is_some() {}
        Some(begin)
    }
}

/// Closes spans in the order of time, the order in the file deciding between equal times. An end closes the innermost
/// open span of its lane; where the names differ, the innermost one of its name, else the innermost. After a cancel the
/// rest stays open.
pub(crate) fn close(
    mut marks: Vec<Mark>,
    builder: &mut TraceBuilder,
    tally: &mut Tally,
    progress: &Progress,
) {
    marks.sort_unstable_by_key(|m| (m.lane, m.ts, m.offset));
    let mut odd: Vec<(u64, Odd)> = Vec::new();
    for lane in marks.chunk_by(|a, b| a.lane == b.lane) {
        let mut open = Open::default();
        for (i, mark) in lane.iter().enumerate() {
            if i.is_multiple_of(LOOK) && progress.is_cancelled() {
                return;
            }
            if mark.span != NONE {
                open.push(mark);
                continue;
            }
            let Some(innermost) = open.innermost() else {
                odd.push((mark.offset, Odd::EndWithoutBegin));
                continue;
            };
            let mut begin = open.take(if mark.name == NONE {
                innermost.name
            } else {
                mark.name
            });
            if innermost.name != mark.name && mark.name != NONE {
                let named = begin.is_some();
                begin = begin.or_else(|| open.take(innermost.name));
                let category = builder.so_far().category(mark.cat);
                let has_one = category.counts && !category.name.is_empty();
                let same_category = has_one && innermost.cat == mark.cat;
                odd.push(if !named && same_category {
                    // The category is a second witness that the two belong together.
                    (mark.offset, Odd::OtherName)
                } else {
                    (mark.offset, Odd::NameMismatch)
                });
            }
            if let Some(begin) = begin {
                builder.set_end(RawSpan(begin.span), mark.ts);
            }
        }
        for (begin, _) in open.stack.into_iter().flatten() {
            builder.mark_unfinished(RawSpan(begin.span));
            odd.push((begin.offset, Odd::BeginWithoutEnd));
        }
    }
    odd.sort_unstable_by_key(|&(offset, _)| offset);
    for (offset, reason) in odd {
        tally.add(reason, offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ArgsRef, Lane, LaneKind, Source, SpanRow};

    /// Begins and ends by name, one per ns, on one lane. Returns the length of each span, or none while it is open.
    fn closed(events: impl Iterator<Item = (bool, u32)>) -> (Vec<i64>, Tally) {
        let mut builder = TraceBuilder::new();
        let source = builder.add_source(Source::new("", &crate::import::chrome::TORCH));
        let lane = builder.add_lane(Lane::new(source, LaneKind::Cpu, "a"));
        let (name, cat) = (builder.intern("x"), builder.category("", false));
        let mut marks = Vec::new();
        for (ts, (begins, text)) in (0_i64..).zip(events) {
            let span = if begins {
                let row = SpanRow {
                    lane,
                    name,
                    cat,
                    start: ts,
                    dur: -1,
                    args: ArgsRef::NONE,
                };
                builder.add_span(row).0
            } else {
                NONE
            };
            marks.push(Mark {
                lane: 0,
                ts,
                offset: ts.unsigned_abs(),
                name: text,
                cat,
                span,
            });
        }
        let mut tally = Tally::default();
        close(marks, &mut builder, &mut tally, &Progress::new());
        (builder.so_far().spans().durs().to_vec(), tally)
    }

    #[test]
    fn ends_close_the_innermost_of_their_name() {
        let [a, b, c] = [0, 1, 2];
        // a( b( a( b) — a) c) : the inner a ends after b, the outer one at c, which names nothing open.
        let events = [
            (true, a),
            (true, b),
            (true, a),
            (false, b),
            (false, a),
            (false, c),
        ];
        let (durs, tally) = closed(events.into_iter());
        assert_eq!(durs, [5, 2, 2]);
        assert_eq!(tally.count(Odd::NameMismatch), 2);
        let (durs, tally) =
            closed([(true, a), (true, b), (false, NONE), (false, a), (false, a)].into_iter());
        assert_eq!(durs, [3, 1]);
        assert_eq!(tally.count(Odd::EndWithoutBegin), 1);
        assert_eq!(
            closed([(true, a), (true, a), (false, a)].into_iter())
                .1
                .count(Odd::BeginWithoutEnd),
            1
        );
    }

    #[test]
    fn many_ends_of_other_names_close_many_begins() {
        let n = 200_000_usize;
        // Names that nothing open has, then names that stand at the very outside.
        let begins = (0..n).map(|_| (true, 7));
        let (durs, tally) = closed(begins.chain((0..n).map(|_| (false, 8))));
        assert_eq!((durs[0], durs[n - 1]), (2 * 200_000 - 1, 1));
        assert_eq!(tally.count(Odd::NameMismatch), n as u64);
        let names = 0..200_000_u32;
        let (durs, _) = closed(
            names
                .clone()
                .map(|i| (true, i))
                .chain(names.map(|i| (false, i))),
        );
        assert!(durs.iter().all(|&d| d == 200_000));
    }

    #[test]
    fn a_cancel_ends_the_search() {
        let mut builder = TraceBuilder::new();
        let cat = builder.category("", false);
        let mark = Mark {
            lane: 0,
            ts: 0,
            offset: 0,
            name: 0,
            cat,
            span: NONE,
        };
        let progress = Progress::new();
        progress.cancel();
        let mut tally = Tally::default();
        close(vec![mark], &mut builder, &mut tally, &progress);
        assert_eq!(tally.count(Odd::EndWithoutBegin), 0);
    }
}
