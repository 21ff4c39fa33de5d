//! From a wait down to what held it up: its batch on the worker that made it, the item in that, the read in that.

use crate::analysis::Analysis;
use crate::analysis::cause::parts::Part;
use crate::analysis::cause::wait::{Cause, Level};
use crate::analysis::layers::ids::{LayerClass, LayerId};
use crate::model::{LaneId, SpanId};
use crate::time::TimeRange;

/// So many waits before a span are asked whether they are its own.
const NEAR: usize = 4_096;

/// What a link of the chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainPart {
    /// The batch that was waited for: its first span.
    Batch,
    /// The item to blame, else the longest one of the batch.
    Item,
    /// The longest read in that item.
    Read,
}

impl ChainPart {
    /// Its name in the window.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Batch => "Batch",
            Self::Item => "Item",
            Self::Read => "Read",
        }
    }
}

/// A link of the chain below a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainLink {
    /// What it is.
    pub what: ChainPart,
    /// Where it is on the timeline.
    pub span: SpanId,
    /// Its time: of a batch from its first span to its end.
    pub range: TimeRange,
}

/// Time of a wait: how long (ns), what it was spent on, and whether on the batch that was waited for or an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// ns.
    pub ns: i64,
    /// On what.
    pub part: Part,
    /// On the batch that was waited for.
    pub own: bool,
}

impl Spent {
    /// `212.104 ms transform`, `61.2 ms read for earlier batches`, by a form for lengths.
    #[must_use]
    pub fn text(self, length: fn(i64) -> String) -> String {
        let of = if self.own { "" } else { " for earlier batches" };
        format!(
            "{} {}{of}",
            length(self.ns),
            self.part.key().replace('_', " ")
        )
    }
}

impl Cause {
    /// Who made the batch and how that is known: `worker 2, pid 5032; by order`. `None` where it is not told.
    #[must_use]
    pub fn made_by(&self) -> Option<String> {
        let how = match self.level {
            Some(Level::Loop) => return Some("the loop itself".to_owned()),
            Some(Level::L2) => "by its number",
            _ => "by order",
        };
        let (worker, pid) = (self.worker?, self.pid.as_ref()?);
        Some(format!("worker {worker}, pid {pid}; {how}"))
    }

    /// What the wait was spent on, longest first; together the wait.
    #[must_use]
    pub fn spent(&self) -> Vec<Spent> {
        let shares = self.parts.all.iter().flat_map(|(part, share)| {
            [(share.own, true), (share.earlier, false)].map(|(ns, own)| Spent {
                ns,
                part: *part,
                own,
            })
        });
        let mut all: Vec<Spent> = shares.filter(|s| s.ns > 0).collect();
        all.sort_by_key(|s| std::cmp::Reverse(s.ns));
        all
    }
}

impl Analysis {
    /// Why a wait happened: index in [`Analysis::waits`].
    #[must_use]
    pub fn cause(&self, wait: usize) -> Option<&Cause> {
        let wait = self.waits.get(wait)?;
        self.causes[wait.rank].waits.get(wait.place)
    }

    /// The wait that a span of a loop makes: index in [`Analysis::waits`].
    #[must_use]
    pub fn wait_of_span(&self, span: SpanId) -> Option<usize> {
        if self.core.layers.class_of(span) != LayerClass::Wait {
            return None;
        }
        let spans = self.core.trace.spans();
        let (range, rank) = (spans.range(span), self.lane_rank(spans.lane(span)));
        let starts = self.waits.partition_point(|w| w.range.start <= range.start);
        // Waits of other ranks lie between: those of its own are near.
        let near = self.waits[..starts].iter().enumerate().rev().take(NEAR);
        let mut near = near.filter(|(_, w)| {
            let own = rank.is_none_or(|r| self.ranks[w.rank].rank == r);
            own && (w.span == span || w.range.covers(range))
        });
        near.next().map(|(i, _)| i)
    }

    /// The chain below a wait; empty where it is not known who made its batch.
    #[must_use]
    pub fn chain(&self, wait: usize) -> Vec<ChainLink> {
        let Some((cause, made)) = self.cause(wait).and_then(|c| Some((c, c.made?))) else {
            return Vec::new();
        };
        let Some(lane) = cause.lane.filter(|_| !made.is_empty()) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        let columns = self.core.columns(lane);
        let (a, b) = columns.start_range(made);
        if a < b {
            out.push(ChainLink {
                what: ChainPart::Batch,
                span: columns.id(a),
                range: made,
            });
        }
        let blamed = cause.item.as_ref().map(|item| item.span);
        let item = blamed.or_else(|| self.longest(lane, made, |l| l == LayerId::LOAD));
        let Some(item) = item else {
            return out;
        };
        let range = self.core.trace.spans().range(item);
        out.push(ChainLink {
            what: ChainPart::Item,
            span: item,
            range,
        });
        if let Some(read) = self.longest(lane, range, |l| l == LayerId::IO_READ) {
            out.push(ChainLink {
                what: ChainPart::Read,
                span: read,
                range: self.core.trace.spans().range(read),
            });
        }
        out
    }

    /// The longest span of some layers that starts in a range of a lane; of equal ones the first.
    fn longest(
        &self,
        lane: LaneId,
        range: TimeRange,
        wanted: impl Fn(LayerId) -> bool,
    ) -> Option<SpanId> {
        let columns = self.core.columns(lane);
        let (a, b) = columns.start_range(range);
        let own = (a..b).filter(|&i| wanted(columns.of[i]));
        let length = |&i: &usize| (columns.range(i).len(), std::cmp::Reverse(i));
        own.max_by_key(length).map(|i| columns.id(i))
    }
}
