//! What each command does.

use egui::{Context, ViewportCommand};

use super::navigate::{self, FINE_PAN, KEY_PAN, KEY_SCROLL, KEY_ZOOM};
use super::window::App;
use crate::app::dialogs::{Dialog, ExportDialog, HelpDialog, LanesDialog, PaletteDialog};
use crate::app::model::action::Action;
use crate::app::model::command::Command;
use crate::app::model::guide::HelpPage;
use crate::app::model::load::Request;
use crate::app::model::picker::Ask;
use crate::app::model::related::{child, lane_in_focus, linked, parent};
use crate::app::model::settings::ThemeChoice;
use crate::app::panels::Panels;
use crate::model::LaneId;
use crate::view::NodeId;

/// Said where a command is about a lane and none is in focus.
const NO_LANE: &str = "Select a span or point at a lane first";

impl App {
    /// Runs a command, if it does anything now.
    #[expect(clippy::too_many_lines, reason = "an arm per command")]
    pub(super) fn command(&mut self, ctx: &Context, command: Command) {
        if !self.state.can(command) || self.in_ranks(command) {
            return;
        }
        if self.state.compared.is_some() && self.in_comparison(ctx, command) {
            return;
        }
        let state = &mut self.state;
        match command {
            Command::Open => self.pick(ctx, Ask::Files),
            Command::OpenFolder => self.pick(ctx, Ask::Folder),
            Command::Compare => self.pick(ctx, Ask::Before),
            Command::Reload => self.reload(ctx),
            Command::ExportPng => {
                self.dialog = ExportDialog::new(state).map(|d| Dialog::Export(Box::new(d)));
            }
            Command::SaveTrimmed => self.save_trimmed(ctx),
            Command::ExportCsv => self.export_csv(ctx),
            Command::ExportJson => self.export_json(ctx),
            Command::CopyCommand => self.copy_command(ctx),
            Command::SaveSession => self.save_session(ctx),
            Command::Notices => self.dialog = Some(Dialog::Notices),
            Command::Quit => ctx.send_viewport_cmd(ViewportCommand::Close),
            Command::ZoomIn => navigate::zoom(state, KEY_ZOOM),
            Command::ZoomOut => navigate::zoom(state, 1.0 / KEY_ZOOM),
            Command::PanLeft => navigate::pan(state, -KEY_PAN),
            Command::PanRight => navigate::pan(state, KEY_PAN),
            Command::PanLeftFine => navigate::pan(state, -FINE_PAN),
            Command::PanRightFine => navigate::pan(state, FINE_PAN),
            Command::ScrollUp => navigate::scroll(state, -KEY_SCROLL),
            Command::ScrollDown => navigate::scroll(state, KEY_SCROLL),
            Command::Fit => navigate::fit(state),
            Command::ZoomToSelection => navigate::zoom_to_selection(state),
            Command::Centre => navigate::centre(state),
            Command::Back => navigate::history(state, true),
            Command::Forward => navigate::history(state, false),
            Command::ExposedColumns => state.settings.exposed_columns ^= true,
            Command::ExpandAll => state.on_doc(|doc| doc.collapse_all(false)),
            Command::CollapseAll => state.on_doc(|doc| doc.collapse_all(true)),
            Command::DenseLanes => navigate::dense(state),
            Command::UseAsLoop => self.use_as_loop(ctx),
            Command::ToggleGroup => self.on_lane(ctx, |_, group| group.map(Action::ToggleNode)),
            Command::RenameLane => self.on_lane(ctx, |lane, _| Some(Action::AskName(lane))),
            Command::LaneUp => self.on_lane(ctx, |lane, _| Some(Action::StepLane(lane, false))),
            Command::LaneDown => self.on_lane(ctx, |lane, _| Some(Action::StepLane(lane, true))),
            Command::LanePreset => {
                let dialog = LanesDialog::of(&state.settings.lanes);
                self.dialog = Some(Dialog::Lanes(dialog));
            }
            Command::Undo => state.on_doc(|doc| doc.undo(true)),
            Command::Redo => state.on_doc(|doc| doc.undo(false)),
            Command::HideLane => self.on_lane(ctx, |lane, _| Some(Action::HideNode(lane))),
            Command::OnlyLane => self.on_lane(ctx, |lane, _| Some(Action::ShowOnly(lane))),
            Command::ShowHidden => {
                state.on_doc(|doc| doc.change_rows(|rows, _| rows.show_all()));
            }
            Command::NextWait => navigate::walk(state, true),
            Command::PreviousWait => navigate::walk(state, false),
            Command::LongestWait => navigate::longest_wait(state),
            Command::NextSpan => navigate::to_neighbour(state, true),
            Command::PreviousSpan => navigate::to_neighbour(state, false),
            Command::ParentSpan => navigate::step_to(state, parent),
            Command::ChildSpan => navigate::step_to(state, |t, _, s| child(t, s)),
            Command::TowardsCause => navigate::along_chain(state, true),
            Command::TowardsWait => navigate::along_chain(state, false),
            Command::FollowBack => navigate::step_to(state, |t, _, s| linked(t, s, false)),
            Command::FollowLink => navigate::step_to(state, |t, _, s| linked(t, s, true)),
            Command::SetMark => self.apply(ctx, Action::AskNote(None)),
            Command::NextMark => {
                if let Some(place) = navigate::next_note(state) {
                    self.apply(ctx, Action::ShowNote(place));
                }
            }
            Command::RangeFromSpan => {
                let doc = state.doc.as_ref();
                let range = doc.and_then(|d| Some(d.trace.spans().range(d.span?)));
                self.select_range(range);
            }
            Command::SelectAll => {
                let all = state.doc.as_ref().map(|d| d.trace.extent());
                self.select_range(all);
            }
            Command::Copy => self.copy(ctx),
            Command::Pin => state.on_doc(|doc| {
                if let Some(lane) = lane_in_focus(doc) {
                    doc.toggle_pin(lane);
                }
            }),
            Command::Clear => self.clear(ctx),
            Command::Search => state.focus_search = true,
            Command::NextHit => navigate::hit(state, true),
            Command::PreviousHit => navigate::hit(state, false),
            Command::Details => state.settings.details_open ^= true,
            Command::Show(tab) => {
                self.apply(ctx, Action::ShowTab(tab));
                // The next Tab reaches its table.
                Panels::focus_tab(ctx);
            }
            Command::Ranks => self.toggle_ranks(),
            Command::ToggleTheme => state.next_theme(),
            Command::SystemTheme => state.settings.theme = ThemeChoice::System,
            Command::UiLarger => state.settings.scale_ui(110),
            Command::UiSmaller => state.settings.scale_ui(91),
            Command::UiReset => state.settings.ui_percent = 100,
            Command::ReduceMotion => {
                state.settings.reduce_motion ^= true;
                state.say_switch("Reduce motion", state.settings.reduce_motion);
            }
            Command::ColourByName => {
                state.settings.colour_by_name ^= true;
                state.say_switch("Colour by name", state.settings.colour_by_name);
            }
            Command::Palette => self.dialog = Some(Dialog::Palette(PaletteDialog::default())),
            Command::Guide => {
                let first = HelpPage::first(self.state.doc.is_some());
                self.toggle_help(first);
            }
            Command::Help => self.toggle_help(HelpPage::Keys),
        }
    }

    fn reload(&mut self, ctx: &Context) {
        if let Some(doc) = &self.state.doc {
            let request = Request {
                paths: doc.paths.clone(),
                loops: doc.loops.clone(),
                whole: true,
                ..Request::default()
            };
            self.open(ctx, request);
        }
    }

    /// Makes the lane in focus the loop, or no longer.
    fn use_as_loop(&mut self, ctx: &Context) {
        let doc = self.state.doc.as_ref();
        let lane = doc.and_then(|doc| Some(doc.tree.lane(lane_in_focus(doc)?)?.0));
        match lane {
            Some(lane) => self.toggle_loop(ctx, lane),
            None => self.state.say(NO_LANE.to_owned()),
        }
    }

    /// Everything is worked out anew: the files are read again, as by Reload.
    pub(super) fn toggle_loop(&mut self, ctx: &Context, lane: LaneId) {
        let Some(doc) = &self.state.doc else {
            return;
        };
        let Some(loops) = doc.loops_with(lane) else {
            let text = "Only a thread of a training process can be its loop";
            self.state.say(text.to_owned());
            return;
        };
        let request = Request {
            paths: doc.paths.clone(),
            loops,
            whole: true,
            ..Request::default()
        };
        self.open(ctx, request);
    }

    /// Does something to the lane in focus: gets the lane and its group.
    fn on_lane(
        &mut self,
        ctx: &Context,
        make: impl FnOnce(NodeId, Option<NodeId>) -> Option<Action>,
    ) {
        let Some(doc) = &self.state.doc else {
            return;
        };
        let Some(lane) = lane_in_focus(doc) else {
            self.state.say(NO_LANE.to_owned());
            return;
        };
        if let Some(action) = make(lane, doc.tree.node(lane).parent) {
            self.apply(ctx, action);
        }
    }

    fn toggle_help(&mut self, page: HelpPage) {
        let shows = matches!(self.dialog, Some(Dialog::Help(_)));
        self.dialog = (!shows).then(|| Dialog::Help(HelpDialog::new(page)));
    }

    /// Esc: popup, opening, search, selection, in this order.
    fn clear(&mut self, ctx: &Context) {
        if let Some(dialog) = self.dialog.take() {
            if let Dialog::Export(e) = dialog {
                self.state.settings.export = e.choice;
            }
        } else if self.state.loading.is_some() {
            self.cancel_loading();
        } else if self.state.is_saving() {
            self.cancel_saving();
        } else if let Some(doc) = &mut self.state.doc {
            if doc.search.is_active() || !doc.search.text.is_empty() {
                self.search_for(ctx, String::new());
            } else {
                doc.walk.clear();
                doc.span = None;
                self.select_range(None);
            }
        }
    }
}
