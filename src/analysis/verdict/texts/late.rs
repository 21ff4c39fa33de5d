//! Sentences about late ranks, and about a job.

use super::{count, part, percent};
use crate::analysis::collectives::kinds::CollectiveKind;
use crate::analysis::collectives::ranks::Collectives;
use crate::analysis::figures::waiting::SlowLoading;
use crate::analysis::verdict::issue::{Issue, IssueKind, Sentences, Verdict};
use crate::analysis::verdict::job::{JobMissing, JobVerdict, KindOf};
use crate::analysis::verdict::late::{LatePattern, Lateness};
use crate::analysis::verdict::late_parts::{LateCause, LatePart};
use crate::analysis::verdict::ledger::IdleClass;
use crate::time::{about_ns, format_count};

/// Ranks that are named.
const NAMED: usize = 4;

/// The sentences of a job's own issue.
pub(in crate::analysis) fn late(
    run: &Collectives,
    job: &JobVerdict,
    issue: &Issue,
    late: &Lateness,
    slow: Option<SlowLoading>,
) -> Sentences {
    let text = Late {
        run,
        job,
        late,
        issue,
        slow,
    };
    Sentences {
        verdict: text.headline(),
        why: text.evidence(),
        next: text.cure(),
    }
}

/// The sentences of a job.
pub(in crate::analysis) fn job(
    run: &Collectives,
    job: &JobVerdict,
    ranks: &[Verdict],
) -> Sentences {
    if job.kind_of == KindOf::Job
        && let Some(issue) = job.issues.first()
    {
        return issue.text.clone();
    }
    let issue_of = |v: &&Verdict| v.issues.iter().find(|i| i.kind == job.kind).cloned();
    let (begin, issue) = match job.kind_of {
        KindOf::Rank(rank) => {
            let own = ranks.iter().find(|v| v.rank == rank);
            let begin = match ranks.len() {
                1 => String::new(),
                _ => format!("Rank {}: ", run.number(rank)),
            };
            (begin, own.as_ref().and_then(issue_of))
        }
        KindOf::AllRanks | KindOf::Job => {
            // The rank with most of it stands for all.
            let most = ranks.iter().max_by_key(|v| {
                let value = issue_of(v).map_or(0, |i| i.value);
                (value, std::cmp::Reverse(v.rank))
            });
            let begin = match most {
                Some(most) => format!(
                    "On all {}, most on rank {}: ",
                    count(ranks.len(), "rank"),
                    run.number(most.rank)
                ),
                None => String::new(),
            };
            (begin, most.as_ref().and_then(issue_of))
        }
    };
    let mut text = issue.map(|i| i.text).unwrap_or_default();
    text.verdict = format!("{begin}{}", text.verdict);
    text
}

/// `the other 3 ranks wait`.
fn others_wait(n: usize) -> String {
    match n {
        1 => "the other rank waits".to_owned(),
        n => format!("the other {} ranks wait", format_count(n as u64)),
    }
}

/// What the sentences of a late rank are made from.
struct Late<'a> {
    run: &'a Collectives,
    job: &'a JobVerdict,
    late: &'a Lateness,
    issue: &'a Issue,
    slow: Option<SlowLoading>,
}

impl Late<'_> {
    fn number(&self, rank: usize) -> u32 {
        self.run.number(rank)
    }

    /// Of a sum over the judged steps, one step's part.
    fn each(&self, ns: i64) -> String {
        about_ns(ns / i64::try_from(self.late.judged.max(1)).unwrap_or(1))
    }

    fn headline(&self) -> String {
        let late = self.late;
        let waits = about_ns(late.per_step());
        let step = self.each(late.of_ns);
        let share = percent(self.issue.share);
        let why = self.why();
        match late.culprit {
            Some(rank) => {
                let number = self.number(rank);
                let holds = match late.pattern {
                    LatePattern::Mixed => format!(
                        "Rank {number} holds up the job most ({} of what late ranks cost)",
                        percent(part(late.cost, late.total))
                    ),
                    LatePattern::Persistent | LatePattern::Wandering => {
                        format!("Rank {number} holds up the job")
                    }
                };
                let others = others_wait(self.run.ranks.len() - 1);
                format!("{holds}: {others} {waits} of each {step} step for it ({share}){why}.")
            }
            None => format!(
                "Now this, now that rank is late ({}): the ranks wait {waits} of each {step} step ({share}){why}.",
                self.by_rank()
            ),
        }
    }

    /// `rank 0 in 8, 1 in 7, 2 in 7 steps and 3 more`: the ranks that are late most often.
    fn by_rank(&self) -> String {
        let mut ranks: Vec<(usize, u32)> = self
            .job
            .late
            .iter()
            .filter(|l| l.late_steps > 0)
            .map(|l| (l.late_steps, self.number(l.rank)))
            .collect();
        ranks.sort_by_key(|&(steps, number)| (std::cmp::Reverse(steps), number));
        let named = ranks.iter().take(NAMED).enumerate();
        let named: Vec<String> = named
            .map(|(i, (steps, number))| {
                let rank = if i == 0 { "rank " } else { "" };
                format!("{rank}{number} in {steps}")
            })
            .collect();
        let more = match ranks.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(", {n} more"),
        };
        format!(
            "{}{more} of {}",
            named.join(", "),
            count(self.late.judged, "step")
        )
    }

    /// Why somebody is late, as the end of a sentence.
    fn why(&self) -> String {
        let wandering = self.late.culprit.is_none();
        let (who, its) = match wandering {
            true => ("the late one", "its"),
            false => ("it", "its"),
        };
        let Some(cause) = self.late.cause else {
            return format!("; why cannot be told{}", self.nearest());
        };
        let more = self.each(self.late.more(cause));
        match cause {
            LateCause::Input => format!(", since {who} waits for {its} data"),
            LateCause::Compute => format!(", since {its} kernels run {more} longer"),
            LateCause::H2d => format!(", since {its} copies to the GPU run {more} longer"),
            LateCause::Host => {
                format!(", since {its} CPU launches late: {its} GPU stands idle {more} longer")
            }
            LateCause::Gc => format!(", since {who} collects garbage"),
            LateCause::Compile => format!(", since {who} compiles"),
            LateCause::Checkpoint => format!(", since {who} saves checkpoints"),
            LateCause::Log => format!(", since {who} logs"),
            LateCause::Eval => format!(", since {who} evaluates"),
        }
    }

    /// The cause that explains most of it, though not enough.
    fn nearest(&self) -> String {
        let mut best: Option<(LateCause, f64)> = None;
        for &(cause, share) in &self.late.coverage {
            if share > 0.0 && best.is_none_or(|b| share > b.1) {
                best = Some((cause, share));
            }
        }
        match best {
            Some((cause, share)) => {
                format!(" ({}: {} of it)", cause.key(), super::rough_percent(share))
            }
            None => String::new(),
        }
    }

    fn evidence(&self) -> String {
        let mut parts = Vec::new();
        let of = self.job.matched;
        let kind = self.kind();
        let matched = format!("{} {kind}s", format_count(of as u64));
        if let Some(rank) = self.late.culprit
            && let Some(own) = self.job.late.iter().find(|l| l.rank == rank)
        {
            let shared = match own.last_shared {
                0 => String::new(),
                n => format!(", with others at {n} more"),
            };
            parts.push(format!("Last at {} of {matched}{shared}", own.last));
        } else {
            let apart = of - self.job.together;
            parts.push(format!("Apart at {apart} of {matched}"));
        }
        match self.late.cause {
            Some(cause) => parts.push(self.measured(cause)),
            None => parts.extend(self.largest()),
        }
        let mut out = parts.join("; ") + ".";
        for missing in &self.job.missing {
            out = format!("{out} {}", self.job.missing_text(self.run, *missing));
        }
        out
    }

    /// `all-reduce` where all are, else `collective`.
    fn kind(&self) -> &'static str {
        let mut kinds = self.run.of.iter().flatten().map(|c| c.kind);
        let first = kinds.next();
        match first {
            Some(kind) if kinds.all(|k| k == kind) => CollectiveKind::name(kind),
            _ => "collective",
        }
    }

    /// What the late rank and the others have of a cause, per step.
    fn measured(&self, cause: LateCause) -> String {
        let own = self
            .late
            .excess
            .iter()
            .filter(|e| e.part.cause() == Some(cause));
        let (mut mine, mut theirs) = (0, 0);
        for excess in own {
            mine += excess.own;
            theirs += excess.others;
        }
        let coverage = self.late.coverage.iter().find(|c| c.0 == cause);
        format!(
            "{}: {} a step, the others {} (explains {})",
            in_words(cause),
            self.each(mine),
            self.each(theirs),
            super::rough_percent(coverage.map_or(0.0, |c| c.1))
        )
    }

    /// The two parts that the late rank has most more of.
    fn largest(&self) -> Option<String> {
        let mut sums: Vec<(&str, i64)> = Vec::new();
        for excess in &self.late.excess {
            let name = part_in_words(excess.part);
            match sums.iter_mut().find(|s| s.0 == name) {
                Some(known) => known.1 += excess.more(),
                None => sums.push((name, excess.more())),
            }
        }
        sums.retain(|s| s.1 > 0);
        sums.sort_by_key(|s| std::cmp::Reverse(s.1));
        let named: Vec<String> = sums
            .iter()
            .take(2)
            .map(|(name, ns)| format!("{name} +{}", self.each(*ns)))
            .collect();
        (!named.is_empty()).then(|| format!("more than the others in a step: {}", named.join(", ")))
    }

    /// How slowly a rank makes its batches.
    fn slowly(&self, number: u32, slow: SlowLoading) -> String {
        let mostly = slow
            .group
            .map_or_else(String::new, |g| format!(", mostly {}", g.word()));
        format!(
            "Rank {number} loads slowly{mostly}: a batch takes its workers {}, rank {}'s {}.",
            about_ns(slow.own),
            self.number(slow.fastest),
            about_ns(slow.least)
        )
    }

    fn cure(&self) -> String {
        let Some(rank) = self.late.culprit else {
            let even = match self.late.cause {
                Some(LateCause::Input) => "Deeper prefetch on all ranks evens it out",
                Some(LateCause::Compute) => "Batches of equal work on all ranks even it out",
                _ => "Look at what differs from step to step",
            };
            return format!("{even}; no single rank is at fault.");
        };
        let n = self.number(rank);
        match self.late.cause {
            Some(LateCause::Input) => {
                let look = format!("Look at rank {n}'s loader, its shard and its host.");
                match self.slow {
                    Some(slow) => format!("{} {look}", self.slowly(n, slow)),
                    None => look,
                }
            }
            Some(LateCause::Compute) => format!(
                "Compare clocks, temperature and neighbours of rank {n}'s GPU with the others, and whether its batches are larger."
            ),
            Some(LateCause::H2d) => format!(
                "Compare rank {n}'s batches, its pinned memory and the link to its GPU with the others."
            ),
            Some(LateCause::Host) => format!(
                "Look at what else runs on rank {n}'s CPU cores, and at what its loop does there: record with_stack=True."
            ),
            Some(LateCause::Gc) => {
                "Collect on all ranks in the same steps: gc.disable() and a collection every n steps.".to_owned()
            }
            Some(LateCause::Compile) => {
                format!("Look at which shapes only rank {n} sees; compile before training begins.")
            }
            Some(LateCause::Checkpoint) => {
                "Save in the background, or let each rank save its part.".to_owned()
            }
            Some(LateCause::Log) => format!("Log less often or from another thread on rank {n}."),
            Some(LateCause::Eval) => "Split the evaluation over all ranks.".to_owned(),
            None => format!(
                "Look at rank {n} between its collectives, beside a rank that waits: record both with_stack=True."
            ),
        }
    }
}

/// A cause in words.
fn in_words(cause: LateCause) -> &'static str {
    match cause {
        LateCause::Input => "waiting for data",
        LateCause::Compute => "compute",
        LateCause::H2d => "copies to the GPU",
        LateCause::Host => "late launches and pauses of its host",
        LateCause::Gc => "garbage collection",
        LateCause::Compile => "compilation",
        LateCause::Checkpoint => "checkpoints",
        LateCause::Log => "logging",
        LateCause::Eval => "evaluation",
    }
}

/// A part in words.
fn part_in_words(part: LatePart) -> &'static str {
    match part {
        LatePart::Comm => "collectives of other groups",
        LatePart::Idle(IdleClass::Loader) => "making loaders",
        LatePart::Idle(IdleClass::Dependency) => "idle with work queued",
        LatePart::Idle(IdleClass::Unknown) => "idle for no known cause",
        part => part.cause().map_or("idle", in_words),
    }
}

impl JobVerdict {
    /// Why less can be said of a job, in a sentence.
    #[must_use]
    pub fn missing_text(&self, run: &Collectives, missing: JobMissing) -> String {
        match missing {
            JobMissing::Ranks => format!(
                "Recorded {} of {} ranks: the late one may be among the others, and what looks like transfer may be waiting for it.",
                run.ranks.len(),
                self.world
                    .max(u32::try_from(run.ranks.len() + run.matching.absent.len()).unwrap_or(0))
            ),
            JobMissing::Unmatched => format!(
                "{} have no partners on the other ranks; they count as transfer.",
                count(run.matching.unmatched, "collective")
            ),
            JobMissing::EndsDisagree => format!(
                "The ranks do not leave collectives together (their ends lie up to {} apart): who is late cannot be told.",
                about_ns(run.ends.map_or(0, |e| e.spread))
            ),
        }
    }

    /// The verdict is of the ranks beside each other.
    #[must_use]
    pub fn compares_ranks(&self) -> bool {
        self.kind_of == KindOf::Job && self.kind != IssueKind::Inconclusive
    }
}
