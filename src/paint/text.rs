//! Lines of text.

use std::sync::Arc;

use egui::epaint::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{FontId, Galley, Painter, Pos2, Vec2};

use super::color;
use crate::view::{Align, Font, Text};

/// The egui font of a typeface.
#[must_use]
pub fn font_id(font: Font) -> FontId {
    match font {
        Font::Label => FontId::monospace(11.0),
        Font::Small => FontId::proportional(11.0),
        Font::Body | Font::Strong => FontId::proportional(12.5),
        Font::Title => FontId::proportional(15.0),
    }
}

pub(super) fn paint(text: &Text, painter: &Painter, origin: Pos2) {
    if text.text.is_empty() || text.max_width <= 0.0 {
        return;
    }
    let galley = galley(text, painter);
    let width = galley.size().x;
    let x = match text.align {
        Align::Left => text.at.x,
        Align::Center => text.at.x - width / 2.0,
        Align::Right => text.at.x - width,
    };
    let scale = painter.pixels_per_point();
    let snap = |v: f32| (v * scale).round() / scale;
    // Capitals are centred on `at.y`, so that sizes and typefaces side by side share a baseline.
    let baseline = snap(origin.y + text.at.y + CAPITAL * font_id(text.font).size / 2.0);
    let ascent = galley
        .rows
        .first()
        .and_then(|r| r.glyphs.first().map(|g| r.pos.y + g.pos.y))
        .unwrap_or(0.0);
    let at = Pos2::new(snap(origin.x + x), baseline - ascent);
    if text.font == Font::Strong {
        // The built-in fonts have one weight; a second print beside the first makes the stems heavier.
        let second = at + Vec2::new(STRONG, 0.0);
        painter.galley(second, galley.clone(), color(text.color));
    }
    painter.galley(at, galley, color(text.color));
}

/// Height of capitals as a share of the font size.
const CAPITAL: f32 = 0.7;
/// Distance of the two prints of emphasised text, points.
const STRONG: f32 = 0.5;

fn galley(text: &Text, painter: &Painter) -> Arc<Galley> {
    let mut format = TextFormat::simple(font_id(text.font), color(text.color));
    if text.font == Font::Strong {
        format.extra_letter_spacing = STRONG;
    }
    let mut job = LayoutJob::single_section(text.text.clone(), format);
    job.wrap = TextWrapping::no_max_width();
    job.break_on_newline = false;
    let whole = painter.layout_job(job.clone());
    if whole.size().x <= text.max_width {
        return whole;
    }
    job.wrap = TextWrapping::truncate_at_width(text.max_width);
    painter.layout_job(job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::label::MONO_ADVANCE;

    #[test]
    fn labels_are_as_wide_as_the_layout_believes() {
        for scale in [1.0, 1.5, 2.0] {
            let context = egui::Context::default();
            let mut input = egui::RawInput::default();
            if let Some(v) = input.viewports.get_mut(&egui::ViewportId::ROOT) {
                v.native_pixels_per_point = Some(scale);
            }
            let mut width = 0.0;
            let mut output = context.run_ui(input, |ui| {
                let text = "void kernel<4>…·0123".to_owned();
                let n = text.chars().count() as f32;
                let ink = color(crate::view::Theme::dark().text);
                let galley = ui.painter().layout_no_wrap(text, font_id(Font::Label), ink);
                width = galley.size().x / n;
            });
            output.textures_delta.clear();
            assert!((width - MONO_ADVANCE).abs() < 0.06, "{width} at {scale}");
        }
    }
}
