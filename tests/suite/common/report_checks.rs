//! Reports compared: values at a path, equal values, and what must hold in every report.

use serde_json::{Value, json};

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

/// A report as references write it: 0 for a figure that is `null` because the trace has no GPU, no wait or no call to
/// the CUDA API.
///
/// # Panics
/// If a figure is `null` where the trace has what it needs, or a number where it has not.
pub fn with_zeros(mut report: Value) -> Value {
    let calls = report["syncs"].as_object().is_some_and(|s| !s.is_empty());
    for gpu in report["gpu"].as_object_mut().expect("gpu").values_mut() {
        // The references know no GPU work that was lost: with some they are no references.
        if gpu["not_recorded"] == 0
            && let Some(parts) = gpu["partition"].as_object_mut()
        {
            parts.shift_remove("not_recorded");
        }
    }
    for (number, rank) in report["ranks"].as_object_mut().expect("ranks") {
        let gpu = !rank["device"].is_null();
        let figures = &mut rank["loop"];
        if !figures.is_null() {
            let fetches = figures["n_fetch"] != 0;
            let steps = figures["n_steps"] != 0;
            let nothing = json!({"sum": 0, "median": steps.then_some(0), "p95": steps.then_some(0),
                "max": steps.then_some(0)});
            // Whether a figure must be known, and whether it may be: launches are calls, too, and tell that there was no
            // synchronising one.
            let known = |figure: &str| match figure {
                "wait" | "wait_unrecorded" => Some((fetches, fetches)),
                "wait_exposed" | "wait_hidden" | "wait_hidden_by_earlier" => {
                    Some((gpu && fetches, gpu && fetches))
                }
                "gpu_busy" | "gpu_idle" | "launched" | "n_ops" => Some((gpu, gpu)),
                "in_sync" => Some((calls, true)),
                _ => None,
            };
            let fill = |place: &str, object: &mut Value, zero: &Value| {
                for (figure, value) in object.as_object_mut().expect("figures") {
                    let Some((must, may)) = known(figure) else {
                        continue;
                    };
                    let fits = if value.is_null() { !must } else { may };
                    assert!(fits, "rank {number} {place}{figure}: {value}");
                    if value.is_null() {
                        *value = zero.clone();
                    }
                }
            };
            // Sums over all recorded waits are zero where there is none: a count stands beside them.
            for figure in ["wait", "wait_unrecorded"] {
                assert!(figures[figure].is_i64(), "rank {number} loop.{figure}");
            }
            for figure in ["wait_exposed", "wait_hidden"] {
                assert_eq!(figures[figure].is_i64(), gpu, "rank {number} loop.{figure}");
                if !gpu {
                    figures[figure] = 0.into();
                }
            }
            if figures["in_sync"].is_null() {
                assert!(!calls, "rank {number} loop.in_sync");
                figures["in_sync"] = 0.into();
            }
            fill("loop.agg.", &mut figures["agg"], &nothing);
            // The references have a sum of nothing; the report knows none.
            for column in figures["agg"]
                .as_object_mut()
                .expect("figures")
                .values_mut()
            {
                if column.get("sum").is_some_and(Value::is_null) {
                    assert!(column["median"].is_null(), "{column}");
                    column["sum"] = 0.into();
                }
            }
            for step in figures["steps"].as_array_mut().expect("steps") {
                fill("loop.steps.", step, &0.into());
            }
            for lag in ["first_kernel", "gpu_lag"] {
                let value = &mut figures["agg"][lag];
                assert_eq!(value.is_null(), !gpu, "rank {number} {lag}");
                if value.is_null() {
                    *value = json!({"sum": 0, "median": null, "p95": null, "max": null});
                }
            }
        }
        let workers = &mut rank["workers"];
        let fill = |object: &mut Value, keys: &[&str]| {
            for &key in keys {
                assert_eq!(object[key].is_null(), !gpu, "rank {number} workers {key}");
                if !gpu {
                    object[key] = 0.into();
                }
            }
        };
        fill(workers, &["hidden_sum", "exposed_sum", "any_load_hidden"]);
        for process in workers["procs"]
            .as_object_mut()
            .expect("procs")
            .values_mut()
        {
            fill(process, &["hidden", "exposed"]);
        }
    }
    report
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
