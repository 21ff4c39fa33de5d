//! Walking through the exposed batch waits, one after the other.

use crate::analysis::{Analysis, ExposedShare};
use crate::app::widgets::table::percent;
use crate::time::{TimeRange, about_ns, format_count};

/// The exposed waits of a trace and which one is the current.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    /// Indices in [`Analysis::waits`], by start.
    waits: Vec<usize>,
    /// Index in `waits`.
    at: Option<usize>,
    /// Exposed time of all ranks together, and the trace once per rank whose GPU is known.
    share: ExposedShare,
    /// From this share on it is a warning, as in verdicts.
    warn: f64,
    /// Ranks whose GPU is known.
    ranks: usize,
    all_waits: usize,
}

impl Walk {
    /// The exposed waits of a trace: of one rank (index in [`Analysis::ranks`]) or of all.
    #[must_use]
    pub fn new(analysis: &Analysis, rank: Option<usize>) -> Self {
        let all = analysis.waits();
        let own = |i: usize| rank.is_none_or(|r| r == i);
        let mut waits: Vec<usize> = (0..all.len())
            .filter(|&i| all[i].exposed > Some(0) && own(all[i].rank))
            .collect();
        waits.sort_by_key(|&i| (all[i].range.start, i));
        let (mut share, mut ranks) = (ExposedShare::default(), 0);
        let shown = (0..analysis.ranks().len()).filter(|&i| own(i));
        for of_rank in shown.filter_map(|i| analysis.exposed_share(i)) {
            share += of_rank;
            ranks += 1;
        }
        Self {
            waits,
            at: None,
            share,
            warn: analysis.options().warn,
            ranks,
            all_waits: all.iter().filter(|w| own(w.rank)).count(),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waits.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// Index in [`Analysis::waits`] of the current one.
    #[must_use]
    pub fn current(&self) -> Option<usize> {
        Some(self.waits[self.at?])
    }

    /// Its number among the exposed ones, from 1.
    #[must_use]
    pub fn position(&self) -> Option<usize> {
        Some(self.at? + 1)
    }

    /// Makes a wait the current one; none where it is not exposed.
    pub fn set(&mut self, wait: usize) {
        self.at = self.waits.iter().position(|&w| w == wait);
    }

    /// Forgets the current one.
    pub fn clear(&mut self) {
        self.at = None;
    }

    /// The next or previous one, around the ends; the first one in sight when none is current.
    pub fn step(
        &mut self,
        forward: bool,
        visible: TimeRange,
        analysis: &Analysis,
    ) -> Option<usize> {
        let n = self.waits.len();
        if n == 0 {
            return None;
        }
        let start = |&i: &usize| analysis.waits()[i].range.start;
        let at = match (self.at, forward) {
            (Some(i), true) => (i + 1) % n,
            (Some(i), false) => (i + n - 1) % n,
            (None, true) => self.waits.partition_point(|w| start(w) < visible.start) % n,
            (None, false) => (self.waits.partition_point(|w| start(w) < visible.end) + n - 1) % n,
        };
        self.at = Some(at);
        Some(self.waits[at])
    }

    /// Makes the wait with the longest exposed part the current one: index in [`Analysis::waits`].
    pub fn longest(&mut self, analysis: &Analysis) -> Option<usize> {
        let exposed = |&i: &usize| (analysis.waits()[i].exposed, std::cmp::Reverse(i));
        let wait = self.waits.iter().copied().max_by_key(exposed)?;
        self.set(wait);
        Some(wait)
    }

    /// `Exposed wait 3 of 142 · 39 ms`.
    #[must_use]
    pub fn text(&self, analysis: &Analysis) -> String {
        let n = format_count(self.waits.len() as u64);
        match (self.at, self.waits.len()) {
            (_, 0) if self.all_waits == 0 => "No batch waits found".to_owned(),
            (_, 0) if self.ranks == 0 => "Exposed wait: unknown".to_owned(),
            (_, 0) => "No exposed wait".to_owned(),
            (Some(i), _) => {
                let exposed = analysis.waits()[self.waits[i]].exposed;
                let at = format_count(i as u64 + 1);
                format!(
                    "Exposed wait {at} of {n} · {}",
                    about_ns(exposed.unwrap_or(0))
                )
            }
            (None, 1) => "1 exposed wait".to_owned(),
            (None, _) => format!("{n} exposed waits"),
        }
    }

    /// Total and share of the trace; and of the judged steps, where that reads differently: verdicts speak of it.
    #[must_use]
    pub fn share_text(&self) -> String {
        let of = match self.ranks {
            0 | 1 => "of the trace".to_owned(),
            n => format!("of the traces of {n} ranks"),
        };
        let (share, judged) = self.percents();
        let judged = judged.map_or(String::new(), |p| format!(", {p} of the judged steps"));
        let exposed = about_ns(self.share.exposed);
        format!("{exposed} exposed in all, {share} {of}{judged}")
    }

    /// The same, shorter.
    #[must_use]
    pub fn short_share(&self) -> String {
        let sum = if self.ranks > 1 { "Σ " } else { "" };
        let (share, judged) = self.percents();
        let judged = judged.map_or(String::new(), |p| format!(" · {p} of judged steps"));
        format!("{sum}{} ({share}{judged})", about_ns(self.share.exposed))
    }

    /// Shares of the trace, and of the judged steps where that reads differently.
    fn percents(&self) -> (String, Option<String>) {
        let share = percent(self.share.of_trace());
        let judged = Some(percent(self.share.telling())).filter(|p| *p != share);
        (share, judged)
    }

    /// Whether they cost enough for a warning. What a verdict would call little is no alarm.
    #[must_use]
    pub fn warns(&self) -> bool {
        self.share.telling() >= self.warn
    }

    /// Why there are none.
    #[must_use]
    pub fn why_none(&self) -> &'static str {
        match (self.ranks, self.all_waits) {
            (_, 0) => "No batch waits were recognised in this trace.",
            (0, _) => "Without GPU events nobody can tell which part of the waits was exposed.",
            _ => "The GPU had work during every batch wait.",
        }
    }
}
