//! Sentences about communication of one rank: waiting for a late one, and transfer.

use super::{About, part, percent};
use crate::analysis::collectives::ranks::Collectives;
use crate::analysis::verdict::issue::Sentences;
use crate::time::{about_ns, format_count};

/// The ranks that a rank is compared with, and its place among them.
type Among<'a> = Option<(&'a Collectives, usize)>;

/// A rank waits for a late one.
pub(in crate::analysis) fn rank_wait(about: &About<'_>, run: Among<'_>) -> Sentences {
    let number = run.map_or(0, |(run, place)| run.numbers[place]);
    let n = i64::try_from(about.judged.len().max(1)).unwrap_or(1);
    let each = about_ns(about.issue.value / n);
    let whom = whom(about, run);
    Sentences {
        verdict: format!(
            "Rank {number} waits {each} a step for {whom}: {} of {}.",
            about.share(),
            about.whole()
        ),
        why: format!(
            "{} of its collectives are waiting, not hidden by compute{}.",
            about_ns(about.issue.value),
            about.spread()
        ),
        next: "The cure is not on this rank: see the job's verdict.".to_owned(),
    }
}

/// For whom the rank waits.
fn whom(about: &About<'_>, run: Among<'_>) -> String {
    let Some((run, place)) = run else {
        return "other ranks".to_owned();
    };
    let mut by: Vec<(u32, i64)> = Vec::new();
    let mut places: rustc_hash::FxHashMap<u32, usize> = rustc_hash::FxHashMap::default();
    let mut total = 0;
    for own in &run.own[place] {
        let member = own.member as usize;
        let start = run.collective(&run.matching.members[member]).range.start;
        if !about.judged.set.contains(start) {
            continue;
        }
        let wait = run.arrivals.waits[member];
        total += wait;
        let matched = &run.matching.matched[own.matched as usize];
        let arrival = run.arrivals.of[own.matched as usize];
        if arrival.late != 1 {
            continue;
        }
        let first = matched.places().start + arrival.first_late as usize;
        let late = run.matching.members[first].rank;
        let at = *places.entry(late).or_insert_with(|| {
            by.push((late, 0));
            by.len() - 1
        });
        by[at].1 += wait;
    }
    by.sort_by_key(|b| (std::cmp::Reverse(b.1), b.0));
    let number = |place: u32| run.numbers[place as usize];
    match by.first() {
        Some(&(late, ns)) if i128::from(ns) * 5 >= i128::from(total) * 4 => {
            format!("rank {}", number(late))
        }
        Some(&(late, ns)) if ns > 0 => format!(
            "other ranks (most of it, {}, for rank {})",
            percent(part(ns, total)),
            number(late)
        ),
        _ => "other ranks".to_owned(),
    }
}

/// Communication: with several ranks the transfer alone, with one nobody knows how much of it is waiting.
pub(in crate::analysis) fn comm_bound(about: &About<'_>, run: Among<'_>, split: bool) -> Sentences {
    if let Some((run, place)) = run.filter(|_| split) {
        let own = &run.own[place];
        let together = own.iter().filter(|o| {
            let members = run.matching.matched[o.matched as usize].places().len();
            run.arrivals.of[o.matched as usize].together(members)
        });
        let (together, of) = (together.count(), own.len());
        let arrive = match together * 2 >= of {
            true => ", the ranks arrive together",
            false => "",
        };
        return Sentences {
            verdict: format!(
                "Communication-bound: the transfer itself takes {} of {}{arrive} (within {} in {} of {}).",
                about.share(),
                about.whole(),
                about_ns(run.arrivals.together),
                format_count(together as u64),
                format_count(of as u64),
            ),
            why: format!(
                "{} of transfer not hidden by compute{}.{}",
                about_ns(about.issue.value),
                about.spread(),
                match run.world as usize > run.ranks.len() {
                    true => format!(
                        " Recorded {} of {} ranks: part of it may be waiting for another.",
                        run.ranks.len(),
                        run.world
                    ),
                    false => String::new(),
                }
            ),
            next: "Overlap it with backward, or make the buckets larger.".to_owned(),
        };
    }
    let world = run.map_or(1, |(run, _)| run.world as usize);
    let ranks = run.map_or(1, |(run, _)| run.ranks.len());
    let first = match (ranks, world) {
        (1, 2) => "Open the trace of the other rank.".to_owned(),
        (1, n) if n > 2 => format!("Open the traces of the other {} ranks.", n - 1),
        (1, _) => "Open the traces of the other ranks.".to_owned(),
        _ => "The collectives of the ranks could not be matched: record all of them in the same steps.".to_owned(),
    };
    Sentences {
        verdict: format!(
            "Collectives cover {} of {}, not hidden by compute. Transfer or waiting for a late rank? {first}",
            about.share(),
            about.whole()
        ),
        why: format!(
            "{} of collectives alone{}. How much of it is waiting for a late rank cannot be told{}.",
            about_ns(about.issue.value),
            about.spread(),
            if ranks == 1 { " from one rank" } else { "" }
        ),
        next: "Only where the ranks arrive together: overlap the collectives with backward, or make the buckets larger."
            .to_owned(),
    }
}
