//! Writes settings beside the UI thread, one write at a time.

use std::thread::JoinHandle;

use super::settings::{Settings, Store};

/// Where settings go, and what is there.
pub struct Saver {
    store: Store,
    saved: Settings,
    running: Option<JoinHandle<()>>,
}

impl Saver {
    /// Writes to `store`, which holds `saved`.
    #[must_use]
    pub fn new(store: Store, saved: Settings) -> Self {
        Self {
            store,
            saved,
            running: None,
        }
    }

    /// True while a write goes on.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.running.as_ref().is_some_and(|s| !s.is_finished())
    }

    /// Begins to write settings that changed.
    pub fn save(&mut self, settings: &Settings) {
        if *settings != self.saved {
            self.saved = settings.clone();
            self.running = self.store.save(settings);
        }
    }

    /// Writes settings and waits for it: the window closes.
    pub fn finish(&mut self, settings: &Settings) {
        if let Some(running) = self.running.take() {
            // A writer that failed has nothing to say.
            let _ = running.join();
        }
        if let Some(last) = self.store.save(settings) {
            let _ = last.join();
        }
    }
}
