//! Steps of a training loop: explicit ones, else from the fetches, else from the marks of an optimizer.

use crate::analysis::base::core::{Core, outermost};
use crate::analysis::base::marks;
use crate::analysis::base::waits::{self, LoopWait, LoopWaits};
use crate::analysis::layers::classify::{ArgSource, group_of};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::rules::Rules;
use crate::analysis::sums::watch::{Cancelled, Watch};
use crate::model::{LaneId, SpanId};
use crate::time::TimeRange;

/// One iteration of a training loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// `[start, end)`.
    pub range: TimeRange,
    /// Number or name, for display.
    pub label: String,
    /// First of a loader's run: its wait is start-up.
    pub first: bool,
    /// Its number, where it has one: ranks are compared by it.
    pub number: Option<i64>,
    /// The span that states it, for explicit steps.
    pub span: Option<SpanId>,
}

impl Step {
    /// The label without what only says that it is a step.
    #[must_use]
    pub fn short(&self) -> &str {
        ["ProfilerStep#", "step "]
            .iter()
            .find_map(|prefix| self.label.strip_prefix(prefix))
            .unwrap_or(&self.label)
    }
}

/// The number of the step that lies at an instant.
pub(in crate::analysis) fn number_at(steps: &[Step], t: i64) -> Option<i64> {
    let i = steps
        .partition_point(|s| s.range.start <= t)
        .checked_sub(1)?;
    let step = &steps[i];
    step.number.filter(|_| step.range.contains(t))
}

/// How steps were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepSource {
    /// Spans of the layer `step`.
    Explicit,
    /// From one fetch to the next.
    Fetches,
    /// The same, although there are explicit steps: they hold several batches.
    FetchesInsideSteps,
    /// From one mark of an optimizer to the next.
    Optimizer,
}

/// What defines the steps of a loop: only steps of one class can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepClass {
    /// Spans that state a step.
    Explicit,
    /// The fetches of the loop.
    Fetch,
    /// The marks of an optimizer.
    Optimizer,
}

impl StepClass {
    /// All classes, the one preferred first.
    pub const ALL: [Self; 3] = [Self::Explicit, Self::Fetch, Self::Optimizer];

    /// The name in reports and on the command line.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Fetch => "fetch",
            Self::Optimizer => "optimizer",
        }
    }

    /// The class of a name.
    #[must_use]
    pub fn named(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.key() == key)
    }
}

impl StepSource {
    /// What defines these steps.
    #[must_use]
    pub fn class(self) -> StepClass {
        match self {
            Self::Explicit => StepClass::Explicit,
            Self::Fetches | Self::FetchesInsideSteps => StepClass::Fetch,
            Self::Optimizer => StepClass::Optimizer,
        }
    }

    /// The name in JSON, which stays while words change.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::FetchesInsideSteps => "from fetch (explicit steps hold several batches)",
            Self::Explicit | Self::Fetches | Self::Optimizer => self.text(),
        }
    }

    /// The words of reports.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Fetches => "from fetch",
            Self::FetchesInsideSteps => "one per batch: each marked step holds several",
            Self::Optimizer => "optimizer",
        }
    }
}

/// What [`find`] finds.
pub(in crate::analysis) struct Found {
    pub steps: Vec<Step>,
    pub how: StepSource,
    pub dropped: usize,
    /// The spans that mark steps, without a leftover.
    pub marks: Vec<SpanId>,
    pub leftover: bool,
}

/// What the steps of a loop are found in.
#[derive(Clone, Copy)]
pub(in crate::analysis) struct Loop<'a> {
    /// The records of its thread.
    pub lanes: &'a [LaneId],
    /// Its waits.
    pub waits: &'a LoopWaits,
    /// Its GPU's operations are recorded.
    pub on_gpu: bool,
    /// The only class of steps to look for; `None` = the best that there is.
    pub wanted: Option<StepClass>,
}

/// The steps of a loop. The first one of each run of the loader that the waits tell is marked; where they tell none, the
/// cycles do.
pub(in crate::analysis) fn find(
    core: &Core,
    rules: &Rules,
    args: &dyn ArgSource,
    of: Loop<'_>,
    watch: &Watch<'_>,
) -> Result<Found, Cancelled> {
    let (derived, dropped) = from_fetches(core, of);
    // The record of the thread that marks them.
    let marks = |&l: &LaneId| (l, outermost(&core.spans_of(l, LayerId::STEP)));
    let marks = of.lanes.iter().map(marks);
    let marks = marks.reduce(|most, m| if m.1.len() > most.1.len() { m } else { most });
    let (lane, mut explicit) = marks.unwrap_or_default();
    let leftover = is_leftover(core, of, &explicit);
    if leftover {
        explicit.pop();
    }
    let marked = explicit.iter().map(|m| m.0).collect();
    let how = match (of.wanted, explicit.is_empty()) {
        (Some(StepClass::Explicit), _) => StepSource::Explicit,
        (Some(StepClass::Optimizer), _) => StepSource::Optimizer,
        (Some(StepClass::Fetch), _) | (None, true) => StepSource::Fetches,
        (None, false) if coarse(&explicit, &derived) => StepSource::FetchesInsideSteps,
        (None, false) => StepSource::Explicit,
    };
    let (mut steps, dropped) = match how {
        StepSource::Explicit => {
            let numbers = numbers(core, rules, args, lane, &explicit, watch)?;
            (stated(core, &explicit, numbers), 0)
        }
        StepSource::Fetches | StepSource::FetchesInsideSteps => (derived, dropped),
        StepSource::Optimizer => (Vec::new(), 0),
    };
    let mut how = how;
    if steps.is_empty() && of.wanted.is_none_or(|c| c == StepClass::Optimizer) {
        let mut ranges = of.lanes.iter().map(|&l| marks::steps(core, l));
        let ranges = ranges.find(|r| !r.is_empty()).unwrap_or_default();
        let ranges = ranges.into_iter().enumerate();
        steps = ranges.map(|(i, range)| numbered(i, range)).collect();
        if !steps.is_empty() {
            how = StepSource::Optimizer;
        }
    }
    let mut found = Found {
        steps,
        how,
        dropped,
        marks: marked,
        leftover,
    };
    mark_first(core, of, &mut found);
    Ok(found)
}

/// Whether the last explicit step is what follows the last mark: nothing is done in it, although something is in the
/// first, and no batch comes.
fn is_leftover(core: &Core, of: Loop<'_>, marks: &[(SpanId, TimeRange)]) -> bool {
    let &[(_, first), .., (_, last)] = marks else {
        return false;
    };
    let works = |range: TimeRange| {
        let mut lanes = of.lanes.iter();
        // Without GPU operations an operator is work, too.
        lanes.any(|&l| match of.on_gpu {
            true => waits::works_in(core, l, range),
            false => waits::computes_in(core, l, range),
        })
    };
    let waits = |w: &LoopWait| w.range.start < last.end && last.start < w.range.end;
    works(first) && !works(last) && !of.waits.batches().any(waits)
}

/// Marks the first step of each run of the loader: a start-up. Where no fetch was recorded, the first one of each epoch.
fn mark_first(core: &Core, of: Loop<'_>, found: &mut Found) {
    let waits: Vec<TimeRange> = of.waits.firsts().map(|w| w.range).collect();
    let mut epochs: Vec<i64> = Vec::new();
    if of.waits.all.is_empty() {
        let lanes = of.lanes.iter();
        epochs.extend(
            lanes
                .flat_map(|&l| core.spans_of(l, LayerId::EPOCH))
                .map(|e| e.1.start),
        );
        epochs.sort_unstable();
    }
    let mut before: Option<i64> = None;
    for step in &mut found.steps {
        let range = step.range;
        let next = waits.partition_point(|w| w.end <= range.start);
        let starts_run = waits.get(next).is_some_and(|w| match found.how {
            StepSource::Explicit => w.start < range.end,
            StepSource::Fetches | StepSource::FetchesInsideSteps => w.start == range.start,
            StepSource::Optimizer => w.start < range.end,
        });
        let starts_epoch = before.is_some_and(|b| {
            let i = epochs.partition_point(|&e| e <= b);
            epochs.get(i).is_some_and(|&e| e <= range.start)
        });
        step.first = before.is_none() || starts_run || starts_epoch;
        before = Some(range.start);
    }
}

/// What is known of the number of an explicit step.
#[derive(Clone, Default)]
struct Numbered {
    /// What its args say.
    given: Option<String>,
    /// What its name says, by the rule that its args decide.
    captured: Option<String>,
}

/// The numbers of explicit steps.
fn numbers(
    core: &Core,
    rules: &Rules,
    args: &dyn ArgSource,
    lane: LaneId,
    explicit: &[(SpanId, TimeRange)],
    watch: &Watch<'_>,
) -> Result<Vec<Numbered>, Cancelled> {
    let group = group_of(&core.trace, core.identity.roles(), lane);
    let number = |span: SpanId, arg: &dyn Fn(&str) -> Option<String>| {
        let name = core.trace.span_name(span);
        let category = &core.trace.category(core.trace.spans().cat(span)).name;
        let captured = || {
            let outcome = rules.outcome(&rules.candidates(group, category), name);
            rules.captured(rules.decide(&outcome, arg)?, "step", name)
        };
        Numbered {
            given: arg("step"),
            captured: captured(),
        }
    };
    let spans: Vec<SpanId> = explicit.iter().map(|&(span, _)| span).collect();
    let mut numbers: Vec<Option<Numbered>> = vec![None; spans.len()];
    args.each(&spans, &|| watch.reached(700).is_ok(), &mut |span, arg| {
        // Spans of one lane are in the order of their ids.
        if let Ok(i) = spans.binary_search(&span) {
            numbers[i] = Some(number(span, arg));
        }
        watch.check().is_ok()
    });
    watch.check()?;
    let none = |_: &str| None;
    let all = spans.iter().zip(numbers);
    Ok(all
        .map(|(&span, n)| n.unwrap_or_else(|| number(span, &none)))
        .collect())
}

/// Explicit steps that hold several batches each: three derived ones or more in two.
fn coarse(explicit: &[(SpanId, TimeRange)], derived: &[Step]) -> bool {
    // Outermost spans may overlap in part; the latest end so far decides whether a start lies inside one.
    let mut ends: Vec<i64> = Vec::with_capacity(explicit.len());
    for (_, r) in explicit {
        ends.push(ends.last().map_or(r.end, |e| r.end.max(*e)));
    }
    let inside = derived
        .iter()
        .filter(|s| {
            let i = explicit.partition_point(|(_, r)| r.start <= s.range.start);
            i > 0 && s.range.start < ends[i - 1]
        })
        .count();
    2 * inside >= 3 * explicit.len() && inside > explicit.len()
}

fn stated(core: &Core, explicit: &[(SpanId, TimeRange)], numbers: Vec<Numbered>) -> Vec<Step> {
    let step = |(&(span, range), number): (&(SpanId, TimeRange), Numbered)| {
        let text = number.given.clone().or(number.captured);
        let name = core.trace.span_name(span);
        Step {
            range,
            label: number.given.unwrap_or_else(|| name.to_owned()),
            first: false,
            number: text.and_then(|n| n.parse().ok()),
            span: Some(span),
        }
    };
    explicit.iter().zip(numbers).map(step).collect()
}

/// A step that nothing states.
fn numbered(number: usize, range: TimeRange) -> Step {
    Step {
        range,
        label: number.to_string(),
        first: false,
        number: i64::try_from(number).ok(),
        span: None,
    }
}

/// Classes of steps that a loop can give, the one preferred first.
pub(in crate::analysis) fn possible(core: &Core, of: Loop<'_>, marked: bool) -> Vec<StepClass> {
    let there = |class: &StepClass| match class {
        StepClass::Explicit => marked,
        StepClass::Fetch => !from_fetches(core, of).0.is_empty(),
        StepClass::Optimizer => of.lanes.iter().any(|&l| !marks::steps(core, l).is_empty()),
    };
    StepClass::ALL.into_iter().filter(there).collect()
}

/// A step from each fetch that a body follows, to the next fetch; the last one, or one whose container ends first,
/// to the end of its last body span. Also returns the number of fetches without a body.
fn from_fetches(core: &Core, of: Loop<'_>) -> (Vec<Step>, usize) {
    let fetches = of.waits.all.iter().filter(|w| !w.range.is_empty());
    let fetches: Vec<&LoopWait> = fetches.collect();
    if fetches.is_empty() {
        return (Vec::new(), 0);
    }
    let mut bounds: Vec<i64> = Vec::new();
    // Body spans: phases other than fetch, and calls that launched something.
    let mut body: Vec<TimeRange> = Vec::new();
    for &lane in of.lanes {
        let columns = core.columns(lane);
        let launches = core.trace.launches();
        let first = launches.partition_point(|l| l.from.0 < columns.first);
        let mut links = launches[first..].iter().map(|l| l.from).peekable();
        for i in 0..columns.len() {
            let (layer, id) = (columns.of[i], columns.id(i));
            if layer == LayerId::EPOCH || layer == LayerId::TRAIN {
                bounds.push(columns.range(i).end);
            }
            while links.next_if(|&l| l < id).is_some() {}
            let works = layer.is_phase() && layer != LayerId::FETCH;
            if works || links.peek() == Some(&id) {
                body.push(columns.range(i));
            }
        }
    }
    if of.lanes.len() > 1 {
        body.sort_unstable_by_key(|b| b.start);
    }
    bounds.sort_unstable();
    let inside = |from: i64, to: i64| {
        let a = body.partition_point(|b| b.start < from);
        let b = body.partition_point(|b| b.start < to);
        &body[a..b.max(a)]
    };
    let after = core.trace.extent().end.saturating_add(1);
    let next = |i: usize| fetches.get(i + 1).map(|f| f.range.start);
    let anybody = (0..fetches.len())
        .any(|i| !inside(fetches[i].range.end, next(i).unwrap_or(after)).is_empty());
    let (mut steps, mut dropped) = (Vec::new(), 0);
    for (i, wait) in fetches.iter().enumerate() {
        let fetch = wait.range;
        let next = next(i);
        let bound = bounds
            .get(bounds.partition_point(|&b| b < fetch.end))
            .copied();
        let limit = match (bound, next) {
            (Some(b), Some(n)) => Some(b.min(n)),
            (b, n) => b.or(n),
        };
        let body = inside(fetch.end, limit.unwrap_or(after));
        if !wait.is_batch() || body.is_empty() && (anybody || next.is_none()) {
            dropped += 1;
            continue;
        }
        let mut end = match next {
            Some(n) if limit.is_none_or(|l| n <= l) => n,
            _ => body.iter().map(|b| b.end).fold(fetch.end, i64::max),
        };
        if let Some(limit) = limit {
            end = end.min(limit);
        }
        let range = TimeRange::new(fetch.start, end);
        steps.push(numbered(steps.len(), range));
    }
    (steps, dropped)
}
