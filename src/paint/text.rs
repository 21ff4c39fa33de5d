//! Lines of text.

use std::borrow::Cow;
use std::sync::Arc;

use egui::epaint::text::{LayoutJob, TextFormat, TextWrapping};
use egui::{Context, FontDefinitions, FontFamily, FontId, Galley, Painter, Pos2, Vec2};

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

/// The fonts of the timeline: egui's own, and signs that only its monospace ones have (arrows) in other text as well.
#[must_use]
pub fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let mono = fonts.families.get(&FontFamily::Monospace).cloned();
    let other = fonts.families.entry(FontFamily::Proportional).or_default();
    for font in mono.unwrap_or_default() {
        if !other.contains(&font) {
            other.push(font);
        }
    }
    fonts
}

/// `text` with what the fonts have no picture of by its numbers: `\u{6570 636e}` instead of two equal boxes. The
/// built-in fonts have Latin, Greek, Cyrillic and signs; where a context has more fonts, more stays as it is.
#[must_use]
pub fn readable<'a>(text: &'a str, context: &Context, font: &FontId) -> Cow<'a, str> {
    if text.chars().all(is_common) {
        return Cow::Borrowed(text);
    }
    context.fonts_mut(|fonts| {
        let mut missing = |c: char| !is_common(c) && !c.is_control() && !fonts.has_glyph(font, c);
        if !text.chars().any(&mut missing) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len() * 2);
        let mut open = false;
        for c in text.chars() {
            match (missing(c), open) {
                (true, false) => out.push_str("\\u{"),
                (true, true) => out.push(' '),
                (false, true) => out.push('}'),
                (false, false) => {}
            }
            open = missing(c);
            if open {
                out.push_str(&format!("{:x}", u32::from(c)));
            } else {
                out.push(c);
            }
        }
        if open {
            out.push('}');
        }
        Cow::Owned(out)
    })
}

/// In every font, and in most labels: not worth a question.
fn is_common(c: char) -> bool {
    c.is_ascii() || matches!(c, '…' | '·' | '→' | '−' | '–' | 'µ')
}

/// A line as it is laid out: what shows of it, and where, points of the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What shows: cut with an ellipsis where there is no room for more.
    pub words: String,
    /// Left end.
    pub x: f32,
    /// Baseline.
    pub y: f32,
    /// Width.
    pub width: f32,
}

/// Lays a text out without painting it; `None` where nothing of it shows.
#[must_use]
pub fn line(text: &Text, painter: &Painter) -> Option<Line> {
    let galley = laid_out(text, painter)?;
    let width = galley.size().x;
    let glyphs = galley.rows.first().map(|r| &r.glyphs);
    Some(Line {
        words: glyphs.into_iter().flatten().map(|g| g.chr).collect(),
        x: left(text, width),
        y: baseline(text),
        width,
    })
}

fn laid_out(text: &Text, painter: &Painter) -> Option<Arc<Galley>> {
    let shows = !text.text.is_empty() && text.max_width > 0.0;
    shows.then(|| galley(text, painter))
}

/// Left end of a text that is so wide.
fn left(text: &Text, width: f32) -> f32 {
    match text.align {
        Align::Left => text.at.x,
        Align::Center => text.at.x - width / 2.0,
        Align::Right => text.at.x - width,
    }
}

/// Capitals are centred on `at.y`, so that sizes and typefaces side by side share a baseline.
fn baseline(text: &Text) -> f32 {
    text.at.y + CAPITAL * font_id(text.font).size / 2.0
}

pub(super) fn paint(text: &Text, painter: &Painter, origin: Pos2) {
    let Some(galley) = laid_out(text, painter) else {
        return;
    };
    let x = left(text, galley.size().x);
    let scale = painter.pixels_per_point();
    let snap = |v: f32| (v * scale).round() / scale;
    let baseline = snap(origin.y + baseline(text));
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
    let words = readable(&text.text, painter.ctx(), &font_id(text.font));
    let mut job = LayoutJob::single_section(words.into_owned(), format);
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
    fn what_no_font_has_is_told_by_its_number() {
        let context = egui::Context::default();
        context.set_fonts(fonts());
        let mut output = context.run_ui(egui::RawInput::default(), |ui| {
            for font in [Font::Label, Font::Small, Font::Body, Font::Title] {
                let of = |text| readable(text, ui.ctx(), &font_id(font)).into_owned();
                // The signs that are not asked about are in every font.
                for sign in ['…', '·', '→', '−', '–', 'µ'] {
                    let font = font_id(font);
                    assert!(ui.ctx().fonts_mut(|f| f.has_glyph(&font, sign)), "{sign}");
                }
                for text in ["plain…", "Größe ñ ę", "λ Δt", "загрузка", "a\nb"] {
                    assert_eq!(of(text), text);
                }
                assert_eq!(of("数据 load"), "\\u{6570 636e} load");
                assert_eq!(of("데"), "\\u{b370}");
                assert_eq!(of("步骤1"), "\\u{6b65 9aa4}1");
            }
        });
        output.textures_delta.clear();
    }

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
