//! What processes are for, from the root down: who works for whom.
//!
//! ```text
//!  launcher ───▶ rank 0 ───▶ worker        worker: its nearest recorded ancestor trains
//!  (other)  ├──▶ rank 1 ───▶ worker        training: it trains, and is nobody's worker
//!           └ ─▶ (no file) ▶ worker        a parent that left no file is known by its workers alone
//! ```
//!
//! So the child of a launcher is no worker because of its parent, and a worker stays one whatever spans it has itself.

use std::collections::{BTreeMap, BTreeSet};

use super::records::{Known, joins, may_share_host};
use super::{Fork, Identity, OsProcess, Purpose, Recording};
use crate::analysis::layers::rules::Rules;
use crate::analysis::notices::{Certainty, Notice};
use crate::model::{LaneId, Role, Trace};

/// Decides what each process is for, and whom workers work for. Adds the processes of which only workers tell.
pub(super) fn decide(
    all: &mut Vec<Known>,
    recordings: &[Recording],
    forks: &[Fork],
    notices: &mut Vec<Notice>,
) {
    let parents = Family::new(all, recordings, forks).parents();
    let purposes = purposes(all, &parents);
    for (i, known) in all.iter_mut().enumerate() {
        known.process.purpose = purposes[i];
        known.process.of = parents[i].filter(|_| purposes[i] == Purpose::Worker);
    }
    let mut unknown = Vec::new();
    let mut unopened: Vec<usize> = Vec::new();
    for i in 0..all.len() {
        if all[i].process.purpose != Purpose::Worker || all[i].process.of.is_some() {
            continue;
        }
        let found = match all[i].process.parent.clone() {
            Some(parent) => {
                let stands = |&g: &usize| {
                    all[g].process.pid == parent && may_share_host(all[g].host, all[i].host)
                };
                let known = unopened.iter().copied().find(stands);
                Some(known.unwrap_or_else(|| {
                    all.push(stand_in(&all[i], parent));
                    unopened.push(all.len() - 1);
                    all.len() - 1
                }))
            }
            None => only_training(all, i),
        };
        if found.is_none() {
            unknown.push(all[i].process.pid.clone());
        }
        all[i].process.of = found;
    }
    let pids: Vec<String> = unopened
        .iter()
        .map(|&g| all[g].process.pid.clone())
        .collect();
    Notice::of_each(
        notices,
        Certainty::NotRecorded,
        "parent_not_opened",
        &pids,
        |pids| {
            format!(
                "Workers tell of a training process that left no file, or whose file was not opened ({pids}): nothing is \
             known of its loop."
            )
        },
    );
    Notice::of_each(
        notices,
        Certainty::NotRecorded,
        "worker_parent_unknown",
        &unknown,
        |pids| {
            format!(
                "It is not known for which training process workers load ({pids}): their load enters no rank's figures."
            )
        },
    );
}

/// A training process of which nothing but its workers was recorded.
fn stand_in(worker: &Known, pid: String) -> Known {
    let own = &worker.process;
    Known {
        process: OsProcess {
            pid,
            host: own.host.clone(),
            recordings: own.recordings.clone(),
            range: own.range,
            purpose: Purpose::Training,
            records: Vec::new(),
            spans: 0,
            rank: None,
            run: 0,
            parent: None,
            of: None,
            evidence: super::Evidence::default(),
            recorded: false,
        },
        host: worker.host,
        works: false,
        forked: false,
        role: None,
        rank: None,
        lanes: Vec::new(),
    }
}

/// The one that trains in the recordings of a process; of several the one of its rank, where the file states both.
fn only_training(all: &[Known], of: usize) -> Option<usize> {
    let shares = |k: &Known| {
        let own = &all[of].process.recordings;
        k.process.recordings.iter().any(|r| own.contains(r))
    };
    let trains = |i: &usize| {
        let k = &all[*i];
        k.process.purpose == Purpose::Training && k.process.recorded && shares(k)
    };
    let found: Vec<usize> = (0..all.len()).filter(trains).collect();
    if let [only] = found[..] {
        return Some(only);
    }
    let rank = all[of].rank?;
    let mut same = found.into_iter().filter(|&i| all[i].rank == Some(rank));
    same.next().filter(|_| same.next().is_none())
}

/// Who is whose child.
struct Family<'a> {
    all: &'a [Known],
    by_pid: BTreeMap<&'a str, Vec<usize>>,
    /// By number of a child: that of the process whose `fork` returned it.
    forked: BTreeMap<&'a str, &'a str>,
    /// By recording: the only process that was not forked, by its file.
    only: Vec<Option<usize>>,
}

impl<'a> Family<'a> {
    fn new(all: &'a [Known], recordings: &[Recording], forks: &'a [Fork]) -> Self {
        let mut by_pid: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut roots = vec![Vec::new(); recordings.len()];
        for (i, known) in all.iter().enumerate() {
            by_pid.entry(&known.process.pid).or_default().push(i);
            for &r in known.process.recordings.iter().filter(|_| !known.forked) {
                roots[r].push(i);
            }
        }
        let forked = forks
            .iter()
            .map(|f| (f.child.as_str(), all[f.parent].process.pid.as_str()));
        Self {
            all,
            by_pid,
            forked: forked.collect(),
            only: roots
                .iter()
                .map(|r| <[usize; 1]>::try_from(&r[..]).ok().map(|[i]| i))
                .collect(),
        }
    }

    fn parents(&self) -> Vec<Option<usize>> {
        (0..self.all.len()).map(|i| self.parent(i)).collect()
    }

    /// The nearest recorded ancestor, through processes that left no file.
    fn parent(&self, of: usize) -> Option<usize> {
        let own = &self.all[of];
        let Some(mut pid) = own.process.parent.as_deref() else {
            let only = |&r: &usize| self.only[r].filter(|&i| i != of);
            return own
                .process
                .recordings
                .iter()
                .find_map(only)
                .filter(|_| own.forked);
        };
        let mut seen = BTreeSet::new();
        while seen.insert(pid) {
            if let Some(found) = self.near(of, pid) {
                return Some(found);
            }
            pid = self.forked.get(pid)?;
        }
        None
    }

    /// The process of a number that is meant: in the same recording, else at the same time and of no other rank.
    fn near(&self, of: usize, pid: &str) -> Option<usize> {
        let own = &self.all[of];
        let found = self.by_pid.get(pid)?.iter().copied();
        let found = found.filter(|&i| i != of && may_share_host(self.all[i].host, own.host));
        let (shares, overlaps) = (
            |&i: &usize| {
                let theirs = &self.all[i].process.recordings;
                own.process.recordings.iter().any(|r| theirs.contains(r))
            },
            |&i: &usize| {
                let (a, b) = (self.all[i].process.range, own.process.range);
                a.start < b.end && b.start < a.end && self.all[i].may_go_with(own)
            },
        );
        found
            .clone()
            .find(shares)
            .or_else(|| found.clone().find(overlaps))
    }
}

/// From the root down, without recursion: chains of parents may be long, and damaged files may close them to circles.
fn purposes(all: &[Known], parents: &[Option<usize>]) -> Vec<Purpose> {
    let mut known: Vec<Option<Purpose>> = vec![None; all.len()];
    let mut waiting = vec![false; all.len()];
    for first in 0..all.len() {
        let mut chain = Vec::new();
        let mut at = Some(first);
        while let Some(i) = at.filter(|&i| known[i].is_none() && !waiting[i]) {
            waiting[i] = true;
            chain.push(i);
            at = parents[i];
        }
        for &i in chain.iter().rev() {
            waiting[i] = false;
            let parent = parents[i].and_then(|p| known[p]);
            known[i] = Some(purpose(&all[i], parents[i].is_some(), parent));
        }
    }
    known
        .into_iter()
        .map(|p| p.unwrap_or(Purpose::Other))
        .collect()
}

fn purpose(own: &Known, has_parent: bool, parent: Option<Purpose>) -> Purpose {
    match own.role {
        Some(Role::Main) => return Purpose::Training,
        Some(Role::Worker) => return Purpose::Worker,
        Some(Role::Other) => return Purpose::Other,
        Some(Role::Pin | Role::Autograd) | None => {}
    }
    if parent == Some(Purpose::Training) {
        Purpose::Worker
    } else if own.works {
        Purpose::Training
    } else if own.forked && !has_parent {
        Purpose::Worker
    } else {
        Purpose::Other
    }
}

/// The roles of all lanes.
pub(super) fn of_lanes(trace: &Trace, rules: &Rules, who: &Identity) -> Vec<Role> {
    let role = |id: LaneId| {
        let lane = trace.lane(id);
        if let Some(role) = lane.role {
            return role;
        }
        let name = lane.process.and_then(|p| trace.process(p).name.as_deref());
        if let Some(role) = rules.role_of(&lane.name, name, None) {
            return role;
        }
        match who.process(id).map(|p| who.processes[p].purpose) {
            Some(Purpose::Worker) => Role::Worker,
            None if joins(trace, lane.source) => Role::Other,
            Some(Purpose::Training) | None => Role::Main,
            Some(Purpose::Other) => Role::Other,
        }
    };
    trace.lane_ids().map(role).collect()
}
