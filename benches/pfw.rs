//! Reading pfw lines: touching the bytes, typed serde_json per line, and the importer with one and two threads.
//!
//! `STALLSCOPE_BENCH_PFW` names a file to use in place of the one that is made here (64 MiB). Opening includes
//! sorting and sub-rows, everything up to the finished timeline. Ratios of best times are printed first.

#![expect(clippy::print_stdout, reason = "ratios are what the run is for")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use divan::Bencher;
use divan::counter::BytesCount;
use serde::Deserialize;
use stallscope::import::{OpenOptions, Progress, open};

#[path = "support/rounds.rs"]
mod rounds;
use rounds::{best_of, ratio};

static FILE: LazyLock<PathBuf> = LazyLock::new(|| match std::env::var_os("STALLSCOPE_BENCH_PFW") {
    Some(path) => PathBuf::from(path),
    None => make(64 << 20),
});

fn main() {
    print_ratios();
    divan::main();
}

fn print_ratios() {
    let bytes = std::fs::metadata(&*FILE).expect("file").len();
    let [serde, one, two] = best_of(
        20,
        (bytes as f64 / 1e9, "GB"),
        [
            (
                "read + serde_json per line",
                Box::new(|| {
                    let text = std::fs::read_to_string(&*FILE).expect("file");
                    black_box(with_serde(&text));
                }),
            ),
            ("open, 1 thread", Box::new(|| _ = open_with(1))),
            ("open, 2 threads", Box::new(|| _ = open_with(2))),
        ],
    );
    ratio("serde_json / open, 1 thread", serde, one);
    ratio("1 thread / 2 threads", one, two);
}

fn open_with(threads: usize) -> usize {
    let options = OpenOptions {
        threads,
        ..OpenOptions::default()
    };
    let loaded = open(std::slice::from_ref(&*FILE), &options, &Progress::new()).expect("readable");
    loaded.trace.spans().len()
}

/// A worker's file as version 2.2 writes it: items of reads and preprocessing.
fn make(size: usize) -> PathBuf {
    let mut text = String::with_capacity(size + 1_000);
    let (mut id, mut ts) = (0_u64, 1_795_965_393_780_343_u64);
    let mut line = |text: &mut String,
                    name: &str,
                    cat: &str,
                    kind: u32,
                    start: u64,
                    dur: u64,
                    args: &str| {
        id += 1;
        writeln!(
            text,
            "{{\"id\":{id},\"name\":\"{name}\",\"cat\":\"{cat}\",\"type\":{kind},\"pid\":16300,\"tid\":16300,\"ts\":{start},\
             \"dur\":{dur},\"ph\":1,\"args\":{{\"hhash\":\"6882804a826580cd\"{args}}}}}"
        )
        .expect("text grows");
    };
    while text.len() < size {
        let begin = ts;
        let file = ts % 97 + 0x1642_e3e8_6b27_c300;
        for i in 0..20_u64 {
            let (name, args) = if i % 3 == 0 {
                (
                    "read",
                    format!(",\"ret\":4096,\"count\":4096,\"fhash\":\"{file:016x}\""),
                )
            } else {
                (
                    "lseek64",
                    format!(
                        ",\"ret\":{},\"whence\":1,\"offset\":0,\"fhash\":\"{file:016x}\"",
                        i * 4096
                    ),
                )
            };
            line(&mut text, name, "POSIX", 3, ts, 3 + i, &args);
            ts += 40 + i;
        }
        line(
            &mut text,
            "preprocess.augment",
            "data",
            6,
            ts,
            300,
            ",\"epoch\":0,\"step\":23",
        );
        ts += 310;
        line(
            &mut text,
            "item",
            "data",
            6,
            begin,
            ts - begin,
            ",\"epoch\":0,\"step\":23",
        );
        ts += 5;
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench.pfw");
    std::fs::write(&path, text).expect("writable target folder");
    path
}

fn size() -> BytesCount {
    BytesCount::new(std::fs::metadata(&*FILE).expect("file").len())
}

#[divan::bench]
fn touch(bencher: Bencher<'_, '_>) {
    let bytes = std::fs::read(&*FILE).expect("file");
    bencher.counter(size()).bench(|| {
        let ends = memchr::memchr_iter(b'\n', black_box(&bytes)).count();
        black_box(ends)
    });
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    name: &'a str,
    cat: &'a str,
    pid: i64,
    tid: i64,
    ts: i64,
    dur: i64,
    ph: i64,
    args: &'a serde_json::value::RawValue,
}

#[divan::bench]
fn serde_typed(bencher: Bencher<'_, '_>) {
    let text = std::fs::read_to_string(&*FILE).expect("file");
    bencher
        .counter(size())
        .bench(|| with_serde(black_box(&text)));
}

fn with_serde(text: &str) -> i64 {
    let mut sum = 0_i64;
    for line in text.lines() {
        let Ok(l) = serde_json::from_str::<Line<'_>>(line) else {
            continue;
        };
        let texts = l.name.len() + l.cat.len() + l.args.get().len();
        sum = sum.wrapping_add(l.pid + l.tid + l.ts + l.dur + l.ph + texts as i64);
    }
    sum
}

#[divan::bench(args = [1, 2])]
fn importer(bencher: Bencher<'_, '_>, threads: usize) {
    bencher.counter(size()).bench(|| open_with(threads));
}
