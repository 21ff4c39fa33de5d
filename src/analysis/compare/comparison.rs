//! Before and after: what may be said of two sides of one recording or more each.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::base::steps::StepClass;
use crate::analysis::compare::decomposition::{self, Decomposition, PartClock};
use crate::analysis::compare::figure::{self, ALPHA, Answer, Figure, Reason, Values};
use crate::analysis::compare::kernels::{self, Kernels};
use crate::analysis::compare::sample::{COLUMNS, Recording, Sample, SampleRow};
use crate::analysis::compare::unlike::{self, Alike, Effect, Told, Unlike, UnlikeWhat};
use crate::analysis::sums::stats::percentile;

/// Where p counts as a change of something, although the step did not change.
const STRICT_ALPHA: f64 = 0.025;

/// A share of the step as a fraction: changes below it are small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepShare {
    /// Numerator.
    pub num: u64,
    /// Denominator, above zero.
    pub den: u64,
}

impl Default for StepShare {
    /// 3 %.
    fn default() -> Self {
        Self { num: 3, den: 100 }
    }
}

impl StepShare {
    /// That share of a time, ns, rounded half up.
    #[must_use]
    pub fn of(self, ns: i64) -> i64 {
        let (num, den) = (i128::from(self.num), i128::from(self.den.max(1)));
        let value = (2 * i128::from(ns) * num + den).div_euclid(2 * den);
        i64::try_from(value).unwrap_or(i64::MAX)
    }
}

/// How steps of the two sides are put side by side in pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlignedBy {
    /// By their numbers.
    Number,
    /// By their place.
    Index,
}

impl AlignedBy {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Index => "index",
        }
    }
}

/// The step that stands for a side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypicalStep {
    /// Place of its recording on its side.
    pub recording: usize,
    /// Index in the rank's steps.
    pub step: usize,
    /// Number or name.
    pub label: String,
    /// Its number, where it has one.
    pub number: Option<i64>,
    /// Start, in time of its trace, ns.
    pub start: i64,
    /// Length, ns.
    pub time: i64,
}

/// One rank, before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct RankComparison {
    /// Its number before.
    pub rank: u32,
    /// Its number after.
    pub rank_after: u32,
    /// Judged cycles of each side.
    pub steps: [usize; 2],
    /// Whole cycles of each side that are left out.
    pub left_out: [usize; 2],
    /// Kinds of the verdicts of each side.
    pub verdicts: [String; 2],
    /// The verdict of each side's first recording in one sentence.
    pub headlines: [String; 2],
    /// How steps are put side by side.
    pub aligned_by: AlignedBy,
    /// The step that stands for each side.
    pub typical: [Option<TypicalStep>; 2],
    /// `step` first, then columns, then parts.
    pub figures: Vec<Figure>,
    /// Where the time of the mean step went.
    pub decomposition: Option<Decomposition>,
    /// Kernels by name; `None` where a side has no GPU operations.
    pub kernels: Option<Kernels>,
}

/// What is compared, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompareOptions {
    /// Changes below this share of the step are small.
    pub limit: StepShare,
    /// Which steps.
    pub alike: Alike,
}

/// Two sides, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Why nothing is compared.
    pub refused: Option<UnlikeWhat>,
    /// In what the sides are unlike.
    pub unlike: Vec<Unlike>,
    /// What defines the steps of both.
    pub steps_how: Option<StepClass>,
    /// What was asked to define them.
    pub steps_asked: Option<StepClass>,
    /// Sides whose own steps are defined otherwise: (before, after).
    pub steps_recomputed: [bool; 2],
    /// Changes below this share of the step are small.
    pub limit: StepShare,
    /// Recordings of each side.
    pub recordings: [usize; 2],
    /// The step of a job of several ranks: that of its slowest one.
    pub job: Option<Figure>,
    /// Ranks that both sides have.
    pub ranks: Vec<RankComparison>,
    /// Numbers of ranks that one side alone has: (before, after).
    pub ranks_only: [Vec<u32>; 2],
}

impl Comparison {
    /// The figure that the question is about: the job's step, else that of the only rank.
    #[must_use]
    pub fn question(&self) -> Option<&Figure> {
        let step = || self.ranks.first()?.figures.first();
        self.job.as_ref().or_else(step)
    }

    /// Whether the sides are unlike in something.
    #[must_use]
    pub fn is_unlike(&self, what: UnlikeWhat) -> bool {
        self.unlike.iter().any(|u| u.what == what)
    }

    /// Whether the step grew by no more than a share: `Some(false)` where it did, `Some(true)` where it did not, `None`
    /// where that cannot be told. Programs that differ are not compared, unless told so.
    #[must_use]
    pub fn within(&self, share: StepShare, other_program: bool) -> Option<bool> {
        if self.refused.is_some() || !other_program && self.is_unlike(UnlikeWhat::Program) {
            return None;
        }
        let question = self.question()?;
        question.within(share.of(question.before?))
    }
}

/// Compares two sides; their steps are of the class of `options.alike`.
#[must_use]
pub fn compare(before: &[Recording], after: &[Recording], options: &CompareOptions) -> Comparison {
    let mut out = Comparison {
        refused: None,
        unlike: unlike::refusals(before, after, options.alike),
        steps_how: options.alike.class,
        steps_asked: options.alike.asked,
        steps_recomputed: options.alike.recomputed,
        limit: options.limit,
        recordings: [before.len(), after.len()],
        job: None,
        ranks: Vec::new(),
        ranks_only: [Vec::new(), Vec::new()],
    };
    out.refused = out.unlike.first().map(|u| u.what);
    out.unlike.extend(unlike::differences(before, after));
    if out.refused.is_some() {
        // What explains a change says nothing where nothing is compared.
        out.unlike.retain(|u| u.what.effect() == Effect::Refuse);
        return out;
    }
    let (pairs, only) = pairs(before, after);
    out.ranks_only = only;
    let pairs: Vec<Pair<'_>> = pairs
        .into_iter()
        .map(|(b, a)| Pair {
            sides: [of_rank(before, b), of_rank(after, a)],
        })
        .collect();
    for pair in &pairs {
        out.ranks.push(pair.measure(options.limit, &mut out.unlike));
    }
    if pairs.len() > 1 {
        let ahead = pairs.iter().any(|p| p.runs_ahead().contains(&true));
        out.job = Some(job(&pairs, options.limit, ahead));
    }
    answer(&mut out);
    let gate = out.question().is_some_and(|q| q.answer.is_change());
    let alpha = if gate { ALPHA } else { STRICT_ALPHA };
    for (pair, rank) in pairs.iter().zip(&mut out.ranks) {
        pair.finish(rank, alpha, &mut out.unlike);
    }
    out.unlike.sort_by_key(|u| u.what);
    out
}

/// Numbers of the ranks that belong together, and of those that one side alone has. Two single ranks belong together
/// whatever their numbers are.
fn pairs(before: &[Recording], after: &[Recording]) -> (Vec<(u32, u32)>, [Vec<u32>; 2]) {
    let common = |side: &[Recording]| {
        let mut all = side.iter().map(|r| {
            let numbers = r.ranks.iter().map(|r| r.rank);
            numbers.collect::<BTreeSet<u32>>()
        });
        let first = all.next().unwrap_or_default();
        all.fold(first, |a, b| a.intersection(&b).copied().collect())
    };
    let (b, a) = (common(before), common(after));
    let mut pairs: Vec<(u32, u32)> = b.intersection(&a).map(|&r| (r, r)).collect();
    if let (true, 1, 1) = (pairs.is_empty(), b.len(), a.len()) {
        pairs.extend(b.iter().copied().zip(a.iter().copied()));
        return (pairs, [Vec::new(), Vec::new()]);
    }
    let only = [b.difference(&a), a.difference(&b)];
    (pairs, only.map(|o| o.copied().collect()))
}

fn of_rank(side: &[Recording], rank: u32) -> Vec<&Sample> {
    let ranks = side.iter().flat_map(|r| &r.ranks);
    ranks.filter(|r| r.rank == rank).collect()
}

/// A rank of both sides: its sample in each recording.
struct Pair<'a> {
    sides: [Vec<&'a Sample>; 2],
}

impl<'a> Pair<'a> {
    /// All judged cycles of each side.
    fn rows(&self) -> [Vec<&'a SampleRow>; 2] {
        self.sides
            .each_ref()
            .map(|s| s.iter().flat_map(|r| &r.rows).collect())
    }

    fn clock(&self) -> PartClock {
        match self.sides.iter().flatten().all(|s| s.gpu) {
            true => PartClock::Gpu,
            false => PartClock::Cpu,
        }
    }

    /// The values of a figure; `None` where a step of a side does not tell it.
    fn values(&self, value: impl Fn(&SampleRow) -> Option<i64>) -> [Values; 2] {
        self.sides.each_ref().map(|side| {
            let run = |s: &&Sample| s.rows.iter().map(&value).collect::<Option<Vec<i64>>>();
            side.iter().map(run).collect()
        })
    }

    /// Whether the GPU falls behind the loop by more than a twentieth of the time, on each side: such steps show the pace
    /// of the CPU.
    fn runs_ahead(&self) -> [bool; 2] {
        let ahead = |s: &&Sample| {
            let lags: Vec<i64> = s.rows.iter().filter_map(|r| r.gpu_lag).collect();
            let time: i128 = s.rows.iter().map(|r| i128::from(r.time)).sum();
            let [first, .., before, last] = lags[..] else {
                return false;
            };
            // The record may cut the last step short of its end: the one before must be behind too, by half as much at least.
            let behind = |lag: i64| 20 * (i128::from(lag) - i128::from(first)) > time;
            behind(last)
                && 2 * (i128::from(before) - i128::from(first))
                    > i128::from(last) - i128::from(first)
        };
        self.sides.each_ref().map(|s| s.iter().any(ahead))
    }

    /// The families of spans that make the waits of each side.
    fn waits(&self) -> [Vec<String>; 2] {
        self.sides.each_ref().map(|s| {
            let all: BTreeSet<&String> = s.iter().flat_map(|r| &r.waits).collect();
            all.into_iter().cloned().collect()
        })
    }

    fn measure(&self, limit: StepShare, unlike: &mut Vec<Unlike>) -> RankComparison {
        let rows = self.rows();
        let clock = self.clock();
        let mut times: Vec<i64> = rows[0].iter().map(|r| r.time).collect();
        let limit = limit.of(percentile(&mut times, 50).unwrap_or(0));
        let ahead = self.runs_ahead();
        let waits = self.waits();
        let unlike_waits = waits.iter().all(|w| !w.is_empty()) && waits[0] != waits[1];
        note_once(unlike, UnlikeWhat::RunsAhead, ahead.contains(&true), || {
            ahead.map(Told::Flag)
        });
        note_once(unlike, UnlikeWhat::Waits, unlike_waits, || {
            waits.map(Told::List)
        });
        let ahead = ahead.contains(&true).then_some(Reason::RunsAhead);
        let of_waits = unlike_waits.then_some(Reason::UnlikeWaits);
        let time = self.values(|r| Some(r.time));
        let mut figures = vec![Figure::measure("step", time, limit, ahead)];
        for (place, name) in COLUMNS.into_iter().enumerate() {
            let mut all = rows.iter().flatten();
            if all.any(|r| r.columns[place].is_some()) {
                let why = of_waits.filter(|_| name.starts_with("wait"));
                let values = self.values(|r| r.columns[place]);
                figures.push(Figure::measure(name, values, limit, why));
            }
        }
        for (place, part) in clock.parts().iter().enumerate() {
            let value = |r: &SampleRow| clock.of(r).get(place).copied();
            if rows.iter().flatten().any(|r| value(r).unwrap_or(0) != 0) {
                let waits = of_waits.filter(|_| matches!(*part, "wait_exposed" | "fetch"));
                let name = format!("part.{part}");
                figures.push(Figure::measure(
                    name,
                    self.values(value),
                    limit,
                    ahead.or(waits),
                ));
            }
        }
        let first = |side: usize| self.sides[side].first();
        RankComparison {
            rank: first(0).map_or(0, |s| s.rank),
            rank_after: first(1).map_or(0, |s| s.rank),
            steps: rows.each_ref().map(Vec::len),
            left_out: self
                .sides
                .each_ref()
                .map(|s| s.iter().map(|r| r.left_out).sum()),
            verdicts: self.sides.each_ref().map(|s| {
                let kinds: BTreeSet<&str> = s.iter().map(|r| r.verdict.as_str()).collect();
                kinds.into_iter().collect::<Vec<_>>().join("+")
            }),
            headlines: [0, 1].map(|s| first(s).map_or_else(String::new, |r| r.headline.clone())),
            aligned_by: aligned_by(&rows),
            typical: [0, 1].map(|side| self.typical(side, clock)),
            figures,
            decomposition: None,
            kernels: None,
        }
    }

    fn typical(&self, side: usize, clock: PartClock) -> Option<TypicalStep> {
        let rows: Vec<(usize, &SampleRow)> = self.sides[side]
            .iter()
            .enumerate()
            .flat_map(|(i, s)| s.rows.iter().map(move |r| (i, r)))
            .collect();
        let plain: Vec<&SampleRow> = rows.iter().map(|r| r.1).collect();
        let (recording, row) = rows[decomposition::typical(&plain, clock)?];
        Some(TypicalStep {
            recording,
            step: row.step,
            label: row.label.clone(),
            number: row.number,
            start: row.start,
            time: row.time,
        })
    }

    /// What needs the answers of the figures.
    fn finish(&self, rank: &mut RankComparison, alpha: f64, unlike: &mut Vec<Unlike>) {
        let [before, after] = self.rows();
        let answers: BTreeMap<&str, Answer> = rank
            .figures
            .iter()
            .filter_map(|f| Some((f.name.strip_prefix("part.")?, f.answer)))
            .collect();
        let answer = |part: &str| answers.get(part).copied().unwrap_or(Answer::CannotTell);
        rank.decomposition = decomposition::decompose(&before, &after, self.clock(), answer);
        if self.clock() == PartClock::Cpu {
            return;
        }
        let limit = rank.figures.first().map_or(0, |f| f.limit);
        let sides = self.sides.each_ref().map(Vec::as_slice);
        let kernels = kernels::compare(sides, limit, alpha);
        let share = kernels.common_work.map_or(Told::Nothing, Told::Share);
        note_once(unlike, UnlikeWhat::Program, !kernels.one_program(), || {
            [Told::Nothing, share]
        });
        rank.kernels = Some(kernels);
    }
}

/// Notes something of a rank, once for all ranks.
fn note_once(
    unlike: &mut Vec<Unlike>,
    what: UnlikeWhat,
    is: bool,
    told: impl FnOnce() -> [Told; 2],
) {
    if is && !unlike.iter().any(|u| u.what == what) {
        let [before, after] = told();
        unlike.push(Unlike {
            what,
            before,
            after,
        });
    }
}

/// By number where every step has one and half of the shorter side's are on the other, too.
fn aligned_by(rows: &[Vec<&SampleRow>; 2]) -> AlignedBy {
    let numbers = rows.each_ref().map(|side| {
        let all = side.iter().map(|r| r.number);
        all.collect::<Option<BTreeSet<i64>>>()
    });
    let [Some(b), Some(a)] = &numbers else {
        return AlignedBy::Index;
    };
    let shorter = rows[0].len().min(rows[1].len());
    match shorter > 0 && 2 * b.intersection(a).count() >= shorter {
        true => AlignedBy::Number,
        false => AlignedBy::Index,
    }
}

/// The steps of a job: a synchronous one is as slow as its slowest rank.
fn job(pairs: &[Pair<'_>], limit: StepShare, ahead: bool) -> Figure {
    let series = |side: usize| -> Vec<Vec<i64>> {
        let recordings = pairs.first().map_or(0, |p| p.sides[side].len());
        let samples = |i: usize| -> Vec<&Sample> {
            let of = pairs.iter().filter_map(|p| p.sides[side].get(i).copied());
            of.collect()
        };
        (0..recordings).map(|i| slowest(&samples(i))).collect()
    };
    let (before, after) = (series(0), series(1));
    let mut all: Vec<i64> = before.iter().flatten().copied().collect();
    let limit = limit.of(percentile(&mut all, 50).unwrap_or(0));
    let ahead = ahead.then_some(Reason::RunsAhead);
    Figure::measure("job", [Some(before), Some(after)], limit, ahead)
}

/// The longest time of each step over some ranks, for the numbers that all have; by place where steps have no numbers of
/// their own.
fn slowest(ranks: &[&Sample]) -> Vec<i64> {
    let numbered = |s: &&Sample| {
        let all = s.rows.iter().map(|r| Some((r.number?, r.time)));
        let times = all.collect::<Option<BTreeMap<i64, i64>>>();
        times.filter(|t| t.len() == s.rows.len())
    };
    let by_number: Option<Vec<BTreeMap<i64, i64>>> = ranks.iter().map(numbered).collect();
    if let Some(all) = by_number {
        let Some((first, rest)) = all.split_first() else {
            return Vec::new();
        };
        let most = |(number, &time): (&i64, &i64)| {
            let others = rest.iter().map(|r| r.get(number).copied());
            others
                .chain([Some(time)])
                .collect::<Option<Vec<_>>>()?
                .into_iter()
                .max()
        };
        return first.iter().filter_map(most).collect();
    }
    let steps = ranks.iter().map(|r| r.rows.len()).min().unwrap_or(0);
    let most = |k: usize| ranks.iter().map(|r| r.rows[k].time).max().unwrap_or(0);
    (0..steps).map(most).collect()
}

/// Answers the question, then what else changed: if the step changed, what of it did, per rank; if it did not, whether
/// anything did at all, over all ranks and more strictly.
fn answer(out: &mut Comparison) {
    let asked = out.job.is_none();
    let question = match &mut out.job {
        Some(job) => Some(job),
        None => out.ranks.first_mut().and_then(|r| r.figures.first_mut()),
    };
    let Some(question) = question else {
        return;
    };
    figure::family(&mut [&mut *question], ALPHA);
    question.conclude();
    let gate = question.answer.is_change();
    let skip = usize::from(asked);
    if gate {
        for rank in &mut out.ranks {
            let mut figures: Vec<&mut Figure> = rank.figures.iter_mut().skip(skip).collect();
            figure::family(&mut figures, ALPHA);
        }
    } else {
        let ranks = out.ranks.iter_mut();
        let mut figures: Vec<&mut Figure> = ranks
            .flat_map(|r| r.figures.iter_mut().skip(skip))
            .collect();
        figure::family(&mut figures, STRICT_ALPHA);
    }
    let ranks = out.ranks.iter_mut();
    for figure in ranks.flat_map(|r| r.figures.iter_mut().skip(skip)) {
        figure.conclude();
    }
}
