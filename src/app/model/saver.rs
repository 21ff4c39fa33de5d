//! Writes settings beside the UI thread, one write at a time.

use std::thread::JoinHandle;

use super::settings::{Settings, Store};

/// Where settings go, and what is there.
pub struct Saver {
    store: Store,
    /// As this window read or wrote them last.
    saved: Settings,
    /// What is being written.
    running: Option<(JoinHandle<bool>, Settings)>,
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
        self.running.as_ref().is_some_and(|(s, _)| !s.is_finished())
    }

    /// Begins to write settings that changed, after what is being written.
    pub fn save(&mut self, settings: &Settings) {
        self.wait();
        if *settings != self.saved {
            let running = self.store.save(settings, &self.saved);
            self.running = running.map(|running| (running, settings.clone()));
        }
    }

    /// Writes settings and waits for it: the window closes.
    pub fn finish(&mut self, settings: &Settings) {
        self.save(settings);
        self.wait();
    }

    fn wait(&mut self) {
        if let Some((running, settings)) = self.running.take() {
            // What was not written is tried again with what changes next.
            if running.join().unwrap_or(false) {
                self.saved = settings;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use super::super::settings::TraceMemory;
    use super::*;
    use crate::output;
    use crate::session::Look;

    fn view(key: &str) -> TraceMemory {
        TraceMemory {
            key: key.to_owned(),
            look: Look {
                view: Some((0, 1)),
                ..Look::default()
            },
        }
    }

    fn open(settings: &mut Settings, name: &str) {
        settings.add_recent(&[PathBuf::from(name)]);
        settings.remember(view(name));
    }

    fn temp(name: &str) -> PathBuf {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("target/tmp/saver")
            .join(name);
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a folder");
        dir
    }

    #[test]
    fn two_windows_keep_what_either_opened_and_looked_at() {
        let dir = temp("two");
        // Each was opened before the other wrote anything; then both write, at once and again and again.
        let windows = ["a", "b"].map(|window| {
            let mut saver = Saver::new(Store::in_dir(&dir), Settings::default());
            let mut settings = Settings::default();
            let thread = std::thread::Builder::new().name(window.to_owned());
            let run = move || {
                for i in 0..4 {
                    open(&mut settings, &format!("{window}{i}"));
                    saver.finish(&settings);
                }
            };
            thread.spawn(run).expect("a thread")
        });
        for window in windows {
            window.join().expect("no panic");
        }
        let settings = Store::in_dir(&dir).load();
        for name in ["a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"] {
            assert!(
                settings.recent.contains(&vec![PathBuf::from(name)]),
                "{name}"
            );
            assert_eq!(settings.trace(name), Some(&view(name)));
        }
        let last = settings.recent[0][0].to_str().expect("UTF-8");
        assert!(last.ends_with('3'), "{last} is the newest");
    }

    #[test]
    fn a_window_that_stopped_while_it_writes_keeps_no_other_from_closing() {
        let dir = temp("stopped");
        let lock = output::lock(&dir.join("window.lock"), Duration::ZERO);
        assert!(lock.is_some());
        let mut saver = Saver::new(Store::in_dir(&dir), Settings::default());
        let settings = Settings {
            ui_percent: 125,
            ..Settings::default()
        };
        saver.finish(&settings);
        assert_eq!(Store::in_dir(&dir).load().ui_percent, 125);
    }
}
