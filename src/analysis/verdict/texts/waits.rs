//! Sentences about waits for data and starts of the loader.

use super::{Writer, count, counted, part, percent, shorten};
use crate::analysis::Analysis;
use crate::analysis::cause::decide::LoopCause;
use crate::analysis::cause::parts::Group;
use crate::analysis::figures::rates::Rates;
use crate::analysis::verdict::facts::Facts;
use crate::analysis::verdict::issue::{Pattern, Place, Sentences};
use crate::model::NameId;
use crate::time::about_ns;

/// A loader with this share of the waiting, in tenths, is named.
const MOST: i64 = 9;

impl Writer<'_> {
    pub(super) fn input_bound(&self) -> Sentences {
        if self.issue.details.place == Some(Place::BetweenSteps) {
            return Sentences {
                verdict: format!(
                    "Input-bound between the steps: in {} of {} the GPU had nothing to do because the loop waited for data outside its steps.",
                    self.share(),
                    self.whole()
                ),
                why: format!(
                    "{} of waits lie between the steps.",
                    about_ns(self.issue.value)
                ),
                next: format!(
                    "Look at what is loaded there; {} can be won.",
                    self.at_most(self.issue.value)
                ),
            };
        }
        let whole = self.whole();
        let verdict = match (&self.issue.details.pattern, &self.issue.details.burst) {
            (Some(Pattern::Burst), Some(b)) => format!(
                "Input-bound in bursts: {} of {}{} {} {} of the wait with the GPU idle, which is {} of {whole}{}.",
                b.k,
                count(b.n, "step"),
                period(b.period),
                if b.k == 1 { "holds" } else { "hold" },
                percent(b.share),
                self.share(),
                self.loader(),
            ),
            _ => format!(
                "Input-bound: in {} of {whole} the GPU had nothing to do because the loop waited for data{}.",
                self.share(),
                self.loader(),
            ),
        };
        Sentences {
            verdict,
            why: self.waited(),
            next: self.faster_loading(),
        }
    }

    /// What the loop waited in the judged steps, and what the GPU did meanwhile.
    fn waited(&self) -> String {
        let judged = &self.facts.judged.set;
        let rank = &self.analysis.ranks[self.facts.rank];
        let wait = rank.wait.intersect(judged);
        let hidden = rank.wait_hidden.intersect(judged).measure();
        let unrecorded = rank.wait_unrecorded.intersect(judged).measure();
        let mut out = format!(
            "Waited {}, {} of it with the GPU idle",
            about_ns(wait.measure()),
            about_ns(self.issue.value),
        );
        if hidden > 0 {
            out += &format!(", {} under GPU work", about_ns(hidden));
        }
        if unrecorded > 0 {
            out += &format!(", {} without GPU data", about_ns(unrecorded));
        }
        let each = self.median_of(&wait);
        out += &match self.issue.details.pattern {
            Some(Pattern::EveryStep) => {
                format!("; in every step (median wait {}).", about_ns(each))
            }
            _ => format!("; median wait {} a step.", about_ns(each)),
        };
        out + &inside(self.analysis, self.facts)
    }

    /// The loader that holds nearly all of the wait, where there are several.
    fn loader(&self) -> String {
        let by = &self.issue.details.by_loader;
        let sum: i64 = by.iter().map(|l| l.1).sum();
        match by.first() {
            Some((name, ns))
                if by.len() > 1 && i128::from(*ns) * 10 >= i128::from(sum) * i128::from(MOST) =>
            {
                format!(
                    " ({} of the wait in '{}')",
                    percent(part(*ns, sum)),
                    shorten(name, 60)
                )
            }
            _ => String::new(),
        }
    }

    /// What is known to help, where the cause of the waiting is known.
    fn cure(&self, fits: impl Fn(LoopCause) -> bool) -> Option<String> {
        let (rank, window) = (self.facts.rank, self.facts.judged.window);
        let waiting = self.analysis.why_waited(rank, window)?;
        fits(waiting.cause).then(|| self.analysis.advice(rank, window, &waiting))
    }

    /// What to do about waits for data.
    fn faster_loading(&self) -> String {
        let gain = format!("{} can be won.", capital(&self.at_most(self.issue.value)));
        if let Some(cure) = self.cure(tells_of_waits) {
            return format!("{cure} {gain}");
        }
        if self.issue.details.pattern == Some(Pattern::Burst) {
            return format!(
                "Look at what these batches read (a shard, a large file); more workers help only if they can read ahead over it. {gain}"
            );
        }
        format!("{} {gain}", more_workers(self.analysis, self.facts))
    }

    pub(super) fn input_wait(&self) -> Sentences {
        let analysis = self.analysis;
        let record = match analysis.no_gpu(self.facts.rank) {
            text if analysis.ends_early(self.facts.rank) => {
                format!("No GPU events were read ({text})")
            }
            _ => "This record has no GPU events".to_owned(),
        };
        let alone = analysis.loads_by_itself(self.facts.rank);
        Sentences {
            verdict: format!(
                "The loop waited for data in {} of {} (CPU clock){}.",
                self.share(),
                self.whole(),
                self.loader()
            ),
            why: format!(
                "Waited {} of {}{}. {record}, so it cannot be told how much of that the GPU worked through; if the loop does \
                 not read the loss (or synchronise otherwise) in every step, most of it may be hidden.{}",
                about_ns(self.issue.value),
                about_ns(self.issue.of_ns),
                self.spread(),
                inside(analysis, self.facts)
            ),
            next: match self.cure(tells_of_waits) {
                Some(cure) => cure,
                None if alone => more_workers(analysis, self.facts),
                None => record_gpu(analysis, self.facts.rank, ""),
            },
        }
    }

    pub(super) fn startup_bound(&self) -> Sentences {
        let n = self.issue.details.occurrences.unwrap_or(1).max(1);
        let each = self.issue.value / i64::try_from(n).unwrap_or(1);
        let judged = self.facts.judged.account;
        let compute = part(self.facts.compute.measure(), judged.judged);
        let between = if compute >= self.analysis.options.compute_bound {
            format!(
                "the judged steps are compute-bound ({} of {})",
                percent(compute),
                about_ns(judged.judged)
            )
        } else {
            format!("the judged steps take {}", about_ns(judged.judged))
        };
        Sentences {
            verdict: format!(
                "{}: {} after the first, {} each{}.",
                match self.facts.gpu {
                    Some(_) => format!(
                        "For {} of {} the GPU waited for the loader to start again",
                        self.share(),
                        self.whole()
                    ),
                    None => format!(
                        "Starting the loader again took {} of {} (CPU clock)",
                        self.share(),
                        self.whole()
                    ),
                },
                count(n, "start"),
                about_ns(each),
                if n > 1 { " on average" } else { "" },
            ),
            why: format!(
                "Between the starts {between}; they are {} of the record.",
                super::rough_percent(part(judged.judged, judged.total()))
            ),
            next: match self.cure(|cause| cause == LoopCause::Start) {
                Some(cure) => format!(
                    "{cure} {} can be won.",
                    capital(&self.at_most(self.issue.value))
                ),
                None => format!(
                    "Fewer, longer epochs start it less often; {} can be won, less the loading of one batch per start.",
                    self.at_most(self.issue.value)
                ),
            },
        }
    }

    pub(super) fn startup_wait(&self) -> Sentences {
        let window = self.facts.judged.window;
        let waits = &self.analysis.ranks[self.facts.rank].waits;
        let start_up = waits.start_up_in(window);
        let all = waits.all.iter().map(|w| w.range.clip(window).len());
        let all = all.sum::<i64>() + start_up.make_outside;
        let (took, share) = (
            about_ns(self.issue.value),
            percent(part(self.issue.value, all)),
        );
        Sentences {
            verdict: match start_up.runs {
                0 | 1 => format!(
                    "The loop waited {took} for the loader's start, once, at the beginning: {share} of all waiting."
                ),
                runs => format!(
                    "The loop waited {took} for {} of the loader: {share} of all waiting.",
                    counted(runs as u64, "start")
                ),
            },
            why: "No batch was ready when the loader began; later steps wait less.".to_owned(),
            next: String::new(),
        }
    }
}

/// A cause that says why single batches came late.
fn tells_of_waits(cause: LoopCause) -> bool {
    !matches!(
        cause,
        LoopCause::Unknown
            | LoopCause::Start
            | LoopCause::Little
            | LoopCause::Of(
                Group::Start | Group::End | Group::Blocked | Group::Unknown | Group::UnrecordedWork
            )
    )
}

/// ` (every 8th)`.
pub(super) fn period(period: Option<i64>) -> String {
    period.map_or_else(String::new, |p| {
        let end = match (p % 10, p % 100) {
            (_, 11..=13) => "th",
            (1, _) => "st",
            (2, _) => "nd",
            (3, _) => "rd",
            _ => "th",
        };
        format!(" (every {p}{end})")
    })
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// How to see what the GPU did.
pub(super) fn record_gpu(analysis: &Analysis, rank: usize, why: &str) -> String {
    if analysis.ends_early(rank) {
        "Get a complete copy of the file.".to_owned()
    } else {
        // Who records with something else altogether is not told of tools that the trace knows nothing of.
        let mut sources = analysis.trace().sources().iter();
        let known = sources.any(|s| s.tracer.key != "torch" || s.producer.contains("torch"));
        let how = if known {
            " (torch.profiler or nsys)"
        } else {
            ""
        };
        format!("Record the GPU as well{how}{why}.")
    }
}

fn more_workers(analysis: &Analysis, facts: &Facts<'_>) -> String {
    let rates = analysis.rates(facts.rank, facts.judged.window);
    let keeps_up = rates.as_ref().and_then(Rates::keeps_up);
    if analysis.loads_by_itself(facts.rank) {
        let how = keeps_up.map_or_else(String::new, |k| format!(" {k}"));
        return format!(
            "Raise num_workers: it is 0, so the loop loads each batch itself and does nothing else meanwhile.{how}"
        );
    }
    match keeps_up {
        Some(k) => format!("{k} They help only if there are cores for them."),
        None => "More workers (num_workers), cheaper transforms or faster storage; the workers are not in this record."
            .to_owned(),
    }
}

/// What the loop's own thread ran during its waits, where it says.
fn inside(analysis: &Analysis, facts: &Facts<'_>) -> String {
    const NAMED: usize = 3;
    let found = analysis.inside_waits(facts.rank, &facts.judged.set, NAMED);
    if found.is_empty() {
        return String::new();
    }
    let name = |&(name, ns): &(NameId, i64)| {
        let text = analysis.trace().name(name);
        format!("{} {}", shorten(text, 60), about_ns(ns))
    };
    let found: Vec<String> = found.iter().map(name).collect();
    format!(
        " Top functions during the waits (self time): {}.",
        found.join(", ")
    )
}
