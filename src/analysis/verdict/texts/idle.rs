//! Sentences about idle time that is no wait for data: named stalls, pauses, blocking calls, slow launches, copies,
//! communication.

use super::waits::period;
use super::{Writer, count, part, percent, shorten};
use crate::analysis::Analysis;
use crate::analysis::base::stalls::{GapKind, blocking_calls, call_before};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::names::quoted;
use crate::analysis::sums::intervals::Union;
use crate::analysis::verdict::issue::{IssueKind, Place, Sentences};
use crate::analysis::verdict::ledger::IdleClass;
use crate::model::SpanId;
use crate::time::{TimeRange, about_ns};

/// Names are cut at this many characters.
const NAME: usize = 60;

/// The words of a named stall: what holds the GPU idle, one of them, what to do.
struct Words {
    what: &'static str,
    one: &'static str,
    cure: &'static str,
    class: IdleClass,
}

fn words(kind: IssueKind) -> Words {
    let (what, one, cure, class) = match kind {
        IssueKind::CheckpointStall => (
            "Checkpoints",
            "checkpoint",
            "Save in the background or less often",
            IdleClass::Checkpoint,
        ),
        IssueKind::EvalStall => (
            "Evaluation",
            "evaluation",
            "Evaluate less often or on another GPU",
            IdleClass::Eval,
        ),
        IssueKind::LogStall => (
            "Logging",
            "time",
            "Log less often or from another thread",
            IdleClass::Log,
        ),
        IssueKind::GcStall => (
            "Garbage collection",
            "collection",
            "gc.freeze() after set-up, or gc.disable() and a collection every n steps",
            IdleClass::Gc,
        ),
        IssueKind::CompileStall => (
            "Compilation",
            "compilation",
            "Fix the shapes or mark them dynamic, and compile before training begins",
            IdleClass::Compile,
        ),
        _ => (
            "Making loaders",
            "time",
            "Make the loader and its iterator once",
            IdleClass::Loader,
        ),
    };
    Words {
        what,
        one,
        cure,
        class,
    }
}

impl Writer<'_> {
    pub(super) fn stall(&self) -> Sentences {
        let words = words(self.issue.kind);
        let n = self.issue.details.occurrences.unwrap_or(0);
        let each = self.issue.value / i64::try_from(n.max(1)).unwrap_or(1);
        let burst = self.issue.details.burst.as_ref();
        let every = burst.map_or_else(String::new, |b| period(b.period));
        let often = match n {
            0 | 1 => format!("one {} of {}", words.one, about_ns(each)),
            n => format!(
                "{}, {} each on average{every}",
                count(n, words.one),
                about_ns(each)
            ),
        };
        let worked = match self.issue.kind {
            IssueKind::EvalStall => self.worked_meanwhile(LayerId::EVAL),
            _ => String::new(),
        };
        let (took, whole) = (self.share(), self.whole());
        let verdict = match self.facts.gpu {
            Some(_) => format!(
                "{} held the GPU idle for {took} of {whole}: {often}{worked}.",
                words.what
            ),
            None => format!(
                "{} took {took} of {whole} (CPU clock): {often}.",
                words.what
            ),
        };
        Sentences {
            verdict,
            why: format!(
                "{} in all{}.",
                about_ns(self.facts.ledger.get(words.class)),
                self.others()
            ),
            next: format!(
                "{}: {} can be won.",
                words.cure,
                self.at_most(self.issue.value)
            ),
        }
    }

    /// What part of the spans of a layer in the loop the GPU worked.
    fn worked_meanwhile(&self, layer: LayerId) -> String {
        let Some(gpu) = self.facts.gpu else {
            return String::new();
        };
        let spans = self.analysis.stall_spans(self.facts.rank, layer);
        let spans = Union::from_sorted(spans.into_iter().map(|s| s.1));
        let spans = spans.intersect(&self.facts.judged.reach);
        let busy = self.analysis.gpus[gpu].busy.intersect(&spans).measure();
        format!(
            ", in which the GPU worked {}",
            percent(part(busy, spans.measure()))
        )
    }

    /// What the judged steps are made of beside a stall.
    fn others(&self) -> String {
        let total = self.facts.total();
        let compute = part(self.facts.compute.measure(), total);
        match self.facts.gpu {
            Some(_) => format!("; kernels ran in {} of the judged steps", percent(compute)),
            None => String::new(),
        }
    }

    pub(super) fn host_stall(&self) -> Sentences {
        let names = &self.issue.details.names;
        let covered = names.first().and_then(|n| Some((n.name.as_deref()?, n.ns)));
        let under = match covered {
            Some((name, ns)) => format!(
                ", {} of it in '{}'",
                percent(part(ns, self.issue.value)),
                shorten(name, NAME)
            ),
            None => ", mostly inside no named range".to_owned(),
        };
        let tool = match self.traces_python() {
            true => "record with with_stack=True or put a record_function around it",
            false => "put an NVTX range around it",
        };
        let next = match covered {
            Some((name, _)) => format!(
                "What '{}' does on the CPU there is the next thing to look at.",
                shorten(name, NAME)
            ),
            None => format!("What the CPU does there is not recorded: {tool}."),
        };
        let sync = if self.pauses_after_sync() {
            " Without the blocking read before it the pause could run under GPU work."
        } else {
            ""
        };
        Sentences {
            verdict: format!(
                "The GPU stood idle for {} of {} while the CPU launched nothing{}{under}.",
                self.share(),
                self.whole(),
                self.spread(),
            ),
            why: self.pause_evidence(),
            next: next + sync,
        }
    }

    fn pause_evidence(&self) -> String {
        let set = self.facts.ledger.set(IdleClass::Pause);
        let longest = set.parts().iter().map(|p| p.len()).max().unwrap_or(0);
        let place = match self.issue.details.place {
            Some(Place::BetweenSteps) => "most of it between the steps",
            Some(Place::StepStart) => "most of it before the first launch of a step",
            Some(Place::Inside) | None => "most of it inside the steps",
        };
        let each = self.median_of(&set);
        format!(
            "{} in all, {place}: median {} a step, the longest pause {}; each ends with the next launch.",
            about_ns(self.issue.value),
            about_ns(each),
            about_ns(longest)
        )
    }

    /// Whether the recorder of the loop knows python stacks.
    fn traces_python(&self) -> bool {
        let trace = self.analysis.trace();
        let lane = self.analysis.ranks[self.facts.rank].loop_lane;
        lane.is_some_and(|l| trace.source(trace.lane(l).source).tracer.slows_training)
    }

    /// Whether at least half of a pause began when the loop sat in a blocking call.
    fn pauses_after_sync(&self) -> bool {
        let Some(gpu) = self.facts.gpu else {
            return false;
        };
        let idle = &self.analysis.gpus[gpu].idle;
        let kinds = &self.analysis.stalls[self.facts.rank].gaps;
        let set = self.facts.ledger.set(IdleClass::Pause);
        let after: i64 = set
            .parts()
            .iter()
            .filter(|p| {
                let i = idle.parts().partition_point(|g| g.start <= p.start);
                i.checked_sub(1).and_then(|i| kinds.get(i)) == Some(&GapKind::Sync)
            })
            .map(|p| p.len())
            .sum();
        2 * i128::from(after) >= i128::from(set.measure())
    }

    pub(super) fn unnamed_wait(&self) -> Sentences {
        let (share, whole) = (self.share(), self.whole());
        let Some(name) = Analysis::suspect(&self.issue.details.names) else {
            return Sentences {
                verdict: format!(
                    "The GPU stood idle for {share} of {whole} while the CPU launched nothing and another thread of the process fetched data. Does the loop wait for that thread?"
                ),
                why: self.pause_evidence(),
                next: "Put a record_function named 'batch_wait' around the line in which the loop takes its batch."
                    .to_owned(),
            };
        };
        Sentences {
            verdict: format!(
                "The GPU stood idle for {share} of {whole} while the CPU launched nothing, mostly in '{}'. Is that the wait for the next batch?",
                shorten(name, NAME)
            ),
            why: self.pause_evidence(),
            next: format!(
                "If so, add this rule: [[rule]] id = \"my.fetch\" name = '{}' layer = \"fetch\"",
                quoted(name)
            ),
        }
    }

    pub(super) fn sync_bound(&self) -> Sentences {
        let calls = self.blocking_names();
        let calls = match calls.is_empty() {
            true => String::new(),
            false => format!(" ({})", calls.join(", ")),
        };
        let times = self.issue.details.gaps_per_step.unwrap_or(0.0);
        Sentences {
            verdict: format!(
                "The loop blocks {times:.1} times a step{calls}, and each time the GPU runs dry: it stood idle so for {} of {}.",
                self.share(),
                self.whole()
            ),
            why: format!(
                "{} idle after blocking calls{}.",
                about_ns(self.issue.value),
                self.spread()
            ),
            next: format!(
                "Read values every n steps, or copy them with non_blocking=True; {} can be won.",
                self.at_most(self.issue.details.gain_at_most.unwrap_or(self.issue.value))
            ),
        }
    }

    /// The blocking calls before the idle time, the most frequent first, with the operator that makes them.
    fn blocking_names(&self) -> Vec<String> {
        const NAMED: usize = 2;
        let Some(gpu) = self.facts.gpu else {
            return Vec::new();
        };
        let analysis = self.analysis;
        let calls = blocking_calls(&analysis.core, &analysis.ranks[self.facts.rank]);
        let idle = &analysis.gpus[gpu].idle;
        let mut names: Vec<(String, usize)> = Vec::new();
        let mut last: Option<TimeRange> = None;
        for piece in self.facts.ledger.set(IdleClass::Sync).parts() {
            let Some(gap) = idle.parts_in(*piece).first().copied() else {
                continue;
            };
            if last.replace(gap) == Some(gap) {
                continue;
            }
            let Some(call) = call_before(&calls, gap) else {
                continue;
            };
            let name = self.with_operator(call);
            match names.iter_mut().find(|n| n.0 == name) {
                Some(known) => known.1 += 1,
                None => names.push((name, 1)),
            }
        }
        names.sort_by_key(|n| std::cmp::Reverse(n.1));
        names.truncate(NAMED);
        names.into_iter().map(|n| n.0).collect()
    }

    /// `cudaStreamSynchronize in aten::item`.
    fn with_operator(&self, call: SpanId) -> String {
        let core = &self.analysis.core;
        let lane = core.trace.spans().lane(call);
        let (columns, range) = (core.columns(lane), core.range(call));
        let mut outer: Option<(i64, SpanId)> = None;
        core.index(lane)
            .open_at(&columns, range.end.saturating_sub(1), |i| {
                let reads = columns.of[i] == LayerId::SYNCOP;
                if reads
                    && columns.range(i).covers(range)
                    && outer.is_none_or(|o| columns.starts[i] < o.0)
                {
                    outer = Some((columns.starts[i], columns.id(i)));
                }
            });
        let name = |s: SpanId| shorten(core.trace.span_name(s), NAME);
        match outer {
            Some((_, op)) => format!("{} in {}", name(call), name(op)),
            None => name(call),
        }
    }

    pub(super) fn launch_bound(&self) -> Sentences {
        let steps = self.facts.judged.len().max(1);
        let mut kernels = 0_u64;
        if let Some(gpu) = self.facts.gpu {
            for lane in self.analysis.core.gpu_lanes(gpu) {
                for part in self.facts.judged.set.parts() {
                    let is = |l: LayerId| l == LayerId::GPU_COMPUTE;
                    kernels += self.analysis.core.started(lane, *part, is).count;
                }
            }
        }
        let details = &self.issue.details;
        let gaps = details.gaps_per_step.unwrap_or(0.0);
        Sentences {
            verdict: format!(
                "Launch-bound: {} kernels a step (median {}) are launched one by one, and the GPU runs dry {gaps:.0} times a step: it stood idle so for {} of {}.",
                kernels / steps as u64,
                about_ns(details.kernel_median.unwrap_or(0)),
                self.share(),
                self.whole()
            ),
            why: format!(
                "{} idle in gaps before launches that came too late, each shorter than {}.",
                about_ns(self.issue.value),
                about_ns(self.analysis.options.pause)
            ),
            next: format!(
                "CUDA graphs, torch.compile or larger batches launch less; {} can be won.",
                self.at_most(self.issue.value)
            ),
        }
    }

    pub(super) fn dependency_bound(&self) -> Sentences {
        Sentences {
            verdict: format!(
                "In {} of {} the GPU was idle although work was queued (held by another stream, an event or another rank).",
                self.share(),
                self.whole()
            ),
            why: format!("{} idle with work launched in time{}.", about_ns(self.issue.value), self.spread()),
            next: "Look at the stream that was busy before each gap, and at event waits between streams.".to_owned(),
        }
    }

    pub(super) fn h2d_bound(&self) -> Sentences {
        Sentences {
            verdict: format!(
                "Copies to the GPU, not overlapped by compute, take {} of {}.",
                self.share(),
                self.whole()
            ),
            why: format!(
                "{} of copies alone{}.",
                about_ns(self.issue.value),
                self.spread()
            ),
            next: format!(
                "Pin the memory and copy with non_blocking=True on a stream of its own, one batch ahead; {} can be won.",
                self.at_most(self.issue.value)
            ),
        }
    }
}
