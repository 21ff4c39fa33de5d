//! Writes a job as two recorders do at once: torch.profiler a file per rank, DFTracer a folder per host.
//!
//! ```text
//!  OUT/torch.json, or torch_rank0.json …      each recorder turns its own counter into time, and so does each host:
//!  OUT/dft, or dft-node01, dft-node02         four clocks that nobody has set to each other
//! ```
//!
//! DFTracer's fetch encloses the one of torch, and that of an epoch's first batch the making of the iterator, too. The request
//! that ends an epoch is in torch's file alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::clock::{Clock, Host};
use super::dftracer::Dftracer;
use super::model::{EpochEnd, EpochStart, Job, Sink, Step};
use super::torch::{Options, Torch};

/// How the recorders' clocks are set.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// One or two: the second has the upper half of the ranks.
    pub hosts: u32,
    /// DFTracer's clock against that of torch on the same host.
    pub recorder: Clock,
    /// The second host's against the first one's.
    pub host: Clock,
}

impl Clocks {
    /// What DFTracer's clock (else torch's) says on a host.
    fn of(&self, host: u32, dftracer: bool) -> Clock {
        let zero = Clock::default();
        let parts = [
            if host > 0 { self.host } else { zero },
            if dftracer { self.recorder } else { zero },
        ];
        Clock {
            offset: parts.iter().map(|c| c.offset).sum(),
            drift_ppb: parts.iter().map(|c| c.drift_ppb).sum(),
        }
    }
}

/// A file or folder that was written, and what its clock says.
#[derive(Clone, Debug)]
pub struct Source {
    pub path: PathBuf,
    pub clock: Clock,
}

/// Writes both.
pub struct Pair {
    folder: PathBuf,
    torch: Torch,
    /// By host.
    dftracer: Vec<Dftracer>,
    host_of: Vec<usize>,
    sources: Vec<Source>,
}

impl Pair {
    /// Will write into `folder`, which is made where it is missing.
    pub fn new(folder: &Path, clocks: &Clocks, job: &Job, steps: bool) -> Self {
        let ranks = job.config.ranks;
        let hosts = clocks.hosts.clamp(1, ranks.min(2));
        let host = |h: u32, dftracer: bool| Host {
            name: format!("node{:02}", h + 1),
            clock: clocks.of(h, dftracer),
        };
        let of = |rank: u32| rank * hosts / ranks;
        let path = folder.join("torch.json");
        let options = Options {
            steps,
            stack: false,
        };
        let all: Vec<Host> = (0..ranks).map(|r| host(of(r), false)).collect();
        let torch_files = all.iter().zip(0..).map(|(h, r)| Source {
            path: super::torch::rank_path(&path, r, ranks),
            clock: h.clock,
        });
        let mut sources: Vec<Source> = torch_files.collect();
        let dftracer = (0..hosts).map(|h| {
            let host = host(h, true);
            let name = match hosts {
                1 => "dft".to_owned(),
                _ => format!("dft-{}", host.name),
            };
            let path = folder.join(name);
            sources.push(Source {
                path: path.clone(),
                clock: host.clock,
            });
            let own = (0..ranks).filter(|&r| of(r) == h).collect();
            Dftracer::new(&path).on(host, own)
        });
        let dftracer = dftracer.collect();
        Self {
            folder: folder.to_owned(),
            torch: Torch::new(&path, options).on(all),
            dftracer,
            host_of: (0..ranks).map(|r| of(r) as usize).collect(),
            sources,
        }
    }

    /// What is written: torch's files by rank, then DFTracer's folders by host.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }
}

impl Sink for Pair {
    fn begin(&mut self, job: &Job) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        self.torch.begin(job)?;
        self.dftracer.iter_mut().try_for_each(|d| d.begin(job))
    }

    fn epoch_start(&mut self, start: &EpochStart) -> io::Result<()> {
        self.torch.epoch_start(start)?;
        self.dftracer[self.host_of[start.rank as usize]].epoch_start(start)
    }

    fn step(&mut self, step: &Step) -> io::Result<()> {
        self.torch.step(step)?;
        self.dftracer[self.host_of[step.rank as usize]].step(step)
    }

    fn epoch_end(&mut self, end: &EpochEnd) -> io::Result<()> {
        self.torch.epoch_end(end)?;
        self.dftracer[self.host_of[end.rank as usize]].epoch_end(end)
    }

    fn finish(&mut self, end: i64) -> io::Result<()> {
        self.torch.finish(end)?;
        self.dftracer.iter_mut().try_for_each(|d| d.finish(end))
    }

    fn bytes(&self) -> u64 {
        self.torch.bytes() + self.dftracer.iter().map(Dftracer::bytes).sum::<u64>()
    }

    fn keeps_exhausted(&self) -> bool {
        true
    }
}
