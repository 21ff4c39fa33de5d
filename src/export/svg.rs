//! The timeline as an SVG: the draw list of the PNG, each item an element. Text stays text, spans have their name and
//! length as a tooltip, nothing refers to anything outside the file. Equal input gives equal bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

use egui::{Context, LayerId, Painter, Pos2, RawInput, Vec2};

use super::escape::Escaped;
use super::png::{PictureSize, Plan, PngError, PngOptions, Sheet, comparison_list};
use crate::analysis::Analysis;
use crate::model::Trace;
use crate::paint::{font_id, fonts, line};
use crate::time::format_ns;
use crate::view::{
    ArrowEnd, CompareInput, DrawList, Font, Item, MarkKind, Point, Rect, Rgba, Rows, Section,
    SectionKind, Size, Text, arrow_curve,
};

/// Narrower spans have no tooltip, points.
const TOOLTIP_FROM: f32 = 24.0;
/// Longer names are cut in tooltips, characters.
const TOOLTIP_CHARS: usize = 400;

/// A finished drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// The file's content.
    pub svg: String,
    /// What was laid out, in points.
    pub layout: PictureSize,
}

/// Draws a picture as SVG; the scale of the options means nothing here.
///
/// # Errors
/// Options outside of what is possible.
pub fn render_svg(
    trace: &Trace,
    analysis: &Analysis,
    rows: &Rows,
    options: &PngOptions,
) -> Result<Drawing, PngError> {
    let options = PngOptions {
        scale: 1.0,
        ..options.clone()
    };
    let plan = Plan::new(trace, analysis, rows, &options)?;
    let lists = plan.lists(trace, analysis);
    let size = plan.points();
    let svg = Svg::drawn(&lists, size, Some(trace), PLAIN);
    let said = plan.about(analysis);
    let about = (plan.title(), said.as_str());
    Ok(Drawing {
        svg: svg.document(about, (size, plan.sheet()), plan.background()),
        layout: plan.layout(),
    })
}

/// Draws what changed between two recordings; `about`: a title, and what it says.
///
/// # Errors
/// Where a side has no step, and for a size outside of what is possible.
pub fn render_comparison_svg(
    input: &CompareInput<'_>,
    sheet: &Sheet,
    about: (&str, &str),
) -> Result<Drawing, PngError> {
    let sheet = &Sheet {
        scale: 1.0,
        ..*sheet
    };
    let list = comparison_list(input, sheet)?;
    let (size, [width, height]) = (sheet.outer(list.size), sheet.pixels(list.size));
    let svg = Svg::drawn(&[(sheet.origin(), list)], size, None, PLAIN);
    Ok(Drawing {
        svg: svg.document(about, (size, sheet), input.theme.panel),
        layout: PictureSize::whole(width, height),
    })
}

/// How a drawing that is a file of its own looks.
const PLAIN: Look<'static> = Look {
    ids: "",
    shown: &|text| Cow::Borrowed(text),
};

/// How a drawing fits into a page that holds several.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// What ids in it begin with: no two drawings of a page share one.
    pub ids: &'a str,
    /// What is shown of a text.
    pub shown: &'a dyn Fn(&str) -> Cow<'_, str>,
}

/// Draws a picture for the inside of an HTML page, as wide as there is room.
///
/// # Errors
/// As [`render_svg`].
pub fn render_inline(
    trace: &Trace,
    analysis: &Analysis,
    rows: &Rows,
    options: &PngOptions,
    look: Look<'_>,
) -> Result<Drawing, PngError> {
    let plan = Plan::new(trace, analysis, rows, options)?;
    let lists = plan.lists(trace, analysis);
    let svg = Svg::drawn(&lists, plan.points(), Some(trace), look);
    Ok(Drawing {
        svg: svg.inline(plan.points(), plan.background()),
        layout: plan.layout(),
    })
}

/// Draws a list for the inside of an HTML page.
#[must_use]
pub fn list_inline(list: &DrawList, background: Rgba, look: Look<'_>) -> String {
    let lists = [(Point::new(0.0, 0.0), list.clone())];
    Svg::drawn(&lists, list.size, None, look).inline(list.size, background)
}

/// What was written so far.
struct Svg<'a> {
    look: Look<'a>,
    body: String,
    /// Patterns, gradients and clip paths.
    shared: String,
    /// Ids of patterns and gradients by what is in them.
    ids: BTreeMap<String, usize>,
    clips: usize,
    /// Rectangles of one opaque colour that follow each other are one path.
    path: Option<(Rgba, String)>,
}

impl<'a> Svg<'a> {
    fn new(look: Look<'a>) -> Self {
        Self {
            look,
            body: String::new(),
            shared: String::new(),
            ids: BTreeMap::new(),
            clips: 0,
            path: None,
        }
    }

    /// Lists, each with where it is, points.
    fn drawn(
        lists: &[(Point, DrawList)],
        size: Size,
        trace: Option<&Trace>,
        look: Look<'a>,
    ) -> Self {
        let mut svg = Self::new(look);
        // One pass lays all texts out; nothing is painted.
        let context = Context::default();
        context.set_fonts(fonts());
        let screen = egui::Rect::from_min_size(Pos2::ZERO, Vec2::new(size.width, size.height));
        let input = RawInput {
            screen_rect: Some(screen),
            time: Some(0.0),
            ..RawInput::default()
        };
        let mut output = context.run_ui(input, |ui| {
            let painter = Painter::new(ui.ctx().clone(), LayerId::background(), screen);
            svg = Self::new(look);
            for (at, list) in lists {
                svg.list(list, *at, trace, &painter);
            }
        });
        output.textures_delta.clear();
        svg
    }

    /// A file of its own: title and content, size in the points that it is laid out in.
    fn document(
        &self,
        (title, about): (&str, &str),
        (size, sheet): (Size, &Sheet),
        background: Rgba,
    ) -> String {
        let (w, h) = (num(size.width), num(size.height));
        let zoom = sheet.zoom();
        let shown = [size.width, size.height].map(|side| side * zoom);
        let [width, height] = match sheet.real {
            None => shown.map(num),
            Some(real) => {
                let mm = real.inches * 25.4 / f64::from(shown[0].max(1.0));
                shown.map(|side| format!("{}mm", num((f64::from(side) * mm) as f32)))
            }
        };
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {w} {h}\">\n<title>{}</title>\n<desc>{}</desc>\n",
            Escaped(title),
            Escaped(about)
        );
        // Writing to a string cannot fail.
        let _ = self.content(&mut out, (&w, &h), background);
        out
    }

    /// Without a namespace, which HTML knows, and with the size of the room that there is.
    fn inline(&self, size: Size, background: Rgba) -> String {
        let (w, h) = (num(size.width), num(size.height));
        let mut out = format!("<svg viewBox=\"0 0 {w} {h}\">\n");
        // Writing to a string cannot fail.
        let _ = self.content(&mut out, (&w, &h), background);
        out
    }

    fn content(&self, out: &mut String, (w, h): (&str, &str), background: Rgba) -> fmt::Result {
        writeln!(out, "<defs>{}</defs>", self.shared)?;
        let back = Paint("fill", background);
        writeln!(out, r#"<rect width="{w}" height="{h}"{back}/>"#)?;
        out.push_str(&self.body);
        out.push_str("</svg>\n");
        Ok(())
    }

    fn list(&mut self, list: &DrawList, at: Point, trace: Option<&Trace>, painter: &Painter) {
        let _ = writeln!(
            self.body,
            r#"<g transform="translate({})" shape-rendering="crispEdges">"#,
            At(at)
        );
        for section in &list.sections {
            self.section(section, painter);
        }
        if let Some(trace) = trace {
            self.tooltips(list, trace);
        }
        self.body.push_str("</g>\n");
    }

    fn section(&mut self, section: &Section, painter: &Painter) {
        if section.items.is_empty() || section.clip.is_empty() {
            return;
        }
        self.clips += 1;
        let (ids, id) = (self.look.ids, self.clips);
        let _ = write!(
            self.shared,
            r#"<clipPath id="{ids}c{id}"><rect{}/></clipPath>"#,
            Box(section.clip)
        );
        let _ = writeln!(self.body, r#"<g clip-path="url(#{ids}c{id})">"#);
        for item in &section.items {
            self.item(item, section, painter);
        }
        self.end_path();
        self.body.push_str("</g>\n");
    }

    fn item(&mut self, item: &Item, section: &Section, painter: &Painter) {
        if let Item::Rect { rect, fill } = item {
            return self.rect(rect.clip(section.clip), *fill);
        }
        self.end_path();
        // Writing to a string cannot fail.
        let _ = match item {
            Item::Rect { .. } => Ok(()),
            Item::Outline { rect, color, width } => self.outline(*rect, *color, *width),
            Item::Hatch {
                rect,
                color,
                line,
                pitch,
            } => self.hatch(rect.clip(section.clip), *color, (*line, *pitch)),
            Item::Dots { rect, color } => {
                let strip = Rect::new(rect.x0, rect.y1 - 4.0, rect.x1, rect.y1 - 2.0);
                self.comb(strip.clip(section.clip), *color, (6, 2))
            }
            Item::Run { rect, fill, gaps } => {
                let rect = rect.clip(section.clip);
                self.rect(rect, *fill);
                self.end_path();
                let low = Rect::new(rect.x0, (rect.y1 - 2.0).max(rect.y0), rect.x1, rect.y1);
                self.comb(low, *gaps, (4, 1))
            }
            Item::Dashed {
                rect,
                color,
                on,
                off,
            } => self.dashed(*rect, *color, (*on, *off)),
            Item::Fade { rect, from, to } => self.fade(*rect, *from, *to),
            Item::Line { a, b, color, width } => self.line(*a, *b, *color, *width),
            Item::Triangle { points, color } => {
                let [a, b, c] = points.map(At);
                let fill = Paint("fill", *color);
                writeln!(
                    self.body,
                    r#"<path d="M{a}L{b}L{c}Z"{fill} shape-rendering="auto"/>"#
                )
            }
            Item::Arrow {
                from,
                to,
                color,
                halo,
                end,
                faint,
            } => match faint {
                true => self.curve(*from, *to, color.percent(45), 1.0),
                false => self.arrow((*from, *to), *color, *halo, *end),
            },
            Item::Text(text) => self.text(text, painter),
        };
    }

    fn rect(&mut self, rect: Rect, fill: Rgba) {
        if rect.is_empty() || fill.0[3] == 0 {
            return;
        }
        if self.path.as_ref().is_none_or(|(color, _)| *color != fill) {
            self.end_path();
            self.path = Some((fill, String::new()));
        }
        if let Some((_, path)) = &mut self.path {
            let (x, y) = (num(rect.x0), num(rect.y0));
            let (w, h) = (num(rect.width()), num(rect.height()));
            let _ = write!(path, "M{x} {y}h{w}v{h}h-{w}z");
        }
        // Where two of a translucent colour lie on each other, both count.
        if fill.0[3] < 255 {
            self.end_path();
        }
    }

    fn end_path(&mut self) {
        if let Some((fill, path)) = self.path.take() {
            let _ = writeln!(self.body, r#"<path d="{path}"{}/>"#, Paint("fill", fill));
        }
    }

    fn outline(&mut self, rect: Rect, color: Rgba, width: f32) -> fmt::Result {
        let inset = Rect::new(
            rect.x0 + width / 2.0,
            rect.y0 + width / 2.0,
            (rect.x1 - width / 2.0).max(rect.x0 + width / 2.0),
            (rect.y1 - width / 2.0).max(rect.y0 + width / 2.0),
        );
        let stroke = Paint("stroke", color);
        let width = num(width);
        let at = Box(inset);
        writeln!(
            self.body,
            r#"<rect{at} fill="none"{stroke} stroke-width="{width}"/>"#
        )
    }

    /// One pattern per colour and measure. Lines lie where x + y is a multiple of the pitch along x, as on the screen.
    fn hatch(&mut self, rect: Rect, color: Rgba, (line, pitch): (f32, f32)) -> fmt::Result {
        if rect.is_empty() {
            return Ok(());
        }
        let root = std::f32::consts::SQRT_2;
        let (l, p) = (num(line * root), num(pitch * root));
        let fill = Paint("fill", color);
        let tile = format!(
            r#"width="{p}" height="{p}" patternUnits="userSpaceOnUse"><path d="M0 0H{l}L0 {l}ZM{p} 0V{l}L{l} {p}H0Z"{fill} shape-rendering="auto"/></pattern>"#
        );
        let id = self.shared_id("pattern", &tile);
        writeln!(self.body, r#"<rect{} fill="url(#{id})"/>"#, Box(rect))
    }

    /// Teeth 2 wide, from `first` on in each `step`.
    fn comb(&mut self, rect: Rect, color: Rgba, (step, first): (u32, u32)) -> fmt::Result {
        if rect.is_empty() {
            return Ok(());
        }
        let fill = Paint("fill", color);
        let tile = format!(
            r#"width="{step}" height="64" patternUnits="userSpaceOnUse"><rect x="{first}" width="2" height="64"{fill}/></pattern>"#
        );
        let id = self.shared_id("pattern", &tile);
        writeln!(self.body, r#"<rect{} fill="url(#{id})"/>"#, Box(rect))
    }

    fn fade(&mut self, rect: Rect, from: Rgba, to: Rgba) -> fmt::Result {
        let stops = [("0", from), ("1", to)].map(|(at, color)| {
            let [r, g, b, a] = color.0;
            let opacity = num(f32::from(a) / 255.0);
            format!(r##"<stop offset="{at}" stop-color="#{r:02x}{g:02x}{b:02x}" stop-opacity="{opacity}"/>"##)
        });
        let id = self.shared_id(
            "linearGradient",
            &format!(">{}</linearGradient>", stops.concat()),
        );
        writeln!(self.body, r#"<rect{} fill="url(#{id})"/>"#, Box(rect))
    }

    /// The id of something that elements refer to, written once.
    fn shared_id(&mut self, element: &str, rest: &str) -> String {
        let next = self.ids.len();
        let place = *self.ids.entry(rest.to_owned()).or_insert(next);
        let id = format!("{}s{place}", self.look.ids);
        if place == next {
            let _ = write!(self.shared, r#"<{element} id="{id}" {rest}"#);
        }
        id
    }

    fn dashed(&mut self, rect: Rect, color: Rgba, (on, off): (f32, f32)) -> fmt::Result {
        let (x0, x1) = (num(rect.x0), num(rect.x1));
        let (y0, y1) = (num(rect.y0 + 0.5), num(rect.y1 - 0.5));
        let (on, off) = (num(on), num(off));
        let stroke = Paint("stroke", color);
        writeln!(
            self.body,
            r#"<path d="M{x0} {y0}H{x1}M{x0} {y1}H{x1}" fill="none"{stroke} stroke-dasharray="{on} {off}"/>"#
        )
    }

    fn line(&mut self, a: Point, b: Point, color: Rgba, width: f32) -> fmt::Result {
        let (a, b, stroke, width) = (At(a), At(b), Paint("stroke", color), num(width));
        writeln!(
            self.body,
            r#"<path d="M{a}L{b}" fill="none"{stroke} stroke-width="{width}"/>"#
        )
    }

    fn curve(&mut self, from: Point, to: Point, color: Rgba, width: f32) -> fmt::Result {
        let [a, b, c, d] = arrow_curve(from, to).map(At);
        let (stroke, width) = (Paint("stroke", color), num(width));
        writeln!(
            self.body,
            r#"<path d="M{a}C{b} {c} {d}" fill="none"{stroke} stroke-width="{width}" shape-rendering="auto"/>"#
        )
    }

    fn arrow(
        &mut self,
        (from, to): (Point, Point),
        color: Rgba,
        halo: Rgba,
        end: ArrowEnd,
    ) -> fmt::Result {
        self.curve(from, to, halo, 5.5)?;
        self.curve(from, to, color, 1.5)?;
        let fill = Paint("fill", color);
        let dot = |p: Point, r: &str| {
            format!(
                r#"<circle cx="{}" cy="{}" r="{r}"{fill} shape-rendering="auto"/>"#,
                num(p.x),
                num(p.y)
            )
        };
        let tip = match end {
            ArrowEnd::Dot => dot(to, "3"),
            ArrowEnd::Head => {
                let (a, b) = (
                    Point::new(to.x - 5.0, to.y + 3.5),
                    Point::new(to.x - 5.0, to.y - 3.5),
                );
                let (to, a, b) = (At(to), At(a), At(b));
                format!(r#"<path d="M{to}L{a}L{b}Z"{fill} shape-rendering="auto"/>"#)
            }
        };
        let from = dot(from, "2.5");
        writeln!(self.body, "{from}{tip}")
    }

    /// With the width that it was laid out with: another font does not overlap.
    fn text(&mut self, text: &Text, painter: &Painter) -> fmt::Result {
        let shown = Text {
            text: (self.look.shown)(&text.text).into_owned(),
            ..text.clone()
        };
        let Some(line) = line(&shown, painter) else {
            return Ok(());
        };
        let (x, y, width) = (num(line.x), num(line.y), num(line.width));
        let family = match text.font {
            Font::Label => "monospace",
            Font::Small | Font::Body | Font::Strong | Font::Title => "sans-serif",
        };
        let weight = match text.font {
            Font::Strong => r#" font-weight="600""#,
            Font::Label | Font::Small | Font::Body | Font::Title => "",
        };
        let size = num(font_id(text.font).size);
        let fill = Paint("fill", text.color);
        let words = Escaped(&line.words);
        writeln!(
            self.body,
            r#"<text x="{x}" y="{y}" font-family="{family}" font-size="{size}"{weight}{fill} textLength="{width}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">{words}</text>"#
        )
    }

    /// Spans that are wide enough say their name and length where the pointer rests.
    fn tooltips(&mut self, list: &DrawList, trace: &Trace) {
        let clip_of = |pinned: bool| match pinned {
            true => SectionKind::Pinned,
            false => SectionKind::Lanes,
        };
        for mark in &list.marks {
            let single = mark.kind == MarkKind::Plain && mark.count == 1;
            let section = list
                .sections
                .iter()
                .find(|s| s.kind == clip_of(mark.pinned));
            let clip = section.map_or(Rect::default(), |s| s.clip);
            let rect = mark.rect.clip(clip);
            if !single || rect.width() < TOOLTIP_FROM || rect.is_empty() {
                continue;
            }
            let name = (self.look.shown)(trace.span_name(mark.first));
            let name: String = name.chars().take(TOOLTIP_CHARS).collect();
            let length = format_ns(trace.spans().dur(mark.first));
            let (at, name) = (Box(rect), Escaped(&name));
            let _ = writeln!(
                self.body,
                r#"<rect{at} fill="none" pointer-events="all"><title>{name} · {length}</title></rect>"#
            );
        }
    }
}

/// A coordinate with two decimals at most, without an exponent.
fn num(v: f32) -> String {
    // A cast takes care of what is no number and of what is too large.
    let hundredths = (f64::from(v.clamp(-1e7, 1e7)) * 100.0).round() as i64;
    let (sign, size) = (
        if hundredths < 0 { "-" } else { "" },
        hundredths.unsigned_abs(),
    );
    let (whole, rest) = (size / 100, size % 100);
    match (rest, rest % 10) {
        (0, _) => format!("{sign}{whole}"),
        (_, 0) => format!("{sign}{whole}.{}", rest / 10),
        _ => format!("{sign}{whole}.{rest:02}"),
    }
}

/// Attributes of a place.
struct Box(Rect);

impl fmt::Display for Box {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let r = self.0;
        let (x, y, w, h) = (num(r.x0), num(r.y0), num(r.width()), num(r.height()));
        write!(f, r#" x="{x}" y="{y}" width="{w}" height="{h}""#)
    }
}

/// A point of a path.
struct At(Point);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", num(self.0.x), num(self.0.y))
    }
}

/// A colour as attributes: of what, and which.
struct Paint(&'static str, Rgba);

impl fmt::Display for Paint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, [r, g, b, a]) = (self.0, self.1.0);
        write!(f, r##" {what}="#{r:02x}{g:02x}{b:02x}""##)?;
        if a < 255 {
            write!(f, r#" {what}-opacity="{}""#, num(f32::from(a) / 255.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_decimals_at_most() {
        let all = [0.0, 1.0, -2.5, 3.046, 1e9, f32::NAN].map(num);
        assert_eq!(all, ["0", "1", "-2.5", "3.05", "10000000", "0"]);
        assert_eq!(num(-0.001), "0");
    }
}
