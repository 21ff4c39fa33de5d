//! A second, simple reader of torch.profiler JSON: an oracle for the importer and a source of real traces for the
//! analysis. It parses everything, keeps times as they are in the file, and knows no damaged input.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::Read;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use stallscope::analysis::{LaneGroup, Rules};
use stallscope::import::TRACERS;
use stallscope::model::{
    ArgsRef, Device, DeviceId, Lane, LaneId, LaneKind, Process, ProcessId, RawSpan, Role, Source,
    SourceId, SpanRow, Stream, StreamId, SyncScope, Trace, TraceBuilder,
};
use stallscope::time::TimeRange;

/// Selected members of an object, as text. The last of equal keys wins.
struct Members<'a, const N: usize>([Option<&'a RawValue>; N]);

trait Keys<const N: usize> {
    const KEYS: [&'static str; N];
}

struct Object<'a, K, const N: usize>(Members<'a, N>, std::marker::PhantomData<K>);

impl<'de, K: Keys<N>, const N: usize> Deserialize<'de> for Object<'de, K, N> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V<K, const N: usize>(std::marker::PhantomData<K>);
        impl<'de, K: Keys<N>, const N: usize> Visitor<'de> for V<K, N> {
            type Value = Object<'de, K, N>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = [None; N];
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    match K::KEYS.iter().position(|k| *k == key) {
                        Some(i) => members[i] = Some(map.next_value()?),
                        None => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(Object(Members(members), std::marker::PhantomData))
            }
        }
        d.deserialize_map(V(std::marker::PhantomData))
    }
}

struct EventKeys;
impl Keys<8> for EventKeys {
    const KEYS: [&'static str; 8] = ["ph", "cat", "name", "pid", "tid", "ts", "dur", "args"];
}
struct ArgKeys;
impl Keys<3> for ArgKeys {
    const KEYS: [&'static str; 3] = ["device", "stream", "correlation"];
}
struct TopKeys;
impl Keys<1> for TopKeys {
    const KEYS: [&'static str; 1] = ["traceEvents"];
}

fn text(raw: Option<&RawValue>) -> Option<String> {
    let raw = raw?.get();
    serde_json::from_str::<String>(raw)
        .ok()
        .or_else(|| (raw != "null").then(|| raw.to_owned()))
}

/// Microseconds as decimal text to ns, rounded half up.
pub fn ns(raw: Option<&RawValue>) -> i64 {
    let Some(text) = text(raw) else {
        return 0;
    };
    assert!(!text.contains(['e', 'E']), "exponent in {text}");
    let negative = text.starts_with('-');
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut ns: i64 = whole.parse::<i64>().expect("digits") * 1000;
    let mut place = 100;
    for c in fraction.bytes().take(3) {
        ns += i64::from(c - b'0') * place;
        place /= 10;
    }
    if fraction.as_bytes().get(3).is_some_and(|c| *c >= b'5') {
        ns += 1;
    }
    if negative { -ns } else { ns }
}

/// A number, or the digits of a text, or -1.
fn number(raw: Option<&RawValue>) -> Option<i64> {
    let raw = raw?.get();
    if let Ok(n) = raw.parse::<i64>() {
        return Some(n);
    }
    let digits: String = raw.chars().filter(char::is_ascii_digit).collect();
    Some(
        digits
            .parse()
            .ok()
            .filter(|n| *n != 0 || !digits.is_empty())
            .map_or(-1, |n: i64| if n == 0 { -1 } else { n }),
    )
}

fn category(raw: Option<&RawValue>) -> Option<String> {
    let cat = text(raw)?;
    let old = match cat.to_lowercase().as_str() {
        "operator" => "cpu_op",
        "runtime" => "cuda_runtime",
        "kernel" => "kernel",
        "memcpy" => "gpu_memcpy",
        "memset" => "gpu_memset",
        _ => return Some(cat),
    };
    Some(old.to_owned())
}

struct Loader<'r> {
    b: TraceBuilder,
    source: SourceId,
    rules: &'r Rules,
    lanes: HashMap<String, (LaneId, Option<StreamId>)>,
    devices: BTreeMap<i64, DeviceId>,
    processes: HashMap<String, ProcessId>,
}

impl Loader<'_> {
    fn gpu_lane(&mut self, device: i64, stream: i64) -> LaneId {
        let key = format!("G{device}.{stream}");
        if let Some(lane) = self.lanes.get(&key) {
            return lane.0;
        }
        let source = self.source;
        let id = *self.devices.entry(device).or_insert_with(|| {
            self.b.add_device(Device {
                source,
                space: None,
                index: device,
                name: None,
                counts: true,
            })
        });
        let stream = self.b.add_stream(Stream {
            device: id,
            process: None,
            context: None,
            number: stream,
            ops: None,
        });
        let mut lane = Lane::new(source, LaneKind::Gpu, key.as_str());
        lane.stream = Some(stream);
        let lane = self.b.add_lane(lane);
        self.lanes.insert(key, (lane, Some(stream)));
        lane
    }

    fn cpu_lane(&mut self, pid: &str, tid: &str) -> LaneId {
        let key = format!("C{pid}.{tid}");
        if let Some(lane) = self.lanes.get(&key) {
            return lane.0;
        }
        let source = self.source;
        let process = *self.processes.entry(pid.to_owned()).or_insert_with(|| {
            self.b.add_process(Process {
                source,
                pid: pid.to_owned(),
                name: None,
                host: None,
                rank: None,
                space: None,
                role: None,
                parent: None,
                sort_index: 0,
            })
        });
        let mut lane = Lane::new(source, LaneKind::Cpu, key.as_str());
        lane.process = Some(process);
        let lane = self.b.add_lane(lane);
        self.lanes.insert(key, (lane, None));
        lane
    }

    fn is_sync_call(&self, cat: &str, name: &str) -> bool {
        let group = LaneGroup {
            tracer: TRACERS[0].key,
            gpu: false,
            role: Role::Main,
        };
        self.rules.classify(group, cat, name, &|_| None).0 == "sync"
    }
}

/// Reads a file, plain or gzip.
pub fn load(path: &Path, rules: &Rules) -> Trace {
    let bytes = std::fs::read(path).expect("readable");
    let mut json = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(&bytes[..])
            .read_to_end(&mut json)
            .expect("gzip");
    } else {
        json = bytes;
    }
    let json = String::from_utf8_lossy(&json);
    let array = if json.trim_start().starts_with('[') {
        serde_json::from_str::<&RawValue>(&json).expect("JSON")
    } else {
        let top: Object<'_, TopKeys, 1> = serde_json::from_str(&json).expect("JSON");
        top.0.0[0].expect("traceEvents")
    };
    let events: Vec<Object<'_, EventKeys, 8>> = serde_json::from_str(array.get()).expect("events");
    let mut b = TraceBuilder::new().keep_times();
    let source = b.add_source(Source::new(path.to_path_buf(), TRACERS[0]));
    let mut loader = Loader {
        b,
        source,
        rules,
        lanes: HashMap::new(),
        devices: BTreeMap::new(),
        processes: HashMap::new(),
    };
    loader.read(&events);
    loader.b.finish()
}

/// Start, span, category, name.
type Call = (i64, RawSpan, String, String);

struct Sync {
    correlation: String,
    name: String,
    device: Option<i64>,
    stream: Option<String>,
}

impl Loader<'_> {
    fn read(&mut self, events: &[Object<'_, EventKeys, 8>]) {
        let mut calls: HashMap<String, Call> = HashMap::new();
        let mut ops: Vec<(String, RawSpan)> = Vec::new();
        let mut syncs: Vec<Sync> = Vec::new();
        for event in events {
            let [ph, cat, name, pid, tid, ts, dur, args] = event.0.0;
            let (ph, cat) = (text(ph), category(cat));
            if ph.as_deref() != Some("X") {
                continue;
            }
            let (start, length) = (ns(ts), ns(dur));
            let name = text(name).unwrap_or_default();
            if cat.as_deref() == Some("Trace") && name.starts_with("PyTorch Profiler") {
                self.b.set_capture(
                    self.source,
                    TimeRange {
                        start,
                        end: start + length,
                    },
                );
            }
            let Some(cat) = cat.filter(|c| c != "Trace") else {
                continue;
            };
            let args =
                args.and_then(|a| serde_json::from_str::<Object<'_, ArgKeys, 3>>(a.get()).ok());
            let [device, stream, correlation] = args.map_or([None; 3], |a| a.0.0);
            let gpu = matches!(
                cat.to_lowercase().as_str(),
                "kernel"
                    | "gpu_memcpy"
                    | "gpu_memset"
                    | "gpu_user_annotation"
                    | "cuda_sync"
                    | "cuda_event"
            );
            let lane = if gpu {
                let d = number(device.or(pid)).unwrap_or(-1);
                let s = number(stream.or(tid)).unwrap_or(-1);
                self.gpu_lane(d, s)
            } else {
                self.cpu_lane(
                    &text(pid).unwrap_or_default(),
                    &text(tid).unwrap_or_default(),
                )
            };
            let (name_id, cat_id) = (self.b.intern(&name), self.b.category(&cat, true));
            let raw = self.b.add_span(SpanRow {
                lane,
                name: name_id,
                cat: cat_id,
                start,
                dur: length,
                args: ArgsRef::NONE,
            });
            let Some(correlation) = correlation
                .map(|c| c.get().to_owned())
                .filter(|c| c != "null")
            else {
                continue;
            };
            if !gpu {
                let earlier = calls.get(&correlation).is_some_and(|c| c.0 <= start);
                if !earlier {
                    calls.insert(correlation, (start, raw, cat, name));
                }
            } else if matches!(cat.as_str(), "kernel" | "gpu_memcpy" | "gpu_memset") {
                ops.push((correlation, raw));
            } else if cat != "gpu_user_annotation" {
                syncs.push(Sync {
                    correlation,
                    name,
                    device: device.and_then(|d| d.get().parse().ok()),
                    stream: stream.map(|s| s.get().to_owned()),
                });
            }
        }
        for (correlation, op) in ops {
            if let Some(call) = calls.get(&correlation) {
                self.b.link_launch(call.1, op);
            }
        }
        self.scopes(&syncs, &calls);
    }

    /// What blocking calls waited for, from their records on the GPU.
    fn scopes(&mut self, syncs: &[Sync], calls: &HashMap<String, Call>) {
        for sync in syncs
            .iter()
            .filter(|s| s.name == "Stream Sync" || s.name == "Context Sync")
        {
            let Some((_, call, cat, name)) = calls.get(&sync.correlation) else {
                continue;
            };
            if !self.is_sync_call(cat, name) {
                continue;
            }
            let Some(device) = sync.device else {
                continue;
            };
            let key = format!("G{device}.{}", sync.stream.as_deref().unwrap_or("None"));
            let stream = self
                .lanes
                .get(&key)
                .and_then(|l| l.1)
                .filter(|_| sync.name == "Stream Sync");
            let scope = match (stream, self.devices.get(&device)) {
                (Some(stream), _) => SyncScope::Stream(stream),
                (None, Some(&device)) => SyncScope::Device(device),
                (None, None) => continue,
            };
            self.b.set_sync_scope(*call, scope);
        }
    }
}
