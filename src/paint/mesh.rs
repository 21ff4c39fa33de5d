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
                let rect = self.snapped(*rect);
                self.exact(rect, color(*fill));
                self.notches(rect, *gaps);
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
    #[inline]
    fn snap(&self, v: f32, origin: f32) -> f32 {
        round((v + origin) * self.scale) / self.scale - origin
    }

    /// On whole pixels; what was at least half a pixel wide stays at least one.
    #[inline]
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
    #[inline]
    fn exact(&mut self, rect: Rect, fill: Color32) {
        self.gradient(rect, fill, fill);
    }

    #[inline]
    fn gradient(&mut self, rect: Rect, left: Color32, right: Color32) {
        let r = rect.clip(self.clip);
        if r.is_empty() {
            return;
        }
        let first = u32::try_from(self.mesh.vertices.len()).unwrap_or(u32::MAX);
        let (x0, x1) = (r.x0 + self.origin.x, r.x1 + self.origin.x);
        let (y0, y1) = (r.y0 + self.origin.y, r.y1 + self.origin.y);
        let corner = |x, y, color| Vertex {
            pos: Pos2::new(x, y),
            uv: WHITE_UV,
            color,
        };
        self.mesh.vertices.extend_from_slice(&[
            corner(x0, y0, left),
            corner(x1, y0, right),
            corner(x0, y1, left),
            corner(x1, y1, right),
        ]);
        self.mesh.indices.extend_from_slice(&[
            first,
            first + 1,
            first + 2,
            first + 2,
            first + 1,
            first + 3,
        ]);
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

    /// `r` lies on whole pixels.
    fn notches(&mut self, r: Rect, fill: Rgba) {
        let c = color(fill);
        let y0 = self.snap(r.y1 - 2.0, self.origin.y).max(r.y0);
        for x in self.grid(r, 4.0) {
            let x0 = self.snap(x + 1.0, self.origin.x).max(r.x0);
            let x1 = self.snap(x + 3.0, self.origin.x).min(r.x1);
            self.exact(Rect::new(x0, y0, x1, r.y1), c);
        }
    }

    /// Multiples of `step` from just left of a rectangle to its right edge, the visible part only.
    fn grid(&self, rect: Rect, step: f32) -> impl Iterator<Item = f32> + use<> {
        // Nothing shows left of 0, so casts do as well as calls into the C library.
        let first = (rect.x0.max(self.clip.x0).max(0.0) / step) as i32;
        let end = (rect.x1.min(self.clip.x1) / step) as i32 + 1;
        (first..end).map(move |i| i as f32 * step)
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

/// To the nearest whole number, halves away from zero. The same as [`f32::round`], which is a call into the C library
/// on processors without an instruction for it: two calls per edge were half of what painting cost.
#[inline]
fn round(v: f32) -> f32 {
    let whole = v as i32 as f32;
    let rest = v - whole;
    if rest >= 0.5 {
        whole + 1.0
    } else if rest <= -0.5 {
        whole - 1.0
    } else {
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_that_of_the_standard_library() {
        for i in -40_000..40_000 {
            let v = i as f32 / 16.0;
            for v in [v, v + 1e-4, v - 1e-4] {
                assert!((round(v) - v.round()).abs() < f32::EPSILON, "{v}");
            }
        }
        assert!((round(16_383.499) - 16_383.0).abs() < f32::EPSILON);
    }
}
