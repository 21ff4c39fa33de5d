//! Where the time of a stretch of the loop went: every nanosecond in exactly one part, so that parts add up.
//!
//! ```text
//! GPU    ├── compute ──┤        ├ h2d ┤├─ compute ─┤    ├─ compute ─┤
//! loop              ├── fetch ──┤                    ├ synchronise ┤
//! parts  │   compute   │ exposed│ h2d  │  compute  │idle│  compute  │
//! ```
//!
//! What a nanosecond belongs to depends on what covers it and on the gap that it lies in alone, never on how many such gaps
//! there are: two recordings are parted alike.

use crate::analysis::Analysis;
use crate::analysis::base::gpus::GapCause;
use crate::analysis::base::stalls::NAMED;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::{Union, UnionBuilder};
use crate::time::TimeRange;

/// Parts on the clock of a GPU: what it did, and what kept it idle. The first that fits takes a nanosecond.
pub const GPU_PARTS: [&str; 18] = [
    "compute",
    "comm",
    "h2d",
    "copy",
    "memset",
    "unrecorded",
    "idle_gc",
    "idle_compile",
    "idle_checkpoint",
    "idle_log",
    "idle_loader",
    "wait_exposed",
    "idle_eval",
    "idle_sync",
    "idle_host",
    "idle_dependency",
    "idle_short",
    "idle_unknown",
];

/// Place of `unrecorded` in [`GPU_PARTS`].
const UNRECORDED: usize = 5;

/// Parts on the clock of the loop's thread: its innermost phase.
pub const CPU_PARTS: [&str; 14] = [
    "fetch",
    "h2d",
    "forward",
    "backward",
    "optimizer",
    "compute",
    "comm",
    "checkpoint",
    "eval",
    "gc",
    "compile",
    "log",
    "loader",
    "other",
];

/// The words for a part.
#[must_use]
pub fn part_title(part: &str) -> &str {
    match part {
        "comm" => "communication",
        "h2d" => "copies to the GPU",
        "copy" => "other copies",
        "unrecorded" => "not recorded",
        "idle_gc" | "gc" => "garbage collection",
        "idle_compile" | "compile" => "compilation",
        "idle_checkpoint" | "checkpoint" => "checkpoints",
        "idle_log" | "log" => "logging",
        "idle_loader" | "loader" => "making loaders",
        "wait_exposed" => "exposed wait",
        "idle_eval" | "eval" => "evaluation",
        "idle_sync" => "idle after a sync",
        "idle_host" => "CPU late",
        "idle_dependency" => "held by a dependency",
        "idle_short" => "short gaps",
        "idle_unknown" => "idle, cause unknown",
        "fetch" => "wait for data",
        other => other,
    }
}

/// Where each part of [`GPU_PARTS`] lies, but what is not recorded.
#[derive(Debug, Default)]
pub struct GpuParts {
    sets: [Union; GPU_PARTS.len()],
}

impl GpuParts {
    /// The parts of a range, ns, in the order of [`GPU_PARTS`]; they add up to it.
    #[must_use]
    pub fn of(&self, range: TimeRange) -> [i64; GPU_PARTS.len()] {
        let mut out = [0; GPU_PARTS.len()];
        for (ns, set) in out.iter_mut().zip(&self.sets) {
            *ns = set.measure_in(range);
        }
        out[UNRECORDED] = range.len() - out.iter().sum::<i64>();
        out
    }
}

impl Analysis {
    /// Where the time of a rank's GPU goes; `None` without one.
    #[must_use]
    pub fn gpu_parts(&self, rank: usize) -> Option<GpuParts> {
        let g = self.ranks[rank].gpu?;
        let (gpu, sets, stalls) = (&self.gpus[g], &self.gpu_sets[g], &self.stalls[rank]);
        let copies = sets.memcpy_only.subtract(&sets.h2d_exposed);
        let mut out = GpuParts::default();
        let mut put = |part: &str, set: Union| {
            if let Some(place) = GPU_PARTS.iter().position(|p| *p == part) {
                out.sets[place] = set;
            }
        };
        put("compute", (**sets.class(LayerId::GPU_COMPUTE)).clone());
        put("comm", sets.comm_only.clone());
        put("h2d", sets.h2d_exposed.clone());
        put("copy", copies);
        put("memset", sets.memset_only.clone());
        for (layer, named) in NAMED.into_iter().zip(&stalls.named) {
            let part = match layer {
                LayerId::GC => "idle_gc",
                LayerId::COMPILE => "idle_compile",
                LayerId::CHECKPOINT => "idle_checkpoint",
                LayerId::LOG => "idle_log",
                LayerId::LOADER => "idle_loader",
                LayerId::FETCH => "wait_exposed",
                _ => "idle_eval",
            };
            put(part, named.clone());
        }
        let bubbles = self.bubbles(rank, g).intersect(&gpu.idle);
        let taken = stalls.explained.unite(&bubbles);
        put("idle_sync", bubbles.subtract(&stalls.explained));
        let mut gaps: [UnionBuilder; GapCause::ALL.len()] = Default::default();
        for (i, gap) in gpu.idle.parts().iter().enumerate() {
            gaps[sets.causes.of(i) as usize].push(*gap);
        }
        for (cause, gaps) in GapCause::ALL.into_iter().zip(gaps) {
            let part = match cause {
                GapCause::Host => "idle_host",
                GapCause::Kernel => "idle_short",
                GapCause::Other => "idle_dependency",
                GapCause::Unknown => "idle_unknown",
            };
            put(part, gaps.finish().subtract(&taken));
        }
        Some(out)
    }

    /// Where a GPU has nothing to do after something that the loop of a rank waited for: from the end of what was waited
    /// for to its next operation.
    fn bubbles(&self, rank: usize, gpu: usize) -> Union {
        let Some(lane) = self.ranks[rank].loop_lane else {
            return Union::empty();
        };
        let base = self.sync_base();
        let calls = self.core.spans_of(lane, LayerId::SYNC).into_iter();
        let windows = calls.filter(|(_, range)| !range.is_empty());
        let windows = windows.filter_map(|(call, range)| {
            let waited = base.waited(call);
            (waited.gpu == Some(gpu)).then(|| base.bubble_window(range, &waited))?
        });
        Union::new(windows.collect())
    }

    /// Where the time of the loop's thread goes in a range, ns, in the order of [`CPU_PARTS`]; adds up to the range.
    #[must_use]
    pub fn cpu_parts(&self, rank: usize, range: TimeRange) -> [i64; CPU_PARTS.len()] {
        let mut out = [0; CPU_PARTS.len()];
        let phases = &self.rank_sets[rank].phases;
        // The phases come first among the layers, in the same order.
        for (place, layer) in LayerId::PHASES.map(LayerId).enumerate() {
            out[place] = phases.get(&layer).map_or(0, |s| s.measure_in(range));
        }
        let named: i64 = out.iter().sum();
        if let Some(other) = out.last_mut() {
            *other = range.len() - named;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::layers::ids::known;

    #[test]
    fn phases_are_the_parts_of_a_thread() {
        let layers = known();
        let phases = LayerId::PHASES.map(|id| layers[usize::from(id)].name.clone());
        let parts = CPU_PARTS.iter().filter(|p| **p != "other");
        assert!(phases.eq(parts.copied()));
    }
}
