//! What panels ask for. They never change the state themselves: they push actions, which run after the frame.

use std::path::PathBuf;

use crate::analysis::LayerId;
use crate::app::model::command::Command;
use crate::app::model::document::{Gesture, Menu};
use crate::app::model::guide::HelpPage;
use crate::app::model::load::Request;
use crate::app::model::settings::{ExportChoice, LanePreset};
use crate::app::model::tab::Tab;
use crate::model::{LaneId, NameId, SpanId};
use crate::session::{Session, WhereNow};
use crate::time::TimeRange;
use crate::view::{NodeId, Note, Swatch, Window};

/// Actions of one frame, in order.
pub type Actions = Vec<Action>;

/// Something to do after the frame was drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A named command.
    Do(Command),
    /// Open files and folders.
    Open(Request),
    /// Let the user choose the trace of a session.
    ChooseFor(Box<Session>, WhereNow),
    /// Go on with a session whose traces are there.
    GoOnWith(Box<Session>, WhereNow),
    /// Compare the open trace with a recording before a change.
    CompareWith(Vec<PathBuf>),
    /// Make a lane the loop of its rank, or let the evidence choose again; the files are read again.
    ToggleLoop(LaneId),
    /// Stop opening.
    CancelLoading,
    /// Stop saving a window.
    CancelSaving,
    /// Remove an entry of the Recent list.
    ForgetRecent(Vec<PathBuf>),
    /// Select a range of time; `None` clears it.
    SelectRange(Option<TimeRange>),
    /// Select a span and nothing else; `None` clears it.
    SelectSpan(Option<SpanId>),
    /// Select a span and bring it into view.
    RevealSpan(SpanId),
    /// Select a link of the chain below a wait: index of the wait, place in the chain (`None` = the wait), its span.
    FollowChain(usize, Option<usize>, SpanId),
    /// Select a batch wait by its index and centre it.
    ShowWait(usize),
    /// Select a range and zoom to it.
    ZoomToRange(TimeRange),
    /// Zoom to a range without selecting.
    ViewRange(TimeRange),
    /// Another window at once, without animation (drags and wheels).
    SetWindow(Window),
    /// Another window, animated.
    GoTo(Window),
    /// Scroll the lanes to this offset, points.
    ScrollTo(f32),
    /// Scroll the pinned lanes to this offset, points.
    ScrollPinned(f32),
    /// Scroll the overlap band to this offset, points.
    ScrollBand(f32),
    /// A drag began or ended.
    SetGesture(Gesture),
    /// A context menu opens about something.
    SetMenu(Menu),
    /// A batch wait is the current one, without moving.
    CurrentWait(usize),
    /// Open or close a group.
    ToggleNode(NodeId),
    /// Pin or unpin a lane.
    TogglePin(NodeId),
    /// Hide a lane or group.
    HideNode(NodeId),
    /// Hide all lanes but those of a group or lane.
    ShowOnly(NodeId),
    /// Ask what a lane or group is to be called.
    AskName(NodeId),
    /// Call a lane or group something else; an empty name is its own again.
    Rename(NodeId, String),
    /// Move a lane or group down by one place, or up.
    StepLane(NodeId, bool),
    /// Put a lane or group before another one of its group, or behind it.
    PlaceLane(NodeId, NodeId, bool),
    /// Ask for the text of a mark: a new one, or the one at this place.
    AskNote(Option<usize>),
    /// Set a mark, in place of the one at this place.
    SetNote(Option<usize>, Note),
    /// Delete a mark.
    DropNote(usize),
    /// Bring a mark into view and select its range.
    ShowNote(usize),
    /// Keep which lanes are pinned and hidden in traces that are opened from now on, and do so here.
    KeepLanes(LanePreset),
    /// Filter of lane names.
    FilterLanes(String),
    /// Search for something.
    SearchFor(String),
    /// Find all spans of a name.
    FindName(NameId),
    /// Dim all roles of the legend but this one, or none if they are.
    OnlySwatch(Swatch),
    /// Put text on the clipboard and say so.
    CopyText(String, &'static str),
    /// Copy the open table.
    CopyTable,
    /// Select a range and bring it into view without filling the view with it.
    ShowRange(TimeRange),
    /// Keep export options.
    RememberExport(ExportChoice),
    /// Mark a hint as seen.
    SawHint(&'static str),
    /// Width of the lane tree, points.
    TreeWidth(f32),
    /// Height of the details panel, points.
    DetailsHeight(f32),
    /// Show a page of the help.
    ShowHelp(HelpPage),
    /// Do with a typed path what the open dialog asked for it; whether a file that is there is replaced.
    UsePath(PathBuf, bool),
    /// Close the open dialog.
    CloseDialog,
    /// Open a tab of the details panel.
    ShowTab(Tab),
    /// Show what the names of a layer take.
    NamesOf(LayerId),
    /// Write the picture to a file (and whether to replace one that is there), or to one that the user chooses.
    SavePng(Option<PathBuf>, bool),
    /// Rank shown in tables; `None` = all.
    Scope(Option<usize>),
}
