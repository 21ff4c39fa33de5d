//! A field for a path, where the system has no file dialog.

use std::path::PathBuf;

use egui::{Key, TextEdit, Ui};

use crate::app::model::action::{Action, Actions};
use crate::app::model::picker::Ask;

/// What is asked for and what was typed.
pub struct PathDialog {
    /// What the path is for.
    pub ask: Ask,
    text: String,
    replace: bool,
    /// The field gets the focus once.
    fresh: bool,
}

impl PathDialog {
    /// Asks for a path.
    #[must_use]
    pub fn new(ask: Ask) -> Self {
        let text = match &ask {
            Ask::Save(name, _) => name.clone(),
            _ => String::new(),
        };
        Self {
            ask,
            text,
            replace: false,
            fresh: true,
        }
    }
}

/// Draws the field; true closes it.
pub fn path_ui(ui: &mut Ui, dialog: &mut PathDialog, actions: &mut Actions) -> bool {
    ui.label("This system has no file dialog: type a path, or paste one.");
    let edit = TextEdit::singleline(&mut dialog.text)
        .hint_text("/path/to/trace.json.gz")
        .desired_width(f32::INFINITY);
    let edit = ui.add(edit).accessible_name("Path");
    if std::mem::take(&mut dialog.fresh) {
        edit.request_focus();
    }
    let entered = edit.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
    let writes = dialog.ask.writes();
    if writes {
        ui.checkbox(&mut dialog.replace, "Replace a file that is there");
    }
    ui.horizontal(|ui| {
        let text = dialog.text.trim();
        let name = if writes { "Save" } else { "Open" };
        let button = ui.add_enabled(!text.is_empty(), egui::Button::new(name));
        if (button.clicked() || entered) && !text.is_empty() {
            // What is done with it is known to this dialog, which the action closes.
            actions.push(Action::UsePath(PathBuf::from(text), dialog.replace));
        }
        ui.button("Cancel").clicked()
    })
    .inner
}
