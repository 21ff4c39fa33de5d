//! Who is who, as JSON: sources, runs, processes, and what had to be guessed.

use serde_json::{Value, json};

use super::Object;
use crate::analysis::{
    Analysis, ClockRelation, JobVerdict, Notice, OsProcess, Recording, Run, Witness,
};
use crate::model::Clock;

/// Recordings: a file each, or the folder of a tracer that writes a file for each process.
pub(super) fn sources(analysis: &Analysis) -> Value {
    let one = |r: &Recording| {
        let mut files = r.files.iter().map(|&f| analysis.trace().source(f));
        let files_of = r.files.len();
        let s = files.next()?;
        let zero = match s.clock {
            Clock::Unix { zero } => Some(zero),
            Clock::Unknown => None,
        };
        Some(json!({
            "path": r.path.to_string_lossy(),
            "kind": r.tracer,
            "tracer": r.tracer,
            "files": files_of,
            "producer": s.producer,
            "host": r.host,
            "run": r.run,
            "to_trace_ns": s.to_trace_ns,
            "shift_ns": s.shift_ns,
            "unix_zero_ns": zero,
            "capture": s.capture.map(|c| [c.start, c.end]),
            "rank": r.rank,
        }))
    };
    analysis
        .identity()
        .recordings
        .iter()
        .filter_map(one)
        .collect()
}

/// Runs, by first time. Their extent is on the clock of their sources. Each has its own job where there are several.
pub(super) fn runs(analysis: &Analysis, jobs: &[JobVerdict]) -> Value {
    let of_run = |run: usize| {
        jobs.iter()
            .find(|j| analysis.collectives()[j.run].run == run)
    };
    let one = |(i, r): (usize, &Run)| {
        let own = of_run(i).filter(|_| jobs.len() > 1);
        json!({
            "sources": r.recordings,
            "extent": r.extent.map(|e| [e.start, e.end]),
            "ranks": r.ranks,
            "job": own.map(|j| super::job::job(&analysis.collectives()[j.run], j)),
        })
    };
    let runs = analysis.identity().runs.iter().enumerate();
    runs.map(one).collect()
}

/// Processes: training ones first.
pub(super) fn processes(analysis: &Analysis) -> Value {
    let one = |p: &OsProcess| {
        json!({
            "host": p.host,
            "pid": p.pid,
            "run": p.run,
            "rank": p.rank,
            "role": p.purpose.key(),
            "parent": p.parent,
            "sources": p.recordings,
            "evidence": p.evidence.keys(p.recordings.len()),
            "recorded": p.recorded,
        })
    };
    analysis.identity().processes.iter().map(one).collect()
}

/// How the clocks of the recordings of one run are related; times are on the clock of the reference.
pub(super) fn clocks(analysis: &Analysis) -> Value {
    let at = |&(t, interval): &(i64, Option<[i64; 2]>)| {
        let [low, high] = edges(interval);
        json!([t, low, high])
    };
    let one = |c: &ClockRelation| {
        let [[lo, hi], [lo_start, hi_start], [lo_end, hi_end]] =
            [c.interval, c.ends[0], c.ends[1]].map(edges);
        let pairs = c.witnesses.iter();
        let pairs: Object = pairs
            .map(|(r, n)| (r.key().to_owned(), (*n).into()))
            .collect();
        let witness = |w: Witness| json!([w.value, w.t, w.by.key()]);
        json!({
            "source": c.recording, "ref": c.reference, "offset": c.offset,
            "lo": lo, "hi": hi,
            "lo_start": lo_start, "hi_start": hi_start, "lo_end": lo_end, "hi_end": hi_end,
            "at": c.at.iter().map(at).collect::<Value>(),
            "drift_ppb": c.drift,
            "how": c.how.text(),
            "estimate": c.estimate,
            "one_sided": null,
            "pairs": pairs,
            "contradiction": c.contradiction.map(|[lo, hi]| json!({"lo": witness(lo), "hi": witness(hi)})),
        })
    };
    analysis.identity().clocks().iter().map(one).collect()
}

fn edges(interval: Option<[i64; 2]>) -> [Option<i64>; 2] {
    [interval.map(|i| i[0]), interval.map(|i| i[1])]
}

/// A notice of the analysis, in the form of those of the files.
pub(super) fn notice(notice: &Notice) -> Value {
    json!({
        "kind": notice.certainty.label(),
        "code": notice.code,
        "text": notice.text,
        "count": notice.count,
        "places": [],
        "file": null,
    })
}
