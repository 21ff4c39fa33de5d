//! What was read of each file, and what was repaired, skipped, guessed or missing.

use egui::{RichText, Ui};

use crate::app::model::action::{Action, Actions};
use crate::app::model::load::bytes_text;
use crate::app::model::state::AppState;
use crate::import::{ImportReport, Notice};
use crate::time::format_count;

/// Draws the list; never closes by itself.
pub fn notices_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions) -> bool {
    let screen = ui.ctx().content_rect();
    let Some(doc) = &state.doc else {
        ui.label("No trace is open.");
        return false;
    };
    let report = &doc.report;
    egui::ScrollArea::vertical()
        .max_height((screen.height() - 200.0).max(160.0))
        .min_scrolled_height((screen.height() - 200.0).clamp(160.0, 500.0))
        .auto_shrink([false, true])
        .show(ui, |ui| {
            let own = doc.analysis.notices();
            if report.notices.is_empty() && own.is_empty() {
                ui.label("Everything in these files was read as it is.");
            }
            for notice in own {
                ui.horizontal_wrapped(|ui| {
                    ui.spacing_mut().item_spacing.x = 6.0;
                    ui.label(RichText::new(notice.certainty.label()).strong());
                    ui.label(&notice.text);
                });
            }
            for notice in &report.notices {
                notice_ui(ui, notice, state);
            }
            files_ui(ui, report);
        });
    if ui.button("Copy all").clicked() {
        actions.push(Action::CopyText(report_text(report), "Notices copied"));
    }
    false
}

fn notice_ui(ui: &mut Ui, notice: &Notice, state: &AppState) {
    let color = if notice.kind.is_warning() {
        state.look.warning
    } else {
        ui.visuals().weak_text_color()
    };
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        ui.label(RichText::new(notice.kind.label()).color(color).strong());
        ui.label(&notice.text);
        if notice.whole {
            return;
        }
        if notice.count > 1 {
            ui.label(RichText::new(format!("{}×", format_count(notice.count))).weak());
        }
        if !notice.places.is_empty() {
            let places: Vec<String> = notice.places.iter().map(ToString::to_string).collect();
            ui.label(RichText::new(format!("first: {}", places.join(", "))).weak());
        }
    });
    if let Some(path) = &notice.path {
        ui.label(RichText::new(path.display().to_string()).weak().monospace());
    }
    ui.add_space(2.0);
}

fn files_ui(ui: &mut Ui, report: &ImportReport) {
    ui.add_space(8.0);
    ui.label(RichText::new(format!("Files ({})", report.files.len())).strong());
    for file in &report.files {
        ui.label(RichText::new(file.path.display().to_string()).monospace());
        let mut facts = vec![
            file.format.clone(),
            bytes_text(file.bytes),
            format!("{} events", format_count(file.events)),
        ];
        facts.extend(file.facts.iter().map(|(k, v)| format!("{k} {v}")));
        ui.label(RichText::new(facts.join(" · ")).weak());
        ui.add_space(2.0);
    }
}

fn report_text(report: &ImportReport) -> String {
    let mut text = String::new();
    for notice in &report.notices {
        text.push_str(&format!("{notice}\n"));
    }
    for file in &report.files {
        text.push_str(&format!(
            "{}: {}, {} bytes, {} events\n",
            file.path.display(),
            file.format,
            file.bytes,
            file.events
        ));
    }
    text
}
