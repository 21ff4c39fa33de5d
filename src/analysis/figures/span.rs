//! One CPU span against the GPU: what it launched, what ran during it, how long after it the GPU was busy with it.

use std::collections::BTreeMap;

use crate::analysis::Analysis;
use crate::analysis::base::tails::{OwnRule, launched, own_lanes, own_links};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::percentile;
use crate::model::{Link, NameId, SpanId};
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
    /// `gpu_first` − start of the span.
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

/// CPU spans of one name against the GPU. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameRow {
    /// The name.
    pub name: NameId,
    /// The layer.
    pub layer: LayerId,
    /// Spans that start in the window.
    pub count: u64,
    /// Sum of their lengths.
    pub cpu_time: i64,
    /// Sum of the durations of operations that they launched.
    pub gpu_launched: i64,
    /// The GPUs were busy during them, summed.
    pub gpu_during: i64,
    /// Median lag of those that launched something.
    pub median_lag: Option<i64>,
    /// Largest lag.
    pub max_lag: Option<i64>,
    /// Spans that launched something.
    pub with_gpu: u64,
    /// The longest of them.
    pub longest: SpanId,
    /// The synchronising call that was waiting when the last GPU work of that one ended: there its wait shows up.
    pub charged_to: Option<SpanId>,
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
        SpanFigures {
            span,
            dur: me.len(),
            n_ops,
            launched_sum,
            launched_union: own.measure(),
            gpu_first: first,
            gpu_last: last,
            start_lag: first.map(|f| f - me.start),
            lag: last.map(|l| l - me.end),
            executed_during: busy,
            own_during,
            foreign_during: busy - own_during,
            own_after: own.clip(after).measure(),
        }
    }

    /// Any of some GPUs is busy in a window, ns.
    fn busy_during(&self, gpus: &[usize], window: TimeRange) -> i64 {
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

    /// CPU spans with a GPU side by name, most launched GPU time first; of one rank (by its number) or of all. Without
    /// steps: they have a table of their own, and usually a name each.
    #[must_use]
    pub fn name_table(&self, window: TimeRange, rank: Option<u32>) -> Vec<NameRow> {
        let core = &self.core;
        let spans = core.trace.spans();
        let mut rows: BTreeMap<(NameId, LayerId), (NameRow, Vec<i64>)> = BTreeMap::new();
        let mut lanes = (None, Vec::new());
        let kept = |l: LayerId| l.has_gpu_side() && l != LayerId::STEP;
        for span in self.cpu_spans(window, kept) {
            let lane = spans.lane(span);
            if rank.is_some_and(|r| core.rank(lane) != Some(r)) {
                continue;
            }
            if lanes.0 != Some(lane) {
                lanes = (Some(lane), own_lanes(core, lane, self.options.own.threads));
                lanes.1.retain(|&l| core.launches.count(l) > 0);
            }
            let me = spans.range(span);
            let its = launched(core, &lanes.1, me);
            let key = (spans.name(span), core.layer(span));
            let (row, lags) = rows.entry(key).or_insert_with(|| {
                let row = NameRow {
                    name: key.0,
                    layer: key.1,
                    count: 0,
                    cpu_time: 0,
                    gpu_launched: 0,
                    gpu_during: 0,
                    median_lag: None,
                    max_lag: None,
                    with_gpu: 0,
                    longest: span,
                    charged_to: None,
                };
                (row, Vec::new())
            });
            row.count += 1;
            row.cpu_time += me.len();
            row.gpu_launched += its.sum;
            row.gpu_during += self.busy_during(&self.gpus_of(&lanes.1, me), me);
            lags.extend(its.last.map(|l| l - me.end));
            if spans.dur(span) > spans.dur(row.longest) {
                row.longest = span;
            }
        }
        let mut rows: Vec<NameRow> = rows
            .into_values()
            .map(|(mut row, mut lags)| {
                row.with_gpu = lags.len() as u64;
                row.max_lag = lags.iter().copied().max();
                row.median_lag = percentile(&mut lags, 50);
                row.charged_to = self.charged_to(row.longest);
                row
            })
            .collect();
        rows.sort_by_key(|r| (std::cmp::Reverse(r.gpu_launched), r.name, r.layer));
        rows
    }

    /// The synchronising call that was waiting when the last GPU work of a span ended.
    fn charged_to(&self, span: SpanId) -> Option<SpanId> {
        let spans = self.core.trace.spans();
        let figures = self.span_figures(span, self.options.own);
        let behind = figures.lag.is_some_and(|lag| lag > 0);
        let end = figures.gpu_last.filter(|_| behind)?;
        let calls = self.sync_calls(TimeRange::new(spans.start(span), end));
        let returns = |call: &SpanId| spans.end(*call).saturating_add(self.options.sync_tol);
        calls.into_iter().find(|call| returns(call) >= end)
    }

    /// The GPUs that some lanes launched on in a window; all where none.
    fn gpus_of(&self, lanes: &[crate::model::LaneId], window: TimeRange) -> Vec<usize> {
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
