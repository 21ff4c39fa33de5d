//! The state of the window: what is open, what is remembered, what is said. Screens only read it; it knows none of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use egui::Context;

use super::chain;
use super::command::Command;
use super::compared::Compared;
use super::document::{Document, Move};
use super::load::Loading;
use super::picker::Picker;
use super::ranks::RanksView;
use super::settings::{Settings, ThemeChoice, ThemeName};
use crate::app::widgets::look::Look;
use crate::import::Progress;
use crate::paint::egui_theme;
use crate::time::TimeRange;
use crate::view::{Theme, Window};

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
    /// What it is compared with, while that shows.
    pub compared: Option<Compared>,
    /// Many ranks that were opened one by one.
    pub ranks: Option<RanksView>,
    /// The session file that what is open came from.
    pub session: Option<PathBuf>,
    /// An opening that runs.
    pub loading: Option<Loading>,
    /// Messages with the time at which they vanish.
    pub toasts: Vec<(String, f64)>,
    /// A file dialog that is open.
    pub picker: Option<Picker>,
    /// A window that is saved, once a file dialog is closed.
    pub saving: Option<Arc<Progress>>,
    /// The file that was written last.
    pub last_written: Option<PathBuf>,
    /// The search box is to get the focus.
    pub focus_search: bool,
    /// Files are being dragged over the window.
    pub drop_hovers: bool,
    /// They would be compared with where they are dragged.
    pub drop_compares: bool,
    /// egui's clock, s.
    pub now: f64,
    /// When changed settings are to be written, s of egui's clock.
    pub save_at: Option<f64>,
    missing: Vec<PathBuf>,
    checking: Option<Receiver<Vec<PathBuf>>>,
}

impl AppState {
    /// Whether a window is being saved: its file was chosen.
    #[must_use]
    pub fn is_saving(&self) -> bool {
        self.saving.as_ref().is_some_and(|s| s.total() > 0)
    }

    /// A window with what is remembered, and nothing open.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let mut state = Self {
            look: Look::new(Theme::dark()),
            mac: cfg!(target_os = "macos"),
            doc: None,
            compared: None,
            ranks: None,
            session: None,
            loading: None,
            toasts: Vec::new(),
            picker: None,
            saving: None,
            last_written: None,
            focus_search: false,
            drop_hovers: false,
            drop_compares: false,
            now: 0.0,
            save_at: None,
            missing: Vec::new(),
            checking: None,
            settings,
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
    pub fn check_recent(&mut self) {
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

    /// Whether the matrix of many ranks shows in place of a trace.
    #[must_use]
    pub fn shows_ranks(&self) -> bool {
        self.ranks.as_ref().is_some_and(|r| r.visible)
    }

    /// Whether a command does anything now.
    #[must_use]
    pub fn can(&self, command: Command) -> bool {
        if command == Command::Ranks {
            return self.ranks.is_some();
        }
        if self.shows_ranks() {
            return !command.needs_trace()
                || matches!(
                    command,
                    Command::ScrollUp
                        | Command::ScrollDown
                        | Command::ZoomIn
                        | Command::ZoomOut
                        | Command::Fit
                );
        }
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
            // While something is searched for, the same keys go from hit to hit.
            Command::TowardsCause => !doc.search.is_active() && chain::step(doc, true).is_some(),
            Command::TowardsWait => !doc.search.is_active() && chain::step(doc, false).is_some(),
            Command::ParentSpan
            | Command::ChildSpan
            | Command::FollowBack
            | Command::FollowLink
            | Command::RangeFromSpan => doc.span.is_some(),
            Command::ShowHidden => doc.rows.hidden_lanes() > 0,
            Command::NextMark => !doc.notes.is_empty(),
            Command::Undo => doc.edits.can(true),
            Command::Redo => doc.edits.can(false),
            _ => true,
        }
    }

    /// Takes which recent files are missing, once that is known.
    pub fn poll_recent(&mut self) {
        if let Some(Ok(missing)) = self.checking.as_ref().map(Receiver::try_recv) {
            self.missing = missing;
            self.checking = None;
        }
    }

    /// Changes the open trace or how it is looked at.
    pub fn on_doc(&mut self, change: impl FnOnce(&mut Document)) {
        if let Some(doc) = &mut self.doc {
            change(doc);
        }
    }

    /// Shows a message for a few seconds.
    pub fn say(&mut self, text: String) {
        self.toasts.push((text, self.now + TOAST_SECONDS));
        if self.toasts.len() > 4 {
            self.toasts.remove(0);
        }
    }

    /// Says that something was turned on or off.
    pub fn say_switch(&mut self, what: &str, on: bool) {
        self.say(format!("{what}: {}", if on { "on" } else { "off" }));
    }

    /// Takes away messages whose time is over.
    pub fn expire_toasts(&mut self, ctx: &Context) {
        let now = self.now;
        self.toasts.retain(|t| t.1 > now);
        if let Some(next) = self.toasts.iter().map(|t| t.1).reduce(f64::min) {
            ctx.request_repaint_after(std::time::Duration::from_secs_f64((next - now).max(0.01)));
        }
    }

    /// Settings are to be written soon.
    pub fn settings_changed(&mut self) {
        self.save_at.get_or_insert(self.now + SAVE_AFTER);
    }

    /// Follows the theme that was chosen and egui's current one.
    pub fn follow_theme(&mut self, ctx: &Context) {
        let choice = self.settings.theme;
        let wanted = match choice {
            ThemeChoice::System => egui::ThemePreference::System,
            ThemeChoice::Named(name) => egui_theme(&name.theme()).into(),
        };
        if ctx.options(|o| o.theme_preference) != wanted {
            ctx.set_theme(wanted);
        }
        let theme = match choice {
            ThemeChoice::System => Theme::of_system(ctx.theme() == egui::Theme::Dark),
            ThemeChoice::Named(name) => name.theme(),
        };
        if self.look.theme != theme {
            self.look = Look::new(theme);
            self.look.use_in(ctx);
        }
    }

    /// Chooses the theme that follows in the list.
    pub fn next_theme(&mut self) {
        let all = Theme::ALL;
        let at = all.iter().position(|t| t.name == self.look.theme.name);
        let next = &all[at.map_or(0, |i| (i + 1) % all.len())];
        self.settings.theme = ThemeChoice::Named(ThemeName::of(next));
    }

    /// Brings a range into view.
    pub fn view_range(&mut self, range: TimeRange, margin: f64) {
        if let Some(doc) = &self.doc {
            let window = doc.viewport.window_of(range, margin);
            self.go_to(window);
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
                doc.moving = Some(Move {
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
}

/// Milliseconds of egui's clock.
fn millis(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1_000.0) as u64
}
