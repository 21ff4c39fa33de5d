//! Rows of ranks beside each other: which of their operations are one collective, who was late, why.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::row::RankRow;
use super::steps::{Columns, WorstStep};
use crate::analysis::base::options::Options;
use crate::analysis::base::steps::number_at;
use crate::analysis::collectives::found::Found;
use crate::analysis::collectives::matching::CommGroup;
use crate::analysis::collectives::ranks::{Beside, Collectives};
use crate::analysis::verdict::comm;
use crate::analysis::verdict::issue::{Issue, IssueKind, Verdict};
use crate::analysis::verdict::job::JobVerdict;
use crate::analysis::verdict::late::{StepCost, Trial, WhyLate};
use crate::analysis::verdict::late_parts::Since;
use crate::analysis::verdict::missing::Missing;
use crate::analysis::verdict::texts;
use crate::analysis::verdict::texts::About;
use crate::analysis::verdict::weigh::Scale;

/// Ranks of which it is said why they are late: those that cost most.
const EXPLAINED: usize = 10;

/// The ranks of one run beside each other.
#[derive(Debug)]
pub struct Across {
    /// By number: place in here is place everywhere.
    pub rows: Vec<RankRow>,
    /// Their collectives; indices of ranks are places.
    pub run: Collectives,
    /// The verdict of the job, with those of the ranks, by place.
    pub job: JobVerdict,
    /// What each rank costs the others, by rank and step.
    pub costs: Vec<StepCost>,
    /// Steps of the ranks beside each other.
    pub columns: Columns,
    /// The ranks that cost most, by place, the dearest first, and why they are late.
    pub why: Vec<(usize, WhyLate)>,
    /// The steps furthest above the median, the longest first.
    pub worst: Vec<WorstStep>,
}

/// Ranks of one host, over their judged steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRow {
    /// Its name; `None` where it is not recorded.
    pub host: Option<String>,
    /// How many ranks.
    pub ranks: usize,
    /// Waits for data beside an idle GPU, ns; `None` where no rank's are known.
    pub exposed: Option<i64>,
    /// Waits for data, ns.
    pub wait: Option<i64>,
    /// Judged steps of all its ranks.
    pub judged: usize,
    /// Those of them whose `exposed` is known.
    pub exposed_steps: usize,
    /// Those of them whose `wait` is known.
    pub wait_steps: usize,
}

impl HostRow {
    /// `exposed` of a judged step in which it is known, ns.
    #[must_use]
    pub fn mean_exposed(&self) -> Option<i64> {
        mean(self.exposed, self.exposed_steps)
    }

    /// `wait` of a judged step in which it is known, ns.
    #[must_use]
    pub fn mean_wait(&self) -> Option<i64> {
        mean(self.wait, self.wait_steps)
    }
}

fn mean(sum: Option<i64>, steps: usize) -> Option<i64> {
    let steps = i64::try_from(steps).ok()?;
    sum?.checked_div(steps)
}

/// Adds a figure of a step, where it is known.
fn add(sum: &mut Option<i64>, steps: &mut usize, ns: Option<i64>) {
    if let Some(ns) = ns {
        *sum = Some(sum.unwrap_or(0).saturating_add(ns));
        *steps += 1;
    }
}

/// What was found of all ranks, by place. The operations of a rank without a GPU are left out beside others with one.
fn merge(rows: &mut [RankRow]) -> Found {
    let gpu = rows.iter().any(|r| r.found.gpu);
    let mut out = Found {
        gpu,
        ..Found::default()
    };
    let mut places: FxHashMap<CommGroup, u32> = FxHashMap::default();
    for row in rows {
        let own = std::mem::take(&mut row.found);
        if own.gpu != gpu {
            out.of.push(Vec::new());
            continue;
        }
        for (why, n) in own.left_out {
            *out.left_out.entry(why).or_default() += n;
        }
        let of_row: Vec<u32> = own
            .groups
            .into_iter()
            .map(|group| {
                let next = u32::try_from(out.groups.len()).unwrap_or(u32::MAX);
                *places.entry(group).or_insert_with_key(|g| {
                    out.groups.push(g.clone());
                    next
                })
            })
            .collect();
        let mut list: Vec<_> = own.of.into_iter().flatten().collect();
        for collective in &mut list {
            collective.group = of_row[collective.group as usize];
        }
        out.of.push(list);
    }
    out
}

/// Whether the times of all rows are of one host's clock.
fn one_clock(rows: &[RankRow]) -> bool {
    let mut hosts: Vec<&str> = rows.iter().filter_map(|r| r.host.as_deref()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts.len() < 2 && rows.iter().all(|r| r.to_unix.is_some())
}

/// The verdict of a rank, now that it is known what it waited for in its collectives.
fn complete(
    row: &RankRow,
    mut verdict: Verdict,
    (run, place): (&Collectives, usize),
    options: &Options,
) -> Verdict {
    verdict.rank = place;
    let matched = run.gpu && !run.own[place].is_empty();
    let waiting = matched.then(|| run.waiting[place].intersect(&verdict.judged.set));
    if let (Some(of_gpu), Some(waiting)) = (&mut verdict.comm, &waiting) {
        let unmatched = run.of[place].len() - run.own[place].len();
        of_gpu.split = Some(comm::split(&row.exposed, waiting, unmatched));
    }
    if !verdict.gpu_clock || !verdict.judged.enough() {
        return verdict;
    }
    let scale = Scale {
        options,
        judged: &verdict.judged,
        gpu: verdict.gpu_clock,
        inferred: verdict.inferred,
        label: &|step| row.steps[step].short().to_owned(),
    };
    let candidates = comm::candidates(&row.exposed, waiting.as_ref());
    let own: Vec<Issue> = candidates
        .into_iter()
        .filter_map(|c| scale.issue(c))
        .collect();
    if own.is_empty() {
        return verdict;
    }
    // What is said only where nothing else is.
    verdict.issues.retain(|i| {
        !matches!(
            i.kind,
            IssueKind::ComputeBound
                | IssueKind::Inconclusive
                | IssueKind::InputOk
                | IssueKind::NoSingleBound
        )
    });
    verdict
        .missing
        .retain(|m| *m != Missing::UnrecordedLaunches);
    let first = verdict.issues.first().map(|i| (i.kind, i.of));
    verdict.issues.extend(own);
    Issue::sort(&mut verdict.issues);
    let place_in_run = Some((run, place));
    for i in 0..verdict.issues.len() {
        let issue = &verdict.issues[i];
        let about = About::new(issue, &verdict.judged, (i == 0, verdict.little));
        let text = match issue.kind {
            IssueKind::RankWait => texts::comm::rank_wait(&about, place_in_run),
            IssueKind::CommBound => {
                texts::comm::comm_bound(&about, place_in_run, waiting.is_some())
            }
            _ if i > 0 && first == Some((issue.kind, issue.of)) => {
                verdict.issues[i].text = row.behind.clone().unwrap_or_default();
                continue;
            }
            _ => continue,
        };
        verdict.issues[i].text = about.begin(text);
    }
    verdict
}

impl Across {
    /// Judges rows of one run beside each other. Of rows with the same number the first counts.
    #[must_use]
    pub fn of(mut rows: Vec<RankRow>, options: &Options) -> Self {
        rows.sort_by_key(|r| r.rank);
        rows.dedup_by_key(|r| r.rank);
        let numbers: Vec<u32> = rows.iter().map(|r| r.rank).collect();
        let stated = rows.iter().map(|r| r.world).max().unwrap_or(0);
        let offsets: Vec<i64> = rows.iter().map(|r| r.to_unix.unwrap_or(0)).collect();
        let placed = one_clock(&rows);
        let verdicts: Vec<Verdict> = rows.iter_mut().filter_map(|r| r.verdict.take()).collect();
        let found = merge(&mut rows);
        let beside = Beside {
            world: stated.max(u32::try_from(rows.len()).unwrap_or(u32::MAX)),
            together: options.together,
            offsets: &offsets,
            placed,
            step: &|place, t| {
                let row = &rows[place];
                number_at(&row.steps, t).filter(|_| row.numbered)
            },
        };
        let places: Vec<usize> = (0..rows.len()).collect();
        let run = Collectives::matched(found, places, numbers, &beside);
        let verdicts: Vec<Verdict> = rows
            .iter()
            .zip(verdicts)
            .enumerate()
            .map(|(place, (row, own))| complete(row, own, (&run, place), options))
            .collect();
        let trial = Trial {
            run: &run,
            verdicts: &verdicts,
            options,
            before: &|place, at, since| {
                let [end, start] = &rows[place].before;
                match since {
                    Since::End => end.get(at),
                    Since::Start => start.get(at),
                }
            },
            batches: &|place| rows[place].batches,
        };
        let (job, arrived) = JobVerdict::of(0, &trial, None);
        let columns = Columns::of(&rows, &verdicts);
        let mut dearest: Vec<usize> = (0..rows.len()).collect();
        dearest.retain(|&p| arrived.late[p].cost_judged > 0);
        dearest.sort_by_key(|&p| (Reverse(arrived.late[p].cost_judged), p));
        dearest.truncate(EXPLAINED);
        let of_rank = |&place: &usize| {
            let own = arrived.charges.iter().filter(|c| c.place == place);
            (place, trial.why(&own.collect::<Vec<_>>()))
        };
        let why = dearest.iter().map(of_rank).collect();
        let worst = columns.worst(&verdicts, &arrived, &trial);
        let costs = arrived.costs;
        for row in &mut rows {
            row.before = Default::default();
        }
        Self {
            job: JobVerdict {
                ranks: verdicts,
                ..job
            },
            run,
            rows,
            costs,
            columns,
            why,
            worst,
        }
    }

    /// The verdict of a rank, by place.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn verdict(&self, place: usize) -> &Verdict {
        &self.job.ranks[place]
    }

    /// Hosts by what their ranks wait beside idle GPUs in a judged step, the most first.
    #[must_use]
    pub fn hosts(&self) -> Vec<HostRow> {
        let mut by: BTreeMap<Option<&str>, HostRow> = BTreeMap::new();
        for (row, verdict) in self.rows.iter().zip(&self.job.ranks) {
            let host = by.entry(row.host.as_deref()).or_insert_with(|| HostRow {
                host: row.host.clone(),
                ranks: 0,
                exposed: None,
                wait: None,
                judged: 0,
                exposed_steps: 0,
                wait_steps: 0,
            });
            host.ranks += 1;
            host.judged += verdict.judged.len();
            for cycle in verdict.judged.rows() {
                add(
                    &mut host.exposed,
                    &mut host.exposed_steps,
                    cycle.wait_exposed,
                );
                add(&mut host.wait, &mut host.wait_steps, cycle.wait);
            }
        }
        let mut out: Vec<HostRow> = by.into_values().collect();
        out.sort_by_key(|h| Reverse(h.mean_exposed().or_else(|| h.mean_wait())));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_which_a_figure_is_unknown_do_not_count_in_its_mean() {
        let mut host = HostRow {
            host: None,
            ranks: 2,
            exposed: None,
            wait: None,
            judged: 4,
            exposed_steps: 0,
            wait_steps: 0,
        };
        assert_eq!((host.mean_exposed(), host.mean_wait()), (None, None));
        // Two steps of a rank whose waits are known, two of one without a GPU.
        for (exposed, wait) in [(Some(6), 10), (Some(8), 10), (None, 20), (None, 24)] {
            add(&mut host.exposed, &mut host.exposed_steps, exposed);
            add(&mut host.wait, &mut host.wait_steps, Some(wait));
        }
        assert_eq!((host.exposed, host.exposed_steps), (Some(14), 2));
        assert_eq!((host.mean_exposed(), host.mean_wait()), (Some(7), Some(16)));
    }
}
