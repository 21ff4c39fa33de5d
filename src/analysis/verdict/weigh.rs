//! From what may be an issue to the issue: its share, how bad it is, how it lies over the steps.

use crate::analysis::Analysis;
use crate::analysis::base::options::{Options, Severity};
use crate::analysis::base::steps::StepSource;
use crate::analysis::figures::judged::Judged;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::ratio;
use crate::analysis::verdict::issue::{Details, Issue, IssueKind, Whole};
use crate::analysis::verdict::pattern::pattern;

/// What may be an issue: a kind, where its time lies, what it is a share of.
pub(in crate::analysis) struct Candidate {
    pub kind: IssueKind,
    /// Where it lies; `None` where only its length is known.
    pub set: Option<Union>,
    pub value: i64,
    pub of: Whole,
    /// How often it happened, for what does not come with every step.
    pub occurrences: Option<usize>,
    pub details: Details,
}

impl Candidate {
    pub fn new(kind: IssueKind, of: Whole, set: Union) -> Self {
        Self {
            kind,
            value: set.measure(),
            set: Some(set),
            of,
            occurrences: None,
            details: Details::default(),
        }
    }
}

/// What issues of a rank are weighed by.
pub(in crate::analysis) struct Scale<'a> {
    pub options: &'a Options,
    pub judged: &'a Judged,
    /// The rank has a GPU with operations.
    pub gpu: bool,
    /// Its steps were inferred from marks of the optimizer.
    pub inferred: bool,
    /// The short name of a step of the rank, by its index.
    pub label: &'a dyn Fn(usize) -> String,
}

impl Scale<'_> {
    /// An issue, where its share reaches the threshold.
    pub fn issue(&self, candidate: Candidate) -> Option<Issue> {
        let (of, of_ns) = candidate.of.of(self.judged);
        let share = ratio(candidate.value, of_ns)?;
        if share < self.options.warn {
            return None;
        }
        let often = match candidate.occurrences {
            Some(n) => n >= self.options.min_steps_warn,
            None => self.judged.len() >= self.options.min_steps_crit,
        };
        // Neither the clock of the CPU nor steps that were inferred are sure enough.
        let sure = self.gpu && !self.inferred;
        let severity = match share >= self.options.crit && often && sure {
            true => Severity::Critical,
            false => Severity::Warning,
        };
        let mut issue = Issue::plain(candidate.kind, severity, candidate.value, (of, of_ns));
        issue.gpu_clock = Some(self.gpu);
        issue.details = candidate.details;
        issue.details.occurrences = candidate.occurrences;
        if let Some(set) = &candidate.set {
            let (times, labels) = self.entries(set, of);
            if let Some((pattern, burst)) = pattern(&times, |i| labels[i].clone()) {
                issue.details.pattern = Some(pattern);
                issue.details.burst = Some(burst);
            }
        }
        Some(issue)
    }

    /// Time of a set by judged cycle; for an issue of the loop also by hole and by first cycle that has some.
    fn entries(&self, set: &Union, of: Whole) -> (Vec<i64>, Vec<String>) {
        let rows = self.judged.rows();
        let (mut times, mut labels): (Vec<i64>, Vec<String>) = rows
            .map(|row| (set.measure_in(row.range), (self.label)(row.step)))
            .unzip();
        if of == Whole::Loop {
            let restarted = Union::new(self.judged.restarted.clone());
            let others = self.judged.between.unite(&restarted);
            for part in others.parts() {
                let ns = set.measure_in(*part);
                if ns > 0 {
                    times.push(ns);
                    labels.push("between".to_owned());
                }
            }
        }
        (times, labels)
    }
}

impl Analysis {
    /// What issues of a rank are weighed by; calls `with` with it.
    pub(in crate::analysis) fn weighing<T>(
        &self,
        judged: &Judged,
        with: impl FnOnce(&Scale<'_>) -> T,
    ) -> T {
        let rank = &self.ranks[judged.rank];
        with(&Scale {
            options: &self.options,
            judged,
            gpu: rank.gpu.is_some(),
            inferred: rank.steps_how == StepSource::Optimizer,
            label: &|step| rank.steps[step].short().to_owned(),
        })
    }
}
