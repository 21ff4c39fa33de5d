//! What must hold on every trace, and a recount of the figures with sets of single nanoseconds.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::Write;

use rayon::prelude::*;
use serde_json::{Map, Value, json};
use stallscope::analysis::{Analysis, Bag, LayerId, Scope, Union};
use stallscope::export::report::{ReportOptions, report};
use stallscope::model::Role;
use stallscope::time::TimeRange;

#[path = "common/case.rs"]
mod case;

use case::{Case, CaseLane, CaseSpan, invariants};

/// Random traces, unless `STALLSCOPE_PROPS` says otherwise.
const TRACES: u64 = 10_000;
/// The first seed, unless `STALLSCOPE_SEED` says otherwise.
const SEED: u64 = 20_260;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// In `[a, b)`.
    fn within(&mut self, a: i64, b: i64) -> i64 {
        a + i64::try_from(self.next() % u64::try_from(b - a).unwrap()).unwrap()
    }
    fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.next() % from.len() as u64).unwrap()]
    }
}

/// A set of nanoseconds in `[LOW, LOW + SIZE)`, one by one.
#[derive(Clone, PartialEq)]
struct Ticks(Vec<bool>);

const LOW: i64 = -64;
const SIZE: usize = 512;

impl Ticks {
    fn none() -> Self {
        Self(vec![false; SIZE])
    }
    fn of(ranges: impl IntoIterator<Item = TimeRange>) -> Self {
        let mut out = Self::none();
        for r in ranges {
            for t in r.start..r.end {
                out.0[usize::try_from(t - LOW).unwrap()] = true;
            }
        }
        out
    }
    fn zip(&self, other: &Self, f: impl Fn(bool, bool) -> bool) -> Self {
        Self(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(&a, &b)| f(a, b))
                .collect(),
        )
    }
    fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a && b)
    }
    fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a || b)
    }
    fn minus(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a && !b)
    }
    fn len(&self) -> i64 {
        i64::try_from(self.0.iter().filter(|&&t| t).count()).unwrap()
    }
}

const PHASES: [&str; 9] = [
    "fetch",
    "h2d",
    "forward",
    "backward",
    "optimizer",
    "compute",
    "comm",
    "checkpoint",
    "eval",
];
const CPU: [&str; 16] = [
    "fetch",
    "h2d",
    "forward",
    "backward",
    "optimizer",
    "compute",
    "comm",
    "checkpoint",
    "eval",
    "op",
    "annotation",
    "syncop",
    "body",
    "train",
    "epoch",
    "python",
];
const OPS: [&str; 10] = [
    "gpu.compute",
    "gpu.comm",
    "gpu.h2d",
    "gpu.d2h",
    "gpu.d2d",
    "gpu.p2p",
    "gpu.memset",
    "gpu.compute",
    "gpu.compute",
    "gpu.comm",
];

struct Maker {
    rng: Random,
    case: Case,
}

impl Maker {
    fn add(&mut self, lane: usize, layer: &str, name: &str, start: i64, end: i64) -> usize {
        let id = self.case.spans.len();
        self.case.spans.push(CaseSpan {
            id: format!("s{id}"),
            lane,
            layer: Some(layer.to_owned()),
            name: name.to_owned(),
            start,
            end,
            args: Map::new(),
        });
        id
    }

    /// A step of the loop: a wait, phases, calls, operations.
    fn step(&mut self, at: i64, engine: usize, streams: &[usize]) -> i64 {
        let wait = self.rng.within(0, 8);
        if self.rng.chance(80) {
            self.add(0, "fetch", "next", at, at + wait);
            if wait > 2 && self.rng.chance(30) {
                self.add(0, "fetch", "inner", at + 1, at + wait - 1);
            }
        }
        let body = at + wait + self.rng.within(0, 2);
        let length = self.rng.within(2, 14);
        for (start, end) in [(0, length), (1, length - 1), (length - 1, length + 2)] {
            if self.rng.chance(60) {
                let layer = self.rng.pick(&CPU);
                let name = self.rng.pick(&["a", "b", "autograd::engine::x"]);
                self.add(0, layer, name, body + start, body + end.max(start));
            }
        }
        if self.rng.chance(20) {
            self.add(0, "step", "step 3", at, body + length);
        }
        for _ in 0..self.rng.within(0, 4) {
            let start = body + self.rng.within(0, length);
            self.call(start, engine, streams);
        }
        if self.rng.chance(30) {
            let start = body + self.rng.within(0, length);
            let end = start + self.rng.within(-1, 12);
            let call = self.add(0, "sync", "sync", start, end);
            self.scope(call, start);
        }
        body + length + self.rng.within(0, 4)
    }

    fn scope(&mut self, call: usize, start: i64) {
        let lane = self.case.lanes[self.rng.pick(&[4_usize, 5, 6])].id.clone();
        let args = match self.rng.within(0, 4) {
            0 => json!({}),
            1 => json!({"scope": "device", "device": self.rng.within(0, 2)}),
            2 => json!({"scope": "stream", "lane": lane}),
            _ => {
                json!({"scope": "event", "lane": lane, "record_at": start - self.rng.within(0, 4)})
            }
        };
        self.case.spans[call].args = args.as_object().unwrap().clone();
    }

    fn call(&mut self, start: i64, engine: usize, streams: &[usize]) {
        let lane = if self.rng.chance(70) { 0 } else { engine };
        let layer = self.rng.pick(&["launch", "launch", "sync", "op"]);
        let end = start + self.rng.within(0, 4);
        let call = self.add(lane, layer, "call", start, end);
        for _ in 0..self.rng.pick(&[0, 1, 1, 1, 2]) {
            let from = start + self.rng.within(-1, 12);
            let length = self.rng.within(-1, 9);
            let (stream, layer) = (self.rng.pick(streams), self.rng.pick(&OPS));
            let op = self.add(stream, layer, "k", from, from + length);
            if self.rng.chance(85) {
                self.case.launches.push((call, op));
            }
        }
    }
}

fn make(seed: u64) -> Case {
    let mut engine = CaseLane::cpu("A", "1");
    engine.autograd = true;
    let worker = |id: &str, pid: &str| CaseLane {
        role: Role::Worker,
        ..CaseLane::cpu(id, pid)
    };
    let lanes = vec![
        CaseLane::cpu("T", "1"),
        engine,
        worker("W2", "2"),
        worker("W3", "3"),
        CaseLane::gpu("G7", 0, 7),
        CaseLane::gpu("G16", 0, 16),
        CaseLane::gpu("H7", 1, 7),
    ];
    let mut m = Maker {
        rng: Random(seed),
        case: Case {
            source: "torch".to_owned(),
            lanes,
            ..Case::default()
        },
    };
    let streams = if m.rng.chance(70) {
        vec![4, 5]
    } else {
        vec![4, 5, 6]
    };
    let mut at = m.rng.within(0, 5);
    for _ in 0..m.rng.within(1, 8) {
        at = m.step(at, 1, &streams);
    }
    if m.rng.chance(20) {
        m.add(0, "epoch", "epoch", 0, at);
    }
    for lane in [2, 3] {
        let mut t = 0;
        for _ in 0..m.rng.within(0, 5) {
            let start = t + m.rng.within(0, 9);
            t = start + m.rng.within(0, 9);
            let layer = m.rng.pick(&["load", "load", "transform", "io.read"]);
            m.add(lane, layer, "item", start, t);
        }
    }
    m.case.options = json!({"kernel_gap": m.rng.pick(&[0, 2, 5])})
        .as_object()
        .unwrap()
        .clone();
    if m.rng.chance(50) {
        let a = m.rng.within(0, 40);
        m.case.window = Some(TimeRange::new(a, a + m.rng.within(1, 60)));
    }
    m.case.grid = m.rng.pick(&[None, Some(3), Some(5), Some(40)]);
    if m.rng.chance(30) {
        let a = m.rng.within(-3, 6);
        m.case.capture = Some(TimeRange::new(a, a + m.rng.within(30, 120)));
    }
    m.case
}

/// Everything recounted for one trace.
struct Recount<'a> {
    case: &'a Case,
    report: &'a Value,
    window: Ticks,
    bad: Vec<String>,
}

impl Recount<'_> {
    fn ticks(&self, want: impl Fn(&CaseSpan, &CaseLane) -> bool) -> Ticks {
        let spans = self.case.spans.iter();
        let hits = spans.filter(|s| want(s, &self.case.lanes[s.lane]));
        Ticks::of(hits.map(|s| TimeRange::new(s.start, s.end)))
    }

    fn check(&mut self, what: String, got: &Value, want: i64) {
        if got.as_i64() != Some(want) {
            self.bad.push(format!("{what}: {got}, recounted {want}"));
        }
    }

    fn gpu(&mut self, device: i64) {
        let report = self.report;
        let g = &report["gpu"][device.to_string()];
        if g.is_null() {
            return;
        }
        let class = |s: &CaseSpan| {
            s.layer
                .as_deref()
                .unwrap()
                .strip_prefix("gpu.")
                .map(str::to_owned)
        };
        let of = |this: &Self, classes: &[&str]| {
            this.ticks(|s, l| {
                l.gpu && l.device == device && class(s).is_some_and(|c| classes.contains(&&*c))
            })
        };
        let (compute, comm) = (of(self, &["compute"]), of(self, &["comm"]));
        let (copies, h2d) = (of(self, &["h2d", "d2h", "d2d", "p2p"]), of(self, &["h2d"]));
        let memset = of(self, &["memset"]);
        let busy = compute.or(&comm).or(&copies).or(&memset);
        let record = &g["record"];
        let record = TimeRange::new(record[0].as_i64().unwrap(), record[1].as_i64().unwrap());
        let record = Ticks::of([record]);
        let w = self.window.clone();
        let cases = [
            ("busy", busy.and(&w)),
            ("idle", record.and(&w).minus(&busy)),
            ("edge", w.minus(&record)),
            ("comm", comm.and(&w)),
            ("exposed_comm", comm.minus(&compute).and(&w)),
            ("memcpy", copies.and(&w)),
            (
                "exposed_memcpy",
                copies.minus(&compute).minus(&comm).and(&w),
            ),
            ("exposed_h2d", h2d.minus(&compute).minus(&comm).and(&w)),
        ];
        for (key, ticks) in cases {
            self.check(format!("gpu {device} {key}"), &g[key], ticks.len());
        }
        let multiple: i64 = self
            .case
            .spans
            .iter()
            .filter(|s| self.case.lanes[s.lane].gpu && self.case.lanes[s.lane].device == device)
            .map(|s| Ticks::of([TimeRange::new(s.start, s.end)]).and(&w).len())
            .sum();
        self.check(
            format!("gpu {device} sum"),
            &g["sum_of_durations"],
            multiple,
        );
        for rank in report["ranks"].as_object().unwrap().values() {
            if rank["device"] == device {
                self.waits(rank, &busy, &record);
            }
        }
    }

    fn waits(&mut self, rank: &Value, busy: &Ticks, record: &Ticks) {
        let l = &rank["loop"];
        let lane = self
            .case
            .lanes
            .iter()
            .position(|x| l["lane"] == x.id.as_str())
            .unwrap();
        let all = self.ticks(|s, _| s.lane == lane && s.layer.as_deref() == Some("fetch"));
        let wait = all.and(&self.window);
        self.check("wait".into(), &l["wait"], wait.len());
        self.check(
            "exposed".into(),
            &l["wait_exposed"],
            wait.and(record).minus(busy).len(),
        );
        self.check("hidden".into(), &l["wait_hidden"], wait.and(busy).len());
        self.check(
            "unrecorded".into(),
            &l["wait_unrecorded"],
            wait.minus(record).len(),
        );
        let procs = rank["workers"]["procs"].as_object().unwrap();
        for (pid, p) in procs {
            let load = self
                .ticks(|s, l| l.pid.as_deref() == Some(pid) && s.layer.as_deref() == Some("load"));
            let load = load.and(&self.window);
            self.check(format!("load of {pid}"), &p["load"], load.len());
            self.check(
                format!("hidden load of {pid}"),
                &p["hidden"],
                load.and(busy).len(),
            );
            self.check(
                format!("load of {pid} during waits"),
                &p["during_wait"],
                load.and(&all).len(),
            );
        }
        self.phases(l, lane);
    }

    /// The innermost phase, nanosecond by nanosecond.
    fn phases(&mut self, l: &Value, lane: usize) {
        let mut by: BTreeMap<&str, i64> = BTreeMap::new();
        for (i, _) in self.window.0.iter().enumerate().filter(|(_, t)| **t) {
            let t = LOW + i64::try_from(i).unwrap();
            let spans = self.case.spans.iter().enumerate().filter(|(_, s)| {
                s.lane == lane
                    && s.start <= t
                    && t < s.end
                    && PHASES.contains(&s.layer.as_deref().unwrap())
            });
            let inner = spans.max_by_key(|(i, s)| (s.start, -s.end, *i));
            *by.entry(inner.map_or("other", |(_, s)| s.layer.as_deref().unwrap()))
                .or_default() += 1;
        }
        for (name, time) in by {
            self.check(format!("phase {name}"), &l["phases"][name], time);
        }
    }

    fn streams(&mut self) {
        let report = self.report;
        for (key, pair) in report["overlap"].as_object().unwrap() {
            let (a, b) = key.split_once('|').unwrap();
            let busy = |id: &str| self.ticks(|_, l| l.id == id).and(&self.window);
            let both = busy(a).and(&busy(b)).len();
            self.check(format!("streams {key}"), &pair["both"], both);
        }
        for (key, queue) in report["queue"].as_object().unwrap() {
            let (mut area, mut seen) = (0, std::collections::BTreeSet::new());
            for &(call, op) in &self.case.launches {
                let (c, o) = (&self.case.spans[call], &self.case.spans[op]);
                if self.case.lanes[o.lane].id == *key && seen.insert(op) {
                    let waits = TimeRange::new(c.start, o.start);
                    area += Ticks::of([waits]).and(&self.window).len();
                }
            }
            self.check(format!("queue {key}"), &queue["queued_area"], area);
        }
    }

    fn windows(&mut self) {
        let Some(rows) = self.report.get("windows").and_then(Value::as_array) else {
            return;
        };
        let (grid, t0) = (self.case.grid.unwrap(), self.report["t0"].as_i64().unwrap());
        // Only windows that touch the one reported on, each as a whole.
        let t1 = self.report["t1"].as_i64().unwrap();
        let at = |j: i64| TimeRange::new(t0 + j * grid, t0 + (j + 1) * grid);
        let own = |w: &Value| w.as_i64().unwrap();
        let asked = TimeRange::new(
            own(&self.report["window"][0]),
            own(&self.report["window"][1]),
        );
        let all = ((t1 - t0 + grid - 1) / grid).max(1);
        let wanted: Vec<i64> = (0..all).filter(|&j| at(j).overlaps(asked)).collect();
        let numbers: Vec<i64> = rows.iter().map(|r| own(&r["window"])).collect();
        if numbers != wanted {
            let bad = format!("windows {numbers:?}, expected {wanted:?}");
            self.bad.push(bad);
        }
        for (j, row) in numbers.into_iter().zip(rows) {
            let w = Ticks::of([at(j)]);
            let of = |pid: &str| {
                self.ticks(|s, l| {
                    l.pid.as_deref() == Some(pid) && s.layer.as_deref() == Some("load")
                })
                .and(&w)
                .len()
            };
            let (two, three) = (of("2"), of("3"));
            self.check(format!("window {j} sum"), &row["load"]["sum"], two + three);
            self.check(
                format!("window {j} max"),
                &row["load"]["proc_max"],
                two.max(three),
            );
        }
    }

    fn selection(&mut self, analysis: &Analysis, window: TimeRange) {
        let s = analysis.selection(window, Scope::All);
        for g in &s.gpus {
            let sum = g.exposed_wait + g.busy + g.idle_other + g.not_recorded;
            self.check("headline".into(), &window.len().into(), sum);
        }
        let w = &s.wait;
        self.check(
            "wait parts".into(),
            &w.total.into(),
            w.exposed + w.hidden + w.not_recorded,
        );
        let idle: Vec<Ticks> = analysis
            .gpus()
            .iter()
            .map(|g| Ticks::of(g.idle.parts().iter().copied()))
            .collect();
        let mut layers: Vec<&str> = self
            .case
            .spans
            .iter()
            .filter_map(|s| s.layer.as_deref())
            .collect();
        layers.sort_unstable();
        layers.dedup();
        for layer in layers {
            let spans: Vec<&CaseSpan> = self
                .case
                .spans
                .iter()
                .filter(|s| s.layer.as_deref() == Some(layer))
                .collect();
            let end = |s: &CaseSpan| s.end.max(s.start);
            let started = |s: &CaseSpan| window.contains(s.start);
            let touches = |s: &CaseSpan| {
                if end(s) > s.start {
                    s.start < window.end && end(s) > window.start
                } else {
                    started(s)
                }
            };
            let touching = spans.iter().filter(|s| touches(s)).count();
            let id = analysis.layers().find(layer).unwrap();
            let Some(row) = s.rows.iter().find(|r| r.layer == id) else {
                self.check(
                    format!("row {layer}"),
                    &0.into(),
                    i64::try_from(touching).unwrap(),
                );
                continue;
            };
            let wall = self
                .ticks(|s, _| s.layer.as_deref() == Some(layer))
                .and(&self.window);
            let n = spans.iter().filter(|s| started(s));
            let whole: i64 = n.clone().map(|s| end(s) - s.start).sum();
            self.check(format!("{layer} wall"), &row.wall.into(), wall.len());
            self.check(
                format!("{layer} count"),
                &row.count.into(),
                i64::try_from(n.count()).unwrap(),
            );
            self.check(
                format!("{layer} touching"),
                &row.touching.into(),
                i64::try_from(touching).unwrap(),
            );
            self.check(format!("{layer} whole"), &row.whole.into(), whole);
            let past = spans.iter().any(|s| started(s) && end(s) > window.end);
            self.check(
                format!("{layer} past"),
                &i64::from(row.reaches_past).into(),
                past.into(),
            );
            if let (false, Some(g)) = (layer.starts_with("gpu."), analysis.ranks()[0].gpu) {
                let exposed = wall.and(&idle[g]).len();
                self.check(format!("{layer} exposed"), &row.exposed.into(), exposed);
            }
        }
    }
}

fn examine(seed: u64) -> Vec<String> {
    let case = make(seed);
    let built = case.analyse();
    let options = ReportOptions {
        window: case.window,
        grid: case.grid,
        ..ReportOptions::default()
    };
    let report = report(&built.analysis, &options);
    let (a, b) = (
        report["window"][0].as_i64().unwrap(),
        report["window"][1].as_i64().unwrap(),
    );
    let window = TimeRange::new(a, b);
    let mut recount = Recount {
        case: &case,
        report: &report,
        window: Ticks::of([window]),
        bad: invariants(&report),
    };
    recount.gpu(0);
    recount.gpu(1);
    recount.streams();
    recount.windows();
    recount.selection(&built.analysis, window);
    let bad = recount.bad.into_iter();
    bad.map(|b| format!("seed {seed}: {b}")).collect()
}

#[test]
fn figures_of_random_traces_hold_and_equal_a_recount() {
    let (n, seed) = (
        setting("STALLSCOPE_PROPS", TRACES),
        setting("STALLSCOPE_SEED", SEED),
    );
    let _ = writeln!(std::io::stderr(), "{n} random traces from seed {seed}");
    let bad: Vec<String> = (seed..seed + n)
        .into_par_iter()
        .flat_map_iter(examine)
        .collect();
    assert!(
        bad.is_empty(),
        "{} differences, the first:\n{}",
        bad.len(),
        bad[..bad.len().min(40)].join("\n")
    );
}

/// A window's figures add up over any cut of it, whatever was cut.
#[test]
fn figures_add_up_over_disjoint_windows() {
    for seed in 1..400 {
        let analysis = make(seed).analyse().analysis;
        let whole = analysis.trace().extent();
        let mut rng = Random(seed);
        let cut = rng.within(whole.start, whole.end.max(whole.start + 1));
        let parts = [
            TimeRange::new(whole.start, cut),
            TimeRange {
                start: cut,
                end: whole.end,
            },
        ];
        let of = |w: TimeRange| {
            let s = analysis.selection(w, Scope::Rank(0));
            let rows = s.rows.iter().map(|r| {
                let count = i64::try_from(r.count).unwrap();
                (r.layer, [r.wall, r.sum, r.exposed, r.whole, count])
            });
            rows.collect::<BTreeMap<LayerId, [i64; 5]>>()
        };
        let mut sum: BTreeMap<LayerId, [i64; 5]> = BTreeMap::new();
        for (layer, row) in parts.into_iter().flat_map(of) {
            let slot = sum.entry(layer).or_default();
            for (s, x) in slot.iter_mut().zip(row) {
                *s += x;
            }
        }
        assert_eq!(sum, of(whole), "seed {seed}, cut at {cut}");
    }
}

fn ranges(rng: &mut Random) -> Vec<TimeRange> {
    let n = rng.within(0, 9);
    (0..n)
        .map(|_| {
            let start = rng.within(0, 60);
            TimeRange::new(start, start + rng.pick(&[0, 1, 2, 5, 9]))
        })
        .collect()
}

#[test]
fn interval_algebra_equals_sets_of_nanoseconds() {
    let seed = setting("STALLSCOPE_SEED", SEED);
    let _ = writeln!(std::io::stderr(), "intervals from seed {seed}");
    let mut rng = Random(seed);
    for round in 0..20_000 {
        let (x, y) = (ranges(&mut rng), ranges(&mut rng));
        let a = rng.within(0, 60);
        let w = TimeRange::new(a, a + rng.within(0, 30));
        let (u, v) = (Union::new(x.clone()), Union::new(y.clone()));
        let (tx, ty, tw) = (Ticks::of(x.clone()), Ticks::of(y.clone()), Ticks::of([w]));
        let ticks = |u: &Union| {
            let apart = u.parts().windows(2).all(|p| p[0].end < p[1].start);
            assert!(
                apart && u.parts().iter().all(|p| !p.is_empty()),
                "round {round}: {u:?}"
            );
            Ticks::of(u.parts().iter().copied())
        };
        let checks = [
            (ticks(&u), tx.clone()),
            (ticks(&u.intersect(&v)), tx.and(&ty)),
            (ticks(&u.subtract(&v)), tx.minus(&ty)),
            (ticks(&u.unite(&v)), tx.or(&ty)),
            (ticks(&u.clip(w)), tx.and(&tw)),
        ];
        for (i, (got, want)) in checks.into_iter().enumerate() {
            assert!(
                got == want,
                "round {round}, operation {i}: {x:?} {y:?} {w:?}"
            );
        }
        assert_eq!(u.measure(), tx.len());
        assert_eq!(
            u.measure_in(w),
            tx.and(&tw).len(),
            "round {round}: {x:?} {w:?}"
        );
        assert_eq!(u.measure_common(&v, w), tx.and(&ty).and(&tw).len());
        assert_eq!(u.contains(a), tx.0[usize::try_from(a - LOW).unwrap()]);
        let bag = Bag::new(x.clone());
        let clipped: i64 = x.iter().map(|r| r.clip(w).len()).sum();
        assert_eq!(bag.clipped_sum(w), clipped, "round {round}: {x:?} {w:?}");
        let depth = |t: i64| x.iter().filter(|r| r.contains(t)).count() as u64;
        assert_eq!(
            bag.max_depth(),
            (0..80).map(depth).max().unwrap(),
            "round {round}: {x:?}"
        );
        // A finer grid never lowers the summed busiest process.
        let procs: Vec<Union> = (0..3).map(|_| Union::new(ranges(&mut rng))).collect();
        let busiest = |grid: i64| -> i64 {
            let at = (0..72 / grid).map(|i| TimeRange::new(i * grid, (i + 1) * grid));
            at.map(|w| procs.iter().map(|p| p.measure_in(w)).max().unwrap())
                .sum()
        };
        let grids = [busiest(72), busiest(36), busiest(12), busiest(4)];
        assert!(grids.is_sorted(), "round {round}: {grids:?}");
        assert!(grids[3] <= procs.iter().map(Union::measure).sum());
    }
    // Very different sizes: the intersection searches instead of merging.
    let many = Union::new((0..500).map(|i| TimeRange::new(i, i + i % 2)).collect());
    let few = Union::new(vec![TimeRange::new(3, 40), TimeRange::new(90, 91)]);
    let both = many.intersect(&few);
    assert_eq!(both, few.intersect(&many));
    let common = few.parts().iter().map(|p| many.measure_in(*p)).sum::<i64>();
    assert_eq!(both.measure(), common);
}
