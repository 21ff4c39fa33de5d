//! The sentences of verdicts, with their figures filled in.

use super::Analysis;
use super::layers::LayerId;
use super::ranks::{RankMeans, Straggler, StragglerKind};
use super::stats::percentile;
use super::verdict::{Facts, Issue, IssueKind, Missing, Sentences, Verdict, burst};
use crate::model::Tracer;
use crate::time::format_ns;

/// Printed under every throughput that comes from a torch.profiler trace.
pub const PROFILED_SPEED: &str =
    "Recording slows training: compare speeds of runs without the profiler.";

/// A share as the sentences print it: `38.4 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

impl Missing {
    /// What was not recorded, and how to record it.
    #[must_use]
    pub fn text(self, tracer: Option<Tracer>) -> &'static str {
        match self {
            Self::NoGpu => {
                "No GPU events in this record (torch: ProfilerActivity.CUDA needs CUPTI; nsys: --trace=cuda; DFTracer \
                 never has them)."
            }
            Self::NoSteps => {
                "No steps found: no ProfilerStep, NVTX or step spans, and no fetch spans to derive them from."
            }
            Self::NoFetch => {
                "No waits for data found: name the wait with record_function, NVTX or a layer rule."
            }
            Self::NoWorkers if tracer == Some(Tracer::Torch) => {
                "The DataLoader workers are not in this trace: torch.profiler records only the main process. Open the \
                 DFTracer files of the same run beside it, or record with nsys."
            }
            Self::NoWorkers => {
                "No loading work in this record: the worker processes were not traced."
            }
        }
    }
}

/// All three sentences of one issue.
pub(super) fn fill(
    analysis: &Analysis,
    issue: &Issue,
    facts: &Facts<'_>,
    verdict: &Verdict,
) -> Sentences {
    let share = percent(issue.share);
    let of = format!("{} of {}", format_ns(issue.value), format_ns(issue.total));
    match issue.kind {
        IssueKind::InputBound => input_bound(analysis, issue, facts, &share),
        IssueKind::InputWait => Sentences {
            verdict: format!(
                "The loop waited {share} of the step time for data (CPU clock): {of}."
            ),
            why: format!(
                "This record has no GPU events, so it cannot tell how much of that the GPU worked through; if the loop \
                 does not read the loss (or synchronise otherwise) every step, most of it may be hidden.{}",
                bursts(facts)
            ),
            next: "Record the GPU as well (torch.profiler or nsys), or look at the workers table.".to_owned(),
        },
        IssueKind::ComputeBound => Sentences {
            verdict: format!("Compute-bound: kernels ran {share} of the time."),
            why: format!(
                "Data loading costs {} of {} in {} steps.",
                format_ns(verdict.steady_wait.1),
                format_ns(verdict.steady_wait.2),
                verdict.steady_steps
            ),
            next: "Faster kernels, lower precision or a smaller model; more workers will not help.".to_owned(),
        },
        IssueKind::LaunchBound => launch_bound(analysis, facts, &share, &of),
        IssueKind::SyncBound => sync_bound(analysis, facts, &share, &of),
        IssueKind::CommBound => Sentences {
            verdict: format!("Communication-bound: collectives took {share} of the step, not covered by compute."),
            why: format!("Exposed communication: {of}."),
            next: "Overlap it with backward (bucket size, gradient accumulation), or find the rank that the others wait for.".to_owned(),
        },
        IssueKind::H2dBound => Sentences {
            verdict: format!("Copies to the GPU took {share} of the step in front of compute."),
            why: format!("Exposed host-to-device copies: {of}."),
            next: "Pin the memory and copy with non_blocking=True on a stream of its own, one batch ahead.".to_owned(),
        },
        IssueKind::DependencyBound => Sentences {
            verdict: format!("Work was queued but did not start for {share} of the step: another stream, event or rank held it."),
            why: format!("GPU idle with work asked for: {of}."),
            next: "Look at the stream that was busy before each gap, and at event waits between streams.".to_owned(),
        },
        IssueKind::StartupWait => Sentences {
            verdict: format!("Most waiting is start-up: the first steps waited {}.", format_ns(issue.value)),
            why: "No batch was ready when the loader's run began; steady steps wait less.".to_owned(),
            next: "persistent_workers=True keeps the workers between epochs.".to_owned(),
        },
        IssueKind::InputOk => Sentences {
            verdict: format!(
                "The loop waits little for data ({}).",
                percent(part(verdict.steady_wait.0, verdict.steady_wait.2))
            ),
            why: "What else bounds the step this record cannot tell: it has no GPU events.".to_owned(),
            next: "Record the GPU as well to see what the steps are made of.".to_owned(),
        },
        IssueKind::NoSingleBound => Sentences {
            verdict: "Nothing takes a tenth of the step time by itself.".to_owned(),
            why: format!(
                "Exposed wait {} of {} in {} steps.",
                format_ns(verdict.steady_wait.1),
                format_ns(verdict.steady_wait.2),
                verdict.steady_steps
            ),
            next: "Look at the step table for single long steps.".to_owned(),
        },
        IssueKind::Inconclusive => inconclusive(analysis, verdict),
        // Filled by `straggler`.
        IssueKind::InputStraggler
        | IssueKind::H2dStraggler
        | IssueKind::ComputeStraggler
        | IssueKind::Straggler => Sentences::default(),
    }
}

fn part(a: i64, b: i64) -> f64 {
    super::stats::ratio(a, b).unwrap_or(0.0)
}

fn bursts(facts: &Facts<'_>) -> String {
    let b = burst(&facts.steady);
    if b.bursty {
        format!(
            " {} of {} steps hold {} of it.",
            b.top,
            b.of,
            percent(b.share)
        )
    } else {
        String::new()
    }
}

fn input_bound(analysis: &Analysis, issue: &Issue, facts: &Facts<'_>, share: &str) -> Sentences {
    let mut waits: Vec<i64> = facts.steady.iter().map(|r| r.wait).collect();
    let (wait, hidden): (i64, i64) = (
        waits.iter().sum(),
        facts.steady.iter().map(|r| r.wait_hidden).sum(),
    );
    let unrecorded = wait - hidden - issue.value;
    let mut why = format!(
        "The loop waited {}; {} of it exposed, {} hidden under GPU work",
        format_ns(wait),
        format_ns(issue.value),
        format_ns(hidden)
    );
    if unrecorded > 0 {
        why += &format!(", {} not recorded", format_ns(unrecorded));
    }
    let (median, p95) = (percentile(&mut waits, 50), percentile(&mut waits, 95));
    why += &format!(
        ". Median wait {}, p95 {}.{}",
        format_ns(median.unwrap_or(0)),
        format_ns(p95.unwrap_or(0)),
        bursts(facts)
    );
    let rates = analysis.rates(facts.rank, facts.window);
    let next = match rates.as_ref().and_then(|r| r.recommended_workers) {
        Some(n) => format!("The workers table: about {n} workers would keep up."),
        None => "More workers (num_workers), cheaper transforms, or faster storage; the workers are not in this record.".to_owned(),
    };
    Sentences {
        verdict: format!(
            "Input-bound: the GPU had nothing to do for {share} of the step time because the loop waited for data: {} of {}.",
            format_ns(issue.value),
            format_ns(issue.total)
        ),
        why,
        next,
    }
}

fn launch_bound(analysis: &Analysis, facts: &Facts<'_>, share: &str, of: &str) -> Sentences {
    let mut kernels = Vec::new();
    if let Some(gpu) = facts.gpu {
        for lane in analysis.core.gpu_lanes(gpu) {
            let columns = analysis.core.columns(lane);
            for part in facts.set.parts() {
                let (a, b) = columns.start_range(*part);
                let found = (a..b).filter(|&i| columns.of[i] == LayerId::GPU_COMPUTE);
                kernels.extend(found.map(|i| columns.durs[i]));
            }
        }
    }
    let per_step = kernels.len() / facts.steady.len().max(1);
    let median = percentile(&mut kernels, 50).unwrap_or(0);
    Sentences {
        verdict: format!(
            "The GPU waited {share} for the CPU to launch work (kernels: median {}, {per_step} per step).",
            format_ns(median)
        ),
        why: format!(
            "Idle before operations that the CPU asked for late, outside data waits: {of}."
        ),
        next: "Larger batches, fused kernels (torch.compile) or CUDA graphs launch less."
            .to_owned(),
    }
}

fn sync_bound(analysis: &Analysis, facts: &Facts<'_>, share: &str, of: &str) -> Sentences {
    let core = &analysis.core;
    let lane = analysis.ranks[facts.rank].loop_lane;
    let calls = lane
        .map(|l| core.spans_of(l, LayerId::SYNC))
        .unwrap_or_default();
    let inside = |t: i64| facts.set.contains(t);
    let calls: Vec<_> = calls.into_iter().filter(|(_, r)| inside(r.start)).collect();
    let mut names: Vec<&str> = calls
        .iter()
        .map(|(id, _)| core.trace.span_name(*id))
        .collect();
    let n = names.len();
    names.sort_unstable();
    names.dedup();
    let many = names.len() > 3;
    names.truncate(3);
    let base = analysis.sync_base();
    let absorbed: i64 = calls.iter().map(|(id, _)| base.figures(*id).absorbed).sum();
    let steps = facts.steady.len().max(1);
    let per_step = super::stats::ratio(
        i64::try_from(n).unwrap_or(i64::MAX),
        i64::try_from(steps).unwrap_or(1),
    );
    Sentences {
        verdict: format!(
            "After {:.1} synchronising calls per step ({}{}) the GPU stood idle {share} of the time.",
            per_step.unwrap_or(0.0),
            names.join(", "),
            if many { ", …" } else { "" }
        ),
        why: format!(
            "They absorbed {} of GPU time and left it idle for {of}.",
            format_ns(absorbed)
        ),
        next: "Read values less often (loss.item() every n steps), or copy them with non_blocking=True.".to_owned(),
    }
}

fn inconclusive(analysis: &Analysis, verdict: &Verdict) -> Sentences {
    let tracer = analysis.trace().sources().first().map(|s| s.tracer);
    let why = if verdict.missing.contains(&Missing::NoSteps) && verdict.partial_steps > 0 {
        format!(
            "{} steps lie only partly in the window.",
            verdict.partial_steps
        )
    } else if let Some(first) = verdict
        .missing
        .iter()
        .find(|m| matches!(m, Missing::NoSteps | Missing::NoFetch))
    {
        first.text(tracer).to_owned()
    } else {
        let n = verdict.steps;
        format!(
            "Only {n} whole {} in the window.",
            if n == 1 { "step" } else { "steps" }
        )
    };
    Sentences {
        verdict: "Too little is recorded to say what bounds training.".to_owned(),
        why,
        next: "Record more steps, or name steps and waits with record_function, NVTX or a rule."
            .to_owned(),
    }
}

/// The sentences about a late rank.
pub(super) fn straggler(analysis: &Analysis, s: &Straggler, rows: &[RankMeans]) -> Sentences {
    let name = |i: usize| analysis.ranks()[i].rank;
    let (c, v) = (&rows[s.culprit], &rows[s.victim]);
    #[expect(clippy::cast_possible_truncation, reason = "means far below 2^63 ns")]
    let ns = |x: Option<f64>| format_ns(x.unwrap_or(0.0).round() as i64);
    let what = match s.kind {
        StragglerKind::Input => format!(
            "waited {} for input, rank {} {}",
            ns(c.wait),
            name(s.victim),
            ns(v.wait)
        ),
        StragglerKind::H2d => format!(
            "copied {} to the device, rank {} {}",
            ns(c.h2d),
            name(s.victim),
            ns(v.h2d)
        ),
        StragglerKind::Compute => format!(
            "spent {} in forward, rank {} {}",
            ns(c.forward),
            name(s.victim),
            ns(v.forward)
        ),
        StragglerKind::Unattributed => "arrives last; nothing measured explains why".to_owned(),
    };
    Sentences {
        verdict: format!(
            "Rank {} {what}; the others wait for it in backward ({} of the step).",
            name(s.culprit),
            percent(s.score)
        ),
        why: format!(
            "Backward takes {} on rank {} and {} on rank {}.",
            ns(c.backward),
            name(s.culprit),
            ns(v.backward),
            name(s.victim)
        ),
        next: format!(
            "Look at the steps of rank {} beside those of rank {}.",
            name(s.culprit),
            name(s.victim)
        ),
    }
}
