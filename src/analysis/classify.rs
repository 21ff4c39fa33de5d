//! Roles of lanes and layers of spans. Each distinct (source tracer, lane kind, role, category, name) is matched once.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::build::{Cancelled, Watch};
use super::layers::{LayerId, Layers};
use super::rules::{LaneGroup, Outcome, Rules};
use crate::model::{CatId, LaneId, LaneKind, NameId, Role, SpanId, Trace, Tracer};

/// Gives args of spans to rules that ask for them, and the numbers of explicit steps. The analysis itself reads no file.
pub trait ArgSource: Sync {
    /// The value of an arg as text; `None` when the span has no such arg.
    fn arg(&self, span: SpanId, key: &str) -> Option<String>;
}

impl<F: Fn(SpanId, &str) -> Option<String> + Sync> ArgSource for F {
    fn arg(&self, span: SpanId, key: &str) -> Option<String> {
        self(span, key)
    }
}

/// For traces whose args nobody reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoArgs;

impl ArgSource for NoArgs {
    fn arg(&self, _span: SpanId, _key: &str) -> Option<String> {
        None
    }
}

/// The value of an arg: the copy kind from the model's own table, everything else from the caller.
pub(super) fn arg_of(
    trace: &Trace,
    args: &dyn ArgSource,
    span: SpanId,
    key: &str,
) -> Option<String> {
    if key == "copyKind"
        && let Some(kind) = trace.copy(span).and_then(|c| c.raw_kind)
    {
        return Some(kind.to_string());
    }
    args.arg(span, key)
}

/// The role of every lane: what the file says of the thread, then of the process, then the role rules, else main.
#[must_use]
pub fn lane_roles(trace: &Trace, rules: &Rules) -> Vec<Role> {
    let parents = parent_roles(trace);
    let role = |id: LaneId| {
        let lane = trace.lane(id);
        let process = lane.process.map(|p| (p, trace.process(p)));
        if let Some(role) = lane.role.or(process.and_then(|(_, p)| p.role)) {
            return role;
        }
        let by_parent = lane.process.and_then(|p| parents.get(&p.0).copied());
        // A file's name tells the role only where no parent is known.
        let path = &trace.source(lane.source).path;
        let file = path.file_name().map(|f| f.to_string_lossy());
        let file = file.filter(|_| by_parent.is_none());
        let process = process.and_then(|(_, p)| p.name.as_deref());
        rules
            .role_of(&lane.name, process, file.as_deref())
            .or(by_parent)
            .unwrap_or(Role::Main)
    };
    trace.lane_ids().map(role).collect()
}

/// DFTracer: a process whose parent is in the trace loads data for it; one whose parent is not is a main process.
fn parent_roles(trace: &Trace) -> BTreeMap<u32, Role> {
    let dftracer = |p: &&crate::model::Process| trace.source(p.source).tracer == Tracer::Dftracer;
    let known: std::collections::BTreeSet<(Option<&str>, &str)> = trace
        .processes()
        .iter()
        .filter(dftracer)
        .map(|p| (p.host.as_deref(), p.pid.as_str()))
        .collect();
    let mut roles = BTreeMap::new();
    for (i, p) in (0_u32..).zip(trace.processes()) {
        if let (true, Some(parent)) = (dftracer(&p), p.parent.as_deref()) {
            let is_worker = parent != p.pid && known.contains(&(p.host.as_deref(), parent));
            roles.insert(i, if is_worker { Role::Worker } else { Role::Main });
        }
    }
    roles
}

/// The rule group of a lane.
pub(super) fn group_of(trace: &Trace, roles: &[Role], lane: LaneId) -> LaneGroup {
    let l = trace.lane(lane);
    LaneGroup {
        tracer: trace.source(l.source).tracer,
        gpu: l.kind.is_gpu(),
        role: roles[lane.index()],
    }
}

/// Spans between two looks at whether somebody cancelled.
const LOOK: usize = 1 << 14;

type Key = (LaneGroup, CatId, NameId);

struct Classifier<'a> {
    trace: &'a Trace,
    rules: &'a Rules,
    args: &'a dyn ArgSource,
    memo: Mutex<FxHashMap<Key, Outcome>>,
    candidates: Mutex<FxHashMap<(LaneGroup, CatId), Vec<usize>>>,
}

impl Classifier<'_> {
    fn outcome(&self, key: Key) -> Outcome {
        let (group, cat, name) = key;
        let lock = |e: std::sync::PoisonError<_>| e.into_inner();
        if let Some(known) = self.memo.lock().unwrap_or_else(lock).get(&key) {
            return known.clone();
        }
        let mut candidates = self
            .candidates
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let list = candidates
            .entry((group, cat))
            .or_insert_with(|| self.rules.candidates(group, &self.trace.category(cat).name))
            .clone();
        drop(candidates);
        // Matched outside the lock: two lanes may do the same work once, and come to the same result.
        let outcome = self.rules.outcome(&list, self.trace.name(name));
        let mut memo = self
            .memo
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        memo.insert(key, outcome.clone());
        outcome
    }

    fn layer(&self, rule: Option<usize>) -> LayerId {
        rule.map_or(LayerId::OTHER, |r| self.rules.rules[r].layer)
    }

    /// Layers of one lane's spans.
    fn lane(&self, lane: LaneId, group: LaneGroup, out: &mut [LayerId], watch: &Watch<'_>) {
        let spans = self.trace.spans();
        let mut fixed: FxHashMap<(CatId, NameId), LayerId> = FxHashMap::default();
        let mut by_args: FxHashMap<(CatId, NameId), Outcome> = FxHashMap::default();
        let mut by_values: FxHashMap<(CatId, NameId, Vec<Option<String>>), LayerId> =
            FxHashMap::default();
        let (mut last, mut last_layer) = (None, LayerId::OTHER);
        for (i, (slot, span)) in out.iter_mut().zip(self.trace.lane_spans(lane)).enumerate() {
            if i.is_multiple_of(LOOK) && watch.stopped() {
                return;
            }
            let key = (spans.cat(span), spans.name(span));
            if last == Some(key) {
                *slot = last_layer;
                continue;
            }
            if let Some(&layer) = fixed.get(&key) {
                (last, last_layer) = (Some(key), layer);
                *slot = layer;
                continue;
            }
            if !self.trace.category(key.0).counts {
                fixed.insert(key, LayerId::RECORDER);
                *slot = LayerId::RECORDER;
                continue;
            }
            let outcome = by_args
                .entry(key)
                .or_insert_with(|| self.outcome((group, key.0, key.1)));
            if outcome.conditional.is_empty() {
                let layer = self.layer(outcome.last);
                by_args.remove(&key);
                fixed.insert(key, layer);
                *slot = layer;
                continue;
            }
            let keys = outcome
                .conditional
                .iter()
                .flat_map(|&r| &self.rules.rules[r].args);
            let values: Vec<Option<String>> = keys
                .map(|(k, _)| arg_of(self.trace, self.args, span, k))
                .collect();
            let outcome = &*outcome;
            *slot = *by_values.entry((key.0, key.1, values)).or_insert_with(|| {
                let arg = |k: &str| arg_of(self.trace, self.args, span, k);
                self.layer(self.rules.decide(outcome, &arg))
            });
        }
    }
}

/// What classification finds beside the layers.
pub(super) struct Classified {
    pub layers: Layers,
    pub autograd: Vec<bool>,
}

/// The layers of all spans. `given` says layers of single spans that no rule is asked for.
pub(super) fn classify(
    trace: &Trace,
    rules: &Rules,
    roles: &[Role],
    args: &dyn ArgSource,
    given: Option<&[Option<LayerId>]>,
    watch: &Watch<'_>,
) -> Result<Classified, Cancelled> {
    let classifier = Classifier {
        trace,
        rules,
        args,
        memo: Mutex::default(),
        candidates: Mutex::default(),
    };
    let mut of = vec![LayerId::OTHER; trace.spans().len()];
    let mut rest = of.as_mut_slice();
    let mut chunks = Vec::with_capacity(trace.lanes().len());
    for id in trace.lane_ids() {
        let (chunk, tail) = rest.split_at_mut(trace.lane(id).spans.len());
        chunks.push((id, chunk));
        rest = tail;
    }
    let autograd = chunks
        .into_par_iter()
        .map(|(id, chunk)| {
            watch.check()?;
            classifier.lane(id, group_of(trace, roles, id), chunk, watch);
            watch.check()?;
            if let Some(given) = given {
                let first = trace.lane(id).spans.start as usize;
                for (slot, layer) in chunk.iter_mut().zip(&given[first..]) {
                    *slot = layer.unwrap_or(*slot);
                }
            }
            Ok(finish_lane(trace, id, chunk))
        })
        .collect::<Result<Vec<bool>, Cancelled>>()?;
    Ok(Classified {
        layers: Layers {
            infos: rules.layers().to_vec(),
            of,
        },
        autograd,
    })
}

/// A python frame of the loader's `__next__` is a wait only on a lane where nothing better names it: a wait must not
/// depend on whether stacks were recorded. Returns whether an autograd engine runs on the lane: it evaluates backward
/// nodes and the user's own phases are elsewhere.
fn finish_lane(trace: &Trace, id: LaneId, layers: &mut [LayerId]) -> bool {
    let lane = trace.lane(id);
    if lane.kind.is_gpu() {
        return false;
    }
    let spans = trace.spans();
    let frame = |span: SpanId| trace.category(spans.cat(span)).name == "python_function";
    let (mut frames, mut fetches, mut users, mut engine) = (0_u64, 0_u64, false, false);
    let mut names: FxHashMap<NameId, bool> = FxHashMap::default();
    for (span, &layer) in trace.lane_spans(id).zip(&*layers) {
        match layer {
            LayerId::FETCH => {
                users = true;
                *(if frame(span) {
                    &mut frames
                } else {
                    &mut fetches
                }) += 1;
            }
            LayerId::STEP | LayerId::FORWARD | LayerId::OPTIMIZER => users = true,
            LayerId::BACKWARD if !engine => engine = is_engine(trace, &mut names, spans.name(span)),
            _ => {}
        }
    }
    if frames > 0 && fetches > 0 {
        for (span, layer) in trace.lane_spans(id).zip(layers) {
            if *layer == LayerId::FETCH && frame(span) {
                *layer = LayerId::PYTHON;
            }
        }
    }
    lane.autograd
        .unwrap_or(engine && !users && lane.kind == LaneKind::Cpu)
}

/// Whether a name is that of a node of the autograd engine.
pub(super) fn is_engine(trace: &Trace, memo: &mut FxHashMap<NameId, bool>, name: NameId) -> bool {
    *memo
        .entry(name)
        .or_insert_with(|| trace.name(name).starts_with("autograd::engine"))
}
