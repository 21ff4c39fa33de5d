//! The state of the window and what each action does to it. Panels only read it.

use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use egui::Context;

use crate::app::dialogs::{Dialog, ErrorDialog};
use crate::app::model::action::{Action, Actions};
use crate::app::model::command::{Command, Group};
use crate::app::model::document::{Document, Tab};
use crate::app::model::load::{Loading, Outcome, Request};
use crate::app::model::picker::{Picked, Picker};
use crate::app::model::settings::{Settings, Store, ThemeChoice, TraceMemory};
use crate::app::widgets::look::Look;
use crate::import::ErrorKind;
use crate::time::TimeRange;
use crate::view::Window;

/// How long a message shows, s.
const TOAST_SECONDS: f64 = 4.0;
/// Settings are written this long after they changed, s.
const SAVE_AFTER: f64 = 1.0;

/// Everything the window shows.
pub struct AppState {
    /// What is remembered between runs.
    pub settings: Settings,
    /// Colours of the current theme.
    pub look: Look,
    /// Keys are named as on a Mac.
    pub mac: bool,
    /// The open trace.
    pub doc: Option<Document>,
    /// An opening that runs.
    pub loading: Option<Loading>,
    /// The open dialog.
    pub dialog: Option<Dialog>,
    /// Messages with the time at which they vanish.
    pub toasts: Vec<(String, f64)>,
    /// A file dialog that is open.
    pub picker: Option<Picker>,
    /// The file that was written last.
    pub last_written: Option<PathBuf>,
    /// The search box is to get the focus.
    pub focus_search: bool,
    /// Files are being dragged over the window.
    pub drop_hovers: bool,
    pub(in crate::app) store: Store,
    pub(in crate::app) now: f64,
    saving: Option<std::thread::JoinHandle<()>>,
    saved: Settings,
    save_at: Option<f64>,
    missing: Vec<PathBuf>,
    checking: Option<Receiver<Vec<PathBuf>>>,
}

impl AppState {
    /// A window with what `store` remembers.
    #[must_use]
    pub fn new(mut store: Store) -> Self {
        let settings = store.load();
        let mut state = Self {
            look: Look::new(true),
            mac: cfg!(target_os = "macos"),
            doc: None,
            loading: None,
            dialog: None,
            toasts: Vec::new(),
            picker: None,
            last_written: None,
            focus_search: false,
            drop_hovers: false,
            now: 0.0,
            saving: None,
            saved: settings.clone(),
            save_at: None,
            missing: Vec::new(),
            checking: None,
            settings,
            store,
        };
        state.check_recent();
        state
    }

    /// Whether any of these files was missing when it was last looked for.
    #[must_use]
    pub fn is_missing(&self, paths: &[PathBuf]) -> bool {
        paths.iter().any(|p| self.missing.contains(p))
    }

    /// Looks for recent files on a thread: a path may be on a network that does not answer.
    fn check_recent(&mut self) {
        let paths: Vec<PathBuf> = self.settings.recent.iter().flatten().cloned().collect();
        let (send, receive) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("stallscope-recent".to_owned());
        let spawned = thread.spawn(move || {
            let missing = paths.into_iter().filter(|p| !p.exists()).collect();
            // The window may be gone.
            let _ = send.send(missing);
        });
        self.checking = spawned.is_ok().then_some(receive);
    }

    /// Whether a command does anything now.
    #[must_use]
    pub fn can(&self, command: Command) -> bool {
        let Some(doc) = &self.doc else {
            return !command.needs_trace();
        };
        match command {
            Command::Back => doc.history.can_go_back(),
            Command::Forward => doc.history.can_go_forward(),
            Command::ZoomToSelection | Command::Centre => doc.range.is_some() || doc.span.is_some(),
            Command::NextWait | Command::PreviousWait | Command::LongestWait => {
                !doc.walk.is_empty()
            }
            Command::NextHit | Command::PreviousHit => !doc.search.hits.is_empty(),
            Command::ParentSpan
            | Command::ChildSpan
            | Command::FollowBack
            | Command::FollowLink
            | Command::RangeFromSpan => doc.span.is_some(),
            Command::ShowHidden => doc.rows.hidden_lanes() > 0,
            _ => true,
        }
    }

    /// Takes what threads finished since the last frame.
    pub fn poll(&mut self, ctx: &Context, actions: &mut Actions) {
        self.now = ctx.input(|i| i.time);
        if let Some(Ok(missing)) = self.checking.as_ref().map(Receiver::try_recv) {
            self.missing = missing;
            self.checking = None;
        }
        if let Some(outcome) = self.loading.as_mut().and_then(Loading::poll) {
            self.opened(ctx, outcome);
        }
        match self.picker.as_ref().and_then(Picker::poll) {
            Some(Picked::Open(paths)) => {
                self.picker = None;
                actions.push(Action::Open(Request {
                    paths,
                    ..Request::default()
                }));
            }
            Some(Picked::Written(path)) => {
                self.picker = None;
                self.say(format!("Written: {}", path.display()));
                if matches!(self.dialog, Some(Dialog::Export(_))) {
                    self.close_export();
                }
                self.settings.export_folder = path.parent().map(Into::into);
                self.settings_changed();
                self.last_written = Some(path);
            }
            Some(Picked::Exists(path)) => {
                self.picker = None;
                if let Some(Dialog::Export(dialog)) = &mut self.dialog {
                    dialog.exists = Some(path);
                }
            }
            Some(Picked::NoDialog) => {
                self.picker = None;
                let what = "This system has no file dialog.".to_owned();
                let instead =
                    "Drop files on the window, or name them on the command line: stallscope PATH…";
                self.fail(what, instead.to_owned());
            }
            Some(Picked::Failed(what, details)) => {
                self.picker = None;
                self.fail(what, details);
            }
            Some(Picked::Nothing) => self.picker = None,
            None => {}
        }
        if let Some(doc) = &mut self.doc {
            doc.search.poll();
            doc.jobs.poll();
        }
        self.go_on_copying(ctx);
        let now = self.now;
        self.toasts.retain(|t| t.1 > now);
        if let Some(next) = self.toasts.iter().map(|t| t.1).reduce(f64::min) {
            ctx.request_repaint_after(std::time::Duration::from_secs_f64((next - now).max(0.01)));
        }
    }

    /// Shows a message for a few seconds.
    pub fn say(&mut self, text: String) {
        self.toasts.push((text, self.now + TOAST_SECONDS));
        if self.toasts.len() > 4 {
            self.toasts.remove(0);
        }
    }

    /// Shows a failure.
    pub fn fail(&mut self, what: String, details: String) {
        self.dialog = Some(Dialog::Error(Box::new(ErrorDialog::Other(what, details))));
    }

    /// Starts opening; what is open stays until that is done.
    pub fn open(&mut self, ctx: &Context, request: Request) {
        if request.paths.is_empty() && request.sample.is_none() {
            return;
        }
        if let Some(running) = self.loading.take() {
            running.cancel();
        }
        let wake = ctx.clone();
        match Loading::start(request.clone(), move || wake.request_repaint()) {
            Ok(loading) => self.loading = Some(loading),
            Err(e) => {
                let dialog = ErrorDialog::Failed(e, request);
                self.dialog = Some(Dialog::Error(Box::new(dialog)));
            }
        }
    }

    fn opened(&mut self, ctx: &Context, outcome: Outcome) {
        let Some(loading) = self.loading.take() else {
            return;
        };
        match outcome {
            Outcome::Opened(doc) => self.show(ctx, *doc),
            Outcome::Failed(e) if e.kind == ErrorKind::Cancelled => {}
            Outcome::Failed(e) => {
                let dialog = ErrorDialog::Failed(e, loading.request);
                self.dialog = Some(Dialog::Error(Box::new(dialog)));
            }
        }
    }

    /// Closes the export dialog; its options are kept.
    fn close_export(&mut self) {
        if let Some(Dialog::Export(dialog)) = self.dialog.take() {
            self.settings.export = dialog.choice;
        }
    }

    /// Makes a trace the open one, as it was looked at last time.
    fn show(&mut self, ctx: &Context, mut doc: Document) {
        self.remember();
        if !doc.is_sample {
            self.settings.add_recent(&doc.paths);
        }
        self.check_recent();
        if let Some(memory) = self.settings.trace(&doc.key) {
            recall(&mut doc, memory);
        }
        doc.history.record(doc.viewport.window(), 0);
        ctx.send_viewport_cmd(egui::ViewportCommand::Title(format!(
            "{} – Stallscope",
            doc.name
        )));
        if let Some(old) = self.doc.replace(doc) {
            // Millions of spans take their time to go. Where no thread starts, they go here.
            let thread = std::thread::Builder::new().name("stallscope-close".to_owned());
            drop(thread.spawn(move || drop(old)));
        }
        self.settings_changed();
    }

    /// Puts the view of the open trace into the settings.
    fn remember(&mut self) {
        let Some(doc) = &self.doc else {
            return;
        };
        let range = doc.viewport.range();
        self.settings.remember(TraceMemory {
            key: doc.key.clone(),
            view: (!doc.viewport.is_fit()).then_some((range.start, range.end)),
            range: doc.range.map(|r| (r.start, r.end)),
            tab: Some(doc.tab.title().to_owned()),
            pinned: doc.row_state.pinned.clone(),
            hidden: doc.row_state.hidden.iter().cloned().collect(),
            toggled: doc.row_state.toggled.iter().cloned().collect(),
        });
    }

    /// Settings are to be written soon.
    pub fn settings_changed(&mut self) {
        self.save_at.get_or_insert(self.now + SAVE_AFTER);
    }

    /// Writes settings that changed a while ago, one write at a time.
    pub fn save_soon(&mut self, ctx: &Context) {
        let size = ctx.input(|i| i.viewport().inner_rect.map(|r| r.size()));
        if let Some(size) = size.filter(|s| s.x >= 640.0 && s.y >= 420.0) {
            let percent = self.settings.ui_percent as f32 / 100.0;
            self.settings.window = Some((size.x * percent, size.y * percent));
        }
        let Some(at) = self.save_at else {
            return;
        };
        let wait = at - self.now;
        let busy = self.saving.as_ref().is_some_and(|s| !s.is_finished());
        if wait > 0.0 || busy {
            ctx.request_repaint_after(std::time::Duration::from_secs_f64(wait.max(0.05)));
            return;
        }
        self.save_at = None;
        self.remember();
        if self.settings != self.saved {
            self.saved = self.settings.clone();
            self.saving = self.store.save(&self.settings);
        }
    }

    /// Writes settings now and waits for it: the window closes.
    pub fn save_now(&mut self) {
        self.remember();
        if let Some(running) = self.saving.take() {
            // A writer that failed has nothing to say.
            let _ = running.join();
        }
        if let Some(last) = self.store.save(&self.settings) {
            let _ = last.join();
        }
    }

    /// Follows the theme that was chosen and egui's current one.
    pub fn follow_theme(&mut self, ctx: &Context) {
        let wanted = match self.settings.theme {
            ThemeChoice::System => egui::ThemePreference::System,
            ThemeChoice::Light => egui::ThemePreference::Light,
            ThemeChoice::Dark => egui::ThemePreference::Dark,
        };
        if ctx.options(|o| o.theme_preference) != wanted {
            ctx.set_theme(wanted);
        }
        let dark = ctx.theme() == egui::Theme::Dark;
        if self.look.theme.dark != dark {
            self.look = Look::new(dark);
        }
    }

    /// Goes to a window of time, animated unless motion is reduced.
    pub fn go_to(&mut self, window: Window) {
        let (now, still) = (self.now, self.settings.reduce_motion);
        if let Some(doc) = &mut self.doc {
            doc.history.record(window, millis(now));
            if still {
                doc.moving = None;
                doc.viewport.set_window(window);
            } else {
                doc.moving = Some(crate::app::model::document::Move {
                    from: doc.viewport.window(),
                    to: window,
                    begun: now,
                });
            }
        }
    }

    /// Goes to a window at once: a gesture is going on.
    pub fn jump_to(&mut self, window: Window) {
        let now = self.now;
        if let Some(doc) = &mut self.doc {
            doc.moving = None;
            doc.viewport.set_window(window);
            doc.history.record(doc.viewport.window(), millis(now));
        }
    }

    /// The range that panels are about: the selected one, else what shows of the trace.
    #[must_use]
    pub fn focus_range(&self) -> Option<(TimeRange, bool)> {
        let doc = self.doc.as_ref()?;
        Some(match doc.range {
            Some(range) => (range, true),
            None => (doc.viewport.range().clip(doc.trace.extent()), false),
        })
    }

    /// The commands that the palette and help list, by group.
    #[must_use]
    pub fn commands_of(group: Group) -> Vec<Command> {
        Command::ALL
            .iter()
            .copied()
            .filter(|c| c.group() == group)
            .collect()
    }
}

/// Milliseconds of egui's clock.
fn millis(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1_000.0) as u64
}

/// Restores how a trace was looked at. What does not fit it (any more) is left out.
fn recall(doc: &mut Document, memory: &TraceMemory) {
    let extent = doc.trace.extent();
    let range = |pair: Option<(i64, i64)>| {
        let (start, end) = pair?;
        let range = TimeRange::new(start, end);
        (range.overlaps(extent) && end > start).then_some(range)
    };
    if let Some(view) = range(memory.view) {
        doc.viewport.zoom_to(view, 0.0);
    }
    doc.range = range(memory.range).map(|r| r.clip(extent));
    if let Some(tab) = memory.tab.as_deref().and_then(Tab::find) {
        doc.tab = tab;
        doc.tab_chosen = tab != Tab::Verdict;
    }
    doc.change_rows(|rows, tree| {
        let known = |key: &&String| tree.find(key).is_some();
        rows.pinned = memory.pinned.iter().filter(known).cloned().collect();
        rows.hidden = memory.hidden.iter().filter(known).cloned().collect();
        rows.toggled = memory.toggled.iter().filter(known).cloned().collect();
    });
}
