//! What was recorded: recordings, the records of processes in them, and what their spans show at a glance.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rustc_hash::FxHashMap;

use super::{Evidence, Fork, OsProcess, Purpose, Recording};
use crate::analysis::layers::classify::{ArgSource, GoOn};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::rules::{LaneGroup, Rules};
use crate::model::{
    CatId, Clock, Lane, LaneId, LaneKind, NameId, Role, Source, SourceId, SpanId, Trace,
};
use crate::time::TimeRange;

/// A process while it is decided what it is.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub process: OsProcess,
    /// Host by number, for comparison; `None` where unknown.
    pub host: Option<u32>,
    /// It has a step, a launch, a fetch or a phase.
    pub works: bool,
    /// Its file is that of a forked process, by its name.
    pub forked: bool,
    /// What the file itself says of it.
    pub role: Option<Role>,
    /// The rank stated of it.
    pub rank: Option<u32>,
    /// Its lanes of threads.
    pub lanes: Vec<LaneId>,
}

/// All records, each a process of its own until [`super::same`] joins them.
pub(super) struct Found {
    pub recordings: Vec<Recording>,
    /// By source.
    pub of_source: Vec<usize>,
    /// By lane: index in the records, later in the processes.
    pub of_lane: Vec<Option<usize>>,
    pub records: Vec<Known>,
}

/// The time of a source's spans on the clock that it states is trace time plus this, ns.
pub(super) fn stated(source: &Source, origin: Option<i64>) -> i64 {
    match source.clock {
        Clock::Unix { zero } => zero
            .saturating_add(source.shift_ns)
            .saturating_sub(source.to_trace_ns),
        Clock::Unknown if source.shift_ns != 0 => origin.unwrap_or(0),
        Clock::Unknown => source.to_trace_ns.saturating_neg(),
    }
}

/// Whether a source is no record of a run, but joins one that was opened with it.
pub(super) fn joins(trace: &Trace, source: SourceId) -> bool {
    let joins = |s: &Source| s.tracer.joins_runs;
    joins(trace.source(source)) && !trace.sources().iter().all(joins)
}

/// Lanes of threads; others are of GPUs, or about the recording.
pub(super) fn is_thread(trace: &Trace, lane: LaneId) -> bool {
    let lane = trace.lane(lane);
    lane.kind == LaneKind::Cpu && !lane.spans.is_empty()
}

/// Finds recordings and the records of processes.
pub(super) fn find(trace: &Trace, rules: &Rules) -> Found {
    let (mut recordings, of_source) = recordings(trace);
    let mut hosts = Hosts::default();
    let mut records: Vec<Known> = Vec::new();
    let mut of_lane = vec![None; trace.lanes().len()];
    let mut known: FxHashMap<Key<'_>, usize> = FxHashMap::default();
    let mut at_host: BTreeMap<(usize, &str), u64> = BTreeMap::new();
    let mut glance = Glance::new(trace, rules);
    for id in trace.lane_ids() {
        let lane = trace.lane(id);
        let source = trace.source(lane.source);
        let recording = of_source[lane.source.index()];
        let offset = stated(source, trace.unix_origin());
        let range = range_of(trace, lane, offset);
        if matches!(lane.kind, LaneKind::Cpu | LaneKind::Gpu) {
            let extent = &mut recordings[recording].extent;
            *extent = union(*extent, range);
        }
        let (Some(range), true) = (range, is_thread(trace, id) && !joins(trace, lane.source))
        else {
            continue;
        };
        let process = lane.process.map(|p| trace.process(p));
        let host = process.and_then(|p| p.host.as_deref());
        let host = host.or(source.host.as_deref());
        let key = Key {
            recording,
            space: process.and_then(|p| p.space.as_deref()),
            pid: process.map(|p| p.pid.as_str()),
            host: hosts.number(host),
            rank: lane.rank,
        };
        let at = *known.entry(key).or_insert_with(|| {
            records.push(record(trace, rules, id, host, key.host));
            records.len() - 1
        });
        let own = &mut records[at];
        if let Some(process) = lane.process.filter(|p| !own.process.records.contains(p)) {
            own.process.records.push(process);
            let process = trace.process(process);
            own.process.parent = own.process.parent.take().or(process.parent.clone());
            own.rank = own.rank.or(process.rank);
        }
        own.rank = own.rank.or(lane.rank);
        own.process.recordings = vec![recording];
        own.process.range = TimeRange {
            start: own.process.range.start.min(range.start),
            end: own.process.range.end.max(range.end),
        };
        own.process.spans += u64::from(lane.spans.end - lane.spans.start);
        let by_rule = || {
            let name = process.and_then(|p| p.name.as_deref());
            let role = rules.role_of(&lane.name, name, None);
            role.filter(|&r| r == Role::Worker)
        };
        let said = lane.role.or(process.and_then(|p| p.role));
        let said = said.or_else(by_rule);
        own.role = match (own.lanes.is_empty(), said) {
            (true, role) => role,
            // A process is what all its threads are.
            (false, role) if role == own.role => role,
            (false, _) => process.and_then(|p| p.role),
        };
        own.lanes.push(id);
        own.works = own.works || glance.works(id);
        of_lane[id.index()] = Some(at);
        if let Some(host) = host {
            *at_host.entry((recording, host)).or_default() += 1;
        }
    }
    for ((recording, host), lanes) in &at_host {
        let most = at_host
            .range((*recording, "")..)
            .take_while(|(k, _)| k.0 == *recording);
        if most.map(|(_, n)| n).max() == Some(lanes) {
            let slot = &mut recordings[*recording].host;
            slot.get_or_insert_with(|| (*host).to_owned());
        }
    }
    Found {
        recordings,
        of_source,
        of_lane,
        records,
    }
}

/// What tells the processes of one recording apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key<'a> {
    recording: usize,
    space: Option<&'a str>,
    pid: Option<&'a str>,
    host: Option<u32>,
    /// As stated of the lane.
    rank: Option<u32>,
}

fn record(
    trace: &Trace,
    rules: &Rules,
    lane: LaneId,
    host: Option<&str>,
    number: Option<u32>,
) -> Known {
    let lane = trace.lane(lane);
    let source = trace.source(lane.source);
    let file = source.path.file_name().map(|f| f.to_string_lossy());
    let by_file = rules.role_of("", None, file.as_deref());
    Known {
        process: OsProcess {
            host: host.map(str::to_owned),
            pid: lane
                .process
                .map_or_else(String::new, |p| trace.process(p).pid.clone()),
            records: Vec::new(),
            recordings: Vec::new(),
            range: TimeRange {
                start: i64::MAX,
                end: i64::MIN,
            },
            spans: 0,
            purpose: Purpose::Other,
            rank: None,
            run: 0,
            parent: None,
            of: None,
            evidence: Evidence::default(),
            recorded: true,
        },
        host: number,
        works: false,
        forked: by_file == Some(Role::Worker),
        role: None,
        rank: source.rank,
        lanes: Vec::new(),
    }
}

fn recordings(trace: &Trace) -> (Vec<Recording>, Vec<usize>) {
    let mut all: Vec<Recording> = Vec::new();
    let mut folders: BTreeMap<(&str, PathBuf), usize> = BTreeMap::new();
    let mut of_source = Vec::with_capacity(trace.sources().len());
    for (source, number) in trace.sources().iter().zip(0..) {
        let folder = source.path.parent().map(PathBuf::from).unwrap_or_default();
        let key = (source.tracer.key, folder);
        let known = folders.get(&key).copied();
        let at = known
            .filter(|_| source.tracer.folder_is_run)
            .unwrap_or(all.len());
        if at == all.len() {
            all.push(Recording {
                path: source.path.clone(),
                tracer: source.tracer.key,
                files: Vec::new(),
                host: source.host.clone(),
                rank: source.rank,
                world: source.world,
                placed: true,
                extent: None,
                run: 0,
            });
        }
        let own = &mut all[at];
        if own.files.len() == 1 {
            own.path.clone_from(&key.1);
        }
        folders.insert(key, at);
        own.files.push(SourceId(number));
        own.rank = own.rank.filter(|&r| source.rank == Some(r));
        let placed = matches!(source.clock, Clock::Unix { .. }) || source.shift_ns != 0;
        own.placed = own.placed && placed;
        of_source.push(at);
    }
    (all, of_source)
}

/// From the first start to the last end of a lane's spans; `offset` is added.
fn range_of(trace: &Trace, lane: &Lane, offset: i64) -> Option<TimeRange> {
    let range = lane.spans.start as usize..lane.spans.end as usize;
    let (starts, durs) = (
        &trace.spans().starts()[range.clone()],
        &trace.spans().durs()[range],
    );
    let ends = starts.iter().zip(durs).map(|(s, d)| s + d);
    Some(TimeRange {
        start: starts.first()?.saturating_add(offset),
        end: ends.max()?.saturating_add(offset),
    })
}

pub(super) fn union(a: Option<TimeRange>, b: Option<TimeRange>) -> Option<TimeRange> {
    let both = |a: TimeRange, b: TimeRange| TimeRange {
        start: a.start.min(b.start),
        end: a.end.max(b.end),
    };
    match (a, b) {
        (Some(a), Some(b)) => Some(both(a, b)),
        (a, b) => a.or(b),
    }
}

/// A process number for sorting; words come last.
pub(super) fn number(pid: &str) -> u64 {
    pid.parse().unwrap_or(u64::MAX)
}

/// Hosts by number: those that are equal up to the first dot, without case, are one.
#[derive(Default)]
struct Hosts(BTreeMap<String, u32>);

impl Hosts {
    fn number(&mut self, host: Option<&str>) -> Option<u32> {
        let short = host?.split('.').next().unwrap_or_default();
        if short.is_empty() {
            return None;
        }
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        Some(*self.0.entry(short.to_lowercase()).or_insert(next))
    }
}

/// Equal, or not known of one.
pub(super) fn may_share_host(a: Option<u32>, b: Option<u32>) -> bool {
    a.is_none() || b.is_none() || a == b
}

impl Known {
    /// Whether nothing that both state tells them apart: hosts, ranks.
    pub fn may_go_with(&self, other: &Self) -> bool {
        let one_rank = self.rank.is_none() || other.rank.is_none() || self.rank == other.rank;
        one_rank && may_share_host(self.host, other.host)
    }
}

/// Layers of spans before it is known whose they are: as those of a training process, rules that ask for args not asked.
pub(super) struct Glance<'a> {
    trace: &'a Trace,
    rules: &'a Rules,
    layers: FxHashMap<(&'static str, CatId, NameId), LayerId>,
    candidates: FxHashMap<(&'static str, CatId), Vec<usize>>,
}

impl<'a> Glance<'a> {
    pub fn new(trace: &'a Trace, rules: &'a Rules) -> Self {
        Self {
            trace,
            rules,
            layers: FxHashMap::default(),
            candidates: FxHashMap::default(),
        }
    }

    /// The layer of a span of a tracer.
    pub fn layer(&mut self, tracer: &'static str, span: SpanId) -> LayerId {
        let (trace, rules) = (self.trace, self.rules);
        let (cat, name) = (trace.spans().cat(span), trace.spans().name(span));
        let candidates = &mut self.candidates;
        *self.layers.entry((tracer, cat, name)).or_insert_with(|| {
            let category = trace.category(cat);
            let text = trace.name(name);
            // The engine's nodes are no phase of the loop: they run wherever backward runs.
            if !category.counts || text.starts_with("autograd::engine") {
                return LayerId::RECORDER;
            }
            let group = LaneGroup {
                tracer,
                gpu: false,
                role: Role::Main,
            };
            let list = candidates
                .entry((tracer, cat))
                .or_insert_with(|| rules.candidates(group, &category.name));
            let rule = rules.outcome(list, text).last;
            rule.map_or(LayerId::OTHER, |r| rules.rules[r].layer)
        })
    }

    /// Whether a lane shows that its process trains: a step, a launch, a fetch or a phase.
    fn works(&mut self, lane: LaneId) -> bool {
        let tracer = self.trace.source(self.trace.lane(lane).source).tracer.key;
        let mut last = None;
        let spans = self.trace.spans();
        self.trace.lane_spans(lane).any(|span| {
            // Neighbours are often alike.
            let key = (spans.cat(span), spans.name(span));
            if last.replace(key) == Some(key) {
                return false;
            }
            let layer = self.layer(tracer, span);
            layer.is_phase() || layer == LayerId::STEP || layer == LayerId::LAUNCH
        })
    }
}

/// Calls of `fork` that returned a process, by time; the copy that a child writes returned none. Only recorders that
/// state parents record them.
pub(super) fn forks(
    trace: &Trace,
    of_lane: &[Option<usize>],
    args: &dyn ArgSource,
    go_on: &GoOn<'_>,
) -> Vec<Fork> {
    let Some(name) = trace.names().find("fork") else {
        return Vec::new();
    };
    let spans = trace.spans();
    let mut calls = Vec::new();
    for lane in trace.lane_ids() {
        let tracer = trace.source(trace.lane(lane).source).tracer;
        if of_lane[lane.index()].is_some() && tracer.folder_is_run {
            calls.extend(trace.lane_spans(lane).filter(|&s| spans.name(s) == name));
        }
    }
    let mut forks = Vec::new();
    args.each(&calls, go_on, &mut |span, arg| {
        let child = arg("ret").filter(|r| r.parse::<u64>().is_ok_and(|pid| pid > 0));
        if let (Some(child), Some(parent)) = (child, of_lane[spans.lane(span).index()]) {
            forks.push(Fork {
                at: spans.start(span),
                parent,
                child,
            });
        }
        true
    });
    forks.sort_by(|a, b| (a.at, &a.child).cmp(&(b.at, &b.child)));
    forks
}
