//! The sentences of verdicts, with their figures filled in.

use crate::analysis::Analysis;
use crate::analysis::base::options::Severity;
use crate::analysis::figures::ranks::{RankMeans, Straggler, StragglerKind};
use crate::analysis::figures::rates::Rates;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::stats::percentile;
use crate::analysis::verdict::facts::{Facts, burst};
use crate::analysis::verdict::issue::{Issue, IssueKind, LeftOut, Sentences, Verdict};
use crate::analysis::verdict::missing::Missing;
use crate::time::{format_count, format_ns};

/// Printed under every throughput that comes from a torch.profiler trace.
pub const PROFILED_SPEED: &str =
    "Recording slows training: compare speeds of runs without the profiler.";

/// A share as the sentences print it: `38.4 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `1 step`, `12 steps`, `2 processes`.
#[must_use]
pub fn counted(n: u64, what: &str) -> String {
    let plural = match (n, what.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {what}{plural}", format_count(n))
}

fn count(n: usize, what: &str) -> String {
    counted(n as u64, what)
}

impl Rates {
    /// With how many workers loading keeps up, in a sentence. `None` where that cannot be computed.
    #[must_use]
    pub fn keeps_up(&self) -> Option<String> {
        let (needed, spare) = (self.needed_workers?, self.recommended_workers?);
        let workers = counted(u64::from(needed), "worker");
        Some(if spare > needed {
            format!("Loading keeps up with {workers}; {spare} leave a quarter to spare.")
        } else {
            format!("Loading keeps up with {workers}, with a quarter to spare.")
        })
    }
}

/// Which steps a verdict is about, and what the others waited.
pub(in crate::analysis) fn judged(analysis: &Analysis, verdict: &Verdict) -> String {
    const NAMED: usize = 3;
    if verdict.steps == 0 {
        return String::new();
    }
    let mut out = format!(
        "Judged: {} of {}",
        verdict.steady_steps,
        count(verdict.steps, "whole step")
    );
    let Some(first) = verdict.left_out.first() else {
        return out + ".";
    };
    let names: Vec<&str> = verdict.left_out.iter().map(|l| l.label.as_str()).collect();
    let alone = names.len() == 1;
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let names = names[..names.len().min(NAMED)].join(", ");
    let waited: i64 = verdict.left_out.iter().map(|l| l.wait).sum();
    out += &format!(
        "; left out: {names}{more} ({}), which waited {}",
        first.reason,
        format_ns(waited)
    );
    let place = |l: &LeftOut| l.place.map(|p| p.value);
    let longest = verdict.left_out.iter().filter_map(place).max();
    let judged = analysis.longest_judged_wait(verdict);
    if let Some(longest) = longest.filter(|&l| l > judged) {
        out += &match alone && longest == waited {
            true => ", the longest wait of all".to_owned(),
            false => format!(
                ", {} of it at once: the longest wait of all",
                format_ns(longest)
            ),
        };
    }
    out + "."
}

impl Analysis {
    /// The longest wait that begins in a step that a verdict judged, ns.
    fn longest_judged_wait(&self, verdict: &Verdict) -> i64 {
        let left: Vec<usize> = verdict.left_out.iter().map(|l| l.step).collect();
        let waits = self.waits.iter().filter(|w| w.rank == verdict.rank);
        let judged = waits.filter(|w| w.step.is_some_and(|s| !left.contains(&s)));
        judged.map(|w| w.range.len()).max().unwrap_or(0)
    }
}

/// All three sentences of one issue.
pub(in crate::analysis) fn fill(
    analysis: &Analysis,
    issue: &Issue,
    facts: &Facts<'_>,
    verdict: &Verdict,
) -> Sentences {
    let share = percent(issue.share);
    let of = format!("{} of {}", format_ns(issue.value), format_ns(issue.total));
    match issue.kind {
        IssueKind::InputBound => input_bound(analysis, issue, facts, &share),
        IssueKind::InputWait => input_wait(analysis, facts, &share, &of),
        IssueKind::ComputeBound => Sentences {
            verdict: format!("Compute-bound: kernels ran {share} of the time."),
            why: format!(
                "Data loading costs {} of {} in {}.",
                format_ns(verdict.steady_wait.1),
                format_ns(verdict.steady_wait.2),
                count(verdict.steady_steps, "step")
            ),
            next: "Faster kernels, lower precision or a smaller model; more workers will not help.".to_owned(),
        },
        IssueKind::LaunchBound => launch_bound(analysis, facts, &share, &of),
        IssueKind::SyncBound => sync_bound(analysis, facts, &share, &of),
        IssueKind::CommBound => Sentences {
            verdict: format!(
                "{}ollectives took {share} of the step time, not covered by compute.",
                if issue.severity == Severity::Critical { "Communication-bound: c" } else { "C" }
            ),
            why: format!("Exposed communication: {of}."),
            next: "Overlap it with backward (bucket size, gradient accumulation), or find the rank that the others wait for.".to_owned(),
        },
        IssueKind::H2dBound => Sentences {
            verdict: format!("Copies to the GPU took {share} of the step time in front of compute."),
            why: format!("Exposed host-to-device copies: {of}."),
            next: "Pin the memory and copy with non_blocking=True on a stream of its own, one batch ahead.".to_owned(),
        },
        IssueKind::DependencyBound => Sentences {
            verdict: format!("Work was queued but did not start for {share} of the step time: another stream, event or rank held it."),
            why: format!("GPU idle with work asked for: {of}."),
            next: "Look at the stream that was busy before each gap, and at event waits between streams.".to_owned(),
        },
        IssueKind::StartupWait => Sentences {
            verdict: format!(
                "Most waiting is start-up: the first {} waited {}.",
                if verdict.left_out.len() == 1 { "step" } else { "steps" },
                format_ns(issue.value)
            ),
            why: "No batch was ready when the loader's run began; steady steps wait less.".to_owned(),
            next: "persistent_workers=True keeps the workers between epochs.".to_owned(),
        },
        IssueKind::InputOk => Sentences {
            verdict: format!(
                "The loop waits little for data ({}).",
                percent(part(verdict.steady_wait.0, verdict.steady_wait.2))
            ),
            why: format!("What else bounds the step cannot be told: {}.", analysis.no_gpu(facts.rank)),
            next: record_gpu(analysis, facts.rank, " to see what the steps are made of"),
        },
        IssueKind::NoSingleBound => no_single(analysis, facts, verdict),
        IssueKind::Inconclusive => inconclusive(analysis, verdict),
        // Filled by `straggler`.
        IssueKind::InputStraggler
        | IssueKind::H2dStraggler
        | IssueKind::ComputeStraggler
        | IssueKind::Straggler => Sentences::default(),
    }
}

fn part(a: i64, b: i64) -> f64 {
    crate::analysis::sums::stats::ratio(a, b).unwrap_or(0.0)
}

fn bursts(facts: &Facts<'_>) -> String {
    let b = burst(&facts.steady);
    if b.bursty {
        format!(
            " {} of {} {} {} of it.",
            b.top,
            count(b.of, "step"),
            if b.top == 1 { "holds" } else { "hold" },
            percent(b.share)
        )
    } else {
        String::new()
    }
}

fn input_bound(analysis: &Analysis, issue: &Issue, facts: &Facts<'_>, share: &str) -> Sentences {
    let mut waits: Vec<i64> = facts.steady.iter().filter_map(|r| r.wait).collect();
    let (wait, hidden): (i64, i64) = (
        waits.iter().sum(),
        facts.steady.iter().filter_map(|r| r.wait_hidden).sum(),
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
    why += &inside(analysis, facts);
    let next = more_workers(analysis, facts);
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

fn input_wait(analysis: &Analysis, facts: &Facts<'_>, share: &str, of: &str) -> Sentences {
    let record = match analysis.no_gpu(facts.rank) {
        text if analysis.ends_early(facts.rank) => {
            format!("No GPU events were read ({text})")
        }
        _ => "This record has no GPU events".to_owned(),
    };
    let alone = analysis.loads_by_itself(facts.rank);
    Sentences {
        verdict: format!("The loop waited {share} of the step time for data (CPU clock): {of}."),
        why: format!(
            "{record}, so it cannot be told how much of that the GPU worked through; if the loop does not read the loss \
             (or synchronise otherwise) every step, most of it may be hidden.{}{}",
            bursts(facts),
            inside(analysis, facts)
        ),
        next: if alone {
            more_workers(analysis, facts)
        } else {
            record_gpu(analysis, facts.rank, ", or look at the workers table")
        },
    }
}

fn record_gpu(analysis: &Analysis, rank: usize, why: &str) -> String {
    if analysis.ends_early(rank) {
        "Get a complete copy of the file.".to_owned()
    } else {
        format!("Record the GPU as well (torch.profiler or nsys){why}.")
    }
}

/// What to do about waits for data.
fn more_workers(analysis: &Analysis, facts: &Facts<'_>) -> String {
    let rates = analysis.rates(facts.rank, facts.window);
    let keeps_up = rates.as_ref().and_then(Rates::keeps_up);
    if analysis.loads_by_itself(facts.rank) {
        let how = keeps_up.map_or_else(String::new, |k| format!(" {k}"));
        return format!(
            "Raise num_workers: it is 0, so the loop loads each batch itself and does nothing else meanwhile.{how}"
        );
    }
    match keeps_up {
        Some(k) => format!("{k} See the workers table."),
        None => "More workers (num_workers), cheaper transforms, or faster storage; the workers are not in this record."
            .to_owned(),
    }
}

/// What the loop's own thread ran during its waits, where it says.
fn inside(analysis: &Analysis, facts: &Facts<'_>) -> String {
    const NAMED: usize = 3;
    let found = analysis.inside_waits(facts.rank, &facts.set, NAMED);
    if found.is_empty() {
        return String::new();
    }
    let name = |&(name, ns): &(crate::model::NameId, i64)| {
        let text = analysis.trace().name(name);
        format!("{} {}", shorten(text, 60), format_ns(ns))
    };
    let found: Vec<String> = found.iter().map(name).collect();
    format!(
        " In the waits its thread ran {} (time of their own).",
        found.join(", ")
    )
}

/// A text of at most `most` characters: its beginning and `…`.
fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(most - 1).collect();
    out.push('…');
    out
}

/// Nothing that keeps the GPU from working is large: then what it does is what the steps are made of.
fn no_single(analysis: &Analysis, facts: &Facts<'_>, verdict: &Verdict) -> Sentences {
    let total = facts.total;
    let mut parts: Vec<(&str, i64)> = vec![("exposed waits for data", verdict.steady_wait.1)];
    let (mut busy, mut compute) = (0, 0);
    if let Some((gpu, sums)) = facts.gpu.zip(facts.sums) {
        let steps = facts.set.parts().iter();
        busy = steps.map(|p| analysis.gpus[gpu].busy.measure_in(*p)).sum();
        compute = sums.compute;
        parts.extend([
            ("communication without compute", sums.exposed_comm),
            ("copies to the GPU without compute", sums.exposed_h2d),
            ("idle after synchronising calls", sums.bubble),
            ("idle until the CPU launched work", sums.host_idle),
            ("idle with work queued", sums.other_idle),
            ("idle for no known cause", sums.unknown_idle),
        ]);
    }
    parts.retain(|p| p.1 > 0);
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    let list: Vec<String> = parts
        .iter()
        .take(3)
        .map(|(name, ns)| format!("{name} {}", percent(part(*ns, total))))
        .collect();
    let list = match list.is_empty() {
        true => String::new(),
        false => format!(" The largest of the rest: {}.", list.join(", ")),
    };
    let mostly = 2 * i128::from(busy) > i128::from(total);
    Sentences {
        verdict: if mostly {
            format!(
                "Mostly GPU work: the GPU was busy {} of the step time; nothing that keeps it from compute takes a tenth.",
                percent(part(busy, total))
            )
        } else {
            format!(
                "No single cause: the GPU was busy {} of the step time, and no cause by itself takes a tenth.",
                percent(part(busy, total))
            )
        },
        why: format!(
            "Kernels ran {} of {} in {}.{list}",
            percent(part(compute, total)),
            format_ns(total),
            count(verdict.steady_steps, "step")
        ),
        next: if mostly {
            "Faster kernels, lower precision or a smaller model; more workers will not help."
                .to_owned()
        } else {
            "Look at the step table for single long steps.".to_owned()
        },
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
    let per_step = crate::analysis::sums::stats::ratio(
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
    let why = if verdict.missing.contains(&Missing::NoSteps) && verdict.partial_steps > 0 {
        let lie = if verdict.partial_steps == 1 {
            "lies"
        } else {
            "lie"
        };
        format!(
            "{} {lie} only partly in the window.",
            count(verdict.partial_steps, "step")
        )
    } else if let Some(first) = verdict
        .missing
        .iter()
        .find(|m| matches!(m, Missing::NoSteps | Missing::NoFetch))
    {
        analysis.missing_text(verdict.rank, *first)
    } else {
        format!("Only {} in the window.", count(verdict.steps, "whole step"))
    };
    Sentences {
        verdict: "Too little is recorded to say what bounds training.".to_owned(),
        why,
        next: "Record more steps, or name steps and waits with record_function, NVTX or a rule."
            .to_owned(),
    }
}

/// The sentences about a late rank.
pub(in crate::analysis) fn straggler(
    analysis: &Analysis,
    s: &Straggler,
    rows: &[RankMeans],
) -> Sentences {
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
    let fsdp = analysis.meets_in_forward();
    let (meeting, visible) = if fsdp {
        ("forward and backward", "Forward and backward take")
    } else {
        ("backward", "Backward takes")
    };
    let of = |r: &RankMeans| {
        let forward = r.forward.filter(|_| fsdp).unwrap_or(0.0);
        r.backward.map(|b| b + forward)
    };
    Sentences {
        verdict: format!(
            "Rank {} {what}; the others wait for it in {meeting} ({} of the step).",
            name(s.culprit),
            percent(s.score)
        ),
        why: format!(
            "{visible} {} on rank {} and {} on rank {}.",
            ns(of(c)),
            name(s.culprit),
            ns(of(v)),
            name(s.victim)
        ),
        next: format!(
            "Look at the steps of rank {} beside those of rank {}.",
            name(s.culprit),
            name(s.victim)
        ),
    }
}
