//! The training loop: fetch, copy, forward, backward, optimizer, and sometimes a look at the loss.
//!
//! The CPU only queues work; the GPU runs it when its streams get there. With several ranks every gradient bucket is
//! reduced by a collective that ends on all GPUs at once.

use std::io;

use super::device::Device;
use super::model::{
    BatchLoad, COMM_STREAM, COMPUTE_STREAM, Call, CpuSpan, EpochEnd, EpochStart, GpuOp, Job,
    LateIn, OpKind, Sink, Span, Step, Thread, Twists, What,
};
use super::passes::{ADAM, Draft, REDUCE, backward, forward, graph, last_end, span};
use super::rank::Rank;
use super::speed::Speed;
use super::truth::{RankTruth, StepTruth, Truth};

/// Kernels of the optimizer per step.
const OPTIMIZER_KERNELS: u32 = 4;

/// Simulates `job` into `sink`, until its steps are done or the sink holds `max_bytes`. Returns the truth per rank.
pub fn run(
    job: &Job,
    sink: &mut dyn Sink,
    truth: Truth,
    max_bytes: u64,
) -> io::Result<Vec<RankTruth>> {
    let mut truth = truth;
    let c = &job.config;
    let mut ranks: Vec<Rank> = (0..c.ranks).map(|n| Rank::new(job, n)).collect();
    sink.begin(job)?;
    let (mut index, mut epoch) = (0, 0);
    while index < c.steps && sink.bytes() < max_bytes {
        index = run_epoch(job, &mut ranks, sink, &mut truth, epoch, index, max_bytes)?;
        epoch += 1;
    }
    let end = ranks
        .iter()
        .map(|r| r.now.max(r.gpu.hull.map_or(0, |h| h.end)))
        .max()
        .unwrap_or(0)
        + 1_000_000;
    sink.finish(end)?;
    let gpus: Vec<Device> = ranks.into_iter().map(|r| r.gpu).collect();
    truth.finish(job, &gpus, end, sink.bytes())
}

fn run_epoch(
    job: &Job,
    ranks: &mut [Rank],
    sink: &mut dyn Sink,
    truth: &mut Truth,
    epoch: u32,
    first: u64,
    max_bytes: u64,
) -> io::Result<u64> {
    let c = &job.config;
    let begun: Vec<i64> = ranks.iter().map(|r| r.now).collect();
    let twists = &c.twists;
    for r in ranks.iter_mut() {
        let asked = r.now + 3_000;
        r.asked = twists.recorders.map(|_| asked);
        let made = !twists.persistent || epoch == 0;
        r.now += 250_000 + if made { twists.make } else { 0 };
        r.loader.start_epoch(r.now);
        r.prefetch_free = r.prefetch_free.max(r.now);
        sink.epoch_start(&EpochStart {
            rank: r.number,
            epoch,
            asked,
            at: r.now,
        })?;
    }
    let mut index = first;
    let mut in_epoch = 0;
    while in_epoch < c.epoch_steps && index < c.steps && sink.bytes() < max_bytes {
        let mut drafts: Vec<Draft> = ranks
            .iter_mut()
            .map(|r| first_half(r, job, epoch, index, in_epoch))
            .collect();
        if c.ranks > 1 {
            let starts = reduce_gradients(ranks, &mut drafts);
            truth.collectives(&starts, twists.late.map(|l| l.rank));
        }
        for (r, draft) in ranks.iter_mut().zip(drafts) {
            let (step, known) = second_half(r, job, draft);
            truth.step(&step, &r.gpu, known)?;
            sink.step(&step)?;
            r.gpu.settle(r.now);
        }
        index += 1;
        in_epoch += 1;
    }
    for (r, begun) in ranks.iter_mut().zip(begun) {
        let whole = in_epoch == c.epoch_steps;
        let end = finish_epoch(r, begun, whole && sink.keeps_exhausted());
        if let Some(exhausted) = end.exhausted.filter(|_| !twists.prefetch_thread) {
            truth.exhausted(r.number, exhausted, &r.gpu);
        }
        sink.epoch_end(&end)?;
        r.gpu.settle(r.now);
    }
    Ok(index)
}

/// Fetch, copy, forward, backward.
fn first_half(r: &mut Rank, job: &Job, epoch: u32, index: u64, in_epoch: u64) -> Draft {
    let twists = &job.config.twists;
    let begin = r.asked.map_or(r.now, |asked| asked - 3_000);
    let fetched_by = match twists.prefetch_thread {
        true => Thread::Prefetch,
        false => Thread::Main,
    };
    let (wait, inner, load) = match twists.prefetch_thread {
        true => take(r),
        false => ask(r, twists),
    };
    let mut draft = Draft {
        step: Step {
            rank: r.number,
            epoch,
            index,
            in_epoch,
            at: Span::new(begin, begin),
            wait,
            inner,
            fetched_by,
            load,
            spans: Vec::new(),
            calls: Vec::new(),
        },
        speed: Speed::USUAL,
        buckets: Vec::new(),
        forward_end: 0,
        forward_gpu_end: 0,
        in_sync: 0,
    };
    transfer(r, twists, &mut draft);
    if let Some(every) = twists.collect.filter(|e| e.hits(index)) {
        let at = Span::new(r.now, r.now + every.ns);
        span(&mut draft, What::Collect, Thread::Main, at);
        r.now = at.end + 5_000;
    }
    r.now += r.late(twists, LateIn::Host);
    draft.speed = r.speed.next();
    let nodes = forward(r, job, &mut draft);
    backward(r, job, &mut draft, &nodes);
    draft
}

/// The loop asks for a batch: when it is blocked, the loader's own part of it, how the batch was loaded.
fn ask(r: &mut Rank, twists: &Twists) -> (Span, Span, BatchLoad) {
    let mut taken = |most: i64| r.recorders.around(most * 2 / 3, 500);
    let [before, after] = twists.recorders.unwrap_or_default().map(&mut taken);
    let start = r.now + 3_000;
    let (mut inner, mut load) = r.loader.fetch(start + before);
    let late = r.late(twists, LateIn::Input);
    inner.end += late;
    if load.worker.is_none() {
        load.handover.end += late;
    }
    let outer = Span::new(r.asked.take().unwrap_or(start), inner.end + after);
    r.now = outer.end + 12_000;
    (outer, inner, load)
}

/// The loop takes a batch from the thread that fetches, which is two batches ahead at most.
fn take(r: &mut Rank) -> (Span, Span, BatchLoad) {
    r.asked = None;
    let start = r.prefetch_free.max(r.taken[0]) + 5_000;
    let (fetch, load) = r.loader.fetch(start);
    r.prefetch_free = fetch.end + 10_000;
    let got = r.now.max(fetch.end) + 30_000;
    r.taken = [r.taken[1], got];
    r.now = got + 12_000;
    (fetch, fetch, load)
}

fn transfer(r: &mut Rank, twists: &Twists, d: &mut Draft) {
    let begin = r.now;
    let copy = r.rng.around(1_300_000, 100) + r.late(twists, LateIn::Copy);
    let stream = Device::copy_stream();
    let call = r.launch(
        &mut d.step.calls,
        Thread::Main,
        begin + 24_000,
        (OpKind::HostToDevice, "", stream, copy, 28_311_552),
    );
    r.now = call.end + 20_000;
    let op = Span::new(begin + 9_000, call.end + 6_000);
    span(d, What::Transfer, Thread::Main, Span::new(begin, r.now));
    span(d, What::Op("aten::copy_"), Thread::Main, op);
}

/// Runs the collectives of a step: each starts on a GPU when that GPU is ready and ends on all at once. Returns when each
/// started, by collective and rank.
fn reduce_gradients(ranks: &mut [Rank], drafts: &mut [Draft]) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    let buckets = drafts.iter().map(|d| d.buckets.len()).min().unwrap_or(0);
    for b in 0..buckets {
        let starts: Vec<i64> = ranks
            .iter()
            .zip(drafts.iter())
            .map(|(r, d)| r.gpu.earliest(COMM_STREAM, d.buckets[b].ready))
            .collect();
        let duration = drafts[0].buckets[b].duration;
        let end = starts.iter().max().map_or(0, |last| last + duration);
        all.push(starts.clone());
        for ((r, d), start) in ranks.iter_mut().zip(drafts.iter_mut()).zip(starts) {
            let at = Span::new(start, end);
            r.gpu.run(COMM_STREAM, at);
            let op = GpuOp {
                kind: OpKind::Collective,
                name: REDUCE,
                stream: COMM_STREAM,
                at,
                bytes: 0,
            };
            let call = d.buckets[b].call;
            d.step.calls[call].op = Some(op);
        }
    }
    for r in ranks {
        r.gpu.compute_waits_for_comm();
    }
    all
}

fn optimize(r: &mut Rank, d: &mut Draft) {
    let begin = r.now;
    let place = d.step.spans.len();
    let mut t = begin + 20_000;
    for _kernel in 0..OPTIMIZER_KERNELS {
        let duration = r.rng.around(260_000, 60) * d.speed / Speed::USUAL;
        let call = r.launch(
            &mut d.step.calls,
            Thread::Main,
            t + 15_000,
            (OpKind::Kernel, ADAM, COMPUTE_STREAM, duration, 0),
        );
        let at = Span::new(t, call.end + 18_000);
        span(d, What::Op("aten::_fused_adamw_"), Thread::Main, at);
        t = at.end + 6_000;
    }
    d.step.spans.insert(
        place,
        CpuSpan {
            what: What::Optimizer,
            thread: Thread::Main,
            at: Span::new(begin, t),
            sequence: 0,
        },
    );
    let call = r.launch(
        &mut d.step.calls,
        Thread::Main,
        t + 14_000,
        (OpKind::Memset, "", COMPUTE_STREAM, 2_200, 4_194_304),
    );
    let zero = Span::new(t + 4_000, call.end + 15_000);
    span(d, What::ZeroGrad, Thread::Main, zero);
    r.now = zero.end + 5_000;
}

fn optimize_by_graph(r: &mut Rank, d: &mut Draft) {
    let begin = r.now;
    let kernels = vec![260_000; OPTIMIZER_KERNELS as usize];
    r.now = graph(r, d, begin + 20_000, &kernels, 1);
    let at = Span::new(begin, r.now);
    span(d, What::Optimizer, Thread::Main, at);
}

/// Optimizer, the look at the loss, the end of the step.
fn second_half(r: &mut Rank, job: &Job, mut d: Draft) -> (Step, StepTruth) {
    match job.config.twists.unrecorded_graphs {
        true => optimize_by_graph(r, &mut d),
        false => optimize(r, &mut d),
    }

    let every = job.config.sync_every;
    if every > 0 && (d.step.index + 1).is_multiple_of(every) {
        read_loss(r, &mut d);
    }
    r.now += r.rng.around(30_000, 300);
    let checkpoint = job.config.twists.checkpoint;
    if let Some(every) = checkpoint.filter(|e| e.hits(d.step.index)) {
        let at = write_checkpoint(r, &mut d.step.calls, every.ns);
        span(&mut d, What::Checkpoint, Thread::Main, at);
        r.now = at.end + 20_000;
    }
    d.step.at.end = r.now;
    let known = StepTruth {
        gpu_busy: r.gpu.busy_in(d.step.at),
        forward_lag: d.forward_gpu_end - d.forward_end,
        gpu_lag: last_end(&d.step.calls) - d.step.at.end,
        in_sync: d.in_sync,
    };
    (d.step, known)
}

fn read_loss(r: &mut Rank, d: &mut Draft) {
    let begin = r.now;
    let copy = r.launch(
        &mut d.step.calls,
        Thread::Main,
        begin + 9_000,
        (OpKind::DeviceToHost, "", Device::copy_stream(), 1_500, 4),
    );
    let sync = r.synchronize(&mut d.step.calls, copy.end + 1_000);
    d.in_sync = sync.len();
    r.now = sync.end + 4_000;
    span(d, What::ReadLoss, Thread::Main, Span::new(begin, r.now));
    span(
        d,
        What::Op("aten::_local_scalar_dense"),
        Thread::Main,
        Span::new(begin + 3_000, sync.end + 2_000),
    );
}

fn finish_epoch(r: &mut Rank, begun: i64, exhausted: bool) -> EpochEnd {
    let exhausted = exhausted.then(|| r.loader.exhaust(r.now + 3_000));
    if let Some(e) = exhausted {
        r.now = e.end;
    }
    let mut calls = Vec::new();
    r.now += 200_000;
    let checkpoint = write_checkpoint(r, &mut calls, 9_000_000);
    r.now = checkpoint.end + 100_000;
    EpochEnd {
        rank: r.number,
        at: Span::new(begun, r.now),
        exhausted,
        checkpoint,
        calls,
    }
}

/// Copies the weights and writes them to disk, which takes about `ns`.
fn write_checkpoint(r: &mut Rank, calls: &mut Vec<Call>, ns: i64) -> Span {
    let begin = r.now;
    let copy = r.launch(
        calls,
        Thread::Main,
        begin + 60_000,
        (
            OpKind::DeviceToHost,
            "",
            Device::copy_stream(),
            2_100_000,
            52_428_800,
        ),
    );
    let sync = r.synchronize(calls, copy.end + 1_000);
    Span::new(begin, sync.end + r.rng.around(ns, 100))
}
