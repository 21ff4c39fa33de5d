//! Writes a job as DFTracer does: a folder with one `.pfw.gz` per process, the loop's and one per worker and epoch.
//!
//! Has no GPU events, and ends at microseconds: starts and ends are rounded down.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::clock::{Clock, Host};
use super::model::{
    BatchLoad, EpochEnd, EpochStart, Item, Job, READ_BYTES, Rng, Sink, Span, Step, Thread, What,
};

/// What the host's name is recorded as.
const HOST: &str = "6882804a826580cd";
/// The end of a worker's hand-over in which nothing is collated any more.
const HAND_OVER: i64 = 1_000_000;

/// A process' file.
struct ProcessFile {
    out: GzEncoder<BufWriter<File>>,
    written: u64,
    pid: u32,
    origin_us: i64,
    clock: Clock,
    /// Complete events so far.
    events: u64,
    named: BTreeSet<u64>,
    name: String,
}

/// The files of one rank.
struct RankFiles {
    main: ProcessFile,
    workers: Vec<ProcessFile>,
    /// Start of the first epoch.
    train_from: Option<i64>,
    last_step: Option<(u32, u64)>,
}

/// Writes DFTracer run folders.
pub struct Dftracer {
    folder: PathBuf,
    job: Option<Job>,
    /// By rank; none for one that is recorded elsewhere.
    ranks: Vec<Option<RankFiles>>,
    closed_bytes: u64,
    host: Host,
    /// The ranks of this folder; none: all.
    own: Option<Vec<u32>>,
}

impl Dftracer {
    /// Will write into `folder`, which is made where it is missing.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            job: None,
            ranks: Vec::new(),
            closed_bytes: 0,
            host: Host {
                name: "node".to_owned(),
                clock: Clock::default(),
            },
            own: None,
        }
    }

    /// Will write what these ranks do on a host, in more detail.
    pub fn on(mut self, host: Host, ranks: Vec<u32>) -> Self {
        self.host = host;
        self.own = Some(ranks);
        self
    }

    fn persistent(&self) -> bool {
        self.job
            .as_ref()
            .is_some_and(|j| j.config.twists.persistent)
    }

    fn files(&mut self, rank: u32) -> io::Result<&mut RankFiles> {
        let files = self.ranks.get_mut(rank as usize).and_then(Option::as_mut);
        files.ok_or_else(|| io::Error::other("a rank of another host"))
    }

    fn open(
        &self,
        job: &Job,
        pid: u32,
        parent: u32,
        kind: &str,
        at: i64,
    ) -> io::Result<ProcessFile> {
        let hash = Rng::new(job.config.seed ^ u64::from(pid)).next();
        let name = format!("trace-{hash:016x}-{kind}.pfw.gz");
        let file = BufWriter::new(File::create(self.folder.join(&name))?);
        let mut file = ProcessFile {
            out: GzEncoder::new(file, Compression::new(6)),
            written: 0,
            pid,
            origin_us: job.unix_origin / 1_000,
            clock: self.host.clock,
            events: 0,
            named: BTreeSet::new(),
            name,
        };
        file.metadata("HH", &self.host.name, HOST)?;
        file.metadata("thread_name", &pid.to_string(), "thread_name")?;
        file.metadata("CM", "time_metric", "US")?;
        let args = format!(",\"ppid\":{parent},\"version\":20003");
        file.event("start", "dftracer", 1, Span::new(at, at), &args)?;
        Ok(file)
    }
}

impl Sink for Dftracer {
    fn begin(&mut self, job: &Job) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        for rank in 0..job.config.ranks {
            if self.own.as_ref().is_some_and(|own| !own.contains(&rank)) {
                self.ranks.push(None);
                continue;
            }
            let pid = job.pid(rank);
            let main = self.open(job, pid, 1, "app", 0)?;
            self.ranks.push(Some(RankFiles {
                main,
                workers: Vec::new(),
                train_from: None,
                last_step: None,
            }));
        }
        self.job = Some(job.clone());
        Ok(())
    }

    fn epoch_start(&mut self, start: &EpochStart) -> io::Result<()> {
        let Some(job) = self.job.clone() else {
            return Ok(());
        };
        let twists = &job.config.twists;
        if twists.persistent && start.epoch > 0 {
            return Ok(());
        }
        let parent = job.pid(start.rank);
        let workers = job.config.workers;
        // The forks end when the epoch's first batch is asked for.
        let all = match twists.make {
            0 => 240_000,
            _ => start.at - start.asked - 100_000,
        };
        let mut opened = Vec::new();
        for worker in 0..workers {
            let pid = job.worker_pid(start.rank, start.epoch, worker);
            let each = all / i64::from(workers);
            let from = start.at - each * i64::from(workers - worker);
            let fork = Span::new(from, from + each.min(240_000));
            let born = match twists.make {
                0 => start.at + 1_500_000,
                _ => fork.end,
            };
            opened.push(self.open(&job, pid, parent, "fork", born)?);
            let main = &mut self.files(start.rank)?.main;
            main.event("fork", "POSIX", 3, fork, &format!(",\"ret\":{pid}"))?;
        }
        self.files(start.rank)?.workers = opened;
        Ok(())
    }

    fn step(&mut self, step: &Step) -> io::Result<()> {
        let detail = self.own.is_some();
        let files = self.files(step.rank)?;
        let last = files.last_step.map_or(String::new(), place);
        let (loads, place_of) = match step.load.worker {
            Some(worker) => (&mut files.workers[worker as usize], ""),
            None => (&mut files.main, last.as_str()),
        };
        loads.load(&step.load, place_of)?;
        if detail {
            let at = step.load.handover;
            let end = at.end - HAND_OVER.min(at.len() / 2);
            let collate = Span::new(at.start, end);
            loads.event("preprocess.collate", "data", 6, collate, place_of)?;
        }
        let here = (step.epoch, step.in_epoch);
        files.last_step = Some(here);
        files.main.step(step, &place(here))
    }

    fn epoch_end(&mut self, end: &EpochEnd) -> io::Result<()> {
        let persistent = self.persistent();
        let files = self.files(end.rank)?;
        let args = files.last_step.map_or(String::new(), place);
        files
            .main
            .event("capture", "checkpoint", 6, end.checkpoint, &args)?;
        files.main.event("epoch", "pipeline", 6, end.at, &args)?;
        files.train_from.get_or_insert(end.at.start);
        let over = end.exhausted.map_or(end.at.end, |e| e.end);
        if !persistent {
            for worker in std::mem::take(&mut files.workers) {
                self.closed_bytes += worker.close(over)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, end: i64) -> io::Result<()> {
        for files in std::mem::take(&mut self.ranks).into_iter().flatten() {
            let mut main = files.main;
            for worker in files.workers {
                self.closed_bytes += worker.close(end - 900_000)?;
            }
            if let Some(from) = files.train_from {
                let args = files.last_step.map_or(String::new(), place);
                main.event(
                    "train",
                    "pipeline",
                    6,
                    Span::new(from, end - 1_000_000),
                    &args,
                )?;
            }
            self.closed_bytes += main.close(end)?;
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        let open =
            |f: &RankFiles| f.main.written + f.workers.iter().map(|w| w.written).sum::<u64>();
        self.closed_bytes + self.ranks.iter().flatten().map(open).sum::<u64>()
    }

    fn keeps_exhausted(&self) -> bool {
        false
    }

    fn tick(&self) -> i64 {
        1_000
    }
}

/// The args that say where in the training an event of the loop belongs.
fn place(at: (u32, u64)) -> String {
    format!(",\"epoch\":{},\"step\":{}", at.0, at.1)
}

impl ProcessFile {
    fn line(&mut self, line: &str) -> io::Result<()> {
        self.written += line.len() as u64;
        self.out.write_all(line.as_bytes())
    }

    fn metadata(&mut self, kind: &str, name: &str, value: &str) -> io::Result<()> {
        let pid = self.pid;
        self.line(&format!(
            "{{\"name\":\"{kind}\",\"cat\":\"dftracer\",\"type\":1,\"pid\":{pid},\"tid\":{pid},\"ph\":4,\"args\":{{\"hhash\":\"{HOST}\",\"name\":\"{name}\",\"value\":\"{value}\"}}}}\n"
        ))
    }

    fn event(&mut self, name: &str, cat: &str, kind: u32, at: Span, args: &str) -> io::Result<()> {
        self.event_of(self.pid, name, cat, kind, at, args)
    }

    fn event_of(
        &mut self,
        tid: u32,
        name: &str,
        cat: &str,
        kind: u32,
        at: Span,
        args: &str,
    ) -> io::Result<()> {
        self.events += 1;
        let at = self.clock.span(at);
        let (start, end) = (at.start.div_euclid(1_000), at.end.div_euclid(1_000));
        let (id, pid) = (self.events, self.pid);
        self.line(&format!(
            "{{\"id\":{id},\"name\":\"{name}\",\"cat\":\"{cat}\",\"type\":{kind},\"pid\":{pid},\"tid\":{tid},\"ts\":{},\"dur\":{},\"ph\":1,\"args\":{{\"hhash\":\"{HOST}\"{args}}}}}\n",
            self.origin_us + start,
            end - start,
        ))
    }

    fn load(&mut self, load: &BatchLoad, place: &str) -> io::Result<()> {
        for item in &load.items {
            self.item(item, place)?;
        }
        Ok(())
    }

    fn item(&mut self, item: &Item, place: &str) -> io::Result<()> {
        let hash = Rng::new(item.file).next();
        let file = format!(",\"fhash\":\"{hash:016x}\"");
        if self.named.insert(hash) {
            let name = format!("/data/volumes/vol{:04}.npz", item.file);
            self.metadata("FH", &name, &format!("{hash:016x}"))?;
        }
        let open = Span::new(item.at.start + 3_000, item.at.start + 11_000);
        self.event(
            "open64",
            "POSIX",
            3,
            open,
            &format!(",\"flags\":524288{file}"),
        )?;
        for read in &item.reads {
            let args = format!(",\"ret\":{READ_BYTES},\"count\":{READ_BYTES}{file}");
            self.event("read", "POSIX", 3, *read, &args)?;
        }
        self.event("preprocess.augment", "data", 6, item.augment, place)?;
        self.event("item", "data", 6, item.at, place)
    }

    fn step(&mut self, step: &Step, place: &str) -> io::Result<()> {
        let of = |what: What| step.spans.iter().find(|s| s.what == what).map(|s| s.at);
        let last = step
            .spans
            .iter()
            .filter(|s| s.what != What::Checkpoint)
            .map(|s| s.at.end)
            .max()
            .unwrap_or(step.at.end);
        if let Some(at) = of(What::Transfer) {
            self.event("transfer", "device", 6, at, place)?;
        }
        if let Some(at) = of(What::Forward) {
            self.event("forward", "compute", 6, at, place)?;
        }
        // The annotated function holds backward(), the optimizer and, where there is one, the look at the loss.
        if let Some(at) = of(What::Backward) {
            self.event("backward", "compute", 6, Span::new(at.start, last), place)?;
        }
        let count = step.in_epoch + 1;
        let args = format!("{place},\"count\":{count}");
        let tid = match step.fetched_by {
            Thread::Prefetch => self.pid + 91,
            Thread::Main | Thread::Autograd => self.pid,
        };
        self.event_of(tid, "fetch.iter", "dataloader", 6, step.wait, &args)?;
        if let Some(at) = of(What::Checkpoint) {
            self.event("capture", "checkpoint", 6, at, place)?;
        }
        let begun = step.spans.first().map_or(step.at.end, |s| s.at.start);
        let body = match step.fetched_by {
            Thread::Prefetch => Span::new(begun, step.at.end),
            Thread::Main | Thread::Autograd => Span::new(step.wait.end + 2_000, step.at.end),
        };
        self.event("fetch.block", "dataloader", 6, body, &args)
    }

    fn close(mut self, at: i64) -> io::Result<u64> {
        let (events, name) = (self.events, self.name.clone());
        let args = format!(
            ",\"cfg\":{{\"enable\":1,\"metadata\":1,\"time_metric\":\"US\",\"log_file\":\"{name}\"}},\"num_events\":{events}"
        );
        self.event("end", "dftracer", 1, Span::new(at, at), &args)?;
        let written = self.written;
        self.out.finish()?.flush()?;
        Ok(written)
    }
}
