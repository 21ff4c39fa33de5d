//! Hand-made traces: read from JSON or generated, built through the public builder, analysed, reported.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};
use stallscope::analysis::{Analysis, ArgSource, LayerId, Options, Rules, Strategy};
use stallscope::export::report::{ReportOptions, report};
use stallscope::model::{
    ArgsOrigin, ArgsRef, Clock, Device, DeviceId, Lane, LaneId, LaneKind, Process, RawSpan, Role,
    Source, SpanId, SpanRow, Stream, StreamId, SyncScope, Trace, TraceBuilder, Tracer,
};
use stallscope::time::TimeRange;

/// One lane of a case.
#[derive(Clone, Debug)]
pub struct CaseLane {
    pub id: String,
    pub gpu: bool,
    pub pid: Option<String>,
    pub device: i64,
    pub stream: i64,
    pub role: Role,
    pub autograd: bool,
    pub rank: u32,
}

impl CaseLane {
    /// A CPU lane.
    pub fn cpu(id: &str, pid: &str) -> Self {
        Self {
            id: id.to_owned(),
            gpu: false,
            pid: Some(pid.to_owned()),
            device: 0,
            stream: 0,
            role: Role::Main,
            autograd: false,
            rank: 0,
        }
    }

    /// A lane of operations.
    pub fn gpu(id: &str, device: i64, stream: i64) -> Self {
        Self {
            gpu: true,
            pid: None,
            device,
            stream,
            ..Self::cpu(id, "")
        }
    }
}

/// One span of a case; `layer` = `None` asks the rules.
#[derive(Clone, Debug)]
pub struct CaseSpan {
    pub id: String,
    pub lane: usize,
    pub layer: Option<String>,
    pub name: String,
    pub start: i64,
    pub end: i64,
    pub args: Map<String, Value>,
}

/// A hand-made trace and what to report of it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub source: String,
    pub lanes: Vec<CaseLane>,
    pub spans: Vec<CaseSpan>,
    /// (call, operation) by index of span.
    pub launches: Vec<(usize, usize)>,
    pub fwdbwd: Vec<(usize, usize)>,
    pub capture: Option<TimeRange>,
    pub window: Option<TimeRange>,
    pub grid: Option<i64>,
    pub options: Map<String, Value>,
}

/// A case after analysis.
pub struct Built {
    pub analysis: Analysis,
    /// Number in the trace by index of the case's span.
    pub numbers: Vec<SpanId>,
}

struct CaseArgs {
    args: Vec<Map<String, Value>>,
    places: BTreeMap<SpanId, usize>,
}

impl ArgSource for CaseArgs {
    fn arg(&self, span: SpanId, key: &str) -> Option<String> {
        let value = self.args[self.places[&span]].get(key)?;
        Some(
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned),
        )
    }
}

fn scaled(value: &Value, scale: f64) -> i64 {
    if scale == 1.0
        && let Some(exact) = value.as_i64()
    {
        return exact;
    }
    (value.as_f64().expect("a number") * scale).round_ties_even() as i64
}

pub fn role(text: &str) -> Role {
    let all = [
        Role::Main,
        Role::Worker,
        Role::Pin,
        Role::Autograd,
        Role::Other,
    ];
    all.into_iter().find(|r| r.key() == text).expect("a role")
}

pub fn tracer(text: &str) -> Tracer {
    let all = [Tracer::Torch, Tracer::Nsight, Tracer::Dftracer];
    all.into_iter().find(|t| t.key() == text).expect("a tracer")
}

fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

impl Case {
    /// From the JSON of a case file.
    pub fn parse(json: &Value) -> Self {
        let scale = json
            .get("scale")
            .map_or(1.0, |s| s.as_f64().expect("scale"));
        let pair = |v: &Value| TimeRange {
            start: scaled(&v[0], scale),
            end: scaled(&v[1], scale),
        };
        let lanes: Vec<CaseLane> = json["lanes"]
            .as_array()
            .expect("lanes")
            .iter()
            .map(lane)
            .collect();
        let place = |id: &str| lanes.iter().position(|l| l.id == id).expect("a lane");
        let mut spans = Vec::new();
        let mut by_id = BTreeMap::new();
        for row in json["spans"].as_array().expect("spans") {
            by_id.insert(word(&row[0]), spans.len());
            spans.push(CaseSpan {
                id: word(&row[0]),
                lane: place(&word(&row[1])),
                layer: row[2].as_str().map(str::to_owned),
                name: word(&row[3]),
                start: scaled(&row[4], scale),
                end: scaled(&row[5], scale),
                args: row
                    .get(6)
                    .and_then(Value::as_object)
                    .cloned()
                    .unwrap_or_default(),
            });
        }
        let (mut launches, mut fwdbwd) = (Vec::new(), Vec::new());
        for link in json
            .get("links")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let ends = (by_id[&word(&link[1])], by_id[&word(&link[2])]);
            if link[0] == "launch" {
                &mut launches
            } else {
                &mut fwdbwd
            }
            .push(ends);
        }
        Self {
            source: json.get("source").map_or("torch".to_owned(), word),
            lanes,
            spans,
            launches,
            fwdbwd,
            capture: json.get("capture").filter(|c| !c.is_null()).map(pair),
            window: json.get("window").filter(|w| !w.is_null()).map(pair),
            grid: json.get("grid").and_then(Value::as_i64),
            options: json
                .get("options")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
        }
    }

    /// Settings: the defaults, without tolerance for returning calls, and what the case changes.
    pub fn options(&self) -> Options {
        let mut o = Options {
            sync_tol: 0,
            strategy: Strategy::Ddp,
            ..Options::default()
        };
        for (key, value) in &self.options {
            let int = || value.as_i64().expect("an integer");
            let size = || usize::try_from(int()).expect("not negative");
            let float = || value.as_f64().expect("a number");
            match key.as_str() {
                "kernel_gap" => o.kernel_gap = int(),
                "sync_tol" => o.sync_tol = int(),
                "lag_flag" => o.lag_flag = int(),
                "warn" => o.warn = float(),
                "crit" => o.crit = float(),
                "min_steps_warn" => o.min_steps_warn = size(),
                "min_steps_crit" => o.min_steps_crit = size(),
                "compute_bound" => o.compute_bound = float(),
                "straggler_warn" => o.straggler_warn = float(),
                "straggler_crit" => o.straggler_crit = float(),
                "cause_cov" => o.cause_cov = float(),
                "strategy" if value == "fsdp" => o.strategy = Strategy::Fsdp,
                "origin" => {}
                other => panic!("unknown option {other}"),
            }
        }
        o
    }

    /// The trace, and the places of its spans.
    pub fn trace(&self) -> Trace {
        let mut b = TraceBuilder::new().keep_times();
        let source = b.add_source(Source {
            path: PathBuf::from("case.json"),
            tracer: tracer(&self.source),
            producer: String::new(),
            clock: Clock::Unknown,
            to_trace_ns: 0,
            shift_ns: 0,
            capture: None,
            rank: None,
            args: ArgsOrigin::None,
        });
        let mut processes = BTreeMap::new();
        let mut devices: BTreeMap<i64, DeviceId> = BTreeMap::new();
        let mut streams: Vec<Option<StreamId>> = Vec::new();
        for l in &self.lanes {
            let kind = if l.gpu { LaneKind::Gpu } else { LaneKind::Cpu };
            let mut lane = Lane::new(source, kind, l.id.as_str());
            lane.rank = l.rank;
            lane.role = Some(l.role);
            lane.autograd = Some(l.autograd);
            if l.gpu {
                let device = *devices.entry(l.device).or_insert_with(|| {
                    b.add_device(Device {
                        source,
                        index: l.device,
                        name: None,
                        counts: true,
                    })
                });
                lane.stream = Some(b.add_stream(Stream {
                    device,
                    process: None,
                    context: None,
                    number: l.stream,
                    ops: None,
                }));
            } else if let Some(pid) = &l.pid {
                lane.process = Some(*processes.entry(pid.clone()).or_insert_with(|| {
                    b.add_process(Process {
                        source,
                        pid: pid.clone(),
                        name: None,
                        host: None,
                        rank: l.rank,
                        role: None,
                        parent: None,
                        sort_index: 0,
                    })
                }));
            }
            streams.push(lane.stream);
            b.add_lane(lane);
        }
        let raw: Vec<RawSpan> = (0..self.spans.len()).map(|i| self.add(&mut b, i)).collect();
        for &(call, op) in &self.launches {
            b.link_launch(raw[call], raw[op]);
        }
        for &(forward, backward) in &self.fwdbwd {
            b.link_fwdbwd(raw[forward], raw[backward]);
        }
        for (span, raw) in self.spans.iter().zip(&raw) {
            if let Some(scope) = self.scope(span, &devices, &streams) {
                b.set_sync_scope(*raw, scope);
            }
        }
        if let Some(capture) = self.capture {
            b.set_capture(source, capture);
        }
        b.finish()
    }

    fn add(&self, b: &mut TraceBuilder, i: usize) -> RawSpan {
        let span = &self.spans[i];
        let cat = span.args.get("cat").map_or(String::new(), word);
        let (name, cat) = (b.intern(&span.name), b.category(&cat, true));
        b.add_span(SpanRow {
            lane: LaneId(u32::try_from(span.lane).expect("few")),
            name,
            cat,
            start: span.start,
            dur: span.end - span.start,
            args: ArgsRef::row(0, i64::try_from(i).expect("few")),
        })
    }

    fn scope(
        &self,
        span: &CaseSpan,
        devices: &BTreeMap<i64, DeviceId>,
        streams: &[Option<StreamId>],
    ) -> Option<SyncScope> {
        let stream = || {
            let id = word(&span.args["lane"]);
            let place = self.lanes.iter().position(|l| l.id == id).expect("a lane");
            streams[place].expect("a stream")
        };
        match span.args.get("scope")?.as_str()? {
            "device" => {
                let number = span.args.get("device").and_then(Value::as_i64);
                let only = || *devices.keys().next().expect("a device");
                Some(SyncScope::Device(devices[&number.unwrap_or_else(only)]))
            }
            "stream" => Some(SyncScope::Stream(stream())),
            "event" => Some(SyncScope::Event {
                stream: stream(),
                record_at: span.args["record_at"].as_i64().expect("record_at"),
            }),
            _ => None,
        }
    }

    /// Builds and analyses.
    pub fn analyse(&self) -> Built {
        let trace = Arc::new(self.trace());
        let mut numbers = vec![SpanId(0); self.spans.len()];
        let mut places = BTreeMap::new();
        for id in trace.spans().ids() {
            let (_, row) = trace.spans().args(id).as_row().expect("a place");
            let place = usize::try_from(row).expect("not negative");
            numbers[place] = id;
            places.insert(id, place);
        }
        let args = CaseArgs {
            args: self.spans.iter().map(|s| s.args.clone()).collect(),
            places,
        };
        static BUILTIN: LazyLock<Rules> = LazyLock::new(Rules::builtin);
        let mut text = String::from("format = 1\n");
        let vocabulary = &*BUILTIN;
        let mut unknown: Vec<&String> =
            self.spans.iter().filter_map(|s| s.layer.as_ref()).collect();
        unknown.retain(|l| vocabulary.layer_id(l).is_none());
        unknown.sort();
        unknown.dedup();
        for layer in unknown {
            text += &format!(
                "[[rule]]\nid = \"{layer}\"\nsource = []\nname = 'x'\nlayer = \"{layer}\"\n"
            );
        }
        let rules = if text.contains("[[rule]]") {
            let (rules, problems) = Rules::parse(&text, "layers of the case");
            assert_eq!(problems, []);
            rules
        } else {
            vocabulary.clone()
        };
        let mut layers: Vec<Option<LayerId>> = vec![None; self.spans.len()];
        for (span, number) in self.spans.iter().zip(&numbers) {
            layers[number.index()] = span.layer.as_ref().and_then(|l| rules.layer_id(l));
        }
        let analysis =
            Analysis::with_layers(trace, &layers, &rules, &self.options(), &args, &|_| true)
                .expect("nobody cancels");
        Built { analysis, numbers }
    }

    /// The report, with the case's own ids as keys of spans.
    pub fn report(&self) -> Value {
        let built = self.analyse();
        let mut out = report(
            &built.analysis,
            &ReportOptions {
                window: self.window,
                grid: self.grid,
                origin: self.options.get("origin").and_then(Value::as_i64),
                ..ReportOptions::default()
            },
        );
        let id_of: BTreeMap<String, &String> = built
            .numbers
            .iter()
            .zip(&self.spans)
            .map(|(n, s)| (n.0.to_string(), &s.id))
            .collect();
        for table in ["annotations", "syncs", "bwd_of"] {
            let old = std::mem::take(out[table].as_object_mut().expect("an object"));
            out[table] = old
                .into_iter()
                .map(|(k, v)| (id_of[&k].clone(), v))
                .collect::<Map<String, Value>>()
                .into();
        }
        out
    }
}

fn lane(l: &Value) -> CaseLane {
    let int = |k: &str| l.get(k).and_then(Value::as_i64).unwrap_or(0);
    CaseLane {
        id: word(&l["id"]),
        gpu: l["kind"] == "gpu",
        pid: l.get("pid").filter(|p| !p.is_null()).map(word),
        device: int("device"),
        stream: int("stream"),
        role: l
            .get("role")
            .and_then(Value::as_str)
            .map_or(Role::Main, role),
        autograd: l.get("autograd").and_then(Value::as_bool).unwrap_or(false),
        rank: u32::try_from(int("rank")).expect("a rank"),
    }
}

/// Whether a reported value is the expected one: floats within a millionth, everything else exactly.
pub fn same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Number(e), Value::Number(g)) => match (e.as_i64(), g.as_i64()) {
            (Some(e), Some(g)) => e == g,
            _ => (e.as_f64().unwrap_or(0.0) - g.as_f64().unwrap_or(0.0)).abs() < 1e-6,
        },
        (Value::Array(e), Value::Array(g)) => {
            e.len() == g.len() && e.iter().zip(g).all(|(e, g)| same(e, g))
        }
        (Value::Object(e), Value::Object(g)) => {
            e.len() == g.len() && e.iter().all(|(k, e)| g.get(k).is_some_and(|g| same(e, g)))
        }
        _ => expected == got,
    }
}

/// The value at a dotted path; keys may contain dots.
pub fn dig(value: &Value, path: &str) -> Option<Value> {
    if path.is_empty() {
        return Some(value.clone());
    }
    let cuts = path
        .char_indices()
        .filter(|(_, c)| *c == '.')
        .map(|(i, _)| i);
    let mut ends: Vec<usize> = cuts.chain([path.len()]).collect();
    ends.reverse();
    for end in ends {
        let (key, rest) = (&path[..end], path.get(end + 1..).unwrap_or(""));
        let next = match value {
            Value::Array(list) => key.parse::<usize>().ok().and_then(|i| list.get(i)),
            Value::Object(map) => map.get(key),
            _ => None,
        };
        if let Some(found) = next.and_then(|n| dig(n, rest)) {
            return Some(found);
        }
    }
    None
}

fn number(v: &Value) -> i64 {
    v.as_i64().unwrap_or(i64::MIN)
}

fn sum(v: &Value) -> i64 {
    v.as_object().map_or(0, |o| o.values().map(number).sum())
}

fn wait_parts(v: &Value) -> i64 {
    number(&v["wait_exposed"]) + number(&v["wait_hidden"]) + number(&v["wait_unrecorded"])
}

/// Things that must hold in every report.
pub fn invariants(report: &Value) -> Vec<String> {
    let mut found = Found(Vec::new());
    let length = number(&report["window"][1]) - number(&report["window"][0]);
    for (d, g) in report["gpu"].as_object().expect("gpu") {
        found.gpu(d, g, length);
    }
    for (r, rank) in report["ranks"].as_object().expect("ranks") {
        found.rank(r, rank, length);
    }
    let windows = report.get("windows").and_then(Value::as_array);
    for row in windows.into_iter().flatten() {
        let cells = row.as_object().expect("a row").iter();
        for (k, cell) in cells.filter(|(k, _)| *k != "window") {
            found.most(&format!("windows {k}"), &cell["proc_max"], &cell["sum"]);
        }
    }
    for (k, o) in report["overlap"].as_object().expect("overlap") {
        found.most(&format!("overlap {k}"), &o["both"], &o["min_busy"]);
    }
    found.0
}

struct Found(Vec<String>);

impl Found {
    fn same(&mut self, what: &str, a: i64, b: i64) {
        if a != b {
            self.0.push(format!("{what}: {a} != {b}"));
        }
    }

    fn most(&mut self, what: &str, part: &Value, whole: &Value) {
        if number(part) > number(whole) {
            self.0.push(format!("{what}: {part} > {whole}"));
        }
    }

    fn gpu(&mut self, d: &str, g: &Value, length: i64) {
        let n = |k: &str| number(&g[k]);
        self.same(&format!("gpu {d}: partition"), sum(&g["partition"]), length);
        let all = n("busy") + n("idle") + n("edge");
        self.same(&format!("gpu {d}: busy+idle+edge"), all, length);
        self.same(
            &format!("gpu {d}: gap classes"),
            sum(&g["gap_class"]),
            n("idle"),
        );
        if g.get("idle_by_phase").is_some() {
            self.same(
                &format!("gpu {d}: idle by phase"),
                sum(&g["idle_by_phase"]),
                n("idle"),
            );
        }
        self.most(
            &format!("gpu {d}: exposed comm"),
            &g["exposed_comm"],
            &g["comm"],
        );
        self.most(
            &format!("gpu {d}: exposed memcpy"),
            &g["exposed_memcpy"],
            &g["memcpy"],
        );
        let parts = ["compute", "comm", "memcpy", "memset"];
        let busy = parts.iter().map(|k| number(&g["partition"][k])).sum();
        self.same(&format!("gpu {d}: partition of busy"), busy, n("busy"));
    }

    fn rank(&mut self, r: &str, rank: &Value, length: i64) {
        let l = &rank["loop"];
        if !l.is_null() {
            self.same(
                &format!("rank {r}: wait parts"),
                wait_parts(l),
                number(&l["wait"]),
            );
            self.same(&format!("rank {r}: phases"), sum(&l["phases"]), length);
            for (i, s) in l["steps"].as_array().expect("steps").iter().enumerate() {
                let what = format!("rank {r} step {i}");
                self.same(
                    &format!("{what}: phases"),
                    sum(&s["phases"]),
                    number(&s["time"]),
                );
                self.same(
                    &format!("{what}: wait parts"),
                    wait_parts(s),
                    number(&s["wait"]),
                );
                self.most(&what, &s["wait_hidden_by_earlier"], &s["wait_hidden"]);
            }
        }
        for (p, w) in rank["workers"]["procs"].as_object().expect("procs") {
            let parts = ["hidden", "exposed", "unrecorded"];
            let parts = parts.iter().map(|k| number(&w[k])).sum();
            self.same(
                &format!("rank {r} process {p}: load parts"),
                parts,
                number(&w["load"]),
            );
        }
    }
}

/// Every test crate compiles all of this and uses a part of it; naming the rest here keeps the lints quiet.
const _: fn() = || {
    let _ = (
        CaseLane::gpu,
        Case::parse,
        Case::report,
        same,
        dig,
        invariants,
        role,
        tracer,
    );
};
