//! Begin and end events: which end closes which begin.

use rustc_hash::FxHashMap;

use super::chunk::NONE;
use super::tally::{Odd, Tally};
use crate::model::{CatId, RawSpan, TraceBuilder};

/// A begin or an end, with numbers of the whole file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
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

/// Begins of one lane that wait for their end. Every step costs the same, however many are open.
struct Open {
    /// Innermost last; those that ended out of turn stay until they are the last.
    stack: Vec<usize>,
    by_name: FxHashMap<u32, Vec<usize>>,
    ended: Vec<bool>,
}

impl Open {
    fn new(marks: usize) -> Self {
        Self {
            stack: Vec::new(),
            by_name: FxHashMap::default(),
            ended: vec![false; marks],
        }
    }

    fn begin(&mut self, mark: usize, name: u32) {
        self.stack.push(mark);
        self.by_name.entry(name).or_default().push(mark);
    }

    fn innermost(&mut self) -> Option<usize> {
        while self.stack.pop_if(|last| self.ended[*last]).is_some() {}
        self.stack.last().copied()
    }

    fn named(&self, name: u32) -> Option<usize> {
        self.by_name.get(&name)?.last().copied()
    }

    /// Ends the innermost one of its name.
    fn end(&mut self, mark: usize, name: u32) {
        self.ended[mark] = true;
        if let Some(of_name) = self.by_name.get_mut(&name) {
            of_name.pop();
        }
    }

    fn rest(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.stack.iter().copied();
        all.filter(|&mark| !self.ended[mark])
    }
}

/// Closes spans in the order of time, the order in the file deciding between equal times. An end closes the innermost
/// open span of its lane; where the names differ, the innermost one of its name, else the innermost.
pub(super) fn close(mut marks: Vec<Mark>, builder: &mut TraceBuilder, tally: &mut Tally) {
    marks.sort_unstable_by_key(|m| (m.lane, m.ts, m.offset));
    let mut odd: Vec<(u64, Odd)> = Vec::new();
    for lane in marks.chunk_by(|a, b| a.lane == b.lane) {
        let mut open = Open::new(lane.len());
        for (i, mark) in lane.iter().enumerate() {
            if mark.span != NONE {
                open.begin(i, mark.name);
                continue;
            }
            let Some(innermost) = open.innermost() else {
                odd.push((mark.offset, Odd::EndWithoutBegin));
                continue;
            };
            let mut which = innermost;
            if mark.name != NONE && lane[innermost].name != mark.name {
                let named = open.named(mark.name);
                which = named.unwrap_or(innermost);
                let counts = builder.so_far().category(mark.cat).counts;
                let same_category = counts && lane[which].cat == mark.cat;
                odd.push(match named {
                    // The category is a second witness that the two belong together.
                    None if same_category => (mark.offset, Odd::OtherName),
                    _ => (mark.offset, Odd::NameMismatch),
                });
            }
            open.end(which, lane[which].name);
            builder.set_end(RawSpan(lane[which].span), mark.ts);
        }
        for begin in open.rest().map(|i| &lane[i]) {
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
    use crate::model::{ArgsRef, Lane, LaneKind, SourceId, SpanRow};

    /// Begins of all names in order, then ends in the same order: each end closes the outermost one.
    #[test]
    fn many_open_begins_that_end_out_of_turn_cost_no_more_each() {
        let n: u32 = 200_000;
        let mut builder = TraceBuilder::new();
        let lane = builder.add_lane(Lane::new(SourceId(0), LaneKind::Cpu, "C"));
        let (name, cat) = (builder.intern("x"), builder.category("c", true));
        let mark = |ts: u32, name, span| Mark {
            lane: 0,
            ts: i64::from(ts),
            offset: u64::from(ts),
            name,
            cat,
            span,
        };
        let mut marks = Vec::new();
        for i in 0..n {
            let span = builder.add_span(SpanRow {
                lane,
                name,
                cat,
                start: i64::from(i),
                dur: 0,
                args: ArgsRef::NONE,
            });
            marks.push(mark(i, i, span.0));
        }
        marks.extend((0..n).map(|i| mark(n + i, i, NONE)));
        let mut tally = Tally::default();
        close(marks, &mut builder, &mut tally);
        let durs = builder.so_far().spans().durs();
        assert!(durs.iter().all(|&d| d == i64::from(n)));
        assert_eq!(tally.count(Odd::NameMismatch), u64::from(n) - 1);
    }
}
