//! Which records are of one process.
//!
//! Process numbers are used again, on other hosts and later, so equal numbers alone say nothing. Records of two recorders
//! are of one process where they overlap in time, unless the fetches of both say otherwise; or where the fetches of one
//! lie inside those of the other in one order only, whatever the clocks say. Never where they state different hosts or
//! ranks: in a container of its own each rank has the same number.
//!
//! ```text
//!  DFTracer  ├─ fetch.iter ─┤      ├─ fetch.iter ─┤        encloses what torch records inside it
//!  torch       ├ __next__ ┤          ├ __next__ ┤
//! ```

use std::collections::BTreeMap;

use super::Identity;
use super::records::{Found, Glance, Known, is_thread, stated};
use crate::analysis::base::core::outermost;
use crate::analysis::base::name_kinds::NameKind;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::rules::Rules;
use crate::analysis::notices::{Certainty, Notice};
use crate::analysis::sums::drift::{Bound, Distance};
use crate::model::{LaneId, SourceId, SpanId, Trace};
use crate::time::TimeRange;

/// Fetches of each record from which on they can tell processes apart.
const ENOUGH: usize = 8;
/// Fewest pairs that say anything.
const FEWEST: usize = 3;
/// Joins the records of each process; afterwards the lanes point to the processes.
pub(super) fn merge(
    trace: &Trace,
    rules: &Rules,
    found: &mut Found,
    max_drift: i64,
    notices: &mut Vec<Notice>,
) -> Vec<Known> {
    let records = std::mem::take(&mut found.records);
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| {
        (
            records[i].process.recordings.clone(),
            records[i].process.range.start,
            i,
        )
    });
    let mut by_pid: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut processes: Vec<Known> = Vec::new();
    let mut place = vec![0; records.len()];
    let mut records: Vec<Option<Known>> = records.into_iter().map(Some).collect();
    let mut loops = Loops::new(trace, rules, max_drift);
    let mut others = Vec::new();
    for i in order {
        let Some(own) = records[i].take() else {
            continue;
        };
        let candidates = by_pid.entry(own.process.pid.clone()).or_default();
        let joined = candidates.iter().copied().find_map(|at| {
            let other = &processes[at];
            if !own.may_go_with(other) {
                return None;
            }
            let mine = own.process.recordings[0];
            if other.process.recordings.contains(&mine) {
                // Within one recording numbers are unique on each host, and in each file that was put together.
                let one = same_space(trace, &own, other) && own.rank == other.rank;
                return one.then_some((at, None));
            }
            let placed = |k: &Known| {
                k.process
                    .recordings
                    .iter()
                    .all(|&r| found.recordings[r].placed)
            };
            let time =
                own.process.range.overlaps(other.process.range) && placed(&own) && placed(other);
            let nesting = loops.nesting(found, &own, other);
            if time && nesting == Nesting::Contradicts {
                others.push(own.process.pid.clone());
                return None;
            }
            let nested = matches!(nesting, Nesting::Fits(n) if n > 0);
            let sure = matches!(nesting, Nesting::Fits(n) if n >= ENOUGH);
            (time || sure).then_some((at, Some((time, nested))))
        });
        match joined {
            Some((at, evidence)) => {
                join(&mut processes[at], own, evidence);
                place[i] = at;
            }
            None => {
                candidates.push(processes.len());
                place[i] = processes.len();
                processes.push(own);
            }
        }
    }
    for lane in &mut found.of_lane {
        *lane = lane.map(|record| place[record]);
    }
    Notice::of_each(
        notices,
        Certainty::Guessed,
        "same_pid_other_loop",
        &others,
        |pids| {
            format!(
                "Two sources record a process of the same number ({pids}) at the same time, but their loops fetch at other \
             times: they are taken as two processes."
            )
        },
    );
    processes
}

fn same_space(trace: &Trace, a: &Known, b: &Known) -> bool {
    let space = |k: &Known| {
        let first = k.process.records.first();
        first.map(|&p| trace.process(p).space.clone())
    };
    match (space(a), space(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

fn join(into: &mut Known, own: Known, evidence: Option<(bool, bool)>) {
    into.works |= own.works;
    into.forked |= own.forked;
    into.role = into.role.or(own.role);
    into.rank = into.rank.or(own.rank);
    into.host = into.host.or(own.host);
    into.lanes.extend(own.lanes);
    let (to, from) = (&mut into.process, own.process);
    to.host = to.host.take().or(from.host);
    to.parent = to.parent.take().or(from.parent);
    to.records.extend(from.records);
    to.spans += from.spans;
    to.range = TimeRange {
        start: to.range.start.min(from.range.start),
        end: to.range.end.max(from.range.end),
    };
    if let Some((time, nested)) = evidence {
        to.recordings.extend(from.recordings);
        to.recordings.sort_unstable();
        to.recordings.dedup();
        (to.evidence.time, to.evidence.nested) = (time, nested);
    }
}

/// What the fetches of two records say about each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nesting {
    /// They cannot be compared.
    Nothing,
    /// So many of one lie inside those of the other.
    Fits(usize),
    /// Both have enough of them, and they do not fit at any distance of the clocks.
    Contradicts,
}

/// Finds the fetches of records when they are asked for.
pub(super) struct Loops<'a> {
    trace: &'a Trace,
    glance: Glance<'a>,
    max_drift: i64,
}

/// The fetches of one record, on the clock that its source states, and which of them something follows.
pub(super) struct Of {
    pub ranges: Vec<TimeRange>,
    followed: Vec<bool>,
}

/// A span's time on the clock that its source states.
pub(super) fn on_own_clock(trace: &Trace, source: SourceId, range: TimeRange) -> TimeRange {
    let offset = stated(trace.source(source), trace.unix_origin());
    TimeRange {
        start: range.start.saturating_add(offset),
        end: range.end.saturating_add(offset),
    }
}

impl<'a> Loops<'a> {
    pub fn new(trace: &'a Trace, rules: &'a Rules, max_drift: i64) -> Self {
        Self {
            trace,
            glance: Glance::new(trace, rules),
            max_drift,
        }
    }

    /// The layer of a span of a training process's thread.
    pub fn layer(&mut self, tracer: &'static str, span: SpanId) -> LayerId {
        self.glance.layer(tracer, span)
    }

    fn nesting(&mut self, found: &Found, a: &Known, b: &Known) -> Nesting {
        let encloses = |k: &Known| {
            let recording = &found.recordings[k.process.recordings[0]];
            let first = recording.files.first();
            first.is_some_and(|&f| self.trace.source(f).tracer.encloses_fetches)
        };
        let (outer, inner) = match (encloses(a), encloses(b)) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => return Nesting::Nothing,
        };
        let mut of = |k: &Known| {
            let recording = k.process.recordings[0];
            let lanes = k.lanes.iter().copied();
            let source = |l: LaneId| self.trace.lane(l).source.index();
            let own = lanes.filter(|&l| found.of_source[source(l)] == recording);
            let own: Vec<LaneId> = own.collect();
            self.fetches(&own)
        };
        let (outer, inner) = (of(outer), of(inner));
        let enough = outer.ranges.len().min(inner.ranges.len()) >= ENOUGH;
        if outer.ranges.is_empty() || inner.ranges.is_empty() {
            return Nesting::Nothing;
        }
        match nested(&outer, &inner, self.max_drift) {
            Nested::Fits(fit) => Nesting::Fits(fit.pairs.len()),
            Nested::Nowhere if enough => Nesting::Contradicts,
            Nested::Nowhere | Nested::Ambiguous => Nesting::Nothing,
        }
    }

    /// The fetches that one recording has of a training process, by its place.
    pub fn of(&mut self, who: &Identity, process: usize, recording: usize) -> Of {
        let rank = who.processes[process].rank;
        let lanes = rank.map_or(&[][..], |r| who.lanes_of(r)).iter().copied();
        let source = |l: LaneId| self.trace.lane(l).source;
        let own = lanes
            .filter(|&l| who.process(l) == Some(process) && who.recording(source(l)) == recording);
        let own: Vec<LaneId> = own.collect();
        self.fetches(&own)
    }

    /// The loader's own calls, the outermost of them; without any the outermost fetches.
    fn fetches(&mut self, lanes: &[LaneId]) -> Of {
        let trace = self.trace;
        let (mut all, mut own, mut work) = (Vec::new(), Vec::new(), Vec::new());
        for &lane in lanes {
            if !is_thread(trace, lane) {
                continue;
            }
            let source_id = trace.lane(lane).source;
            let source = trace.source(source_id);
            // What is done inside an evaluation, a checkpoint or the like is not done with the batch before it.
            let mut aside = i64::MIN;
            for span in trace.lane_spans(lane) {
                let layer = self.glance.layer(source.tracer.key, span);
                let range = on_own_clock(trace, source_id, trace.spans().range(span));
                if LayerId::STALLS.contains(&layer) {
                    aside = aside.max(range.end);
                }
                if layer == LayerId::FETCH {
                    all.push((span, range));
                    if is_loaders(trace.span_name(span)) {
                        own.push((span, range));
                    }
                } else if range.start >= aside
                    && (layer.is_phase()
                        || layer == LayerId::LAUNCH
                        || layer == LayerId::OP
                            && !NameKind::of(trace.span_name(span)).may_make_iterator())
                {
                    work.push(range.start);
                }
            }
        }
        let mut chosen = if own.is_empty() { all } else { own };
        chosen.sort_by_key(|&(_, r): &(SpanId, TimeRange)| (r.start, std::cmp::Reverse(r.end)));
        work.sort_unstable();
        let ranges: Vec<TimeRange> = outermost(&chosen).into_iter().map(|(_, r)| r).collect();
        let before = |t: i64| work.partition_point(|&w| w < t);
        let followed = (0..ranges.len())
            .map(|i| {
                let next = ranges.get(i + 1).map_or(i64::MAX, |r| r.start);
                before(next) > before(ranges[i].end)
            })
            .collect();
        Of { ranges, followed }
    }
}

/// The loader's own call, not what a program put around it.
fn is_loaders(name: &str) -> bool {
    name.starts_with("enumerate(Data") || name.ends_with(".iter")
}

/// Pairs of fetches of which one lies inside the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Fit {
    /// (outer, inner), by time.
    pub pairs: Vec<(TimeRange, TimeRange)>,
    /// They were found by their order: the clocks are apart.
    pub by_order: bool,
}

/// How two lists of fetches fit into each other.
pub(super) enum Nested {
    /// In one way.
    Fits(Fit),
    /// In several, and it cannot be told which is true.
    Ambiguous,
    /// In none.
    Nowhere,
}

/// The fetches of `inner` inside those of `outer`: as the clocks stand, else at the only distance of the clocks at which
/// all do. One clock may run faster by `max_drift` parts in a billion.
pub(super) fn nested(outer: &Of, inner: &Of, max_drift: i64) -> Nested {
    if let Some(pairs) = as_stated(&outer.ranges, &inner.ranges, max_drift) {
        return Nested::Fits(Fit {
            pairs,
            by_order: false,
        });
    }
    // A fetch with nothing after it may have delivered nothing, and is not in every record.
    let kept = |keep: &dyn Fn(usize) -> bool| -> Vec<TimeRange> {
        let all = inner.ranges.iter().enumerate();
        all.filter(|&(i, _)| keep(i)).map(|(_, r)| *r).collect()
    };
    let Some(last) = inner.ranges.len().checked_sub(1) else {
        return Nested::Nowhere;
    };
    let ends = inner.followed.iter().filter(|f| !**f).count();
    let tries = [
        kept(&|i| inner.followed[i] || i != last),
        inner.ranges.clone(),
        kept(&|i| inner.followed[i]),
    ];
    let many = 3 * ends > inner.ranges.len();
    let mut best = Nested::Nowhere;
    for inner in tries.iter().take(if many { 2 } else { 3 }) {
        best = match (best, by_order(&outer.ranges, inner, max_drift)) {
            (Nested::Fits(a), Nested::Fits(b)) if b.pairs.len() > a.pairs.len() => Nested::Fits(b),
            (Nested::Fits(a), _) => Nested::Fits(a),
            (_, Nested::Fits(b)) => Nested::Fits(b),
            (Nested::Nowhere, other) | (other, Nested::Nowhere) => other,
            (Nested::Ambiguous, Nested::Ambiguous) => Nested::Ambiguous,
        };
    }
    best
}

/// Each fetch with the one it overlaps most, where nearly all have one of their own and the clocks may agree.
fn as_stated(
    outer: &[TimeRange],
    inner: &[TimeRange],
    max_drift: i64,
) -> Option<Vec<(TimeRange, TimeRange)>> {
    let (first, last) = (inner.first()?, inner.last()?);
    let mut pairs = Vec::new();
    let mut within = 0;
    for &o in outer {
        if o.end > first.start && o.start < last.end {
            within += 1;
        }
        let from = inner.partition_point(|i| i.end <= o.start);
        let over = inner[from..].iter().take_while(|i| i.start < o.end);
        let most = over.max_by_key(|i| o.clip(**i).len());
        if let Some(&i) = most.filter(|i| o.overlaps(**i)) {
            pairs.push((o, i));
        }
    }
    let alone = pairs.windows(2).all(|p| p[0].1 != p[1].1);
    // A few at the edge of both fit by chance, too.
    let need = outer.len().min(inner.len()).clamp(1, ENOUGH);
    if pairs.len() < need || !alone || 10 * pairs.len() < 9 * within {
        return None;
    }
    let distance = Distance::new(&bounds(&pairs), max_drift)?;
    let holds = |t: i64| {
        distance
            .at(t)
            .is_some_and(|[low, high]| low <= 0 && 0 <= high)
    };
    let ends = [pairs[0].1.start, pairs[pairs.len() - 1].1.end];
    ends.into_iter().all(holds).then_some(pairs)
}

/// All lags at which the fetches of the shorter list fit those of the longer one. A record mostly begins and ends within
/// the other: fewer pairs than most of the shorter list also fit by chance, where steps are alike.
fn by_order(outer: &[TimeRange], inner: &[TimeRange], max_drift: i64) -> Nested {
    let shorter = outer.len().min(inner.len());
    let need = shorter.clamp(FEWEST, ENOUGH).max(shorter.div_ceil(4) * 3);
    if outer.len() < need || inner.len() < need {
        return Nested::Nowhere;
    }
    let mut fits = Vec::new();
    // Outer k with inner k + lag, lag counted from the least one.
    for lag in 0..=(outer.len() - need) + (inner.len() - need) {
        let (skip_outer, skip_inner) = (
            (outer.len() - need).saturating_sub(lag),
            lag.saturating_sub(outer.len() - need),
        );
        let pairs = || {
            outer[skip_outer..]
                .iter()
                .copied()
                .zip(inner[skip_inner..].iter().copied())
        };
        if pairs().len() < need || !may_fit(pairs(), max_drift) {
            continue;
        }
        let pairs: Vec<_> = pairs().collect();
        let distance = Distance::new(&bounds(&pairs), max_drift);
        if let Some(distance) = distance.filter(|d| d.drift().is_some()) {
            let zero = distance.at(pairs[0].1.start);
            let at_zero = zero.is_some_and(|[low, high]| low <= 0 && 0 <= high);
            fits.push((pairs, at_zero));
        }
    }
    if fits.len() > 1 {
        fits.retain(|f| f.1);
        if fits.len() != 1 {
            return Nested::Ambiguous;
        }
    }
    match fits.pop() {
        Some((pairs, _)) => Nested::Fits(Fit {
            pairs,
            by_order: true,
        }),
        None => Nested::Nowhere,
    }
}

/// Whether some distance of the clocks, within what drift allows, puts all inside: most lags fail at their first pairs.
fn may_fit(mut pairs: impl Iterator<Item = (TimeRange, TimeRange)>, max_drift: i64) -> bool {
    let (mut low, mut high, mut first) = (i128::MIN, i128::MAX, None);
    pairs.all(|(o, i)| {
        let [start, end] = ends(o, i);
        let since = i128::from(i.end) - *first.get_or_insert(i128::from(i.start));
        low = low.max(start);
        high = high.min(end);
        low - high <= 2 * i128::from(max_drift) * since / 1_000_000_000 + 1
    })
}

/// The least and the greatest distance of the clocks at which a fetch lies inside the other.
fn ends(outer: TimeRange, inner: TimeRange) -> [i128; 2] {
    let start = i128::from(outer.start) - i128::from(inner.start);
    let end = i128::from(outer.end) - i128::from(inner.end) + 2 * i128::from(QUANTUM);
    [start, end]
}

/// The recorder that encloses cuts its times to microseconds.
const QUANTUM: i64 = 1_000;

/// What pairs say of the distance of the clocks: two bounds each.
pub(super) fn bounds(pairs: &[(TimeRange, TimeRange)]) -> Vec<Bound> {
    let clamped = |x: i128| i64::try_from(x).unwrap_or(if x < 0 { i64::MIN } else { i64::MAX });
    let one = |&(o, i): &(TimeRange, TimeRange)| {
        let [start, end] = ends(o, i).map(clamped);
        [
            Bound {
                t: i.start,
                value: start,
                lower: true,
            },
            Bound {
                t: i.end,
                value: end,
                lower: false,
            },
        ]
    };
    pairs.iter().flat_map(one).collect()
}
