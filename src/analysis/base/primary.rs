//! Which GPU a training process works on: the one that its own calls launched most operations on, never merely the
//! first one there is.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::analysis::base::core::Core;
use crate::analysis::identity::OsProcess;
use crate::model::{DeviceId, Trace};

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
        let process = core.identity.training(rank)?;
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
    let mut alone: FxHashMap<(usize, Option<&str>), Option<usize>> = FxHashMap::default();
    for (i, process) in core.identity.processes.iter().enumerate() {
        for place in places(trace, process) {
            let slot = alone.entry(place).or_insert(Some(i));
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

/// The files, and the parts of files that were put together, in which a process has threads.
fn places<'t>(
    trace: &'t Trace,
    process: &'t OsProcess,
) -> impl Iterator<Item = (usize, Option<&'t str>)> {
    let records = process.records.iter().map(|&r| trace.process(r));
    records.map(|p| (p.source.index(), p.space.as_deref()))
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
