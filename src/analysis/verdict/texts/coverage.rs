//! Of how much of the record a verdict speaks.

use super::{count, part, rough_percent};
use crate::analysis::Analysis;
use crate::analysis::base::steps::StepSource;
use crate::analysis::figures::judged::{Judged, Unjudged};
use crate::analysis::verdict::issue::LeftOut;
use crate::time::{about_ns, format_count};

/// Steps that are named.
const NAMED: usize = 3;

/// The first sentence of a headline about few of the record: what the judged steps are, and where the rest lies.
pub(super) fn little(judged: &Judged) -> String {
    let account = judged.account;
    let rest = match account.longest().0 {
        Unjudged::First => "in steps in which the loader starts",
        Unjudged::Between => "between the steps",
        Unjudged::Outside => "before the first and behind the last step",
    };
    format!(
        "The judged steps are {} of the record; most of the rest lies {rest}.",
        rough_percent(part(account.judged, account.total()))
    )
}

/// Which steps a verdict is about, and why the others are left out. Empty without steps.
pub(in crate::analysis) fn coverage(
    analysis: &Analysis,
    judged: &Judged,
    left_out: &[LeftOut],
) -> String {
    if judged.cycles.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "Based on {} of {}",
        format_count(judged.len() as u64),
        count(judged.cycles.len(), "step")
    );
    if analysis.ranks[judged.rank].steps_how == StepSource::Optimizer {
        let marks = analysis.cycles[judged.rank].confidence;
        let marks = marks.map_or(0, |c| c.marks);
        out += &format!(", inferred from {}", count(marks, "optimizer mark"));
    }
    let Some(first) = left_out.first() else {
        return out + ".";
    };
    let steps = &analysis.ranks[judged.rank].steps;
    let name = |l: &LeftOut| steps[l.step].short().to_owned();
    let (named, it) = if left_out.len() == 1 {
        let name = name(first);
        let number = name.bytes().all(|b| b.is_ascii_digit());
        let named = if number { format!("step {name}") } else { name };
        (format!("{named} is left out"), "it includes")
    } else {
        let names: Vec<String> = left_out.iter().take(NAMED).map(name).collect();
        let more = match left_out.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        (
            format!("steps {}{more} are left out", names.join(", ")),
            "they include",
        )
    };
    let starts = match left_out.len() {
        1 => "the loader's start",
        _ => "the loader's starts",
    };
    out += &format!("; {named}: {it} {starts}");
    let waited: i64 = left_out.iter().map(|l| l.wait).sum();
    if waited > 0 {
        let longest = left_out
            .iter()
            .filter_map(|l| l.place)
            .map(|p| p.value)
            .max();
        let others = analysis.longest_wait_of(judged);
        let longest = longest.filter(|l| *l > others);
        out += &match longest {
            Some(l) if l == waited => {
                format!(" ({}, the longest wait of all)", about_ns(waited))
            }
            Some(l) => format!(
                " ({}; {} of it at once, the longest wait of all)",
                about_ns(waited),
                about_ns(l)
            ),
            None => format!(" ({})", about_ns(waited)),
        };
    }
    out + "."
}

impl Analysis {
    /// The longest wait that begins in a judged step, ns.
    fn longest_wait_of(&self, judged: &Judged) -> i64 {
        let waits = self.rank_waits(judged.rank);
        let inside = waits.filter(|w| judged.set.contains(w.range.start));
        inside.map(|w| w.range.len()).max().unwrap_or(0)
    }
}
