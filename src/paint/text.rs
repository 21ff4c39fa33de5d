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
    let at = origin + Vec2::new(x, text.at.y - galley.size().y / 2.0);
    let scale = painter.pixels_per_point();
    let at = Pos2::new(
        (at.x * scale).round() / scale,
        (at.y * scale).round() / scale,
    );
    if text.font == Font::Strong {
        // The built-in fonts have one weight; a second print beside the first makes the stems heavier.
        painter.galley(
            at + Vec2::new(STRONG, 0.0),
            galley.clone(),
            color(text.color),
        );
    }
    painter.galley(at, galley, color(text.color));
}

/// Distance of the two prints of emphasised text, points.
const STRONG: f32 = 0.5;

fn galley(text: &Text, painter: &Painter) -> Arc<Galley> {
    let (font, ink) = (font_id(text.font), color(text.color));
    let whole = painter.layout_no_wrap(text.text.clone(), font.clone(), ink);
    if whole.size().x <= text.max_width {
        return whole;
    }
    let mut job = LayoutJob::single_section(text.text.clone(), TextFormat::simple(font, ink));
    job.wrap = TextWrapping::truncate_at_width(text.max_width);
    painter.layout_job(job)
}
