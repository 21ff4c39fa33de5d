//! Small runs of a simulated loader, written as DFTracer files, with what really happened in every wait.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Unix time at which they begin, µs.
const BEGIN: i64 = 1_790_000_000_000_000;
/// From a batch's end to the loop, µs.
pub const HAND_OVER: i64 = 900;
/// The loop's process; its workers follow.
const LOOP: i64 = 500;

/// What is simulated. Times in µs.
#[derive(Clone, Debug)]
pub struct Run {
    pub workers: usize,
    pub prefetch: usize,
    pub batches: usize,
    pub items: usize,
    /// Reading of an item; the slow ones in `slow` take 60 times as long.
    pub read: i64,
    pub transform: i64,
    pub collate: i64,
    /// From one wait to the next.
    pub body: i64,
    /// (batch, item) that read slowly.
    pub slow: Vec<(usize, usize)>,
    /// This worker's transforms take 12 times as long.
    pub slow_worker: Option<usize>,
    pub epochs: usize,
    /// Workers stay for all epochs.
    pub persistent: bool,
    /// Batches come as they are ready, not in order.
    pub out_of_order: bool,
    /// Spans of workers say which batch they are of.
    pub ids: bool,
    /// Waits do not say which of their iterator they are, and the loop is recorded from this one on.
    pub late_by: usize,
    /// Epochs at the beginning of which only the workers were recorded.
    pub unseen: usize,
    /// Workers say when they end.
    pub ends: bool,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            workers: 2,
            prefetch: 2,
            batches: 12,
            items: 3,
            read: 500,
            transform: 2_000,
            collate: 300,
            body: 9_000,
            slow: Vec::new(),
            slow_worker: None,
            epochs: 1,
            persistent: false,
            out_of_order: false,
            ids: false,
            late_by: 0,
            unseen: 0,
            ends: true,
        }
    }
}

/// One wait, as it was. Times in Unix ns.
#[derive(Clone, Debug)]
pub struct Truth {
    pub start: i64,
    pub end: i64,
    pub iterator: usize,
    pub batch: usize,
    pub pid: i64,
    pub parts: BTreeMap<&'static str, i64>,
}

/// What a worker did: start, end, part.
type Log = Vec<(i64, i64, &'static str)>;

struct File {
    name: String,
    pid: i64,
    lines: Vec<String>,
}

impl File {
    fn new(name: String, pid: i64, ppid: i64, at: i64) -> Self {
        let mut this = Self {
            name,
            pid,
            lines: vec![format!(
                "{{\"name\":\"CM\",\"cat\":\"dftracer\",\"type\":1,\"pid\":{pid},\"tid\":{pid},\"ph\":4,\"args\":{{\"name\":\"time_metric\",\"value\":\"US\"}}}}"
            )],
        };
        this.span("start", "dftracer", at, at, &format!("\"ppid\":{ppid}"));
        this
    }

    fn span(&mut self, name: &str, cat: &str, start: i64, end: i64, args: &str) {
        let (pid, id) = (self.pid, self.lines.len());
        self.lines.push(format!(
            "{{\"id\":{id},\"name\":\"{name}\",\"cat\":\"{cat}\",\"type\":6,\"pid\":{pid},\"tid\":{pid},\"ts\":{start},\"dur\":{},\"ph\":1,\"args\":{{{args}}}}}",
            end - start
        ));
    }
}

/// The loader on its way.
struct Loader<'a> {
    run: &'a Run,
    files: BTreeMap<i64, File>,
    logs: BTreeMap<i64, Log>,
    free: BTreeMap<i64, i64>,
    next_pid: i64,
}

impl Loader<'_> {
    fn fork(&mut self, main: &mut File, now: &mut i64) -> i64 {
        let pid = self.next_pid;
        self.next_pid += 1;
        *now += 400;
        main.span("fork", "POSIX", *now - 60, *now, &format!("\"ret\":{pid}"));
        let file = File::new(format!("trace-{pid:016x}-fork.pfw"), pid, LOOP, *now + 200);
        self.files.insert(pid, file);
        self.logs.insert(pid, Log::new());
        self.free.insert(pid, *now + 3_000);
        pid
    }

    /// Makes a batch; returns when it is ready.
    fn make(&mut self, pid: i64, place: usize, batch: usize, asked: i64) -> i64 {
        let run = self.run;
        let (Some(file), Some(log)) = (self.files.get_mut(&pid), self.logs.get_mut(&pid)) else {
            return asked;
        };
        let mut at = (self.free[&pid] + 120).max(asked + 50);
        for item in 0..run.items {
            let start = at;
            let slow = if run.slow.contains(&(batch, item)) {
                60
            } else {
                1
            };
            let more = if run.slow_worker == Some(place) {
                12
            } else {
                1
            };
            let path = format!("\"fhash\":\"file {batch} {item}\",\"ret\":200000");
            let read = start + 60 + run.read * slow;
            file.span("read", "POSIX", start + 60, read, &path);
            let done = read + 30 + run.transform * more;
            file.span("preprocess.transform", "data", read + 30, done, "");
            at = done + 40;
            let id = match run.ids {
                true => format!("\"batch\":{batch}"),
                false => String::new(),
            };
            file.span("item", "data", start, at, &id);
            log.extend([
                (start, start + 60, "item"),
                (start + 60, read, "read"),
                (read, read + 30, "item"),
                (read + 30, done, "transform"),
                (done, at, "item"),
                (at, at + 15, "unnamed"),
            ]);
            at += 15;
        }
        file.span("preprocess.collate", "data", at, at + run.collate, "");
        log.push((at, at + run.collate, "collate"));
        self.free.insert(pid, at + run.collate);
        at + run.collate
    }
}

/// Writes a run to a folder; returns its waits.
pub fn write(folder: &Path, run: &Run) -> Vec<Truth> {
    let mut main = File::new("trace-00000000000000a0-app.pfw".to_owned(), LOOP, 1, BEGIN);
    let mut loader = Loader {
        run,
        files: BTreeMap::new(),
        logs: BTreeMap::new(),
        free: BTreeMap::new(),
        next_pid: LOOP + 1,
    };
    let mut now = BEGIN + 1_000;
    let mut found = Vec::new();
    let mut group: Vec<i64> = Vec::new();
    for epoch in 0..run.epochs {
        let began = now;
        if !run.persistent || group.is_empty() {
            group = (0..run.workers)
                .map(|_| loader.fork(&mut main, &mut now))
                .collect();
        }
        let mut ready: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
        let mut left = vec![0; run.workers];
        let mut asked = 0;
        let mut ask = |now: i64,
                       left: &mut [i32],
                       loader: &mut Loader<'_>,
                       ready: &mut BTreeMap<usize, (i64, i64)>| {
            if asked < run.batches {
                let least = (0..run.workers).min_by_key(|&w| (left[w], w)).unwrap_or(0);
                let place = if run.out_of_order {
                    least
                } else {
                    asked % run.workers
                };
                left[place] += 1;
                let end = loader.make(group[place], place, asked, now);
                ready.insert(asked, (end, group[place]));
                asked += 1;
            }
        };
        for _ in 0..run.workers * run.prefetch {
            ask(now, &mut left, &mut loader, &mut ready);
        }
        for k in 0..run.batches {
            let next = match run.out_of_order {
                true => {
                    *ready
                        .iter()
                        .min_by_key(|(b, r)| (r.0.max(now), **b))
                        .expect("one")
                        .0
                }
                false => k,
            };
            let (end, pid) = ready.remove(&next).expect("made");
            let start = if k == 0 { began } else { now };
            now = now.max(end) + HAND_OVER;
            let seen = k >= run.late_by && epoch >= run.unseen;
            if seen {
                let count = match run.late_by {
                    0 => format!("\"count\":{}", k + 1),
                    _ => String::new(),
                };
                main.span("fetch.iter", "dataloader", start, now, &count);
            }
            found.push((start, now, epoch, k, pid, end));
            let place = group.iter().position(|&p| p == pid).unwrap_or(0);
            left[place] -= 1;
            ask(now, &mut left, &mut loader, &mut ready);
            if seen {
                main.span("forward", "compute", now + 30, now + run.body, "");
            }
            now += run.body + 30;
        }
        if run.ends && !(run.persistent && epoch + 1 < run.epochs) {
            for pid in &group {
                let end = now.max(loader.free[pid]);
                let file = loader.files.get_mut(pid).expect("it was forked");
                file.span("end", "dftracer", end, end, "");
            }
        }
        now += 2_000;
    }
    for file in loader.files.values().chain([&main]) {
        std::fs::write(folder.join(&file.name), file.lines.join("\n") + "\n").expect("written");
    }
    let of =
        |&(start, end, iterator, batch, pid, ready): &(i64, i64, usize, usize, i64, i64)| Truth {
            start: start * 1_000,
            end: end * 1_000,
            iterator,
            batch,
            pid,
            parts: parts(&loader.logs[&pid], start, end, ready),
        };
    found.iter().map(of).collect()
}

/// What a wait was spent on, by the worker's own log.
fn parts(log: &Log, start: i64, end: i64, ready: i64) -> BTreeMap<&'static str, i64> {
    let mut out: BTreeMap<&'static str, i64> = BTreeMap::new();
    let mut rest = end - start;
    let mut add = |part: &'static str, us: i64| {
        if us > 0 {
            *out.entry(part).or_default() += us * 1_000;
            rest -= us;
        }
    };
    for &(a, b, part) in log {
        add(part, b.min(end).min(ready) - a.max(start));
    }
    let began = log.first().map_or(end, |l| l.0);
    add("worker_start", began.min(end) - start);
    add("hand_over", end - ready.max(start));
    if rest > 0 {
        out.insert("idle", rest * 1_000);
    }
    out
}

/// A copy of a folder in which `change` was done to every line; `None` leaves it out. Lines are told with the file's name.
pub fn changed(from: &Path, to: &Path, change: impl Fn(&str, &str) -> Option<String>) {
    for file in super::files(from) {
        let name = file
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&file).expect("readable");
        let mut out = String::new();
        for line in text.lines().filter_map(|l| change(&name, l)) {
            writeln!(out, "{line}").expect("memory");
        }
        if !out.is_empty() {
            std::fs::write(to.join(name), out).expect("written");
        }
    }
}

/// The file of a worker.
pub fn file_of(pid: i64) -> String {
    format!("trace-{pid:016x}-fork.pfw")
}

/// A folder of its own with a run in it.
pub fn run(name: &str, run: &Run) -> (PathBuf, Vec<Truth>) {
    let folder = crate::common::scratch(name);
    let truth = write(&folder, run);
    (folder, truth)
}
