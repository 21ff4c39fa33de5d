//! Everything the user can do by name: text, explanation and keys of each command.
//!
//! The help sheet, the palette, tooltips and the keyboard all read this one table. Knows keys, not what commands do.

use egui::{Key, Modifiers};

/// What a command belongs to, in the order of the help sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Files and exports.
    File,
    /// Moving in time and over lanes.
    View,
    /// Going from one thing to the next.
    Go,
    /// Selecting and copying.
    Select,
    /// Finding spans.
    Search,
    /// Tabs of the details panel.
    Details,
    /// The window itself.
    Window,
}

impl Group {
    /// All groups, in order.
    pub const ALL: [Self; 7] = [
        Self::File,
        Self::View,
        Self::Go,
        Self::Select,
        Self::Search,
        Self::Details,
        Self::Window,
    ];

    /// Heading in the help sheet.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::File => "File",
            Self::View => "View",
            Self::Go => "Go to",
            Self::Select => "Select",
            Self::Search => "Search",
            Self::Details => "Details",
            Self::Window => "Window",
        }
    }
}

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
    const fn place(key: Key) -> Self {
        Self {
            modifiers: Modifiers::NONE,
            key: KeyAt::Place(key),
        }
    }
    const fn typed(key: Key) -> Self {
        Self::with(Modifiers::NONE, key)
    }
    const fn ctrl(key: Key) -> Self {
        Self::with(Modifiers::COMMAND, key)
    }
    const fn ctrl_shift(key: Key) -> Self {
        let both = Modifiers {
            shift: true,
            ..Modifiers::COMMAND
        };
        Self::with(both, key)
    }
    const fn shift(key: Key) -> Self {
        Self::with(Modifiers::SHIFT, key)
    }
    const fn alt(key: Key) -> Self {
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
            Key::A | Key::C | Key::ArrowLeft | Key::ArrowRight | Key::Home
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

macro_rules! commands {
    ($($name:ident $group:ident $text:literal $tip:literal [$($key:expr),*];)*) => {
        /// A named thing the user can do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Command {
            $(#[doc = $tip] $name,)*
        }

        impl Command {
            /// All commands, in the order of the help sheet.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Name in menus, the palette and the help sheet.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// One line that explains it.
            #[must_use]
            pub fn tooltip(self) -> &'static str {
                match self { $(Self::$name => $tip),* }
            }

            /// What it belongs to.
            #[must_use]
            pub fn group(self) -> Group {
                match self { $(Self::$name => Group::$group),* }
            }

            /// Keys, the preferred ones first.
            #[must_use]
            pub fn shortcuts(self) -> &'static [Shortcut] {
                match self { $(Self::$name => { const KEYS: &[Shortcut] = &[$($key),*]; KEYS })* }
            }
        }
    };
}

commands! {
    Open File "Open trace…" "Opens one or more trace files." [Shortcut::ctrl(Key::O)];
    OpenFolder File "Open folder…" "Opens a folder of DFTracer or rank files as one trace." [Shortcut::ctrl_shift(Key::O)];
    Reload File "Reload" "Reads the open files again." [Shortcut::typed(Key::F5)];
    ExportPng File "Export PNG…" "Writes the timeline as a picture, with preview." [Shortcut::ctrl(Key::E)];
    ExportCsv File "Export selection as CSV…" "Writes the Selection table as comma-separated values." [];
    ExportJson File "Export selection as JSON…" "Writes the Selection figures as JSON, times in nanoseconds." [];
    CopyCommand File "Copy command for this view" "Copies the command line that draws this time as PNG; hidden and collapsed lanes are not part of it." [];
    Notices File "Notices" "Lists what was repaired, skipped or missing in the opened files." [];
    Quit File "Quit" "Closes the window." [Shortcut::ctrl(Key::Q)];
    ZoomIn View "Zoom in" "Zooms in 1.25× at the pointer." [Shortcut::place(Key::W), Shortcut::typed(Key::Plus), Shortcut::typed(Key::Equals)];
    ZoomOut View "Zoom out" "Zooms out 1.25× at the pointer." [Shortcut::place(Key::S), Shortcut::typed(Key::Minus)];
    PanLeft View "Pan left" "Moves the view 10 % earlier." [Shortcut::place(Key::A), Shortcut::typed(Key::ArrowLeft)];
    PanRight View "Pan right" "Moves the view 10 % later." [Shortcut::place(Key::D), Shortcut::typed(Key::ArrowRight)];
    PanLeftFine View "Pan left a little" "Moves the view 1 % earlier." [Shortcut::shift(Key::ArrowLeft)];
    PanRightFine View "Pan right a little" "Moves the view 1 % later." [Shortcut::shift(Key::ArrowRight)];
    ScrollUp View "Scroll lanes up" "Shows lanes further up." [Shortcut::typed(Key::PageUp)];
    ScrollDown View "Scroll lanes down" "Shows lanes further down." [Shortcut::typed(Key::PageDown)];
    Fit View "Fit" "Shows the whole trace." [Shortcut::typed(Key::Num0), Shortcut::typed(Key::Home)];
    ZoomToSelection View "Zoom to selection" "Fills the view with the selected range or span." [Shortcut::typed(Key::Z)];
    Centre View "Centre selection" "Centres the selection; a second time fits it." [Shortcut::typed(Key::F)];
    Back View "View back" "Returns to the previous view." [Shortcut::alt(Key::ArrowLeft)];
    Forward View "View forward" "Goes to the next view again." [Shortcut::alt(Key::ArrowRight)];
    ExposedColumns View "Exposed columns" "Shows or hides the columns behind exposed waits." [Shortcut::typed(Key::X)];
    ExpandAll View "Expand all lanes" "Opens every group of the lane tree." [];
    CollapseAll View "Collapse all lanes" "Closes every group of the lane tree." [];
    ToggleGroup View "Open or close group" "Opens or closes the group of the lane of the selected span, or under the pointer." [Shortcut::typed(Key::G)];
    HideLane View "Hide lane" "Hides the lane of the selected span, or under the pointer." [];
    OnlyLane View "Show only this lane" "Hides all lanes but that of the selected span, or under the pointer; again: shows all." [];
    ShowHidden View "Show hidden lanes" "Brings back lanes that were hidden." [];
    NextWait Go "Next exposed wait" "Selects and centres the next exposed batch wait." [Shortcut::typed(Key::N)];
    PreviousWait Go "Previous exposed wait" "Selects and centres the previous exposed batch wait." [Shortcut::shift(Key::N)];
    LongestWait Go "Longest exposed wait" "Selects and centres the batch wait whose exposed part is longest." [Shortcut::typed(Key::L)];
    NextSpan Go "Next span on lane" "Selects the span that follows on the same lane." [Shortcut::typed(Key::Period)];
    PreviousSpan Go "Previous span on lane" "Selects the span before on the same lane." [Shortcut::typed(Key::Comma)];
    ParentSpan Go "Parent span" "Selects the span that contains the selected one." [Shortcut::typed(Key::ArrowUp)];
    ChildSpan Go "First child span" "Selects the first span inside the selected one." [Shortcut::typed(Key::ArrowDown)];
    FollowBack Go "Follow link back" "From GPU work to the call that launched it." [Shortcut::typed(Key::OpenBracket)];
    FollowLink Go "Follow link" "From a call to the GPU work that it launched." [Shortcut::typed(Key::CloseBracket)];
    RangeFromSpan Select "Range from span" "Makes the selected span the selected range." [Shortcut::typed(Key::R)];
    SelectAll Select "Select all" "Selects the whole trace as range." [Shortcut::ctrl(Key::A)];
    Copy Select "Copy" "Copies the selected span or the open table as tab-separated text." [Shortcut::ctrl(Key::C)];
    Pin Select "Pin lane" "Pins the lane of the selected span, or under the pointer, below the overlap band." [Shortcut::typed(Key::P)];
    Clear Select "Clear" "Closes a popup, clears the search, then the selection." [Shortcut::typed(Key::Escape)];
    Search Search "Find spans" "Text in names; lane:… layer:… dur>5ms narrow it." [Shortcut::typed(Key::Slash), Shortcut::ctrl(Key::F)];
    NextHit Search "Next hit" "Selects and centres the next span found." [Shortcut::typed(Key::Enter), Shortcut::typed(Key::F3)];
    PreviousHit Search "Previous hit" "Selects and centres the previous span found." [Shortcut::shift(Key::Enter), Shortcut::shift(Key::F3)];
    Details Details "Details" "Shows or hides the panel below the timeline." [Shortcut::typed(Key::Q)];
    ShowSelection Details "Selection" "Figures of the selected range or the visible window." [Shortcut::ctrl(Key::Num1)];
    ShowWaits Details "Waits" "Every batch wait and what the GPU did meanwhile." [Shortcut::ctrl(Key::Num2)];
    ShowLag Details "CPU/GPU lag" "CPU spans against the GPU work they launched." [Shortcut::ctrl(Key::Num3)];
    ShowSteps Details "Steps" "One bar and one row per training step." [Shortcut::ctrl(Key::Num4)];
    ShowWorkers Details "Workers" "What each loading process did." [Shortcut::ctrl(Key::Num5)];
    ShowStreams Details "Streams" "GPU streams and how much each pair overlaps." [Shortcut::ctrl(Key::Num6)];
    ShowSyncs Details "Syncs" "Calls that waited for the GPU, and for what." [Shortcut::ctrl(Key::Num7)];
    ShowWhatIf Details "What-if" "Step time with other workers, cores or cached data." [Shortcut::ctrl(Key::Num8)];
    ShowVerdict Details "Verdict" "What bounds the training, why, and what to try next." [Shortcut::ctrl(Key::Num9)];
    ToggleTheme Window "Light or dark" "Switches between the light and the dark theme." [Shortcut::ctrl_shift(Key::L)];
    SystemTheme Window "Follow the system theme" "Uses light or dark as the system does." [];
    UiLarger Window "Larger text" "Scales the whole window up." [Shortcut::ctrl(Key::Plus), Shortcut::ctrl(Key::Equals)];
    UiSmaller Window "Smaller text" "Scales the whole window down." [Shortcut::ctrl(Key::Minus)];
    UiReset Window "Normal text" "Scales the window to 100 %." [Shortcut::ctrl(Key::Num0)];
    ReduceMotion Window "Reduce motion" "Turns animated moves on or off." [];
    ColourByName Window "Colour by name" "Shades spans of one layer by their name." [];
    Palette Window "Command palette" "Finds a command by name." [Shortcut::ctrl_shift(Key::P)];
    Help Window "Help" "Lists all keys and mouse gestures." [Shortcut::typed(Key::Questionmark), Shortcut::typed(Key::F1)];
}

impl Command {
    /// Name, explanation and first key, for tooltips of buttons.
    #[must_use]
    pub fn hover_text(self, mac: bool) -> String {
        match self.shortcuts().first() {
            Some(key) => format!("{} ({})", self.tooltip(), key.label(mac)),
            None => self.tooltip().to_owned(),
        }
    }

    /// All keys, for the help sheet: `W, +, =`.
    #[must_use]
    pub fn keys_text(self, mac: bool) -> String {
        let keys: Vec<String> = self.shortcuts().iter().map(|s| s.label(mac)).collect();
        keys.join(", ")
    }

    /// True for commands that need an open trace.
    #[must_use]
    pub fn needs_trace(self) -> bool {
        match self.group() {
            _ if self == Self::Clear => false,
            Group::View | Group::Go | Group::Select | Group::Search | Group::Details => true,
            Group::File => !matches!(self, Self::Open | Self::OpenFolder | Self::Quit),
            Group::Window => false,
        }
    }

    /// The command of a key press. Places on the keyboard come before what keys type.
    #[must_use]
    pub fn for_key(
        key: Key,
        physical: Option<Key>,
        modifiers: Modifiers,
        typing: bool,
    ) -> Option<Self> {
        let find = |by_place: bool| {
            Self::ALL.iter().copied().find(|c| {
                c.shortcuts().iter().any(|s| {
                    matches!(s.key, KeyAt::Place(_)) == by_place
                        && (!typing || s.works_while_typing())
                        && s.matches(key, physical, modifiers)
                })
            })
        };
        find(true).or_else(|| find(false))
    }
}

/// Mouse gestures, for the help sheet: (gesture, what it does).
pub const GESTURES: &[(&str, &str)] = &[
    ("Drag", "Select a range; snaps to span edges, Alt = free"),
    ("Drag an edge", "Move that edge"),
    ("Shift+click", "Extend the range to here"),
    ("Click a span", "Select it"),
    ("Click empty space", "Clear the selection"),
    ("Double-click a span", "Zoom to it"),
    ("Double-click empty space", "Show the whole trace"),
    ("Ctrl+wheel, pinch", "Zoom at the pointer"),
    ("Wheel", "Scroll the lanes"),
    ("Shift+wheel, Shift+drag", "Pan"),
    ("Middle drag, Space+drag", "Pan"),
    ("Right-click", "Menu of the span or lane"),
    (
        "Drag in the overview",
        "Move the view; its handles resize it",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_commands_share_a_key() {
        let mut seen: Vec<(Shortcut, Command)> = Vec::new();
        for &command in Command::ALL {
            for &key in command.shortcuts() {
                if let Some((_, other)) = seen.iter().find(|(k, _)| *k == key) {
                    panic!("{key:?} is both {command:?} and {other:?}");
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
        let mut texts: Vec<_> = Command::ALL.iter().map(|c| c.text()).collect();
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), Command::ALL.len());
        assert!(Command::ALL.iter().all(|c| c.tooltip().ends_with('.')));
    }

    #[test]
    fn wasd_go_by_place_and_letters_by_what_they_type() {
        let none = Modifiers::NONE;
        // AZERTY: the key at the place of W types Z.
        assert_eq!(
            Command::for_key(Key::Z, Some(Key::W), none, false),
            Some(Command::ZoomIn)
        );
        // Dvorak: the key that types N is at the place of L.
        assert_eq!(
            Command::for_key(Key::N, Some(Key::L), none, false),
            Some(Command::NextWait)
        );
        // German: "/" and "?" need Shift.
        assert_eq!(
            Command::for_key(Key::Slash, Some(Key::Num7), Modifiers::SHIFT, false),
            Some(Command::Search)
        );
        assert_eq!(Command::for_key(Key::N, None, none, true), None);
        assert_eq!(
            Command::for_key(Key::E, None, Modifiers::COMMAND, true),
            Some(Command::ExportPng)
        );
        assert_eq!(
            Command::for_key(Key::A, None, Modifiers::COMMAND, true),
            None
        );
    }
}
