//! What the loop's own Python frames say of a wait, where stacks were recorded.

use rustc_hash::FxHashMap;

use super::parts::Part;
use super::segments::{Segment, flatten};
use crate::analysis::base::core::Core;
use crate::analysis::layers::ids::LayerId;
use crate::model::{LaneId, NameId};
use crate::time::TimeRange;

/// What a frame is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame {
    part: Part,
    /// The loader's look for the next batch that arrives.
    looks: bool,
}

/// The frames of a loop's thread.
pub(super) struct Frames<'a> {
    core: &'a Core,
    lanes: Vec<LaneId>,
    known: FxHashMap<NameId, Option<Frame>>,
}

/// The frames of one wait.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Disjoint, ascending, inside the wait.
    pub segments: Vec<Segment>,
    /// Looks for the next batch to arrive.
    pub looks: usize,
    /// Whether any frame was recognised.
    pub any: bool,
}

impl<'a> Frames<'a> {
    /// Of a thread, by its records.
    pub fn new(core: &'a Core, lanes: &[LaneId]) -> Self {
        let layers = |l: &LaneId| &core.index(*l).layers;
        let has =
            |l: &&LaneId| layers(l).contains(&LayerId::PYTHON) || layers(l).contains(&LayerId::PIN);
        Self {
            core,
            lanes: lanes.iter().filter(has).copied().collect(),
            known: FxHashMap::default(),
        }
    }

    /// What is recognised in a wait: the innermost recognised frame tells the part.
    pub fn in_wait(&mut self, wait: TimeRange) -> Seen {
        let mut found: Vec<(TimeRange, Part)> = Vec::new();
        let mut seen = Seen::default();
        for lane in self.lanes.clone() {
            let columns = self.core.columns(lane);
            let mut places = Vec::new();
            self.core
                .index(lane)
                .open_at(&columns, wait.start, |i| places.push(i));
            let (from, to) = columns.start_range(wait);
            places.extend(from..to);
            for i in places {
                let range = columns.range(i);
                let is_frame = matches!(
                    columns.of[i],
                    LayerId::PYTHON | LayerId::PIN | LayerId::FETCH
                );
                if !is_frame || range.end <= wait.start {
                    continue;
                }
                let name = self.core.trace.spans().name(columns.id(i));
                let names = self.core.trace.names();
                let frame = self.known.entry(name);
                if let Some(frame) = *frame.or_insert_with(|| recognised(names.get(name))) {
                    found.push((range.clip(wait), frame.part));
                    seen.looks += usize::from(frame.looks);
                    seen.any = true;
                }
            }
        }
        // Stable: of the same range the later one lies inside.
        found.sort_by_key(|(r, _)| (r.start, std::cmp::Reverse(r.end)));
        seen.segments = flatten(found.into_iter());
        seen
    }
}

/// Path, without what leads to a package, and function of a frame's name: `…/torch/utils/data/dataloader.py(701): __next__`.
fn of_file(name: &str) -> Option<(&str, &str)> {
    let (place, function) = name.split_once("): ")?;
    let (path, line) = place.rsplit_once('(')?;
    let is_line = !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
    is_line.then_some((path, function))
}

fn recognised(name: &str) -> Option<Frame> {
    let frame = |part| Some(Frame { part, looks: false });
    if name == "aten::pin_memory" {
        return frame(Part::Pin);
    }
    let unpacks = ["<built-in function loads", "<built-in method loads"];
    if unpacks.iter().any(|u| name.starts_with(u)) {
        return frame(Part::Unpickle);
    }
    let (path, function) = of_file(name)?;
    let is = |file: &str| {
        let before = path.strip_suffix(file);
        before.is_some_and(|b| b.is_empty() || b.ends_with('/') || b.ends_with('\\'))
    };
    let loader = is("utils/data/dataloader.py");
    let part = match function {
        _ if is("torch/multiprocessing/reductions.py") && function.starts_with("rebuild_") => {
            Part::Unpickle
        }
        "recv_bytes" if is("multiprocessing/connection.py") => Part::Receive,
        "poll" if is("multiprocessing/connection.py") => Part::Blocked,
        "get" if is("multiprocessing/queues.py") || is("queue.py") => Part::Blocked,
        "_shutdown_workers" if loader => Part::WorkerStop,
        "__init__" | "_reset" if loader => Part::WorkerStart,
        "start" if is("multiprocessing/process.py") => Part::WorkerStart,
        _ if is("_utils/collate.py") => Part::Collate,
        "__getitem__" | "__getitems__" => Part::Item,
        _ if is("_utils/pin_memory.py") => Part::Pin,
        _ if loader || is("_utils/fetch.py") => Part::Loader,
        _ => return None,
    };
    Some(Frame {
        part,
        looks: loader && function == "_try_get_data",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_the_loader_are_recognised() {
        let part = |name: &str| recognised(name).map(|f| f.part);
        for (name, want) in [
            (
                "multiprocessing/connection.py(216): recv_bytes",
                Some(Part::Receive),
            ),
            (
                "/usr/lib/python3.12/multiprocessing/connection.py(253): poll",
                Some(Part::Blocked),
            ),
            ("queue.py(154): get", Some(Part::Blocked)),
            ("my_queue.py(154): get", None),
            (
                "torch/utils/data/dataloader.py(1164): _try_get_data",
                Some(Part::Loader),
            ),
            (
                "torch/utils/data/dataloader.py(1034): __init__",
                Some(Part::WorkerStart),
            ),
            (
                "torch/utils/data/_utils/collate.py(120): collate",
                Some(Part::Collate),
            ),
            ("data.py(12): __getitem__", Some(Part::Item)),
            ("<built-in function loads>", Some(Part::Unpickle)),
            (
                "torch/multiprocessing/reductions.py(160): rebuild_storage_fd",
                Some(Part::Unpickle),
            ),
            ("aten::pin_memory", Some(Part::Pin)),
            ("train.py(3): loop", None),
            ("<built-in method poll of select.poll>", None),
        ] {
            assert_eq!(part(name), want, "{name}");
        }
        let looks = |name: &str| recognised(name).is_some_and(|f| f.looks);
        assert!(looks("torch/utils/data/dataloader.py(1164): _try_get_data"));
        assert!(!looks("torch/utils/data/dataloader.py(1164): _get_data"));
    }
}
