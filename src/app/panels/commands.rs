//! Every command: those of the table, and one for each tab of the details panel.

use std::sync::LazyLock;

use super::tabs;
use crate::app::model::command::Command;

/// Every command, in the order of the help sheet.
pub fn commands() -> &'static [Command] {
    static ALL: LazyLock<Vec<Command>> = LazyLock::new(|| {
        let mut all = Command::FIXED.to_vec();
        all.extend(tabs().map(Command::Show));
        all.sort_by_key(|c| c.group());
        all
    });
    &ALL
}

#[cfg(test)]
mod tests {
    use egui::{Key, Modifiers};

    use super::*;
    use crate::app::model::keys::{KeyAt, Shortcut};

    /// Commands that share keys, as never both can be done: see `AppState::can`.
    const SHARED: [[Command; 2]; 2] = [
        [Command::TowardsCause, Command::NextHit],
        [Command::TowardsWait, Command::PreviousHit],
    ];

    #[test]
    fn no_two_commands_share_a_key() {
        let mut seen: Vec<(Shortcut, Command)> = Vec::new();
        for &command in commands() {
            for &key in command.shortcuts() {
                if let Some(&(_, other)) = seen.iter().find(|(k, _)| *k == key) {
                    let both = [other, command];
                    assert!(SHARED.contains(&both), "{key:?} is {both:?}");
                }
                // A place and a typed letter without modifiers are the same key on a US keyboard.
                if let KeyAt::Place(place) = key.key {
                    assert!(
                        !seen
                            .iter()
                            .any(|(k, _)| k.key == KeyAt::Typed(place) && !k.modifiers.any()),
                        "{key:?}"
                    );
                }
                seen.push((key, command));
            }
        }
        assert!(seen.len() > 40);
    }

    #[test]
    fn every_command_has_texts_of_its_own() {
        let mut texts: Vec<_> = commands().iter().map(|c| c.text()).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), commands().len());
        assert!(commands().iter().all(|c| c.tooltip().ends_with('.')));
    }

    #[test]
    fn wasd_go_by_place_and_letters_by_what_they_type() {
        let none = Modifiers::NONE;
        // AZERTY: the key at the place of W types Z.
        assert_eq!(
            Command::for_key(commands(), Key::Z, Some(Key::W), none, false),
            Some(Command::ZoomIn)
        );
        // Dvorak: the key that types N is at the place of L.
        assert_eq!(
            Command::for_key(commands(), Key::N, Some(Key::L), none, false),
            Some(Command::NextWait)
        );
        // German: "/" and "?" need Shift.
        assert_eq!(
            Command::for_key(
                commands(),
                Key::Slash,
                Some(Key::Num7),
                Modifiers::SHIFT,
                false
            ),
            Some(Command::Search)
        );
        assert_eq!(Command::for_key(commands(), Key::N, None, none, true), None);
        assert_eq!(
            Command::for_key(commands(), Key::E, None, Modifiers::COMMAND, true),
            Some(Command::ExportPng)
        );
        assert_eq!(
            Command::for_key(commands(), Key::A, None, Modifiers::COMMAND, true),
            None
        );
    }
}
