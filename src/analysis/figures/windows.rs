//! The table of fixed windows: work summed over processes beside the busiest process.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::analysis::Analysis;
use crate::analysis::base::gpus::unite_all;
use crate::analysis::base::layer_sets::Owner;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::Union;
use crate::time::TimeRange;

/// One layer group in one window. Times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCell {
    /// Summed over processes: how much work was done.
    pub sum: i64,
    /// The busiest process: what a synchronous step could have waited for.
    pub proc_max: i64,
    /// Spans that start in it.
    pub n_started: u64,
    /// As `DFAnalyzer` counts: whole durations of spans that start in it, nested ones not merged.
    pub dfa_sum: i64,
    /// The same for the busiest thread.
    pub dfa_proc_max: i64,
}

/// A group of layers under one heading.
pub type LayerGroup<'a> = (&'a str, &'a [LayerId]);

/// The groups of the "second by second" table.
pub const WINDOW_GROUPS: [LayerGroup<'static>; 5] = [
    ("fetch", &[LayerId::FETCH]),
    ("load", &[LayerId::LOAD]),
    ("compute", &LayerId::COMPUTE_PHASES),
    ("read", &[LayerId::IO_READ]),
    ("h2d", &[LayerId::H2D]),
];

/// The most windows of one table: about 100 MB of cells.
pub const MAX_WINDOWS: usize = 500_000;

/// The grid is too fine for the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{windows} windows are more than {MAX_WINDOWS}: use a wider grid")]
pub struct TooManyWindows {
    /// How many there would be.
    pub windows: u64,
}

impl Analysis {
    /// Cells by window (outer) and group (inner), from `origin` to the end of the trace in windows of `grid` ns.
    ///
    /// # Errors
    /// When there would be more than [`MAX_WINDOWS`].
    pub fn fixed_windows(
        &self,
        groups: &[LayerGroup<'_>],
        grid: i64,
        origin: i64,
    ) -> Result<Vec<Vec<WindowCell>>, TooManyWindows> {
        let n = self.window_count(grid, origin)?;
        let grid = Grid {
            origin,
            grid: grid.max(1),
            n,
        };
        let columns: Vec<Vec<WindowCell>> = groups
            .par_iter()
            .map(|g| self.group_cells(g.1, grid))
            .collect();
        Ok((0..n)
            .map(|j| columns.iter().map(|c| c[j]).collect())
            .collect())
    }

    /// How many windows of `grid` ns there are from `origin` to the end of the trace.
    ///
    /// # Errors
    /// When there would be more than [`MAX_WINDOWS`].
    pub fn window_count(&self, grid: i64, origin: i64) -> Result<usize, TooManyWindows> {
        let grid = i128::from(grid.max(1));
        let span = i128::from(self.core.trace.extent().end) - i128::from(origin);
        let windows = (span + grid - 1).div_euclid(grid);
        let windows = if windows == 0 { 1 } else { windows.max(0) };
        let n = usize::try_from(windows).ok().filter(|&n| n <= MAX_WINDOWS);
        n.ok_or_else(|| TooManyWindows {
            windows: u64::try_from(windows).unwrap_or(u64::MAX),
        })
    }

    fn group_cells(&self, layers: &[LayerId], grid: Grid) -> Vec<WindowCell> {
        let mut cells = vec![WindowCell::default(); grid.n];
        let mut processes: BTreeMap<Owner, Vec<&Union>> = BTreeMap::new();
        for owned in self
            .sets
            .owners
            .iter()
            .filter(|o| matches!(o.owner, Owner::Process(_)))
        {
            let unions = layers.iter().filter_map(|l| owned.sets.get(l));
            processes
                .entry(owned.owner)
                .or_default()
                .extend(unions.map(|u| &**u));
        }
        for unions in processes.into_values() {
            let union = unite_all(unions.into_iter());
            grid.walk(&union, |j, time| {
                cells[j].sum += time;
                cells[j].proc_max = cells[j].proc_max.max(time);
            });
        }
        for lane in self.core.cpu_lanes() {
            if !self
                .core
                .index(lane)
                .layers
                .iter()
                .any(|l| layers.contains(l))
            {
                continue;
            }
            let columns = self.core.columns(lane);
            let (mut at, mut sum) = (usize::MAX, 0);
            for i in (0..columns.len()).filter(|&i| layers.contains(&columns.of[i])) {
                let Some(j) = grid.window_of(columns.starts[i]) else {
                    continue;
                };
                if j != at {
                    (at, sum) = (j, 0);
                }
                sum += columns.durs[i];
                cells[j].n_started += 1;
                cells[j].dfa_sum += columns.durs[i];
                cells[j].dfa_proc_max = cells[j].dfa_proc_max.max(sum);
            }
        }
        cells
    }
}

#[derive(Clone, Copy)]
struct Grid {
    origin: i64,
    grid: i64,
    n: usize,
}

impl Grid {
    fn window_of(self, t: i64) -> Option<usize> {
        let j = (i128::from(t) - i128::from(self.origin)).div_euclid(i128::from(self.grid));
        usize::try_from(j).ok().filter(|&j| j < self.n)
    }

    /// Calls `add` with the measure of a union in each window that it touches.
    fn walk(self, union: &Union, mut add: impl FnMut(usize, i64)) {
        let (mut at, mut sum) = (usize::MAX, 0);
        for part in union.parts() {
            let mut start = part.start.max(self.origin);
            while start < part.end {
                let Some(j) = self.window_of(start) else {
                    break;
                };
                let next = i128::from(self.origin) + (j as i128 + 1) * i128::from(self.grid);
                let next = i64::try_from(next).unwrap_or(i64::MAX);
                let piece = TimeRange::new(start, part.end.min(next)).len();
                if j != at {
                    if at != usize::MAX {
                        add(at, sum);
                    }
                    (at, sum) = (j, 0);
                }
                sum += piece;
                start = next;
            }
        }
        if at != usize::MAX {
            add(at, sum);
        }
    }
}
