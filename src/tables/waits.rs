//! Waits of a loop for data.

use std::sync::Arc;

use super::{RANK, RUN, Row, Whose, columns, narrow};
use crate::analysis::{Analysis, Cause, Kind, Part};
use crate::columns::{WAIT, column};
use crate::time::TimeRange;

/// A wait of a loop. Times in ns.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitsRow {
    /// The name of the run.
    pub run: Arc<str>,
    /// The rank.
    pub rank: i32,
    /// The step that it lies in.
    pub step: Option<i32>,
    /// Its place among the waits of the rank.
    pub nth: i32,
    /// Which loader.
    pub loader: Arc<str>,
    /// First of its iterator.
    pub first: bool,
    /// When it began, from the start of the trace.
    pub start: i64,
    /// Its length.
    pub dur: i64,
    /// Of it the GPU was idle.
    pub exposed: Option<i64>,
    /// Of it the GPU worked.
    pub hidden: Option<i64>,
    /// Of it unknown.
    pub unrecorded: i64,
    /// Why; `None` where nothing is known of the loader.
    pub cause: Option<WaitCause>,
}

/// Why a wait happened. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitCause {
    /// The worker's place in its group.
    pub worker: Option<i32>,
    /// What kind of wait it was.
    pub kind: &'static str,
    /// The batch was not made when the wait began.
    pub late: Option<bool>,
    /// What it was spent on, in the order of [`GROUPS`].
    pub groups: [i64; GROUPS.len()],
}

use crate::analysis::Group;

/// What a wait can be spent on. What nobody can say is one group.
const GROUPS: [Group; 10] = [
    Group::Start,
    Group::Read,
    Group::Decode,
    Group::Transform,
    Group::Collate,
    Group::Other,
    Group::Idle,
    Group::HandOver,
    Group::End,
    Group::Unknown,
];

impl WaitCause {
    fn of(cause: &Cause) -> Option<Self> {
        if cause.level.is_none() && cause.kind != Kind::End {
            return None;
        }
        let mut groups = [0; GROUPS.len()];
        for (part, share) in &cause.parts.all {
            groups[place(*part)] += share.total();
        }
        Some(Self {
            worker: cause.worker.map(narrow),
            kind: cause.kind.key(),
            late: cause.late,
            groups,
        })
    }
}

/// The place of a part's group in [`GROUPS`].
fn place(part: Part) -> usize {
    let group = part.group();
    let at = GROUPS
        .iter()
        .position(|&g| g == group && !group.is_untold());
    at.unwrap_or(GROUPS.len() - 1)
}

/// The waits of a rank that touch a window, by start.
///
/// # Panics
/// If there is no such rank.
#[must_use]
pub fn waits(analysis: &Analysis, whose: &Whose, window: TimeRange) -> Vec<WaitsRow> {
    let rank = &analysis.ranks()[whose.rank];
    let zero = analysis.trace().extent().start;
    let causes = analysis.causes(whose.rank);
    let all = analysis.rank_waits(whose.rank);
    let own = all.filter(|w| w.range.touches(window));
    own.map(|w| WaitsRow {
        run: Arc::clone(&whose.run),
        rank: narrow(rank.rank),
        step: w.step.map(narrow),
        nth: narrow(w.place),
        loader: analysis.loader_name(whose.rank, w.span).into(),
        first: w.first,
        start: w.range.start - zero,
        dur: w.range.len(),
        exposed: w.exposed,
        hidden: w.hidden,
        unrecorded: w.unrecorded,
        cause: causes.waits.get(w.place).and_then(WaitCause::of),
    })
    .collect()
}

fn group<const I: usize>(row: &WaitsRow) -> Option<i64> {
    row.cause.map(|c| c.groups[I])
}

const fn of_wait(key: &str) -> &'static str {
    column(WAIT, key).help
}

impl Row for WaitsRow {
    const TABLE: &'static str = "waits";
    const ABOUT: &'static str = "A wait of the loop for data; told by run, rank, start";
    const COLUMNS: &'static [super::Column<Self>] = columns! {
        "run" Plain RUN => Text(|r| &r.run);
        "rank" Plain RANK => I32(|r| r.rank);
        "step" Plain "The step in which it begins" => I32Or(|r| r.step);
        "nth" Plain "Its place among the waits of the rank, from 0" => I32(|r| r.nth);
        "loader" Plain "Name of its span without a number at its end; behind `eval: ` inside an evaluation" => Text(|r| &r.loader);
        "first" Plain "First of its iterator" => Bool(|r| r.first);
        "start" Ns of_wait("start") => I64(|r| r.start);
        "dur" Ns of_wait("wait") => I64(|r| r.dur);
        "exposed" Ns of_wait("exposed") => I64Or(|r| r.exposed);
        "hidden" Ns of_wait("hidden") => I64Or(|r| r.hidden);
        "unrecorded" Ns of_wait("unrecorded") => I64(|r| r.unrecorded);
        "worker" Plain "Place of the worker that made the batch" => I32Or(|r| r.cause?.worker);
        "cause" Plain of_wait("kind") => TextOr(|r| Some(r.cause.as_ref()?.kind));
        "late" Plain "The batch was not made when the wait began" => BoolOr(|r| r.cause?.late);
        "cause_start" Ns "Of it workers were starting" => I64Or(group::<0>);
        "cause_read" Ns "Of it reading" => I64Or(group::<1>);
        "cause_decode" Ns "Of it decoding" => I64Or(group::<2>);
        "cause_transform" Ns "Of it preprocessing" => I64Or(group::<3>);
        "cause_collate" Ns "Of it putting items together" => I64Or(group::<4>);
        "cause_other" Ns "Of it other work on the batch" => I64Or(group::<5>);
        "cause_idle" Ns "Of it the worker had no task" => I64Or(group::<6>);
        "cause_hand_over" Ns "Of it the batch was on its way to the loop" => I64Or(group::<7>);
        "cause_end" Ns "Of it the loader had no more batches" => I64Or(group::<8>);
        "cause_unknown" Ns "Of it nobody can say" => I64Or(group::<9>);
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_wait_has_a_column() {
        for part in Part::ALL {
            let name = WaitsRow::COLUMNS[14 + place(part)].name;
            let group = part.group();
            let own = match group.is_untold() {
                true => "unknown",
                false => group.key(),
            };
            assert_eq!(name.strip_prefix("cause_"), Some(own), "{}", part.key());
        }
    }
}
