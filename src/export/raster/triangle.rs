//! Triangles and quads into a band of rows.

use egui::Color32;
use egui::epaint::{Vertex, WHITE_UV};

use super::texture::Texture;
use super::{Prepared, SUB};

/// Some rows of a picture.
pub(super) struct Band<'a> {
    pixels: &'a mut [u8],
    width: usize,
    first: i64,
    end: i64,
}

/// Where pixels may change: left, top, right, bottom; the last two exclusive.
type Bounds = [i64; 4];

/// `src` (premultiplied) over `dst`, each channel rounded to nearest.
#[must_use]
pub fn blend(dst: [u8; 4], src: [u8; 4]) -> [u8; 4] {
    let keep = u32::from(255 - src[3]);
    let mut out = [0; 4];
    for i in 0..4 {
        let v = u32::from(src[i]) + (u32::from(dst[i]) * keep + 127) / 255;
        out[i] = u8::try_from(v).unwrap_or(255);
    }
    out
}

fn multiply(a: Color32, b: Color32) -> [u8; 4] {
    let (a, b) = (a.to_array(), b.to_array());
    let mut out = [0; 4];
    for i in 0..4 {
        let v = (u32::from(a[i]) * u32::from(b[i]) + 127) / 255;
        out[i] = u8::try_from(v).unwrap_or(255);
    }
    out
}

impl<'a> Band<'a> {
    pub fn new(pixels: &'a mut [u8], width: usize, first: usize, background: Color32) -> Self {
        for p in pixels.chunks_exact_mut(4) {
            p.copy_from_slice(&background.to_array());
        }
        let rows = pixels.len() / (width * 4);
        Self {
            pixels,
            width,
            first: i64::try_from(first).unwrap_or(i64::MAX),
            end: i64::try_from(first + rows).unwrap_or(i64::MAX),
        }
    }

    pub fn mesh(&mut self, m: &Prepared<'_>) {
        let [x0, y0, x1, y1] = m.clip;
        let bounds = [x0, y0.max(self.first), x1, y1.min(self.end)];
        let outside = m.rows[1] <= bounds[1] || m.rows[0] >= bounds[3];
        if outside || bounds[0] >= bounds[2] || bounds[1] >= bounds[3] {
            return;
        }
        let indices = &m.mesh.indices;
        let mut i = 0;
        while i + 3 <= indices.len() {
            if let Some(six) = indices.get(i..i + 6)
                && self.quad(m, six, bounds)
            {
                i += 6;
                continue;
            }
            self.triangle(m, &indices[i..i + 3], bounds);
            i += 3;
        }
    }

    /// Two triangles that are an axis-aligned rectangle of one colour; `false` where they are something else.
    fn quad(&mut self, m: &Prepared<'_>, six: &[u32], bounds: Bounds) -> bool {
        let point = |i: u32| m.points.get(i as usize).copied();
        let mut all = [[0; 2]; 6];
        for (slot, &i) in all.iter_mut().zip(six) {
            let Some(p) = point(i) else {
                return false;
            };
            *slot = p;
        }
        let (lo, hi) = extremes(&all);
        let corner =
            |p: &[i64; 2]| (p[0] == lo[0] || p[0] == hi[0]) && (p[1] == lo[1] || p[1] == hi[1]);
        if !all.iter().all(corner) || !is_two_halves(&all, lo, hi) {
            return false;
        }
        let vertex = |i: u32| m.mesh.vertices[i as usize];
        let color = vertex(six[0]).color;
        if six.iter().any(|&i| vertex(i).color != color) {
            return false;
        }
        let area = [
            first_center(lo[0]).max(bounds[0]),
            first_center(lo[1]).max(bounds[1]),
            first_center(hi[0]).min(bounds[2]),
            first_center(hi[1]).min(bounds[3]),
        ];
        if area[0] >= area[2] || area[1] >= area[3] {
            return true;
        }
        if six.iter().all(|&i| vertex(i).uv == WHITE_UV) {
            self.fill(area, color.to_array());
            return true;
        }
        let Some(texture) = m.texture else {
            return true;
        };
        let at = |p: [i64; 2]| {
            let i = all.iter().position(|q| *q == p)?;
            Some(vertex(six[i]))
        };
        let (Some(a), Some(b)) = (at(lo), at(hi)) else {
            return false;
        };
        self.glyph(area, (lo, hi), (texture, a, b), color);
        true
    }

    fn fill(&mut self, [x0, y0, x1, y1]: Bounds, color: [u8; 4]) {
        for y in y0..y1 {
            let row = self.row(y, x0, x1);
            if color[3] == 255 {
                for p in row.chunks_exact_mut(4) {
                    p.copy_from_slice(&color);
                }
            } else {
                for p in row.chunks_exact_mut(4) {
                    put(p, color);
                }
            }
        }
    }

    /// A textured rectangle: texture positions run evenly along x and y.
    fn glyph(
        &mut self,
        [x0, y0, x1, y1]: Bounds,
        (lo, hi): ([i64; 2], [i64; 2]),
        (texture, a, b): (&Texture, Vertex, Vertex),
        color: Color32,
    ) {
        let from = texture.position(a.uv.x, a.uv.y);
        let to = texture.position(b.uv.x, b.uv.y);
        let along = |axis: usize, pixel: i64| {
            let done = pixel * SUB + SUB / 2 - lo[axis];
            let all = (hi[axis] - lo[axis]).max(1);
            from[axis] + round_div((to[axis] - from[axis]) * done, all)
        };
        let us: Vec<i64> = (x0..x1).map(|x| along(0, x)).collect();
        for y in y0..y1 {
            let v = along(1, y);
            let row = self.row(y, x0, x1);
            for (p, &u) in row.chunks_exact_mut(4).zip(&us) {
                let texel = texture.sample([u, v]);
                if texel != Color32::TRANSPARENT {
                    put(p, multiply(texel, color));
                }
            }
        }
    }

    fn triangle(&mut self, m: &Prepared<'_>, three: &[u32], bounds: Bounds) {
        let Some(mut t) = Triangle::new(m, three) else {
            return;
        };
        let (lo, hi) = extremes(&t.points);
        let x0 = first_center(lo[0]).max(bounds[0]);
        let x1 = (hi[0].div_euclid(SUB) + 1).min(bounds[2]);
        let y0 = first_center(lo[1]).max(bounds[1]);
        let y1 = (hi[1].div_euclid(SUB) + 1).min(bounds[3]);
        if x0 >= x1 || y0 >= y1 {
            return;
        }
        t.texture = m.texture;
        for y in y0..y1 {
            let Some((a, b)) = t.inside(y, x0, x1) else {
                continue;
            };
            let row = self.row(y, a, b);
            for (x, p) in (a..b).zip(row.chunks_exact_mut(4)) {
                put(p, t.color(x, y));
            }
        }
    }

    fn row(&mut self, y: i64, x0: i64, x1: i64) -> &mut [u8] {
        let at = |v: i64| usize::try_from(v).unwrap_or(0);
        let first = at(y - self.first) * self.width;
        &mut self.pixels[(first + at(x0)) * 4..(first + at(x1)) * 4]
    }
}

fn put(p: &mut [u8], color: [u8; 4]) {
    if color[3] == 0 && color == [0; 4] {
        return;
    }
    let out = blend([p[0], p[1], p[2], p[3]], color);
    p.copy_from_slice(&out);
}

/// The first pixel whose centre is at or right of (below) a grid position.
fn first_center(v: i64) -> i64 {
    (v - SUB / 2 + SUB - 1).div_euclid(SUB)
}

fn extremes(points: &[[i64; 2]]) -> ([i64; 2], [i64; 2]) {
    let mut lo = [i64::MAX; 2];
    let mut hi = [i64::MIN; 2];
    for p in points {
        for axis in 0..2 {
            lo[axis] = lo[axis].min(p[axis]);
            hi[axis] = hi[axis].max(p[axis]);
        }
    }
    (lo, hi)
}

/// Whether six corners of a rectangle are its two halves: each triangle has three different corners, the two share a
/// diagonal and have one corner each for themselves.
fn is_two_halves(all: &[[i64; 2]; 6], lo: [i64; 2], hi: [i64; 2]) -> bool {
    let which = |p: &[i64; 2]| u8::from(p[0] == hi[0]) | u8::from(p[1] == hi[1]) << 1;
    if lo[0] == hi[0] || lo[1] == hi[1] {
        return true;
    }
    let mask = |t: &[[i64; 2]]| t.iter().fold(0_u8, |m, p| m | 1 << which(p));
    let (a, b) = (mask(&all[..3]), mask(&all[3..]));
    // Corners 0 and 3 are one diagonal, 1 and 2 the other.
    let shared = a & b;
    a.count_ones() == 3
        && b.count_ones() == 3
        && a | b == 15
        && (shared == 0b1001 || shared == 0b0110)
}

fn round_div(a: i64, b: i64) -> i64 {
    (2 * a + b).div_euclid(2 * b)
}

/// A triangle, its corners in a fixed turning direction.
struct Triangle<'a> {
    points: [[i64; 2]; 3],
    corners: [Vertex; 3],
    uv: [[i64; 2]; 3],
    /// Twice the area.
    area: i64,
    /// Whether a centre exactly on the edge opposite of a corner belongs to the triangle.
    edge_counts: [bool; 3],
    plain: bool,
    texture: Option<&'a Texture>,
}

impl<'a> Triangle<'a> {
    fn new(m: &Prepared<'a>, three: &[u32]) -> Option<Self> {
        let mut points = [[0; 2]; 3];
        let mut corners = [Vertex::default(); 3];
        for (k, &i) in three.iter().enumerate() {
            points[k] = *m.points.get(i as usize)?;
            corners[k] = m.mesh.vertices[i as usize];
        }
        let mut area = edge(points[0], points[1], points[2]);
        if area == 0 {
            return None;
        }
        if area < 0 {
            points.swap(1, 2);
            corners.swap(1, 2);
            area = -area;
        }
        let mut edge_counts = [false; 3];
        for (k, counts) in edge_counts.iter_mut().enumerate() {
            let (a, b) = (points[(k + 1) % 3], points[(k + 2) % 3]);
            let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
            // With y down and this turning direction, top edges run right and left edges run up.
            *counts = dy < 0 || (dy == 0 && dx > 0);
        }
        let plain = corners.iter().all(|c| c.uv == WHITE_UV);
        let uv = match m.texture {
            Some(t) if !plain => corners.map(|c| t.position(c.uv.x, c.uv.y)),
            _ => [[0; 2]; 3],
        };
        Some(Self {
            points,
            corners,
            uv,
            area,
            edge_counts,
            plain,
            texture: None,
        })
    }

    /// Weights of the corners at the centre of a pixel; they add up to the area.
    fn weights(&self, x: i64, y: i64) -> [i64; 3] {
        let p = [x * SUB + SUB / 2, y * SUB + SUB / 2];
        let [a, b, c] = self.points;
        [edge(b, c, p), edge(c, a, p), edge(a, b, p)]
    }

    fn contains(&self, x: i64, y: i64) -> bool {
        let w = self.weights(x, y);
        (0..3).all(|k| w[k] > 0 || (w[k] == 0 && self.edge_counts[k]))
    }

    /// The pixels of a row that belong to the triangle; they are adjacent.
    fn inside(&self, y: i64, x0: i64, x1: i64) -> Option<(i64, i64)> {
        let w = self.weights(x0, y);
        let (mut first, mut end) = (x0, x1);
        for (k, &w) in w.iter().enumerate() {
            let (a, b) = (self.points[(k + 1) % 3], self.points[(k + 2) % 3]);
            // Weight k at pixel x0 + i is w + i * step.
            let step = -(b[1] - a[1]) * SUB;
            let need = i64::from(!self.edge_counts[k]);
            if step == 0 {
                if w < need {
                    return None;
                }
            } else if step > 0 {
                // First i with w + i * step >= need.
                let i = -((w - need).div_euclid(step));
                first = first.max(x0 + i);
            } else {
                // Last i with w + i * step >= need.
                let i = (w - need).div_euclid(-step);
                end = end.min(x0 + i + 1);
            }
        }
        debug_assert!(first >= end || (self.contains(first, y) && self.contains(end - 1, y)));
        (first < end).then_some((first, end))
    }

    fn color(&self, x: i64, y: i64) -> [u8; 4] {
        let [a, b, c] = self.corners.map(|c| c.color);
        let flat = a == b && b == c;
        if flat && self.plain {
            return a.to_array();
        }
        let w = self.weights(x, y);
        let color = if flat { a } else { self.mixed(w) };
        if self.plain {
            return color.to_array();
        }
        let Some(texture) = self.texture else {
            return color.to_array();
        };
        let at = |axis: usize| {
            // Products of grid areas and texture positions need more than 64 bits.
            let sum: i128 = (0..3)
                .map(|k| i128::from(w[k]) * i128::from(self.uv[k][axis]))
                .sum();
            i64::try_from(sum.div_euclid(i128::from(self.area))).unwrap_or(0)
        };
        multiply(texture.sample([at(0), at(1)]), color)
    }

    fn mixed(&self, w: [i64; 3]) -> Color32 {
        let colors = self.corners.map(|c| c.color.to_array());
        let mut out = [0; 4];
        for (i, slot) in out.iter_mut().enumerate() {
            let sum: i64 = (0..3).map(|k| w[k] * i64::from(colors[k][i])).sum();
            *slot = u8::try_from(round_div(sum, self.area).clamp(0, 255)).unwrap_or(255);
        }
        let [r, g, b, a] = out;
        Color32::from_rgba_premultiplied(r, g, b, a)
    }
}

/// Twice the area of a triangle on the grid, positive where it turns clockwise on the screen.
fn edge(a: [i64; 2], b: [i64; 2], p: [i64; 2]) -> i64 {
    (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
}
