//! Layers of spans. Each distinct (source tracer, lane kind, role, category, name) is matched once.

use std::cell::Cell;
use std::sync::Mutex;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::analysis::layers::ids::{LayerId, Layers};
use crate::analysis::layers::rules::{LaneGroup, Outcome, Rules};
use crate::analysis::sums::watch::{Cancelled, Watch};
use crate::model::{CatId, LaneId, LaneKind, NameId, Role, SpanId, Trace};

/// Whether to go on; `false` stops whoever asks.
pub type GoOn<'a> = dyn Fn() -> bool + 'a;

/// Gets a span and the way to its args as text; `None` where it has no such arg. Returns `false` to stop.
pub type Found<'a> = dyn FnMut(SpanId, &dyn Fn(&str) -> Option<String>) -> bool + 'a;

/// Gives args of spans to rules that ask for them, and the numbers of explicit steps. The analysis itself reads no file,
/// and asks for many spans at once: files that have to be inflated are read in one pass only in the order they lie in.
pub trait ArgSource: Sync {
    /// Calls `found` once for each of the spans, in any order, unless it is stopped.
    fn each(&self, spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>);
}

impl<F: Fn(&[SpanId], &GoOn<'_>, &mut Found<'_>) + Sync> ArgSource for F {
    fn each(&self, spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>) {
        self(spans, go_on, found);
    }
}

/// For traces whose args nobody reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoArgs;

impl ArgSource for NoArgs {
    fn each(&self, spans: &[SpanId], _go_on: &GoOn<'_>, found: &mut Found<'_>) {
        for &span in spans {
            if !found(span, &|_key| None) {
                return;
            }
        }
    }
}

/// The value of an arg that the model itself holds: a copy's kind.
fn own_arg(trace: &Trace, span: SpanId, key: &str) -> Option<String> {
    let kind = trace.copy(span).filter(|_| key == "copyKind")?.raw_kind?;
    Some(kind.to_string())
}

/// The rule group of a lane.
pub(in crate::analysis) fn group_of(trace: &Trace, roles: &[Role], lane: LaneId) -> LaneGroup {
    let l = trace.lane(lane);
    LaneGroup {
        tracer: trace.source(l.source).tracer.key,
        gpu: l.kind.is_gpu(),
        role: roles[lane.index()],
    }
}

/// Spans between two checks whether somebody cancelled.
const CHECK_EVERY: usize = 1 << 14;

type Key = (LaneGroup, CatId, NameId);

/// Layers by the values of the args that decide about them.
type ByValues = FxHashMap<(Key, Vec<Option<String>>), LayerId>;

/// Values that are remembered: with more of them, as with file names, hardly any comes again.
const MOST_VALUES: usize = 1 << 14;

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

    /// The keys of args that an outcome depends on.
    fn keys<'a>(&'a self, outcome: &'a Outcome) -> impl Iterator<Item = &'a str> {
        let rules = outcome.conditional.iter().map(|&r| &self.rules.rules[r]);
        rules.flat_map(|r| r.args.iter().map(|(key, _)| key.as_str()))
    }

    /// The layer of a span whose rules ask for args, which is worked out once for equal values.
    fn decided(
        &self,
        known: &mut ByValues,
        key: Key,
        outcome: &Outcome,
        arg: &dyn Fn(&str) -> Option<String>,
    ) -> LayerId {
        let values: Vec<Option<String>> = self.keys(outcome).map(arg).collect();
        let decide = || self.layer(self.rules.decide(outcome, arg));
        if known.len() >= MOST_VALUES {
            let layer = known.get(&(key, values));
            return layer.copied().unwrap_or_else(decide);
        }
        *known.entry((key, values)).or_insert_with(decide)
    }

    /// Layers of one lane's spans. Returns those whose args have to be read first.
    fn lane(
        &self,
        lane: LaneId,
        group: LaneGroup,
        out: &mut [LayerId],
        watch: &Watch<'_>,
    ) -> Vec<SpanId> {
        let spans = self.trace.spans();
        let mut fixed: FxHashMap<(CatId, NameId), LayerId> = FxHashMap::default();
        let mut by_args: FxHashMap<(CatId, NameId), Outcome> = FxHashMap::default();
        let mut by_values = ByValues::default();
        let mut unread = Vec::new();
        let (mut last, mut last_layer) = (None, LayerId::OTHER);
        for (i, (slot, span)) in out.iter_mut().zip(self.trace.lane_spans(lane)).enumerate() {
            if i.is_multiple_of(CHECK_EVERY) && watch.stopped() {
                return Vec::new();
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
            let outcome = &*outcome;
            let own = |key: &str| own_arg(self.trace, span, key);
            if self.keys(outcome).all(|key| own(key).is_some()) {
                let key = (group, key.0, key.1);
                *slot = self.decided(&mut by_values, key, outcome, &own);
            } else {
                unread.push(span);
            }
        }
        unread
    }

    /// Layers of spans whose args have to be read, in the order in which that is fastest.
    fn read(
        &self,
        unread: &[SpanId],
        roles: &[Role],
        out: &mut [LayerId],
        watch: &Watch<'_>,
    ) -> Result<(), Cancelled> {
        if unread.is_empty() {
            return Ok(());
        }
        let spans = self.trace.spans();
        let mut outcomes: FxHashMap<Key, Outcome> = FxHashMap::default();
        let mut by_values = ByValues::default();
        let done = Cell::new(0);
        // The spans that need no args are behind it: from 100 to 250 thousandths.
        let share = || u32::try_from(150 * done.get() / unread.len()).unwrap_or(150);
        let go_on = || watch.reached(100 + share()).is_ok();
        self.args.each(unread, &go_on, &mut |span, read| {
            let group = group_of(self.trace, roles, spans.lane(span));
            let key = (group, spans.cat(span), spans.name(span));
            let outcome = outcomes.entry(key).or_insert_with(|| self.outcome(key));
            let arg = |key: &str| own_arg(self.trace, span, key).or_else(|| read(key));
            out[span.index()] = self.decided(&mut by_values, key, outcome, &arg);
            done.set(done.get() + 1);
            watch.check().is_ok()
        });
        watch.check()
    }
}

/// What classification finds beside the layers.
pub(in crate::analysis) struct Classified {
    pub layers: Layers,
    pub autograd: Vec<bool>,
}

/// The layers of all spans. `given` says layers of single spans that no rule is asked for.
pub(in crate::analysis) fn classify(
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
    let lanes = chunks
        .into_par_iter()
        .map(|(id, chunk)| {
            watch.check()?;
            let mut unread = classifier.lane(id, group_of(trace, roles, id), chunk, watch);
            watch.check()?;
            if let Some(given) = given {
                let first = trace.lane(id).spans.start as usize;
                for (slot, layer) in chunk.iter_mut().zip(&given[first..]) {
                    *slot = layer.unwrap_or(*slot);
                }
                unread.retain(|span| given[span.index()].is_none());
            }
            let finished = unread.is_empty().then(|| finish_lane(trace, id, chunk));
            Ok((unread, finished))
        })
        .collect::<Result<Vec<_>, Cancelled>>()?;
    let (unread, mut finished): (Vec<_>, Vec<_>) = lanes.into_iter().unzip();
    classifier.read(&unread.concat(), roles, &mut of, watch)?;
    for (id, autograd) in trace.lane_ids().zip(&mut finished) {
        if autograd.is_none() {
            let range = trace.lane(id).spans.clone();
            let layers = &mut of[range.start as usize..range.end as usize];
            *autograd = Some(finish_lane(trace, id, layers));
        }
    }
    Ok(Classified {
        layers: Layers {
            infos: rules.layers().to_vec(),
            of,
        },
        autograd: finished.into_iter().flatten().collect(),
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
pub(in crate::analysis) fn is_engine(
    trace: &Trace,
    memo: &mut FxHashMap<NameId, bool>,
    name: NameId,
) -> bool {
    *memo
        .entry(name)
        .or_insert_with(|| trace.name(name).starts_with("autograd::engine"))
}
