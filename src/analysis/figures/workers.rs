//! Loading work: what worker processes (or the loop itself) did for the next batches, and how much of it was hidden.

use crate::analysis::Analysis;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::stats::percentile;
use crate::model::ProcessId;
use crate::time::TimeRange;

/// Loading work of one process in a window. Times in ns; `None` is not recorded, which is not zero.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerRow {
    /// Index in [`Analysis::ranks`] of the rank that it loads for.
    pub rank: usize,
    /// The process, where the file has one.
    pub process: Option<ProcessId>,
    /// Its key in reports: the pid, made unique where sources share it.
    pub key: String,
    /// Loading (union).
    pub load: i64,
    /// Of it the GPU worked.
    pub hidden: Option<i64>,
    /// Of it the GPU was idle.
    pub exposed: Option<i64>,
    /// Of it unknown.
    pub unrecorded: i64,
    /// Of it the loop waited for a batch.
    pub during_wait: i64,
    /// Length of the window.
    pub window: i64,
    /// Load spans that start in the window.
    pub n: u64,
    /// Median of their whole durations.
    pub whole_median: Option<i64>,
}

/// Loading work of all processes of a rank in a window. Times in ns; `None` is not recorded, which is not zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkerFigures {
    /// By process.
    pub rows: Vec<WorkerRow>,
    /// Sum over processes.
    pub load_sum: i64,
    /// The busiest process.
    pub busiest: i64,
    /// Sum of hidden loading.
    pub hidden_sum: Option<i64>,
    /// Sum of exposed loading.
    pub exposed_sum: Option<i64>,
    /// At least one process loads.
    pub any_load: i64,
    /// The same while the GPU works.
    pub any_load_hidden: Option<i64>,
}

impl Analysis {
    /// Loading work seen from a rank in a window.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn workers(&self, rank: usize, window: TimeRange) -> WorkerFigures {
        let (r, sets) = (&self.ranks[rank], &self.rank_sets[rank]);
        let gpu = r.gpu.map(|g| &self.gpus[g]);
        let mut out = WorkerFigures {
            hidden_sum: gpu.map(|_| 0),
            exposed_sum: gpu.map(|_| 0),
            ..WorkerFigures::default()
        };
        for loader in &sets.loaders {
            let load = loader.load.measure_in(window);
            let (of, all) = (&loader.hidden, &loader.load);
            let hidden = gpu.map(|g| of.measure_in(all, &g.busy, window));
            let of = &loader.exposed;
            let exposed = gpu.map(|g| of.measure_in(all, &g.idle, window));
            let mut durations = Vec::new();
            for &lane in &loader.lanes {
                let columns = self.core.columns(lane);
                let (a, b) = columns.start_range(window);
                let loads = (a..b).filter(|&i| columns.of[i] == LayerId::LOAD);
                durations.extend(loads.map(|i| columns.durs[i]));
            }
            out.rows.push(WorkerRow {
                rank,
                process: loader.process,
                key: self.process_key(loader.process),
                load,
                hidden,
                exposed,
                unrecorded: load - hidden.unwrap_or(0) - exposed.unwrap_or(0),
                during_wait: loader.during_wait.measure_in(&loader.load, &r.wait, window),
                window: window.len(),
                n: durations.len() as u64,
                whole_median: percentile(&mut durations, 50),
            });
            out.load_sum += load;
            out.hidden_sum = out.hidden_sum.zip(hidden).map(|(a, b)| a + b);
            out.exposed_sum = out.exposed_sum.zip(exposed).map(|(a, b)| a + b);
            out.busiest = out.busiest.max(load);
        }
        out.any_load = sets.any_load.measure_in(window);
        let (of, all) = (&sets.any_load_hidden, &sets.any_load);
        out.any_load_hidden = gpu.map(|g| of.measure_in(all, &g.busy, window));
        out
    }

    /// The pid of a process as reports print it: `pid@source` where two processes share it, `None` without one.
    #[must_use]
    pub fn process_key(&self, process: Option<ProcessId>) -> String {
        let Some(id) = process else {
            return "None".to_owned();
        };
        let trace = &self.core.trace;
        let p = trace.process(id);
        if self.core.identity.shares_pid(&p.pid) {
            format!("{}@{}", p.pid, p.source.0)
        } else {
            p.pid.clone()
        }
    }
}
