//! Launch calls and their operations: delays, queue depth by stream, calls that block in effect.

use crate::analysis::Analysis;
use crate::analysis::base::core::{CallCursor, Core};
use crate::analysis::sums::bag::Bag;
use crate::analysis::sums::stats::{percentile, ratio};
use crate::model::{LaneId, Link, SpanId};
use crate::time::TimeRange;

/// Operations of one stream that wait behind others.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Queue {
    /// From the start of the launch call to the start of the operation.
    waiting: Bag,
    max_queued: u64,
    max_in_flight: u64,
    linked: bool,
}

impl Queue {
    pub fn new(core: &Core, lane: LaneId) -> Self {
        let columns = core.columns(lane);
        let spans = core.trace.spans();
        let mut calls = CallCursor::new(core, SpanId(columns.first));
        let mut pairs: Vec<(i64, TimeRange)> = Vec::new();
        for i in (0..columns.len()).filter(|&i| columns.of[i].is_operation()) {
            if let Some(call) = calls.call(columns.id(i)) {
                pairs.push((spans.start(call), columns.range(i)));
            }
        }
        let until = |end: fn(&TimeRange) -> i64| {
            Bag::new(pairs.iter().map(|(c, op)| TimeRange::new(*c, end(op))))
        };
        let waiting = until(|op| op.start);
        Self {
            max_queued: waiting.max_depth(),
            max_in_flight: until(|op| op.end).max_depth(),
            waiting,
            linked: !pairs.is_empty(),
        }
    }

    pub fn heap_bytes(&self) -> usize {
        self.waiting.heap_bytes()
    }
}

/// Queue depth of one stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueFigures {
    /// The stream's lane of operations.
    pub lane: LaneId,
    /// Most operations that were launched and not started, over the whole trace.
    pub max_queued: u64,
    /// Most operations that were launched and not finished, over the whole trace.
    pub max_in_flight: u64,
    /// Time that operations waited inside the window, summed, ns.
    pub queued_area: i64,
    /// The same divided by the window: mean depth.
    pub mean_queued: Option<f64>,
}

/// Launches that start in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchFigures {
    /// Calls that launched something.
    pub calls: u64,
    /// Operations that start in the window.
    pub ops: u64,
    /// Of those without a launch call.
    pub ops_without_launch: u64,
    /// (call, operation) pairs of the calls.
    pub pairs: u64,
    /// max(0, operation start − call end), ns: median, 95th percentile, maximum.
    pub delay: Delays,
    /// operation start − call start, ns.
    pub start_delay: Delays,
    /// max(call end, operation end) − call start, ns.
    pub total: Delays,
    /// Operations that start before their call.
    pub op_before_launch: u64,
    /// Calls that return after an operation of theirs has ended.
    pub blocking_calls: u64,
}

/// Statistics of one kind of delay, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Median.
    pub median: Option<i64>,
    /// Low median, element (n − 1) / 2.
    pub low_median: Option<i64>,
    /// 95th percentile.
    pub p95: Option<i64>,
    /// Maximum.
    pub max: Option<i64>,
}

impl Delays {
    fn of(mut values: Vec<i64>) -> Self {
        let low = values.len().saturating_sub(1) / 2;
        Self {
            median: percentile(&mut values, 50),
            low_median: (!values.is_empty()).then(|| *values.select_nth_unstable(low).1),
            p95: percentile(&mut values, 95),
            max: values.into_iter().max(),
        }
    }
}

impl Analysis {
    /// Links to operations whose call starts in a window, by calling lane.
    fn links_in(&self, window: TimeRange) -> Vec<&[Link]> {
        let (trace, spans) = (&self.core.trace, self.core.trace.spans());
        let mut out = Vec::new();
        let mut rest = trace.launches();
        while let Some(link) = rest.first() {
            let lane = spans.lane(link.from);
            let (mine, others) =
                rest.split_at(rest.partition_point(|l| spans.lane(l.from) <= lane));
            rest = others;
            let a = mine.partition_point(|l| spans.start(l.from) < window.start);
            let b = mine.partition_point(|l| spans.start(l.from) < window.end);
            out.push(&mine[a..b.max(a)]);
        }
        out
    }

    /// Launch calls and operations of a window, each by its own start.
    #[must_use]
    pub fn launch_figures(&self, window: TimeRange) -> LaunchFigures {
        let core = &self.core;
        let spans = core.trace.spans();
        let mut out = LaunchFigures::default();
        let (mut delay, mut start_delay, mut total) = (Vec::new(), Vec::new(), Vec::new());
        for links in self.links_in(window) {
            for group in links.chunk_by(|a, b| a.from == b.from) {
                let call = spans.range(group[0].from);
                let ops = group.iter().filter(|l| core.operation(l.to).is_some());
                let (mut any, mut blocks) = (false, false);
                for op in ops.map(|l| spans.range(l.to)) {
                    any = true;
                    out.pairs += 1;
                    out.op_before_launch += u64::from(op.start < call.start);
                    blocks |= !call.is_empty() && !op.is_empty() && call.end >= op.end;
                    delay.push((op.start - call.end).max(0));
                    start_delay.push(op.start - call.start);
                    total.push(call.end.max(op.end) - call.start);
                }
                out.calls += u64::from(any);
                out.blocking_calls += u64::from(blocks);
            }
        }
        for gpu in 0..self.gpus.len() {
            for lane in core.gpu_lanes(gpu) {
                let columns = core.columns(lane);
                let (a, b) = columns.start_range(window);
                let mut calls = CallCursor::new(core, SpanId(columns.first));
                for i in (a..b).filter(|&i| columns.of[i].is_operation()) {
                    out.ops += 1;
                    out.ops_without_launch += u64::from(calls.call(columns.id(i)).is_none());
                }
            }
        }
        out.delay = Delays::of(delay);
        out.start_delay = Delays::of(start_delay);
        out.total = Delays::of(total);
        out
    }

    /// Queue depths of all streams with launched operations, in lane order.
    #[must_use]
    pub fn queues(&self, window: TimeRange) -> Vec<QueueFigures> {
        let lanes = self.core.trace.lane_ids().zip(&self.queues);
        lanes
            .filter(|(_, q)| q.linked)
            .map(|(lane, q)| {
                let area = q.waiting.clipped_sum(window);
                QueueFigures {
                    lane,
                    max_queued: q.max_queued,
                    max_in_flight: q.max_in_flight,
                    queued_area: area,
                    mean_queued: ratio(area, window.len()),
                }
            })
            .collect()
    }
}
