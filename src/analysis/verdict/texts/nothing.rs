//! Sentences where nothing is found, or nothing can be.

use std::cmp::Reverse;

use super::waits::record_gpu;
use super::{Writer, count, part, percent};
use crate::analysis::verdict::issue::Sentences;
use crate::analysis::verdict::ledger::IdleClass;
use crate::analysis::verdict::missing::Missing;
use crate::time::about_ns;

/// A class of idle time in words.
fn in_words(class: IdleClass) -> &'static str {
    match class {
        IdleClass::Gc => "garbage collection",
        IdleClass::Compile => "compilation",
        IdleClass::Checkpoint => "checkpoints",
        IdleClass::Log => "logging",
        IdleClass::Loader => "making loaders",
        IdleClass::Eval => "evaluation",
        IdleClass::Input => "waits for data",
        IdleClass::InputBetween => "waits for data between the steps",
        IdleClass::Startup => "starts of the loader",
        IdleClass::Sync => "after blocking calls",
        IdleClass::Launch => "before late launches",
        IdleClass::Pause => "while the CPU launched nothing",
        IdleClass::Kernel => "short gaps between kernels",
        IdleClass::Dependency => "with work queued",
        IdleClass::Unknown => "for no known cause",
        IdleClass::FirstOther => "in steps that are not judged",
    }
}

impl Writer<'_> {
    pub(super) fn compute_bound(&self) -> Sentences {
        Sentences {
            verdict: format!(
                "Compute-bound: kernels ran in {} of {}.",
                self.share(),
                self.whole()
            ),
            why: self.largest_rest().map_or_else(
                || {
                    format!(
                        "{} of {} in kernels.",
                        about_ns(self.issue.value),
                        about_ns(self.issue.of_ns)
                    )
                },
                |rest| {
                    format!(
                        "{} of {} in kernels. {rest}",
                        about_ns(self.issue.value),
                        about_ns(self.issue.of_ns)
                    )
                },
            ),
            next: "Faster kernels, lower precision or a smaller model; more workers will not help."
                .to_owned(),
        }
    }

    pub(super) fn input_ok(&self) -> Sentences {
        let wait = self.analysis.ranks[self.facts.rank]
            .wait
            .intersect(&self.facts.judged.set);
        Sentences {
            verdict: format!(
                "The loop waits little for data: {} of {}.",
                percent(part(wait.measure(), self.issue.of_ns)),
                self.whole()
            ),
            why: format!(
                "What else bounds the steps cannot be told: {}.",
                self.analysis.no_gpu(self.facts.rank)
            ),
            next: record_gpu(
                self.analysis,
                self.facts.rank,
                " to see what the steps are made of",
            ),
        }
    }

    /// The largest of what keeps the GPU from compute, in a sentence.
    fn largest_rest(&self) -> Option<String> {
        const NAMED: usize = 3;
        let whole = self.facts.total();
        let classes = IdleClass::ALL.iter().filter(|c| {
            !matches!(
                c,
                IdleClass::InputBetween | IdleClass::Startup | IdleClass::FirstOther
            )
        });
        let mut parts: Vec<(String, i64)> = classes
            .map(|&c| {
                let inside = self.facts.ledger.set(c).intersect(&self.facts.judged.set);
                (format!("idle: {}", in_words(c)), inside.measure())
            })
            .collect();
        parts.push((
            "communication without compute".to_owned(),
            self.facts.comm.measure(),
        ));
        parts.push((
            "copies to the GPU without compute".to_owned(),
            self.facts.h2d.measure(),
        ));
        // What would read 0.0 % is not told.
        parts.retain(|p| i128::from(p.1) * 2_000 >= i128::from(whole.max(1)));
        parts.sort_by_key(|p| Reverse(p.1));
        let list: Vec<String> = parts
            .iter()
            .take(NAMED)
            .map(|(name, ns)| format!("{name} {}", percent(part(*ns, whole))))
            .collect();
        (!list.is_empty()).then(|| format!("The largest of the rest: {}.", list.join(", ")))
    }

    /// Nothing that keeps the GPU from working is large: then what it does is what the steps are made of.
    pub(super) fn no_single(&self) -> Sentences {
        let total = self.facts.total();
        let busy = self.facts.gpu.map_or(0, |g| {
            self.analysis.gpus[g]
                .busy
                .intersect(&self.facts.judged.set)
                .measure()
        });
        let mostly = 2 * i128::from(busy) > i128::from(total);
        let busy = percent(part(busy, total));
        let compute = self.facts.compute.measure();
        let rest = self
            .largest_rest()
            .map_or_else(String::new, |r| format!(" {r}"));
        Sentences {
            verdict: if mostly {
                format!(
                    "Mostly GPU work: the GPU was busy in {busy} of {}; nothing that keeps it from compute takes a tenth.",
                    self.whole()
                )
            } else {
                format!(
                    "No single cause: the GPU was busy in {busy} of {}, and no cause by itself takes a tenth.",
                    self.whole()
                )
            },
            why: format!(
                "Kernels ran in {} of {}.{rest}",
                percent(part(compute, total)),
                about_ns(total)
            ),
            next: if mostly {
                "Faster kernels, lower precision or a smaller model; more workers will not help."
                    .to_owned()
            } else {
                "Look at the step table for single long steps.".to_owned()
            },
        }
    }

    pub(super) fn inconclusive(&self) -> Sentences {
        let judged = self.facts.judged;
        let lacks = |m: Missing| self.missing.contains(&m);
        if lacks(Missing::NoSteps) && judged.partial_steps > 0 {
            return Sentences {
                verdict: "No whole step lies in the window: nothing is judged.".to_owned(),
                why: format!("{} only partly in the window.", lies(judged.partial_steps)),
                next: "Choose a window with at least two whole steps.".to_owned(),
            };
        }
        if lacks(Missing::NoSteps) {
            return self.without_steps();
        }
        if lacks(Missing::StepsIrregular) {
            let marks = self.analysis.cycles[self.facts.rank].confidence;
            let (marks, regular) = marks.map_or((0, 0.0), |c| (c.marks, c.regular));
            return Sentences {
                verdict: "The steps cannot be told: the marks of the optimizer come too unevenly to judge by them."
                    .to_owned(),
                why: format!(
                    "Of {} only {} lie within a quarter of their median distance.",
                    count(marks, "mark"),
                    percent(regular)
                ),
                next: "Call prof.step() after each step, or put a record_function named 'step 0', 'step 1', … around it."
                    .to_owned(),
            };
        }
        if lacks(Missing::UnlinkedIdle) {
            let unknown = self.facts.ledger.get(IdleClass::Unknown);
            return Sentences {
                verdict: format!(
                    "Why the GPU was idle cannot be told: {} of {} lie before operations whose launch call is not recorded.",
                    percent(part(unknown, self.facts.total())),
                    self.whole()
                ),
                why: format!("{} of idle time without a known cause.", about_ns(unknown)),
                next: "Record CUDA API calls beside the kernels.".to_owned(),
            };
        }
        if !judged.enough() {
            return Sentences {
                verdict: format!(
                    "Only {} in the window: too few to judge.",
                    count(judged.cycles.len(), "whole step")
                ),
                why: String::new(),
                next: "Record more steps.".to_owned(),
            };
        }
        if lacks(Missing::UnrecordedLaunches) && !lacks(Missing::NoFetch) {
            return Sentences {
                verdict: format!(
                    "What bounds {} cannot be told: GPU work was launched in them that is not recorded.",
                    self.whole()
                ),
                why: "The waits of the loop are recorded; what the GPU did meanwhile is not."
                    .to_owned(),
                next: "Record the kernels of graphs, too (nsys: --cuda-graph-trace=node), and a record that loses none."
                    .to_owned(),
            };
        }
        Sentences {
            verdict: format!(
                "The loop's own waiting is not named, and nothing else takes a tenth of {}: what bounds them cannot be told.",
                self.whole()
            ),
            why: self.analysis.missing_text(self.facts.rank, Missing::NoFetch),
            next: "Put a record_function named 'batch_wait' (or an NVTX range) around the line in which the loop takes its batch, or name its range with a rule."
                .to_owned(),
        }
    }

    fn without_steps(&self) -> Sentences {
        let (analysis, rank) = (self.analysis, self.facts.rank);
        let window = self.facts.judged.window;
        let by = analysis.idle_without_steps(rank, window);
        let idle = self
            .facts
            .gpu
            .map(|g| analysis.gpus[g].idle.measure_in(window));
        let why = match (by.first(), idle) {
            (Some(&(class, ns)), Some(idle)) => format!(
                "The largest part of the GPU's idle time: {}, {} of {}.",
                in_words(class),
                about_ns(ns),
                about_ns(idle)
            ),
            (Some(&(class, ns)), None) => format!(
                "The largest named part of the loop: {}, {} of {}.",
                in_words(class),
                about_ns(ns),
                about_ns(window.len())
            ),
            (None, _) => String::new(),
        };
        let early = match analysis.ends_early(rank) {
            true => " The file ends early: steps may be missing.",
            false => "",
        };
        Sentences {
            verdict: format!("No steps are marked: these are figures of the whole record.{early}"),
            why,
            next: "Call prof.step() after each step, or put a record_function named 'step 0', 'step 1', … (or an NVTX range) around it."
                .to_owned(),
        }
    }
}

fn lies(n: usize) -> String {
    let steps = count(n, "step");
    if n == 1 {
        format!("{steps} lies")
    } else {
        format!("{steps} lie")
    }
}
