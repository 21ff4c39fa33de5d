//! Which GPU a training process works on: the one that its own calls launched most operations on, never merely the
//! first one there is.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::analysis::base::core::Core;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::notices::{Certainty, Notice};
use crate::model::{DeviceId, Trace};
use crate::time::TimeRange;

/// How it is known which GPU a rank works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuHow {
    /// Its calls launched the operations.
    Links,
    /// No operation is linked to a call, and the recorder saw this process only, or says whose the operations are.
    OwnFile,
}

impl GpuHow {
    /// The name in reports: `links`, `own file`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Links => "links",
            Self::OwnFile => "own file",
        }
    }
}

/// Place among the GPUs, and how that is known.
pub(in crate::analysis) type Primary = Option<(usize, GpuHow)>;

/// The primary GPU of each of some ranks: most operations, of equals the lowest number.
pub(in crate::analysis) fn primaries(core: &Core, ranks: &[u32]) -> Vec<Primary> {
    let mut linked: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for group in &core.launches.groups {
        if let Some(process) = core.identity.process(group.lane) {
            *linked.entry((process, group.gpu)).or_default() += group.links.len();
        }
    }
    let own = own_files(core);
    let most = |counts: &BTreeMap<(usize, usize), usize>| {
        // GPUs are in order of their numbers.
        let mut best: FxHashMap<usize, (usize, std::cmp::Reverse<usize>)> = FxHashMap::default();
        for (&(process, gpu), &n) in counts {
            let slot = best.entry(process).or_insert((n, std::cmp::Reverse(gpu)));
            *slot = (*slot).max((n, std::cmp::Reverse(gpu)));
        }
        best
    };
    let (linked, own) = (most(&linked), most(&own));
    let found = |&rank: &u32| {
        let Some(process) = core.identity.training(rank) else {
            // Without any process the record is all there is: its first GPU stands for it.
            let nobody = core.identity.processes.is_empty() && !core.devices.is_empty();
            return nobody.then_some((0, GpuHow::OwnFile));
        };
        let of = |best: &FxHashMap<usize, (usize, std::cmp::Reverse<usize>)>| {
            best.get(&process).map(|(_, gpu)| gpu.0)
        };
        let by_links = of(&linked).map(|gpu| (gpu, GpuHow::Links));
        by_links.or_else(|| Some((of(&own)?, GpuHow::OwnFile)))
    };
    ranks.iter().map(found).collect()
}

/// Operations by process and GPU, in files without any link: of the process that the file names, else of the only one
/// that has threads in it.
fn own_files(core: &Core) -> BTreeMap<(usize, usize), usize> {
    let trace = &core.trace;
    let mut linked = vec![false; trace.sources().len()];
    for group in &core.launches.groups {
        linked[trace.lane(group.lane).source.index()] = true;
    }
    // The files, and the parts of files that were put together, in which one process alone has threads.
    let mut alone: FxHashMap<(usize, Option<&str>), Option<usize>> = FxHashMap::default();
    for id in trace.lane_ids() {
        let lane = trace.lane(id);
        if let Some(i) = core.identity.process(id) {
            let space = lane.process.and_then(|p| trace.process(p).space.as_deref());
            let slot = alone.entry((lane.source.index(), space)).or_insert(Some(i));
            *slot = slot.filter(|&p| p == i);
        }
    }
    let mut counts = BTreeMap::new();
    for id in trace.lane_ids() {
        let lane = trace.lane(id);
        let (Some(gpu), Some(stream)) = (core.lane_gpu[id.index()], lane.stream) else {
            continue;
        };
        let named = trace.stream(stream).process.or(lane.process);
        let process = match named {
            Some(record) => core.identity.of_record(record),
            None if linked[lane.source.index()] => None,
            None => {
                let space = trace.device(trace.stream(stream).device).space.as_deref();
                alone.get(&(lane.source.index(), space)).copied().flatten()
            }
        };
        if let Some(process) = process {
            *counts.entry((process, gpu)).or_default() += lane.spans.len();
        }
    }
    counts
}

/// Says of which ranks calls were recorded that launch work, and none of that work.
pub(in crate::analysis) fn note_missing(
    core: &Core,
    ranks: &[u32],
    primaries: &[Primary],
    notices: &mut Vec<Notice>,
) {
    let all = TimeRange {
        start: i64::MIN,
        end: i64::MAX,
    };
    let mut found = Vec::new();
    for (&rank, _) in ranks.iter().zip(primaries).filter(|(_, p)| p.is_none()) {
        let Some(process) = core.identity.training(rank) else {
            continue;
        };
        let own = core
            .rank_lanes(rank)
            .filter(|&l| core.identity.process(l) == Some(process));
        let launches: u64 = own
            .map(|l| core.started(l, all, |l| l == LayerId::LAUNCH).count)
            .sum();
        if launches > 0 {
            let pid = &core.identity.processes[process].pid;
            found.push(format!("process {pid} launched {launches} times"));
        }
    }
    Notice::of_each(
        notices,
        Certainty::NotRecorded,
        "gpu_not_recorded",
        &found,
        |list| {
            format!(
                "Work was launched and no GPU record of it is there ({list}): what of the waits was hidden is unknown."
            )
        },
    );
}

/// Report keys of GPUs: the number in the file for the first rank that works on a GPU of that number, `RANK.NUMBER` for
/// every further one. GPUs of no rank come last; `unknown` stands for a number that was not recorded.
pub(in crate::analysis) fn keys(
    trace: &Trace,
    devices: &[DeviceId],
    ranks: &[u32],
    primaries: &[Primary],
) -> Vec<String> {
    let number = |g: usize| match trace.device(devices[g]).index {
        index if index < 0 => "unknown".to_owned(),
        index => index.to_string(),
    };
    let mut keys: Vec<Option<String>> = vec![None; devices.len()];
    let mut used = BTreeSet::new();
    let mut give = |g: usize, first: &dyn Fn(&str) -> String| {
        if keys[g].is_none() {
            let plain = number(g);
            let wanted = if used.contains(&plain) {
                first(&plain)
            } else {
                plain
            };
            let mut key = wanted.clone();
            let mut more = 2;
            while !used.insert(key.clone()) {
                key = format!("{wanted}~{more}");
                more += 1;
            }
            keys[g] = Some(key);
        }
    };
    for (rank, primary) in ranks.iter().zip(primaries) {
        if let Some((gpu, _)) = primary {
            give(*gpu, &|plain| format!("{rank}.{plain}"));
        }
    }
    for (g, device) in devices.iter().enumerate() {
        let source = trace.device(*device).source;
        give(g, &|plain| format!("{plain}@{}", source.0));
    }
    keys.into_iter().flatten().collect()
}
