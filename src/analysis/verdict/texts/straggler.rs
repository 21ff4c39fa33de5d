//! Sentences about a late rank.

use super::percent;
use crate::analysis::Analysis;
use crate::analysis::figures::ranks::{RankMeans, Straggler, StragglerKind};
use crate::analysis::verdict::issue::Sentences;
use crate::time::about_ns;

/// The sentences about a late rank.
pub(in crate::analysis) fn straggler(
    analysis: &Analysis,
    s: &Straggler,
    rows: &[RankMeans],
) -> Sentences {
    let name = |i: usize| analysis.ranks()[i].rank;
    let (c, v) = (&rows[s.culprit], &rows[s.victim]);
    #[expect(clippy::cast_possible_truncation, reason = "means far below 2^63 ns")]
    let ns = |x: Option<f64>| about_ns(x.unwrap_or(0.0).round() as i64);
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
