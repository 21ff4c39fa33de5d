//! Which lanes are pinned and hidden in every trace that is opened.

use egui::{TextEdit, Ui};

use crate::app::model::action::{Action, Actions};
use crate::app::model::settings::LanePreset;

/// The open dialog: a part of a name per line.
pub struct LanesDialog {
    pin: String,
    hide: String,
}

impl LanesDialog {
    /// With what is kept.
    #[must_use]
    pub fn of(preset: &LanePreset) -> Self {
        Self {
            pin: preset.pin.join("\n"),
            hide: preset.hide.join("\n"),
        }
    }

    fn preset(&self) -> LanePreset {
        let lines = |text: &str| -> Vec<String> {
            let lines = text.lines().map(str::trim);
            lines.filter(|l| !l.is_empty()).map(str::to_owned).collect()
        };
        LanePreset {
            pin: lines(&self.pin),
            hide: lines(&self.hide),
        }
    }
}

/// Draws the dialog; true closes it.
pub fn lanes_ui(ui: &mut Ui, dialog: &mut LanesDialog, actions: &mut Actions) -> bool {
    ui.label(
        "A part of a name per line, in any case. It counts for the open trace, and for each that is opened for the first time.",
    );
    for (title, text) in [
        ("Pin these lanes", &mut dialog.pin),
        ("Hide these lanes and groups", &mut dialog.hide),
    ] {
        let label = ui.label(title).id;
        let edit = TextEdit::multiline(text)
            .desired_rows(3)
            .desired_width(f32::INFINITY);
        ui.add(edit).labelled_by(label);
    }
    let mut close = false;
    ui.horizontal(|ui| {
        if ui.button("Keep").clicked() {
            actions.push(Action::KeepLanes(dialog.preset()));
            close = true;
        }
        close |= ui.button("Cancel").clicked();
    });
    close
}
