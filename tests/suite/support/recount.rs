//! The figures of a report once more, counted with sets of single nanoseconds.

use std::collections::BTreeMap;

use serde_json::Value;
use stallscope::analysis::{Analysis, Scope};

use stallscope::time::TimeRange;

use crate::common::case::{Case, CaseLane, CaseSpan};

/// A set of nanoseconds in `[LOW, LOW + SIZE)`, one by one.
#[derive(Clone, PartialEq)]
pub struct Ticks(pub Vec<bool>);

pub const LOW: i64 = -64;
const SIZE: usize = 512;

impl Ticks {
    fn none() -> Self {
        Self(vec![false; SIZE])
    }
    pub fn of(ranges: impl IntoIterator<Item = TimeRange>) -> Self {
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
    pub fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a && b)
    }
    pub fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a || b)
    }
    pub fn minus(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a && !b)
    }
    pub fn len(&self) -> i64 {
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
/// Everything recounted for one trace.
pub struct Recount<'a> {
    pub case: &'a Case,
    pub report: &'a Value,
    pub window: Ticks,
    pub bad: Vec<String>,
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

    pub fn gpu(&mut self, device: i64) {
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

    pub fn streams(&mut self) {
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

    pub fn windows(&mut self) {
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

    pub fn selection(&mut self, analysis: &Analysis, window: TimeRange) {
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
            let overlap = |s: &CaseSpan| end(s).min(window.end) - s.start.max(window.start);
            let touching = || spans.iter().filter(|s| touches(s));
            let clipped: i64 = touching().map(|s| overlap(s)).sum();
            self.check(format!("{layer} clipped"), &row.clipped.into(), clipped);
            let whole: i64 = touching().map(|s| end(s) - s.start).sum();
            let got = row.whole_touching.into();
            self.check(format!("{layer} whole of touching"), &got, whole);
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
