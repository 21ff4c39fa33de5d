//! Recorders that give each batch its number and that of its iterator, on what workers record and on the waits: who made
//! which batch is then read, never worked out from an order.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value;

use super::{analysis, loops};
use crate::common::scratch;

const LOOP: u64 = 500;
const UNIX: u64 = 1_796_000_000_000_000_000;
const MS: u64 = 1_000_000;

/// A file of one process.
struct Lines {
    pid: u64,
    text: String,
    n: u64,
}

impl Lines {
    fn new(pid: u64, parent: u64) -> Self {
        let about = format!(r#""cat":"dftracer","type":1,"pid":{pid},"tid":{pid}"#);
        let mut text = format!(
            r#"{{"name":"CM",{about},"ph":4,"args":{{"name":"time_metric","value":"NS"}}}}"#
        );
        let _ = write!(
            text,
            "\n{{\"id\":0,\"name\":\"start\",{about},\"ts\":{UNIX},\"dur\":0,\"ph\":1,\"args\":{{\"ppid\":{parent},\
             \"version\":\"stallscope.record 1\"}}}}\n"
        );
        Self { pid, text, n: 0 }
    }

    /// A span from one millisecond to another.
    fn span(&mut self, name: &str, cat: &str, from: u64, to: u64, args: &str) {
        let (pid, ts, dur) = (self.pid, UNIX + from * MS, (to - from) * MS);
        self.n += 1;
        let _ = writeln!(
            self.text,
            r#"{{"id":{},"name":"{name}","cat":"{cat}","type":6,"pid":{pid},"tid":{pid},"ts":{ts},"dur":{dur},"ph":1,"args":{{{args}}}}}"#,
            self.n
        );
    }

    /// One item and its collate.
    fn batch(&mut self, from: u64, to: u64, iterator: u64, batch: u64, index: u64) {
        let id = format!(r#""batch":{batch},"iterator":{iterator}"#);
        self.span(
            "item",
            "data",
            from,
            to - 1,
            &format!(r#"{id},"index":{index}"#),
        );
        self.span("preprocess.collate", "data", to - 1, to, &id);
    }

    fn fetch(&mut self, from: u64, to: u64, count: u64, number: &str) {
        let args = format!(r#""count":{count}{number}"#);
        self.span("fetch.iter", "dataloader", from, to, &args);
        self.span("forward", "compute", to, to + 1, "");
    }
}

/// Files in a folder, and the causes of the loop's waits.
fn causes(name: &str, files: &[Lines]) -> Vec<Value> {
    let folder = scratch(name);
    let paths: Vec<PathBuf> = files
        .iter()
        .map(|f| {
            let path = folder.join(format!("spans-{}.pfw", f.pid));
            std::fs::write(&path, &f.text).expect("written");
            path
        })
        .collect();
    let analysis = analysis(&paths).expect("opens");
    let all = loops(&analysis);
    let waits = all[&LOOP.to_string()]["waits"].as_array().expect("waits");
    waits.iter().map(|w| w["cause"].clone()).collect()
}

fn number(iterator: u64, batch: u64) -> String {
    format!(r#","batch":{batch},"iterator":{iterator}"#)
}

fn told(causes: &[Value], want: &[(u64, u64)]) {
    let got: Vec<_> = causes
        .iter()
        .map(|c| {
            (
                c["level"].as_str(),
                c["iterator"].as_u64(),
                c["pid"].as_u64(),
            )
        })
        .collect();
    let want: Vec<_> = want
        .iter()
        .map(|&(iterator, pid)| (Some("L2"), Some(iterator), Some(pid)))
        .collect();
    assert_eq!(got, want, "{causes:#?}");
}

#[test]
fn batches_of_one_number_in_two_epochs_are_two() {
    let (mut main, mut a, mut b) = (
        Lines::new(LOOP, 1),
        Lines::new(501, LOOP),
        Lines::new(502, LOOP),
    );
    // Persistent workers with one batch an epoch each: the same number again and again.
    for epoch in 0..3 {
        let at = 100 * epoch;
        a.batch(at + 5, at + 20, epoch, 0, 7);
        b.batch(at + 5, at + 30, epoch, 1, 8);
        main.fetch(at + 1, at + 22, 1, &number(epoch, 0));
        main.fetch(at + 25, at + 32, 2, &number(epoch, 1));
    }
    let causes = causes("numbered_epochs", &[main, a, b]);
    let one_by_one = [(0, 501), (0, 502), (1, 501), (1, 502), (2, 501), (2, 502)];
    told(&causes, &one_by_one);
    for (i, cause) in causes.iter().enumerate() {
        let made = cause["made"].as_array().expect("made");
        let len = made[1].as_u64().zip(made[0].as_u64()).map(|(b, a)| b - a);
        assert_eq!(len, Some(if i % 2 == 0 { 15 } else { 25 } * MS), "wait {i}");
    }
}

#[test]
fn batches_that_overtook_others_are_those_of_the_wait() {
    let (mut main, mut a, mut b) = (
        Lines::new(LOOP, 1),
        Lines::new(501, LOOP),
        Lines::new(502, LOOP),
    );
    a.batch(5, 90, 0, 0, 40);
    b.batch(5, 10, 0, 1, 41);
    b.batch(11, 20, 0, 2, 42);
    // Handed out as they come, one number is skipped by a worker that had nothing left.
    b.batch(95, 100, 0, 4, 43);
    for (count, (batch, at)) in [(1, 12), (2, 22), (0, 92), (4, 102)]
        .into_iter()
        .enumerate()
    {
        main.fetch(at - 8, at, count as u64 + 1, &number(0, batch));
    }
    let causes = causes("numbered_overtaken", &[main, a, b]);
    told(&causes, &[(0, 502), (0, 502), (0, 501), (0, 502)]);
}

#[test]
fn loaders_that_take_turns_are_told_apart() {
    let (mut main, mut a, mut b) = (
        Lines::new(LOOP, 1),
        Lines::new(501, LOOP),
        Lines::new(502, LOOP),
    );
    for k in 0..3 {
        let at = 50 * k;
        a.batch(at + 5, at + 10, 0, k, k);
        b.batch(at + 5, at + 20, 1, k, k);
        main.fetch(at + 4, at + 12, k + 1, &number(0, k));
        main.fetch(at + 14, at + 22, k + 1, &number(1, k));
    }
    let causes = causes("numbered_turns", &[main, a, b]);
    told(
        &causes,
        &[(0, 501), (1, 502), (0, 501), (1, 502), (0, 501), (1, 502)],
    );
}

#[test]
fn waits_for_a_loader_that_was_not_recorded_are_not_laid_to_one_that_was() {
    let (mut main, mut a) = (Lines::new(LOOP, 1), Lines::new(501, LOOP));
    for k in 0..4 {
        let at = 50 * k;
        a.batch(at + 5, at + 10, 0, k, k);
        main.fetch(at + 4, at + 12, k + 1, &number(0, k));
        // Between two of its batches the loop waits for another loader's.
        main.span("fetch.iter", "dataloader", at + 14, at + 22, "");
        main.span("forward", "compute", at + 22, at + 23, "");
    }
    let causes = causes("numbered_other", &[main, a]);
    for (i, cause) in causes.iter().enumerate() {
        let own = i % 2 == 0;
        assert_eq!(
            cause["pid"].as_u64(),
            own.then_some(501),
            "wait {i}: {cause:#}"
        );
        assert_eq!(cause["reason"].is_null(), own, "wait {i}: {cause:#}");
    }
}

#[test]
fn the_item_to_blame_is_named_by_its_index() {
    let (mut main, mut a) = (Lines::new(LOOP, 1), Lines::new(501, LOOP));
    for k in 0..6 {
        let at = 100 * k;
        let took = if k == 4 { 80 } else { 10 };
        a.batch(at + 5, at + 5 + took, 0, k, 1_000 + k);
        main.fetch(at + 4, at + 7 + took, k + 1, &number(0, k));
    }
    let causes = causes("numbered_item", &[main, a]);
    assert_eq!(causes[4]["item"]["index"], 1_004, "{:#}", causes[4]);
}
