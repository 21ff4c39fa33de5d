//! GPU operations by normalised name in the judged cycles of a rank.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::analysis::Analysis;
use crate::analysis::base::core::CallCursor;
use crate::analysis::figures::judged::Judged;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::kernels::norm_kernel;
use crate::model::{NameId, SpanId};
use crate::time::TimeRange;

/// Operations of one layer and normalised name. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSum {
    /// What they are for.
    pub layer: LayerId,
    /// The name.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Sum of their lengths.
    pub time: i64,
    /// The shortest.
    pub min: i64,
    /// The longest.
    pub max: i64,
    /// (place of the judged cycle, sum of lengths in it), ascending, cycles without one left out.
    pub by_cycle: Vec<(u32, i64)>,
}

/// Operations of one name in one cycle.
struct Cell {
    count: u64,
    time: i64,
    min: i64,
    max: i64,
}

impl Analysis {
    /// The operations of a rank's GPU by layer and normalised name, ascending. One belongs to the cycle in which its call
    /// starts; without a known call to the one in which it starts itself. What another process launched is left out.
    ///
    /// # Panics
    /// If what is judged is of another analysis.
    #[must_use]
    pub fn kernels(&self, judged: &Judged) -> Vec<KernelSum> {
        let (core, r) = (&self.core, &self.ranks[judged.rank]);
        let Some(gpu) = r.gpu else {
            return Vec::new();
        };
        let cycles: Vec<TimeRange> = judged.rows().map(|c| c.range).collect();
        let cycle = |t: i64| {
            let i = cycles.partition_point(|c| c.start <= t).checked_sub(1)?;
            cycles[i].contains(t).then_some(i)
        };
        let training = core.identity.training(r.rank);
        let spans = core.trace.spans();
        // By distinct name: its place; by layer, place and cycle: the sums.
        let mut places: FxHashMap<NameId, usize> = FxHashMap::default();
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        let mut sums: FxHashMap<(LayerId, usize, usize), Cell> = FxHashMap::default();
        for lane in core.gpu_lanes(gpu) {
            let columns = core.columns(lane);
            let mut calls = CallCursor::new(core, SpanId(columns.first));
            for i in (0..columns.len()).filter(|&i| columns.of[i].is_operation()) {
                let call = calls.call(columns.id(i));
                let by = call.map(|c| core.identity.process(spans.lane(c)));
                if training.is_some() && by.is_some_and(|by| by != training) {
                    continue;
                }
                let Some(at) = cycle(call.map_or(columns.starts[i], |c| spans.start(c))) else {
                    continue;
                };
                let name = spans.name(columns.id(i));
                let place = *places.entry(name).or_insert_with(|| {
                    let short = norm_kernel(core.trace.name(name)).into_owned();
                    let next = names.len();
                    *names.entry(short).or_insert(next)
                });
                let dur = columns.durs[i];
                let cell = sums.entry((columns.of[i], place, at)).or_insert(Cell {
                    count: 0,
                    time: 0,
                    min: dur,
                    max: dur,
                });
                cell.count += 1;
                cell.time = cell.time.saturating_add(dur);
                cell.min = cell.min.min(dur);
                cell.max = cell.max.max(dur);
            }
        }
        let mut named = vec![String::new(); names.len()];
        for (name, place) in names {
            named[place] = name;
        }
        let mut cells: Vec<_> = sums.into_iter().collect();
        cells.sort_unstable_by_key(|c| c.0);
        let mut out: Vec<KernelSum> = Vec::new();
        let mut last = None;
        for ((layer, place, at), cell) in cells {
            if last.replace((layer, place)) != Some((layer, place)) {
                out.push(KernelSum {
                    layer,
                    name: named[place].clone(),
                    count: 0,
                    time: 0,
                    min: cell.min,
                    max: cell.max,
                    by_cycle: Vec::new(),
                });
            }
            if let Some(sum) = out.last_mut() {
                sum.count += cell.count;
                sum.time = sum.time.saturating_add(cell.time);
                sum.min = sum.min.min(cell.min);
                sum.max = sum.max.max(cell.max);
                let at = u32::try_from(at).unwrap_or(u32::MAX);
                sum.by_cycle.push((at, cell.time));
            }
        }
        out.sort_unstable_by(|a, b| (a.layer, &a.name).cmp(&(b.layer, &b.name)));
        out
    }
}
