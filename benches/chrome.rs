//! Reading torch.profiler JSON: touching the bytes, serde_json (typed, exact numbers through `RawValue`), the importer
//! with one and two threads, and from gzip. Opening includes sorting, links and sub-rows.
//!
//! `STALLSCOPE_BENCH_CHROME` names a file to use in place of the one that is made here; `STALLSCOPE_BENCH_MB` is the
//! size of the latter (64). Ratios of best times are printed first.

#![expect(clippy::print_stdout, reason = "ratios are what the run is for")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use divan::Bencher;
use divan::counter::BytesCount;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use stallscope::import::{OpenOptions, Progress, open};

#[path = "support/rounds.rs"]
mod rounds;
use rounds::{best_of, ratio};

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::var_os("STALLSCOPE_BENCH_CHROME").map_or_else(
        || {
            let mb = std::env::var("STALLSCOPE_BENCH_MB").ok();
            make(mb.and_then(|mb| mb.parse().ok()).unwrap_or(64) << 20)
        },
        PathBuf::from,
    )
});

static GZIP: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench.json.gz");
    let mut gzip = flate2::write::GzEncoder::new(
        std::fs::File::create(&path).expect("writable target folder"),
        flate2::Compression::default(),
    );
    let mut text = std::fs::File::open(&*FILE).expect("file");
    std::io::copy(&mut text, &mut gzip).expect("writable target folder");
    gzip.finish().expect("writable target folder");
    path
});

fn main() {
    print_ratios();
    divan::main();
}

fn print_ratios() {
    let bytes = std::fs::metadata(&*FILE).expect("file").len();
    let gzip = GZIP.as_path();
    let [serde, one, two, inflate, open_gzip] = best_of(
        5,
        (bytes as f64 / 1e9, "GB"),
        [
            (
                "read + serde_json, columns only",
                Box::new(|| {
                    let text = std::fs::read(&*FILE).expect("file");
                    black_box(with_serde(&text));
                }),
            ),
            ("open, 1 thread", Box::new(|| _ = open_with(&FILE, 1))),
            ("open, 2 threads", Box::new(|| _ = open_with(&FILE, 2))),
            ("inflate only", Box::new(|| _ = black_box(inflate()))),
            ("open .gz, 2 threads", Box::new(|| _ = open_with(gzip, 2))),
        ],
    );
    ratio("serde_json / open, 1 thread", serde, one);
    ratio("1 thread / 2 threads", one, two);
    ratio("open .gz / (inflate + open)", open_gzip, inflate + two);
}

/// Events as Kineto lays them out: Python frames, operators, calls, kernels, flows.
fn make(size: usize) -> PathBuf {
    let mut text = String::with_capacity(size + (1 << 20));
    text.push_str(
        "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"GPU\"}],\n  \
         \"baseTimeNanoseconds\": 1722000000000000000,\n  \"traceEvents\": [\n",
    );
    let (mut i, mut ts) = (0_u64, 5_000_000_000_000_u64);
    let us = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
    while text.len() < size {
        i += 1;
        ts += 31_007 + i % 977;
        let mut x = |cat: &str, name: &str, pid: u32, tid: u32, ts: u64, dur: u64, args: &str| {
            writeln!(
                text,
                "  {{\n    \"ph\": \"X\", \"cat\": \"{cat}\", \"name\": \"{name}\", \"pid\": {pid}, \"tid\": {tid},\n    \
                 \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      {args}\n    }}\n  }},",
                us(ts),
                us(dur),
            )
            .expect("text grows");
        };
        for depth in 0..3 {
            let args =
                format!("\"Python parent id\": {i}, \"Python id\": {depth}, \"Ev Idx\": {i}");
            let name = format!(
                "torch/nn/modules/module.py({}): forward",
                1500 + (i + depth) % 300
            );
            x(
                "python_function",
                &name,
                7,
                7,
                ts + depth,
                30_000 - depth,
                &args,
            );
        }
        let shapes = "\"Concrete Inputs\": [\"\", \"False\"], \"Input type\": [\"float\", \"Scalar\"], \
                      \"Input Dims\": [[64, 1024], []], \"Ev Idx\": 7";
        for (name, at) in [
            ("aten::linear", 10),
            ("aten::t", 20),
            ("aten::addmm", 4_000),
        ] {
            let args = format!("\"External id\": {i},\"Record function id\": 0, {shapes}");
            x("cpu_op", name, 7, 7, ts + at, 20_000 - at, &args);
        }
        let args = format!("\"External id\": {i}, \"cbid\": 211, \"correlation\": {i}");
        x(
            "cuda_runtime",
            "cudaLaunchKernel",
            7,
            7,
            ts + 5_000,
            6_000,
            &args,
        );
        let name = format!(
            "void at::native::elementwise_kernel<128, {}, at::native::gpu_kernel_impl<{{lambda(float)#1}}> >(int)",
            i % 40
        );
        let args = format!(
            "\"External id\": {i}, \"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": 7, \"correlation\": {i},\n      \
             \"registers per thread\": 32,\n      \"shared memory\": 0,\n      \"blocks per SM\": 1.515152,\n      \
             \"grid\": [200, 1, 1],\n      \"block\": [128, 1, 1],\n      \"est. achieved occupancy %\": 50"
        );
        x("kernel", &name, 0, 7, ts + 15_000, 25_000, &args);
        for (ph, pid, at, end) in [("s", 7, 5_000, ""), ("f", 0, 15_000, ", \"bp\": \"e\"")] {
            writeln!(
                text,
                "  {{\n    \"ph\": \"{ph}\", \"id\": {i}, \"pid\": {pid}, \"tid\": 7, \"ts\": {},\n    \
                 \"cat\": \"ac2g\", \"name\": \"ac2g\"{end}\n  }},",
                us(ts + at),
            )
            .expect("text grows");
        }
    }
    text.push_str("  {}\n  ],\n  \"traceName\": \"bench\"\n}\n");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench.json");
    let mut file = std::fs::File::create(&path).expect("writable target folder");
    file.write_all(text.as_bytes())
        .expect("writable target folder");
    path
}

fn open_with(path: &Path, threads: usize) -> usize {
    let options = OpenOptions {
        threads,
        ..OpenOptions::default()
    };
    let loaded = open(&[path.to_owned()], &options, &Progress::new()).expect("readable");
    loaded.trace.spans().len()
}

fn inflate() -> u64 {
    let file = std::fs::File::open(&*GZIP).expect("file");
    let mut reader = flate2::bufread::MultiGzDecoder::new(std::io::BufReader::new(file));
    let mut buffer = vec![0; 1 << 20];
    let mut sum = 0;
    while let Ok(n @ 1..) = reader.read(&mut buffer) {
        sum += n as u64;
    }
    sum
}

/// An event with its numbers as text, so that times stay exact.
#[derive(Deserialize)]
struct Event<'t> {
    #[serde(default)]
    ph: &'t str,
    #[serde(borrow, default)]
    name: std::borrow::Cow<'t, str>,
    #[serde(default)]
    cat: &'t str,
    #[serde(borrow)]
    ts: Option<&'t RawValue>,
    #[serde(borrow)]
    dur: Option<&'t RawValue>,
    #[serde(borrow)]
    pid: Option<&'t RawValue>,
    #[serde(borrow)]
    tid: Option<&'t RawValue>,
    #[serde(borrow)]
    args: Option<&'t RawValue>,
}

/// Columns of X events.
#[derive(Default)]
struct Columns {
    names: HashMap<String, u32>,
    rows: Vec<(i64, i64, u32, u64)>,
}

fn ns(raw: Option<&RawValue>) -> i64 {
    let text = raw.map_or("0", RawValue::get);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: i64 = whole.parse().unwrap_or(0);
    let digits = fraction.bytes().chain(*b"000").take(3);
    whole * 1000 + digits.fold(0, |v, b| v * 10 + i64::from(b.wrapping_sub(b'0')))
}

impl<'t> Visitor<'t> for &mut Columns {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a trace")
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(event) = list.next_element::<Event<'t>>()? {
            if event.ph != "X" {
                continue;
            }
            let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
            let name = match self.names.get(event.name.as_ref()) {
                Some(&name) => name,
                None => *self.names.entry(event.name.into_owned()).or_insert(next),
            };
            let len = |raw: Option<&RawValue>| raw.map_or(0, |r| r.get().len());
            let rest = len(event.pid) + len(event.tid) + len(event.args) + event.cat.len();
            self.rows
                .push((ns(event.ts), ns(event.dur), name, rest as u64));
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "traceEvents" {
                map.next_value_seed(&mut *self)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

impl<'t> DeserializeSeed<'t> for &mut Columns {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

fn with_serde(text: &[u8]) -> usize {
    let mut columns = Columns::default();
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    columns.deserialize(&mut deserializer).expect("well formed");
    columns.rows.len() + columns.names.len()
}

fn size() -> BytesCount {
    BytesCount::new(std::fs::metadata(&*FILE).expect("file").len())
}

#[divan::bench(sample_count = 5)]
fn touch(bencher: Bencher<'_, '_>) {
    let bytes = std::fs::read(&*FILE).expect("file");
    bencher
        .counter(size())
        .bench(|| memchr::memchr_iter(b'{', black_box(&bytes)).count());
}

#[divan::bench(sample_count = 5)]
fn serde_typed(bencher: Bencher<'_, '_>) {
    let bytes = std::fs::read(&*FILE).expect("file");
    bencher
        .counter(size())
        .bench(|| with_serde(black_box(&bytes)));
}

#[divan::bench(args = [1, 2], sample_count = 5)]
fn importer(bencher: Bencher<'_, '_>, threads: usize) {
    bencher.counter(size()).bench(|| open_with(&FILE, threads));
}

#[divan::bench(sample_count = 5)]
fn importer_gzip(bencher: Bencher<'_, '_>) {
    bencher.counter(size()).bench(|| open_with(&GZIP, 2));
}
