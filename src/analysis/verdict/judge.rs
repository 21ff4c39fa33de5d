//! Verdicts: what bounds the steps of a rank in a window, with shares, severity and evidence. A missing signal is never
//! a zero: the rule abstains, and `missing` says so.

use crate::analysis::Analysis;
use crate::analysis::base::options::Severity;
use crate::analysis::figures::ranks::{RankMeans, Straggler, StragglerKind};
use crate::analysis::figures::step_table::StepRow;
use crate::analysis::sums::stats::{ratio, round6};
use crate::analysis::verdict::evidence::largest;
use crate::analysis::verdict::facts::{Facts, burst};
use crate::analysis::verdict::issue::{Issue, IssueKind, LeftOut, Verdict};
use crate::analysis::verdict::missing::Missing;
use crate::analysis::verdict::texts;
use crate::time::TimeRange;

impl Analysis {
    /// What bounds a rank over the whole steps of a window.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn verdict(&self, rank: usize, window: TimeRange) -> Verdict {
        let (facts, partial_steps) = self.facts(rank, window);
        let r = &self.ranks[rank];
        let mut missing = Vec::new();
        let mut miss = |when: bool, what: Missing| {
            if when {
                missing.push(what);
            }
        };
        miss(facts.gpu.is_none(), Missing::NoGpu);
        miss(r.n_fetch() == 0, Missing::NoFetch);
        miss(facts.rows.is_empty(), Missing::NoSteps);
        miss(self.rank_sets[rank].loaders.is_empty(), Missing::NoWorkers);
        let mut issues = self.issues(&facts);
        issues.sort_by(|a, b| (a.severity.cmp(&b.severity)).then(b.share.total_cmp(&a.share)));
        if issues.iter().all(|i| i.kind == IssueKind::StartupWait) {
            let few = facts.rows.len() < self.options.min_steps_warn;
            let blind = missing.contains(&Missing::NoSteps) || missing.contains(&Missing::NoFetch);
            let kind = if blind || few {
                IssueKind::Inconclusive
            } else if facts.gpu.is_none() {
                IssueKind::InputOk
            } else {
                IssueKind::NoSingleBound
            };
            issues.insert(0, Issue::plain(kind, Severity::Info, 0, facts.total));
        }
        let sum = |f: fn(&StepRow) -> Option<i64>| facts.steady.iter().filter_map(|r| f(r)).sum();
        let mut verdict = Verdict {
            rank,
            issues,
            missing,
            steps: facts.rows.len(),
            steady_steps: facts.steady.len(),
            partial_steps,
            left_out: self.left_out(&facts),
            judged: String::new(),
            steady_gpu: facts.sums,
            steady_wait: (sum(|r| r.wait), sum(|r| r.wait_exposed), facts.total),
        };
        verdict.judged = texts::judged(self, &verdict);
        let mut issues = std::mem::take(&mut verdict.issues);
        for issue in &mut issues {
            issue.evidence = self.evidence(issue.kind, &facts);
            issue.text = texts::fill(self, issue, &facts, &verdict);
        }
        verdict.issues = issues;
        verdict
    }

    /// Whole steps in the window that are not judged: the first ones of each run of the loader.
    fn left_out(&self, facts: &Facts<'_>) -> Vec<LeftOut> {
        let steps = &self.ranks[facts.rank].steps;
        let waits = |row: &StepRow| {
            let from = self
                .waits
                .partition_point(|w| w.range.start < row.range.start);
            let until = self
                .waits
                .partition_point(|w| w.range.start < row.range.end);
            let own = self.waits[from..until]
                .iter()
                .filter(|w| w.rank == facts.rank);
            largest(own.map(|w| (w.range.len(), w.span, w.range)))
        };
        let out = facts.rows.iter().filter(|r| r.first && facts.filtered);
        out.map(|row| LeftOut {
            step: row.step,
            label: steps[row.step].label.clone(),
            reason: "first step of a run of the loader: start-up",
            wait: row.wait.unwrap_or(0),
            exposed: row.wait_exposed.unwrap_or(0),
            place: waits(row).first().copied(),
        })
        .collect()
    }

    fn issues(&self, facts: &Facts<'_>) -> Vec<Issue> {
        let options = &self.options;
        let mut out = Vec::new();
        if facts.rows.len() < options.min_steps_warn || facts.total <= 0 {
            return out;
        }
        let total = facts.total;
        let mut add = |kind: IssueKind, value: i64, enough: bool| {
            let share = ratio(value, total).unwrap_or(0.0);
            if share < options.warn || !enough {
                return;
            }
            let critical = share >= options.crit && facts.rows.len() >= options.min_steps_crit;
            let severity = if critical {
                Severity::Critical
            } else {
                Severity::Warning
            };
            out.push(Issue::plain(kind, severity, value, total));
        };
        let has_fetch = self.ranks[facts.rank].n_fetch() > 0;
        let gpu = facts.gpu.is_some();
        let (kind, waited) = if gpu {
            (
                IssueKind::InputBound,
                facts.steady.iter().filter_map(|r| r.wait_exposed).sum(),
            )
        } else {
            (
                IssueKind::InputWait,
                facts.steady.iter().filter_map(|r| r.wait).sum::<i64>(),
            )
        };
        add(kind, waited, has_fetch);
        if let Some(s) = facts.sums {
            add(IssueKind::CommBound, s.exposed_comm, true);
            add(IssueKind::H2dBound, s.exposed_h2d, true);
            add(IssueKind::SyncBound, s.bubble, true);
            add(IssueKind::LaunchBound, s.host_idle, true);
            add(IssueKind::DependencyBound, s.other_idle, true);
        }
        if let Some(issue) = out.iter_mut().find(|i| i.kind == kind) {
            issue.gpu_clock = Some(gpu);
            issue.burst = Some(burst(&facts.steady));
            if !gpu {
                // A CPU clock cannot show that the GPU was idle.
                issue.severity = Severity::Warning;
            }
        }
        if let Some(s) = facts.sums
            && ratio(s.compute, total).is_some_and(|c| c >= options.compute_bound)
            && out.is_empty()
        {
            let kind = IssueKind::ComputeBound;
            out.push(Issue::plain(kind, Severity::Info, s.compute, total));
        }
        let firsts = facts.rows.iter().filter(|r| r.first);
        let first: i64 = firsts.filter_map(|r| r.wait).sum();
        let all: i64 = facts.rows.iter().filter_map(|r| r.wait).sum();
        if first > 0 && facts.filtered && 2 * i128::from(first) >= i128::from(all) {
            let time = facts.rows.iter().map(|r| r.time()).sum();
            out.push(Issue::plain(
                IssueKind::StartupWait,
                Severity::Info,
                first,
                time,
            ));
        }
        out
    }

    /// Verdicts of all ranks, and in front of them the rank that holds the others up where that is at least as severe.
    /// The first verdict is the one to show.
    #[must_use]
    pub fn verdicts(&self, window: TimeRange) -> Vec<Verdict> {
        let mut all: Vec<Verdict> = (0..self.ranks.len())
            .map(|r| self.verdict(r, window))
            .collect();
        let key = |v: &Verdict| {
            v.issues
                .first()
                .map_or((Severity::Info, 0.0), |i| (i.severity, i.share))
        };
        all.sort_by(|a, b| {
            let ((sa, xa), (sb, xb)) = (key(a), key(b));
            sa.cmp(&sb)
                .then(xb.total_cmp(&xa))
                .then(a.rank.cmp(&b.rank))
        });
        if self.ranks.len() > 1 {
            let table = self.rank_table(window);
            let best = all.first().map_or(Severity::Info, |v| key(v).0);
            if let Some(s) = table.straggler.as_ref().filter(|s| s.severity <= best) {
                let issue = self.straggler_issue(s, &table.rows, window);
                if let Some(at) = all.iter().position(|v| v.rank == s.culprit) {
                    let mut verdict = all.remove(at);
                    verdict.issues.insert(0, issue);
                    all.insert(0, verdict);
                }
            }
        }
        all
    }

    fn straggler_issue(&self, s: &Straggler, rows: &[RankMeans], window: TimeRange) -> Issue {
        let kind = match s.kind {
            StragglerKind::Input => IssueKind::InputStraggler,
            StragglerKind::H2d => IssueKind::H2dStraggler,
            StragglerKind::Compute => IssueKind::ComputeStraggler,
            StragglerKind::Unattributed => IssueKind::Straggler,
        };
        let time = rows[s.victim].time.unwrap_or(0.0);
        #[expect(clippy::cast_possible_truncation, reason = "means far below 2^63 ns")]
        let (value, total) = ((s.score * time).round() as i64, time.round() as i64);
        let mut issue = Issue::plain(kind, s.severity, value, total);
        issue.share = round6(s.score);
        let waits = self.waits.iter().filter(|w| w.rank == s.culprit);
        let inside = waits.map(|w| (w.span, w.range.clip(window)));
        issue.evidence = largest(inside.map(|(span, range)| (range.len(), span, range)));
        issue.text = texts::straggler(self, s, rows);
        issue
    }
}
