//! Exact figures of a simulated job, taken from the simulation and never read back from a trace.

use std::io::{self, Write};

use super::clock::Clock;
use super::device::Device;
use super::model::{Job, Span, Step, Thread};
use super::pair::Source;

/// What is known about one step beyond [`Step`].
#[derive(Clone, Copy, Debug)]
pub struct StepTruth {
    /// GPU busy inside the step.
    pub gpu_busy: i64,
    /// End of the last operation launched by `forward` minus the end of `forward`.
    pub forward_lag: i64,
    /// End of the last operation launched in the step minus the end of the step.
    pub gpu_lag: i64,
    /// The loop waited for the GPU: length of the synchronising call.
    pub in_sync: i64,
}

/// Figures of one rank. Times in ns.
#[derive(Clone, Debug, Default)]
pub struct RankTruth {
    pub steps: u64,
    /// The loop waits for a batch.
    pub wait: i64,
    /// Of the waits: the GPU is busy.
    pub hidden: i64,
    /// Of the waits: before the first operation, so unknown to a record that begins with it.
    pub before_first_op: i64,
    /// Of the waits: after the last operation.
    pub after_last_op: i64,
    /// Loading of samples, summed over processes.
    pub load: i64,
    /// Any GPU operation runs.
    pub gpu_busy: i64,
    calls: u64,
    items: u64,
    in_sync: i64,
    last_wait: Span,
    /// Waits of the loop, in order.
    pub waits: Vec<WaitTruth>,
    /// Batches that another thread fetched.
    pub elsewhere: u64,
    /// Collectives of the job, and by how much this rank came later to them than the others' median, summed; of the late
    /// rank.
    pub collectives: u64,
    pub late_by: i64,
}

/// One wait of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTruth {
    /// With what recorders take of it.
    pub at: Span,
    /// The loader's own part.
    pub inner: Span,
    /// It ended without a batch.
    pub end: bool,
    /// The first of its epoch.
    pub first: bool,
}

/// Collects and writes the truth of a job.
pub struct Truth {
    out: Box<dyn Write>,
    tick: i64,
    ranks: Vec<RankTruth>,
    any_step: bool,
    sources: Vec<Source>,
}

impl Truth {
    /// Begins a JSON document on `out`; `tick` is the resolution (ns) of the trace's clock.
    pub fn new(mut out: Box<dyn Write>, ranks: u32, tick: i64) -> io::Result<Self> {
        out.write_all(b"{\"unit\":\"ns since the job began\",\"steps\":[")?;
        Ok(Self {
            out,
            tick,
            ranks: vec![RankTruth::default(); ranks as usize],
            any_step: false,
            sources: Vec::new(),
        })
    }

    /// Notes what is written, and what its clocks say.
    pub fn of_sources(mut self, sources: &[Source]) -> Self {
        self.sources = sources.to_vec();
        self
    }

    fn floor(&self, at: Span) -> Span {
        let f = |t: i64| t - t % self.tick;
        Span::new(f(at.start), f(at.end))
    }

    /// Notes a wait; returns it on the trace's clock, and the GPU's busy time in it.
    fn wait(&mut self, rank: u32, at: Span, gpu: &Device) -> (Span, i64) {
        let at = self.floor(at);
        let hidden = gpu.busy_in(at);
        let truth = &mut self.ranks[rank as usize];
        truth.wait += at.len();
        truth.hidden += hidden;
        let first = gpu.hull.map_or(i64::MAX, |h| h.start);
        truth.before_first_op += (at.end.min(first) - at.start).max(0);
        truth.last_wait = at;
        (at, hidden)
    }

    /// Notes a step when all its launches are known.
    pub fn step(&mut self, step: &Step, gpu: &Device, t: StepTruth) -> io::Result<()> {
        let (wait, hidden) = match step.fetched_by {
            Thread::Prefetch => {
                self.ranks[step.rank as usize].elsewhere += 1;
                (self.floor(step.wait), 0)
            }
            Thread::Main | Thread::Autograd => {
                self.ranks[step.rank as usize].waits.push(WaitTruth {
                    at: step.wait,
                    inner: step.inner,
                    end: false,
                    first: step.in_epoch == 0,
                });
                self.wait(step.rank, step.wait, gpu)
            }
        };
        let items = step.load.items.iter();
        let load = items.map(|i| self.floor(i.at).len()).sum::<i64>();
        let truth = &mut self.ranks[step.rank as usize];
        truth.steps += 1;
        truth.calls += step.calls.len() as u64;
        truth.load += load;
        truth.items += step.load.items.len() as u64;
        truth.in_sync += t.in_sync;
        let comma = if self.any_step { "," } else { "" };
        self.any_step = true;
        write!(
            self.out,
            "{comma}\n{{\"rank\":{},\"step\":{},\"start\":{},\"end\":{},\"wait_start\":{},\"wait_end\":{},\"hidden\":{hidden},\"gpu_busy\":{},\"forward_lag\":{},\"gpu_lag\":{},\"in_sync\":{},\"load\":{load}}}",
            step.rank,
            step.index,
            step.at.start,
            step.at.end,
            wait.start,
            wait.end,
            t.gpu_busy,
            t.forward_lag,
            t.gpu_lag,
            t.in_sync,
        )
    }

    /// Notes the request that ends an epoch.
    pub fn exhausted(&mut self, rank: u32, at: Span, gpu: &Device) {
        self.wait(rank, at, gpu);
        self.ranks[rank as usize].waits.push(WaitTruth {
            at,
            inner: at,
            end: true,
            first: false,
        });
    }

    /// Notes when each rank entered each collective of a step; `late` is the rank that is made late.
    pub fn collectives(&mut self, starts: &[Vec<i64>], late: Option<u32>) {
        for starts in starts {
            for truth in &mut self.ranks {
                truth.collectives += 1;
            }
            let Some(late) = late.map(|l| l as usize).filter(|&l| l < starts.len()) else {
                continue;
            };
            let mut others = starts.clone();
            let own = others.remove(late);
            others.sort_unstable();
            // The lower median of what the others wait.
            let median = others.get(others.len() / 2).copied().unwrap_or(own);
            self.ranks[late].late_by += own - median;
        }
    }

    /// Writes and returns the totals. `end` is when the recording stops.
    pub fn finish(
        mut self,
        job: &Job,
        gpus: &[Device],
        end: i64,
        bytes: u64,
    ) -> io::Result<Vec<RankTruth>> {
        self.out.write_all(b"\n],\"ranks\":[")?;
        for (rank, (t, gpu)) in self.ranks.iter_mut().zip(gpus).enumerate() {
            t.gpu_busy = gpu.total_busy();
            let hull = gpu.hull.unwrap_or_default();
            t.after_last_op = (t.last_wait.end - hull.end.max(t.last_wait.start)).max(0);
            let comma = if rank > 0 { "," } else { "" };
            write!(
                self.out,
                "{comma}\n{{\"rank\":{rank},\"steps\":{},\"wait\":{},\"hidden\":{},\"idle_in_wait\":{},\"before_first_op\":{},\"after_last_op\":{},\"gpu_busy\":{},\"gpu_ops\":{},\"gpu_op_time\":{},\"first_op\":{},\"last_op_end\":{},\"step_calls\":{},\"in_sync\":{},\"load\":{},\"items\":{},\"fetched_elsewhere\":{},\"collectives\":{},\"late_by\":{},\"waits\":[",
                t.steps,
                t.wait,
                t.hidden,
                t.wait - t.hidden,
                t.before_first_op,
                t.after_last_op,
                t.gpu_busy,
                gpu.ops,
                gpu.op_time,
                hull.start,
                hull.end,
                t.calls,
                t.in_sync,
                t.load,
                t.items,
                t.elsewhere,
                t.collectives,
                t.late_by,
            )?;
            for (i, w) in t.waits.iter().enumerate() {
                let comma = if i > 0 { "," } else { "" };
                let kind = if w.end { "end" } else { "batch" };
                write!(
                    self.out,
                    "{comma}[{},{},\"{kind}\",{}]",
                    w.at.start, w.at.end, w.first
                )?;
            }
            self.out.write_all(b"]}")?;
        }
        self.out.write_all(b"\n],\"sources\":[")?;
        for (i, source) in self.sources.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            let name = source.path.file_name().unwrap_or_default();
            let Clock { offset, drift_ppb } = source.clock;
            write!(
                self.out,
                "{comma}\n{{\"name\":\"{}\",\"offset\":{offset},\"drift_ppb\":{drift_ppb}}}",
                name.to_string_lossy(),
            )?;
        }
        let c = &job.config;
        let late = match c.twists.late {
            None => "null".to_owned(),
            Some(late) => format!(
                "{{\"rank\":{},\"in\":\"{:?}\",\"ns\":{}}}",
                late.rank, late.within, late.ns
            ),
        };
        writeln!(
            self.out,
            "\n],\"late\":{late},\"job\":{{\"seed\":{},\"workers\":{},\"prefetch\":{},\"batch\":{},\"epoch_steps\":{},\"sync_every\":{},\"end\":{end},\"unix_origin\":{},\"bytes\":{bytes}}}}}",
            c.seed, c.workers, c.prefetch, c.batch, c.epoch_steps, c.sync_every, job.unix_origin,
        )?;
        self.out.flush()?;
        Ok(self.ranks)
    }
}
