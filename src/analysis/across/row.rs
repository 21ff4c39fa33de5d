//! What is kept of a rank when its trace is closed.

use super::packed::Packed;
use crate::analysis::Analysis;
use crate::analysis::base::steps::Step;
use crate::analysis::collectives::found::{Found, found};
use crate::analysis::collectives::matching::{Collective, CommGroup, Member, matching};
use crate::analysis::collectives::own::RankCollectives;
use crate::analysis::collectives::ranks::world;
use crate::analysis::figures::waiting::BatchTime;
use crate::analysis::identity::{ClockSettings, of_one_job};
use crate::analysis::layers::classify::ArgSource;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::watch::{Cancelled, OnProgress, Watch};
use crate::analysis::verdict::facts::Among;
use crate::analysis::verdict::issue::{Sentences, Verdict};
use crate::analysis::verdict::late_parts::Since;
use crate::analysis::verdict::ledger::Ledger;
use crate::model::Clock;
use crate::time::TimeRange;

/// Waits of a loop in the whole trace, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowWaits {
    /// All of it.
    pub all: i64,
    /// Of it the GPU was idle; `None` without GPU operations, as below.
    pub exposed: Option<i64>,
    /// Of it the GPU worked.
    pub hidden: Option<i64>,
    /// Of it unknown.
    pub unrecorded: Option<i64>,
}

/// What is kept of one rank: a few kilobytes, and some bytes for each of its collectives.
#[derive(Clone, Debug)]
pub struct RankRow {
    /// Its number.
    pub rank: u32,
    /// How many ranks the job has, as far as it says; at least one.
    pub world: u32,
    /// Where it ran, as far as recorded.
    pub host: Option<String>,
    /// The number of its process.
    pub pid: Option<String>,
    /// What is added to its times for Unix time, ns, where its file says.
    pub to_unix: Option<i64>,
    /// From its first span to the end of its last.
    pub extent: TimeRange,
    /// Waits of its loop for data; `None` where none was recorded.
    pub waits: Option<RowWaits>,
    /// Its steps.
    pub steps: Vec<Step>,
    /// They state their numbers.
    pub numbered: bool,
    /// Without communication, until the ranks are compared, which take it; nothing is kept of where its idle time lies.
    pub(super) verdict: Option<Verdict>,
    /// The sentences of its first issue, for where another comes to stand before it.
    pub(super) behind: Option<Sentences>,
    /// Communication in its judged steps that no compute covers.
    pub(super) exposed: Union,
    /// What of its communication can be compared.
    pub(super) found: Found,
    /// What it does before each of that: since [`Since::End`], since [`Since::Start`].
    pub(super) before: [Packed; 2],
    /// What its batches take.
    pub(super) batches: Option<BatchTime>,
}

impl RankRow {
    /// Its operations that can be compared with those of other ranks, before they are.
    #[must_use]
    pub fn collectives(&self) -> RankCollectives {
        RankCollectives::alone(self.found.clone())
    }

    /// Whether collectives leave no doubt that two ranks are of one job, whatever their clocks say: as for ranks that are
    /// opened together.
    #[must_use]
    pub fn is_of_one_job(&self, other: &Self, settings: ClockSettings) -> bool {
        let [Some(own), Some(theirs)] = [self.found.of.first(), other.found.of.first()] else {
            return false;
        };
        let counted = own.iter().chain(theirs).all(|c| c.number.is_some());
        if !self.found.gpu || !other.found.gpu || !counted || self.rank == other.rank {
            return false;
        }
        let mut groups = self.found.groups.clone();
        let place = |group: &CommGroup| {
            let at = groups.iter().position(|g| g == group);
            let at = at.unwrap_or_else(|| {
                groups.push(group.clone());
                groups.len() - 1
            });
            u32::try_from(at).unwrap_or(u32::MAX)
        };
        let places: Vec<u32> = other.found.groups.iter().map(place).collect();
        let mut theirs = theirs.clone();
        for c in &mut theirs {
            c.group = places[c.group as usize];
        }
        let lists = [&own[..], &theirs[..]];
        let found = matching(&groups, &[self.rank, other.rank], &lists, &|_, _| None);
        let range = |m: &Member| lists[m.rank as usize][m.at as usize].range;
        let pairs = found.matched.iter().filter_map(|k| match found.of(k) {
            [x, y] => Some((range(x), range(y))),
            _ => None,
        });
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_unstable();
        of_one_job(pairs, settings)
    }

    /// The step that holds an instant, by place.
    #[must_use]
    pub fn step_at(&self, t: i64) -> Option<usize> {
        let after = self.steps.partition_point(|s| s.range.start <= t);
        let at = after.checked_sub(1)?;
        self.steps[at].range.contains(t).then_some(at)
    }

    /// Bytes that it takes, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let own = self.found.of.iter().map(Vec::capacity).sum::<usize>();
        let steps = size_of::<Step>() + size_of::<crate::analysis::CycleRow>() + 16;
        size_of::<Self>()
            + own * size_of::<Collective>()
            + self.before.iter().map(Packed::heap_bytes).sum::<usize>()
            + self.exposed.heap_bytes()
            + self.steps.capacity() * steps
    }
}

impl Analysis {
    /// What is kept of a rank when the trace is closed. Reads the args of its collectives.
    ///
    /// # Errors
    /// When `progress` returned `false`.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn reduce(
        &self,
        rank: usize,
        args: &dyn ArgSource,
        progress: OnProgress<'_>,
    ) -> Result<RankRow, Cancelled> {
        let watch = Watch::new(progress);
        let r = &self.ranks[rank];
        let (trace, who) = (&self.core.trace, &self.core.identity);
        let extent = trace.extent();
        // Nothing lies inside an empty window, not even what has no length.
        let window = TimeRange {
            end: extent.end.max(extent.start.saturating_add(1)),
            ..extent
        };
        let (mut verdict, behind) = self.judge(rank, window, Among::Later);
        let mut own = found(&self.core, &[r.rank], args, &watch)?;
        own.of.iter_mut().for_each(Vec::shrink_to_fit);
        let mut before = [Packed::default(), Packed::default()];
        for list in &own.of {
            let does = self.before(&verdict, list);
            for (packed, since) in before.iter_mut().zip([Since::End, Since::Start]) {
                (0..list.len()).for_each(|at| packed.push(&does.measure(at, since)));
            }
            watch.check()?;
        }
        before.iter_mut().for_each(Packed::shrink);
        verdict.ledger = Ledger::default();
        let exposed = r.gpu.map_or_else(Union::empty, |g| {
            self.gpu_sets[g].comm_only.intersect(&verdict.judged.set)
        });
        let recorded = &self.recorded[rank];
        let known = |union: &Union| recorded.exposure().then(|| union.measure());
        let process = who.training(r.rank).map(|p| &who.processes[p]);
        let lane = r
            .loop_lane
            .or_else(|| who.lanes_of(r.rank).first().copied());
        // A file of a GPU alone has no threads.
        let source = lane.map(|lane| trace.source(trace.lane(lane).source));
        let source = source.or_else(|| trace.sources().first());
        let to_unix = source.and_then(|source| match source.clock {
            Clock::Unix { zero } => Some(zero.saturating_sub(source.to_trace_ns)),
            Clock::Unknown => None,
        });
        Ok(RankRow {
            rank: r.rank,
            world: world(&self.core, &[r.rank]),
            host: process.and_then(|p| p.host.clone()),
            pid: process.map(|p| p.pid.clone()),
            to_unix,
            extent,
            waits: recorded.waits().then(|| RowWaits {
                all: r.wait.measure(),
                exposed: known(&r.wait_exposed),
                hidden: known(&r.wait_hidden),
                unrecorded: known(&r.wait_unrecorded),
            }),
            numbered: r.steps.iter().all(|s| s.number.is_some()),
            steps: r.steps.clone(),
            verdict: Some(verdict),
            behind,
            exposed,
            found: own,
            before,
            batches: self.batch_time(rank),
        })
    }
}
