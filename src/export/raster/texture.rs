//! Textures: in practice the font atlas.

use egui::epaint::{ImageData, ImageDelta};
use egui::{Color32, TextureFilter};

/// Positions inside a texture are in 1/256 texel.
pub(super) const TEXEL: i64 = 256;

/// A texture.
#[derive(Default)]
pub(super) struct Texture {
    width: usize,
    height: usize,
    texels: Vec<Color32>,
    nearest: bool,
}

impl Texture {
    pub fn apply(&mut self, delta: &ImageDelta) {
        let ImageData::Color(image) = &delta.image;
        let [w, h] = image.size;
        self.nearest = delta.options.magnification == TextureFilter::Nearest;
        let Some([x, y]) = delta.pos else {
            (self.width, self.height) = (w, h);
            self.texels.clone_from(&image.pixels);
            return;
        };
        for row in 0..h {
            let to = (y + row) * self.width + x;
            let from = row * w;
            if x + w <= self.width && y + row < self.height {
                self.texels[to..to + w].copy_from_slice(&image.pixels[from..from + w]);
            }
        }
    }

    /// A normalised coordinate in 1/256 texel.
    pub fn position(&self, u: f32, v: f32) -> [i64; 2] {
        let at = |v: f32, n: usize| (f64::from(v) * n as f64 * TEXEL as f64).round() as i64;
        [at(u, self.width), at(v, self.height)]
    }

    fn texel(&self, x: i64, y: i64) -> Color32 {
        let clamp = |v: i64, n: usize| {
            let last = i64::try_from(n.saturating_sub(1)).unwrap_or(0);
            usize::try_from(v.clamp(0, last)).unwrap_or(0)
        };
        let i = clamp(y, self.height) * self.width + clamp(x, self.width);
        self.texels.get(i).copied().unwrap_or(Color32::WHITE)
    }

    /// The colour at a position in 1/256 texel, between the four nearest texels (or the nearest one).
    pub fn sample(&self, [u, v]: [i64; 2]) -> Color32 {
        if self.nearest {
            return self.texel(u.div_euclid(TEXEL), v.div_euclid(TEXEL));
        }
        let (u, v) = (u - TEXEL / 2, v - TEXEL / 2);
        let (x, y) = (u.div_euclid(TEXEL), v.div_euclid(TEXEL));
        let (fx, fy) = (u.rem_euclid(TEXEL), v.rem_euclid(TEXEL));
        if fx == 0 && fy == 0 {
            return self.texel(x, y);
        }
        let [a, b, c, d] = [
            self.texel(x, y),
            self.texel(x + 1, y),
            self.texel(x, y + 1),
            self.texel(x + 1, y + 1),
        ]
        .map(|c| c.to_array());
        let mut out = [0; 4];
        for i in 0..4 {
            let mix = |p: u8, q: u8, f: i64| i64::from(p) * (TEXEL - f) + i64::from(q) * f;
            let value = mix(a[i], b[i], fx) * (TEXEL - fy) + mix(c[i], d[i], fx) * fy;
            let half = TEXEL * TEXEL / 2;
            out[i] = u8::try_from((value + half) / (TEXEL * TEXEL)).unwrap_or(255);
        }
        let [r, g, b, a] = out;
        Color32::from_rgba_premultiplied(r, g, b, a)
    }
}
