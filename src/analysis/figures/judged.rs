//! What is judged of a loop in a window, and of how much: the account of the record.
//!
//! ```text
//! window    ├──────────────────────────────────────────────────────────────┤
//! cycles       ├ 0 first ┤ 1 ┤ 2 ┤ evaluation ┤ 3 ┤ 4 first ┤ 5 ┤ 6 ┤
//! account   out│  first  │judged │   between  │ j.│  first  │ judged│  out
//! the loop               ├────────────────────────────────────────┤
//! ```

use crate::analysis::Analysis;
use crate::analysis::base::cycles::Cycle;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::ratio;
use crate::time::TimeRange;

/// Cycles that must be judged.
pub(in crate::analysis) const FEWEST: usize = 2;

/// A whole cycle of a window, with its waits in ns; `None` is not recorded, which is not zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CycleRow {
    /// Index in the rank's steps.
    pub step: usize,
    /// When.
    pub range: TimeRange,
    /// The loader started in it.
    pub first: bool,
    /// The loop waits for data.
    pub wait: Option<i64>,
    /// Of it the GPU was idle.
    pub wait_exposed: Option<i64>,
    /// Of it the GPU worked.
    pub wait_hidden: Option<i64>,
    /// Of it unknown.
    pub wait_unrecorded: Option<i64>,
}

impl CycleRow {
    /// Its length, ns.
    #[must_use]
    pub fn time(&self) -> i64 {
        self.range.len()
    }
}

/// The time of a window by what became of it; adds up to the window. ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// In judged steps.
    pub judged: i64,
    /// In steps in which the loader started, where those are not judged.
    pub first: i64,
    /// In steps that the window cuts.
    pub partial: i64,
    /// Between steps: evaluations, checkpoints, long pauses.
    pub between: i64,
    /// Before the first step and after the last one.
    pub outside: i64,
}

/// A part of the record that is not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unjudged {
    /// [`Account::first`].
    First,
    /// [`Account::between`].
    Between,
    /// [`Account::outside`].
    Outside,
}

impl Unjudged {
    /// The name in reports.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Between => "between",
            Self::Outside => "outside",
        }
    }
}

impl Account {
    /// All of it, ns.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.judged + self.first + self.partial + self.between + self.outside
    }

    /// The longest part that is not judged; of equals the first.
    #[must_use]
    pub fn longest(&self) -> (Unjudged, i64) {
        let mut longest = (Unjudged::First, self.first);
        for part in [
            (Unjudged::Between, self.between),
            (Unjudged::Outside, self.outside),
        ] {
            if part.1 > longest.1 {
                longest = part;
            }
        }
        longest
    }
}

/// What is judged of a rank in a window.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Index in [`Analysis::ranks`].
    pub rank: usize,
    /// The window, as far as the rank's record goes.
    pub window: TimeRange,
    /// Its whole cycles, ascending.
    pub cycles: Vec<CycleRow>,
    /// Those of them that are judged, by place.
    pub places: Vec<usize>,
    /// Cycles only partly in the window.
    pub partial_steps: usize,
    /// The time of the window.
    pub account: Account,
    /// S: the union of the judged cycles.
    pub set: Union,
    /// The loop: everything from the end of the very first cycle to the end of the last, and all that is judged.
    pub reach: Union,
    /// Everything from the end of the very first cycle to the end of the last.
    pub(in crate::analysis) later: Union,
    /// Holes between steps that are not ordinary.
    pub(in crate::analysis) between: Union,
    /// Whole first cycles that are not judged, but the very first of the loop.
    pub(in crate::analysis) restarted: Vec<TimeRange>,
}

impl Judged {
    /// The judged cycles.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &CycleRow> {
        self.places.iter().map(|&i| &self.cycles[i])
    }

    /// Number of judged cycles.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True when nothing is judged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whole cycles that are left out, because the loader started in them.
    pub fn left_out(&self) -> impl Iterator<Item = &CycleRow> {
        let rows = self.cycles.iter().enumerate();
        rows.filter(|(i, _)| self.places.binary_search(i).is_err())
            .map(|(_, row)| row)
    }

    /// Starts of the loader behind the first: first cycles but the very first one of the loop.
    #[must_use]
    pub fn starts_again(&self) -> usize {
        self.cycles.iter().filter(|c| c.first && c.step > 0).count()
    }

    /// Enough is judged for a verdict.
    #[must_use]
    pub fn enough(&self) -> bool {
        self.len() >= FEWEST && self.account.judged > 0
    }

    /// The judged steps are a small part of the record: less than `least` of it, or shorter than another part.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "compared with a share")]
    pub fn is_little(&self, least: f64) -> bool {
        let account = self.account;
        account.judged > 0
            && ((account.judged as f64) < least * account.total() as f64
                || account.longest().1 > account.judged)
    }
}

/// Exposed wait of a rank beside the time that it is a share of, of all of the trace and of the steps that its verdict
/// judges. ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExposedShare {
    /// Exposed wait in the trace.
    pub exposed: i64,
    /// The trace.
    pub of: i64,
    /// Exposed wait in the judged steps.
    pub judged: i64,
    /// The judged steps; 0 where none are.
    pub judged_of: i64,
}

impl ExposedShare {
    /// The share that a verdict would speak of: of the judged steps, else of the trace.
    #[must_use]
    pub fn telling(&self) -> f64 {
        let (part, of) = match self.judged_of {
            0 => (self.exposed, self.of),
            of => (self.judged, of),
        };
        ratio(part, of).unwrap_or(0.0)
    }

    /// The same of the whole trace.
    #[must_use]
    pub fn of_trace(&self) -> f64 {
        ratio(self.exposed, self.of).unwrap_or(0.0)
    }
}

impl std::ops::AddAssign for ExposedShare {
    fn add_assign(&mut self, other: Self) {
        self.exposed += other.exposed;
        self.of = self.of.saturating_add(other.of);
        self.judged += other.judged;
        self.judged_of = self.judged_of.saturating_add(other.judged_of);
    }
}

impl Analysis {
    /// How much of a rank's time its exposed waits take; `None` without a GPU, since then nobody knows.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn exposed_share(&self, rank: usize) -> Option<ExposedShare> {
        let r = &self.ranks[rank];
        r.gpu?;
        let extent = self.trace().extent();
        let judged = self.judged(rank, extent);
        Some(ExposedShare {
            exposed: r.wait_exposed.measure(),
            of: extent.len(),
            judged: r.wait_exposed.intersect(&judged.set).measure(),
            judged_of: judged.account.judged,
        })
    }

    /// What is judged of a rank in a window: its whole cycles but those in which the loader started; all whole ones,
    /// where fewer than two others remain.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn judged(&self, rank: usize, window: TimeRange) -> Judged {
        let (r, recorded) = (&self.ranks[rank], &self.recorded[rank]);
        let cycles = &self.cycles[rank];
        // One of several ranks has its own record, also where the others recorded longer.
        let window = window.clip(cycles.record);
        // Steps that nobody can believe are not judged: then all of the record lies outside.
        let all: &[Cycle] = if cycles.irregular() { &[] } else { &cycles.all };
        let known = |is: bool, union: &Union, range| is.then(|| union.measure_in(range));
        let row = |(step, c): (usize, &Cycle)| CycleRow {
            step,
            range: c.range,
            first: c.first,
            wait: known(recorded.waits(), &r.wait, c.range),
            wait_exposed: known(recorded.exposure(), &r.wait_exposed, c.range),
            wait_hidden: known(recorded.exposure(), &r.wait_hidden, c.range),
            wait_unrecorded: known(recorded.waits(), &r.wait_unrecorded, c.range),
        };
        let whole = all
            .iter()
            .enumerate()
            .filter(|(_, c)| window.covers(c.range));
        let rows: Vec<CycleRow> = whole.map(row).collect();
        let mut places: Vec<usize> = (0..rows.len()).filter(|&i| !rows[i].first).collect();
        if places.len() < FEWEST {
            places = (0..rows.len()).collect();
        }
        let of = |places: &mut dyn Iterator<Item = usize>| {
            Union::new(places.map(|i| rows[i].range).collect())
        };
        let set = of(&mut places.iter().copied());
        let left: Vec<usize> = (0..rows.len())
            .filter(|i| places.binary_search(i).is_err())
            .collect();
        let firsts = of(&mut left.iter().copied()).subtract(&set);
        let cut: Vec<TimeRange> = all
            .iter()
            .filter(|c| c.range.overlaps(window) && !window.covers(c.range))
            .map(|c| c.range.clip(window))
            .collect();
        let partial_steps = cut.len();
        let steps = set.unite(&firsts);
        let cut = Union::new(cut).subtract(&steps);
        let holes = match cycles.irregular() {
            true => Union::empty(),
            false => Union::from_sorted(cycles.holes.iter().copied()).clip(window),
        };
        let between = holes.subtract(&steps).subtract(&cut);
        let later = match all {
            [first, .., last] => Union::single(TimeRange::new(first.range.end, last.range.end)),
            _ => Union::empty(),
        };
        let later = later.clip(window);
        let mut account = Account {
            judged: set.measure(),
            first: firsts.measure(),
            partial: cut.measure(),
            between: between.measure(),
            outside: 0,
        };
        account.outside = window.len() - account.total();
        let restarted = left.iter().map(|&i| &rows[i]);
        let restarted = restarted.filter(|c| c.step > 0).map(|c| c.range).collect();
        Judged {
            rank,
            window,
            partial_steps,
            account,
            reach: set.unite(&later),
            set,
            later,
            between,
            restarted,
            cycles: rows,
            places,
        }
    }
}
