//! Dialogs over the window: at most one at a time, closed by Esc.

use egui::{Align, Id, Layout, RichText, Ui, vec2};

use crate::app::model::action::{Action, Actions};
use crate::app::model::state::AppState;

mod error;
mod export;
mod help;
mod lanes;
mod notices;
mod palette;
mod path;
mod runs;
mod text;

pub use error::ErrorDialog;
pub use export::ExportDialog;
pub use help::HelpDialog;
pub use lanes::LanesDialog;
pub use palette::PaletteDialog;
pub use path::PathDialog;
pub use runs::RunsDialog;
pub use text::TextDialog;

/// The open dialog.
pub enum Dialog {
    /// A trace could not be opened.
    Error(Box<ErrorDialog>),
    /// Keys and gestures, and the guide.
    Help(HelpDialog),
    /// What was read, repaired, skipped.
    Notices,
    /// Commands by name.
    Palette(PaletteDialog),
    /// A path, typed.
    Path(Box<PathDialog>),
    /// Which of several runs to look at.
    Runs(RunsDialog),
    /// The timeline as picture.
    Export(Box<ExportDialog>),
    /// The text of a mark, or the name of a lane.
    Text(TextDialog),
    /// Lanes of every trace.
    Lanes(LanesDialog),
}

/// Draws the open dialog.
pub fn dialog_ui(ui: &mut Ui, open: &mut Option<Dialog>, state: &AppState, actions: &mut Actions) {
    let Some(mut dialog) = open.take() else {
        return;
    };
    let title = match &dialog {
        Dialog::Error(e) => e.title(),
        Dialog::Help(h) => h.title(),
        Dialog::Notices => "Notices",
        Dialog::Palette(_) => "Commands",
        Dialog::Path(p) => p.ask.title(),
        Dialog::Runs(_) => "Several runs",
        Dialog::Export(_) => "Export PNG",
        Dialog::Text(t) => t.title(),
        Dialog::Lanes(_) => "Lanes of every trace",
    }
    .to_owned();
    let frame = egui::Frame::popup(ui.style()).inner_margin(14.0);
    // Pages of the help are one dialog.
    let name = match &dialog {
        Dialog::Help(_) => "help",
        _ => title.as_str(),
    };
    let modal = egui::Modal::new(Id::unique(("dialog", name))).frame(frame);
    let screen = ui.ctx().content_rect().width();
    let modal = modal.show(ui.ctx(), |ui| {
        // Before anything is placed: an area remembers how wide it was before the window shrank.
        ui.set_width((screen - 60.0).clamp(260.0, width(&dialog)));
        ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
        let mut close = false;
        let mut stay = |ui: &mut Ui, dialog: &mut Dialog| match dialog {
            Dialog::Error(e) => error::error_ui(ui, e, actions),
            Dialog::Help(h) => help::help_ui(ui, h, state),
            Dialog::Notices => notices::notices_ui(ui, state, actions),
            Dialog::Palette(p) => palette::palette_ui(ui, p, state, actions),
            Dialog::Path(p) => path::path_ui(ui, p, actions),
            Dialog::Runs(r) => runs::runs_ui(ui, r, actions),
            Dialog::Export(e) => export::export_ui(ui, e, state, actions),
            Dialog::Text(t) => text::text_ui(ui, t, actions),
            Dialog::Lanes(l) => lanes::lanes_ui(ui, l, actions),
        };
        if !matches!(dialog, Dialog::Palette(_)) {
            close |= title_ui(ui, &title);
        }
        close |= stay(ui, &mut dialog);
        close
    });
    let outside = modal.backdrop_response.clicked();
    // Closing may have been asked for by what was clicked inside; a dialog opened meanwhile stays.
    if !(modal.inner || outside) {
        *open = Some(dialog);
    } else if let Dialog::Export(e) = dialog {
        actions.push(Action::RememberExport(e.choice));
    }
}

/// Width of a dialog where the window has room for it, points.
fn width(dialog: &Dialog) -> f32 {
    match dialog {
        Dialog::Error(_) | Dialog::Path(_) | Dialog::Runs(_) => 520.0,
        Dialog::Help(_) => 1_100.0,
        Dialog::Notices => 720.0,
        Dialog::Palette(_) | Dialog::Text(_) | Dialog::Lanes(_) => 460.0,
        Dialog::Export(_) => 1_080.0,
    }
}

/// Heading with a close button; true when it was pressed.
fn title_ui(ui: &mut Ui, title: &str) -> bool {
    let mut close = false;
    ui.horizontal(|ui| {
        ui.label(RichText::new(title).strong().size(16.0));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let cross = RichText::new("×").size(18.0);
            let button = egui::Button::new(cross)
                .frame(false)
                .min_size(vec2(24.0, 24.0));
            let response = ui.add(button).on_hover_text("Close (Esc)");
            close = response.accessible_name("Close").clicked();
        });
    });
    ui.add_space(2.0);
    close
}
