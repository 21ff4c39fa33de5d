//! Sentences on a comparison: what may be said, from what, and what to record where nothing can be.
//!
//! Numbers are rounded half away from zero and carry the sign of what they round: a small loss is never a gain.

use crate::analysis::base::steps::StepClass;
use crate::analysis::compare::comparison::{Comparison, RankComparison, StepShare};
use crate::analysis::compare::decomposition::Decomposition;
use crate::analysis::compare::figure::{Answer, Direction, Figure, Reason};
use crate::analysis::compare::unlike::{Told, Unlike, UnlikeWhat};
use crate::analysis::figures::parts::part_title;
use crate::analysis::verdict::texts::counted;
use crate::time::{Unit, format_count};

/// Digits behind the point of milliseconds, so that a hundredth of a step is seen.
#[must_use]
pub fn decimals(step: i64) -> u32 {
    match step {
        ..3_000_000 => 3,
        3_000_000..30_000_000 => 2,
        _ => 1,
    }
}

/// Milliseconds without sign and unit.
fn size(ns: i64, digits: u32) -> String {
    Unit::Ms.format(ns.saturating_abs(), digits)
}

/// Milliseconds with their sign: `+9.1`, `−0.4`; without one where nothing is left of it.
#[must_use]
pub fn signed(ns: i64, digits: u32) -> String {
    let text = size(ns, digits);
    let nothing = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    match ns.signum() {
        1 if !nothing => format!("+{text}"),
        -1 if !nothing => format!("−{text}"),
        _ => text,
    }
}

/// The size of a change as a share of the step before: `10.4 %`.
fn share(ns: i64, step: i64) -> String {
    if step <= 0 {
        return "-".to_owned();
    }
    let step = i128::from(step);
    let permille = (i128::from(ns).abs() * 2_000 + step).div_euclid(2 * step);
    format!("{}.{} %", permille / 10, permille % 10)
}

/// Two significant digits, rounded up.
fn about(n: u64) -> String {
    let mut unit = 1_u64;
    while n / unit >= 100 {
        unit *= 10;
    }
    format_count(n.div_ceil(unit).saturating_mul(unit))
}

impl StepShare {
    /// `3 %`.
    #[must_use]
    pub fn text(self) -> String {
        let (num, den) = (u128::from(self.num) * 100, u128::from(self.den.max(1)));
        let micro = (num * 1_000_000 + den / 2) / den;
        let text = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        format!("{text} %")
    }
}

/// In which units the figures of one comparison are told.
#[derive(Clone, Copy, Debug)]
pub struct Wording {
    /// Median step before, ns.
    pub step: i64,
    /// Below it changes are small.
    pub limit: StepShare,
}

impl Wording {
    fn digits(self) -> u32 {
        decimals(self.step)
    }

    /// Milliseconds with as many digits as it takes to see something.
    fn fine(self, ns: i64) -> String {
        let digits = (self.digits()..3).find(|&d| ns.unsigned_abs() >= 5 * 10_u64.pow(6 - d));
        size(ns, digits.unwrap_or(3))
    }

    /// The limit as a time: `0.4 ms`.
    #[must_use]
    pub fn limit_in_ms(self) -> String {
        format!("{} ms", self.fine(self.limit.of(self.step)))
    }

    /// The sizes of an interval, the smaller first: `9.8–12.7`.
    fn interval(self, figure: &Figure) -> String {
        let (Some(lo), Some(hi)) = (figure.lo, figure.hi) else {
            return String::new();
        };
        let (a, b) = if hi < 0 { (hi, lo) } else { (lo, hi) };
        format!("{}–{}", self.fine(a), self.fine(b))
    }

    /// The interval with its signs: `−0.8 … +1.1 ms`.
    fn around(self, figure: &Figure) -> String {
        let end = |ns: Option<i64>| signed(ns.unwrap_or(0), self.digits());
        format!("{} … {} ms", end(figure.lo), end(figure.hi))
    }

    fn size_of(self, figure: &Figure) -> String {
        format!("{} ms", self.fine(figure.shift.unwrap_or(0)))
    }

    /// What the answer rests on: `24 and 24 steps`.
    fn base(self, figure: &Figure) -> String {
        match &figure.between {
            Some(b) => {
                format!("{} and {} recordings", b.before.len(), b.after.len())
            }
            None => format!("{} and {} steps", figure.m, figure.n),
        }
    }

    /// What may be said of a figure: `11.2 ms more (9.8–12.7)`.
    #[must_use]
    pub fn answer(self, figure: &Figure) -> String {
        let (size, interval) = (self.size_of(figure), self.interval(figure));
        let way = figure.direction.map_or("", Direction::key);
        match figure.answer {
            Answer::Changed => format!("{size} {way} ({interval})"),
            Answer::ChangedSmall => {
                let limit = self.limit.text();
                format!("{size} {way} ({interval}): less than {limit} of the step")
            }
            Answer::Hint => format!(
                "hint: {size} {way} ({interval}); {} are too few to be sure",
                self.base(figure)
            ),
            Answer::Same => {
                format!(
                    "same within ±{} ({})",
                    self.limit.text(),
                    self.around(figure)
                )
            }
            Answer::CannotTell => format!("cannot be told{}", self.why(figure)),
        }
    }

    /// Behind "cannot be told".
    fn why(self, figure: &Figure) -> String {
        match figure.reason {
            None => String::new(),
            Some(Reason::NotRecorded) => {
                let side = match (figure.before, figure.after) {
                    (None, Some(_)) => "before",
                    (Some(_), None) => "after",
                    _ => "on both sides",
                };
                format!(": not recorded {side}")
            }
            Some(Reason::UnlikeWaits) => {
                ": the waits of the two sides are not the same kind of spans".to_owned()
            }
            Some(Reason::RunsAhead) => ": the loop runs ahead of the GPU".to_owned(),
            Some(Reason::FewSteps) => {
                let few = format!(" from {} (record 20 or more of each)", self.base(figure));
                few + &self.separated(figure)
            }
            Some(Reason::Noise) => self.noise(figure),
        }
    }

    fn noise(self, figure: &Figure) -> String {
        let Some(detectable) = figure.detectable else {
            return String::new();
        };
        if !figure.firm() && detectable <= figure.limit {
            return format!(" from {} (record 20 or more of each)", self.base(figure));
        }
        // Larger than what could be seen, and still no more than chance among so many figures.
        if figure
            .shift
            .is_some_and(|s| s.unsigned_abs() > detectable.unsigned_abs())
        {
            let p = figure
                .p_holm
                .map_or(String::new(), |p| format!(" (p = {p:.3})"));
            return format!(
                ": {}, which may be chance where so many figures are compared{p}",
                self.around(figure)
            );
        }
        let Some(needed) = figure.steps_needed.or(figure.recordings_needed) else {
            let limit = self.limit.text();
            let around = self.around(figure);
            return format!(": {around}, which may be more or less than {limit} of the step");
        };
        format!(
            ": a change under {} ms ({}) cannot be seen in {}; about {} of each would show {}",
            self.fine(detectable),
            share(detectable, self.step),
            self.base(figure),
            about(needed),
            self.limit.text(),
        )
    }

    /// That no two values overlap, where that is so.
    fn separated(self, figure: &Figure) -> String {
        let (Some(true), Some(b), Some(a)) =
            (figure.separated, figure.range_before, figure.range_after)
        else {
            return String::new();
        };
        let way = if a[1] < b[0] { "shorter" } else { "longer" };
        let range = |r: [i64; 2]| r.map(|ns| size(ns, self.digits())).join("–");
        format!(
            "; every step after is {way} than every step before: {} against {} ms",
            range(a),
            range(b)
        )
    }

    /// The answer to the question, as the first sentence of a report.
    #[must_use]
    pub fn headline(self, figure: &Figure) -> String {
        let who = match figure.name.as_str() {
            "job" => "The job's steps",
            _ => "Steps",
        };
        let (size, interval) = (self.size_of(figure), self.interval(figure));
        let percent = share(figure.shift.unwrap_or(0), self.step);
        let way = match figure.direction {
            Some(Direction::More) => "longer",
            Some(Direction::Less) => "shorter",
            None => "",
        };
        let reach = match &figure.between {
            Some(_) => "as far as these recordings go",
            None => "as far as these two recordings go",
        };
        let limit = self.limit.text();
        match figure.answer {
            Answer::Changed => {
                format!("{who} are {size} ({percent}) {way} ({interval} ms), {reach}.")
            }
            Answer::ChangedSmall => format!(
                "{who} are {size} ({percent}) {way} ({interval} ms), less than {limit} of the step, {reach}."
            ),
            Answer::Hint => format!(
                "{who} seem {size} ({percent}) {way} ({interval} ms); {} are too few to be sure.",
                self.base(figure)
            ),
            Answer::Same => format!(
                "{who} take the same time within ±{limit} ({}), {reach}.",
                self.around(figure)
            ),
            Answer::CannotTell => {
                let mut who = who.chars();
                let first = who.next().map(|c| c.to_ascii_lowercase());
                let who: String = first.into_iter().chain(who).collect();
                format!("Whether {who} changed cannot be told{}.", self.why(figure))
            }
        }
    }
}

impl Comparison {
    /// The sentence that a comparison begins with.
    #[must_use]
    pub fn headline(&self) -> String {
        if let Some(refused) = self.unlike.iter().find(|u| Some(u.what) == self.refused) {
            return self.unlike_text(refused);
        }
        match self.question() {
            Some(question) => self.wording(question).headline(question),
            None => "The two sides have no rank in common: nothing is compared.".to_owned(),
        }
    }

    /// How figures of a question are told.
    #[must_use]
    pub fn wording(&self, question: &Figure) -> Wording {
        Wording {
            step: question.before.unwrap_or(0),
            limit: self.limit,
        }
    }

    /// What one recording of each side says of the next one: nothing.
    #[must_use]
    pub fn between_text(&self) -> Option<&'static str> {
        let single = self.refused.is_none() && self.recordings == [1, 1];
        single.then_some(
            "Between recordings: not measured; one recording of each. Record each three times to know.",
        )
    }

    /// That steps were made alike, where they were.
    #[must_use]
    pub fn steps_text(&self) -> Option<String> {
        let side = match self.steps_recomputed {
            [true, true] => "both sides define them otherwise by themselves",
            [true, false] => "the side before defines them otherwise by itself",
            [false, true] => "the side after defines them otherwise by itself",
            [false, false] => return None,
        };
        let how = match self.steps_how? {
            StepClass::Explicit => "as they are marked",
            StepClass::Fetch => "from fetches",
            StepClass::Optimizer => "from optimizer marks",
        };
        Some(format!("Steps: {how} on both sides ({side})."))
    }

    /// A difference of the sides in a sentence.
    #[must_use]
    pub fn unlike_text(&self, unlike: &Unlike) -> String {
        match (unlike.what, self.steps_asked) {
            (UnlikeWhat::RunsAhead, _) => self.runs_ahead_text(),
            (UnlikeWhat::Steps, Some(asked)) => format!(
                "Not every rank can give steps of the class asked for, `{}` (by themselves they are defined by {} before and by {} after): nothing is compared.",
                asked.key(),
                unlike.before.text(),
                unlike.after.text(),
            ),
            _ => unlike.text(),
        }
    }

    fn runs_ahead_text(&self) -> String {
        let launched = self
            .ranks
            .iter()
            .flat_map(|r| &r.figures)
            .find(|f| f.name == "launched");
        let work = launched.and_then(|f| f.before.zip(f.after)).map(|(b, a)| {
            let ms = |ns| Unit::Ms.format(ns, 3);
            format!(" ({} and {} ms a step)", ms(b), ms(a))
        });
        format!(
            "The loop runs ahead of the GPU: compare the GPU work launched{}, or record longer or with a synchronisation per step.",
            work.unwrap_or_default()
        )
    }
}

impl Told {
    fn text(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Count(n) => format_count(*n as u64),
            Self::Flag(is) => if *is { "yes" } else { "no" }.to_owned(),
            Self::Share(x) => format!("{:.0} %", x * 100.0),
            Self::Text(text) => text.clone(),
            Self::List(all) if all.is_empty() => "none".to_owned(),
            Self::List(all) => all.join(", "),
        }
    }
}

impl Unlike {
    /// The difference in a sentence.
    #[must_use]
    pub fn text(&self) -> String {
        let (before, after) = (self.before.text(), self.after.text());
        match self.what {
            UnlikeWhat::SameRecording => {
                "The same recording was given twice: it says nothing about another one.".to_owned()
            }
            UnlikeWhat::Runs => format!(
                "A recording must be of one run; there are {before} before and {after} after: give each as a recording of its own."
            ),
            UnlikeWhat::NoSteps => {
                let side = match (&self.before, &self.after) {
                    (Told::Count(0), Told::Count(0)) => "on both sides",
                    (Told::Count(0), _) => "before",
                    _ => "after",
                };
                format!("No steps were found {side}: nothing can be compared.")
            }
            UnlikeWhat::Steps => format!(
                "Steps are defined by {before} before and by {after} after, and not every rank can give the same: nothing is compared."
            ),
            UnlikeWhat::Recordings => format!(
                "There are {before} before and {after} after: give at least two recordings on both sides or one on both."
            ),
            UnlikeWhat::Program => format!(
                "The GPU work is mostly different ({after} in common): totals are compared, not kernels."
            ),
            UnlikeWhat::Waits => format!(
                "The waits are different spans ({before} before, {after} after) and may begin and end elsewhere: they are not compared."
            ),
            UnlikeWhat::Gpu => {
                let side = match self.before {
                    Told::Flag(true) => "before",
                    _ => "after",
                };
                format!(
                    "GPU operations were recorded only {side}: figures of the GPU are not compared, and steps are parted on the CPU's clock."
                )
            }
            UnlikeWhat::RunsAhead => "The loop runs ahead of the GPU.".to_owned(),
            UnlikeWhat::Recorder => format!(
                "Recorded differently ({before} before, {after} after): the recorder's own cost may differ."
            ),
            UnlikeWhat::Hardware => format!("GPUs: {before} before, {after} after."),
            UnlikeWhat::World => format!("Ranks: {before} before, {after} after."),
            UnlikeWhat::Workers => {
                format!("Recorded worker lanes: {before} before, {after} after.")
            }
        }
    }
}

impl Decomposition {
    /// `Mean step +12.6 ms = compute +9.1, exposed wait +3.9, ≈ CPU late −0.4`: the largest first, `≈` before what may be
    /// chance; parts that round to nothing are left out.
    #[must_use]
    pub fn text(&self) -> String {
        let digits = decimals(self.step_before);
        let mut parts: Vec<_> = self.parts.iter().collect();
        parts.sort_by_key(|p| std::cmp::Reverse(p.delta.unsigned_abs()));
        let part = |p: &&crate::analysis::compare::PartChange| {
            let change = signed(p.delta, digits);
            let seen = change.starts_with(['+', '−']);
            let doubt = if p.answer.is_change() { "" } else { "≈ " };
            seen.then(|| format!("{doubt}{} {change}", part_title(p.name)))
        };
        let parts: Vec<String> = parts.iter().filter_map(part).collect();
        let delta = signed(self.delta, digits);
        if parts.is_empty() {
            return format!("Mean step {delta} ms");
        }
        let rest = self
            .parts
            .iter()
            .filter(|p| p.delta != 0 && !signed(p.delta, digits).starts_with(['+', '−']));
        let rest = match rest.count() {
            0 => "",
            _ => ", and less than can be printed",
        };
        format!("Mean step {delta} ms = {}{rest}", parts.join(", "))
    }
}

impl RankComparison {
    /// The parts that changed, for a list of ranks: `rank 3: exposed wait +8.2 ms`.
    #[must_use]
    pub fn line(&self) -> String {
        let step = self.figures.first().and_then(|f| f.before).unwrap_or(0);
        let mut changed: Vec<&Figure> = self
            .figures
            .iter()
            .filter(|f| f.name.starts_with("part.") && f.answer.is_change())
            .collect();
        changed.sort_by_key(|f| std::cmp::Reverse(f.shift.unwrap_or(0).unsigned_abs()));
        let one = |f: &&Figure| {
            let part = part_title(f.name.trim_start_matches("part."));
            let change = signed(f.shift.unwrap_or(0), decimals(step));
            let hint = if f.answer == Answer::Hint {
                " (hint)"
            } else {
                ""
            };
            format!("{part} {change} ms{hint}")
        };
        let told: Vec<String> = changed.iter().map(one).collect();
        let text = match told.is_empty() {
            true => "no part of it surely changed".to_owned(),
            false => told.join(", "),
        };
        format!("rank {}: {text}", self.rank)
    }

    /// `40 of 41 steps` of a side: 0 before, 1 after.
    #[must_use]
    pub fn judged(&self, side: usize) -> String {
        let all = (self.steps[side] + self.left_out[side]) as u64;
        format!(
            "{} of {}",
            format_count(self.steps[side] as u64),
            counted(all, "step")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_those_of_what_they_round() {
        assert_eq!(signed(-80_000, 1), "−0.1");
        assert_eq!(signed(-40_000, 1), "0.0");
        assert_eq!(signed(9_149_999, 1), "+9.1");
        assert_eq!(signed(0, 3), "0.000");
        assert_eq!(share(-80, 100_000), "0.1 %");
        assert_eq!(share(104, 1_000), "10.4 %");
        assert_eq!(about(7), "7");
        assert_eq!(about(104), "110");
        assert_eq!(about(12_301), "13,000");
        assert_eq!(StepShare::default().text(), "3 %");
        assert_eq!(
            StepShare {
                num: 25,
                den: 1_000
            }
            .text(),
            "2.5 %"
        );
    }
}
