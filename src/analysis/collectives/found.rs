//! What of a rank's communication can be compared with other ranks: candidates with their group, kind and size.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::kinds::{CollectiveKind, NotCompared, is_cpu_backend};
use super::matching::{Collective, CommGroup};
use super::told::Recorded;
use crate::analysis::base::core::Core;
use crate::analysis::layers::classify::ArgSource;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::watch::{Cancelled, Watch};
use crate::model::{ArgsOrigin, LaneId, SpanId};

/// The communication of some ranks that can be compared.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct Found {
    /// By place of the rank, by start.
    pub of: Vec<Vec<Collective>>,
    pub groups: Vec<CommGroup>,
    /// What cannot be compared, and why.
    pub left_out: BTreeMap<NotCompared, usize>,
    /// The operations are of GPUs; else spans of back ends that communicate on the CPU.
    pub gpu: bool,
}

/// Spans on CPU lanes that say what the launches inside them are.
struct Around<'a> {
    core: &'a Core,
    kinds: FxHashMap<u32, Option<CollectiveKind>>,
    lanes: FxHashMap<LaneId, BTreeMap<CollectiveKind, Union>>,
}

impl Around<'_> {
    /// The kind that spans around a launch call say: `all_to_all` in any spelling, and a library's own ranges.
    fn kind(&mut self, call: SpanId) -> Option<CollectiveKind> {
        let spans = self.core.trace.spans();
        let (lane, at) = (spans.lane(call), spans.start(call));
        if !self.lanes.contains_key(&lane) {
            let found = self.lane(lane);
            self.lanes.insert(lane, found);
        }
        let sets = self.lanes.get(&lane)?;
        let around = sets.iter().find(|(_, set)| set.contains(at));
        around.map(|(kind, _)| *kind)
    }

    fn lane(&mut self, lane: LaneId) -> BTreeMap<CollectiveKind, Union> {
        let trace = &self.core.trace;
        let mut ranges: BTreeMap<CollectiveKind, Vec<_>> = BTreeMap::new();
        for span in trace.lane_spans(lane) {
            let name = trace.spans().name(span);
            let kind = self.kinds.entry(name.0).or_insert_with(|| {
                let text = trace.name(name);
                let own = text.starts_with("nccl");
                CollectiveKind::of(text).filter(|&k| own || k == CollectiveKind::AllToAll)
            });
            if let Some(kind) = *kind {
                ranges.entry(kind).or_default().push(self.core.range(span));
            }
        }
        let unions = ranges.into_iter().map(|(k, r)| (k, Union::from_sorted(r)));
        unions.collect()
    }
}

/// Operations of communication of each rank, by number; spans of CPU back ends where none of them has GPU operations.
fn candidates(core: &Core, ranks: &[u32], gpu: bool) -> Vec<Vec<SpanId>> {
    let trace = &core.trace;
    let mut names: FxHashMap<u32, bool> = FxHashMap::default();
    let of_rank = |&rank: &u32| {
        let lanes = core.identity.lanes_of(rank).iter();
        let mut own = Vec::new();
        for &lane in lanes.filter(|l| trace.lane(**l).kind.is_gpu() == gpu) {
            if gpu && !core.index(lane).layers.contains(&LayerId::GPU_COMM) {
                continue;
            }
            own.extend(trace.lane_spans(lane).filter(|&span| {
                if gpu {
                    return core.layer(span) == LayerId::GPU_COMM;
                }
                let name = trace.spans().name(span);
                let named = names.entry(name.0);
                *named.or_insert_with(|| is_cpu_backend(trace.name(name)))
                    && !core.range(span).is_empty()
            }));
        }
        own.sort_unstable_by_key(|&span| (core.range(span), span));
        own
    };
    ranks.iter().map(of_rank).collect()
}

/// The communication of ranks, given by number, that can be compared. Reads the args of every candidate.
pub(in crate::analysis) fn found(
    core: &Core,
    ranks: &[u32],
    args: &dyn ArgSource,
    watch: &Watch<'_>,
) -> Result<Found, Cancelled> {
    let mut works = ranks.iter().flat_map(|&r| core.identity.lanes_of(r));
    let gpu = works.any(|l| core.lane_gpu[l.index()].is_some());
    let candidates = candidates(core, ranks, gpu);
    let trace = &core.trace;
    let spans = trace.spans();
    let mut recorded: FxHashMap<SpanId, Recorded> = FxHashMap::default();
    // Rows of tables say of a kernel nothing about its collective.
    let told = |span: &SpanId| {
        let source = trace.source(trace.lane(spans.lane(*span)).source);
        !matches!(source.args, ArgsOrigin::None | ArgsOrigin::Rows(_))
    };
    let asked: Vec<SpanId> = candidates.iter().flatten().copied().filter(told).collect();
    let go_on = || !watch.stopped();
    args.each(&asked, &go_on, &mut |span, arg| {
        recorded.insert(span, Recorded::read(arg));
        !watch.stopped()
    });
    watch.check()?;
    let mut out = Found {
        gpu,
        ..Found::default()
    };
    let mut places: FxHashMap<CommGroup, u32> = FxHashMap::default();
    let mut around = Around {
        core,
        kinds: FxHashMap::default(),
        lanes: FxHashMap::default(),
    };
    let nothing = Recorded::default();
    for own in &candidates {
        let mut list = Vec::with_capacity(own.len());
        for &op in own {
            let told = recorded.get(&op).unwrap_or(&nothing);
            let call = trace.launch_of(op);
            let kind = match told.kind(trace.span_name(op), gpu, || around.kind(call?)) {
                Ok(kind) => kind,
                Err(why) => {
                    *out.left_out.entry(why).or_default() += 1;
                    continue;
                }
            };
            let group = told.group();
            let next = u32::try_from(out.groups.len()).unwrap_or(u32::MAX);
            let group = *places.entry(group).or_insert_with_key(|g| {
                out.groups.push(g.clone());
                next
            });
            list.push(Collective {
                op,
                range: core.range(op),
                group,
                kind,
                bytes: told.bytes(),
                number: told.number(),
                launched: spans.start(call.unwrap_or(op)),
            });
        }
        out.of.push(list);
    }
    Ok(out)
}
