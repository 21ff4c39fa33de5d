//! Lanes of what has no duration: counters go below the threads of their process or the streams of their GPU, instants
//! below the lane they are on.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::MAX_OPEN_COUNTERS;
use super::tree::{Node, NodeId, NodeKind, RowTree};
use crate::analysis::Identity;
use crate::model::{Counter, DeviceId, Measure, ProcessId, SourceId, Trace};
use crate::time::TimeRange;
use crate::view::lod::{InstantRow, Lod};
use crate::view::viewport::GUTTER;

/// Adds counters and those instants whose lane does not show.
pub(super) fn add(trace: &Trace, who: &Identity, tree: &mut RowTree) {
    let homes = Homes::of(trace, tree);
    let mut groups: BTreeMap<Option<NodeId>, Vec<u32>> = BTreeMap::new();
    for (i, counter) in (0_u32..).zip(trace.counters()) {
        let home = homes.of_counter(who, counter);
        // What is reserved is drawn over what is allocated.
        if counter.measure == Measure::Reserved || counter.times.is_empty() {
            continue;
        }
        if counter.measure.is_bytes() {
            memory(tree, home, counter, i);
        } else {
            groups.entry(home).or_default().push(i);
        }
    }
    for (parent, counters) in groups {
        let place = parent.map_or(String::new(), |p| tree.node(p).key.clone());
        let n = counters.len();
        let group = Node {
            title: format!("Counters ({n})"),
            starts_collapsed: n > MAX_OPEN_COUNTERS,
            ..node(format!("{place}/counters"), NodeKind::Counters)
        };
        let group = tree.push(parent, group);
        for i in counters {
            let counter = &trace.counters()[i as usize];
            let key = format!(
                "{place}/counter {}/{}/{}",
                counter.source.0, counter.name, counter.series
            );
            let lane = Node {
                title: title(counter),
                ..node(key, NodeKind::Counter(i))
            };
            tree.push(Some(group), lane);
        }
    }
    let lod = tree.lod().clone();
    for (i, row) in (0_u32..).zip(lod.instants()) {
        let shows = row.lane.is_some_and(|l| lod.leaves_of(l).len() > 0);
        if shows || !has_row(trace, row) {
            continue;
        }
        let (key, title, parent) = match row.lane.map(|l| trace.lane(l)) {
            Some(lane) => {
                let parent = lane.process.and_then(|p| homes.process(p));
                (lane.key.clone(), lane.name.clone(), parent)
            }
            None => ("trace".to_owned(), "Instants".to_owned(), None),
        };
        let lane = Node {
            title,
            ..node(format!("instants {key}"), NodeKind::Instants(i))
        };
        tree.push(parent, lane);
    }
}

/// A lane of its own for the memory of a device.
fn memory(tree: &mut RowTree, home: Option<NodeId>, counter: &Counter, i: u32) {
    let place = home.map_or(String::new(), |p| tree.node(p).key.clone());
    let of_gpu = home.is_some_and(|p| matches!(tree.node(p).kind, NodeKind::Gpu(_)));
    let what = match counter.measure {
        Measure::Growth => " growth",
        _ => "",
    };
    let device = counter.name.split(", ").next().unwrap_or(&counter.name);
    let title = match (of_gpu, counter.name.rsplit_once(", ")) {
        (true, _) => format!("memory{what}"),
        (false, Some((_, gpu))) => format!("{gpu} memory{what}"),
        (false, None) => format!("{device}{what}"),
    };
    let key = format!("{place}/memory {}/{}", counter.source.0, counter.name);
    let lane = Node {
        title,
        ..node(key, NodeKind::Counter(i))
    };
    tree.push(home, lane);
}

/// Instants that show nowhere: before and after everything else, where no view reaches, or on a lane that is left out
/// because all of its instants are there.
#[must_use]
pub fn instants_out_of_view(trace: &Trace, lod: &Lod) -> u64 {
    let extent = trace.extent();
    let gutter = (extent.len() as f64 * GUTTER) as i64;
    let reach = TimeRange {
        start: extent.start.saturating_sub(gutter),
        end: extent.end.saturating_add(gutter),
    };
    let out = |row: &InstantRow| {
        let own = row.lane.is_some_and(|l| lod.leaves_of(l).len() > 0);
        let seen = if has_row(trace, row) || own {
            reach
        } else {
            TimeRange::default()
        };
        let first = row.before(trace, 0, seen.start);
        row.ids.len() - row.before(trace, first, seen.end)
    };
    lod.instants().iter().map(|row| out(row) as u64).sum()
}

/// Whether instants whose lane does not show have one of their own. Profilers mark the end of their record after the
/// last span: nobody needs a lane for that.
fn has_row(trace: &Trace, row: &InstantRow) -> bool {
    let extent = trace.extent();
    let first = row.before(trace, 0, extent.start);
    row.before(trace, first, extent.end) > 0
}

fn node(key: String, kind: NodeKind) -> Node {
    Node {
        key,
        title: String::new(),
        note: String::new(),
        kind,
        parent: None,
        children: Vec::new(),
        depth: 0,
        starts_collapsed: false,
    }
}

/// The groups that lanes of this module may belong to.
struct Homes {
    nodes: FxHashMap<NodeKind, NodeId>,
    /// By source and index of the device.
    devices: FxHashMap<(SourceId, i64), DeviceId>,
}

impl Homes {
    fn of(trace: &Trace, tree: &RowTree) -> Self {
        let mut homes = Self {
            nodes: FxHashMap::default(),
            devices: FxHashMap::default(),
        };
        for id in tree.ids() {
            let kind = tree.node(id).kind;
            if kind.is_group() {
                homes.nodes.entry(kind).or_insert(id);
            }
        }
        for (device, i) in trace.devices().iter().zip(0_u32..) {
            let key = (device.source, device.index);
            homes.devices.entry(key).or_insert(DeviceId(i));
        }
        homes
    }

    fn node(&self, kind: NodeKind) -> Option<NodeId> {
        self.nodes.get(&kind).copied()
    }

    fn process(&self, process: ProcessId) -> Option<NodeId> {
        let as_worker = || self.node(NodeKind::Worker(process));
        self.node(NodeKind::Process(process)).or_else(as_worker)
    }

    /// Its GPU, its process, its rank.
    fn of_counter(&self, who: &Identity, counter: &Counter) -> Option<NodeId> {
        if let Some(device) = self.device(counter) {
            return self.node(NodeKind::Gpu(device));
        }
        let found = counter.process.and_then(|p| self.process(p));
        found.or_else(|| {
            let rank = who.rank_of(counter.source, counter.process)?;
            self.node(NodeKind::Rank(rank))
        })
    }

    /// Counters of a GPU say so in the name of their track: "GPU metrics, GPU 0".
    fn device(&self, counter: &Counter) -> Option<DeviceId> {
        let (_, index) = counter.name.rsplit_once(DEVICE)?;
        let index: i64 = index.parse().ok()?;
        self.devices.get(&(counter.source, index)).copied()
    }
}

/// What stands before the number of a GPU.
const DEVICE: &str = ", GPU ";

/// Track and series; the track alone would be the same for all counters of a GPU.
fn title(counter: &Counter) -> String {
    let (name, series) = (&counter.name, &counter.series);
    if series.is_empty() || series == name {
        name.clone()
    } else if name.contains(DEVICE) {
        series.clone()
    } else {
        format!("{name} · {series}")
    }
}
