//! Columns of synchronising calls.

use std::borrow::Cow;

use super::Column;
use super::Get::{Count, Flag, Phase, Phases, Text, Time};
use super::Output::{Json, Panel};
use crate::analysis::{Analysis, SyncCaller, SyncFigures, SyncLine, SyncNameRow};

/// Calls that waited for the GPU.
pub const SYNC: &[Column<SyncFigures>] = columns! { SyncFigures:
    "in_phase" "In phase" "What the loop was doing": Phase(|_, s| s.in_phase), only_in(Json);
    "absorbed" "Absorbed" "GPU time of the work that it waited for, during the call":
        Time(|_, s| Some(s.absorbed)), only_in(Json);
    "dur" "Length" "Length of the call": Time(|a, s| Some(a.trace().spans().dur(s.span))), only_in(Json);
    "bubble" "Bubble" "GPU idle afterwards, because nothing was queued behind the wait":
        Time(|_, s| s.bubble), only_in(Json);
    "tail" "Return" "From the end of the last work to the return of the call": Time(|_, s| s.tail), only_in(Json);
    "waited_ops" "Operations" "Operations that it waited for": Count(|_, s| Some(s.waited_ops)), only_in(Json);
    "absorbed_by_phase" "Launched by" "Absorbed GPU time by the phase that launched it":
        Phases(|_, s| &s.absorbed_by_phase), only_in(Json);
    "incomplete" "Incomplete" "What it waited for ends after the call: more was taken for it than it was":
        Flag(|_, s| s.incomplete), only_in(Json);
    "called_by" "Called by" "The operator, function, module and range around it, innermost first":
        Text(|a, s| Some(a.called_by(s.span)?.into())), only_in(Json);
};

/// Calls that waited for the GPU, by caller: callers and, in them, calls.
pub const SYNC_LINE: &[Column<SyncLine>] = columns! { SyncLine:
    "caller" "Called by" "Who made the calls: range, module, Python function, operator. Open a row for its calls":
        Text(|a, l| Some(caller(a, l))), only_in(Panel);
    "calls" "Calls" "How many": Count(|_, l| of(l, |c| Some(c.calls), |_| None)), only_in(Panel);
    "dur" "Time" "Length of the calls": Time(|a, l| of(l, |c| Some(c.time), |s| Some(a.trace().spans().dur(s.span)))),
        only_in(Panel);
    "absorbed" "Absorbed" "GPU time of the work that they waited for, during the calls":
        Time(|_, l| of(l, |c| Some(c.absorbed), |s| Some(s.absorbed))), only_in(Panel);
    "bubble" "Bubble" "GPU idle afterwards, because nothing was queued behind the wait":
        Time(|_, l| of(l, |c| c.bubble, |s| s.bubble)), only_in(Panel);
    "tail" "Return" "From the end of the last work to the return of the call":
        Time(|_, l| of(l, |_| None, |s| s.tail)), only_in(Panel);
    "waited_ops" "Operations" "Operations that it waited for":
        Count(|_, l| of(l, |_| None, |s| Some(s.waited_ops))), only_in(Panel);
    "in_phase" "In phase" "What the loop was doing":
        Text(|a, l| of(l, |_| None, |s| Some(a.layers().info(s.in_phase?).title.as_str().into()))), only_in(Panel);
    "absorbed_by_phase" "Launched by" "Absorbed GPU time by the phase that launched it": Phases(|_, l| match l {
        SyncLine::Caller(c) => &c.absorbed_by_phase,
        SyncLine::Call(s) => &s.absorbed_by_phase,
    }), only_in(Panel);
    "start" "Start" "When": Time(|a, l| of(l, |_| None, |s| Some(a.trace().spans().start(s.span)))), only_in(Panel);
    "rank" "Rank" "Distributed rank": Count(|a, l| {
        of(l, |_| None, |s| a.lane_rank(a.trace().spans().lane(s.span)).map(u64::from))
    }), only_in(Panel);
    "scope" "Scope" "Whether the file says what the call waited for": Text(|_, l| {
        of(l, |_| None, |s| Some(if s.known_scope { "recorded" } else { "guessed" }.into()))
    }), only_in(Panel);
};

/// What a line has, as a caller or as a call.
fn of<'a, T>(
    line: &'a SyncLine,
    caller: impl FnOnce(&'a SyncCaller) -> Option<T>,
    call: impl FnOnce(&'a SyncFigures) -> Option<T>,
) -> Option<T> {
    match line {
        SyncLine::Caller(c) => caller(c),
        SyncLine::Call(s) => call(s),
    }
}

/// Characters of the names of callers in the window.
const ROOM: usize = 62;

fn caller<'a>(analysis: &'a Analysis, line: &'a SyncLine) -> Cow<'a, str> {
    match line {
        SyncLine::Caller(c) => c.short(ROOM).into(),
        SyncLine::Call(s) => analysis.trace().span_name(s.span).into(),
    }
}

/// Calls that waited for the GPU, by who made them.
pub const SYNC_CALLER: &[Column<SyncCaller>] = columns! { SyncCaller:
    "caller" "Called by" "Range, module, Python function, operator, call: those that one row stands for":
        Text(|_, c| Some(c.caller().into())), not_in(Panel), text("called by");
    "kind" "Kind" "What the last of them is: range, module, python, op, call":
        Text(|_, c| Some(c.kind.key().into())), only_in(Json);
    "depth" "Depth" "How many of the rows before lie around it": Count(|_, c| Some(c.depth.into())), only_in(Json);
    "calls" "Calls" "How many": Count(|_, c| Some(c.calls)), not_in(Panel), text("calls");
    "time" "Time" "Sum of their lengths": Time(|_, c| Some(c.time)), not_in(Panel), text("time");
    "absorbed" "Absorbed" "GPU time of the work that they waited for, during the calls":
        Time(|_, c| Some(c.absorbed)), not_in(Panel), text("absorbed");
    "bubble" "Bubble" "GPU idle afterwards, where it is known": Time(|_, c| c.bubble), not_in(Panel), text("bubble after");
    "absorbed_by_phase" "Launched in" "Absorbed GPU time by the phase that launched it":
        Phases(|_, c| &c.absorbed_by_phase), not_in(Panel), text("launched in");
};

/// Calls that waited for the GPU, by name.
pub const SYNC_NAME: &[Column<SyncNameRow>] = columns! { SyncNameRow:
    "call" "Call" "Name of the calls": Text(|a, s| Some(a.trace().name(s.name).into())), text("call");
    "calls" "Calls" "How many": Count(|_, s| Some(s.calls)), text("calls");
    "time" "Time" "Sum of their lengths": Time(|_, s| Some(s.time)), text("time");
    "absorbed" "Absorbed" "GPU time of the work that they waited for, during the calls":
        Time(|_, s| Some(s.absorbed)), text("absorbed");
    "bubble" "Bubble" "GPU idle afterwards, where it is known": Time(|_, s| s.bubble), text("bubble after");
    "absorbed_by_phase" "Launched in" "Absorbed GPU time by the phase that launched it":
        Phases(|_, s| &s.absorbed_by_phase), text("launched in");
};
