//! What each action does: the only place where the window changes because of the user. Each enum has one match without
//! a wildcard: actions here, commands in `command`.

mod command;
mod compared;
mod copy;
mod navigate;
mod open;
mod ranks;
mod remember;
mod window;

use egui::Context;

use crate::app::dialogs::{Dialog, ErrorDialog, HelpDialog, TextDialog};
use crate::app::model::action::Action;
use crate::app::model::picker::Ask;
use crate::time::TimeRange;
pub use window::App;

impl App {
    /// Does one thing.
    #[expect(clippy::too_many_lines, reason = "an arm per action")]
    pub fn apply(&mut self, ctx: &Context, action: Action) {
        self.say_where(&action);
        let state = &mut self.state;
        match action {
            Action::Do(command) => {
                let now = state.now;
                state.on_doc(|doc| doc.commanded = now);
                self.command(ctx, command);
            }
            Action::Open(request) => self.open(ctx, request),
            Action::CompareWith(paths) => self.compare_with(ctx, paths),
            Action::ToggleLoop(lane) => self.toggle_loop(ctx, lane),
            Action::CancelLoading => self.cancel_loading(),
            Action::CancelSaving => self.cancel_saving(),
            Action::ForgetRecent(paths) => state.settings.recent.retain(|p| *p != paths),
            Action::SelectRange(range) => self.select_range(range),
            Action::SelectSpan(span) => state.on_doc(|doc| doc.select_span(span)),
            Action::RevealSpan(span) => navigate::reveal_span(state, span),
            Action::FollowChain(wait, at, span) => {
                state.on_doc(|doc| doc.chain = at.map(|at| (wait, at)));
                navigate::reveal_span(state, span);
            }
            Action::ShowWait(wait) => navigate::show_wait(state, wait),
            Action::ZoomToRange(range) => {
                // What was selected before has nothing to do with this range.
                state.on_doc(|doc| {
                    doc.span = None;
                    doc.walk.clear();
                });
                self.select_range(Some(range));
                self.state.view_range(range, 0.1);
            }
            Action::ViewRange(range) => state.view_range(range, 0.1),
            Action::ShowRange(range) => {
                self.select_range(Some(range));
                navigate::bring_into_view(&mut self.state, range);
            }
            Action::SetWindow(window) => state.jump_to(window),
            Action::GoTo(window) => state.go_to(window),
            Action::ScrollTo(y) => state.on_doc(|doc| doc.scroll = y.max(0.0)),
            Action::ScrollPinned(y) => state.on_doc(|doc| doc.pinned_scroll = y.max(0.0)),
            Action::ScrollBand(y) => state.on_doc(|doc| doc.band_scroll = y.max(0.0)),
            Action::SetGesture(gesture) => state.on_doc(|doc| doc.gesture = gesture),
            Action::SetMenu(menu) => state.on_doc(|doc| doc.menu = Some(menu)),
            Action::CurrentWait(wait) => state.on_doc(|doc| doc.walk.set(wait)),
            Action::ToggleNode(node) => state.on_doc(|doc| doc.toggle(node)),
            Action::TogglePin(node) => state.on_doc(|doc| doc.toggle_pin(node)),
            Action::HideNode(node) => navigate::hide(state, node),
            Action::ShowOnly(node) => state.on_doc(|doc| doc.show_only(node)),
            Action::AskName(node) => {
                let dialog = state.doc.as_ref().map(|doc| TextDialog::of_lane(doc, node));
                self.dialog = dialog.map(Dialog::Text);
            }
            Action::Rename(node, name) => {
                state.on_doc(|doc| doc.change_rows(|rows, tree| rows.rename(tree, node, &name)));
            }
            Action::StepLane(node, down) => {
                state.on_doc(|doc| doc.change_rows(|rows, tree| rows.step(tree, node, down)));
            }
            Action::PlaceLane(node, other, behind) => state.on_doc(|doc| {
                doc.change_rows(|rows, tree| rows.place(tree, node, other, behind));
            }),
            Action::AskNote(place) => {
                let dialog = state
                    .doc
                    .as_ref()
                    .and_then(|doc| TextDialog::of_note(doc, place));
                self.dialog = dialog.map(Dialog::Text);
            }
            Action::SetNote(place, note) => state.on_doc(|doc| {
                doc.change_notes(|notes| match place {
                    Some(place) if place < notes.len() => notes[place] = note,
                    _ => notes.push(note),
                });
            }),
            Action::DropNote(place) => state.on_doc(|doc| {
                doc.change_notes(|notes| {
                    if place < notes.len() {
                        notes.remove(place);
                    }
                });
            }),
            Action::ShowNote(place) => self.show_note(place),
            Action::KeepLanes(preset) => {
                state.on_doc(|doc| doc.change_rows(|rows, tree| preset.apply(rows, tree)));
                state.settings.lanes = preset;
            }
            Action::FilterLanes(text) => {
                state.on_doc(|doc| doc.change_rows(|rows, _| rows.filter = text));
            }
            Action::SearchFor(text) => self.search_for(ctx, text),
            Action::FindName(name) => {
                if let Some(doc) = &state.doc {
                    let text = format!("=\"{}\"", doc.trace.name(name));
                    self.search_for(ctx, text);
                }
            }
            Action::OnlySwatch(swatch) => {
                state.on_doc(|doc| doc.only = (doc.only != Some(swatch)).then_some(swatch));
            }
            Action::CopyText(text, said) => {
                ctx.copy_text(text);
                state.say(said.to_owned());
            }
            Action::CopyTable => self.copy_table(ctx),
            Action::RememberExport(choice) => state.settings.export = choice,
            Action::SawHint(hint) => state.settings.saw_hint(hint),
            Action::TreeWidth(width) => state.settings.tree_width = width,
            Action::DetailsHeight(height) => state.settings.details_height = height.max(0.0),
            Action::ShowHelp(page) => self.dialog = Some(Dialog::Help(HelpDialog::new(page))),
            Action::UsePath(path, replace) => self.use_path(ctx, path, replace),
            Action::CloseDialog => self.dialog = None,
            Action::ShowTab(tab) => {
                state.settings.details_open = true;
                self.panels.show(tab);
            }
            Action::NamesOf(layer) => {
                state.settings.details_open = true;
                self.panels.show_layer(layer);
            }
            Action::ChooseFor(session, found) => {
                self.pick(ctx, Ask::Files);
                self.then_session = Some((session, found));
            }
            Action::GoOnWith(session, found) => self.go_on_with(ctx, *session, found),
            Action::SavePng(file, replace) => self.save_png(ctx, file, replace),
            Action::Scope(rank) => state.on_doc(|doc| doc.set_scope(rank)),
        }
        self.state.settings_changed();
    }

    /// Selects a range; empty ones clear.
    fn select_range(&mut self, range: Option<TimeRange>) {
        if let Some(doc) = &mut self.state.doc {
            doc.select_range(range);
            if doc.range.is_some() {
                self.panels.range_selected();
            }
        }
    }

    /// Brings a mark into view; its range becomes the selected one.
    fn show_note(&mut self, place: usize) {
        let doc = self.state.doc.as_ref();
        let Some(range) = doc.and_then(|doc| Some(doc.notes.get(place)?.range)) else {
            return;
        };
        match range.is_empty() {
            true => navigate::centre_on(&mut self.state, range.start),
            false => {
                self.select_range(Some(range));
                navigate::bring_into_view(&mut self.state, range);
            }
        }
    }

    fn search_for(&mut self, ctx: &Context, text: String) {
        let wake = ctx.clone();
        self.state.on_doc(|doc| {
            let wake = move || wake.request_repaint();
            doc.search.start(text, &doc.analysis, &doc.tree, wake);
        });
    }

    /// Shows a failure.
    fn fail(&mut self, what: String, details: String) {
        self.dialog = Some(Dialog::Error(Box::new(ErrorDialog::Other(what, details))));
    }
}
