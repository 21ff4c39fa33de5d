//! What each action does. The only place where the state changes because of the user.

pub mod navigate;

use egui::Context;

use crate::app::dialogs::{Dialog, ExportDialog, PaletteDialog};
use crate::app::model::action::Action;
use crate::app::model::command::Command;
use crate::app::model::document::Tab;
use crate::app::model::load::Request;
use crate::app::model::picker::{Ask, Picker};
use crate::app::model::picture;
use crate::app::model::settings::ThemeChoice;
use crate::app::model::state::AppState;
use crate::app::panels;
use crate::time::TimeRange;

impl AppState {
    /// Does one thing.
    pub fn apply(&mut self, ctx: &Context, action: Action) {
        match action {
            Action::Do(command) => self.command(ctx, command),
            Action::Open(request) => self.open(ctx, request),
            Action::CancelLoading => {
                if let Some(loading) = self.loading.take() {
                    loading.cancel();
                    self.say("Cancelled".to_owned());
                }
            }
            Action::ForgetRecent(paths) => {
                self.settings.recent.retain(|p| *p != paths);
                self.settings_changed();
            }
            Action::CopyText(text, said) => {
                ctx.copy_text(text);
                self.say(said.to_owned());
            }
            Action::Say(text) => self.say(text),
            Action::Fail(what, details) => self.fail(what, details),
            Action::RememberExport(choice) => {
                self.settings.export = choice;
                self.settings_changed();
            }
            Action::SawHint(hint) => {
                self.settings.saw_hint(hint);
                self.settings_changed();
            }
            Action::TreeWidth(width) => {
                self.settings.tree_width = width;
                self.settings_changed();
            }
            Action::CloseDialog => self.dialog = None,
            Action::SaveText(name, text) => {
                self.pick(ctx, picture::ask_for_text(self, name, text));
            }
            Action::SavePng(file, replace) => picture::save(self, ctx, file, replace),
            other => self.apply_to_view(ctx, other),
        }
    }

    /// Actions on the open trace.
    fn apply_to_view(&mut self, ctx: &Context, action: Action) {
        if self.doc.is_none() {
            return;
        }
        match action {
            Action::SelectRange(range) => self.select_range(range),
            Action::SelectSpan(span) => navigate::select_span(self, span),
            Action::RevealSpan(span) => navigate::reveal_span(self, span),
            Action::ShowWait(wait) => navigate::show_wait(self, wait),
            Action::ZoomToRange(range) => {
                // What was selected before has nothing to do with this range.
                if let Some(doc) = &mut self.doc {
                    doc.span = None;
                    doc.walk.clear();
                }
                self.select_range(Some(range));
                self.view_range(range, 0.1);
            }
            Action::ViewRange(range) => self.view_range(range, 0.1),
            Action::ShowRange(range) => {
                self.select_range(Some(range));
                navigate::bring_into_view(self, range);
            }
            Action::SetWindow(window) => self.jump_to(window),
            Action::GoTo(window) => self.go_to(window),
            Action::CopyTable => self.copy_table(ctx),
            Action::SearchFor(text) => self.search_for(ctx, text),
            Action::ShowTab(tab) => self.show_tab(tab),
            other => self.apply_to_rows(ctx, other),
        }
        self.settings_changed();
    }

    /// Actions on lanes and colours.
    fn apply_to_rows(&mut self, ctx: &Context, action: Action) {
        let Some(doc) = &mut self.doc else {
            return;
        };
        match action {
            Action::ScrollTo(y) => doc.scroll = y.max(0.0),
            Action::ScrollPinned(y) => doc.pinned_scroll = y.max(0.0),
            Action::ScrollBand(y) => doc.band_scroll = y.max(0.0),
            Action::SetGesture(gesture) => doc.gesture = gesture,
            Action::SetMenu(menu) => doc.menu = Some(menu),
            Action::CurrentWait(wait) => doc.walk.set(wait),
            Action::ToggleNode(node) => doc.change_rows(|rows, tree| rows.toggle(tree, node)),
            Action::TogglePin(node) => doc.change_rows(|rows, tree| rows.toggle_pin(tree, node)),
            Action::HideNode(node) => {
                let title = doc.tree.node(node).title.clone();
                doc.change_rows(|rows, tree| rows.hide(tree, node));
                self.say(format!(
                    "{title} is hidden; “Show hidden lanes” (right click, palette) brings it back"
                ));
            }
            Action::ShowOnly(node) => doc.change_rows(|rows, tree| rows.show_only(tree, node)),
            Action::FilterLanes(text) => doc.change_rows(|rows, _| rows.filter = text),
            Action::FindName(name) => {
                let text = format!("=\"{}\"", doc.trace.name(name));
                self.search_for(ctx, text);
            }
            Action::OnlySwatch(swatch) => {
                doc.only = (doc.only != Some(swatch)).then_some(swatch);
            }
            Action::JudgeSelection(on) => doc.judge_selection = on,
            Action::Ask(question) => doc.question = question,
            Action::Scope(rank) => {
                let current = doc.walk.current();
                doc.scope = rank;
                doc.walk = crate::app::model::walk::Walk::new(&doc.analysis, rank);
                if let Some(wait) = current {
                    doc.walk.set(wait);
                }
            }
            _ => {}
        }
    }

    /// Runs a named command.
    pub fn command(&mut self, ctx: &Context, command: Command) {
        if !self.can(command) {
            return;
        }
        match command {
            Command::Open => self.pick(ctx, Ask::Files),
            Command::OpenFolder => self.pick(ctx, Ask::Folder),
            Command::Quit => ctx.send_viewport_cmd(egui::ViewportCommand::Close),
            Command::Palette => self.dialog = Some(Dialog::Palette(PaletteDialog::default())),
            Command::Help => self.toggle_help(),
            Command::Notices => self.dialog = Some(Dialog::Notices),
            Command::ExportPng => {
                self.dialog = ExportDialog::new(self).map(|d| Dialog::Export(Box::new(d)));
            }
            Command::Clear => self.clear(ctx),
            Command::ToggleTheme => {
                let dark = self.look.theme.dark;
                self.settings.theme = if dark {
                    ThemeChoice::Light
                } else {
                    ThemeChoice::Dark
                };
            }
            Command::SystemTheme => self.settings.theme = ThemeChoice::System,
            Command::UiLarger => self.scale_ui(110),
            Command::UiSmaller => self.scale_ui(91),
            Command::UiReset => self.settings.ui_percent = 100,
            Command::ReduceMotion => {
                self.settings.reduce_motion ^= true;
                self.say_switch("Reduce motion", self.settings.reduce_motion);
            }
            Command::ColourByName => {
                self.settings.colour_by_name ^= true;
                self.say_switch("Colour by name", self.settings.colour_by_name);
            }
            Command::ExposedColumns => self.settings.exposed_columns ^= true,
            Command::Details => self.settings.details_open ^= true,
            other => self.trace_command(ctx, other),
        }
        self.settings_changed();
    }

    /// Commands on the open trace.
    fn trace_command(&mut self, ctx: &Context, command: Command) {
        let Some(doc) = &mut self.doc else {
            return;
        };
        match command {
            Command::Reload => {
                let paths = doc.paths.clone();
                self.open(
                    ctx,
                    Request {
                        paths,
                        ..Request::default()
                    },
                );
            }
            Command::Search => self.focus_search = true,
            Command::ExpandAll | Command::CollapseAll => {
                let collapsed = command == Command::CollapseAll;
                doc.change_rows(|rows, tree| {
                    for id in tree.ids().filter(|&id| !tree.node(id).children.is_empty()) {
                        rows.set_collapsed(tree, id, collapsed);
                    }
                });
            }
            Command::ShowHidden => doc.change_rows(|rows, _| rows.show_all()),
            Command::Pin => {
                let node = navigate::lane_in_focus(doc);
                if let Some(node) = node {
                    doc.change_rows(|rows, tree| rows.toggle_pin(tree, node));
                }
            }
            Command::ToggleGroup | Command::HideLane | Command::OnlyLane => {
                let Some(lane) = navigate::lane_in_focus(doc) else {
                    self.say("Select a span or point at a lane first".to_owned());
                    return;
                };
                let action = match (command, doc.tree.node(lane).parent) {
                    (Command::HideLane, _) => Action::HideNode(lane),
                    (Command::OnlyLane, _) => Action::ShowOnly(lane),
                    (_, Some(group)) => Action::ToggleNode(group),
                    (_, None) => return,
                };
                self.apply_to_rows(ctx, action);
            }
            Command::SelectAll => {
                let all = doc.trace.extent();
                self.select_range(Some(all));
            }
            Command::Copy => match panels::copy_span(self) {
                Some(text) => {
                    ctx.copy_text(text);
                    self.say("Span copied".to_owned());
                }
                None => self.copy_table(ctx),
            },
            Command::CopyCommand => {
                ctx.copy_text(picture::command_line(self));
                self.say("Command copied".to_owned());
            }
            Command::ExportCsv | Command::ExportJson => {
                if let Some((name, text)) =
                    panels::selection_file(self, command == Command::ExportJson)
                {
                    self.pick(ctx, picture::ask_for_text(self, name, text));
                }
            }
            Command::ShowSelection => self.open_tab(ctx, Tab::Selection),
            Command::ShowWaits => self.open_tab(ctx, Tab::Waits),
            Command::ShowLag => self.open_tab(ctx, Tab::Lag),
            Command::ShowSteps => self.open_tab(ctx, Tab::Steps),
            Command::ShowWorkers => self.open_tab(ctx, Tab::Workers),
            Command::ShowStreams => self.open_tab(ctx, Tab::Streams),
            Command::ShowSyncs => self.open_tab(ctx, Tab::Syncs),
            Command::ShowWhatIf => self.open_tab(ctx, Tab::WhatIf),
            Command::ShowVerdict => self.open_tab(ctx, Tab::Verdict),
            other => {
                if matches!(other, Command::ZoomIn | Command::ZoomOut) {
                    self.settings.saw_hint("zoom");
                }
                navigate::go(self, other);
            }
        }
    }

    /// Copies the open table, over several frames where it is long.
    fn copy_table(&mut self, ctx: &Context) {
        let doc = self.doc.as_ref();
        if doc.is_some_and(|d| matches!(d.tab, Tab::Verdict | Tab::WhatIf)) {
            if let Some(text) = doc.and_then(panels::verdict_text) {
                ctx.copy_text(text);
                self.say("Verdict copied".to_owned());
            }
            return;
        }
        if let Some(doc) = &mut self.doc {
            doc.copying = Some(panels::Copying::of(doc.tab));
        }
        self.go_on_copying(ctx);
    }

    /// Copies on until this frame's time is used up.
    pub fn go_on_copying(&mut self, ctx: &Context) {
        if let Some(text) = panels::go_on_copying(self) {
            ctx.copy_text(text);
            self.say("Table copied".to_owned());
        } else if self.doc.as_ref().is_some_and(|d| d.copying.is_some()) {
            ctx.request_repaint();
        }
    }

    fn pick(&mut self, ctx: &Context, ask: Ask) {
        if self.picker.is_some() {
            self.say("A file dialog is already open".to_owned());
            return;
        }
        let wake = ctx.clone();
        self.picker = Picker::open(ask, move || wake.request_repaint());
    }

    /// Writes a file without asking, on a thread.
    pub fn write(&mut self, ctx: &Context, ask: Ask) {
        self.pick(ctx, ask);
    }

    fn toggle_help(&mut self) {
        self.dialog = match self.dialog {
            Some(Dialog::Help) => None,
            _ => Some(Dialog::Help),
        };
    }

    /// Esc: popup, opening, search, selection, in this order.
    fn clear(&mut self, ctx: &Context) {
        if self.dialog.is_some() {
            if let Some(Dialog::Export(e)) = &self.dialog {
                self.settings.export = e.choice.clone();
            }
            self.dialog = None;
        } else if self.loading.is_some() {
            self.apply(ctx, Action::CancelLoading);
        } else if let Some(doc) = &mut self.doc {
            if doc.search.is_active() || !doc.search.text.is_empty() {
                self.search_for(ctx, String::new());
            } else {
                doc.walk.clear();
                doc.span = None;
                self.select_range(None);
            }
        }
    }

    fn scale_ui(&mut self, percent: u32) {
        let scaled = (self.settings.ui_percent * percent + 50) / 100;
        self.settings.ui_percent = scaled.clamp(50, 300);
        // Rounding must not keep it from reaching the size that looks best.
        if scaled.abs_diff(100) < 5 {
            self.settings.ui_percent = 100;
        }
    }

    fn say_switch(&mut self, what: &str, on: bool) {
        self.say(format!("{what}: {}", if on { "on" } else { "off" }));
    }

    /// Selects a range; empty ones clear.
    pub fn select_range(&mut self, range: Option<TimeRange>) {
        if let Some(doc) = &mut self.doc {
            let all = doc.trace.extent();
            doc.range = range.map(|r| r.clip(all)).filter(|r| !r.is_empty());
            // The verdict is what loading shows; whoever selects a range wants its figures.
            if doc.range.is_some() && !doc.tab_chosen {
                doc.tab = Tab::Selection;
            }
        }
    }

    /// Brings a range into view.
    pub fn view_range(&mut self, range: TimeRange, margin: f64) {
        if let Some(doc) = &self.doc {
            let window = doc.viewport.window_of(range, margin);
            self.go_to(window);
        }
    }

    fn search_for(&mut self, ctx: &Context, text: String) {
        if let Some(doc) = &mut self.doc {
            let wake = ctx.clone();
            doc.search.start(text, &doc.analysis, &doc.tree, move || {
                wake.request_repaint()
            });
        }
    }

    /// Opens a tab by its key: the focus goes there, so that the next Tab reaches its table.
    fn open_tab(&mut self, ctx: &Context, tab: Tab) {
        self.show_tab(tab);
        panels::focus_tab(ctx);
    }

    fn show_tab(&mut self, tab: Tab) {
        self.settings.details_open = true;
        if let Some(doc) = &mut self.doc {
            doc.tab = tab;
            doc.tab_chosen = true;
        }
    }
}
