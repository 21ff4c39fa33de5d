//! The GPU operations that belong to a CPU span, and the call that belongs to a GPU operation. Computed once per
//! hovered or selected span, not per frame.

use std::collections::BTreeSet;

use crate::analysis::{Analysis, ChainPart};
use crate::model::{Link, SpanId, Trace};
use crate::time::TimeRange;

/// Links that are drawn between the first and the last one.
pub const BETWEEN: usize = 48;

/// What is linked to one span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The span.
    pub span: SpanId,
    /// All operations on the GPU side, ascending (for the outline and the fading of the rest).
    pub ops: Vec<SpanId>,
    /// The links to draw, by start of the operation: the first, the last to end, and at most 48 between.
    pub arrows: Vec<Link>,
    /// Links that are not drawn.
    pub more: usize,
    /// They are the chain below a wait: all but them fades.
    pub chain: bool,
    /// What of the chain is framed: waits, and batches from their first span to their end.
    pub frames: Vec<Frame>,
}

/// A stretch of a lane with a frame around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// A span of the lane; of a wait its own.
    pub span: SpanId,
    /// When.
    pub range: TimeRange,
    /// Around all rows of the lane, not only that of the span.
    pub all_rows: bool,
}

impl Links {
    /// The chain below a wait; else the links of a CPU span (what calls in it launch on its own thread, and on autograd threads of its process
    /// meanwhile) or of a GPU operation (its own launch). Empty for spans without any.
    #[must_use]
    pub fn of(trace: &Trace, analysis: &Analysis, span: SpanId) -> Self {
        if let Some(chain) = Self::below(analysis, span) {
            return chain;
        }
        let mut links: Vec<Link> = Vec::new();
        if let Some(call) = trace.launch_of(span) {
            links.push(Link {
                from: call,
                to: span,
            });
        } else if !trace.lane(trace.spans().lane(span)).kind.is_gpu() {
            links = launched(trace, analysis, span);
        }
        Self::choose(trace, span, links)
    }

    fn choose(trace: &Trace, span: SpanId, mut links: Vec<Link>) -> Self {
        let mut ops: Vec<SpanId> = links.iter().map(|l| l.to).collect();
        ops.sort_unstable();
        ops.dedup();
        links.sort_unstable_by_key(|l| (trace.spans().start(l.to), l.to, l.from));
        let last = links
            .iter()
            .enumerate()
            .max_by_key(|(_, l)| (trace.spans().end(l.to), l.to))
            .map(|(i, _)| i);
        let mut chosen = BTreeSet::new();
        let n = links.len();
        if let Some(last) = last {
            // Evenly spread between the first and the last to start; the last to end may be one of them.
            let between = n.saturating_sub(2).min(BETWEEN);
            chosen.extend((1..=between).map(|i| i * (n - 1) / (between + 1)));
            chosen.extend([0, last]);
        }
        let arrows: Vec<Link> = chosen.into_iter().map(|i| links[i]).collect();
        Self {
            span,
            more: n.saturating_sub(arrows.len()),
            ops,
            arrows,
            chain: false,
            frames: Vec::new(),
        }
    }

    /// The chains below some waits: indices in [`Analysis::waits`]. Of a wait whose batch is not told, itself alone.
    #[must_use]
    pub fn of_waits(analysis: &Analysis, waits: &[usize]) -> Self {
        let mut all = Self {
            chain: true,
            ..Self::default()
        };
        for &wait in waits {
            if let Some(found) = analysis.waits().get(wait) {
                all.span = found.span;
                all.add_chain(analysis, wait, found.span);
            }
        }
        all
    }

    /// From a wait to its batch, the item and the read; `None` where nothing of it is known.
    fn below(analysis: &Analysis, span: SpanId) -> Option<Self> {
        let mut found = Self {
            span,
            chain: true,
            ..Self::default()
        };
        found.add_chain(analysis, analysis.wait_of_span(span)?, span);
        (!found.ops.is_empty()).then_some(found)
    }

    /// Adds the chain below a wait, which begins at one of its spans.
    fn add_chain(&mut self, analysis: &Analysis, wait: usize, from: SpanId) {
        self.frames.push(Frame {
            span: analysis.waits()[wait].span,
            range: analysis.waits()[wait].range,
            all_rows: false,
        });
        let mut from = from;
        for link in analysis.chain(wait) {
            if link.what == ChainPart::Batch {
                self.frames.push(Frame {
                    span: link.span,
                    range: link.range,
                    all_rows: true,
                });
            }
            if from != link.span {
                let to = link.span;
                self.arrows.push(Link { from, to });
            }
            from = link.span;
            self.ops.push(link.span);
        }
        self.ops.sort_unstable();
        self.ops.dedup();
    }

    /// True where nothing is linked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}

fn launched(trace: &Trace, analysis: &Analysis, span: SpanId) -> Vec<Link> {
    let range = trace.spans().range(span);
    let own = trace.spans().lane(span);
    let process = trace.lane(own).process;
    let mut out = Vec::new();
    for lane in trace.lane_ids() {
        let info = trace.lane(lane);
        let autograd = process.is_some() && info.process == process && analysis.is_autograd(lane);
        if lane == own || autograd {
            out.extend_from_slice(links_from(trace, info.spans.clone(), range));
        }
    }
    if range.is_empty() {
        out.extend_from_slice(trace.launched_by(span));
    }
    out
}

/// Launches by the calls of a lane that start in `range`: one slice, since links are sorted by call and calls by start.
fn links_from(trace: &Trace, lane: std::ops::Range<u32>, range: TimeRange) -> &[Link] {
    let starts = &trace.spans().starts()[lane.start as usize..lane.end as usize];
    let at = |t: i64| {
        let i = starts.partition_point(|&s| s < t);
        SpanId(lane.start + u32::try_from(i).unwrap_or(0))
    };
    let (first, last) = (at(range.start), at(range.end));
    let links = trace.launches();
    let a = links.partition_point(|l| l.from < first);
    let b = links.partition_point(|l| l.from < last);
    &links[a..b.max(a)]
}
