//! What to do about a loop's waiting, in one sentence or two with its figures: what takes how much, and what would help.

use crate::analysis::Analysis;
use crate::analysis::cause::decide::LoopCause;
use crate::analysis::cause::parts::Group;
use crate::analysis::cause::reason::Reason;
use crate::analysis::cause::totals::Totals;
use crate::analysis::cause::wait::Level;
use crate::analysis::figures::rates::Rates;
use crate::analysis::figures::waiting::Waiting;
use crate::time::{TimeRange, about_ns};

/// Workers that are at a batch for this share of the waiting are at their limit.
const AT_LIMIT: f64 = 0.8;
/// Files that are named.
const FILES: usize = 3;
/// Batches that are named.
const BATCHES: usize = 5;

impl Analysis {
    /// What to do about the waiting of a rank in a window.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn advice(&self, rank: usize, window: TimeRange, waiting: &Waiting) -> String {
        let writer = Writer {
            analysis: self,
            rank,
            window,
            waiting,
            totals: &waiting.totals,
            rates: self.rates(rank, window),
        };
        writer.advice()
    }
}

struct Writer<'a> {
    analysis: &'a Analysis,
    rank: usize,
    window: TimeRange,
    waiting: &'a Waiting,
    totals: &'a Totals,
    rates: Option<Rates>,
}

impl Writer<'_> {
    fn advice(&self) -> String {
        match self.waiting.cause {
            LoopCause::Unknown => self.unknown(),
            LoopCause::InLoop => self.in_loop(),
            LoopCause::Start => self.start(),
            LoopCause::Little => self.little(),
            LoopCause::SlowFiles => self.slow_files(),
            LoopCause::SlowWorker => self.slow_worker(),
            LoopCause::Bursts => self.bursts(),
            LoopCause::Checkpoint => format!(
                "{} of the waiting was while a checkpoint was written: write it in the background, or where the data is not read from.",
                percent(self.totals.checkpoint_waits, self.totals.judged)
            ),
            LoopCause::Of(Group::HandOver) => self.hand_over(),
            LoopCause::Of(Group::Idle) => format!(
                "Workers had no task for {} of the waiting: raise prefetch_factor.",
                about_ns(self.totals.judged_in(Group::Idle))
            ),
            LoopCause::Of(Group::Start) => self.start(),
            LoopCause::Of(group) => self.at_work(group),
        }
    }

    /// Judged waits, at least one.
    fn n(&self) -> i64 {
        i64::try_from(self.totals.n_judged.max(1)).unwrap_or(i64::MAX)
    }

    /// C, ns.
    fn compute(&self) -> Option<f64> {
        self.rates
            .as_ref()
            .map(|r| r.costs.compute)
            .filter(|&c| c > 0.0)
    }

    /// Why it cannot be told, and what to record.
    fn unknown(&self) -> String {
        let causes = self.analysis.causes(self.rank);
        let all = causes.waits.iter().enumerate();
        let mut weights: Vec<(i64, Option<Reason>)> = Vec::new();
        for (i, cause) in all.filter(|(_, c)| c.batch.is_some() && c.dominant.is_untold()) {
            if !self.window.contains(causes.range(i).start) {
                continue;
            }
            let ns = causes.range(i).len();
            match weights.iter_mut().find(|w| w.1 == cause.reason) {
                Some(weight) => weight.0 += ns,
                None => weights.push((ns, cause.reason)),
            }
        }
        let most = weights.into_iter().max_by_key(|w| w.0).and_then(|w| w.1);
        let single = causes.waits.iter().any(|c| c.level == Some(Level::Loop));
        match most {
            Some(Reason::LoopNotRecorded) => "The loop loads its batches itself, and what it does meanwhile is not recorded: mark items and collate (record_function), or record with_stack.".to_owned(),
            Some(Reason::SilentWorker) => "Nothing of the workers that were waited for was recorded: open their files as well.".to_owned(),
            None | Some(Reason::NoWorkers) if !single => self.not_recorded(),
            None | Some(Reason::NoWorkers) => "What the loop does in its waits is not recorded.".to_owned(),
            Some(Reason::SeveralLoops) => "The record does not tell which loop these workers serve: record their parents (DFTracer), or each rank in a file of its own.".to_owned(),
            Some(reason) => format!(
                "{}{}: write the number of the batch on what workers record (args batch and worker; NVTX: batch 17 worker 2).",
                capital(reason.text()),
                self.contradiction()
            ),
        }
    }

    fn not_recorded(&self) -> String {
        // Tables beside a run are no record of it.
        let sources = self.analysis.trace().sources().iter();
        let mut sources = sources.filter(|s| !s.tracer.joins_runs).peekable();
        if sources.clone().any(|s| s.tracer.sees_workers) {
            return "What the workers did is not in this trace: record them as well (DFTracer, or nsys with the processes that the loop starts).".to_owned();
        }
        let name = sources.peek().map_or("The recorder", |s| s.tracer.name);
        format!(
            "{name} records only its own process: what the workers did is not in this trace. Open the DFTracer files of the same run beside it, or record with nsys."
        )
    }

    /// What the likeliest assignment contradicts.
    fn contradiction(&self) -> String {
        let iterators = self.analysis.causes(self.rank).iterators.iter();
        let first = iterators.filter_map(|i| i.violation).next();
        let Some(violation) = first else {
            return String::new();
        };
        let by = violation
            .by
            .map_or_else(String::new, |by| match violation.rule {
                crate::analysis::cause::assign::Rule::Even => format!(" by {by} batches"),
                _ => format!(" by {}", about_ns(by)),
            });
        let batch = violation
            .batch
            .map_or_else(String::new, |b| format!(" at batch {b}"));
        format!(
            " (in order, {}{batch} is broken{by})",
            violation.rule.text()
        )
    }

    fn in_loop(&self) -> String {
        let group = self.waiting.group.unwrap_or(Group::Other);
        let mut out = format!(
            "The loop loads its batches itself: {} takes {} of {} a batch.",
            group.word_in_loop(),
            about_ns(self.totals.judged_in(group) / self.n()),
            about_ns(self.totals.judged / self.n()),
        );
        if let Some(n) = self
            .rates
            .as_ref()
            .and_then(|r| r.recommended_workers)
            .filter(|&n| n > 0)
        {
            out += &format!(
                " num_workers = {n} would take it out of the loop, if there are cores for them."
            );
        }
        out
    }

    fn start(&self) -> String {
        let causes = self.analysis.causes(self.rank);
        let fresh = causes
            .iterators
            .iter()
            .skip(1)
            .any(|i| i.fresh == Some(true));
        let n = self.totals.iterators;
        if n < 2 || (fresh && self.totals.restart == 0) {
            return format!(
                "First batches took {}: nothing is told of it that persistent workers would save.",
                about_ns(self.totals.first)
            );
        }
        if !fresh {
            return format!(
                "The queue is empty at the start of each of {n} passes of the loader: {} for the first batches. Fewer, longer epochs, or a loader that goes on across epochs, start it less often.",
                about_ns(self.totals.first)
            );
        }
        let times = match self.totals.restarts {
            1 => "once more".to_owned(),
            n => format!("{n} more times"),
        };
        let mut out = format!(
            "The loader starts its workers {times} after the first: {}; persistent_workers=True would save it",
            about_ns(self.totals.restart)
        );
        if self.totals.inner_ends > 0 {
            out += &format!(" and {} of stopping them", about_ns(self.totals.inner_ends));
        }
        out + "."
    }

    fn little(&self) -> String {
        let waits = format!(
            "The loop waits {} of its time for later batches: little to gain there.",
            percent(self.totals.later, self.totals.loop_ns)
        );
        if self.totals.first > 2 * self.totals.later && self.totals.first > 0 {
            return format!(
                "{waits} Its first batch took {}, once.",
                about_ns(self.totals.first)
            );
        }
        waits
    }

    fn slow_files(&self) -> String {
        let causes = self.analysis.causes(self.rank);
        let files = &self.totals.slow_files;
        let usual = causes
            .waits
            .iter()
            .find_map(|c| c.item.as_ref()?.mb_s_median);
        let named = files.iter().take(FILES).map(|f| {
            let rate = f
                .read
                .mb_s()
                .map_or_else(String::new, |r| format!(", {r} MB/s"));
            let name = causes.file(f.file);
            let name = name.rsplit('/').next().unwrap_or(name);
            format!("{name} ({}{rate})", about_ns(f.read.ns))
        });
        let named: Vec<String> = named.collect();
        let more = match files.len().saturating_sub(FILES) {
            0 => String::new(),
            n => format!(", and {n} more"),
        };
        let usual = usual.map_or_else(String::new, |u| format!("; median {u} MB/s"));
        let small = files
            .iter()
            .find(|f| f.small_reads)
            .map_or_else(String::new, |f| {
                let calls = i64::from(f.read.calls.max(1));
                format!(
                    " They are read in {} calls of {} bytes: read larger pieces.",
                    f.read.calls,
                    f.read.bytes / calls
                )
            });
        format!(
            "Waits with a slow read of {} in them hold {} of the waiting: {}{more}{usual}.{small}",
            if files.len() == 1 {
                "a file".to_owned()
            } else {
                format!("one of {} files", files.len())
            },
            percent(self.totals.slow_file_waits, self.totals.judged),
            named.join(", ")
        )
    }

    #[expect(clippy::cast_precision_loss, reason = "a number of workers is no time")]
    fn slow_worker(&self) -> String {
        let Some(slow) = self.totals.slow_worker else {
            return String::new();
        };
        let [least, most] = slow.range;
        let others = match about_ns(least) == about_ns(most) {
            true => about_ns(least),
            false => format!("{}–{}", about_ns(least), about_ns(most)),
        };
        let h = self.rates.as_ref().map_or(0.0, |r| r.costs.handover);
        let needed = |ns: i64| Some(((ns as f64 + h) / self.compute()?).ceil());
        let dilute = needed(slow.own)
            .zip(needed(slow.others))
            .map_or_else(String::new, |(a, b)| {
                format!(" ({a} needed, {b} if it were like the others)")
            });
        format!(
            "Worker {} takes {} a batch, the others {others}: more workers only dilute it{dilute}. Find what is different about its data or its core.",
            slow.place,
            about_ns(slow.own)
        )
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean is no time of an event")]
    fn bursts(&self) -> String {
        let causes = self.analysis.causes(self.rank);
        let inside = causes.waits.iter().enumerate();
        let inside = inside.filter(|(i, _)| self.window.contains(causes.range(*i).start));
        let waits: Vec<&crate::analysis::Cause> = inside.map(|(_, c)| c).collect();
        let all: Vec<String> = self.totals.bursts.iter().map(usize::to_string).collect();
        let named = match all.len() {
            n if n > BATCHES => format!("{}, …", all[..BATCHES].join(", ")),
            _ => all.join(", "),
        };
        let made: Vec<i64> = waits.iter().filter_map(|c| c.production()).collect();
        let sum: i64 = made.iter().sum();
        let mean = sum / i64::try_from(made.len().max(1)).unwrap_or(1);
        let group = self.waiting.group.map_or("loading", Group::word);
        let mut out = format!(
            "{} slow {} ({named}) {} {} of the waiting, mostly in {group}.",
            all.len(),
            if all.len() == 1 { "batch" } else { "batches" },
            if all.len() == 1 { "holds" } else { "hold" },
            percent(self.totals.burst_waits, self.totals.judged)
        );
        if let (Some(workers), Some(compute)) =
            (self.analysis.workers_of(self.rank), self.compute())
        {
            let each = mean as f64 / workers.max(1) as f64;
            let step = about_ns(compute as i64);
            let mean = format!(
                "a batch takes {} in the mean, {} by {}",
                about_ns(mean),
                about_ns(each as i64),
                match workers {
                    1 => "one worker".to_owned(),
                    n => format!("{n} workers"),
                }
            );
            out += &match each < compute {
                true => format!(
                    " A longer queue (prefetch_factor) evens them out: {mean}, below a step's {step}."
                ),
                false => format!(
                    " A longer queue alone does not cure it: {mean}, not below a step's {step}."
                ),
            };
        }
        out
    }

    fn hand_over(&self) -> String {
        let late = self.totals.by_group_judged.iter();
        let others: i64 = late
            .filter(|(g, _)| *g != Group::HandOver)
            .map(|(_, ns)| ns)
            .sum();
        // Where the workers are not recorded, nobody knows when a batch was ready.
        let each = self.totals.handover_median.map(about_ns);
        let what = match (each, self.waiting.batch_bytes) {
            (None, _) => "Most of the waiting is handing batches over".to_owned(),
            (Some(each), Some(bytes)) => format!(
                "Batches of {} take {each} each to hand over",
                megabytes(bytes)
            ),
            (Some(each), None) if others == 0 => {
                format!("Nothing was late: {each} a batch go into handing over")
            }
            (Some(each), None) => format!("Handing over takes {each} a batch"),
        };
        format!(
            "{what}: return tensors (shared memory), not lists or NumPy arrays, which go through a pipe; fewer, larger ones cost less."
        )
    }

    fn at_work(&self, group: Group) -> String {
        if group.is_untold() {
            return "What most of the waiting was spent on is not recorded.".to_owned();
        }
        let causes = self.analysis.causes(self.rank);
        let made = causes.workers.iter().flat_map(|w| &w.batches);
        let made: Vec<_> = made
            .filter(|b| !b.range.clip(self.window).is_empty())
            .collect();
        let workers = self.analysis.workers_of(self.rank).filter(|&n| n > 0);
        let (Some(workers), false) = (workers, made.is_empty()) else {
            return format!("Most of the waiting is {}.", group.word());
        };
        let n = i64::try_from(made.len()).unwrap_or(1);
        let of: i64 = made.iter().map(|b| b.of(group)).sum();
        let all: i64 = made.iter().map(|b| b.work()).sum();
        let busy = self.totals.workers_busy();
        let mut out = format!(
            "{} {} {} of {} a batch in {}",
            capital(group.word()),
            if group == Group::Transform {
                "take"
            } else {
                "takes"
            },
            about_ns(of / n),
            about_ns(all / n),
            match workers {
                1 => "the one worker".to_owned(),
                n => format!("each of {n} workers"),
            },
        );
        match busy {
            Some(busy) if busy >= AT_LIMIT => {
                out += &format!(
                    ", busy {:.0} % of the waiting: the loader is at its limit. Make {} cheaper, or add workers if there are cores for them.",
                    busy * 100.0,
                    group.word()
                );
            }
            Some(busy) => {
                out += &format!(
                    ", busy {:.0} % of the waiting: the rest of it they had no task, or handed over.",
                    busy * 100.0
                );
            }
            None => out += ".",
        }
        out
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share is no time")]
fn percent(part: i64, of: i64) -> String {
    match of {
        0 => "0 %".to_owned(),
        of => format!("{:.1} %", part as f64 / of as f64 * 100.0),
    }
}

fn megabytes(bytes: i64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "bytes are no time")]
    let mb = bytes as f64 / 1e6;
    format!("{mb:.1} MB")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}
