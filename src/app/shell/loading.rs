//! What lies over the window: progress of an opening, messages, the hint while files are dragged over it.

use egui::{Align2, Area, Color32, Frame, Id, Order, ProgressBar, RichText, Stroke, Ui, vec2};

use crate::app::model::action::{Action, Actions};
use crate::app::model::load::{Snapshot, bytes_text};
use crate::app::model::state::AppState;
use crate::import::Phase;
use crate::time::format_count;

/// Between two updates of the progress, s: more than five a second.
const TICK: f32 = 0.1;
/// Openings that are faster than this show no progress, s.
const QUIET: f64 = 0.12;

/// The progress of an opening, over a window that stays usable.
pub fn loading_ui(ui: &Ui, state: &mut AppState, actions: &mut Actions) {
    let Some(loading) = &mut state.loading else {
        return;
    };
    ui.ctx().request_repaint_after_secs(TICK);
    let now = loading.snapshot();
    let name = loading.name();
    if now.elapsed < QUIET {
        return;
    }
    Area::new(Id::unique("loading"))
        .order(Order::Foreground)
        .anchor(Align2::CENTER_CENTER, vec2(0.0, -40.0))
        .show(ui.ctx(), |ui| {
            Frame::popup(ui.style()).inner_margin(18.0).show(ui, |ui| {
                ui.set_width(440.0);
                let title = RichText::new(format!("Opening {name}")).strong().size(14.0);
                ui.add(egui::Label::new(title).truncate());
                ui.add_space(4.0);
                ui.add(bar(&now));
                ui.add_space(2.0);
                ui.label(RichText::new(text(&now)).color(state.look.weak));
                ui.add_space(6.0);
                ui.horizontal(|ui| {
                    if ui.button("Cancel").on_hover_text("Esc").clicked() {
                        actions.push(Action::CancelLoading);
                    }
                    if state.doc.is_some() {
                        let stays = "The open trace stays until this one is ready.";
                        ui.label(RichText::new(stays).small().color(state.look.weak));
                    }
                });
            });
        });
}

/// The progress of a window that is saved.
pub fn saving_ui(ui: &Ui, state: &AppState, actions: &mut Actions) {
    let Some(saving) = state.saving.as_ref().filter(|_| state.is_saving()) else {
        return;
    };
    ui.ctx().request_repaint_after_secs(TICK);
    Area::new(Id::unique("saving"))
        .order(Order::Foreground)
        .anchor(Align2::CENTER_CENTER, vec2(0.0, -40.0))
        .show(ui.ctx(), |ui| {
            Frame::popup(ui.style()).inner_margin(18.0).show(ui, |ui| {
                ui.set_width(440.0);
                ui.label(
                    RichText::new("Saving the range as a trace")
                        .strong()
                        .size(14.0),
                );
                ui.add_space(4.0);
                let (done, total) = (saving.done(), saving.total());
                let share = done as f32 / total as f32;
                // Of what is written anew, args are read where they lie: that is not counted in bytes.
                let anew = saving.events() > 0;
                ui.add(
                    ProgressBar::new(share.min(1.0))
                        .desired_height(8.0)
                        .animate(anew),
                );
                ui.add_space(2.0);
                let text = match anew {
                    true => format!("{} args read", format_count(saving.events())),
                    false => format!("{} of {} read", bytes_text(done), bytes_text(total)),
                };
                ui.label(RichText::new(text).color(state.look.weak));
                ui.add_space(6.0);
                if ui.button("Cancel").on_hover_text("Esc").clicked() {
                    actions.push(Action::CancelSaving);
                }
            });
        });
}

/// Reading fills most of the bar; what comes after it cannot tell how far it is.
fn bar(now: &Snapshot) -> ProgressBar {
    if let Some((done, all)) = now.files {
        let share = done as f32 / all.max(1) as f32;
        return ProgressBar::new(share).desired_height(8.0);
    }
    let read = if now.total > 0 {
        now.done as f32 / now.total as f32
    } else {
        0.0
    };
    let share = match now.phase {
        Phase::Looking => 0.0,
        Phase::Reading => 0.8 * read.min(1.0),
        Phase::Linking => 0.82,
        Phase::Sorting => 0.87,
        Phase::Analysing => 0.93,
    };
    ProgressBar::new(share)
        .desired_height(8.0)
        .animate(now.phase != Phase::Reading)
}

fn text(now: &Snapshot) -> String {
    if let Some((done, all)) = now.files {
        let of = format!(
            "{} of {} files",
            format_count(done as u64),
            format_count(all as u64)
        );
        return format!("Rank by rank · {of} · {}", bytes_text(now.done));
    }
    let mut parts = vec![now.phase.label().to_owned()];
    if now.total > 0 {
        parts.push(format!(
            "{} of {}",
            bytes_text(now.done),
            bytes_text(now.total)
        ));
    }
    if now.phase == Phase::Reading && now.rate > 0.0 {
        parts.push(format!("{}/s", bytes_text(now.rate as u64)));
    }
    if now.events > 0 {
        parts.push(format!("{} events", format_count(now.events)));
    }
    if let (Phase::Reading, Some(left)) = (now.phase, now.left) {
        parts.push(format!("about {} s left", left.ceil().max(1.0)));
    }
    parts.join(" · ")
}

/// Messages at the bottom.
pub fn toasts_ui(ui: &Ui, state: &AppState) {
    if state.toasts.is_empty() {
        return;
    }
    Area::new(Id::unique("messages"))
        .order(Order::Tooltip)
        .interactable(false)
        .anchor(Align2::CENTER_BOTTOM, vec2(0.0, -34.0))
        .show(ui.ctx(), |ui| {
            for (text, _) in &state.toasts {
                Frame::popup(ui.style()).show(ui, |ui| {
                    ui.add(egui::Label::new(text).wrap_mode(egui::TextWrapMode::Extend));
                });
            }
        });
}

/// The window lights up while files are dragged over it.
pub fn drop_hint_ui(ui: &Ui, state: &AppState) {
    if !state.drop_hovers {
        return;
    }
    let layer = egui::LayerId::new(Order::Foreground, Id::unique("drop hint"));
    let painter = ui.ctx().layer_painter(layer);
    let rect = ui.ctx().content_rect();
    painter.rect_filled(rect, 0.0, state.look.select.gamma_multiply(0.18));
    let stroke = Stroke::new(2.0, state.look.select);
    painter.rect_stroke(rect.shrink(6.0), 8.0, stroke, egui::StrokeKind::Inside);
    let font = egui::FontId::proportional(20.0);
    let text = match (state.drop_compares, state.doc.is_some()) {
        (true, _) => "Drop to compare the open trace with this one, the one before",
        (false, true) => "Drop to open; on the lower half: to compare with",
        (false, false) => "Drop to open; several files open as one trace",
    };
    let galley = painter.layout_no_wrap(text.to_owned(), font, state.look.text);
    let back = egui::Rect::from_center_size(rect.center(), galley.size() + vec2(40.0, 24.0));
    painter.rect_filled(back, 8.0, state.look.panel);
    painter.galley(
        back.center() - galley.size() / 2.0,
        galley,
        Color32::PLACEHOLDER,
    );
}
