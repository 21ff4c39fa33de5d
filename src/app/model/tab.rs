//! A tab of the details panel, as commands, settings and the tab bar know it.

use egui::Key;

use super::keys::Shortcut;

/// A tab. What it is called is said by the panel that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tab {
    /// Its title; also its name in the remembered state.
    pub title: &'static str,
    /// One line that explains it.
    pub about: &'static str,
    /// Its place in the tab bar, from 0.
    pub place: usize,
}

impl Tab {
    /// Keys that open it: Ctrl and its number, for the first nine.
    #[must_use]
    pub fn keys(self) -> &'static [Shortcut] {
        const NUMBERS: [Shortcut; 9] = [
            Shortcut::ctrl(Key::Num1),
            Shortcut::ctrl(Key::Num2),
            Shortcut::ctrl(Key::Num3),
            Shortcut::ctrl(Key::Num4),
            Shortcut::ctrl(Key::Num5),
            Shortcut::ctrl(Key::Num6),
            Shortcut::ctrl(Key::Num7),
            Shortcut::ctrl(Key::Num8),
            Shortcut::ctrl(Key::Num9),
        ];
        const KEYS: &[Shortcut] = &NUMBERS;
        KEYS.get(self.place..=self.place).unwrap_or(&[])
    }
}
