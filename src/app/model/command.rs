//! Everything the user can do by name: text, explanation and keys of each command.
//!
//! The help sheet, the palette, tooltips and the keyboard all read this one table. Knows keys, not what commands do.

use egui::{Key, Modifiers};

use super::keys::{KeyAt, Shortcut};
use super::tab::Tab;

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

macro_rules! commands {
    ($($name:ident $group:ident $text:literal $tip:literal [$($key:expr),*];)*) => {
        /// A named thing the user can do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Command {
            $(#[doc = $tip] $name,)*
            /// Opens a tab of the details panel.
            Show(Tab),
        }

        impl Command {
            /// All commands but those that open a tab, in the order of the help sheet.
            pub const FIXED: &'static [Self] = &[$(Self::$name),*];

            /// Name in menus, the palette and the help sheet.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Show(tab) => tab.title,
                }
            }

            /// One line that explains it.
            #[must_use]
            pub fn tooltip(self) -> &'static str {
                match self {
                    $(Self::$name => $tip,)*
                    Self::Show(tab) => tab.about,
                }
            }

            /// What it belongs to.
            #[must_use]
            pub fn group(self) -> Group {
                match self {
                    $(Self::$name => Group::$group,)*
                    Self::Show(_) => Group::Details,
                }
            }

            /// Keys, the preferred ones first.
            #[must_use]
            pub fn shortcuts(self) -> &'static [Shortcut] {
                match self {
                    $(Self::$name => { const KEYS: &[Shortcut] = &[$($key),*]; KEYS })*
                    Self::Show(tab) => tab.keys(),
                }
            }
        }
    };
}

commands! {
    Open File "Open trace…" "Opens one or more trace files." [Shortcut::ctrl(Key::O)];
    OpenFolder File "Open folder…" "Opens a folder of DFTracer or rank files as one trace." [Shortcut::ctrl_shift(Key::O)];
    Compare File "Compare with…" "Compares the open trace with one before a change: what changed, step by step." [Shortcut::ctrl(Key::D)];
    Reload File "Reload" "Reads the open files again." [Shortcut::typed(Key::F5)];
    ExportPng File "Export PNG…" "Writes the timeline as a picture, with preview." [Shortcut::ctrl(Key::E)];
    SaveTrimmed File "Save selection as trace…" "Writes the selected range, else what shows, as a smaller trace; several ranks become one file each." [Shortcut::ctrl_shift(Key::S)];
    ExportCsv File "Export selection as CSV…" "Writes the Selection table as comma-separated values." [];
    ExportJson File "Export selection as JSON…" "Writes the Selection figures as JSON, times in nanoseconds." [];
    CopyCommand File "Copy command for this view" "Copies the command line that draws this time as PNG; hidden and collapsed lanes are not part of it." [];
    SaveSession File "Save session…" "Writes which traces are open and how they are looked at to a small file; opening it goes on from there, also elsewhere." [Shortcut::ctrl(Key::S)];
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
    Back View "View back" "Returns to the previous view." [Shortcut::alt(Key::ArrowLeft), Shortcut::ctrl(Key::Z)];
    Forward View "View forward" "Goes to the next view again." [Shortcut::alt(Key::ArrowRight), Shortcut::ctrl_shift(Key::Z)];
    ExposedColumns View "Exposed columns" "Shows or hides the columns behind exposed waits." [Shortcut::typed(Key::X)];
    ExpandAll View "Expand all lanes" "Opens every group of the lane tree." [];
    CollapseAll View "Collapse all lanes" "Closes every group of the lane tree." [];
    DenseLanes View "Dense lanes" "Rows of few points without names, so that more than a hundred lanes fit one screen; again: rows with names." [Shortcut::typed(Key::V)];
    UseAsLoop View "Use as training loop" "Takes the lane of the selected span, or under the pointer, for its rank's training loop; again: lets the evidence choose. Reads the files again." [];
    ToggleGroup View "Open or close group" "Opens or closes the group of the lane of the selected span, or under the pointer." [Shortcut::typed(Key::G)];
    RenameLane View "Rename lane…" "Calls the lane of the selected span, or under the pointer, something else." [Shortcut::typed(Key::F2)];
    LaneUp View "Move lane up" "Moves the lane of the selected span, or under the pointer, up among those beside it." [Shortcut::alt(Key::ArrowUp)];
    LaneDown View "Move lane down" "Moves the lane of the selected span, or under the pointer, down among those beside it." [Shortcut::alt(Key::ArrowDown)];
    LanePreset View "Lanes of every trace…" "Says by parts of names which lanes are pinned and hidden in every trace that is opened." [];
    Undo View "Undo lanes and marks" "Takes the last change of lanes or marks back; Ctrl+Z takes back moves of the view." [Shortcut::typed(Key::U)];
    Redo View "Redo lanes and marks" "Does again what was taken back." [Shortcut::shift(Key::U)];
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
    NextMark Go "Next mark" "Goes to the mark that follows the middle of the view; after the last one to the first." [Shortcut::shift(Key::M)];
    FollowBack Go "Follow link back" "From GPU work to the call that launched it." [Shortcut::typed(Key::OpenBracket)];
    FollowLink Go "Follow link" "From a call to the GPU work that it launched." [Shortcut::typed(Key::CloseBracket)];
    TowardsCause Go "Towards the cause" "From a wait to the batch it waited for, the item in that and the read in that." [Shortcut::typed(Key::Enter)];
    TowardsWait Go "Back towards the wait" "The same way back." [Shortcut::shift(Key::Enter), Shortcut::typed(Key::Backspace)];
    SetMark Select "Set mark…" "Sets a mark with a short text at the pointer, or on the selected range." [Shortcut::typed(Key::M)];
    RangeFromSpan Select "Range from span" "Makes the selected span the selected range." [Shortcut::typed(Key::R)];
    SelectAll Select "Select all" "Selects the whole trace as range." [Shortcut::ctrl(Key::A)];
    Copy Select "Copy" "Copies the selected span or the open table as tab-separated text." [Shortcut::ctrl(Key::C)];
    Pin Select "Pin lane" "Pins the lane of the selected span, or under the pointer, below the overlap band." [Shortcut::typed(Key::P)];
    Clear Select "Clear" "Closes a popup, clears the search, then the selection." [Shortcut::typed(Key::Escape)];
    Search Search "Find spans" "Text in names; lane:… layer:… dur>5ms narrow it." [Shortcut::typed(Key::Slash), Shortcut::ctrl(Key::F)];
    NextHit Search "Next hit" "Selects and centres the next span found." [Shortcut::typed(Key::Enter), Shortcut::typed(Key::F3)];
    PreviousHit Search "Previous hit" "Selects and centres the previous span found." [Shortcut::shift(Key::Enter), Shortcut::shift(Key::F3)];
    Details Details "Details" "Shows or hides the panel below the timeline." [Shortcut::typed(Key::Q)];
    Ranks Window "Ranks" "Shows what many ranks cost each other, where a folder of them was opened; again: the trace." [];
    ToggleTheme Window "Light or dark" "Switches between the light and the dark theme." [Shortcut::ctrl_shift(Key::L)];
    SystemTheme Window "Follow the system theme" "Uses light or dark as the system does." [];
    UiLarger Window "Larger text" "Scales the whole window up." [Shortcut::ctrl(Key::Plus), Shortcut::ctrl(Key::Equals)];
    UiSmaller Window "Smaller text" "Scales the whole window down." [Shortcut::ctrl(Key::Minus)];
    UiReset Window "Normal text" "Scales the window to 100 %." [Shortcut::ctrl(Key::Num0)];
    ReduceMotion Window "Reduce motion" "Turns animated moves on or off." [];
    ColourByName Window "Colour by name" "Shades spans of one layer by their name." [];
    Palette Window "Command palette" "Finds a command by name." [Shortcut::ctrl_shift(Key::P)];
    Guide Window "Guide" "Explains what is on the screen, page by page; needs no network." [Shortcut::typed(Key::Questionmark)];
    Help Window "Keys and mouse" "Lists all keys and mouse gestures." [Shortcut::typed(Key::F1)];
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

    /// The one of `commands` that a key press means. Places on the keyboard come before what keys type.
    #[must_use]
    pub fn for_key(
        commands: &[Self],
        key: Key,
        physical: Option<Key>,
        modifiers: Modifiers,
        typing: bool,
    ) -> Option<Self> {
        let find = |by_place: bool| {
            commands.iter().copied().find(|c| {
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
        "Drop files",
        "Open them; on the lower half: compare with them",
    ),
    (
        "Drag in the overview",
        "Move the view; its handles resize it",
    ),
];
