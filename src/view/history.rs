//! Where the view has been: back and forward over whole gestures. Time is passed in; there is no clock here.

use super::viewport::Window;

/// Windows that are remembered.
pub const MAX_ENTRIES: usize = 100;
/// Changes closer than this are one gesture, milliseconds.
pub const GESTURE_MS: u64 = 500;

/// The view history.
#[derive(Clone, Debug, Default)]
pub struct History {
    entries: Vec<Window>,
    at: usize,
    /// When the newest entry last changed; `None` right after going back or forward.
    touched_ms: Option<u64>,
}

impl History {
    /// An empty history.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything (another trace was opened).
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Records that the view is now `window`, at `now_ms` of any steady clock. Calls within [`GESTURE_MS`] of each
    /// other are one entry. What was ahead is forgotten.
    pub fn record(&mut self, window: Window, now_ms: u64) {
        if self.entries.get(self.at) == Some(&window) {
            return;
        }
        let same_gesture = self.at > 0
            && self.at + 1 == self.entries.len()
            && self
                .touched_ms
                .is_some_and(|t| now_ms.saturating_sub(t) < GESTURE_MS);
        self.touched_ms = Some(now_ms);
        if same_gesture {
            self.entries[self.at] = window;
            return;
        }
        self.entries.truncate(self.at + 1);
        self.entries.push(window);
        if self.entries.len() > MAX_ENTRIES {
            self.entries.remove(0);
        }
        self.at = self.entries.len() - 1;
    }

    /// The window before this one.
    pub fn back(&mut self) -> Option<Window> {
        self.at = self.at.checked_sub(1)?;
        self.touched_ms = None;
        Some(self.entries[self.at])
    }

    /// The window after this one, where one went back.
    pub fn forward(&mut self) -> Option<Window> {
        let next = *self.entries.get(self.at + 1)?;
        self.at += 1;
        self.touched_ms = None;
        Some(next)
    }

    /// Whether [`Self::back`] leads anywhere.
    #[must_use]
    pub fn can_go_back(&self) -> bool {
        self.at > 0
    }

    /// Whether [`Self::forward`] leads anywhere.
    #[must_use]
    pub fn can_go_forward(&self) -> bool {
        self.at + 1 < self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn w(start: f64) -> Window {
        Window { start, len: 10.0 }
    }

    #[test]
    fn a_gesture_is_one_entry() {
        let mut h = History::new();
        h.record(w(0.0), 0);
        h.record(w(1.0), 1_000);
        h.record(w(2.0), 1_400);
        h.record(w(3.0), 1_800);
        h.record(w(4.0), 2_300);
        assert_eq!(h.back(), Some(w(3.0)));
        assert_eq!(h.back(), Some(w(0.0)));
        assert_eq!(h.back(), None);
        assert_eq!(h.forward(), Some(w(3.0)));
        assert_eq!(h.forward(), Some(w(4.0)));
        assert!(!h.can_go_forward() && h.can_go_back());
    }

    #[test]
    fn the_first_view_is_never_overwritten() {
        let mut h = History::new();
        h.record(w(0.0), 0);
        h.record(w(1.0), 10);
        assert_eq!(h.back(), Some(w(0.0)));
    }

    #[test]
    fn going_back_and_moving_on_forgets_what_was_ahead() {
        let mut h = History::new();
        for i in 0..5_u32 {
            h.record(w(f64::from(i)), u64::from(i) * 1_000);
        }
        assert_eq!((h.back(), h.back()), (Some(w(3.0)), Some(w(2.0))));
        // What the application reports after going back is not a new view.
        h.record(w(2.0), 4_010);
        assert!(h.can_go_forward());
        h.record(w(9.0), 4_100);
        assert!(!h.can_go_forward());
        assert_eq!(h.back(), Some(w(2.0)));
    }

    #[test]
    fn a_hundred_views_are_kept() {
        let mut h = History::new();
        for i in 0..250_u32 {
            h.record(w(f64::from(i)), u64::from(i) * 1_000);
        }
        let mut steps = 0;
        let mut last = None;
        while let Some(window) = h.back() {
            steps += 1;
            last = Some(window);
        }
        assert_eq!((steps, last), (MAX_ENTRIES - 1, Some(w(150.0))));
    }
}
