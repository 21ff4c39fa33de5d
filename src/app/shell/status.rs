//! The bottom line: pointer, scale, legend, notices.

use egui::{Align, Layout, RichText, Sense, Ui, WidgetInfo, accesskit::Role, pos2, vec2};

use crate::app::model::action::{Action, Actions};
use crate::app::model::command::Command;
use crate::app::model::document::Document;
use crate::app::model::state::AppState;
use crate::app::widgets::table;
use crate::paint::paint;
use crate::time::{Unit, format_count};
use crate::view::LegendEntry;

/// Height of the line, points.
pub const HEIGHT: f32 = 22.0;

/// Draws the line.
pub fn status_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions) {
    let full = ui.max_rect();
    ui.horizontal_centered(|ui| {
        ui.spacing_mut().item_spacing.x = 10.0;
        if let Some(doc) = &state.doc {
            let label = egui::Label::new(
                RichText::new(pointer_text(state))
                    .small()
                    .color(state.look.weak),
            );
            // Fixed, so that the legend does not dance with the pointer.
            ui.add_sized(
                vec2((full.width() * 0.36).min(420.0), HEIGHT - 4.0),
                Left(label),
            );
            let lost = lost_width(ui, doc);
            let shown = legend_that_fits(ui, doc, full.right() - NOTICES - lost);
            for &entry in &doc.legend[..shown] {
                legend_ui(ui, state, actions, entry);
            }
            if let rest @ [_, ..] = &doc.legend[shown..] {
                ui.menu_button("…", |ui| {
                    for &entry in rest {
                        legend_ui(ui, state, actions, entry);
                    }
                })
                .response
                .on_hover_text("More colours");
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            notices_ui(ui, state, actions)
        });
    });
}

/// A label at the left of the place it is given.
struct Left(egui::Label);

impl egui::Widget for Left {
    fn ui(self, ui: &mut Ui) -> egui::Response {
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.add(self.0.truncate())
        })
        .inner
    }
}

/// Cursor time, lane, scale and what was merged.
fn pointer_text(state: &AppState) -> String {
    let Some(doc) = &state.doc else {
        return String::new();
    };
    let mut parts = Vec::new();
    if let Some(time) = doc.pointer.time {
        let unit = Unit::for_length(doc.viewport.range().len().max(1_000_000));
        let ns = doc.viewport.ns_per_px().max(1.0);
        // Enough digits that neighbouring pixels differ.
        let decimals = ((unit.ns() as f64) / ns).log10().ceil().clamp(0.0, 9.0) as u32;
        parts.push(format!("{} {}", unit.format(time, decimals), unit.symbol()));
    }
    if let Some(lane) = &doc.pointer.lane {
        parts.push(lane.clone());
    }
    parts.push(format!("1 px = {}", scale_text(doc.viewport.ns_per_px())));
    match doc.stats.merged_runs {
        0 => {}
        1 => parts.push("1 merged run".to_owned()),
        n => parts.push(format!("{} merged runs", format_count(n))),
    }
    if doc.stats.labels_dropped > 0 {
        parts.push(format!(
            "{} labels left out",
            format_count(doc.stats.labels_dropped)
        ));
    }
    parts.join(" · ")
}

fn scale_text(ns_per_px: f64) -> String {
    let unit = Unit::for_length(ns_per_px as i64);
    let value = ns_per_px / unit.ns() as f64;
    let decimals = if value < 10.0 { 2 } else { 0 };
    format!("{value:.decimals$} {}", unit.symbol())
}

/// Width that notices and the rest of the legend need at the right, points.
const NOTICES: f32 = 110.0;

/// Width of what says that events were lost, points; 0 where none were.
fn lost_width(ui: &Ui, doc: &Document) -> f32 {
    let Some(text) = doc.report.lost() else {
        return 0.0;
    };
    let font = egui::FontId::proportional(11.0);
    let galley = ui
        .painter()
        .layout_no_wrap(text, font, egui::Color32::WHITE);
    galley.size().x + ui.spacing().item_spacing.x
}

/// How many entries of the legend there is room for.
fn legend_that_fits(ui: &Ui, doc: &Document, right: f32) -> usize {
    let mut x = ui.cursor().left();
    let gap = ui.spacing().item_spacing.x;
    let fits = |entry: &&LegendEntry| {
        let font = egui::FontId::proportional(11.0);
        let title = entry.title().to_owned();
        let text = ui
            .painter()
            .layout_no_wrap(title, font, egui::Color32::WHITE);
        x += text.size().x + SAMPLE + gap;
        x <= right
    };
    doc.legend.iter().take_while(fits).count()
}

/// Width of a sample with the space behind it, points.
const SAMPLE: f32 = 17.0;

fn legend_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions, entry: LegendEntry) {
    let Some(doc) = &state.doc else {
        return;
    };
    let swatch = entry.swatch();
    let dimmed = doc.only.is_some_and(|s| s != swatch);
    let text_color = if dimmed {
        state.look.weak
    } else {
        state.look.text
    };
    let font = egui::FontId::proportional(11.0);
    let galley = ui
        .painter()
        .layout_no_wrap(entry.title().to_owned(), font, text_color);
    let size = vec2(galley.size().x + SAMPLE, HEIGHT - 4.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response.widget_info(|| {
        WidgetInfo::selected(
            Role::CheckBox,
            true,
            !dimmed,
            format!("Show {}", entry.title()),
        )
    });
    if response.hovered() || response.has_focus() {
        let fill = ui.visuals().widgets.hovered.weak_bg_fill;
        ui.painter()
            .rect_filled(rect.expand2(vec2(3.0, 0.0)), 3.0, fill);
    }
    if response.has_focus() {
        table::ring(ui, rect.expand2(vec2(3.0, 0.0)));
    }
    let mut painter = ui.painter().clone();
    if dimmed {
        painter.multiply_opacity(0.3);
    }
    let at = pos2(
        rect.left(),
        rect.center().y - LegendEntry::SIZE.height / 2.0,
    );
    paint(&entry.sample(&state.look.theme), &painter, at.round());
    let at = pos2(
        rect.left() + SAMPLE,
        rect.center().y - galley.size().y / 2.0,
    );
    ui.painter().galley(at, galley, text_color);
    if response
        .on_hover_text("Click: dim all other colours; again: show all")
        .clicked()
    {
        actions.push(Action::OnlySwatch(swatch));
    }
}

fn notices_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions) {
    let Some(doc) = &state.doc else {
        return;
    };
    let warnings = doc.report.warnings().count();
    let (text, color) = match (warnings, doc.report.notices.len()) {
        (0, 0) => return,
        (0, n) => (plural(n, "note"), state.look.weak),
        (n, _) => (format!("▲ {}", plural(n, "notice")), state.look.warning),
    };
    // What is missing is said in so many words: every figure is of the rest.
    let lost = doc.report.lost().map(|text| (text, state.look.warning));
    for (text, color) in std::iter::once((text, color)).chain(lost) {
        let button = egui::Button::new(RichText::new(text).small().color(color)).frame(false);
        if ui
            .add(button)
            .on_hover_text(Command::Notices.tooltip())
            .clicked()
        {
            actions.push(Action::Do(Command::Notices));
        }
    }
}

fn plural(n: usize, word: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {word}{s}")
}
