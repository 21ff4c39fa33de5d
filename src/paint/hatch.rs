//! 45° lines clipped to a rectangle, as convex polygons with feathered edges.

use smallvec::SmallVec;

use crate::view::{Point, Rect};

/// A corner and how strong the colour is there, 0–1.
type Corner = (Point, f32);

/// Yields the polygons of all lines. Lines lie where x + y is a multiple of the pitch, so that neighbouring
/// rectangles continue each other. `pixel` is the size of a physical pixel: the width over which an edge fades.
pub(super) fn hatch(
    rect: Rect,
    line: f32,
    pitch: f32,
    pixel: f32,
    out: &mut impl FnMut(&[Corner]),
) {
    // Along x a 45° line is √2 times as wide as across.
    let root = std::f32::consts::SQRT_2;
    let (line, pitch, fade) = (line * root, pitch * root, pixel * root);
    let first = ((rect.x0 + rect.y0 - line - fade) / pitch).floor() as i64;
    let last = ((rect.x1 + rect.y1) / pitch).ceil() as i64;
    for i in first..=last {
        let from = i as f32 * pitch;
        let (a, b) = (from - fade / 2.0, from + fade / 2.0);
        let (c, d) = (from + line - fade / 2.0, from + line + fade / 2.0);
        slab(rect, (a, 0.0), (b, 1.0), out);
        slab(rect, (b, 1.0), (c, 1.0), out);
        slab(rect, (c, 1.0), (d, 0.0), out);
    }
}

/// The part of a rectangle where `from <= x + y <= to`, with a strength at either side.
fn slab(rect: Rect, from: (f32, f32), to: (f32, f32), out: &mut impl FnMut(&[Corner])) {
    let mut polygon: SmallVec<[Point; 8]> = SmallVec::from_slice(&[
        Point::new(rect.x0, rect.y0),
        Point::new(rect.x1, rect.y0),
        Point::new(rect.x1, rect.y1),
        Point::new(rect.x0, rect.y1),
    ]);
    polygon = cut(&polygon, |p| p.x + p.y - from.0);
    polygon = cut(&polygon, |p| to.0 - p.x - p.y);
    if polygon.len() < 3 || to.0 <= from.0 {
        return;
    }
    let corners: SmallVec<[Corner; 8]> = polygon
        .iter()
        .map(|&p| {
            let share = ((p.x + p.y - from.0) / (to.0 - from.0)).clamp(0.0, 1.0);
            (p, from.1 + (to.1 - from.1) * share)
        })
        .collect();
    out(&corners);
}

/// The part of a convex polygon where `inside` is not negative.
fn cut(polygon: &[Point], inside: impl Fn(Point) -> f32) -> SmallVec<[Point; 8]> {
    let mut out = SmallVec::new();
    for (i, &p) in polygon.iter().enumerate() {
        let q = polygon[(i + 1) % polygon.len()];
        let (a, b) = (inside(p), inside(q));
        if a >= 0.0 {
            out.push(p);
        }
        if (a >= 0.0) != (b >= 0.0) {
            let t = a / (a - b);
            out.push(Point::new(p.x + (q.x - p.x) * t, p.y + (q.y - p.y) * t));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(polygon: &[Corner]) -> f32 {
        let n = polygon.len();
        let twice: f32 = (0..n)
            .map(|i| {
                let (p, q) = (polygon[i].0, polygon[(i + 1) % n].0);
                p.x * q.y - q.x * p.y
            })
            .sum();
        twice.abs() / 2.0
    }

    #[test]
    fn lines_cover_line_over_pitch_and_stay_inside() {
        let rect = Rect::new(10.0, 20.0, 400.0, 60.0);
        let mut covered = 0.0;
        hatch(rect, 2.0, 6.0, 1.0, &mut |polygon| {
            let strength: f32 = polygon.iter().map(|c| c.1).sum::<f32>() / polygon.len() as f32;
            covered += area(polygon) * strength;
            for (p, _) in polygon {
                assert!(p.x >= 10.0 - 1e-3 && p.x <= 400.0 + 1e-3, "{p:?}");
                assert!(p.y >= 20.0 - 1e-3 && p.y <= 60.0 + 1e-3, "{p:?}");
            }
        });
        let share = covered / (390.0 * 40.0);
        assert!((share - 1.0 / 3.0).abs() < 0.02, "{share}");
    }
}
