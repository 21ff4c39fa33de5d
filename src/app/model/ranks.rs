//! Many ranks that were opened one by one, and how their matrix is looked at.

use std::path::PathBuf;

use crate::ranks::{Ranks, RunOfRanks};
use crate::view::{ROW_HEIGHTS, RankOrder};

/// The ranks of a folder.
pub struct RanksView {
    /// What was opened.
    pub paths: Vec<PathBuf>,
    /// The matrix shows, not a trace.
    pub visible: bool,
    /// How the rows are sorted.
    pub order: RankOrder,
    /// Height of a row, points; `None` = as fits.
    pub row_height: Option<f32>,
    /// How far the rows are scrolled, points.
    pub scroll: f32,
    /// Rows between which the pointer is dragged.
    pub drag: Option<(usize, usize)>,
    ranks: Ranks,
    run: usize,
}

impl RanksView {
    /// Ranks that were just opened.
    #[must_use]
    pub fn new(ranks: Ranks, paths: Vec<PathBuf>) -> Self {
        Self {
            paths,
            visible: true,
            order: RankOrder::default(),
            row_height: None,
            scroll: 0.0,
            drag: None,
            ranks,
            run: 0,
        }
    }

    /// The run that shows.
    #[must_use]
    pub fn run(&self) -> Option<&RunOfRanks> {
        self.ranks.runs.get(self.run)
    }

    /// Everything that was opened.
    #[must_use]
    pub fn all(&self) -> &Ranks {
        &self.ranks
    }

    /// Shows the next run.
    pub fn next_run(&mut self) {
        self.run = (self.run + 1) % self.ranks.runs.len().max(1);
        self.scroll = 0.0;
    }

    /// The files of some ranks of the run that shows, by place.
    #[must_use]
    pub fn files(&self, places: &[usize]) -> Vec<PathBuf> {
        let files = self.run().map_or(&[][..], |r| &r.files);
        let own = places.iter().filter_map(|&p| files.get(p));
        let mut paths: Vec<PathBuf> = own.flat_map(|f| f.paths.clone()).collect();
        paths.sort();
        // One file may hold several ranks.
        paths.dedup();
        paths
    }

    /// Whether some paths are files of these ranks.
    #[must_use]
    pub fn has(&self, paths: &[PathBuf]) -> bool {
        let files = self.ranks.runs.iter().flat_map(|r| &r.files);
        let all: std::collections::BTreeSet<&PathBuf> = files.flat_map(|f| &f.paths).collect();
        paths.iter().all(|p| all.contains(p))
    }

    /// Makes the rows higher or lower; `now` is their height.
    pub fn zoom(&mut self, factor: f32, now: f32) {
        let height = (now * factor).clamp(*ROW_HEIGHTS.start(), *ROW_HEIGHTS.end());
        self.scroll *= height / now;
        self.row_height = Some(height);
    }
}
