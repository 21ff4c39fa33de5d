//! Hand-made traces: read from JSON or generated, built through the public builder, analysed, reported.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};
use stallscope::analysis::{Analysis, ArgSource, Found, GoOn, LayerId, Options, Rules};
use stallscope::export::report::{ReportOptions, report};
use stallscope::import::TRACERS;
use stallscope::model::{
    ArgsRef, Device, DeviceId, Lane, LaneId, LaneKind, Process, RawSpan, Role, Source, SpanId,
    SpanRow, Stream, StreamId, SyncScope, Trace, TraceBuilder, TracerFacts,
};
use stallscope::time::TimeRange;

#[path = "report_checks.rs"]
mod checks;

pub use checks::{dig, invariants, same, with_zeros};

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
    fn each(&self, spans: &[SpanId], _go_on: &GoOn<'_>, found: &mut Found<'_>) {
        for &span in spans {
            let args = &self.args[self.places[&span]];
            let text = |key: &str| {
                let value = args.get(key)?;
                let text = value.as_str().map(str::to_owned);
                Some(text.unwrap_or_else(|| value.to_string()))
            };
            if !found(span, &text) {
                return;
            }
        }
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

pub fn tracer(key: &str) -> &'static TracerFacts {
    let mut all = TRACERS.iter();
    all.find(|t| t.key == key).expect("a tracer")
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
                "cause_cov" => o.cause_cov = float(),
                // Who is late is told by collectives, whatever the strategy.
                "straggler_warn" | "straggler_crit" | "strategy" | "origin" => {}
                other => panic!("unknown option {other}"),
            }
        }
        o
    }

    /// The trace, and the places of its spans.
    pub fn trace(&self) -> Trace {
        let mut b = TraceBuilder::new().keep_times();
        let source = b.add_source(Source::new("case.json", tracer(&self.source)));
        let mut processes = BTreeMap::new();
        let mut devices: BTreeMap<i64, DeviceId> = BTreeMap::new();
        let mut streams: Vec<Option<StreamId>> = Vec::new();
        for l in &self.lanes {
            let kind = if l.gpu { LaneKind::Gpu } else { LaneKind::Cpu };
            let mut lane = Lane::new(source, kind, l.id.as_str());
            lane.rank = Some(l.rank);
            lane.role = Some(l.role);
            lane.autograd = Some(l.autograd);
            if l.gpu {
                let device = *devices.entry(l.device).or_insert_with(|| {
                    b.add_device(Device {
                        source,
                        space: None,
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
                        space: None,
                        host: None,
                        rank: Some(l.rank),
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

    /// The report, with the case's own ids as keys of spans, and 0 for what is unknown.
    pub fn report(&self) -> Value {
        let built = self.analyse();
        let options = ReportOptions {
            window: self.window,
            grid: self.grid,
            origin: self.options.get("origin").and_then(Value::as_i64),
            ..ReportOptions::default()
        };
        let mut out = with_zeros(report(&built.analysis, &options));
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
