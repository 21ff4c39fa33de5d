//! Opening traces, and what threads and file dialogs bring back.

use std::path::PathBuf;

use egui::{Context, ViewportCommand};

use super::navigate::DENSE_MARGIN;
use super::remember::recall;
use super::window::App;
use crate::app::canvas::Focus;
use crate::app::dialogs::{Dialog, ErrorDialog, PathDialog, RunsDialog};
use crate::app::model::document::Document;
use crate::app::model::load::{Loading, Outcome, Request};
use crate::app::model::picker::{Ask, Picked, Picker};
use crate::app::panels::Panels;
use crate::import::{ErrorKind, LoadError};
use crate::session::{Session, WhereNow};

impl App {
    /// Starts opening; what is open stays until that is done.
    pub fn open(&mut self, ctx: &Context, request: Request) {
        (self.then_look, self.then_session) = (None, None);
        // What it looked at is gone; a comparison or another loop of the same trace goes on with it.
        if self
            .state
            .doc
            .as_ref()
            .is_none_or(|doc| doc.paths != request.paths)
        {
            self.state.session = None;
        }
        self.start_opening(ctx, request);
    }

    /// Goes on with a session: asks for what is nowhere, and opens its traces once all are known.
    pub(super) fn go_on_with(&mut self, ctx: &Context, session: Session, found: WhereNow) {
        match found {
            WhereNow {
                files: Ok(files),
                before: Ok(before),
            } => self.open_session(ctx, session, [files, before]),
            found => {
                let dialog = ErrorDialog::Lost(Box::new(session), found);
                self.dialog = Some(Dialog::Error(Box::new(dialog)));
            }
        }
    }

    /// Opens the traces of a session, to be looked at as it says: what was opened, and what that was compared with.
    fn open_session(
        &mut self,
        ctx: &Context,
        session: Session,
        [paths, before]: [Vec<PathBuf>; 2],
    ) {
        self.then_look = Some(session.look);
        self.then_compare = (!before.is_empty()).then_some(before);
        let request = Request {
            paths,
            loops: session.loops,
            ..Request::default()
        };
        self.start_opening(ctx, request);
    }

    fn start_opening(&mut self, ctx: &Context, request: Request) {
        if request.paths.is_empty() && request.sample.is_none() {
            return;
        }
        if let Some(running) = self.state.loading.take() {
            running.cancel();
        }
        let wake = ctx.clone();
        match Loading::start(request.clone(), move || wake.request_repaint()) {
            Ok(loading) => self.state.loading = Some(loading),
            Err(e) => self.not_opened(e, request),
        }
    }

    /// Stops opening.
    pub(super) fn cancel_loading(&mut self) {
        if let Some(loading) = self.state.loading.take() {
            loading.cancel();
            self.state.say("Cancelled".to_owned());
        }
    }

    /// Takes what threads finished since the last frame.
    pub(crate) fn poll(&mut self, ctx: &Context) {
        self.state.now = ctx.input(|i| i.time);
        self.state.poll_recent();
        if let Some(outcome) = self.state.loading.as_mut().and_then(Loading::poll) {
            self.opened(ctx, outcome);
        }
        if let Some(picked) = self.state.picker.as_ref().and_then(Picker::poll) {
            self.state.picker = None;
            let saving = self.state.saving.take();
            match picked {
                Picked::Failed(..) if saving.is_some_and(|s| s.is_cancelled()) => {
                    self.state.say("Cancelled: nothing was written".to_owned());
                }
                picked => self.picked(ctx, picked),
            }
        }
        self.state.on_doc(|doc| {
            doc.search.poll();
            let wake = ctx.clone();
            doc.poll_causes(move || wake.request_repaint());
        });
        self.panels.poll();
        for job in self.focus.jobs() {
            job.poll();
        }
        self.go_on_copying(ctx);
        self.state.expire_toasts(ctx);
    }

    /// Does with a typed path what the open dialog asked for it.
    pub(super) fn use_path(&mut self, ctx: &Context, path: PathBuf, replace: bool) {
        let Some(Dialog::Path(dialog)) = self.dialog.take() else {
            return;
        };
        match dialog.ask {
            Ask::Files | Ask::Folder => self.picked(ctx, Picked::Open(vec![path])),
            Ask::Before => self.picked(ctx, Picked::Before(vec![path])),
            Ask::Save(_, make) | Ask::Write(_, _, make) => {
                self.pick(ctx, Ask::Write(path, replace, make));
            }
        }
    }

    fn picked(&mut self, ctx: &Context, picked: Picked) {
        if !matches!(picked, Picked::Open(_) | Picked::NoDialog(_)) {
            self.then_session = None;
        }
        match picked {
            Picked::Open(paths) => {
                if let Some((session, mut found)) = self.then_session.take() {
                    // They are asked for in this order.
                    match found.files.is_err() {
                        true => found.files = Ok(paths),
                        false => found.before = Ok(paths),
                    }
                    return self.go_on_with(ctx, *session, found);
                }
                let request = Request {
                    paths,
                    ..Request::default()
                };
                self.open(ctx, request);
            }
            Picked::Before(paths) => self.compare_with(ctx, paths),
            Picked::Written(path, left_out) => {
                let left_out = match left_out.is_empty() {
                    true => left_out,
                    false => format!(". {left_out}"),
                };
                self.state
                    .say(format!("Written: {}{left_out}", path.display()));
                if let Some(Dialog::Export(dialog)) = &self.dialog {
                    self.state.settings.export = dialog.choice.clone();
                    self.dialog = None;
                }
                self.state.settings.export_folder = path.parent().map(Into::into);
                self.state.settings_changed();
                self.state.last_written = Some(path);
            }
            Picked::Exists(path) => {
                if let Some(Dialog::Export(dialog)) = &mut self.dialog {
                    dialog.exists = Some(path);
                } else {
                    let file = path.display();
                    self.state
                        .say(format!("{file} is there already: nothing was written"));
                }
            }
            Picked::NoDialog(ask) => {
                self.dialog = Some(Dialog::Path(Box::new(PathDialog::new(ask))));
            }
            Picked::Failed(what, details) => self.fail(what, details),
            Picked::Nothing => {}
        }
    }

    fn opened(&mut self, ctx: &Context, outcome: Outcome) {
        let Some(loading) = self.state.loading.take() else {
            return;
        };
        match outcome {
            Outcome::Opened(doc) => match RunsDialog::of(&doc) {
                Some(runs) => self.dialog = Some(Dialog::Runs(runs)),
                None => self.show_trace(ctx, *doc),
            },
            Outcome::Ranks(ranks) => self.show_ranks(ctx, *ranks, loading.request.paths),
            Outcome::Compared(compared) => self.show_comparison(*compared),
            Outcome::Session(session, found) => {
                self.state.session = loading.request.paths.into_iter().next();
                self.go_on_with(ctx, *session, found);
            }
            Outcome::Failed(e) if e.kind == ErrorKind::Cancelled => {}
            Outcome::Failed(e) => self.not_opened(e, loading.request),
        }
    }

    pub(super) fn not_opened(&mut self, why: LoadError, request: Request) {
        let dialog = ErrorDialog::Failed(why, request);
        self.dialog = Some(Dialog::Error(Box::new(dialog)));
    }

    /// Makes a trace the open one, as it was looked at last time.
    fn show_trace(&mut self, ctx: &Context, mut doc: Document) {
        self.close_comparison(ctx);
        self.leave_ranks(&doc.paths);
        self.remember();
        let state = &mut self.state;
        if !doc.is_sample {
            state.settings.add_recent(&doc.paths);
        }
        state.check_recent();
        let mut panels = Panels::default();
        if let Some(memory) = state.settings.trace(&doc.key) {
            recall(&mut doc, &mut panels, &memory.look);
        } else {
            let lanes = &state.settings.lanes;
            doc.change_rows(|rows, tree| lanes.apply(rows, tree));
            doc.edits.clear();
        }
        if let Some(look) = self.then_look.take() {
            let gone = look.gone(&doc.tree, doc.trace.extent());
            recall(&mut doc, &mut panels, &look);
            for text in gone {
                state.say(text);
            }
        }
        let dense = state.settings.dense_lanes;
        if doc.row_state.dense != dense {
            doc.change_rows(|rows, _| rows.dense = dense);
        }
        // Where it was looked at before, it is looked at as it was.
        if doc.viewport.is_fit()
            && let Some(part) = doc.dense.take()
        {
            doc.viewport.zoom_to(part.range, DENSE_MARGIN);
            state.say(part.text());
            doc.dense = Some(part);
        }
        doc.history.record(doc.viewport.window(), 0);
        let title = format!("{} – Stallscope", doc.name);
        ctx.send_viewport_cmd(ViewportCommand::Title(title));
        self.focus = Focus::default();
        let old_panels = std::mem::replace(&mut self.panels, panels);
        if let Some(old) = state.doc.replace(doc) {
            // Millions of spans take their time to go. Where no thread starts, they go here.
            let thread = std::thread::Builder::new().name("stallscope-close".to_owned());
            drop(thread.spawn(move || drop((old, old_panels))));
        }
        state.settings_changed();
        if let Some(before) = self.then_compare.take() {
            self.compare_with(ctx, before);
        }
    }
}
