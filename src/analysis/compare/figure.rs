//! One figure on both sides: what was measured, and what may be said of it.

use crate::analysis::compare::statistics::{self, Between};
use crate::analysis::sums::stats::percentile_sorted;

/// Steps of each side below which nothing can be said.
const FEWEST: usize = 6;
/// Steps of each side that a firm answer needs.
const ENOUGH: usize = 20;

/// What may be said of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing; [`Reason`] says why.
    CannotTell,
    /// It seems to have changed, but the steps are too few to be sure.
    Hint,
    /// It changed, by the limit or more.
    Changed,
    /// It changed, by less than the limit.
    ChangedSmall,
    /// It did not change by as much as the limit.
    Same,
}

impl Answer {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::CannotTell => "cannot_tell",
            Self::Hint => "hint",
            Self::Changed => "changed",
            Self::ChangedSmall => "changed_small",
            Self::Same => "same",
        }
    }

    /// It changed, surely or by the looks of it.
    #[must_use]
    pub fn is_change(self) -> bool {
        matches!(self, Self::Hint | Self::Changed | Self::ChangedSmall)
    }

    /// The change is worth a mark in a picture.
    #[must_use]
    pub fn is_marked(self) -> bool {
        matches!(self, Self::Hint | Self::Changed)
    }
}

/// Why nothing can be said of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A side does not have it.
    NotRecorded,
    /// The waits of the two sides are not the same thing.
    UnlikeWaits,
    /// The loop runs ahead of the GPU: its steps are not the training's.
    RunsAhead,
    /// Too few steps.
    FewSteps,
    /// The steps differ too much among themselves.
    Noise,
}

impl Reason {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::NotRecorded => "not_recorded",
            Self::UnlikeWaits => "unlike_waits",
            Self::RunsAhead => "runs_ahead",
            Self::FewSteps => "few_steps",
            Self::Noise => "noise",
        }
    }
}

/// Which way a figure changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// More time after.
    More,
    /// Less time after.
    Less,
}

impl Direction {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::More => "more",
            Self::Less => "less",
        }
    }
}

/// A figure of steps, before and after. Times in ns.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// `step`, `job`, a column of steps, `part.` and a part, or a kernel.
    pub name: String,
    /// Median before.
    pub before: Option<i64>,
    /// Median after.
    pub after: Option<i64>,
    /// Values before.
    pub m: usize,
    /// Values after.
    pub n: usize,
    /// How much more after.
    pub shift: Option<i64>,
    /// Lower end of its 95 % interval.
    pub lo: Option<i64>,
    /// Upper end of it.
    pub hi: Option<i64>,
    /// How much neighbouring steps are alike, from above.
    pub rho: Option<f64>,
    /// By what the interval is widened for that.
    pub widening: Option<f64>,
    /// Degrees of freedom.
    pub df: Option<u64>,
    /// Two-sided p of the shift.
    pub p: Option<f64>,
    /// That of the plain test of Mann and Whitney.
    pub p_mann_whitney: Option<f64>,
    /// p adjusted for the number of questions.
    pub p_holm: Option<f64>,
    /// Where p_holm counts as a change.
    pub alpha: f64,
    /// Changes below this are small.
    pub limit: i64,
    /// What may be said.
    pub answer: Answer,
    /// Why nothing can.
    pub reason: Option<Reason>,
    /// Which way it changed.
    pub direction: Option<Direction>,
    /// The smallest change that these steps could have shown.
    pub detectable: Option<i64>,
    /// Steps of each side that would show the limit.
    pub steps_needed: Option<u64>,
    /// Recordings of each side that would.
    pub recordings_needed: Option<u64>,
    /// Every value of one side is below every value of the other.
    pub separated: Option<bool>,
    /// Least and most before.
    pub range_before: Option<[i64; 2]>,
    /// Least and most after.
    pub range_after: Option<[i64; 2]>,
    /// Of several recordings: how far they lie apart.
    pub between: Option<Between>,
    /// Every value of both sides is the same one.
    constant: bool,
}

/// The values of a figure: a series per recording; `None` where a side does not tell it.
pub(super) type Values = Option<Vec<Vec<i64>>>;

/// All values of a side.
fn pooled(values: Option<&Vec<Vec<i64>>>) -> Vec<i64> {
    values.into_iter().flatten().flatten().copied().collect()
}

fn median(values: &[i64]) -> Option<i64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    percentile_sorted(&sorted, 50)
}

fn range(values: &[i64]) -> Option<[i64; 2]> {
    Some([*values.iter().min()?, *values.iter().max()?])
}

impl Figure {
    /// Measures a figure on both sides; `reason` says why nothing may be said of it, whatever its values.
    pub(super) fn measure(
        name: impl Into<String>,
        [before, after]: [Values; 2],
        limit: i64,
        reason: Option<Reason>,
    ) -> Self {
        let (a, b) = (pooled(before.as_ref()), pooled(after.as_ref()));
        let untold = a.is_empty() || b.is_empty();
        let reason = untold.then_some(Reason::NotRecorded).or(reason);
        let mut out = Self {
            name: name.into(),
            before: median(&a),
            after: median(&b),
            m: a.len(),
            n: b.len(),
            shift: None,
            lo: None,
            hi: None,
            rho: None,
            widening: None,
            df: None,
            p: None,
            p_mann_whitney: None,
            p_holm: None,
            alpha: ALPHA,
            limit,
            answer: Answer::CannotTell,
            reason,
            direction: None,
            detectable: None,
            steps_needed: None,
            recordings_needed: None,
            separated: None,
            range_before: None,
            range_after: None,
            between: None,
            constant: false,
        };
        let (Some(ra), Some(rb), None) = (range(&a), range(&b), reason) else {
            return out;
        };
        out.separated = Some(ra[1] < rb[0] || rb[1] < ra[0]);
        out.constant = ra == rb && ra[0] == ra[1];
        (out.range_before, out.range_after) = (Some(ra), Some(rb));
        let medians = |side: &Values| -> Vec<i64> {
            let runs = side.iter().flatten();
            runs.filter_map(|run| median(run)).collect()
        };
        let (ya, yb) = (medians(&before), medians(&after));
        if ya.len() > 1 && yb.len() > 1 {
            let between = statistics::welch(ya, yb);
            out.shift = Some(between.shift);
            (out.lo, out.hi) = (Some(between.lo), Some(between.hi));
            out.p = Some(between.p);
            out.between = Some(between);
        } else if a.len().min(b.len()) >= FEWEST {
            let s = statistics::compare(&a, &b);
            (out.shift, out.lo, out.hi) = (Some(s.shift), Some(s.lo), Some(s.hi));
            (out.rho, out.widening, out.df) = (Some(s.rho), Some(s.widening), Some(s.df));
            (out.p, out.p_mann_whitney) = (Some(s.p), Some(s.p_mann_whitney));
        } else {
            out.shift = Some(statistics::shift(&a, &b));
        }
        out
    }

    /// Steps of the side that has fewer.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.m.min(self.n)
    }

    /// What a firm answer rests on is there: enough steps, or several recordings.
    #[must_use]
    pub fn firm(&self) -> bool {
        self.between.is_some() || self.steps() >= ENOUGH
    }

    /// Answers, once p_holm is known.
    pub(super) fn conclude(&mut self) {
        if self.reason.is_some() {
            return;
        }
        if self.constant && self.firm() {
            self.answer = Answer::Same;
            self.detectable = Some(0);
            return;
        }
        let (Some(shift), Some(lo), Some(hi)) = (self.shift, self.lo, self.hi) else {
            self.reason = Some(Reason::FewSteps);
            return;
        };
        let detectable = half_width(lo, hi);
        self.detectable = Some(detectable);
        let real = self.p_holm.is_some_and(|p| p < self.alpha) && (lo > 0 || hi < 0);
        let large = shift.saturating_abs() >= self.limit;
        self.answer = match (self.firm(), real) {
            (true, true) if large => Answer::Changed,
            (true, true) => Answer::ChangedSmall,
            (true, false) if lo > self.limit.saturating_neg() && hi < self.limit => Answer::Same,
            (false, true) if large => Answer::Hint,
            _ => Answer::CannotTell,
        };
        match self.answer {
            Answer::CannotTell => {
                self.reason = Some(Reason::Noise);
                self.ask_for_more(detectable);
            }
            Answer::Hint => self.steps_needed = Some(ENOUGH as u64),
            Answer::Changed | Answer::ChangedSmall | Answer::Same => {}
        }
        if self.answer.is_change() {
            self.direction = Some(match shift > 0 {
                true => Direction::More,
                false => Direction::Less,
            });
        }
    }

    /// How much would have to be recorded to show the limit: the width falls with the square root of the number.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rough number of steps"
    )]
    fn ask_for_more(&mut self, detectable: i64) {
        if self.limit <= 0 {
            return;
        }
        let (have, least) = match &self.between {
            Some(b) => (b.before.len().min(b.after.len()), 2),
            None => (self.steps(), ENOUGH as u64),
        };
        let times = detectable as f64 / self.limit as f64;
        let need = ((have as f64 * times * times).ceil() as u64).max(least);
        if need > have as u64 {
            match self.between {
                Some(_) => self.recordings_needed = Some(need),
                None => self.steps_needed = Some(need),
            }
        }
    }

    /// Whether the figure grew by no more than a limit, in ns: `Some(false)` where it surely grew and by as much as that,
    /// `Some(true)` where it surely did not grow by more, else `None`.
    #[must_use]
    pub fn within(&self, limit: i64) -> Option<bool> {
        let (shift, lo, hi) = (self.shift?, self.lo?, self.hi?);
        if !self.firm() {
            return None;
        }
        match (lo > 0 && shift >= limit, hi <= limit) {
            (true, _) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        }
    }
}

/// ⌈(hi − lo) / 2⌉.
fn half_width(lo: i64, hi: i64) -> i64 {
    let width = i128::from(hi) - i128::from(lo);
    i64::try_from((width + 1).div_euclid(2)).unwrap_or(i64::MAX)
}

/// Where p counts as a change.
pub(super) const ALPHA: f64 = 0.05;

/// Figures that answer one question together: p of each is adjusted for their number. Figures that are one constant on
/// both sides ask nothing.
pub(super) fn family(figures: &mut [&mut Figure], alpha: f64) {
    let mut asked: Vec<&mut &mut Figure> = Vec::with_capacity(figures.len());
    for figure in figures {
        figure.alpha = alpha;
        if figure.p.is_some() && !figure.constant {
            asked.push(figure);
        }
    }
    let p: Vec<f64> = asked.iter().filter_map(|f| f.p).collect();
    for (figure, p) in asked.into_iter().zip(statistics::holm(&p)) {
        figure.p_holm = Some(p);
    }
}

/// A figure that is a question of its own, from a series per recording on each side.
#[must_use]
pub fn single(name: &str, before: Vec<Vec<i64>>, after: Vec<Vec<i64>>, limit: i64) -> Figure {
    let mut figure = Figure::measure(name, [Some(before), Some(after)], limit, None);
    family(&mut [&mut figure], ALPHA);
    figure.conclude();
    figure
}
