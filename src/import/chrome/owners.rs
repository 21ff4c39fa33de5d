//! Whose GPU operations are, where a file holds calls of several processes: correlation ids count within one process.
//!
//! A GPU operation names its GPU and stream, not its process, and a merged file may repeat every id. What a call
//! cannot have launched, since it starts later or another id stands in it, leaves one process only; what is known so
//! of a stream or GPU holds for all of it. Nothing else decides but that each process has its own GPU, which is a
//! guess and counted as one.

use std::collections::BTreeMap;

use super::links::Links;
use crate::import::report::Place;
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
pub(super) struct Owners {
    lanes: BTreeMap<LaneId, Option<ProcessId>>,
    devices: BTreeMap<DeviceId, Option<ProcessId>>,
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
pub(super) struct Linked {
    /// (call, operation).
    pub pairs: Vec<(RawSpan, RawSpan)>,
    /// Operations without a call in the file.
    pub without: u64,
    /// Linked by a guess: how many, and the first places.
    pub guessed: (u64, Vec<Place>),
    /// Left without a link since it could be one of several: how many, and the first places.
    pub open: (u64, Vec<Place>),
}

/// The process of a call.
pub(super) fn process_of(trace: &Trace, call: RawSpan) -> Option<ProcessId> {
    trace.lane(trace.spans().lane(SpanId(call.0))).process
}

impl Owners {
    /// Links operations to the calls of their own process. `named` gives the process that an operation names.
    pub fn link(
        links: &Links,
        trace: &Trace,
        named: impl Fn(RawSpan) -> Option<ProcessId>,
    ) -> (Self, Linked) {
        let mut lanes: BTreeMap<LaneId, Votes> = BTreeMap::new();
        let mut devices: BTreeMap<DeviceId, Votes> = BTreeMap::new();
        for &(correlation, operation) in &links.operations {
            let calls = possible(links.candidates(correlation), trace, operation);
            let process = match (named(operation), calls.as_slice()) {
                (Some(process), _) => Some(process),
                (None, &[call]) => process_of(trace, call),
                _ => continue,
            };
            let lane = trace.spans().lane(SpanId(operation.0));
            *lanes.entry(lane).or_default().entry(process).or_default() += 1;
            if let Some(device) = device_of(trace, lane) {
                let votes = devices.entry(device).or_default();
                *votes.entry(process).or_default() += 1;
            }
        }
        let owners = Self {
            lanes: winners(lanes),
            devices: winners(devices),
        };
        let mut linked = Linked::default();
        for &(correlation, operation) in &links.operations {
            let calls = links.candidates(correlation);
            match owners.launch(calls, trace, operation, named(operation)) {
                Launch::By(call) => linked.pairs.push((call, operation)),
                Launch::Perhaps(call) => {
                    linked.pairs.push((call, operation));
                    note(&mut linked.guessed, trace, operation);
                }
                Launch::OneOf => note(&mut linked.open, trace, operation),
                Launch::None => linked.without += 1,
            }
        }
        (owners, linked)
    }

    fn launch(
        &self,
        calls: &[(i64, RawSpan)],
        trace: &Trace,
        operation: RawSpan,
        named: Option<ProcessId>,
    ) -> Launch {
        if calls.is_empty() {
            return Launch::None;
        }
        let lane = trace.spans().lane(SpanId(operation.0));
        let device = device_of(trace, lane);
        let owner = named.map(Some).or_else(|| self.owner(lane, device));
        let of = |process| {
            let mut calls = calls.iter().map(|c| c.1);
            calls.find(|&call| process_of(trace, call) == process)
        };
        if let Some(owner) = owner {
            return match of(owner) {
                Some(call) => Launch::By(call),
                None => Launch::None,
            };
        }
        let mut left = possible(calls, trace, operation);
        if let &[call] = left.as_slice() {
            return Launch::By(call);
        }
        left.retain(|&call| {
            let process = process_of(trace, call);
            let mut owned = self.devices.iter();
            !owned.any(|(&other, &owner)| Some(other) != device && owner == process)
        });
        match left.as_slice() {
            &[call] => Launch::Perhaps(call),
            _ => Launch::OneOf,
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
        if let &[(_, call)] = calls {
            return Some(call);
        }
        let stream = trace.stream(stream);
        let of_lane = stream.ops.and_then(|lane| self.lanes.get(&lane));
        let owner = of_lane.or_else(|| self.devices.get(&stream.device))?;
        let mut calls = calls.iter().map(|c| c.1);
        calls.find(|&call| process_of(trace, call) == *owner)
    }
}

fn winners<K: Ord>(votes: BTreeMap<K, Votes>) -> BTreeMap<K, Option<ProcessId>> {
    let won = votes.into_iter();
    won.filter_map(|(key, votes)| Some((key, winner(&votes)?)))
        .collect()
}

fn device_of(trace: &Trace, lane: LaneId) -> Option<DeviceId> {
    Some(trace.stream(trace.lane(lane).stream?).device)
}

/// The calls that start before the operation; all, where none does.
fn possible(calls: &[(i64, RawSpan)], trace: &Trace, operation: RawSpan) -> Vec<RawSpan> {
    let start = |span: RawSpan| trace.spans().start(SpanId(span.0));
    let before = calls.iter().map(|c| c.1);
    let before: Vec<RawSpan> = before
        .filter(|&call| start(call) <= start(operation))
        .collect();
    match before.is_empty() {
        true => calls.iter().map(|c| c.1).collect(),
        false => before,
    }
}

/// Counts an operation, with the place of its args.
fn note(counted: &mut (u64, Vec<Place>), trace: &Trace, operation: RawSpan) {
    counted.0 += 1;
    if counted.1.len() < 3
        && let Some((offset, _)) = trace.spans().args(SpanId(operation.0)).as_text()
    {
        counted.1.push(Place::Byte(offset));
    }
}
