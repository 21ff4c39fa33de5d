//! Communication of a rank beside that of others: what of it is waiting for a late one, and what is transfer.

use crate::analysis::sums::intervals::Union;
use crate::analysis::verdict::issue::{CommSplit, IssueKind, Whole};
use crate::analysis::verdict::weigh::Candidate;

/// What may be an issue: `exposed` is communication in the judged steps that no compute covers, `waiting` what of the
/// collectives is waiting for others; `None` where none of them is matched.
pub(in crate::analysis) fn candidates(exposed: &Union, waiting: Option<&Union>) -> Vec<Candidate> {
    let comm = |kind, set| Candidate::new(kind, Whole::Judged, set);
    match waiting {
        Some(waiting) => vec![
            comm(IssueKind::RankWait, exposed.intersect(waiting)),
            comm(IssueKind::CommBound, exposed.subtract(waiting)),
        ],
        None => vec![comm(IssueKind::CommBound, exposed.clone())],
    }
}

/// The same in figures; `unmatched` of its collectives have no partners.
pub(in crate::analysis) fn split(exposed: &Union, waiting: &Union, unmatched: usize) -> CommSplit {
    CommSplit {
        wait: waiting.measure(),
        wait_exposed: exposed.intersect(waiting).measure(),
        transfer_exposed: exposed.subtract(waiting).measure(),
        unmatched,
    }
}
