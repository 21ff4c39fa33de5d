//! One CPU span against the GPU: what it launched, what ran during it, how long after it the GPU was busy with it.

use crate::analysis::Analysis;
use crate::analysis::base::tails::{OwnRule, launched, own_links};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::model::{Link, SpanId};
use crate::time::TimeRange;

/// GPU side of a CPU span. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanFigures {
    /// The span.
    pub span: SpanId,
    /// Its length.
    pub dur: i64,
    /// Operations that it launched.
    pub n_ops: u64,
    /// Sum of their durations.
    pub launched_sum: i64,
    /// Union of them.
    pub launched_union: i64,
    /// Earliest start.
    pub gpu_first: Option<i64>,
    /// Latest end.
    pub gpu_last: Option<i64>,
    /// It reaches out of what its file covers: what it launched there is not in these figures.
    pub cut: bool,
    /// `gpu_first` − start of the span; `None` where that is cut, as below.
    pub start_lag: Option<i64>,
    /// `gpu_last` − end of the span; negative where the GPU finished first.
    pub lag: Option<i64>,
    /// The GPUs concerned were busy during the span.
    pub executed_during: i64,
    /// Of it with operations of the span.
    pub own_during: i64,
    /// Of it with other work: paid for here.
    pub foreign_during: i64,
    /// Own operations after the span's end (union).
    pub own_after: i64,
}

impl SpanFigures {
    /// The span ends before its GPU work.
    #[must_use]
    pub fn ends_before_gpu(&self) -> bool {
        self.lag.is_some_and(|l| l > 0)
    }
}

impl Analysis {
    /// GPU side of one CPU span, by a rule for its launches. Costs O(k log k) for k launched operations.
    #[must_use]
    pub fn span_figures(&self, span: SpanId, rule: OwnRule) -> SpanFigures {
        let core = &self.core;
        let spans = core.trace.spans();
        let me = spans.range(span);
        let links: Vec<Link> = own_links(core, span, rule);
        let ops: Vec<TimeRange> = links.iter().map(|l| spans.range(l.to)).collect();
        let mut gpus: Vec<usize> = links.iter().filter_map(|l| core.operation(l.to)).collect();
        gpus.sort_unstable();
        gpus.dedup();
        if gpus.is_empty() {
            gpus = (0..self.gpus.len()).collect();
        }
        let busy = self.busy_during(&gpus, me);
        let (first, last) = (
            ops.iter().map(|o| o.start).min(),
            ops.iter().map(|o| o.end).max(),
        );
        let launched_sum = ops.iter().map(|o| o.len()).sum();
        let n_ops = ops.len() as u64;
        let own = Union::new(ops);
        let own_during = own.measure_in(me);
        let after = TimeRange {
            start: me.end,
            end: i64::MAX,
        };
        let cut = core.is_cut(spans.lane(span), me);
        SpanFigures {
            span,
            cut,
            dur: me.len(),
            n_ops,
            launched_sum,
            launched_union: own.measure(),
            gpu_first: first,
            gpu_last: last,
            start_lag: first.filter(|_| !cut).map(|f| f - me.start),
            lag: last.filter(|_| !cut).map(|l| l - me.end),
            executed_during: busy,
            own_during,
            foreign_during: busy - own_during,
            own_after: own.clip(after).measure(),
        }
    }

    /// Any of some GPUs is busy in a window, ns.
    pub(in crate::analysis) fn busy_during(&self, gpus: &[usize], window: TimeRange) -> i64 {
        match gpus {
            [one] => self.gpus[*one].busy.measure_in(window),
            many => {
                let parts = many
                    .iter()
                    .flat_map(|&g| self.gpus[g].busy.parts_in(window));
                Union::new(parts.map(|p| p.clip(window)).collect()).measure()
            }
        }
    }

    /// Backward GPU time of a forward span: operations launched inside the backward ops that the file links to forward
    /// ops starting in the span on its lane. Number and sum of durations, ns.
    #[must_use]
    pub fn backward_of(&self, span: SpanId) -> (u64, i64) {
        let core = &self.core;
        let spans = core.trace.spans();
        let me = spans.range(span);
        let lane = core.columns(spans.lane(span));
        let (a, b) = lane.start_range(me);
        let (mut n, mut sum) = (0, 0);
        let flows = core.trace.fwdbwd();
        let from = flows.partition_point(|l| l.from < lane.id(a));
        for link in flows[from..].iter().take_while(|l| l.from < lane.id(b)) {
            let its = launched(core, &[spans.lane(link.to)], spans.range(link.to));
            n += its.n_ops;
            sum += its.sum;
        }
        (n, sum)
    }

    /// CPU spans with a GPU side that start in a window, in stored order.
    #[must_use]
    pub fn gpu_side_spans(&self, window: TimeRange) -> Vec<SpanId> {
        self.cpu_spans(window, LayerId::has_gpu_side)
    }

    /// The synchronising call that was waiting when the last GPU work of a span ended.
    pub(in crate::analysis) fn charged_to(&self, span: SpanId) -> Option<SpanId> {
        let spans = self.core.trace.spans();
        let figures = self.span_figures(span, self.options.own);
        let behind = figures.lag.is_some_and(|lag| lag > 0);
        let end = figures.gpu_last.filter(|_| behind)?;
        let calls = self.sync_calls(TimeRange::new(spans.start(span), end));
        let returns = |call: &SpanId| spans.end(*call).saturating_add(self.options.sync_tol);
        calls.into_iter().find(|call| returns(call) >= end)
    }

    /// The GPUs that some lanes launched on in a window; all where none.
    pub(in crate::analysis) fn gpus_of(
        &self,
        lanes: &[crate::model::LaneId],
        window: TimeRange,
    ) -> Vec<usize> {
        let core = &self.core;
        let tracks = lanes.iter().flat_map(|&l| core.launches.groups_of(l));
        let mut gpus: Vec<usize> = tracks
            .filter(|t| !core.launches.within(&core.trace, t, window).is_empty())
            .map(|t| t.gpu)
            .collect();
        gpus.sort_unstable();
        gpus.dedup();
        if gpus.is_empty() {
            gpus = (0..self.gpus.len()).collect();
        }
        gpus
    }
}
