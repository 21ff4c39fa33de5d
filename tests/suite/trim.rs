//! `export --trim`: windows of traces of every importer read back with the same spans, links and figures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use stallscope::analysis::{Analysis, LagRow, Options, OwnRule, Rules};
use stallscope::import::{ArgsReader, OpenOptions, Progress, open};
use stallscope::model::{Cut, LaneKind, SourceId, SpanId, Trace};
use stallscope::time::TimeRange;

use crate::common;

use common::{Differences, leaves, repository, scratch, shared};

/// Windows by their parts of the trace, in hundredths.
const WINDOWS: [(i64, i64); 3] = [(10, 30), (37, 61), (70, 100)];

fn run(args: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    let out = command.args(args).output().expect("the program runs");
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    (out.status.code().expect("a code"), text)
}

/// Saves a window of a trace.
fn save(path: &Path, range: &str, out: &Path) {
    let [path, out] = [path, out].map(|p| p.to_str().expect("a path"));
    let (code, text) = run(&["export", path, "--trim", range, "-o", out]);
    assert_eq!(code, 0, "{text}");
}

fn opened(paths: &[PathBuf]) -> Analysis {
    let loaded = open(paths, &OpenOptions::default(), &Progress::new()).expect("a trace");
    let trace = std::sync::Arc::new(loaded.trace);
    Analysis::new(trace, &Rules::builtin(), &Options::default(), &|_| true).expect("nobody cancels")
}

/// Unix time of the trace's zero, or of that of its first file.
fn zero(trace: &Trace) -> i64 {
    trace
        .unix_origin()
        .unwrap_or(-trace.source(SourceId(0)).to_trace_ns)
}

/// A span by what it is, whatever its number.
fn span(trace: &Trace, id: SpanId) -> String {
    let spans = trace.spans();
    let lane = trace.lane(spans.lane(id));
    let cat = trace.category(spans.cat(id));
    format!(
        "{} {:?} {} {} {} {} {}",
        lane.key,
        lane.kind,
        trace.span_name(id),
        cat.name,
        cat.counts,
        spans.start(id) + zero(trace),
        spans.dur(id)
    )
}

/// What a trace holds of the spans that `keeps` says: spans, links, copies, what calls waited for.
fn contents(trace: &Trace, keeps: &dyn Fn(SpanId) -> bool) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut add = |text: String| *found.entry(text).or_default() += 1;
    let spans = trace.spans();
    for id in spans.ids().filter(|&id| keeps(id)) {
        let lane = trace.lane(spans.lane(id));
        // What the recorder covers is not what it was.
        if lane.kind == LaneKind::Recorder {
            continue;
        }
        add(format!("{} {}", span(trace, id), trace.is_unfinished(id)));
        if let Some(copy) = trace.copy(id) {
            add(format!("{} {copy:?}", span(trace, id)));
        }
        if let Some(scope) = trace.sync_scope(id) {
            let kind = format!("{scope:?}");
            let kind = kind.split('(').next().unwrap_or_default();
            add(format!(
                "{} {}",
                span(trace, id),
                kind.split(' ').next().unwrap_or_default()
            ));
        }
    }
    for (what, links) in [("launch", trace.launches()), ("backward", trace.fwdbwd())] {
        for link in links.iter().filter(|l| keeps(l.from) && keeps(l.to)) {
            add(format!(
                "{what} {} {}",
                span(trace, link.from),
                span(trace, link.to)
            ));
        }
    }
    found
}

/// The figures of a window that must not change.
fn figures(paths: &[PathBuf], window: TimeRange) -> BTreeMap<String, Value> {
    let mut args = vec!["report", "--json", "--brief", "--range"];
    let range = format!("{}ns..{}ns", window.start, window.end);
    args.push(&range);
    args.extend(paths.iter().map(|p| p.to_str().expect("a path")));
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    let out = command.args(&args).output().expect("the program runs");
    let report: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let mut all = BTreeMap::new();
    leaves(&report, "", &mut all);
    let stays = |path: &str| {
        let parts: Vec<&str> = path.split('.').collect();
        match parts[..] {
            // Where the record is and what of it was lost are of the whole trace, and of what it does not cover.
            ["gpu", _, figure, ..] => ![
                "hull",
                "record",
                "lost_launches",
                "edge",
                "partition",
                "name",
            ]
            .contains(&figure),
            ["launch", ..] => true,
            ["lanes", ..] => !path.contains("PyTorch Profiler"),
            ["ranks", _, "loop", figure] => {
                ["wait", "wait_exposed", "wait_hidden", "n_steps"].contains(&figure)
            }
            ["ranks", _, "loop", "phases", phase] => phase != "other",
            ["ranks", _, "loop", "steps", _, figure] => {
                ["time", "wait", "gpu_busy", "gpu_idle"].contains(&figure)
            }
            _ => false,
        }
    };
    // A lane with nothing in the window may be gone.
    all.retain(|path, value| stays(path) && (!path.starts_with("lanes") || *value != 0));
    all
}

/// Trims windows of a trace and compares what reads back.
fn check(paths: &[PathBuf], name: &str, expected: &str, all: &mut Differences) {
    let dir = scratch(&format!("trim-{name}"));
    let before = opened(paths);
    let (trace, extent) = (before.trace(), before.trace().extent());
    for (a, b) in WINDOWS {
        let out = dir.join(format!("{a}.json.gz"));
        let at = |share: i64| extent.len() / 100 * share;
        let window = TimeRange::new(at(a), at(b));
        let range = format!("{}ns..{}ns", window.start, window.end);
        let mut args = vec![
            "export",
            "--trim",
            &range,
            "-o",
            out.to_str().expect("a path"),
        ];
        args.extend(paths.iter().map(|p| p.to_str().expect("a path")));
        let (code, text) = run(&args);
        let place = format!("{name} {a}");
        if code == 4 {
            all.check(&place, "file of an empty window", false, out.exists());
            continue;
        }
        assert_eq!(code, 0, "{text}");
        assert!(text.contains(expected), "{place}: {text}");
        let after = opened(std::slice::from_ref(&out));
        let shift = zero(trace) - zero(after.trace());
        let inside = TimeRange::new(window.start + extent.start, window.end + extent.start);
        let sources: Vec<SourceId> = (0_u32..)
            .map(SourceId)
            .take(trace.sources().len())
            .collect();
        let cut = Cut::new(trace, inside, &sources, &[]);
        let kept = contents(trace, &|id| cut.keeps(id));
        let got = contents(after.trace(), &|_| true);
        let missing: Vec<&String> = kept
            .iter()
            .filter(|(k, n)| got.get(*k) != Some(n))
            .map(|p| p.0)
            .collect();
        all.check(&place, "missing", Vec::<&String>::new(), missing);
        // Only what bounds steps may be there besides.
        let more = got.iter().filter(|(k, _)| !kept.contains_key(*k)).count();
        let ranks = before.ranks().len().max(1);
        all.check(&place, "few others", true, more <= 8 * ranks);
        let moved = shift + extent.start - after.trace().extent().start;
        let same = TimeRange::new(window.start + moved, window.end + moved);
        // Where the smaller trace ends in the window, so does every range in it.
        let covered = after.trace().extent().len();
        if same.start >= 0 && same.end <= covered {
            let (before, after) = (
                figures(paths, window),
                figures(std::slice::from_ref(&out), same),
            );
            assert!(!before.is_empty(), "{place}");
            for path in before.keys().chain(after.keys()) {
                all.check(&place, path, before.get(path), after.get(path));
            }
        }
        let again = dir.join("again.json.gz");
        let range = format!("{}ns..{}ns", same.start, same.end);
        let (out, again) = (
            out.to_str().expect("a path"),
            again.to_str().expect("a path"),
        );
        let (code, text) = run(&["export", out, "--trim", &range, "-o", again]);
        assert_eq!(code, 0, "{text}");
        let equal =
            std::fs::read(out).expect("readable") == std::fs::read(again).expect("readable");
        all.check(&place, "trimmed again", true, equal);
    }
}

fn sample(name: &str) -> PathBuf {
    repository("sample_traces").join(name)
}

#[test]
fn windows_of_torch_traces_are_copied_event_by_event() {
    let mut all = Differences::default();
    for name in ["torch_4_workers.json.gz", "torch_real_rank1.json.gz"] {
        check(&[sample(name)], name, "events as they were", &mut all);
    }
    if let Some(path) =
        shared("traces/torch/own-torch-2.13__tb_sched_w0__rank0.1795966204009890573.pt.trace.json")
    {
        check(&[path], "own", "events as they were", &mut all);
    }
    all.finish();
}

#[test]
fn windows_of_other_traces_are_written_anew() {
    let mut all = Differences::default();
    check(
        &[sample("nsight_2_workers.sqlite")],
        "nsight",
        "written anew",
        &mut all,
    );
    check(
        &[sample("dftracer_2_workers")],
        "dftracer",
        "written anew",
        &mut all,
    );
    all.finish();
}

#[test]
fn two_recorders_of_one_run_become_one_file() {
    let Some(pair) = shared("traces/pairs/w2_balanced") else {
        return;
    };
    let mut all = Differences::default();
    let paths = [pair.join("torch.json.gz"), pair.join("dft")];
    check(&paths, "pair", "written anew", &mut all);
    all.finish();
}

#[test]
fn begins_and_ends_tables_of_spans_and_their_args_read_back() {
    let dir = scratch("trim-made");
    let mut events = Vec::new();
    for i in 0..40 {
        let ts = 1_000 + i * 100;
        events.push(format!(r#"{{"ph":"B","name":"a {i}","cat":"x","pid":1,"tid":2,"ts":{ts}.001,"args":{{"i":{i},"t":"\",\"args\":{{"}}}}"#));
        events.push(format!(
            r#"{{"ph":"E","pid":1,"tid":2,"ts":{}.5}}"#,
            ts + 60
        ));
        events.push(format!(
            r#"{{"ph":"C","name":"c","pid":1,"ts":{ts}.5,"args":{{"u":{i}.25}}}}"#
        ));
        events.push(format!(
            r#"{{"ph":"i","name":"m","pid":1,"tid":2,"ts":{ts}.5,"s":"t"}}"#
        ));
    }
    let json = dir.join("marks.json");
    std::fs::write(&json, format!("[{}]", events.join(","))).expect("writable");
    let csv = dir.join("own.csv");
    let rows: String = (0..40)
        .map(|i| format!("{},{},s {i},\"x, {i}\"\n", i * 100, i * 100 + 60))
        .collect();
    std::fs::write(&csv, format!("start_us,end_us,name,note\n{rows}")).expect("writable");
    let mut all = Differences::default();
    for path in [&json, &csv] {
        let name = path.file_stem().and_then(|n| n.to_str()).expect("a name");
        check(std::slice::from_ref(path), name, "written anew", &mut all);
        let out = dir.join("out.json");
        let (code, text) = run(&[
            "export",
            path.to_str().expect("a path"),
            "--trim",
            "30%",
            "-o",
            "x",
        ]);
        assert_eq!(code, 2, "{text}");
        save(path, "..", &out);
        let (before, after) = (
            opened(std::slice::from_ref(path)),
            opened(std::slice::from_ref(&out)),
        );
        let args = |analysis: &Analysis| -> Vec<Option<Value>> {
            let (trace, mut reader) = (analysis.trace(), ArgsReader::new());
            let read = trace
                .spans()
                .ids()
                .map(|s| reader.read(trace, s).expect("readable"));
            read.map(|a| a.map(Value::Object)).collect()
        };
        all.check(name, "args", args(&before), args(&after));
        assert!(args(&before).iter().any(Option::is_some), "{name} has args");
        let others = |analysis: &Analysis| {
            let t = analysis.trace();
            let samples: Vec<_> = t
                .counters()
                .iter()
                .map(|c| {
                    (
                        c.name.clone(),
                        c.series.clone(),
                        c.times.clone(),
                        c.values.clone(),
                    )
                })
                .collect();
            (
                samples,
                t.instants().iter().map(|i| i.time).collect::<Vec<_>>(),
            )
        };
        all.check(
            name,
            "samples and instants",
            others(&before),
            others(&after),
        );
    }
    all.finish();
}

#[test]
fn several_ranks_become_one_file_each_and_a_window_without_a_span_none() {
    let dir = scratch("trim-ranks");
    let name = |i: u32| dir.join(format!("rank{i}.json"));
    for rank in 0..2 {
        let event = |ts: i64| {
            format!(
                r#"{{"ph":"X","cat":"cpu_op","name":"op","pid":{},"tid":1,"ts":{ts},"dur":50}}"#,
                10 + rank
            )
        };
        let text = format!(
            r#"{{"schemaVersion":1,"distributedInfo":{{"rank":{rank},"world_size":2}},"baseTimeNanoseconds":1700000000000000000,"traceEvents":[{},{}]}}"#,
            event(100),
            event(900)
        );
        std::fs::write(name(rank), text).expect("writable");
    }
    let paths: Vec<String> = (0..2).map(|i| name(i).display().to_string()).collect();
    let out = dir.join("out.json.gz");
    let out = out.to_str().expect("a path");
    let (code, text) = run(&[
        "export", &paths[0], &paths[1], "--trim", "700us..", "-o", out,
    ]);
    assert_eq!(code, 0, "{text}");
    let made = |rank: u32| dir.join(format!("out.rank{rank}.json.gz"));
    for rank in 0..2 {
        let trace = opened(&[made(rank)]);
        let trace = trace.trace();
        assert_eq!(trace.source(SourceId(0)).rank, Some(rank));
        assert_eq!(trace.spans().len(), 1);
        assert_eq!(trace.unix_origin(), Some(1_700_000_000_000_900_000));
    }
    assert!(!Path::new(out).exists());
    let (code, text) = run(&["export", &paths[0], "--trim", "200us..700us", "-o", out]);
    assert_eq!(code, 4, "{text}");
    assert!(
        text.contains("No span lies between 200.000 µs and 700.000 µs"),
        "{text}"
    );
    let (code, text) = run(&["export", &paths[0], "--trim", "..", "-o", &paths[0]]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("it would overwrite"), "{text}");
    let (code, text) = run(&["export", &paths[0], &paths[1], "--trim", "..", "-o", "-"]);
    assert_eq!(code, 2, "{text}");
}

#[test]
fn a_damaged_window_says_what_it_lost() {
    let dir = scratch("trim-damaged");
    let out = dir.join("out.json");
    save(&sample("nsight_2_workers.sqlite"), "..", &out);
    let text = std::fs::read(&out).expect("readable");
    let look = |bytes: &[u8]| {
        std::fs::write(&out, bytes).expect("writable");
        open(
            std::slice::from_ref(&out),
            &OpenOptions::default(),
            &Progress::new(),
        )
    };
    let codes = |bytes: &[u8]| -> Vec<&'static str> {
        let loaded = look(bytes).expect("opens");
        loaded.report.notices.iter().map(|n| n.code).collect()
    };
    assert!(!codes(&text).contains(&"cut_off"));
    let cut = &text[..text.len() / 2];
    assert!(codes(cut).contains(&"cut_off") && codes(cut).contains(&"bad_event"));
    let broken = String::from_utf8_lossy(&text).replacen("\"lane\":1,", "\"lane\":99999,", 1);
    assert!(codes(broken.as_bytes()).contains(&"bad_lane"));
    for (was, wrong) in [
        ("\"processes\":[", "\"processes\":[7,"),
        ("\"quantum\":0", "\"quantum\":-1"),
        ("\"quantum\":0", "\"quantum\":2305843009213693952"),
    ] {
        let broken = String::from_utf8_lossy(&text).replacen(was, wrong, 1);
        let error = look(broken.as_bytes()).err().expect("refused").to_string();
        assert!(error.contains("Save it again"), "{error}");
    }
}

#[test]
fn links_behind_a_damaged_line_lead_where_they_led() {
    let out = scratch("trim-links").join("out.json");
    save(&sample("nsight_2_workers.sqlite"), "..", &out);
    let text = std::fs::read_to_string(&out).expect("readable");
    let look = |text: &str| {
        std::fs::write(&out, text).expect("writable");
        let loaded = open(
            std::slice::from_ref(&out),
            &OpenOptions::default(),
            &Progress::new(),
        )
        .expect("opens");
        let notices = loaded.report.notices;
        let links = notices.iter().find(|n| n.code == "bad_link");
        let lost = links.map_or(0, |n| n.count);
        (contents(&loaded.trace, &|_| true), lost)
    };
    let launches = |contents: &BTreeMap<String, usize>| -> usize {
        let all = contents.iter().filter(|(k, _)| k.starts_with("launch "));
        all.map(|(_, n)| n).sum()
    };
    let (whole, lost) = look(&text);
    assert_eq!(lost, 0);
    // The call in the middle of those that launched something.
    let spans = text.lines().filter(|l| l.starts_with("{\"ph\":\"X\","));
    let calls = spans.filter_map(|l| Some(l.split_once("\"call\":")?.1));
    let calls: Vec<&str> = calls.filter_map(|l| l.split([',', '}']).next()).collect();
    let call = calls[calls.len() / 2];
    let launched = calls.iter().filter(|&&c| c == call).count();
    let begin = format!("{{\"ph\":\"X\",\"n\":{call},");
    let at = text.find(&begin).expect("its line");
    let end = at + text[at..].find('\n').expect("its end") + 1;
    let (before, behind) = (&text[..at], &text[end..]);
    for damaged in [
        format!("{before}{behind}"),
        format!("{before}{{\"ph\":\"X\",,\n{behind}"),
        format!("{before}{}\n{behind}", "x".repeat(1000)),
    ] {
        let (left, lost) = look(&damaged);
        assert_eq!(lost, launched as u64);
        assert_eq!(launches(&left), launches(&whole) - launched);
        let moved = |(what, n): &(&String, &usize)| whole.get(*what).is_none_or(|all| all < *n);
        let moved: Vec<_> = left.iter().filter(moved).collect();
        assert!(moved.is_empty(), "{moved:?}");
    }
}

#[test]
fn what_was_not_recorded_never_becomes_idle() {
    let Some(path) = shared("cases/public/07c_graph_launches_without_rows.sqlite") else {
        return;
    };
    let out = scratch("trim-lost").join("out.json");
    let name = |p: &Path| p.to_str().expect("a path").to_owned();
    let args = [
        "export",
        &name(&path),
        "--trim",
        "18ms..22ms",
        "-o",
        &name(&out),
    ];
    let (code, text) = run(&args);
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("launched and not recorded"), "{text}");
    assert!(!out.exists());
}

#[test]
fn lag_is_not_known_of_spans_that_reach_out_of_a_window() {
    let (path, out) = (
        sample("torch_real_rank1.json.gz"),
        scratch("trim-lag").join("out.json.gz"),
    );
    save(&path, "100ms..300ms", &out);
    let (before, after) = (opened(&[path]), opened(&[out]));
    let shift = zero(before.trace()) - zero(after.trace());
    let own = OwnRule::default();
    let lags: BTreeMap<String, Option<i64>> = before
        .gpu_side_spans(before.trace().extent())
        .into_iter()
        .map(|s| (span(before.trace(), s), before.span_figures(s, own).lag))
        .collect();
    let start = before.trace().extent().start + shift;
    let window = TimeRange::new(start + 100_000_000, start + 300_000_000);
    let (mut known, mut cut) = (0, 0);
    for id in after.gpu_side_spans(TimeRange::new(i64::MIN / 2, i64::MAX / 2)) {
        let (trace, figures) = (after.trace(), after.span_figures(id, own));
        let inside = window.covers(trace.spans().range(id));
        assert_eq!(figures.cut, !inside, "{}", trace.span_name(id));
        match inside {
            true => assert_eq!(Some(&figures.lag), lags.get(&span(trace, id))),
            false => assert_eq!((figures.lag, figures.start_lag), (None, None)),
        }
        known += usize::from(figures.lag.is_some());
        cut += usize::from(figures.cut && figures.n_ops > 0);
    }
    assert!(known > 100 && cut > 0, "{known} {cut}");
    let rows = after.lag_rows(after.trace().extent(), None);
    let name = |r: &&LagRow| after.trace().name(r.name) == "## backward ##";
    let backward = rows.iter().find(name).expect("a row");
    assert!(backward.cut > 0 && backward.max_lag.is_none_or(|l| l > -1_000_000));
    assert!(
        after
            .tails()
            .iter()
            .all(|t| !after.span_figures(t.span, own).cut)
    );
}

#[test]
fn names_of_other_forms_are_refused_with_a_right_one() {
    let out = scratch("trim-names").join("out.parquet");
    let path = sample("torch_4_workers.json.gz");
    let [path, wrong] = [&path, &out].map(|p| p.to_str().expect("a path"));
    let (code, text) = run(&["export", path, "--trim", "..", "-o", wrong]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("out.json.gz"), "{text}");
    assert!(!out.exists());
}
