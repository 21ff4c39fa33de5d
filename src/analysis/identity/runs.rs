//! Which recordings are of one run, and the numbers of its ranks.
//!
//! ```text
//!  joined by:  a process that both recorded · a worker of one whose parent is in the other
//!              ranks of one job: different stated ranks, as many in all, at the same time
//!              ranks of one job that left the same collectives together, whatever their clocks say
//!              a guess: one tracer, no stated ranks, no process in common, most of the shorter one at the same time
//!  a recording without processes is of every run at its time; nothing else joins
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::records::{Known, number, union};
use super::{Identity, Purpose, Recording, Run};
use crate::analysis::notices::{Certainty, Notice};
use crate::model::{DeviceId, LaneId, LaneKind, SourceId, Trace};
use crate::time::{TimeRange, format_ns};

/// No job has more ranks: a larger number in a file says nothing.
const HIGHEST: u32 = 1 << 24;

/// Decides runs and ranks.
pub(super) fn decide(
    all: &mut [Known],
    recordings: &mut [Recording],
    one_job: &dyn Fn(usize, usize) -> bool,
    notices: &mut Vec<Notice>,
) -> Vec<Run> {
    let mut sets = Sets((0..recordings.len()).collect());
    let mut peopled = vec![false; recordings.len()];
    for known in all.iter() {
        let own = &known.process.recordings;
        for &r in own {
            peopled[r] = true;
            sets.join(own[0], r);
        }
        if let Some(of) = known.process.of {
            sets.join(own[0], all[of].process.recordings[0]);
        }
    }
    join_at_one_time(all, recordings, &peopled, &mut sets, notices);
    join_by_collectives(all, recordings, &mut sets, one_job);
    let mut runs = put_together(recordings, &peopled, &mut sets);
    for known in all.iter_mut() {
        known.process.run = recordings[known.process.recordings[0]].run;
    }
    give_ranks(all, &mut runs, notices);
    if runs.len() > 1 {
        note_several(&runs, recordings, notices);
    }
    runs
}

/// Which recordings are joined, each by the least of them.
struct Sets(Vec<usize>);

impl Sets {
    fn find(&mut self, mut i: usize) -> usize {
        while self.0[i] != i {
            self.0[i] = self.0[self.0[i]];
            i = self.0[i];
        }
        i
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// Ranks of one job, and what is guessed to be of one run.
fn join_at_one_time(
    all: &[Known],
    recordings: &[Recording],
    peopled: &[bool],
    sets: &mut Sets,
    notices: &mut Vec<Notice>,
) {
    let mut training = vec![BTreeSet::new(); recordings.len()];
    let mut ranks = vec![BTreeSet::new(); recordings.len()];
    for known in all {
        let trains = known.process.purpose == Purpose::Training && known.process.recorded;
        for &r in known.process.recordings.iter().filter(|_| trains) {
            training[r].insert((known.host, known.process.pid.as_str()));
            ranks[r].extend(known.rank);
        }
    }
    let mut order: Vec<(TimeRange, usize)> = (0..recordings.len())
        .filter(|&i| peopled[i] && recordings[i].placed)
        .filter_map(|i| Some((recordings[i].extent?, i)))
        .collect();
    order.sort_unstable();
    let mut guessed = Vec::new();
    for (k, &(a, i)) in order.iter().enumerate() {
        let later = order[k + 1..].iter().take_while(|(b, _)| b.start < a.end);
        for &(b, j) in later {
            if sets.find(i) == sets.find(j) {
                continue;
            }
            let (x, y) = (&recordings[i], &recordings[j]);
            let stated = !ranks[i].is_empty() && !ranks[j].is_empty();
            if stated {
                let one_job = x.world.is_none() || y.world.is_none() || x.world == y.world;
                if one_job && ranks[i].is_disjoint(&ranks[j]) {
                    sets.join(i, j);
                }
                continue;
            }
            let silent = ranks[i].is_empty() && ranks[j].is_empty();
            let half = 2 * a.clip(b).len() >= a.len().min(b.len());
            if silent && half && x.tracer == y.tracer && training[i].is_disjoint(&training[j]) {
                sets.join(i, j);
                guessed.push(format!("{} and {}", x.name(), y.name()));
            }
        }
    }
    Notice::of_each(
        notices,
        Certainty::Guessed,
        "runs_guessed",
        &guessed,
        |names| {
            format!(
                "Nothing states that sources are of one run ({names}); they are taken as such, since most of the shorter \
             one lies at the same time."
            )
        },
    );
}

/// Joins what is of one job by its collectives, though the clocks say that it ran at other times. Each set of recordings
/// speaks through its first one that states a rank.
fn join_by_collectives(
    all: &[Known],
    recordings: &[Recording],
    sets: &mut Sets,
    one_job: &dyn Fn(usize, usize) -> bool,
) {
    /// More runs than this are not compared each with each.
    const COMPARED: usize = 64;
    let mut ranks: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    for known in all.iter().filter(|k| k.process.recorded) {
        if let (Purpose::Training, Some(rank)) = (known.process.purpose, known.rank) {
            let set = sets.find(known.process.recordings[0]);
            ranks.entry(set).or_default().insert(rank);
        }
    }
    let speaks = |set: usize, sets: &mut Sets| {
        let mut own = (0..recordings.len()).filter(|&r| recordings[r].rank.is_some());
        own.find(|&r| sets.find(r) == set)
    };
    let mut heads: Vec<(usize, BTreeSet<u32>)> = Vec::new();
    for (set, own) in ranks.into_iter().take(COMPARED) {
        let Some(head) = speaks(set, sets) else {
            continue;
        };
        let joined = heads.iter_mut().find(|(other, theirs)| {
            let (x, y) = (&recordings[*other], &recordings[head]);
            let worlds = x.world.is_none() || y.world.is_none() || x.world == y.world;
            worlds && x.tracer == y.tracer && theirs.is_disjoint(&own) && one_job(*other, head)
        });
        match joined {
            Some((other, theirs)) => {
                sets.join(*other, head);
                theirs.extend(own);
            }
            None => heads.push((head, own)),
        }
    }
}

/// Numbers the runs by their first time.
fn put_together(recordings: &mut [Recording], peopled: &[bool], sets: &mut Sets) -> Vec<Run> {
    let mut by_root: BTreeMap<usize, Run> = BTreeMap::new();
    for i in (0..recordings.len()).filter(|&i| peopled[i]) {
        let run = by_root.entry(sets.find(i)).or_default();
        run.recordings.push(i);
        run.extent = union(run.extent, recordings[i].extent);
    }
    let mut runs: Vec<Run> = by_root.into_values().collect();
    for i in (0..recordings.len()).filter(|&i| !peopled[i]) {
        let own = recordings[i].extent.filter(|_| recordings[i].placed);
        let mut alone = true;
        for run in runs
            .iter_mut()
            .filter(|r| r.recordings.iter().any(|&r| peopled[r]))
        {
            let overlaps = own
                .zip(run.extent)
                .is_some_and(|(a, b)| a.start <= b.end && b.start <= a.end);
            if overlaps && recordings[run.recordings[0]].placed {
                run.recordings.push(i);
                alone = false;
            }
        }
        if alone {
            runs.push(Run {
                recordings: vec![i],
                extent: recordings[i].extent,
                ..Run::default()
            });
        }
    }
    runs.sort_by_key(|r| (r.extent.map_or(i64::MAX, |e| e.start), r.recordings[0]));
    for (k, run) in runs.iter_mut().enumerate().rev() {
        run.recordings.sort_unstable();
        for &r in &run.recordings {
            recordings[r].run = k;
        }
    }
    runs
}

fn give_ranks(all: &mut [Known], runs: &mut [Run], notices: &mut Vec<Notice>) {
    let mut of_run: Vec<Vec<usize>> = vec![Vec::new(); runs.len()];
    for (i, known) in all.iter().enumerate() {
        of_run[known.process.run].push(i);
    }
    let mut numbered = Vec::new();
    let mut next = 0_u32;
    for (run, own) in runs.iter_mut().zip(&of_run) {
        let mut training: Vec<usize> = own
            .iter()
            .copied()
            .filter(|&i| all[i].process.purpose == Purpose::Training)
            .collect();
        if training.is_empty() {
            training.extend(busiest(all, own));
        }
        training.sort_by_key(|&i| {
            let p = &all[i].process;
            (p.range.start, p.host.clone(), number(&p.pid), p.pid.clone())
        });
        let first = next;
        run.first_rank = first;
        let mut used: BTreeMap<u32, usize> = BTreeMap::new();
        // Of several that say the same rank the one with most spans keeps it.
        for &i in &training {
            let Some(rank) = all[i].rank.filter(|&r| r < HIGHEST) else {
                continue;
            };
            let keeper = used.entry(rank).or_insert(i);
            if all[i].process.spans > all[*keeper].process.spans {
                *keeper = i;
            }
        }
        let stated: BTreeMap<usize, u32> = used.iter().map(|(&rank, &i)| (i, rank)).collect();
        let mut free = (0..).filter(|rank| !used.contains_key(rank));
        for &i in &training {
            let rank = match stated.get(&i) {
                Some(&rank) => Some(rank),
                None => free.next(),
            };
            let rank = first.saturating_add(rank.unwrap_or(HIGHEST));
            if training.len() > 1 && !stated.contains_key(&i) {
                numbered.push(format!("process {} is rank {rank}", all[i].process.pid));
            }
            all[i].process.rank = Some(rank);
            run.ranks.push(rank);
            next = next.max(rank.saturating_add(1));
        }
        run.ranks.sort_unstable();
    }
    for i in 0..all.len() {
        if let Some(of) = all[i].process.of {
            all[i].process.rank = all[of].process.rank;
        }
    }
    Notice::of_each(
        notices,
        Certainty::Guessed,
        "ranks_numbered",
        &numbered,
        |list| {
            format!(
                "No file states the ranks of training processes: they are numbered by their first times ({list})."
            )
        },
    );
}

/// Of a run in which nothing trains the process with most spans: a trace of inference keeps one rank.
fn busiest(all: &mut [Known], own: &[usize]) -> Option<usize> {
    let key = |&i: &usize| {
        let p = &all[i].process;
        (std::cmp::Reverse(p.spans), p.range.start, number(&p.pid), i)
    };
    let found = own
        .iter()
        .copied()
        .filter(|&i| all[i].process.recorded)
        .min_by_key(key)?;
    all[found].process.purpose = Purpose::Training;
    all[found].process.of = None;
    Some(found)
}

fn note_several(runs: &[Run], recordings: &[Recording], notices: &mut Vec<Notice>) {
    let gap = |pair: &[Run]| {
        let placed = |r: &Run| recordings[r.recordings[0]].placed;
        let (a, b) = (pair[0].extent?, pair[1].extent?);
        (placed(&pair[0]) && placed(&pair[1])).then(|| b.start.saturating_sub(a.end))
    };
    let far = runs.windows(2).filter_map(gap).max().filter(|&gap| gap > 0);
    let far = far.map_or(String::new(), |gap| format!(" ({} apart)", format_ns(gap)));
    notices.push(Notice {
        certainty: Certainty::Info,
        code: "several_runs",
        count: 1,
        text: format!(
            "{} runs that share no process were opened together{far}: each has its own figures. To compare two of \
             them: stallscope compare A B.",
            runs.len()
        ),
    });
}

/// The rank of every lane.
pub(super) fn lane_ranks(trace: &Trace, who: &Identity) -> Vec<Option<u32>> {
    let launching = launching(trace, who);
    let only = |source: SourceId| {
        let run = &who.runs.get(who.recordings[who.recording(source)].run)?;
        let [rank] = run.ranks[..] else {
            return None;
        };
        Some(rank)
    };
    // The rank of a recording in which one process trains.
    let mut of_recording: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); who.recordings.len()];
    for p in who
        .processes
        .iter()
        .filter(|p| p.purpose == Purpose::Training)
    {
        for &r in &p.recordings {
            of_recording[r].extend(p.rank);
        }
    }
    let rank = |id: LaneId| {
        let lane = trace.lane(id);
        let stream = lane.stream.and_then(|s| trace.stream(s).process);
        let named = lane.process.or(stream).and_then(|p| who.of_record(p));
        let process = who.process(id).or(named).or(launching[id.index()]);
        let run = &who.runs[who.recordings[who.recording(lane.source)].run];
        let stated = lane.rank.map(|rank| run.first_rank.saturating_add(rank));
        let stated = stated.filter(|rank| run.ranks.binary_search(rank).is_ok());
        let known = process.and_then(|p| who.processes[p].rank).or(stated);
        let own = &of_recording[who.recording(lane.source)];
        let alone = own
            .iter()
            .next()
            .copied()
            .filter(|_| own.len() == 1 && process.is_none());
        known.or(alone).or_else(|| only(lane.source))
    };
    trace.lane_ids().map(rank).collect()
}

/// By GPU lane: the process whose calls launched most of its operations.
fn launching(trace: &Trace, who: &Identity) -> Vec<Option<usize>> {
    let mut votes: BTreeMap<(LaneId, usize), usize> = BTreeMap::new();
    let spans = trace.spans();
    for &(op, call) in trace.launch_calls() {
        let lane = spans.lane(op);
        if let (LaneKind::Gpu, Some(process)) =
            (trace.lane(lane).kind, who.process(spans.lane(call)))
        {
            *votes.entry((lane, process)).or_default() += 1;
        }
    }
    let mut most = vec![(0, None); trace.lanes().len()];
    for ((lane, process), n) in votes {
        let slot = &mut most[lane.index()];
        if n > slot.0 {
            *slot = (n, Some(process));
        }
    }
    // What nobody launched is of the only process that uses its GPU.
    let mut users: BTreeMap<DeviceId, BTreeSet<usize>> = BTreeMap::new();
    for lane in trace.lane_ids() {
        if let (Some(device), Some(process)) = (trace.lane_device(lane), most[lane.index()].1) {
            users.entry(device).or_default().insert(process);
        }
    }
    let of_stream = |id: LaneId| {
        // Other rows of a stream are of who owns its operations.
        let stream = trace.lane(id).stream?;
        let ops = trace.stream(stream).ops;
        let own = most[id.index()].1.or_else(|| most[ops?.index()].1);
        let only = || {
            let users = users.get(&trace.stream(stream).device)?;
            users.iter().next().copied().filter(|_| users.len() == 1)
        };
        own.or_else(only)
    };
    trace.lane_ids().map(of_stream).collect()
}
