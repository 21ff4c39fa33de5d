//! One mesh for everything that is made of rectangles.

use egui::epaint::{Mesh, Vertex, WHITE_UV};
use egui::{Color32, Painter, Pos2, Shape};

use super::{color, hatch};
use crate::view::{Item, Point, Rect, Rgba};

/// Collects rectangles until something else has to be painted.
pub(super) struct Batch {
    mesh: Mesh,
    origin: Pos2,
    /// Physical pixels per point.
    scale: f32,
    /// Nothing outside is worth a vertex.
    clip: Rect,
}

impl Batch {
    pub fn new(origin: Pos2, scale: f32, clip: Rect) -> Self {
        Self {
            mesh: Mesh::default(),
            origin,
            scale,
            clip,
        }
    }

    /// Adds an item; `false` where it has no place in a mesh.
    pub fn add(&mut self, item: &Item) -> bool {
        match item {
            Item::Rect { rect, fill } => self.rect(*rect, *fill),
            Item::Outline { rect, color, width } => self.outline(*rect, *color, *width),
            Item::Hatch {
                rect,
                color,
                line,
                pitch,
            } => self.hatch(*rect, *color, *line, *pitch),
            Item::Dots { rect, color } => self.dots(*rect, *color),
            Item::Run { rect, fill, gaps } => {
                self.rect(*rect, *fill);
                self.notches(*rect, *gaps);
            }
            Item::Dashed {
                rect,
                color,
                on,
                off,
            } => self.dashed(*rect, *color, (*on, *off)),
            Item::Fade { rect, from, to } => self.fade(*rect, *from, *to),
            Item::Line { a, b, color, width } => return self.line(*a, *b, *color, *width),
            Item::Triangle { .. } | Item::Arrow { .. } | Item::Text(_) => return false,
        }
        true
    }

    /// Paints what was collected.
    pub fn flush(&mut self, painter: &Painter) {
        if !self.mesh.is_empty() {
            painter.add(Shape::mesh(std::mem::take(&mut self.mesh)));
        }
    }

    /// The nearest edge of a physical pixel, for a coordinate of the picture.
    fn snap(&self, v: f32, origin: f32) -> f32 {
        ((v + origin) * self.scale).round() / self.scale - origin
    }

    /// On whole pixels; what was at least half a pixel wide stays at least one.
    fn snapped(&self, rect: Rect) -> Rect {
        let (ox, oy) = (self.origin.x, self.origin.y);
        let mut out = Rect::new(
            self.snap(rect.x0, ox),
            self.snap(rect.y0, oy),
            self.snap(rect.x1, ox),
            self.snap(rect.y1, oy),
        );
        let pixel = 1.0 / self.scale;
        if out.width() < pixel * 0.5 && rect.width() >= pixel * 0.5 {
            out.x1 = out.x0 + pixel;
        }
        if out.height() < pixel * 0.5 && rect.height() >= pixel * 0.5 {
            out.y1 = out.y0 + pixel;
        }
        out
    }

    fn rect(&mut self, rect: Rect, fill: Rgba) {
        let rect = self.snapped(rect);
        self.exact(rect, color(fill));
    }

    /// A rectangle whose edges are where they should be.
    fn exact(&mut self, rect: Rect, fill: Color32) {
        self.gradient(rect, fill, fill);
    }

    fn gradient(&mut self, rect: Rect, left: Color32, right: Color32) {
        let rect = rect.clip(self.clip);
        if rect.is_empty() {
            return;
        }
        let first = u32::try_from(self.mesh.vertices.len()).unwrap_or(u32::MAX);
        let corners = [
            (rect.x0, rect.y0, left),
            (rect.x1, rect.y0, right),
            (rect.x0, rect.y1, left),
            (rect.x1, rect.y1, right),
        ];
        for (x, y, color) in corners {
            self.vertex(x, y, color);
        }
        self.mesh
            .indices
            .extend([0, 1, 2, 2, 1, 3].map(|i| first + i));
    }

    fn vertex(&mut self, x: f32, y: f32, color: Color32) {
        self.mesh.vertices.push(Vertex {
            pos: Pos2::new(x + self.origin.x, y + self.origin.y),
            uv: WHITE_UV,
            color,
        });
    }

    fn outline(&mut self, rect: Rect, stroke: Rgba, width: f32) {
        let r = self.snapped(rect);
        let w = ((width * self.scale).round().max(1.0) / self.scale)
            .min(r.width() / 2.0)
            .min(r.height() / 2.0);
        let c = color(stroke);
        self.exact(Rect::new(r.x0, r.y0, r.x1, r.y0 + w), c);
        self.exact(Rect::new(r.x0, r.y1 - w, r.x1, r.y1), c);
        self.exact(Rect::new(r.x0, r.y0 + w, r.x0 + w, r.y1 - w), c);
        self.exact(Rect::new(r.x1 - w, r.y0 + w, r.x1, r.y1 - w), c);
    }

    fn hatch(&mut self, rect: Rect, stroke: Rgba, line: f32, pitch: f32) {
        let rect = self.snapped(rect).clip(self.clip);
        if rect.is_empty() {
            return;
        }
        let c = color(stroke);
        hatch::hatch(rect, line, pitch, 1.0 / self.scale, &mut |polygon| {
            let first = u32::try_from(self.mesh.vertices.len()).unwrap_or(u32::MAX);
            for &(p, strength) in polygon {
                self.vertex(p.x, p.y, c.gamma_multiply(strength));
            }
            let n = u32::try_from(polygon.len()).unwrap_or(0);
            for i in 2..n {
                self.mesh.indices.extend([first, first + i - 1, first + i]);
            }
        });
    }

    fn dots(&mut self, rect: Rect, fill: Rgba) {
        // Low enough to leave the label alone.
        let y = rect.y1 - 3.0;
        let c = color(fill);
        for x in self.grid(rect, 6.0) {
            let dot = Rect::new(x + 2.0, y - 1.0, x + 4.0, y + 1.0);
            if dot.x0 >= rect.x0 + 1.0 && dot.x1 <= rect.x1 - 1.0 {
                let dot = self.snapped(dot);
                self.exact(dot, c);
            }
        }
    }

    fn notches(&mut self, rect: Rect, fill: Rgba) {
        let r = self.snapped(rect);
        let c = color(fill);
        for x in self.grid(r, 4.0) {
            let notch = Rect::new(x + 1.0, r.y1 - 2.0, x + 3.0, r.y1).clip(r);
            let notch = self.snapped(notch);
            self.exact(notch, c);
        }
    }

    /// Multiples of `step` from just left of a rectangle to its right edge, the visible part only.
    fn grid(&self, rect: Rect, step: f32) -> impl Iterator<Item = f32> + use<> {
        let x0 = (rect.x0.max(self.clip.x0) / step).floor();
        let x1 = (rect.x1.min(self.clip.x1) / step).ceil();
        let n = (x1 - x0).max(0.0) as usize;
        (0..n).map(move |i| (x0 + i as f32) * step)
    }

    fn dashed(&mut self, rect: Rect, stroke: Rgba, (on, off): (f32, f32)) {
        let r = self.snapped(rect);
        let w = (self.scale.round().max(1.0) / self.scale).min(r.height() / 2.0);
        let c = color(stroke);
        let step = on + off;
        // The pattern starts at the rectangle; what is left of the canvas is skipped.
        let skip = ((self.clip.x0 - r.x0) / step).floor().max(0.0);
        let mut x = r.x0 + skip * step;
        while x < r.x1.min(self.clip.x1) {
            let end = self.snap(x + on, self.origin.x).min(r.x1);
            let start = self.snap(x, self.origin.x);
            self.exact(Rect::new(start, r.y0, end, r.y0 + w), c);
            self.exact(Rect::new(start, r.y1 - w, end, r.y1), c);
            x += step;
        }
    }

    fn fade(&mut self, rect: Rect, from: Rgba, to: Rgba) {
        let rect = self.snapped(rect);
        self.gradient(rect, color(from), color(to));
    }

    /// Horizontal and vertical lines are rectangles; others are not for a mesh.
    fn line(&mut self, a: Point, b: Point, stroke: Rgba, width: f32) -> bool {
        let half = width / 2.0;
        let rect = if (a.x - b.x).abs() < 1e-3 {
            let x = self.snap(a.x - half, self.origin.x);
            Rect::new(x, a.y.min(b.y), x + width, a.y.max(b.y))
        } else if (a.y - b.y).abs() < 1e-3 {
            let y = self.snap(a.y - half, self.origin.y);
            Rect::new(a.x.min(b.x), y, a.x.max(b.x), y + width)
        } else {
            return false;
        };
        self.rect(rect, stroke);
        true
    }
}
