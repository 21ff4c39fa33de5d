//! What the open trace is compared with: both sides, what may be said of them, and the steps that are looked at.

use std::sync::Arc;

use super::document::{Document, analysed};
use crate::analysis::compare::{Alike, CompareOptions, Comparison, Recording, compare};
use crate::analysis::{Analysis, Cancelled, StepClass};
use crate::import::{Progress, SharedArgs};
use crate::model::Trace;
use crate::view::{CompareInput, CompareSide, DrawList, Lod, RowTree, Theme, compare_picture};

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
    /// What may be said.
    pub found: Comparison,
    sides: [Side; 2],
    recordings: [Recording; 2],
    /// Places of the steps among the judged ones; `None` = the typical ones.
    steps: [Option<usize>; 2],
}

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
            found: compare(b, a, &options),
            sides,
            recordings,
            steps: [None, None],
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

    /// The picture of it.
    #[must_use]
    pub fn list(
        &self,
        theme: &Theme,
        width: f32,
        header_width: f32,
        scale: f32,
    ) -> Option<DrawList> {
        let side = |i: usize| CompareSide {
            trace: &self.sides[i].trace,
            analysis: &self.sides[i].analysis,
            tree: &self.sides[i].tree,
            recording: &self.recordings[i],
            name: &self.sides[i].name,
        };
        compare_picture(&CompareInput {
            sides: [side(0), side(1)],
            found: &self.found,
            rank: 0,
            steps: self.steps,
            theme,
            width,
            header_width,
            pixels_per_point: scale,
        })
    }
}
