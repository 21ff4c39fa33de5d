//! Why the loop waited: what a selected wait was spent on as a bar, and the way down to the item and the read.

use egui::{Color32, Rect, Sense, Ui, pos2, vec2};

use crate::analysis::{Cause, Group, Spent};
use crate::app::model::action::{Action, Actions};
use crate::app::model::chain;
use crate::app::model::command::Command;
use crate::app::model::document::Document;
use crate::app::widgets::look::Look;
use crate::paint::color;
use crate::time::{about_ns, format_ns};
use crate::view::{Swatch, Theme};

/// Height of the bar, points.
const HEIGHT: f32 = 14.0;

/// Draws it, where the selected span is a wait or in the chain below one.
pub fn why_ui(ui: &mut Ui, doc: &Document, look: &Look, actions: &mut Actions) {
    let Some((wait, links, at)) = chain::place(doc) else {
        return;
    };
    let Some(cause) = doc.analysis.cause(wait) else {
        return;
    };
    bar_ui(ui, cause, look);
    if links.is_empty() {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        let span = doc.analysis.waits()[wait].span;
        let top = ui
            .add(egui::Button::selectable(at.is_none(), "Wait").small())
            .on_hover_text(Command::TowardsWait.hover_text(false));
        if top.clicked() {
            actions.push(Action::FollowChain(wait, None, span));
        }
        for (i, link) in links.iter().enumerate() {
            ui.label("›");
            let name = doc.trace.span_name(link.span);
            let length = format_ns(link.range.len());
            let button = egui::Button::selectable(at == Some(i), link.what.title()).small();
            let shown = ui.add(button).on_hover_text(format!("{name}, {length}"));
            if shown.clicked() {
                actions.push(Action::FollowChain(wait, Some(i), link.span));
            }
        }
    });
    ui.add_space(2.0);
}

/// One bar, the parts by length; each says what it is where the pointer rests.
fn bar_ui(ui: &mut Ui, cause: &Cause, look: &Look) {
    let parts = cause.spent();
    let whole: i64 = parts.iter().map(|p| p.ns).sum();
    if whole <= 0 {
        return;
    }
    let size = vec2(ui.available_width(), HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let texts: Vec<String> = parts.iter().map(|p| p.text(about_ns)).collect();
    let label = texts.join(", ");
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, &label));
    let pointer = response.hover_pos();
    let mut x = rect.left();
    for (part, text) in parts.iter().zip(&texts) {
        let width = rect.width() * (part.ns as f64 / whole as f64) as f32;
        let block = Rect::from_min_max(pos2(x, rect.top()), pos2(x + width, rect.bottom()));
        x += width;
        ui.painter()
            .rect_filled(block, 0.0, fill(part, &look.theme));
        if !part.own {
            // Earlier batches: the same colour with a line below.
            let line = block.with_min_y(block.bottom() - 3.0);
            ui.painter().rect_filled(line, 0.0, color(look.theme.text));
        }
        if pointer.is_some_and(|p| block.contains(p)) {
            response.clone().on_hover_text(text);
        }
    }
}

/// The colour of a part: loading work in that of loading, reads in theirs, what is not told in grey.
fn fill(part: &Spent, theme: &Theme) -> Color32 {
    let load = theme.swatch(Swatch::Load);
    let rgba = match part.part.group() {
        Group::Read => theme.swatch(Swatch::Io),
        Group::Decode => load.shade(85),
        Group::Transform | Group::Other => load,
        Group::Collate => load.shade(70),
        Group::HandOver => theme.swatch(Swatch::Cpu),
        Group::Start | Group::Idle | Group::End => theme.swatch(Swatch::Neutral),
        Group::Blocked | Group::UnrecordedWork | Group::Unknown => theme.unrecorded,
    };
    color(rgba)
}
