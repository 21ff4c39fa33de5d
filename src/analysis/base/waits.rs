//! What a loop waits for: its fetches over all records of its thread, what each of them delivered, and which of them
//! begin a new run of the loader.
//!
//! ```text
//! torch     ├ next ┤   forward …  ├ next ┤  …  ├ next ┤ (no body)          ├── next ──┤   forward …
//! DFTracer ├─ fetch ─┤           ├─ fetch ─┤                        ├──── fetch ────────┤
//! waits    │ batch   │           │ batch   │   │ end  │             │ batch, first: run 1 │
//! ```
//!
//! A wait is a group of fetches that overlap. Its kind and the runs of the loader are told by evidence alone, never by how
//! long a fetch takes or what it is called.

use crate::analysis::base::core::{Core, outermost};
use crate::analysis::base::name_kinds::NameKind;
use crate::analysis::layers::ids::LayerId;
use crate::model::{LaneId, SpanId};
use crate::time::TimeRange;

/// What came of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// A batch.
    Batch,
    /// Nothing: the loader had no more.
    End(EndHow),
}

/// How it is known that a wait ended without a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndHow {
    /// A recorder that writes a fetch only when it delivered a batch ran meanwhile, and has none.
    NotDelivered,
    /// Nothing was done with a batch, and it was the last fetch or a new run begins at the next.
    NoBody,
}

impl EndHow {
    /// The words of reports.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::NotDelivered => "not in DFTracer",
            Self::NoBody => "no body",
        }
    }
}

/// One wait of a loop: from its first fetch's start to its last one's end, where several records have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopWait {
    /// When.
    pub range: TimeRange,
    /// The first of the outermost fetch spans that make it.
    pub span: SpanId,
    /// What came of it.
    pub kind: WaitKind,
    /// Index in [`LoopWaits::runs`].
    pub run: usize,
    /// The first batch of its run.
    pub first: bool,
    /// From its start to the loader's own `__next__`, ns; `None` where one record has it under one name.
    pub before: Option<i64>,
    /// The loader's own `__next__`, ns; all of it where nothing else is known.
    pub inside: i64,
    /// From the end of `__next__` to its end, ns.
    pub after: Option<i64>,
    /// Records of the thread that have it.
    pub records: usize,
    /// Start of the loader's `__next__`.
    next: Option<i64>,
}

impl LoopWait {
    /// Whether it delivered a batch.
    #[must_use]
    pub fn is_batch(&self) -> bool {
        self.kind == WaitKind::Batch
    }
}

/// One run of a loader: one iterator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoaderRun {
    /// Length of its first wait, ns.
    pub first: i64,
    /// Its batch waits.
    pub n: usize,
    /// The evidence for its beginning, ascending: 1 the loader ended before, 2 a worker was started, 3 an epoch began,
    /// 4 a seed was drawn. Empty for the first run where there is none.
    pub how: Vec<u8>,
    /// Workers started in its first wait or just before.
    pub workers_started: usize,
    /// Making the iterator, ns, where it can be told.
    pub make: Option<i64>,
    /// How it was told.
    pub make_how: Option<MakeHow>,
}

/// How the making of an iterator is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MakeHow {
    /// It lies inside the wait, before the loader's own `__next__`.
    Nested,
    /// From the draw of its seed to the fetch: it is in no wait.
    SeedDraw,
}

impl MakeHow {
    /// The words of reports.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Nested => "nested",
            Self::SeedDraw => "seed draw",
        }
    }
}

/// All waits of a loop, by start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopWaits {
    /// The waits.
    pub all: Vec<LoopWait>,
    /// Runs of the loader.
    pub runs: Vec<LoaderRun>,
    /// Per record of the thread: the sum of its own outermost fetches, ns.
    pub by_record: Vec<i64>,
}

impl LoopWaits {
    /// Waits that delivered a batch.
    pub fn batches(&self) -> impl Iterator<Item = &LoopWait> {
        self.all.iter().filter(|w| w.is_batch())
    }

    /// The first wait of each run.
    pub fn firsts(&self) -> impl Iterator<Item = &LoopWait> {
        self.all.iter().filter(|w| w.first)
    }

    /// Batch waits that begin no run, ns.
    #[must_use]
    pub fn steady(&self) -> i64 {
        let waits = self.batches().filter(|w| !w.first);
        waits.map(|w| w.range.len()).sum()
    }
}

/// One record of the loop's thread.
struct Record<'a> {
    core: &'a Core,
    lane: LaneId,
    /// Its outermost fetches.
    fetches: Vec<(SpanId, TimeRange)>,
    /// It has a fetch only where a batch was delivered.
    delivers: bool,
}

/// The waits of the loop whose thread has these records. `births` are the times at which its workers were started.
pub(in crate::analysis) fn find(core: &Core, lanes: &[LaneId], births: &[i64]) -> LoopWaits {
    let records: Vec<Record<'_>> = lanes.iter().map(|&l| Record::new(core, l)).collect();
    let mut waits = group(&records);
    let delivering = records.iter().find(|r| r.delivers && !r.fetches.is_empty());
    let asking = records
        .iter()
        .find(|r| !r.delivers && !r.fetches.is_empty());
    let epochs = epochs(core, lanes);
    // Only PyTorch's own iterators are known to draw a seed.
    let draws = asking.filter(|_| waits.iter().any(|w| w.loader));
    let draws = draws.map(Record::draws).unwrap_or_default();
    if let Some(asking) = asking {
        let ends = asking.bodiless_ends(&draws, &epochs);
        mark_ends(core, lanes, delivering, &ends, &mut waits);
    }
    let mut all: Vec<LoopWait> = waits.into_iter().map(|w| w.wait).collect();
    let evidence = Evidence {
        births,
        epochs: &epochs,
        draws: &draws,
    };
    let mut runs = evidence.runs(&mut all);
    // More runs than a third of the batches: two loaders take turns, and none of them starts again.
    let batches: usize = runs.iter().map(|r| r.n).sum();
    if 3 * runs.len().saturating_sub(1) > batches {
        let last = all.len().saturating_sub(1);
        for wait in &mut all[..last] {
            if wait.kind == WaitKind::End(EndHow::NoBody) {
                wait.kind = WaitKind::Batch;
            }
        }
        let hard = Evidence {
            draws: &[],
            ..evidence
        };
        runs = hard.runs(&mut all);
    }
    LoopWaits {
        all,
        runs,
        by_record: records.iter().map(Record::waited).collect(),
    }
}

/// A wait before its kind and run are known.
struct Found {
    wait: LoopWait,
    /// The loader's own `__next__` has the name of one of PyTorch's iterators.
    loader: bool,
    /// A record that does not deliver has it; one that does.
    asked: bool,
    delivered: bool,
}

/// Groups of fetches that overlap; touching is not overlapping.
fn group(records: &[Record<'_>]) -> Vec<Found> {
    let mut fetches: Vec<(TimeRange, usize, SpanId)> = Vec::new();
    for (r, record) in records.iter().enumerate() {
        fetches.extend(record.fetches.iter().map(|&(span, range)| (range, r, span)));
    }
    fetches.sort_unstable_by_key(|f| (f.0.start, std::cmp::Reverse(f.0.end), f.1));
    let mut waits = Vec::new();
    let mut rest = fetches.as_slice();
    while let Some(&(first, ..)) = rest.first() {
        let mut end = first.end;
        let mut n = 1;
        while rest.get(n).is_some_and(|f| f.0.start < end) {
            end = end.max(rest[n].0.end);
            n += 1;
        }
        let (members, others) = rest.split_at(n);
        waits.push(one(records, members, TimeRange::new(first.start, end)));
        rest = others;
    }
    waits
}

/// One group as a wait, with its parts.
fn one(records: &[Record<'_>], members: &[(TimeRange, usize, SpanId)], range: TimeRange) -> Found {
    let of = |delivers: bool| {
        members
            .iter()
            .filter(move |m| records[m.1].delivers == delivers)
    };
    let (asked, delivered) = (of(false).next().is_some(), of(true).next().is_some());
    let mut inside: Option<TimeRange> = None;
    let mut loader = false;
    let mut found = 0;
    for &(_, r, span) in of(false) {
        for (range, name) in records[r].next_calls(span) {
            loader |= name == NameKind::LoaderNext;
            found += 1;
            inside = Some(hull(inside, range));
        }
    }
    if found == 0 {
        inside = of(false).fold(None, |all, m| Some(hull(all, m.0)));
    }
    // One record and one name: nothing tells its parts.
    let parts = inside.filter(|i| delivered || *i != range);
    let mut seen: Vec<usize> = members.iter().map(|m| m.1).collect();
    seen.sort_unstable();
    seen.dedup();
    Found {
        wait: LoopWait {
            range,
            span: members[0].2,
            kind: WaitKind::Batch,
            run: 0,
            first: false,
            before: parts.map(|i| i.start - range.start),
            inside: parts.map_or(range.len(), TimeRange::len),
            after: parts.map(|i| range.end - i.end),
            records: seen.len(),
            next: inside.map(|i| i.start),
        },
        loader,
        asked,
        delivered,
    }
}

fn hull(all: Option<TimeRange>, range: TimeRange) -> TimeRange {
    all.map_or(range, |a| {
        TimeRange::new(a.start.min(range.start), a.end.max(range.end))
    })
}

/// Starts of the epochs on any record of the thread, ascending.
fn epochs(core: &Core, lanes: &[LaneId]) -> Vec<i64> {
    let of = |&l: &LaneId| core.spans_of(l, LayerId::EPOCH);
    let mut starts: Vec<i64> = lanes.iter().flat_map(of).map(|(_, r)| r.start).collect();
    starts.sort_unstable();
    starts
}

/// Marks the waits that delivered nothing: while a recorder ran that writes every delivered batch those in which it has
/// none, else those without a body.
fn mark_ends(
    core: &Core,
    lanes: &[LaneId],
    delivering: Option<&Record<'_>>,
    bodiless: &[TimeRange],
    waits: &mut [Found],
) {
    let recorded = delivering.and_then(Record::recorded);
    for i in 0..waits.len() {
        let range = waits[i].wait.range;
        if !waits[i].asked || waits[i].delivered {
            continue;
        }
        if recorded.is_some_and(|r| r.start <= range.start && range.end <= r.end) {
            let next = waits.get(i + 1).map_or(i64::MAX, |w| w.wait.range.start);
            let body = TimeRange::new(range.end, next.max(range.end));
            // With a body the batch came, and the record of it was lost.
            if !lanes.iter().any(|&l| works_in(core, l, body)) {
                waits[i].wait.kind = WaitKind::End(EndHow::NotDelivered);
            }
        } else if bodiless.binary_search(&range).is_ok() {
            waits[i].wait.kind = WaitKind::End(EndHow::NoBody);
        }
    }
}

/// Phases in which a batch is worked on.
fn is_work(layer: LayerId) -> bool {
    const WORK: [LayerId; 8] = [
        LayerId::H2D,
        LayerId::FORWARD,
        LayerId::BACKWARD,
        LayerId::OPTIMIZER,
        LayerId::COMPUTE,
        LayerId::COMM,
        LayerId::CHECKPOINT,
        LayerId::EVAL,
    ];
    WORK.contains(&layer)
}

/// Whether a span of a lane is work on a batch: a phase, or a call that launches kernels, by its name or by what it
/// launched.
fn is_body(core: &Core, layer: LayerId, span: SpanId) -> bool {
    let launches = || {
        let mut ops = core.trace.launched_by(span).iter();
        core.name_kind(span).launches() || ops.any(|l| core.layer(l.to) == LayerId::GPU_COMPUTE)
    };
    is_work(layer) || (layer == LayerId::LAUNCH && launches())
}

/// Whether work on a batch starts on a lane in a window and ends by its end: what reaches beyond holds other batches, as an
/// evaluation does.
pub(in crate::analysis) fn works_in(core: &Core, lane: LaneId, window: TimeRange) -> bool {
    any_in(core, lane, window, |layer, span| is_body(core, layer, span))
}

/// The same, or an operator that no iterator runs.
pub(in crate::analysis) fn computes_in(core: &Core, lane: LaneId, window: TimeRange) -> bool {
    let computes = |layer, span| {
        let makes_iterator = || core.name_kind(span).may_make_iterator();
        is_body(core, layer, span) || (layer == LayerId::OP && !makes_iterator())
    };
    any_in(core, lane, window, computes)
}

fn any_in(
    core: &Core,
    lane: LaneId,
    window: TimeRange,
    is: impl Fn(LayerId, SpanId) -> bool,
) -> bool {
    let columns = core.columns(lane);
    let (from, to) = columns.start_range(window);
    // What is done inside an evaluation, a checkpoint or the like is not done with the batch before it.
    let mut aside = window.start;
    (from..to).any(|i| {
        let (layer, range) = (columns.of[i], columns.range(i));
        if LayerId::STALLS.contains(&layer) {
            aside = aside.max(range.end.min(window.end));
        }
        range.end <= window.end && range.start >= aside && is(layer, columns.id(i))
    })
}

impl<'a> Record<'a> {
    fn new(core: &'a Core, lane: LaneId) -> Self {
        let source = core.trace.source(core.trace.lane(lane).source);
        Self {
            core,
            lane,
            fetches: outermost(&core.spans_of(lane, LayerId::FETCH)),
            delivers: source.tracer.encloses_fetches,
        }
    }

    fn waited(&self) -> i64 {
        self.fetches.iter().map(|f| f.1.len()).sum()
    }

    /// From its first event to the last one of its process.
    fn recorded(&self) -> Option<TimeRange> {
        let core = self.core;
        let start = *core.columns(self.lane).starts.first()?;
        let process = core.process_of(self.lane)?;
        let lanes = core.identity.lanes_of(core.rank(self.lane)?).iter();
        let lanes = lanes.filter(|&&l| core.process_of(l) == Some(process));
        let end = lanes.filter_map(|&l| core.index(l).last_end()).max();
        Some(TimeRange::new(start, end?.max(start)))
    }

    /// The outermost calls of the loader's own `__next__` in a fetch, itself included.
    fn next_calls(&self, fetch: SpanId) -> Vec<(TimeRange, NameKind)> {
        let core = self.core;
        let range = core.range(fetch);
        let columns = core.columns(self.lane);
        let from = (fetch.0 - columns.first) as usize;
        let mut out: Vec<(TimeRange, NameKind)> = Vec::new();
        for i in from..columns.len() {
            let r = columns.range(i);
            if i > from && r.start >= range.end {
                break;
            }
            let kind = core.name_kind(columns.id(i));
            let outer = out.last().is_none_or(|(o, _)| r.start >= o.end);
            if columns.of[i] == LayerId::FETCH && kind.asks_loader() && outer && r.end <= range.end
            {
                out.push((r, kind));
            }
        }
        out
    }

    /// When seeds are drawn outside of all work and of all other operators, from the operator that leads each to its end.
    fn draws(&self) -> Vec<TimeRange> {
        let core = self.core;
        let columns = core.columns(self.lane);
        let mut draws = Vec::new();
        let mut covered = i64::MIN;
        let mut before: Option<(NameKind, TimeRange)> = None;
        for i in 0..columns.len() {
            let (layer, range) = (columns.of[i], columns.range(i));
            let kind = core.name_kind(columns.id(i));
            if layer == LayerId::OP && kind.may_make_iterator() {
                if kind == NameKind::Draw && range.start >= covered {
                    let lead =
                        before.filter(|(k, r)| *k == NameKind::Empty && r.end <= range.start);
                    let start = lead.map_or(range.start, |(_, r)| r.start);
                    draws.push(TimeRange::new(start, range.end));
                }
                before = Some((kind, range));
            } else if layer == LayerId::OP || layer == LayerId::FETCH || is_work(layer) {
                covered = covered.max(range.end);
            }
        }
        draws
    }

    /// Fetches after which nothing is done, although something is done after others: the last one, and those behind which
    /// a new run begins. More than a third of all would be two loaders that take turns: then only the last one.
    fn bodiless_ends(&self, draws: &[TimeRange], epochs: &[i64]) -> Vec<TimeRange> {
        let f = &self.fetches;
        let Some(&(_, last)) = f.last() else {
            return Vec::new();
        };
        let next = |k: usize| f.get(k + 1).map_or(i64::MAX, |n| n.1.start);
        let body = |k: usize| {
            let end = f[k].1.end;
            computes_in(self.core, self.lane, TimeRange::new(end, next(k).max(end)))
        };
        let bodies: Vec<bool> = (0..f.len()).map(body).collect();
        if !bodies.contains(&true) {
            return if f.len() > 1 { vec![last] } else { Vec::new() };
        }
        let restarts = |k: &usize| {
            let (this, next) = (f[*k].1, f[*k + 1].1);
            let d = draws.partition_point(|d| d.start < this.end);
            let e = epochs.partition_point(|&e| e <= this.start);
            draws.get(d).is_some_and(|d| d.start < next.start)
                || epochs.get(e).is_some_and(|&e| e <= next.start)
        };
        let mut ends: Vec<TimeRange> = (0..f.len() - 1)
            .filter(|&k| !bodies[k])
            .filter(restarts)
            .map(|k| f[k].1)
            .collect();
        let inner = ends.len();
        if !bodies[f.len() - 1] {
            ends.push(last);
        }
        if 3 * inner > f.len() - ends.len() {
            ends.drain(..inner);
        }
        ends
    }
}

/// What tells that a loader starts anew.
#[derive(Clone, Copy)]
struct Evidence<'a> {
    births: &'a [i64],
    epochs: &'a [i64],
    draws: &'a [TimeRange],
}

impl Evidence<'_> {
    /// The runs; marks each wait with its own.
    fn runs(&self, waits: &mut [LoopWait]) -> Vec<LoaderRun> {
        let mut runs: Vec<LoaderRun> = Vec::new();
        let mut before: Option<TimeRange> = None;
        let mut ended = false;
        for wait in waits {
            wait.first = false;
            if !wait.is_batch() {
                wait.run = runs.len().saturating_sub(1);
                ended = true;
                continue;
            }
            let since = before.map_or(i64::MIN, |b| b.end);
            let born = within(self.births, since, wait.range.end);
            let epoch = self
                .epochs
                .partition_point(|&e| before.is_some_and(|b| e <= b.start));
            let epoch = self
                .epochs
                .get(epoch)
                .is_some_and(|&e| e <= wait.range.start);
            let until = wait.next.unwrap_or(wait.range.end);
            let drawn = self.draws.partition_point(|d| d.start < until);
            let drawn = self.draws[..drawn].last().filter(|d| d.start >= since);
            let evidence = [ended, born > 0, epoch, drawn.is_some()];
            let how = (1..).zip(evidence).filter(|e| e.1).map(|e| e.0).collect();
            if before.is_none() || evidence.contains(&true) {
                wait.first = true;
                let (make, make_how) = if wait.records > 1 {
                    (wait.before, wait.before.map(|_| MakeHow::Nested))
                } else {
                    let make = drawn.and_then(|d| Some(wait.next? - d.start));
                    (make, make.map(|_| MakeHow::SeedDraw))
                };
                runs.push(LoaderRun {
                    first: wait.range.len(),
                    n: 0,
                    how,
                    workers_started: born,
                    make,
                    make_how,
                });
            }
            wait.run = runs.len() - 1;
            if let Some(run) = runs.last_mut() {
                run.n += 1;
            }
            (before, ended) = (Some(wait.range), false);
        }
        runs
    }
}

/// How many of ascending times lie in `[from, to)`.
fn within(times: &[i64], from: i64, to: i64) -> usize {
    let a = times.partition_point(|&t| t < from);
    let b = times.partition_point(|&t| t < to);
    b.saturating_sub(a)
}
