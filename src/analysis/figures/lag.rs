//! CPU spans against the GPU work that they launched, by caller: named ranges, in them modules, in them the operators
//! that they call. Where nothing is named, modules stand alone, and operators where there are none.

use std::cmp::Reverse;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::analysis::Analysis;
use crate::analysis::base::callers::{CallerKind, MODULE};
use crate::analysis::base::core::Core;
use crate::analysis::base::launches::{Launched, LinkGroup};
use crate::analysis::base::tails::{launched, own_lanes};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Near;
use crate::analysis::sums::stats::percentile;
use crate::model::{LaneId, NameId, SpanId};
use crate::time::TimeRange;

/// CPU spans of one name under one caller against the GPU. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LagRow {
    /// What they are.
    pub kind: CallerKind,
    /// The name.
    pub name: NameId,
    /// The layer.
    pub layer: LayerId,
    /// The row that they lie in: always an earlier one.
    pub parent: Option<usize>,
    /// How many rows that one and its own lie in.
    pub depth: u16,
    /// Whether rows lie in this one.
    pub is_parent: bool,
    /// Spans that start in the window.
    pub count: u64,
    /// Sum of their lengths.
    pub cpu_time: i64,
    /// Sum of the durations of operations that they launched.
    pub gpu_launched: i64,
    /// The GPUs were busy during them, summed.
    pub gpu_during: i64,
    /// Median lag of those that launched something and are not cut.
    pub median_lag: Option<i64>,
    /// Largest lag.
    pub max_lag: Option<i64>,
    /// Spans that launched something.
    pub with_gpu: u64,
    /// Spans that reach out of what their file covers: their lag is not known.
    pub cut: u64,
    /// The longest of them.
    pub longest: SpanId,
    /// The synchronising call that was waiting when the last GPU work of that one ended: there its wait shows up. Looked
    /// for where no row lies around this one.
    pub charged_to: Option<SpanId>,
}

/// A span around later ones.
struct Open {
    end: i64,
    node: usize,
    kind: CallerKind,
}

/// A range on a thread that an autograd engine may work for.
struct NamedRange {
    range: TimeRange,
    node: usize,
}

/// The tree while it grows.
#[derive(Default)]
struct Growing {
    rows: Vec<LagRow>,
    lags: Vec<Vec<i64>>,
    places: FxHashMap<(Option<usize>, NameId, LayerId), usize>,
    /// By process: ranges of threads other than autograd's.
    ranges: FxHashMap<Option<usize>, Vec<NamedRange>>,
}

impl Growing {
    fn node(
        &mut self,
        parent: Option<usize>,
        kind: CallerKind,
        core: &Core,
        span: SpanId,
    ) -> usize {
        let name = core.names.shared(core.trace.spans().name(span));
        let layer = core.layer(span);
        let rows = &mut self.rows;
        let lags = &mut self.lags;
        *self.places.entry((parent, name, layer)).or_insert_with(|| {
            rows.push(LagRow {
                kind,
                name,
                layer,
                parent,
                depth: 0,
                is_parent: false,
                count: 0,
                cpu_time: 0,
                gpu_launched: 0,
                gpu_during: 0,
                median_lag: None,
                max_lag: None,
                with_gpu: 0,
                cut: 0,
                longest: span,
                charged_to: None,
            });
            lags.push(Vec::new());
            rows.len() - 1
        })
    }

    /// The rows with their medians, each followed by those that lie in it, most launched work first.
    fn finish(self) -> Vec<LagRow> {
        let mut inside: Vec<Vec<usize>> = vec![Vec::new(); self.rows.len()];
        let mut top = Vec::new();
        for (i, row) in self.rows.iter().enumerate() {
            match row.parent {
                Some(parent) => inside[parent].push(i),
                None => top.push(i),
            }
        }
        let mut rows: Vec<Option<LagRow>> = self.rows.into_iter().map(Some).collect();
        let key = |rows: &[Option<LagRow>], i: usize| {
            let row = rows[i].as_ref();
            row.map(|r| (Reverse(r.gpu_launched), r.name, r.layer))
        };
        let mut lags = self.lags;
        let mut out: Vec<LagRow> = Vec::with_capacity(rows.len());
        // (node, the place of its parent's row and its depth), the next one last.
        let mut next: Vec<(usize, Option<usize>, u16)> = Vec::new();
        let push = |next: &mut Vec<_>, rows: &[_], mut nodes: Vec<usize>, parent, depth| {
            nodes.sort_by_key(|&i| Reverse(key(rows, i)));
            next.extend(nodes.into_iter().map(|i| (i, parent, depth)));
        };
        push(&mut next, &rows, top, None, 0);
        while let Some((i, parent, depth)) = next.pop() {
            let Some(mut row) = rows[i].take() else {
                continue;
            };
            let lags = &mut lags[i];
            row.max_lag = lags.iter().copied().max();
            row.median_lag = percentile(lags, 50);
            (row.parent, row.depth) = (parent, depth);
            row.is_parent = !inside[i].is_empty();
            out.push(row);
            let nodes = std::mem::take(&mut inside[i]);
            let place = Some(out.len() - 1);
            push(&mut next, &rows, nodes, place, depth.saturating_add(1));
        }
        out
    }
}

impl Analysis {
    /// CPU spans with a GPU side that start in a window, by caller: a row is followed by those that lie in it, most
    /// launched GPU time first; of one rank (by its number) or of all. Without steps: they have a table of their own,
    /// and usually a name each. Modules and operators that launched nothing are left out. An operator's launches are
    /// those of its thread; what an autograd thread does lies in the range that is open on another thread of its
    /// process.
    #[must_use]
    pub fn lag_rows(&self, window: TimeRange, rank: Option<u32>) -> Vec<LagRow> {
        let core = &self.core;
        let modules = core.trace.names().iter().any(|n| n.1.starts_with(MODULE));
        let is_op = |l: &LayerId| *l == LayerId::OP;
        let ops = core.lanes.iter().any(|l| l.layers.iter().any(is_op));
        let wanted = |kind| kind != CallerKind::Python || !(modules || ops);
        let mut lanes: Vec<LaneId> = core.cpu_lanes().collect();
        lanes.retain(|&l| rank.is_none_or(|r| core.rank(l) == Some(r)));
        // Ranges come before what autograd threads do in them.
        lanes.sort_by_key(|l| core.autograd[l.index()]);
        let mut tree = Growing::default();
        for lane in lanes {
            self.add_lane(&mut tree, lane, window, &wanted);
        }
        let mut rows = tree.finish();
        for row in rows.iter_mut().filter(|r| r.depth == 0) {
            row.charged_to = self.charged_to(row.longest);
        }
        rows
    }

    fn add_lane(
        &self,
        tree: &mut Growing,
        lane: LaneId,
        window: TimeRange,
        wanted: &dyn Fn(CallerKind) -> bool,
    ) {
        let core = &self.core;
        let mut around = own_lanes(core, lane, self.options.own.threads);
        around.retain(|&l| core.launches.count(l) > 0);
        let mut alone = OwnWork::new(core, lane);
        let process = core.identity.process(lane);
        let columns = core.columns(lane);
        let (a, b) = columns.start_range(window);
        let mut outside = core.autograd[lane.index()].then(|| Outside::new(tree, process));
        let mut open: Vec<Open> = Vec::new();
        // What lies in a span that launched nothing launched nothing.
        let mut silent_until = i64::MIN;
        for i in a..b {
            let (span, me) = (columns.id(i), columns.range(i));
            let Some(kind) = CallerKind::of(core, span).filter(|&k| wanted(k)) else {
                continue;
            };
            let is_range = kind == CallerKind::Range;
            if !is_range && (alone.calls.is_empty() || me.end <= silent_until) {
                continue;
            }
            let gone = |o: &mut Open| o.end <= me.start || o.end < me.end;
            while open.pop_if(gone).is_some() {}
            let around_it = open.last().map(|o| (o.node, o.kind));
            if kind == CallerKind::Op && around_it.is_some_and(|a| a.1 == CallerKind::Op) {
                continue;
            }
            let (its, during) = match is_range {
                true => {
                    let gpus = self.gpus_of(&around, me);
                    (launched(core, &around, me), self.busy_during(&gpus, me))
                }
                false => alone.of(self, me),
            };
            if !is_range && its.n_ops == 0 {
                silent_until = silent_until.max(me.end);
                continue;
            }
            let parent = around_it.map(|a| a.0);
            let parent = parent.or_else(|| outside.as_mut()?.at(me.start));
            let node = tree.node(parent, kind, core, span);
            let cut = core.is_cut(lane, me);
            tree.lags[node].extend(its.last.filter(|_| !cut).map(|l| l - me.end));
            let row = &mut tree.rows[node];
            row.cut += u64::from(cut);
            row.with_gpu += u64::from(its.last.is_some());
            row.count += 1;
            row.cpu_time = row.cpu_time.saturating_add(me.len());
            row.gpu_launched = row.gpu_launched.saturating_add(its.sum);
            row.gpu_during = row.gpu_during.saturating_add(during);
            if me.len() > core.trace.spans().dur(row.longest) {
                row.longest = span;
            }
            open.push(Open {
                end: me.end,
                node,
                kind,
            });
            if is_range && outside.is_none() {
                let range = NamedRange { range: me, node };
                tree.ranges.entry(process).or_default().push(range);
            }
        }
    }
}

/// What spans of one thread launched, for spans whose starts ascend: operators are many.
struct OwnWork<'a> {
    calls: Vec<Calls<'a>>,
}

/// The calls of a thread that launched on one GPU.
struct Calls<'a> {
    group: &'a LinkGroup,
    /// The first that does not start before the last span asked for.
    next: usize,
    busy: Near,
}

impl<'a> OwnWork<'a> {
    fn new(core: &'a Core, lane: LaneId) -> Self {
        let calls = core.launches.groups_of(lane).iter().map(|group| Calls {
            group,
            next: group.links.start,
            busy: Near::default(),
        });
        Self {
            calls: calls.collect(),
        }
    }

    /// What the calls that start in a range launched, and how long the GPUs that they launched on were busy in it, ns.
    fn of(&mut self, analysis: &Analysis, me: TimeRange) -> (Launched, i64) {
        let (core, gpus) = (&analysis.core, &analysis.gpus);
        let spans = core.trace.spans();
        let links = core.launches.links(&core.trace);
        let start = |i: usize| spans.start(links[i].from);
        let (mut its, mut during, mut used) = (Launched::NOTHING, 0, Vec::new());
        for calls in &mut self.calls {
            let end = calls.group.links.end;
            calls.next = first_at(calls.next..end, |i| start(i) < me.start);
            let behind = first_at(calls.next..end, |i| start(i) < me.end);
            if calls.next < behind {
                let range = calls.next..behind;
                its.add(&core.launches.sum(&core.trace, &core.layers, range));
                during = calls.busy.measure(&gpus[calls.group.gpu].busy, me);
                used.push(calls.group.gpu);
            }
        }
        if used.len() > 1 {
            during = analysis.busy_during(&used, me);
        }
        (its, during)
    }
}

/// The first place of a range that `is_before` does not hold for, where it holds up to some place: costs the logarithm
/// of how far that is.
fn first_at(places: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut step) = (places.start, 1);
    while from + step <= places.end && is_before(from + step - 1) {
        from += step;
        step *= 2;
    }
    let mut to = places.end.min(from + step - 1);
    while from < to {
        let middle = from + (to - from) / 2;
        match is_before(middle) {
            true => from = middle + 1,
            false => to = middle,
        }
    }
    from
}

/// The range that is open on another thread, for ascending times.
struct Outside {
    ranges: Vec<(TimeRange, usize)>,
    next: usize,
    open: Vec<(i64, usize)>,
}

impl Outside {
    fn new(tree: &Growing, process: Option<usize>) -> Self {
        let ranges = tree.ranges.get(&process).map_or(&[][..], Vec::as_slice);
        let mut ranges: Vec<(TimeRange, usize)> =
            ranges.iter().map(|r| (r.range, r.node)).collect();
        ranges.sort_by_key(|(r, _)| (r.start, Reverse(r.end)));
        Self {
            ranges,
            next: 0,
            open: Vec::new(),
        }
    }

    fn at(&mut self, t: i64) -> Option<usize> {
        while let Some(&(range, node)) = self.ranges.get(self.next).filter(|r| r.0.start <= t) {
            while self.open.pop_if(|o| o.0 <= range.start).is_some() {}
            self.open.push((range.end, node));
            self.next += 1;
        }
        while self.open.pop_if(|o| o.0 <= t).is_some() {}
        self.open.last().map(|o| o.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_is_found_from_anywhere() {
        for n in 0..40 {
            for split in 0..=n {
                for from in 0..=split {
                    assert_eq!(first_at(from..n, |i| i < split), split, "{from}..{n}");
                }
            }
        }
    }
}
