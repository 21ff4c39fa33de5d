//! Several runs opened together: their training processes say the same rank, or none, and would be taken for one.
//! Tells the runs apart by their processes, and numbers their ranks one after the other.
//!
//! Knows of formats only what a run of each consists of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::import::contract::names::file_name;
use crate::import::contract::report::{ImportReport, NoticeKind};
use crate::model::{
    Clock, LaneId, LaneKind, ProcessId, Role, Source, SourceId, Trace, TraceBuilder,
};

/// Runs that the notice names.
const NAMED: usize = 4;
/// No job has more ranks: a larger number in a file says nothing.
const HIGHEST: u32 = 1 << 24;

/// Files that are of one run for sure: one file, or a folder of files of a tracer that writes one for each process.
struct Unit {
    /// Key of the tracer.
    tracer: &'static str,
    /// What the user knows it by.
    name: String,
    sources: BTreeSet<usize>,
    /// By rank: host and pid of the processes that may train.
    training: BTreeMap<u32, BTreeSet<(Option<String>, String)>>,
}

/// Gives the training processes of different runs different ranks.
pub(crate) fn ranks_of_runs(builder: &mut TraceBuilder, report: &mut ImportReport) {
    let units = units(builder.so_far());
    let runs = runs(&units);
    let count = runs.iter().max().map_or(0, |last| last + 1);
    if count < 2 {
        return;
    }
    // The same run has the same numbers in the files of every tracer.
    let ranks: Vec<u32> = (0..count)
        .map(|run| {
            let own = units.iter().zip(&runs).filter(|(_, r)| **r == run);
            let highest = own.filter_map(|(u, _)| u.training.keys().max()).max();
            highest.map_or(1, |&rank| rank.min(HIGHEST) + 1)
        })
        .collect();
    let mut first = vec![0_u32; count];
    for run in 1..count {
        first[run] = first[run - 1].saturating_add(ranks[run - 1]);
    }
    let mut shift = BTreeMap::new();
    for (unit, &run) in units.iter().zip(&runs) {
        shift.extend(unit.sources.iter().map(|&s| (s, first[run])));
    }
    apply(builder, &shift);
    let names: Vec<String> = (0..count.min(NAMED))
        .map(|run| {
            let unit = units.iter().zip(&runs).find(|(_, r)| **r == run);
            let name = unit.map_or("", |(u, _)| u.name.as_str());
            match ranks[run] {
                1 => format!("rank {} is {name}", first[run]),
                n => {
                    let last = first[run].saturating_add(n - 1);
                    format!("ranks {} to {last} are {name}", first[run])
                }
            }
        })
        .collect();
    let more = if count > NAMED { ", …" } else { "" };
    report.note(NoticeKind::Guessed, "runs_numbered", None, None, || {
        format!(
            "{count} runs were opened together, and their processes say the same rank or none: they are numbered in the \
             order given, {}{more}.",
            names.join(", ")
        )
    });
}

fn units(trace: &Trace) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut folders: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut of_source = Vec::new();
    for (i, source) in trace.sources().iter().enumerate() {
        let folder = source.path.parent().map(PathBuf::from).unwrap_or_default();
        let is_run = source.tracer.folder_is_run;
        let known = folders.get(&folder).copied().filter(|_| is_run);
        let unit = known.unwrap_or_else(|| {
            let name = if is_run { &folder } else { &source.path };
            units.push(Unit {
                tracer: source.tracer.key,
                name: file_name(name),
                sources: BTreeSet::new(),
                training: BTreeMap::new(),
            });
            units.len() - 1
        });
        if is_run {
            folders.insert(folder, unit);
        }
        units[unit].sources.insert(i);
        of_source.push(unit);
    }
    for lane in trace.lanes().iter().filter(|l| l.kind == LaneKind::Cpu) {
        let Some(process) = lane.process.map(|p| trace.process(p)) else {
            continue;
        };
        let trains = matches!(process.role, None | Some(Role::Main));
        if trains && trace.source(process.source).tracer.may_train {
            let key = (process.host.clone(), process.pid.clone());
            let unit = &mut units[of_source[process.source.index()]];
            unit.training.entry(process.rank).or_default().insert(key);
        }
    }
    units
}

/// The run of each unit: the first one in which no other process of the same tracer has a rank of it.
fn runs(units: &[Unit]) -> Vec<usize> {
    type Seen<'a> = BTreeMap<(&'static str, u32), BTreeSet<&'a (Option<String>, String)>>;
    let mut seen: Vec<Seen<'_>> = Vec::new();
    let mut out = Vec::new();
    for unit in units {
        let fits = |run: &Seen<'_>| {
            unit.training.iter().all(|(rank, own)| {
                let there = run.get(&(unit.tracer, *rank));
                there.is_none_or(|there| own.iter().any(|p| there.contains(p)))
            })
        };
        let run = seen.iter().position(fits).unwrap_or(seen.len());
        if run == seen.len() {
            seen.push(BTreeMap::new());
        }
        for (rank, own) in &unit.training {
            seen[run]
                .entry((unit.tracer, *rank))
                .or_default()
                .extend(own);
        }
        out.push(run);
    }
    out
}

/// Puts sources that join runs beside them: they have the rank of the first one that they overlap, and train nothing.
/// Where nothing else is opened they stay what they are.
pub(crate) fn join(builder: &mut TraceBuilder) {
    let trace = builder.so_far();
    let joins: Vec<bool> = (trace.sources().iter())
        .map(|source| source.tracer.joins_runs)
        .collect();
    if joins.iter().all(|&joins| joins) || !joins.contains(&true) {
        return;
    }
    let extents = extents(trace);
    let mut ranks: Vec<Option<u32>> = vec![None; joins.len()];
    for lane in trace.lanes() {
        let rank = &mut ranks[lane.source.index()];
        *rank = Some(rank.map_or(lane.rank, |r| r.min(lane.rank)));
    }
    let of_runs = || (0..joins.len()).filter(|&run| !joins[run]);
    let lowest = of_runs().filter_map(|run| ranks[run]).min().unwrap_or(0);
    let joined: Vec<Option<u32>> = (0..joins.len())
        .map(|own| {
            let overlaps = |run: &usize| match (extents[own], extents[*run]) {
                (Some(a), Some(b)) => a.0 <= b.1 && b.0 <= a.1,
                _ => false,
            };
            let first = of_runs().filter(overlaps).filter_map(|run| ranks[run]);
            joins[own].then(|| first.min().unwrap_or(lowest))
        })
        .collect();
    let number = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
    for i in 0..builder.so_far().processes().len() {
        let process = builder.process_mut(ProcessId(number(i)));
        if let Some(rank) = joined[process.source.index()] {
            (process.rank, process.role) = (rank, Some(Role::Other));
        }
    }
    for i in 0..builder.so_far().lanes().len() {
        let lane = builder.lane_mut(LaneId(number(i)));
        if let Some(rank) = joined[lane.source.index()] {
            (lane.rank, lane.role) = (rank, Some(Role::Other));
        }
    }
}

/// From when to when each source has something, Unix time in ns; `None` where it has nothing, or no such clock.
fn extents(trace: &Trace) -> Vec<Option<(i128, i128)>> {
    let mut extents: Vec<Option<(i64, i64)>> = vec![None; trace.sources().len()];
    let mut widen = |source: SourceId, start: i64, end: i64| {
        let extent = &mut extents[source.index()];
        let (first, last) = extent.unwrap_or((start, end));
        *extent = Some((first.min(start), last.max(end)));
    };
    let spans = trace.spans();
    for ((&lane, &start), &dur) in spans.lanes().iter().zip(spans.starts()).zip(spans.durs()) {
        widen(trace.lane(lane).source, start, start.saturating_add(dur));
    }
    for counter in trace.counters() {
        for &time in &counter.times {
            widen(counter.source, time, time);
        }
    }
    for instant in trace.instants() {
        widen(instant.source, instant.time, instant.time);
    }
    let unix = |(source, extent): (&Source, Option<(i64, i64)>)| match source.clock {
        Clock::Unix { zero } => {
            let zero = i128::from(zero) + i128::from(source.shift_ns);
            extent.map(|(start, end)| (zero + i128::from(start), zero + i128::from(end)))
        }
        Clock::Unknown => None,
    };
    trace.sources().iter().zip(extents).map(unix).collect()
}

/// Adds to the ranks of everything that is of a source.
fn apply(builder: &mut TraceBuilder, shift: &BTreeMap<usize, u32>) {
    let by = |source: SourceId| shift.get(&source.index()).copied().unwrap_or(0);
    let number = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
    for i in 0..builder.so_far().sources().len() {
        let id = SourceId(number(i));
        let source = builder.source_mut(id);
        source.rank = source.rank.map(|rank| rank.saturating_add(by(id)));
    }
    for i in 0..builder.so_far().processes().len() {
        let process = builder.process_mut(ProcessId(number(i)));
        process.rank = process.rank.saturating_add(by(process.source));
    }
    for i in 0..builder.so_far().lanes().len() {
        let lane = builder.lane_mut(LaneId(number(i)));
        lane.rank = lane.rank.saturating_add(by(lane.source));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(tracer: &'static str, training: &[(u32, &str)]) -> Unit {
        let mut of_rank: BTreeMap<u32, BTreeSet<(Option<String>, String)>> = BTreeMap::new();
        for &(rank, pid) in training {
            of_rank
                .entry(rank)
                .or_default()
                .insert((None, pid.to_owned()));
        }
        Unit {
            tracer,
            name: String::new(),
            sources: BTreeSet::new(),
            training: of_rank,
        }
    }

    #[test]
    fn what_joins_a_run_gets_its_rank() {
        use crate::model::{ArgsRef, Lane, Process, SpanRow, TracerFacts};
        const RUN: TracerFacts = TracerFacts {
            key: "run",
            name: "run",
            slows_training: false,
            sees_workers: true,
            may_train: true,
            folder_is_run: false,
            joins_runs: false,
        };
        const OWN: TracerFacts = TracerFacts {
            key: "own",
            joins_runs: true,
            ..RUN
        };
        let made = |sources: &[(&'static TracerFacts, i64, u32)]| {
            let mut builder = TraceBuilder::new();
            for &(tracer, zero, rank) in sources {
                let source = builder.add_source(Source {
                    clock: Clock::Unix { zero },
                    ..Source::new("x", tracer)
                });
                let process = builder.add_process(Process {
                    source,
                    pid: "1".to_owned(),
                    name: None,
                    host: None,
                    rank,
                    role: None,
                    parent: None,
                    sort_index: 0,
                });
                let lane = builder.add_lane(Lane {
                    process: Some(process),
                    rank,
                    ..Lane::new(source, LaneKind::Cpu, "x")
                });
                let (name, cat) = (builder.intern("x"), builder.category("x", true));
                builder.add_span(SpanRow {
                    lane,
                    name,
                    cat,
                    start: 100,
                    dur: 10,
                    args: ArgsRef::NONE,
                });
            }
            join(&mut builder);
            let trace = builder.so_far();
            let of = |p: &Process| (p.rank, p.role);
            let processes: Vec<_> = trace.processes().iter().map(of).collect();
            let lanes = trace.lanes().iter().map(|l| (l.rank, l.role));
            assert!(lanes.eq(processes.iter().copied()));
            processes
        };
        let beside = |rank| (rank, Some(Role::Other));
        let runs = [(&RUN, 0, 2), (&RUN, 1_000, 5)];
        for (zero, rank) in [(0, 2), (1_010, 5), (1_011, 2), (500, 2)] {
            let all = made(&[(&OWN, zero, 0), runs[0], runs[1]]);
            assert_eq!(all, [beside(rank), (2, None), (5, None)], "{zero}");
        }
        assert_eq!(made(&[(&OWN, 0, 0), (&OWN, 5, 0)]), [(0, None), (0, None)]);
        assert_eq!(made(&runs), [(2, None), (5, None)]);
    }

    #[test]
    fn runs_are_told_apart_by_their_processes() {
        const TORCH: &str = "torch";
        const DFTRACER: &str = "dftracer";
        let told = |units: &[Unit]| runs(units);
        // Ranks of one job, and another job of the same size.
        assert_eq!(
            told(&[
                unit(TORCH, &[(0, "10")]),
                unit(TORCH, &[(1, "11")]),
                unit(TORCH, &[(0, "20")]),
                unit(TORCH, &[(1, "21")]),
            ]),
            [0, 0, 1, 1]
        );
        // The same process at other times, and its record by another tracer.
        assert_eq!(
            told(&[
                unit(TORCH, &[(0, "10")]),
                unit(TORCH, &[(0, "10")]),
                unit(DFTRACER, &[(0, "10")]),
                unit(DFTRACER, &[(0, "77")]),
            ]),
            [0, 0, 0, 1]
        );
        // Files without a training process belong to the first.
        assert_eq!(told(&[unit(TORCH, &[(0, "10")]), unit(TORCH, &[])]), [0, 0]);
    }
}
