//! The sentences of verdicts, with their figures filled in: a headline (what, how much of what), the evidence, one cure with
//! its condition and the most it can bring.

use std::ops::Deref;

use crate::analysis::Analysis;
use crate::analysis::collectives::ranks::Collectives;
use crate::analysis::figures::judged::Judged;
use crate::analysis::figures::rates::Rates;
use crate::analysis::layers::short::short_name;
use crate::analysis::sums::stats::ratio;
use crate::analysis::verdict::facts::Facts;
use crate::analysis::verdict::issue::{Issue, IssueKind, Sentences, Whole};
use crate::analysis::verdict::missing::Missing;
use crate::time::{about_ns, format_count};

pub(in crate::analysis) mod comm;
pub(in crate::analysis) mod coverage;
mod idle;
pub(in crate::analysis) mod late;
mod missing;
mod nothing;
mod pace;
mod waits;

/// Printed under every throughput that comes from a torch.profiler trace.
pub const PROFILED_SPEED: &str =
    "Recording slows training: compare speeds of runs without the profiler.";

/// A share as the sentences print it: `38.4 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A share of the record: `97 %`; with a decimal where it would look like all or nothing.
#[must_use]
pub fn rough_percent(share: f64) -> String {
    let hundred = share * 100.0;
    if share < 1.0 && !(0.5..99.5).contains(&hundred) {
        // Never all: 99.96 % is not 100.0 %.
        return format!("{:.1} %", hundred.min(99.9));
    }
    format!("{hundred:.0} %")
}

/// `1 step`, `12 steps`, `2 processes`, `3 batches`.
#[must_use]
pub fn counted(n: u64, what: &str) -> String {
    let plural = match (n, what.ends_with('s') || what.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {what}{plural}", format_count(n))
}

fn count(n: usize, what: &str) -> String {
    counted(n as u64, what)
}

fn part(a: i64, b: i64) -> f64 {
    ratio(a, b).unwrap_or(0.0)
}

impl Rates {
    /// With how many workers loading keeps up, in a sentence. `None` where that cannot be computed.
    #[must_use]
    pub fn keeps_up(&self) -> Option<String> {
        let (needed, spare) = (self.needed_workers?, self.recommended_workers?);
        let workers = counted(u64::from(needed), "worker");
        Some(if spare > needed {
            format!("{workers} would be enough, {spare} with 25 % headroom.")
        } else {
            format!("{workers} would be enough, with 25 % headroom.")
        })
    }
}

/// What the sentences of one issue are made from: the issue, and what was judged.
pub(in crate::analysis) struct About<'a> {
    pub issue: &'a Issue,
    pub judged: &'a Judged,
    /// It is the verdict: its headline says how much of the record it speaks of.
    pub first: bool,
    /// That headline begins with what the judged steps are.
    pub little: bool,
}

impl<'a> About<'a> {
    /// An issue, the first of all or not; `little` was judged.
    pub fn new(issue: &'a Issue, judged: &'a Judged, (first, little): (bool, bool)) -> Self {
        Self {
            issue,
            judged,
            first,
            little: first && little && issue.of == Whole::Judged,
        }
    }

    /// Its sentences, after what the judged steps are.
    pub fn begin(&self, mut text: Sentences) -> Sentences {
        if self.little && self.issue.kind != IssueKind::Inconclusive {
            text.verdict = format!("{} {}", coverage::little(self.judged), text.verdict);
        }
        text
    }
}

impl About<'_> {
    fn share(&self) -> String {
        percent(self.issue.share)
    }

    /// `602 ms of 926 ms`.
    fn at_most(&self, ns: i64) -> String {
        format!("at most {} of {}", about_ns(ns), about_ns(self.issue.of_ns))
    }

    /// What the issue's share is of, and how much of the record that is.
    fn whole(&self) -> String {
        let account = self.judged.account;
        let record = rough_percent(part(self.issue.of_ns, account.total()));
        match self.issue.of {
            whole if !self.first => whole.text().to_owned(),
            Whole::Judged if self.little => "them".to_owned(),
            Whole::Judged => format!(
                "the judged steps ({} of {}; {record} of the record)",
                format_count(self.judged.len() as u64),
                format_count(self.judged.cycles.len() as u64),
            ),
            Whole::Loop => format!("the loop ({record} of the record)"),
            Whole::Record => "the record".to_owned(),
        }
    }

    /// How the issue lies over the steps, as part of a sentence: `, spread over all steps`. Empty where that is not known.
    fn spread(&self) -> String {
        use crate::analysis::verdict::issue::Pattern;
        let details = &self.issue.details;
        match (details.pattern, &details.burst) {
            (Some(Pattern::EveryStep), _) => ", spread over all steps".to_owned(),
            (Some(Pattern::Burst), Some(b)) => {
                format!(
                    " in bursts: {} of {} hold {} of it",
                    b.k,
                    count(b.n, "step"),
                    percent(b.share)
                )
            }
            (Some(Pattern::SomeSteps), _) => " in some of the steps".to_owned(),
            _ => String::new(),
        }
    }
}

/// The same, with the trace.
struct Writer<'a> {
    analysis: &'a Analysis,
    facts: &'a Facts<'a>,
    missing: &'a [Missing],
    about: About<'a>,
}

impl<'a> Deref for Writer<'a> {
    type Target = About<'a>;

    fn deref(&self) -> &About<'a> {
        &self.about
    }
}

/// All three sentences of one issue.
pub(in crate::analysis) fn fill(
    analysis: &Analysis,
    issue: &Issue,
    facts: &Facts<'_>,
    missing: &[Missing],
    place: (bool, bool),
) -> Sentences {
    let writer = Writer {
        analysis,
        facts,
        missing,
        about: About::new(issue, facts.judged, place),
    };
    writer.begin(writer.sentences())
}

impl Writer<'_> {
    fn sentences(&self) -> Sentences {
        match self.issue.kind {
            IssueKind::InputBound => self.input_bound(),
            IssueKind::InputWait => self.input_wait(),
            IssueKind::StartupBound => self.startup_bound(),
            IssueKind::StartupWait => self.startup_wait(),
            IssueKind::CheckpointStall
            | IssueKind::EvalStall
            | IssueKind::LogStall
            | IssueKind::GcStall
            | IssueKind::CompileStall
            | IssueKind::LoaderStall => self.stall(),
            IssueKind::HostStall => self.host_stall(),
            IssueKind::UnnamedWait => self.unnamed_wait(),
            IssueKind::SyncBound => self.sync_bound(),
            IssueKind::LaunchBound => self.launch_bound(),
            IssueKind::DependencyBound => self.dependency_bound(),
            IssueKind::H2dBound => self.h2d_bound(),
            IssueKind::CommBound => {
                comm::comm_bound(self, self.run(), self.facts.waiting.is_some())
            }
            IssueKind::ComputeBound => self.compute_bound(),
            IssueKind::InputOk => self.input_ok(),
            IssueKind::NoSingleBound => self.no_single(),
            IssueKind::Inconclusive => self.inconclusive(),
            IssueKind::RankWait => comm::rank_wait(self, self.run()),
            // About ranks beside each other: written by `late`.
            _ => Sentences::default(),
        }
    }

    /// The ranks that the issue's rank is compared with, and its place among them.
    fn run(&self) -> Option<(&Collectives, usize)> {
        self.analysis.run_of(self.facts.rank)
    }

    /// Median of what a set holds of each judged step, ns.
    fn median_of(&self, set: &crate::analysis::Union) -> i64 {
        let rows = self.facts.judged.rows();
        let mut values: Vec<i64> = rows.map(|r| set.measure_in(r.range)).collect();
        crate::analysis::percentile(&mut values, 50).unwrap_or(0)
    }
}

/// A text of at most `most` characters: its beginning and `…`.
fn shorten(text: &str, most: usize) -> String {
    let name = short_name(text).filter(|_| text.contains('<'));
    let text = name.as_deref().unwrap_or(text);
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(most - 1).collect();
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_record_are_round_but_never_all() {
        assert_eq!(rough_percent(0.9712), "97 %");
        assert_eq!(rough_percent(1.0), "100 %");
        assert_eq!(rough_percent(0.9996), "99.9 %");
        assert_eq!(rough_percent(0.002), "0.2 %");
        assert_eq!(percent(0.384), "38.4 %");
        assert_eq!(counted(1, "step"), "1 step");
        assert_eq!(counted(2_000, "process"), "2,000 processes");
    }
}
