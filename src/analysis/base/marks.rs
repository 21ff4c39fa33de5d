//! Steps from the marks that optimizers leave: the last resort where nothing names steps or waits.

use rustc_hash::FxHashMap;

use crate::analysis::base::core::{Core, outermost};
use crate::analysis::layers::ids::{LayerClass, LayerId};
use crate::model::{LaneId, NameId};
use crate::time::TimeRange;

/// How an optimizer's mark begins; what follows names the optimizer.
const MARK: &str = "Optimizer.step#";

/// Marks needed.
const FEW: usize = 3;

/// Starts of the launch calls of a lane, ascending: calls of the launch layer, and whatever started GPU work.
pub(in crate::analysis) fn launch_starts(core: &Core, lane: LaneId) -> Vec<i64> {
    let columns = core.columns(lane);
    let calls = launches(core, lane);
    (0..columns.len())
        .filter(|&i| calls[i])
        .map(|i| columns.starts[i])
        .collect()
}

/// By place on the lane: whether a span is a launch call.
pub(in crate::analysis) fn launches(core: &Core, lane: LaneId) -> Vec<bool> {
    let columns = core.columns(lane);
    let links = core.trace.launches();
    let first = links.partition_point(|l| l.from.0 < columns.first);
    let mut links = links[first..].iter().map(|l| l.from).peekable();
    let call = |i: usize| {
        let id = columns.id(i);
        while links.next_if(|&l| l < id).is_some() {}
        columns.of[i] == LayerId::LAUNCH || links.peek() == Some(&id)
    };
    (0..columns.len()).map(call).collect()
}

/// The ranges of steps, from the end of one mark to the end of the next: of the optimizer that marks most often, of equals the one that
/// begins first. The first step begins with the lane's first launch call, or with its first span that is no container.
pub(in crate::analysis) fn steps(core: &Core, lane: LaneId) -> Vec<TimeRange> {
    let columns = core.columns(lane);
    let spans = core.trace.spans();
    let mut known: FxHashMap<NameId, bool> = FxHashMap::default();
    let mut is_mark = |name: NameId| {
        *known
            .entry(name)
            .or_insert_with(|| core.trace.name(name).starts_with(MARK))
    };
    let marks: Vec<_> = (0..columns.len())
        .filter(|&i| is_mark(spans.name(columns.id(i))))
        .map(|i| (columns.id(i), columns.range(i)))
        .collect();
    let marks = outermost(&marks);
    // Number and place of the first one by name; marks ascend.
    let mut by: FxHashMap<NameId, (usize, usize)> = FxHashMap::default();
    for (i, (id, _)) in marks.iter().enumerate() {
        by.entry(spans.name(*id)).or_insert((0, i)).0 += 1;
    }
    let most = by
        .iter()
        .max_by_key(|(_, (n, first))| (*n, std::cmp::Reverse(*first)));
    let Some((&name, _)) = most.filter(|(_, (n, _))| *n >= FEW) else {
        return Vec::new();
    };
    let marks: Vec<TimeRange> = marks
        .iter()
        .filter(|(id, _)| spans.name(*id) == name)
        .map(|m| m.1)
        .collect();
    let Some(mark) = marks.first() else {
        return Vec::new();
    };
    let mut begin = launch_starts(core, lane).first().copied();
    if begin.is_none() {
        let infos = core.layers.infos();
        let container = |l: LayerId| infos[l.index()].class == LayerClass::Container;
        let mut rest = (0..columns.len()).filter(|&i| !container(columns.of[i]));
        begin = rest.next().map(|i| columns.starts[i]);
    }
    let mut start = begin.filter(|&b| b < mark.end).unwrap_or(mark.start);
    let mut out = Vec::with_capacity(marks.len());
    for mark in &marks {
        out.push(TimeRange::new(start, mark.end));
        start = mark.end.max(start);
    }
    out
}
