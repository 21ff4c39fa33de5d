//! What of a rank's communication can be compared with other ranks: candidates with their group, kind and size.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::kinds::{CollectiveKind, NotCompared, element_size, ends_together, is_cpu_backend};
use super::matching::{Collective, CommGroup};
use crate::analysis::base::core::Core;
use crate::analysis::layers::classify::ArgSource;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::watch::{Cancelled, Watch};
use crate::model::{ArgsOrigin, LaneId, SpanId};

/// The communication of some ranks that can be compared.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Found {
    /// By place of the rank, by start.
    pub of: Vec<Vec<Collective>>,
    pub groups: Vec<CommGroup>,
    /// What cannot be compared, and why.
    pub left_out: BTreeMap<NotCompared, usize>,
    /// The operations are of GPUs; else spans of back ends that communicate on the CPU.
    pub gpu: bool,
}

/// Args of an operation of communication.
#[derive(Default)]
struct Recorded {
    collective: Option<String>,
    group: Option<String>,
    ranks: Option<String>,
    size: Option<String>,
    elements: Option<String>,
    dtype: Option<String>,
    number: Option<String>,
    splits: [Option<String>; 2],
}

impl Recorded {
    fn read(arg: &dyn Fn(&str) -> Option<String>) -> Self {
        let text = |key: &str| arg(key).filter(|t| !t.is_empty());
        Self {
            collective: text("Collective name"),
            group: text("Process Group Name"),
            ranks: text("Process Group Ranks"),
            size: text("Group size"),
            elements: text("In msg nelems"),
            dtype: text("dtype"),
            number: text("Seq").or_else(|| text("seq")),
            splits: [text("In split size"), text("Out split size")],
        }
    }

    /// Bytes that one rank puts in; -1 where unknown.
    fn bytes(&self) -> i64 {
        let of = || {
            let elements: i64 = self.elements.as_ref()?.parse().ok()?;
            let size = element_size(self.dtype.as_ref()?)?;
            elements.checked_mul(size).filter(|&b| b > 0)
        };
        of().unwrap_or(-1)
    }

    fn group(&self) -> CommGroup {
        let Some(name) = &self.group else {
            return CommGroup::default();
        };
        let ranks = self.ranks.as_deref().unwrap_or("");
        CommGroup {
            name: format!("{name} {ranks}").trim().to_owned(),
            members: numbers(ranks),
        }
    }
}

/// The numbers of a list `[0, 1, 2]`, ascending; `None` where it is none, or was cut (`[0, 1, ...]`).
fn numbers(list: &str) -> Option<Vec<u32>> {
    let inner = list.trim().strip_prefix('[')?.strip_suffix(']')?;
    let parts = inner.split(',').map(str::trim).filter(|p| !p.is_empty());
    let mut out = parts
        .map(|p| p.parse().ok())
        .collect::<Option<Vec<u32>>>()?;
    out.sort_unstable();
    out.dedup();
    (!out.is_empty()).then_some(out)
}

/// Whether a list of sizes has a zero.
fn has_zero(list: &str) -> bool {
    let words = list.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.into_iter().any(|w| w == "0")
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
            let kind = match kind(trace.span_name(op), told, gpu, || around.kind(call?)) {
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
                group,
                kind,
                bytes: told.bytes(),
                number: told.number.as_ref().and_then(|n| n.parse().ok()),
                launched: spans.start(call.unwrap_or(op)),
            });
        }
        out.of.push(list);
    }
    Ok(out)
}

/// The kind of an operation, or why it is not compared.
fn kind(
    name: &str,
    told: &Recorded,
    gpu: bool,
    around: impl FnOnce() -> Option<CollectiveKind>,
) -> Result<CollectiveKind, NotCompared> {
    let called = told.collective.as_deref().unwrap_or(name);
    let known = told.collective.is_some() || !gpu || ends_together(name);
    let mut kind = CollectiveKind::of(called).filter(|_| known);
    let why = NotCompared::of(called);
    if kind.is_none() && known {
        let all_to_all = |k: &CollectiveKind| *k == CollectiveKind::AllToAll;
        kind = around().filter(|k| why == NotCompared::OneSided || all_to_all(k));
        // A broadcast inside an all-reduce's range is still a broadcast.
        let one_sided = ["broadcast", "gather", "scatter", "_reduce_"];
        let plain = called.to_ascii_lowercase();
        if one_sided.iter().any(|w| plain.contains(w)) {
            kind = None;
        }
    }
    let kind = kind.ok_or(why)?;
    if told.size.as_deref() == Some("1") {
        return Err(NotCompared::Alone);
    }
    let empty = told.splits.iter().flatten().any(|s| has_zero(s));
    match kind == CollectiveKind::AllToAll && empty {
        true => Err(NotCompared::EmptySplit),
        false => Ok(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_where_they_are_whole() {
        assert_eq!(numbers("[3, 1,2]"), Some(vec![1, 2, 3]));
        assert_eq!(numbers("[0, 1, ...]"), None);
        assert_eq!(numbers("[]"), None);
        assert_eq!(numbers(""), None);
        assert!(has_zero("[4, 0]"));
        assert!(!has_zero("[10, 40]"));
    }

    #[test]
    fn sends_count_only_inside_an_all_to_all() {
        let plain = Recorded::default();
        let send = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
        let of = |around| kind(send, &plain, true, || around);
        assert_eq!(of(None), Err(NotCompared::SendReceive));
        assert_eq!(
            of(Some(CollectiveKind::AllReduce)),
            Err(NotCompared::SendReceive)
        );
        assert_eq!(
            of(Some(CollectiveKind::AllToAll)),
            Ok(CollectiveKind::AllToAll)
        );
        let named = Recorded {
            collective: Some("all_to_allv".to_owned()),
            splits: [Some("[8, 8]".to_owned()), None],
            ..Recorded::default()
        };
        assert_eq!(
            kind(send, &named, true, || None),
            Ok(CollectiveKind::AllToAll)
        );
        let empty = Recorded {
            splits: [Some("[8, 0]".to_owned()), None],
            ..named
        };
        assert_eq!(
            kind(send, &empty, true, || None),
            Err(NotCompared::EmptySplit)
        );
    }

    #[test]
    fn what_not_every_rank_waits_for_is_left_out() {
        let plain = Recorded::default();
        let of = |name| kind(name, &plain, true, || Some(CollectiveKind::AllReduce));
        assert_eq!(
            of("ncclDevKernel_Broadcast_RING_LL"),
            Err(NotCompared::OneSided)
        );
        assert_eq!(
            of("ncclDevKernel_Reduce_Sum_f32"),
            Err(NotCompared::OneSided)
        );
        assert_eq!(of("nvshmem_allreduce"), Err(NotCompared::OneSided));
        // The library's generic kernel inside its own range.
        assert_eq!(of("ncclDevKernel_Generic"), Ok(CollectiveKind::AllReduce));
        let alone = Recorded {
            size: Some("1".to_owned()),
            ..Recorded::default()
        };
        let of = kind("ncclDevKernel_AllReduce", &alone, true, || None);
        assert_eq!(of, Err(NotCompared::Alone));
    }

    #[test]
    fn bytes_need_a_count_and_a_known_type() {
        let of = |elements: &str, dtype: &str| Recorded {
            elements: Some(elements.to_owned()),
            dtype: Some(dtype.to_owned()),
            ..Recorded::default()
        };
        assert_eq!(of("1000", "Float").bytes(), 4000);
        assert_eq!(of("1000", "Odd").bytes(), -1);
        assert_eq!(of("0", "Float").bytes(), -1);
        assert_eq!(of("1.5", "Float").bytes(), -1);
    }
}
