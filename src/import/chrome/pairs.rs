//! Begin and end events: which end closes which begin.

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

/// Closes spans in the order of time, the order in the file deciding between equal times. An end closes the innermost
/// open span of its lane; where the names differ, the innermost one of its name, else the innermost.
pub(super) fn close(mut marks: Vec<Mark>, builder: &mut TraceBuilder, tally: &mut Tally) {
    marks.sort_unstable_by_key(|m| (m.lane, m.ts, m.offset));
    let mut odd: Vec<(u64, Odd)> = Vec::new();
    for lane in marks.chunk_by(|a, b| a.lane == b.lane) {
        let mut open: Vec<&Mark> = Vec::new();
        for mark in lane {
            if mark.span != NONE {
                open.push(mark);
                continue;
            }
            let Some(innermost) = open.len().checked_sub(1) else {
                odd.push((mark.offset, Odd::EndWithoutBegin));
                continue;
            };
            let mut which = innermost;
            if mark.name != NONE && open[innermost].name != mark.name {
                let named = open.iter().rposition(|b| b.name == mark.name);
                which = named.unwrap_or(innermost);
                let counts = builder.so_far().category(mark.cat).counts;
                let same_category = counts && open[which].cat == mark.cat;
                odd.push(match named {
                    // The category is a second witness that the two belong together.
                    None if same_category => (mark.offset, Odd::OtherName),
                    _ => (mark.offset, Odd::NameMismatch),
                });
            }
            let begin = open.remove(which);
            builder.set_end(RawSpan(begin.span), mark.ts);
        }
        for begin in open {
            builder.mark_unfinished(RawSpan(begin.span));
            odd.push((begin.offset, Odd::BeginWithoutEnd));
        }
    }
    odd.sort_unstable_by_key(|&(offset, _)| offset);
    for (offset, reason) in odd {
        tally.add(reason, offset);
    }
}
