//! What the open trace is compared with: both sides, what may be said of them, and the steps that are looked at.

use std::sync::Arc;

use super::document::{Document, analysed};
use crate::analysis::compare::{Alike, CompareOptions, Comparison, Recording, compare};
use crate::analysis::{Analysis, Cancelled, StepClass};
use crate::import::{Progress, SharedArgs};
use crate::model::Trace;
use crate::view::{
    CompareInput, ComparePicture, CompareSide, Lod, MIN_WINDOW_NS, RowTree, Theme, compare_picture,
};

/// An open trace, as far as a comparison needs it.
#[derive(Clone)]
pub struct Side {
    name: String,
    trace: Arc<Trace>,
    analysis: Arc<Analysis>,
    tree: Arc<RowTree>,
    args: Arc<SharedArgs>,
    loops: Vec<String>,
    /// What the files say of how they were recorded.
    told: Vec<String>,
}

impl Side {
    /// Of an open trace.
    #[must_use]
    pub fn of(doc: &Document) -> Self {
        let facts = doc.report.files.iter().flat_map(|f| &f.facts);
        let recorded = facts.filter(|(key, _)| key == "recorded");
        Self {
            name: doc.name.clone(),
            trace: Arc::clone(&doc.trace),
            analysis: Arc::clone(&doc.analysis),
            tree: Arc::clone(&doc.tree),
            args: Arc::clone(&doc.args),
            loops: doc.loops.clone(),
            told: recorded.map(|(_, what)| what.clone()).collect(),
        }
    }

    fn recording(&self) -> Recording {
        Recording::of(&self.analysis, &self.told)
    }

    /// The same with steps of a class.
    fn with_steps(
        mut self,
        class: Option<StepClass>,
        progress: &Progress,
    ) -> Result<Self, Cancelled> {
        let go_on = |_thousandths: u32| !progress.is_cancelled();
        let (trace, args) = (&self.trace, &self.args);
        self.analysis = analysed(trace, args, &self.loops, class, &go_on)?;
        let lod = Arc::new(Lod::build_while(&self.trace, &self.analysis, &go_on)?);
        self.tree = Arc::new(RowTree::new_while(
            &self.trace,
            &self.analysis,
            lod,
            &go_on,
        )?);
        Ok(self)
    }
}

/// A comparison that is looked at.
pub struct Compared {
    /// The trace whose details do not show: at first the one before the change.
    pub other: Document,
    /// Which side is the open trace: 0 before, 1 after.
    pub details: usize,
    /// How far it is scrolled, points.
    pub scroll: f32,
    /// Time from the start of each step that both reach, as it was drawn last, ns.
    pub reach: i64,
    /// What may be said.
    pub found: Comparison,
    sides: [Side; 2],
    recordings: [Recording; 2],
    /// What shows of the steps: ns behind their starts, and how many; `None` = all.
    window: Option<[i64; 2]>,
    /// Places of the steps among the judged ones; `None` = the typical ones.
    steps: [Option<usize>; 2],
    /// What was drawn last, and of what: frames in which nothing changed draw it again.
    drawn: Option<(Drawn, Arc<ComparePicture>)>,
}

/// What a picture depends on: steps, window, theme, and its measures as bits.
type Drawn = ([Option<usize>; 2], Option<[i64; 2]>, &'static str, [u32; 3]);

impl Compared {
    /// Compares an open trace with one before it. Takes its time: not for the UI thread.
    ///
    /// # Errors
    /// When `progress` was cancelled.
    pub fn new(before: Document, after: Side, progress: &Progress) -> Result<Self, Cancelled> {
        let mut sides = [Side::of(&before), after];
        let mut recordings = sides.each_ref().map(Side::recording);
        let [b, a] = recordings.each_ref().map(std::slice::from_ref);
        let alike = Alike::of(b, a, None);
        for (i, again) in alike.recomputed.into_iter().enumerate() {
            if again {
                sides[i] = sides[i].clone().with_steps(alike.class, progress)?;
                recordings[i] = sides[i].recording();
            }
        }
        let options = CompareOptions {
            alike,
            ..CompareOptions::default()
        };
        let [b, a] = recordings.each_ref().map(std::slice::from_ref);
        Ok(Self {
            other: before,
            details: 1,
            scroll: 0.0,
            reach: 1,
            found: compare(b, a, &options),
            sides,
            recordings,
            steps: [None, None],
            window: None,
            drawn: None,
        })
    }

    /// Judged steps of each side.
    fn judged(&self) -> [usize; 2] {
        self.found.ranks.first().map_or([0, 0], |r| r.steps)
    }

    /// Place of the step that shows of a side.
    #[must_use]
    pub fn step(&self, side: usize) -> Option<usize> {
        self.steps[side].or_else(|| {
            let rank = self.found.ranks.first()?;
            let number = [rank.rank, rank.rank_after][side];
            let mut ranks = self.recordings[side].ranks.iter();
            let rows = &ranks.find(|r| r.rank == number)?.rows;
            let typical = rank.typical[side].as_ref()?.step;
            rows.iter().position(|r| r.step == typical)
        })
    }

    /// Goes on by some steps on both sides, as far as both go.
    pub fn go(&mut self, by: isize) {
        let judged = self.judged();
        let at = [0, 1].map(|i| self.step(i).unwrap_or(0));
        let to = at.map(|at| at.checked_add_signed(by));
        if let [Some(b), Some(a)] = to
            && b < judged[0]
            && a < judged[1]
        {
            self.steps = [Some(b), Some(a)];
        }
    }

    /// Shows a step of a side.
    pub fn show(&mut self, side: usize, place: usize) {
        if place < self.judged()[side] {
            self.steps[side] = Some(place);
        }
    }

    /// The trace of a side.
    #[must_use]
    pub fn trace(&self, side: usize) -> &Trace {
        &self.sides[side].trace
    }

    /// Start of the step that shows of a side, ns.
    #[must_use]
    pub fn start(&self, side: usize) -> Option<i64> {
        let rank = self.found.ranks.first()?;
        let number = [rank.rank, rank.rank_after][side];
        let mut ranks = self.recordings[side].ranks.iter();
        let rows = &ranks.find(|r| r.rank == number)?.rows;
        Some(rows.get(self.step(side)?)?.start)
    }

    /// Shows all of both steps.
    pub fn fit(&mut self) {
        self.window = None;
    }

    /// Zooms in by a factor (out below 1) around a place: 0 left, 1 right. `reach` is what all of both steps take, ns.
    pub fn zoom(&mut self, at: f64, factor: f64, reach: i64) {
        if !(factor.is_finite() && factor > 0.0 && at.is_finite()) {
            return;
        }
        let [start, len] = self.window.unwrap_or([0, reach]).map(|ns| ns as f64);
        let all = (reach as f64).max(1.0);
        let to = (len / factor).clamp(MIN_WINDOW_NS.min(all), all);
        let begin = start + at.clamp(0.0, 1.0) * (len - to);
        self.set_window(begin, to, all);
    }

    /// Moves by a share of what shows: positive shows later time.
    pub fn pan(&mut self, by: f64, reach: i64) {
        let [start, len] = self.window.unwrap_or([0, reach]).map(|ns| ns as f64);
        self.set_window(start + by * len, len, (reach as f64).max(1.0));
    }

    fn set_window(&mut self, begin: f64, len: f64, all: f64) {
        let begin = begin.clamp(0.0, (all - len).max(0.0));
        let whole = len >= all;
        self.window = (!whole).then_some([begin.round() as i64, len.round() as i64]);
    }

    /// The picture of it.
    #[must_use]
    pub fn list(
        &mut self,
        theme: &Theme,
        width: f32,
        header_width: f32,
        scale: f32,
    ) -> Option<Arc<ComparePicture>> {
        let measures = [width, header_width, scale].map(f32::to_bits);
        let of = (self.steps, self.window, theme.name, measures);
        if let Some((last, picture)) = &self.drawn
            && *last == of
        {
            return Some(Arc::clone(picture));
        }
        let side = |i: usize| CompareSide {
            trace: &self.sides[i].trace,
            analysis: &self.sides[i].analysis,
            tree: &self.sides[i].tree,
            recording: &self.recordings[i],
            name: &self.sides[i].name,
        };
        let picture = compare_picture(&CompareInput {
            sides: [side(0), side(1)],
            found: &self.found,
            rank: 0,
            steps: self.steps,
            window: self.window,
            theme,
            width,
            header_width,
            pixels_per_point: scale,
        })?;
        let picture = Arc::new(picture);
        self.drawn = Some((of, Arc::clone(&picture)));
        Some(picture)
    }
}
