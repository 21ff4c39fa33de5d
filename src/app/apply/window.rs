//! The window as a whole: its state and its screens. What they do to each other is beside it.

use std::path::PathBuf;

use crate::app::canvas::Focus;
use crate::app::dialogs::Dialog;
use crate::app::model::saver::Saver;
use crate::app::model::settings::Store;
use crate::app::model::state::AppState;
use crate::app::panels::Panels;
use crate::app::shell::dump::Dump;
use crate::session::{Look, Session, WhereNow};

/// The window.
pub struct App {
    /// What is open and how it is looked at.
    pub state: AppState,
    /// The details panel of the open trace.
    pub panels: Panels,
    /// The open dialog.
    pub dialog: Option<Dialog>,
    /// What is found out about the span in focus of the timeline.
    pub(in crate::app) focus: Focus,
    pub(in crate::app) saver: Saver,
    pub(in crate::app) dump: Dump,
    /// What the first trace is compared with, once it is open.
    pub(in crate::app) then_compare: Option<Vec<PathBuf>>,
    /// How a session says that the trace is looked at that is being opened.
    pub(in crate::app) then_look: Option<Look>,
    /// The session of which the user is choosing a trace, and where the others are.
    pub(in crate::app) then_session: Option<(Box<Session>, WhereNow)>,
    /// egui knows the window's styles.
    pub(in crate::app) styled: bool,
}

impl App {
    /// A window that remembers in `store`, with nothing open.
    #[must_use]
    pub fn new(mut store: Store) -> Self {
        let settings = store.load();
        Self {
            state: AppState::new(settings.clone()),
            panels: Panels::default(),
            dialog: None,
            focus: Focus::default(),
            saver: Saver::new(store, settings),
            dump: Dump::from_env(),
            then_compare: None,
            then_look: None,
            then_session: None,
            styled: false,
        }
    }

    /// True while a thread works for the open trace, or its view moves.
    #[must_use]
    pub fn is_busy(&mut self) -> bool {
        let doc = self.state.doc.as_ref();
        doc.is_some_and(|d| d.search.is_running() || d.causes.is_running() || d.moving.is_some())
            || self.panels.is_busy()
            || self.focus.jobs().iter().any(|job| job.is_busy())
    }
}
