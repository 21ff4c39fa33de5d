//! From a [`DrawList`] to egui shapes: the only bridge, so that window and exported picture cannot drift apart.
//! Knows nothing of traces and figures.
//!
//! All plain geometry of a section goes into one mesh, edges on whole physical pixels; hatches are clipped here, line
//! by line, and feathered by vertex colours. Text, arrows and triangles are egui's own shapes.

mod hatch;
mod mesh;
mod text;

use egui::epaint::{CubicBezierShape, PathStroke};
use egui::{Color32, Painter, Pos2, Shape, Stroke, Vec2};

use crate::view::{ArrowEnd, DrawList, Item, Point, Rect, Rgba, Theme, arrow_curve};
use mesh::Batch;

/// Paints a draw list with its top-left corner at `origin`.
pub fn paint(list: &DrawList, painter: &Painter, origin: Pos2) {
    let scale = painter.pixels_per_point();
    for section in &list.sections {
        let clip = to_rect(section.clip, origin);
        let painter = painter.with_clip_rect(painter.clip_rect().intersect(clip));
        if !painter.clip_rect().is_positive() {
            continue;
        }
        let mut batch = Batch::new(origin, scale, section.clip);
        for item in &section.items {
            if !batch.add(item) {
                batch.flush(&painter);
                shape(item, &painter, origin);
            }
        }
        batch.flush(&painter);
    }
}

/// An egui colour.
#[must_use]
pub fn color(c: Rgba) -> Color32 {
    let [r, g, b, a] = c.0;
    Color32::from_rgba_unmultiplied(r, g, b, a)
}

/// Whether egui calls a theme dark or light.
#[must_use]
pub fn egui_theme(theme: &Theme) -> egui::Theme {
    if theme.dark {
        egui::Theme::Dark
    } else {
        egui::Theme::Light
    }
}

pub use text::{Line, font_id, fonts, line, readable};

fn to_rect(rect: Rect, origin: Pos2) -> egui::Rect {
    egui::Rect::from_min_max(
        origin + Vec2::new(rect.x0, rect.y0),
        origin + Vec2::new(rect.x1, rect.y1),
    )
}

fn to_pos(p: Point, origin: Pos2) -> Pos2 {
    origin + Vec2::new(p.x, p.y)
}

/// What does not go into a mesh.
fn shape(item: &Item, painter: &Painter, origin: Pos2) {
    match item {
        Item::Text(t) => text::paint(t, painter, origin),
        Item::Line {
            a,
            b,
            color: c,
            width,
        } => {
            let stroke = Stroke::new(*width, color(*c));
            painter.line_segment([to_pos(*a, origin), to_pos(*b, origin)], stroke);
        }
        Item::Triangle { points, color: c } => {
            let points = points.iter().map(|p| to_pos(*p, origin)).collect();
            painter.add(Shape::convex_polygon(points, color(*c), Stroke::NONE));
        }
        Item::Arrow {
            from,
            to,
            color: c,
            halo,
            end,
            faint,
        } => {
            let ends = (to_pos(*from, origin), to_pos(*to, origin));
            if *faint {
                faint_arrow(painter, ends, color(c.percent(45)));
            } else {
                arrow(painter, ends, color(*c), color(*halo), *end);
            }
        }
        _ => {}
    }
}

/// Length of an arrow's head, points.
const HEAD: f32 = 5.0;

/// The curve of an arrow as egui has it.
fn curve(from: Pos2, to: Pos2) -> [Pos2; 4] {
    let point = |p: Pos2| Point::new(p.x, p.y);
    arrow_curve(point(from), point(to)).map(|p| Pos2::new(p.x, p.y))
}

fn faint_arrow(painter: &Painter, (from, to): (Pos2, Pos2), line: Color32) {
    painter.add(CubicBezierShape::from_points_stroke(
        curve(from, to),
        false,
        Color32::TRANSPARENT,
        PathStroke::new(1.0, line),
    ));
    let half = Vec2::new(0.0, 2.0);
    let base = to - Vec2::new(4.0, 0.0);
    let points = vec![to, base + half, base - half];
    painter.add(Shape::convex_polygon(points, line, Stroke::NONE));
}

fn arrow(painter: &Painter, (from, to): (Pos2, Pos2), line: Color32, halo: Color32, end: ArrowEnd) {
    let tip = match end {
        ArrowEnd::Head => to - Vec2::new(HEAD - 1.0, 0.0),
        ArrowEnd::Dot => to,
    };
    let points = curve(from, tip);
    for (width, color) in [(5.5, halo), (1.5, line)] {
        let stroke = PathStroke::new(width, color);
        painter.add(CubicBezierShape::from_points_stroke(
            points,
            false,
            Color32::TRANSPARENT,
            stroke,
        ));
    }
    painter.circle_filled(from, 2.5, line);
    match end {
        ArrowEnd::Dot => {
            painter.circle_filled(to, 4.5, halo);
            painter.circle_filled(to, 3.0, line);
        }
        ArrowEnd::Head => {
            let half = Vec2::new(0.0, HEAD * 0.7);
            let base = to - Vec2::new(HEAD, 0.0);
            let points = vec![to, base + half, base - half];
            painter.add(Shape::convex_polygon(points, line, Stroke::new(1.0, halo)));
        }
    }
}
