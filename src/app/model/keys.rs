//! Keys with modifiers: which presses they match and how they are written.

use egui::{Key, Modifiers};

/// Which property of a key event a shortcut looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyAt {
    /// The place on the keyboard, whatever is printed there (W A S D).
    Place(Key),
    /// What the key types in the current layout. Shift counts for letters and named keys, not for signs.
    Typed(Key),
}

/// A key with modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortcut {
    /// Modifiers; `command` is Ctrl, or Cmd on a Mac.
    pub modifiers: Modifiers,
    /// The key.
    pub key: KeyAt,
}

impl Shortcut {
    /// A place on the keyboard.
    #[must_use]
    pub const fn place(key: Key) -> Self {
        Self {
            modifiers: Modifiers::NONE,
            key: KeyAt::Place(key),
        }
    }
    /// A key by what it types, alone.
    #[must_use]
    pub const fn typed(key: Key) -> Self {
        Self::with(Modifiers::NONE, key)
    }
    /// The same with Ctrl, or Cmd on a Mac.
    #[must_use]
    pub const fn ctrl(key: Key) -> Self {
        Self::with(Modifiers::COMMAND, key)
    }
    /// With Ctrl and Shift.
    #[must_use]
    pub const fn ctrl_shift(key: Key) -> Self {
        let both = Modifiers {
            shift: true,
            ..Modifiers::COMMAND
        };
        Self::with(both, key)
    }
    /// With Shift.
    #[must_use]
    pub const fn shift(key: Key) -> Self {
        Self::with(Modifiers::SHIFT, key)
    }
    /// With Alt.
    #[must_use]
    pub const fn alt(key: Key) -> Self {
        Self::with(Modifiers::ALT, key)
    }
    const fn with(modifiers: Modifiers, key: Key) -> Self {
        Self {
            modifiers,
            key: KeyAt::Typed(key),
        }
    }

    /// True for shortcuts that also work while a text field has the focus: those with Ctrl or Alt, and function keys.
    #[must_use]
    pub fn works_while_typing(self) -> bool {
        let KeyAt::Typed(key) = self.key else {
            return false;
        };
        let edits_text = matches!(
            key,
            Key::A | Key::C | Key::Z | Key::ArrowLeft | Key::ArrowRight | Key::Home
        );
        ((self.modifiers.command || self.modifiers.alt) && !edits_text)
            || matches!(key, Key::F1 | Key::F3 | Key::F5)
    }

    /// True when a key press is this shortcut.
    #[must_use]
    pub fn matches(self, key: Key, physical: Option<Key>, modifiers: Modifiers) -> bool {
        match self.key {
            KeyAt::Place(place) => physical.unwrap_or(key) == place && !modifiers.any(),
            KeyAt::Typed(typed) => {
                let same_mods = self.modifiers.command == modifiers.command
                    && self.modifiers.alt == modifiers.alt
                    && (self.modifiers.shift == modifiers.shift || is_sign(typed));
                typed == key && same_mods
            }
        }
    }

    /// For display: `Ctrl+Shift+P`, `Cmd+Shift+P`.
    #[must_use]
    pub fn label(self, mac: bool) -> String {
        let (ctrl, alt, shift) = if mac {
            ("Cmd+", "Option+", "Shift+")
        } else {
            ("Ctrl+", "Alt+", "Shift+")
        };
        let mut text = String::new();
        if self.modifiers.command {
            text.push_str(ctrl);
        }
        if self.modifiers.alt {
            text.push_str(alt);
        }
        if self.modifiers.shift {
            text.push_str(shift);
        }
        let (KeyAt::Place(key) | KeyAt::Typed(key)) = self.key;
        text.push_str(match key {
            Key::ArrowLeft => "←",
            Key::ArrowRight => "→",
            Key::ArrowUp => "↑",
            Key::ArrowDown => "↓",
            Key::Escape => "Esc",
            Key::PageUp => "Page up",
            Key::PageDown => "Page down",
            Key::Minus => "−",
            Key::Slash => "/",
            Key::Questionmark => "?",
            Key::Plus => "+",
            Key::Equals => "=",
            Key::Period => ".",
            Key::Comma => ",",
            Key::OpenBracket => "[",
            Key::CloseBracket => "]",
            other => other.name(),
        });
        text
    }
}

/// Signs need Shift on some layouts and not on others.
fn is_sign(key: Key) -> bool {
    matches!(
        key,
        Key::Slash
            | Key::Questionmark
            | Key::Plus
            | Key::Minus
            | Key::Equals
            | Key::Period
            | Key::Comma
            | Key::OpenBracket
            | Key::CloseBracket
    )
}
