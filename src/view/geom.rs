//! Points, rectangles and colours of the draw list. Plain numbers: no egui here.

/// A position in points, relative to the top-left corner of what is laid out; y grows downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Points from the left.
    pub x: f32,
    /// Points from the top.
    pub y: f32,
}

impl Point {
    /// A position.
    #[must_use]
    pub const fn new(x: f32, y: f32) -> Self {
        Self { x, y }
    }
}

/// Width and height in points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Size {
    /// Points from left to right.
    pub width: f32,
    /// Points from top to bottom.
    pub height: f32,
}

impl Size {
    /// A size.
    #[must_use]
    pub const fn new(width: f32, height: f32) -> Self {
        Self { width, height }
    }
}

/// An axis-aligned rectangle in points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x0: f32,
    /// Top edge.
    pub y0: f32,
    /// Right edge.
    pub x1: f32,
    /// Bottom edge.
    pub y1: f32,
}

impl Rect {
    /// From its edges: left, top, right, bottom.
    #[must_use]
    pub const fn new(x0: f32, y0: f32, x1: f32, y1: f32) -> Self {
        Self { x0, y0, x1, y1 }
    }

    /// Width, points.
    #[must_use]
    pub fn width(self) -> f32 {
        self.x1 - self.x0
    }

    /// Height, points.
    #[must_use]
    pub fn height(self) -> f32 {
        self.y1 - self.y0
    }

    /// True where nothing lies inside.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.x1 <= self.x0 || self.y1 <= self.y0
    }

    /// True when `p` lies inside; left and top edges belong to it, right and bottom do not.
    #[must_use]
    pub fn contains(self, p: Point) -> bool {
        self.x0 <= p.x && p.x < self.x1 && self.y0 <= p.y && p.y < self.y1
    }

    /// The common part; empty where there is none.
    #[must_use]
    pub fn clip(self, other: Self) -> Self {
        Self {
            x0: self.x0.max(other.x0),
            y0: self.y0.max(other.y0),
            x1: self.x1.min(other.x1),
            y1: self.y1.min(other.y1),
        }
    }

    /// Moved by (`dx`, `dy`).
    #[must_use]
    pub fn shift(self, dx: f32, dy: f32) -> Self {
        Self::new(self.x0 + dx, self.y0 + dy, self.x1 + dx, self.y1 + dy)
    }

    /// Smaller by `by` on every side (larger where negative).
    #[must_use]
    pub fn inset(self, by: f32) -> Self {
        Self::new(self.x0 + by, self.y0 + by, self.x1 - by, self.y1 - by)
    }
}

/// A colour: red, green, blue, opacity, each 0–255, in sRGB and not premultiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rgba(pub [u8; 4]);

impl Rgba {
    /// An opaque colour from `0xRRGGBB`.
    #[must_use]
    pub const fn hex(rgb: u32) -> Self {
        let [_, r, g, b] = rgb.to_be_bytes();
        Self([r, g, b, 255])
    }

    /// The same colour with opacity `percent` of what it has.
    #[must_use]
    pub const fn percent(self, percent: u32) -> Self {
        let [r, g, b, a] = self.0;
        let a = (a as u32 * if percent > 100 { 100 } else { percent } + 50) / 100;
        Self([r, g, b, a as u8])
    }

    /// Each channel multiplied by `percent` / 100, opacity kept: a darker shade of the same hue.
    #[must_use]
    pub const fn shade(self, percent: u32) -> Self {
        let [r, g, b, a] = self.0;
        Self([scale(r, percent), scale(g, percent), scale(b, percent), a])
    }

    /// A lighter shade: each channel moved towards white by `percent` / 100.
    #[must_use]
    pub const fn tint(self, percent: u32) -> Self {
        let [r, g, b, a] = self.0;
        Self([
            255 - scale(255 - r, 100 - percent),
            255 - scale(255 - g, 100 - percent),
            255 - scale(255 - b, 100 - percent),
            a,
        ])
    }

    /// This colour as it appears over an opaque `below`.
    #[must_use]
    pub const fn over(self, below: Self) -> Self {
        let [r, g, b, a] = self.0;
        let [r2, g2, b2, _] = below.0;
        Self([mix(r, r2, a), mix(g, g2, a), mix(b, b2, a), 255])
    }
}

const fn scale(v: u8, percent: u32) -> u8 {
    let v = (v as u32 * percent + 50) / 100;
    if v > 255 { 255 } else { v as u8 }
}

const fn mix(above: u8, below: u8, alpha: u8) -> u8 {
    let a = alpha as u32;
    ((above as u32 * a + below as u32 * (255 - a) + 127) / 255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_mix_in_integers() {
        let c = Rgba::hex(0x00D5_5E00);
        assert_eq!(c.0, [0xD5, 0x5E, 0, 255]);
        assert_eq!(c.percent(30).0[3], 77);
        assert_eq!(c.shade(55).0, [117, 52, 0, 255]);
        assert_eq!(Rgba::hex(0).tint(50).0, [127, 127, 127, 255]);
        assert_eq!(
            Rgba::hex(0x00FF_FFFF)
                .percent(0)
                .over(Rgba::hex(0x001B_1B1F)),
            Rgba::hex(0x001B_1B1F)
        );
    }

    #[test]
    fn rectangles_clip_and_contain() {
        let r = Rect::new(0.0, 0.0, 10.0, 4.0);
        assert!(r.contains(Point::new(0.0, 0.0)) && !r.contains(Point::new(10.0, 0.0)));
        assert!(r.clip(Rect::new(20.0, 0.0, 30.0, 4.0)).is_empty());
        assert_eq!(r.clip(Rect::new(2.0, 1.0, 30.0, 2.0)).width(), 8.0);
        assert_eq!(r.shift(1.0, 1.0).inset(1.0), Rect::new(2.0, 2.0, 10.0, 4.0));
    }
}
