//! Where the idle time of the loop went: every nanosecond of it in one class.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::analysis::Analysis;
use crate::analysis::base::stalls::{GapKind, NAMED};
use crate::analysis::figures::judged::Judged;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::{Near, Union, UnionBuilder};
use crate::analysis::sums::stats::percentile;
use crate::time::TimeRange;

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident = $key:literal,)*) => {
        /// What idle time of the GPU belongs to; without a GPU, time of the loop.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum IdleClass { $($(#[$doc])* $class,)* }

        impl IdleClass {
            /// All classes, in the order of reports.
            pub const ALL: &[Self] = &[$(Self::$class,)*];

            /// The name in reports.
            #[must_use]
            pub fn key(self) -> &'static str {
                match self { $(Self::$class => $key,)* }
            }
        }
    };
}

classes! {
    /// Garbage collection.
    Gc = "gc",
    /// Compilation.
    Compile = "compile",
    /// Checkpoints.
    Checkpoint = "checkpoint",
    /// Logging.
    Log = "log",
    /// Making a loader or its iterator.
    Loader = "loader",
    /// Evaluation.
    Eval = "eval",
    /// Waits for data in judged steps.
    Input = "input",
    /// Waits for data between steps.
    InputBetween = "input_between",
    /// Starts of the loader behind the first.
    Startup = "startup",
    /// After calls that wait for the GPU.
    Sync = "sync",
    /// Many short gaps before work that the CPU launched too late.
    Launch = "launch",
    /// The CPU launched nothing.
    Pause = "pause",
    /// The usual short time between operations.
    Kernel = "kernel",
    /// Launched in time and held by something else.
    Dependency = "dependency",
    /// Before operations whose launch is not known.
    Unknown = "unknown",
    /// The rest of first steps that are not judged, and of steps that the window cuts.
    FirstOther = "first_other",
}

impl IdleClass {
    /// The class of a layer of [`NAMED`].
    fn named(layer: LayerId) -> Self {
        match layer {
            LayerId::GC => Self::Gc,
            LayerId::COMPILE => Self::Compile,
            LayerId::CHECKPOINT => Self::Checkpoint,
            LayerId::LOG => Self::Log,
            LayerId::LOADER => Self::Loader,
            LayerId::EVAL => Self::Eval,
            _ => Self::Input,
        }
    }

    /// The layer of a named stall.
    #[must_use]
    pub fn stall(self) -> Option<LayerId> {
        match self {
            Self::Gc => Some(LayerId::GC),
            Self::Compile => Some(LayerId::COMPILE),
            Self::Checkpoint => Some(LayerId::CHECKPOINT),
            Self::Log => Some(LayerId::LOG),
            Self::Loader => Some(LayerId::LOADER),
            Self::Eval => Some(LayerId::EVAL),
            Self::Input
            | Self::InputBetween
            | Self::Startup
            | Self::Sync
            | Self::Launch
            | Self::Pause
            | Self::Kernel
            | Self::Dependency
            | Self::Unknown
            | Self::FirstOther => None,
        }
    }
}

/// Gaps that begin in judged steps, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapCounts {
    /// After calls that wait for the GPU.
    pub sync: usize,
    /// Launched too late, one of many.
    pub launch: usize,
    /// The CPU launched nothing.
    pub pause: usize,
}

/// The idle time of a loop by class.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Where each class lies, clipped to where it is counted.
    pub(in crate::analysis) sets: BTreeMap<IdleClass, Union>,
    /// What gaps alone explain, wherever it lies in the window.
    gap_sets: BTreeMap<IdleClass, Union>,
    /// The rest: [`IdleClass::FirstOther`], ns.
    rest: i64,
    /// Gaps of the judged steps.
    pub gaps: GapCounts,
}

impl Ledger {
    /// Idle time of a class, ns.
    #[must_use]
    pub fn get(&self, class: IdleClass) -> i64 {
        match class {
            IdleClass::FirstOther => self.rest,
            class => self.sets.get(&class).map_or(0, Union::measure),
        }
    }

    /// Where a class lies.
    pub(in crate::analysis) fn set(&self, class: IdleClass) -> Union {
        self.sets.get(&class).cloned().unwrap_or_default()
    }
}

/// A gap of the GPU that its kind alone explains.
struct Gap {
    range: TimeRange,
    class: IdleClass,
    /// Its length without what is named, ns.
    unnamed: i64,
}

impl Analysis {
    /// Where the idle time of the loop went.
    pub(in crate::analysis) fn ledger(&self, judged: &Judged) -> Ledger {
        let stalls = &self.stalls[judged.rank];
        let gpu = self.ranks[judged.rank].gpu.map(|g| &self.gpus[g]);
        let mut out = Ledger::default();
        let around = judged.set.unite(&judged.between);
        for (layer, set) in NAMED.into_iter().zip(&stalls.named) {
            let class = IdleClass::named(layer);
            if class == IdleClass::Input {
                let between = set.intersect(&judged.between);
                out.sets.insert(IdleClass::InputBetween, between);
                out.sets.insert(class, set.intersect(&judged.set));
            } else {
                out.sets.insert(class, set.intersect(&judged.reach));
            }
        }
        let base = match gpu {
            Some(gpu) => gpu.idle.intersect(&judged.reach),
            None => judged.reach.clone(),
        };
        let restarts = Union::new(self.cycles[judged.rank].restarts.clone());
        let starting = self.ranks[judged.rank].wait.unite(&restarts);
        let starting = starting.intersect(&Union::new(judged.restarted.clone()));
        let starting = starting.subtract(&stalls.stalls).intersect(&judged.later);
        out.sets
            .insert(IdleClass::Startup, base.intersect(&starting));
        if gpu.is_some() {
            let mut gaps = self.gaps_to_explain(judged);
            out.gaps = settle(
                &mut gaps,
                judged,
                self.options.pause,
                self.options.min_launch_gaps,
            );
            let mut by: BTreeMap<IdleClass, UnionBuilder> = BTreeMap::new();
            for gap in &gaps {
                by.entry(gap.class).or_default().push(gap.range);
            }
            for (class, gaps) in by {
                let own = gaps.finish().subtract(&stalls.explained);
                out.sets.insert(class, own.intersect(&around));
                out.gap_sets.insert(class, own);
            }
        }
        let named: i64 = out.sets.values().map(Union::measure).sum();
        out.rest = base.measure() - named;
        out
    }

    /// Idle time by class wherever it lies, in judged steps or not.
    pub(in crate::analysis) fn idle_classes<'a>(
        &'a self,
        judged: &Judged,
        ledger: &Ledger,
    ) -> BTreeMap<IdleClass, Cow<'a, Union>> {
        let named = NAMED.into_iter().zip(&self.stalls[judged.rank].named);
        let named = named.map(|(layer, set)| (IdleClass::named(layer), Cow::Borrowed(set)));
        let gaps = ledger.gap_sets.iter();
        let gaps = gaps.map(|(class, set)| (*class, Cow::Owned(set.clone())));
        named.chain(gaps).collect()
    }

    /// The gaps of a rank's GPU in the window that are not named throughout.
    fn gaps_to_explain(&self, judged: &Judged) -> Vec<Gap> {
        let stalls = &self.stalls[judged.rank];
        let Some(gpu) = self.ranks[judged.rank].gpu.map(|g| &self.gpus[g]) else {
            return Vec::new();
        };
        let parts = gpu.idle.parts();
        let first = parts.partition_point(|p| p.end <= judged.window.start);
        let mut explained = Near::default();
        let gap = |(range, kind): (&TimeRange, &GapKind)| {
            let unnamed = range.len() - explained.measure(&stalls.explained, *range);
            let class = match kind {
                GapKind::Sync => IdleClass::Sync,
                GapKind::Host if unnamed < self.options.pause => IdleClass::Launch,
                GapKind::Host => IdleClass::Pause,
                GapKind::Kernel => IdleClass::Kernel,
                GapKind::Dependency => IdleClass::Dependency,
                GapKind::Unknown => IdleClass::Unknown,
            };
            (unnamed > 0).then_some(Gap {
                range: *range,
                class,
                unnamed,
            })
        };
        let all = parts.iter().zip(&stalls.gaps).skip(first);
        all.take_while(|(r, _)| r.start < judged.window.end)
            .filter_map(gap)
            .collect()
    }

    /// Idle time of the GPU in a window without steps, or time of the loop, by class, the largest first: what is named,
    /// and of the rest why its gaps ended late. Gaps that nothing launched are a pause, however short.
    pub(in crate::analysis) fn idle_without_steps(
        &self,
        rank: usize,
        window: TimeRange,
    ) -> Vec<(IdleClass, i64)> {
        let stalls = &self.stalls[rank];
        let mut by: BTreeMap<IdleClass, i64> = BTreeMap::new();
        for (layer, set) in NAMED.into_iter().zip(&stalls.named) {
            *by.entry(IdleClass::named(layer)).or_default() += set.measure_in(window);
        }
        if let Some(gpu) = self.ranks[rank].gpu.map(|g| &self.gpus[g]) {
            let mut explained = Near::default();
            for (range, kind) in gpu.idle.parts().iter().zip(&stalls.gaps) {
                let part = range.clip(window);
                let class = match kind {
                    GapKind::Sync => IdleClass::Sync,
                    GapKind::Host => IdleClass::Pause,
                    GapKind::Kernel => IdleClass::Kernel,
                    GapKind::Dependency => IdleClass::Dependency,
                    GapKind::Unknown => IdleClass::Unknown,
                };
                let unnamed = part.len() - explained.measure(&stalls.explained, part);
                *by.entry(class).or_default() += unnamed;
            }
        }
        let mut out: Vec<_> = by.into_iter().filter(|(_, ns)| *ns > 0).collect();
        out.sort_by_key(|&(class, ns)| (std::cmp::Reverse(ns), class));
        out
    }
}

/// Turns gaps after blocking calls, and short gaps before late launches, into pauses where they are too few or too long to
/// be a habit of the loop; counts what is left in the judged cycles.
fn settle(gaps: &mut [Gap], judged: &Judged, pause: i64, min_launch_gaps: usize) -> GapCounts {
    let rows: Vec<TimeRange> = judged.rows().map(|c| c.range).collect();
    let cycle = |t: i64| {
        let i = rows.partition_point(|r| r.start <= t).checked_sub(1)?;
        (t < rows[i].end).then_some(i)
    };
    let (mut syncs, mut launches) = (vec![0_i64; rows.len()], 0);
    let mut lengths = Vec::new();
    for gap in &*gaps {
        let place = cycle(gap.range.start).or_else(|| cycle(gap.range.end));
        if gap.class == IdleClass::Sync {
            lengths.push(gap.unnamed);
            if let Some(k) = place {
                syncs[k] += 1;
            }
        }
        launches += usize::from(gap.class == IdleClass::Launch && place.is_some());
    }
    let with = syncs.iter().filter(|n| **n > 0).count();
    let usual = i128::from(percentile(&mut lengths, 50).unwrap_or(0));
    let rare = 2 * with < syncs.len();
    let several = percentile(&mut syncs, 50).unwrap_or(0) >= 2;
    let few = launches < min_launch_gaps.saturating_mul(rows.len().max(1));
    let mut counts = GapCounts::default();
    for gap in gaps {
        let habit = several && i128::from(gap.unnamed) <= 4 * usual;
        let demoted = match gap.class {
            IdleClass::Sync => rare || gap.unnamed > pause && !habit,
            IdleClass::Launch => few,
            _ => false,
        };
        if demoted {
            gap.class = IdleClass::Pause;
        }
        if cycle(gap.range.start).is_some() {
            match gap.class {
                IdleClass::Sync => counts.sync += 1,
                IdleClass::Launch => counts.launch += 1,
                IdleClass::Pause => counts.pause += 1,
                _ => {}
            }
        }
    }
    counts
}
