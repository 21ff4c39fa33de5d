//! Whose GPU operations are, where a file holds calls of several processes: correlation ids count within one process.
//!
//! A GPU operation names its GPU and stream, not its process, and a merged file may repeat every id. What a call
//! cannot have launched, since it starts later or another id stands in it, leaves one process only; what is known so
//! of a stream or GPU holds for all of it, unless a GPU has more operations of an id than one call launches. Nothing else decides but that each process has its own GPU, which is a
//! guess and counted as one.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::import::contract::tally::Count;
use crate::model::{DeviceId, LaneId, ProcessId, RawSpan, SpanId, StreamId, Trace};

/// Of so many operations of a stream or GPU all but one may belong to its owner: the calls of those that run when the
/// recording begins are not in the file, and another process may have their ids.
const ALL_BUT_ONE_OF: u64 = 20;

/// Operations that decide, by process.
type Votes = BTreeMap<Option<ProcessId>, u64>;

/// The process that has all of them, nearly.
fn winner(votes: &Votes) -> Option<Option<ProcessId>> {
    let all: u64 = votes.values().sum();
    let (&process, &most) = votes.iter().max_by_key(|v| v.1)?;
    ((all - most) * ALL_BUT_ONE_OF <= all).then_some(process)
}

/// Which processes GPUs and their streams belong to.
#[derive(Default)]
pub(crate) struct Owners {
    lanes: BTreeMap<LaneId, Option<ProcessId>>,
    devices: BTreeMap<DeviceId, Option<ProcessId>>,
    /// Those of which it is known that several processes use them.
    shared: BTreeSet<DeviceId>,
    /// The processes that have a GPU.
    with_device: BTreeSet<Option<ProcessId>>,
}

/// The call that launched an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Launch {
    /// This one.
    By(RawSpan),
    /// This one, if each process has its own GPU.
    Perhaps(RawSpan),
    /// One of several.
    OneOf,
    /// None in the file.
    None,
}

/// What came of linking.
#[derive(Default)]
pub(crate) struct Linked {
    /// (call, operation).
    pub pairs: Vec<(RawSpan, RawSpan)>,
    /// Operations without a call in the file.
    pub without: u64,
    /// Linked by a guess.
    pub guessed: Count,
    /// Left without a link since it could be one of several.
    pub open: Count,
}

/// The process of a call.
pub(crate) fn process_of(trace: &Trace, call: RawSpan) -> Option<ProcessId> {
    trace.lane(trace.spans().lane(SpanId(call.0))).process
}

impl Owners {
    /// Links operations to the calls of their own process; both are in order of their correlations. `named` gives the
    /// process that an operation names.
    pub fn link(
        calls: &[(i64, RawSpan)],
        operations: &[(i64, RawSpan)],
        trace: &Trace,
        named: impl Fn(RawSpan) -> Option<ProcessId>,
    ) -> (Self, Linked) {
        let mut lanes: BTreeMap<LaneId, Votes> = BTreeMap::new();
        let mut devices: BTreeMap<DeviceId, Votes> = BTreeMap::new();
        let groups = || operations.chunk_by(|a, b| a.0 == b.0);
        for group in groups() {
            let calls = Calls::new(calls_of(calls, group[0].0), group, trace);
            for &(_, operation) in group {
                let only = calls.all.only(calls.until(operation));
                let process = match (named(operation), only) {
                    (Some(process), _) => Some(process),
                    (None, Some(call)) => process_of(trace, call),
                    (None, None) => continue,
                };
                let lane = trace.spans().lane(SpanId(operation.0));
                *lanes.entry(lane).or_default().entry(process).or_default() += 1;
                if let Some(device) = device_of(trace, lane) {
                    let votes = devices.entry(device).or_default();
                    *votes.entry(process).or_default() += 1;
                }
            }
        }
        let owners = Self::new(winners(lanes), devices);
        let mut linked = Linked::default();
        for group in groups() {
            let calls = Calls::new(calls_of(calls, group[0].0), group, trace);
            for &(_, operation) in group {
                match owners.launch(&calls, operation, named(operation)) {
                    Launch::By(call) => linked.pairs.push((call, operation)),
                    Launch::Perhaps(call) => {
                        linked.pairs.push((call, operation));
                        note(&mut linked.guessed, trace, operation);
                    }
                    Launch::OneOf => note(&mut linked.open, trace, operation),
                    Launch::None => linked.without += 1,
                }
            }
        }
        (owners, linked)
    }

    fn new(lanes: BTreeMap<LaneId, Option<ProcessId>>, votes: BTreeMap<DeviceId, Votes>) -> Self {
        let used: BTreeSet<DeviceId> = votes.keys().copied().collect();
        let devices = winners(votes);
        Self {
            lanes,
            shared: used
                .into_iter()
                .filter(|d| !devices.contains_key(d))
                .collect(),
            with_device: devices.values().copied().collect(),
            devices,
        }
    }

    fn launch(&self, calls: &Calls<'_>, operation: RawSpan, named: Option<ProcessId>) -> Launch {
        let Calls { of, trace, .. } = *calls;
        if of.is_empty() {
            return Launch::None;
        }
        let lane = trace.spans().lane(SpanId(operation.0));
        let device = device_of(trace, lane);
        let call = |process| call_of(of, trace, process);
        if named.is_some() {
            return call(named).map_or(Launch::None, Launch::By);
        }
        let until = calls.until(operation);
        let only = calls.all.only(until);
        match (self.owner(lane, device).map(call), only) {
            (Some(None), _) => return Launch::None,
            // Another process has launched one of them.
            (Some(Some(call)), None) if calls.is_of_several(call, device) => return Launch::OneOf,
            (Some(Some(call)), _) | (None, Some(call)) => return Launch::By(call),
            (None, None) => {}
        }
        // Where several processes use a GPU, not each has its own.
        if device.is_some_and(|d| self.shared.contains(&d)) {
            return Launch::OneOf;
        }
        let without_device = calls
            .without_device
            .get_or_init(|| First::of(of, trace, |process| !self.with_device.contains(&process)));
        match without_device.only(until) {
            Some(call) => Launch::Perhaps(call),
            None => Launch::OneOf,
        }
    }

    fn owner(&self, lane: LaneId, device: Option<DeviceId>) -> Option<Option<ProcessId>> {
        let of_lane = self.lanes.get(&lane);
        of_lane.or_else(|| self.devices.get(&device?)).copied()
    }

    /// The call that a row of a stream is about.
    pub fn call(
        &self,
        calls: &[(i64, RawSpan)],
        trace: &Trace,
        stream: StreamId,
    ) -> Option<RawSpan> {
        let stream = trace.stream(stream);
        let of_lane = stream.ops.and_then(|lane| self.lanes.get(&lane));
        match (of_lane.or_else(|| self.devices.get(&stream.device)), calls) {
            (Some(&owner), _) => call_of(calls, trace, owner),
            (None, &[(_, call)]) => Some(call),
            (None, _) => None,
        }
    }
}

/// The calls of one correlation.
struct Calls<'t> {
    /// One of each process, in order of those.
    of: &'t [(i64, RawSpan)],
    trace: &'t Trace,
    all: First,
    /// Of processes that have no GPU.
    without_device: OnceCell<First>,
    /// All that was launched.
    operations: &'t [(i64, RawSpan)],
    /// Their GPUs, sorted.
    devices: OnceCell<Vec<Option<DeviceId>>>,
}

impl<'t> Calls<'t> {
    fn new(of: &'t [(i64, RawSpan)], operations: &'t [(i64, RawSpan)], trace: &'t Trace) -> Self {
        Self {
            of,
            trace,
            all: First::of(of, trace, |_| true),
            without_device: OnceCell::new(),
            operations,
            devices: OnceCell::new(),
        }
    }

    /// True where a GPU has more operations than the call can have launched.
    fn is_of_several(&self, call: RawSpan, device: Option<DeviceId>) -> bool {
        let trace = self.trace;
        let devices = self.devices.get_or_init(|| {
            let lanes = self
                .operations
                .iter()
                .map(|o| trace.spans().lane(SpanId(o.1.0)));
            let mut devices: Vec<_> = lanes.map(|lane| device_of(trace, lane)).collect();
            devices.sort_unstable();
            devices
        });
        let first = devices.partition_point(|&d| d < device);
        // Only graphs hold many.
        devices.get(first + 1) == Some(&device)
            && !trace.span_name(SpanId(call.0)).contains("GraphLaunch")
    }

    /// What launched an operation starts by then: before it, or at any time where no call does that.
    fn until(&self, operation: RawSpan) -> i64 {
        let start = self.trace.spans().start(SpanId(operation.0));
        match self.all.first {
            Some((first, _)) if first <= start => start,
            _ => i64::MAX,
        }
    }
}

/// The call that starts first of some, and when the second one starts.
#[derive(Clone, Copy, Default)]
struct First {
    first: Option<(i64, RawSpan)>,
    second: Option<i64>,
}

impl First {
    fn of(
        calls: &[(i64, RawSpan)],
        trace: &Trace,
        wanted: impl Fn(Option<ProcessId>) -> bool,
    ) -> Self {
        let mut found = Self::default();
        for &(_, call) in calls.iter().filter(|c| wanted(process_of(trace, c.1))) {
            let start = trace.spans().start(SpanId(call.0));
            let later = match found.first {
                Some((first, _)) if first <= start => start,
                before => {
                    found.first = Some((start, call));
                    let Some((first, _)) = before else { continue };
                    first
                }
            };
            found.second = Some(found.second.map_or(later, |second| second.min(later)));
        }
        found
    }

    /// The call, if no other starts by then.
    fn only(self, until: i64) -> Option<RawSpan> {
        let is_only = |first: i64| first <= until && self.second.is_none_or(|s| s > until);
        self.first.filter(|f| is_only(f.0)).map(|f| f.1)
    }
}

/// The calls of a correlation, of calls in order of those: one of each process.
pub(crate) fn calls_of(calls: &[(i64, RawSpan)], correlation: i64) -> &[(i64, RawSpan)] {
    let from = calls.partition_point(|c| c.0 < correlation);
    let rest = &calls[from..];
    let count = rest.iter().take_while(|c| c.0 == correlation).count();
    &rest[..count]
}

/// The call of a process.
fn call_of(calls: &[(i64, RawSpan)], trace: &Trace, process: Option<ProcessId>) -> Option<RawSpan> {
    let found = calls.binary_search_by_key(&process, |c| process_of(trace, c.1));
    found.ok().map(|i| calls[i].1)
}

fn winners<K: Ord>(votes: BTreeMap<K, Votes>) -> BTreeMap<K, Option<ProcessId>> {
    let won = votes.into_iter();
    won.filter_map(|(key, votes)| Some((key, winner(&votes)?)))
        .collect()
}

fn device_of(trace: &Trace, lane: LaneId) -> Option<DeviceId> {
    Some(trace.stream(trace.lane(lane).stream?).device)
}

/// Counts an operation, at the place of its args.
fn note(count: &mut Count, trace: &Trace, operation: RawSpan) {
    count.add_args(trace.spans().args(SpanId(operation.0)));
}
