//! Training loops with random spans, calls and operations, for comparing figures with a recount.

use serde_json::{Map, json};
use stallscope::model::Role;
use stallscope::time::TimeRange;

use crate::common::case::{Case, CaseLane, CaseSpan};

/// splitmix64.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// In `[a, b)`.
    pub fn within(&mut self, a: i64, b: i64) -> i64 {
        a + i64::try_from(self.next() % u64::try_from(b - a).unwrap()).unwrap()
    }
    pub fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.next() % from.len() as u64).unwrap()]
    }
}

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

pub fn make(seed: u64) -> Case {
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
