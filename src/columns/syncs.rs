//! Columns of synchronising calls.

use super::Column;
use super::Get::{Count, Flag, Phase, Phases, Text, Time};
use super::Output::{Json, Panel};
use crate::analysis::{SyncFigures, SyncNameRow};

/// Calls that waited for the GPU.
pub const SYNC: &[Column<SyncFigures>] = columns! { SyncFigures:
    "call" "Call" "The call that waited": Text(|a, s| Some(a.trace().span_name(s.span).into())), not_in(Json);
    "rank" "Rank" "Distributed rank":
        Count(|a, s| a.lane_rank(a.trace().spans().lane(s.span)).map(u64::from)), not_in(Json);
    "start" "Start" "When": Time(|a, s| Some(a.trace().spans().start(s.span))), not_in(Json);
    "in_phase" "In phase" "What the loop was doing": Phase(|_, s| s.in_phase);
    "absorbed" "Absorbed" "GPU time of the work that it waited for, during the call": Time(|_, s| Some(s.absorbed));
    "dur" "Length" "Length of the call": Time(|a, s| Some(a.trace().spans().dur(s.span)));
    "bubble" "Bubble" "GPU idle afterwards, because nothing was queued behind the wait": Time(|_, s| s.bubble);
    "tail" "Return" "From the end of the last work to the return of the call": Time(|_, s| s.tail);
    "waited_ops" "Operations" "Operations that it waited for": Count(|_, s| Some(s.waited_ops));
    "absorbed_by_phase" "Launched by" "Absorbed GPU time by the phase that launched it":
        Phases(|_, s| &s.absorbed_by_phase);
    "incomplete" "Incomplete" "What it waited for ends after the call: more was taken for it than it was":
        Flag(|_, s| s.incomplete), not_in(Panel);
    "scope" "Scope" "Whether the file says what the call waited for":
        Text(|_, s| Some(if s.known_scope { "recorded" } else { "guessed" }.into())), not_in(Json);
};

/// Calls that waited for the GPU, by name.
pub const SYNC_NAME: &[Column<SyncNameRow>] = columns! { SyncNameRow:
    "call" "Call" "Name of the calls": Text(|a, s| Some(a.trace().name(s.name).into())), text("call");
    "calls" "Calls" "How many": Count(|_, s| Some(s.calls)), text("calls");
    "time" "Time" "Sum of their lengths": Time(|_, s| Some(s.time)), text("time");
    "absorbed" "Absorbed" "GPU time of the work that they waited for, during the calls":
        Time(|_, s| Some(s.absorbed)), text("absorbed");
    "bubble" "Bubble" "GPU idle afterwards, where it is known": Time(|_, s| Some(s.bubble)), text("bubble after");
    "absorbed_by_phase" "Launched in" "Absorbed GPU time by the phase that launched it":
        Phases(|_, s| &s.absorbed_by_phase), text("launched in");
};
