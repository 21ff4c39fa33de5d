//! The iterators of a loop, the workers that served each, and who made which batch.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Told;
use super::assign::{Assigned, Order, Question, Used, Worker, Workers};
use super::batches::{Batches, Yield, sizes};
use super::iterators::{self, Evidence, Iterator};
use super::loader::{BatchNumber, Loader};
use super::reason::Reason;
use crate::analysis::base::core::Core;
use crate::analysis::base::loops::Rank;
use crate::analysis::identity::Purpose;
use crate::analysis::layers::ids::LayerId;
use crate::model::LaneId;
use crate::time::TimeRange;

/// A child process of a loop.
#[derive(Clone, Debug)]
pub(super) struct Child {
    /// Its number.
    pub pid: String,
    /// Index in the identity's processes; none where it left no record.
    pub process: Option<usize>,
    /// When it was forked, on the parent's clock, ns.
    pub forked: Option<i64>,
    /// Its own first record of itself, ns.
    pub started: Option<i64>,
    /// Its own last one, where its recorder was closed, ns.
    pub ended: Option<i64>,
}

/// The children of a loop, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Children {
    pub all: Vec<Child>,
    /// Several loops may be meant.
    pub of_several: bool,
}

impl Children {
    /// The children of the loop of a rank. `orphans` are loading processes of its run without a known parent.
    pub fn of(core: &Core, rank: &Rank, orphans: &[usize], loops: usize) -> Self {
        let Some(parent) = core.identity.training(rank.rank) else {
            return Self::default();
        };
        let who = &core.identity;
        let workers = (0..who.processes.len()).filter(|&p| {
            let process = &who.processes[p];
            process.purpose == Purpose::Worker && process.of == Some(parent)
        });
        let forks = who.forks.iter().filter(|f| f.parent == parent);
        let mut forked: FxHashMap<&str, i64> = FxHashMap::default();
        for fork in forks {
            forked.insert(&fork.child, fork.at);
        }
        // Of several loops nobody can tell whose they are.
        let of_several = loops > 1 && !orphans.is_empty();
        let orphans = if of_several { &[][..] } else { orphans };
        let own = workers.chain(orphans.iter().copied());
        let mut all: Vec<Child> = own
            .map(|p| Child {
                pid: who.processes[p].pid.clone(),
                process: Some(p),
                forked: forked.get(who.processes[p].pid.as_str()).copied(),
                started: own_record(core, p, "start"),
                ended: own_record(core, p, "end"),
            })
            .collect();
        let known: FxHashSet<String> = all.iter().map(|c| c.pid.clone()).collect();
        let silent = forked.iter().filter(|(pid, _)| !known.contains(**pid));
        all.extend(silent.map(|(&pid, &at)| Child {
            pid: pid.to_owned(),
            process: None,
            forked: Some(at),
            started: None,
            ended: None,
        }));
        all.sort_by_cached_key(|c| (c.pid.parse().unwrap_or(u64::MAX), c.pid.clone(), c.process));
        Self { all, of_several }
    }
}

/// When a process says that it starts or ends: the first record of that name that its recorder writes about itself.
fn own_record(core: &Core, process: usize, name: &str) -> Option<i64> {
    let name = core.trace.names().find(name)?;
    let lanes = core.identity.lanes(process).iter();
    let of = |&lane: &LaneId| {
        if !core.index(lane).layers.contains(&LayerId::RECORDER) {
            return None;
        }
        let columns = core.columns(lane);
        let is = |&i: &usize| {
            columns.of[i] == LayerId::RECORDER && core.trace.spans().name(columns.id(i)) == name
        };
        let found = (0..columns.len()).find(is)?;
        Some(columns.starts[found])
    };
    lanes.filter_map(of).min()
}

/// An iterator with who served it.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    pub iterator: Iterator,
    pub assigned: Assigned,
    /// Items of a batch, where batches are told by counting items.
    pub items: Option<usize>,
}

/// Who made the batches of a loop.
#[derive(Default)]
pub(super) struct Plan {
    pub children: Children,
    pub passes: Vec<Pass>,
    /// By child, of those that load.
    pub batches: FxHashMap<Worker, Batches>,
}

/// What is known of a loop before.
pub(super) struct Known<'a> {
    pub core: &'a Core,
    pub rank: &'a Rank,
    /// By wait: what its recorder says of the batch.
    pub told: &'a [Told],
    /// By child, of those that load.
    pub loaders: &'a FxHashMap<Worker, &'a Loader>,
    /// What the clocks are uncertain by, ns.
    pub tolerance: i64,
}

/// Iterators that were served by the same candidates.
struct Candidates {
    groups: Vec<Vec<Worker>>,
    fresh: bool,
}

impl Plan {
    /// Takes back who made what, where workers are told at all.
    pub fn refuse(&mut self, reason: Reason) {
        for pass in &mut self.passes {
            if !pass.assigned.group.is_empty() {
                pass.assigned.made = None;
                pass.assigned.reason.get_or_insert(reason);
            }
        }
    }

    pub fn new(known: &Known<'_>, children: Children) -> Self {
        if children.of_several {
            let passes = known.iterators(&Children::default()).into_iter();
            let passes = passes.map(|iterator| Pass {
                iterator,
                assigned: Assigned {
                    reason: Some(Reason::SeveralLoops),
                    ..Assigned::default()
                },
                items: None,
            });
            return Self {
                passes: passes.collect(),
                ..Self::default()
            };
        }
        let iterators = known.iterators(&children);
        let (order, candidates) = known.candidates(&children, &iterators);
        let groups: Vec<&[Worker]> = candidates
            .iter()
            .map(|c| c.groups.first().map_or(&[][..], Vec::as_slice))
            .collect();
        let sizes = known.sizes(&iterators, &groups);
        let asked = Asked {
            known,
            children: &children,
            iterators: &iterators,
            candidates: &candidates,
            order,
        };
        let (batches, assigned, items) = asked.best(&sizes);
        let passes = iterators.into_iter().zip(assigned);
        let passes = passes.map(|(iterator, assigned)| Pass {
            iterator,
            assigned,
            items,
        });
        Self {
            passes: passes.collect(),
            children,
            batches,
        }
    }
}

impl Known<'_> {
    fn iterators(&self, children: &Children) -> Vec<Iterator> {
        let recorded = children.all.iter().filter(|c| c.process.is_some());
        let mut births: Vec<i64> = recorded.filter_map(|c| c.forked.or(c.started)).collect();
        births.sort_unstable();
        let layers = [LayerId::EPOCH, LayerId::EVAL, LayerId::TRAIN];
        let lanes = self.rank.loop_lanes.iter();
        let mut containers: Vec<TimeRange> = lanes
            .flat_map(|&l| layers.map(|layer| self.core.spans_of(l, layer)))
            .flatten()
            .map(|(_, r)| r)
            .collect();
        containers.sort_unstable_by_key(|r| (r.start, std::cmp::Reverse(r.end)));
        let evidence = Evidence {
            told: self.told,
            births: &births,
            containers: &containers,
        };
        iterators::find(self.rank, &evidence)
    }

    fn wait(&self, place: usize) -> TimeRange {
        self.rank.waits.all[place].range
    }

    /// How the order of workers is known, and for each iterator the groups that may have served it.
    fn candidates(
        &self,
        children: &Children,
        iterators: &[Iterator],
    ) -> (Option<Order>, Vec<Candidates>) {
        let all = &children.all;
        let recorded = || all.iter().filter(|c| c.process.is_some());
        let order =
            if all.iter().any(|c| c.forked.is_some()) && recorded().all(|c| c.forked.is_some()) {
                Order::Forks
            } else if recorded().all(|c| c.started.is_some()) {
                Order::Starts
            } else {
                Order::Pids
            };
        let when = |w: &Worker| match order {
            Order::Forks => all[*w].forked,
            Order::Starts => all[*w].started,
            Order::Pids | Order::Ids => None,
        };
        let mut loading: Vec<Worker> = self.loaders.keys().copied().collect();
        // Children are numbered by pid.
        loading.sort_unstable_by_key(|w| (when(w), *w));
        let mut groups: Vec<Vec<Worker>> = Vec::new();
        let mut out = Vec::with_capacity(iterators.len());
        for iterator in iterators {
            let end = iterator
                .waits
                .first()
                .map_or(i64::MIN, |&w| self.wait(w).end);
            let since = iterator.since;
            let from = loading.partition_point(|w| when(w) <= since && when(w).is_some());
            let own = loading[from..].iter().copied();
            let fresh: Vec<Worker> = match order {
                Order::Pids | Order::Ids if groups.is_empty() => loading.clone(),
                Order::Pids | Order::Ids => Vec::new(),
                _ => own
                    .take_while(|w| when(w).is_some_and(|t| t <= end))
                    .collect(),
            };
            let mut fresh = match order {
                Order::Forks => self.by_iterator(&fresh, &when),
                _ => Vec::from_iter(Some(fresh).filter(|f| !f.is_empty())),
            };
            // Of several, who ended before the first wait served an iterator that nobody saw.
            let start = iterator.waits.first().map(|&w| self.wait(w).start);
            let gone = |w: &Worker| all[*w].ended.is_some_and(|t| Some(t) < start);
            let newest = fresh.len().saturating_sub(1);
            let mut place = 0..;
            fresh.retain(|g| place.next() == Some(newest) || !g.iter().all(gone));
            fresh.reverse();
            let is_fresh = !fresh.is_empty();
            groups.extend(fresh.first().cloned());
            out.push(Candidates {
                groups: match is_fresh {
                    true => fresh,
                    // The group that served last.
                    false => groups.last().cloned().into_iter().collect(),
                },
                fresh: is_fresh,
            });
        }
        (Some(order).filter(|_| !loading.is_empty()), out)
    }

    /// Workers by the iterator that they were forked for, the oldest first: a loader asks for its first batch when it has
    /// forked all its workers, so that who had loaded an item before another fork is not of the same iterator.
    fn by_iterator(
        &self,
        workers: &[Worker],
        when: &dyn Fn(&Worker) -> Option<i64>,
    ) -> Vec<Vec<Worker>> {
        let first_item = |w: &Worker| {
            let loader = self.loaders.get(w)?;
            (!loader.items.is_empty()).then(|| loader.item(0).end)
        };
        let mut out: Vec<Vec<Worker>> = Vec::new();
        let mut loaded = i64::MAX;
        for worker in workers {
            let later = |fork: i64| fork > loaded.saturating_add(self.tolerance);
            let same = !when(worker).is_some_and(later);
            loaded = if same { loaded } else { i64::MAX };
            loaded = loaded.min(first_item(worker).unwrap_or(i64::MAX));
            match out.last_mut().filter(|_| same) {
                Some(group) => group.push(*worker),
                None => out.push(vec![*worker]),
            }
        }
        out
    }

    /// How many items a batch can have, where nothing else tells where one ends.
    fn sizes(&self, iterators: &[Iterator], groups: &[&[Worker]]) -> Vec<usize> {
        let counts = |l: &&Loader| l.ids.is_empty() && l.collates.is_empty() && !l.items.is_empty();
        if !self.loaders.values().any(counts) {
            return Vec::new();
        }
        let mut of: FxHashMap<Worker, Yield> = FxHashMap::default();
        for (iterator, group) in iterators.iter().zip(groups) {
            let n = iterator.waits.len();
            for (i, worker) in group.iter().enumerate() {
                let own = of.entry(*worker).or_default();
                own.items = self.loaders.get(worker).map_or(0, |l| l.items.len());
                own.taken += n.saturating_sub(i).div_ceil(group.len());
                own.last |= (n - 1) % group.len() == i;
            }
        }
        let all: Vec<Yield> = of.into_values().collect();
        sizes(&all)
    }
}

/// All iterators of a loop, with who may have served each.
struct Asked<'a> {
    known: &'a Known<'a>,
    children: &'a Children,
    iterators: &'a [Iterator],
    candidates: &'a [Candidates],
    order: Option<Order>,
}

type Solved = (FxHashMap<Worker, Batches>, Vec<Assigned>);

impl Asked<'_> {
    /// The assignment with the number of items of a batch that explains everything; one must.
    fn best(&self, sizes: &[usize]) -> (FxHashMap<Worker, Batches>, Vec<Assigned>, Option<usize>) {
        let tries: Vec<Option<usize>> = match sizes {
            [] => vec![None],
            sizes => sizes.iter().copied().map(Some).collect(),
        };
        let mut best: Option<(usize, Option<usize>, Solved)> = None;
        let mut fitting = 0;
        for &size in &tries {
            let solved = self.solve(size);
            let refused = |a: &&Assigned| a.violation.is_some() || a.made.is_none();
            let open = solved.1.iter().filter(refused).count();
            fitting += usize::from(open == 0);
            if best.as_ref().is_none_or(|b| open < b.0) {
                best = Some((open, size, solved));
            }
            if fitting > 1 {
                break;
            }
        }
        let Some((_, size, (batches, assigned))) = best else {
            return (FxHashMap::default(), Vec::new(), None);
        };
        if tries.len() == 1 || fitting == 1 {
            return (batches, assigned, size);
        }
        let unclear = self.candidates.iter().map(|c| Assigned {
            group: c.groups.first().cloned().unwrap_or_default(),
            fresh: c.fresh,
            order: self.order,
            reason: Some(Reason::NoBatchEnds),
            ..Assigned::default()
        });
        (batches, unclear.collect(), None)
    }

    fn solve(&self, size: Option<usize>) -> Solved {
        let loaders = self.known.loaders.iter();
        let batches: FxHashMap<Worker, Batches> = loaders
            .map(|(&w, loader)| (w, Batches::new(loader, size)))
            .collect();
        let made: usize = batches.values().map(|b| b.all.len()).sum();
        let taken: usize = self.iterators.iter().map(|i| i.waits.len()).sum();
        let children = self.children.all.iter().enumerate();
        let forked: FxHashMap<Worker, i64> =
            children.filter_map(|(w, c)| Some((w, c.forked?))).collect();
        let mut silent: Vec<(i64, Worker)> = forked
            .iter()
            .filter(|(w, _)| !batches.contains_key(w))
            .map(|(&w, &t)| (t, w))
            .collect();
        silent.sort_unstable();
        let workers = Workers {
            batches: &batches,
            forked: &forked,
            tolerance: self.known.tolerance,
        };
        let shared = self.shared();
        let mut used = Used::default();
        let mut out = Vec::with_capacity(self.iterators.len());
        // Those who served before, the last ones first, with children that left no record where they must have been there.
        let mut before: Vec<Vec<Worker>> = Vec::new();
        for (i, iterator) in self.iterators.iter().enumerate() {
            let own = &self.candidates[i];
            let waits: Vec<TimeRange> =
                iterator.waits.iter().map(|&w| self.known.wait(w)).collect();
            let told = iterator
                .waits
                .iter()
                .map(|&w| self.known.told.get(w)?.number);
            let numbers: Vec<Option<BatchNumber>> = told.collect();
            let end = waits.first().map_or(i64::MIN, |w| w.end);
            let from = silent.partition_point(|s| Some(s.0) <= iterator.since);
            let to = silent.partition_point(|s| s.0 <= end);
            let born_for_it =
                own.fresh && self.order == Some(Order::Forks) && iterator.since.is_some();
            let next_is_fresh = self.candidates.get(i + 1).is_none_or(|c| c.fresh);
            let groups = if own.fresh { &own.groups } else { &before };
            let assigned = workers.assign(
                &Question {
                    iterator,
                    waits: &waits,
                    numbers: &numbers,
                    groups,
                    silent: &silent[from.min(to)..to],
                    fresh: own.fresh,
                    order: self.order,
                    offset: self.offset(iterator, born_for_it),
                    alone: !iterator.counted && own.fresh && next_is_fresh,
                    surplus: made > taken,
                    shared: shared[i],
                },
                &mut used,
            );
            if own.fresh {
                let told = assigned.made.is_some();
                let fresh = own.groups.first().filter(|_| !told);
                let served = fresh.unwrap_or(&assigned.group).clone();
                // Those of other iterators that were made beside it may serve next.
                let others = own.groups.iter().filter(|g| **g != served).cloned();
                before.splice(0..0, others);
                before.insert(0, served);
            }
            out.push(assigned);
        }
        (batches, out)
    }

    /// By iterator: it takes turns with others that are more than the groups that could serve them, so that a group that looks
    /// like one is several.
    fn shared(&self) -> Vec<bool> {
        let mut out = vec![false; self.iterators.len()];
        let mut groups = 0;
        for (j, later) in self.iterators.iter().enumerate() {
            if self.candidates[j].fresh {
                groups += self.candidates[j].groups.len();
            }
            // Waits are numbered by start, and so are iterators by their first.
            let open = |i: &usize| self.iterators[*i].waits.last() > later.waits.first();
            let beside: Vec<usize> = (0..j).filter(open).collect();
            if beside.len() + 1 > groups {
                out[j] |= !beside.is_empty();
                beside.into_iter().for_each(|i| out[i] = true);
            }
        }
        out
    }

    /// Batches that were handed out before the first recorded wait of an iterator, where that is known.
    fn offset(&self, iterator: &Iterator, born_for_it: bool) -> Option<usize> {
        let first = iterator.waits.first()?;
        if iterator.counted {
            let count = self.known.told.get(*first)?.count?;
            return usize::try_from(count.checked_sub(1)?).ok();
        }
        born_for_it.then_some(0)
    }
}

/// Loading processes of a run whose parent is not known: of one loop they are the workers, of several nobody can tell.
pub(super) fn orphans(core: &Core, run: usize, mut loads: impl FnMut(usize) -> bool) -> Vec<usize> {
    let alone = |p: usize| {
        let p = &core.identity.processes[p];
        let nobodys = p.parent.is_none() && p.of.is_none() && p.purpose != Purpose::Training;
        nobodys && p.run == run && p.recorded
    };
    let all = 0..core.identity.processes.len();
    all.filter(|&p| alone(p) && loads(p)).collect()
}
