//! egui's tessellated meshes on the CPU: the same picture on every machine, without display or GPU driver.
//!
//! Integer arithmetic only, once vertices are on a grid of 1/256 pixel: edge functions with the top-left rule,
//! premultiplied blending in gamma space as egui's own painters do it, font atlas by fixed-point sampling. Rows are
//! independent, so bands are drawn on all cores with the same result.

mod texture;
mod triangle;

use std::collections::BTreeMap;

use egui::epaint::{ClippedPrimitive, Mesh, Primitive, TextureId};
use egui::{Color32, TexturesDelta};
use rayon::prelude::*;

use texture::Texture;
pub use triangle::blend;

/// Rows that one thread draws at a time.
const BAND: usize = 64;
/// Vertices are rounded to this fraction of a pixel.
const SUB: i64 = 256;

/// A picture: rows from top to bottom, 4 bytes per pixel, premultiplied RGBA in gamma space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// `width × height × 4` bytes.
    pub rgba: Vec<u8>,
}

impl Image {
    /// The colour of a pixel.
    #[must_use]
    pub fn pixel(&self, x: usize, y: usize) -> [u8; 4] {
        let i = (y * self.width + x) * 4;
        [
            self.rgba[i],
            self.rgba[i + 1],
            self.rgba[i + 2],
            self.rgba[i + 3],
        ]
    }
}

/// Holds textures between frames and draws.
#[derive(Default)]
pub struct Raster {
    textures: BTreeMap<u64, Texture>,
    /// Textures to free before the next change, since freeing comes after painting.
    freed: Vec<u64>,
}

/// Meshes ready to be drawn: vertices on the pixel grid, clip rectangles in whole pixels.
struct Prepared<'a> {
    pub mesh: &'a Mesh,
    pub points: Vec<[i64; 2]>,
    /// Left, top, right, bottom; the last two exclusive.
    pub clip: [i64; 4],
    /// Rows that the mesh can touch.
    pub rows: [i64; 2],
    pub texture: Option<&'a Texture>,
}

impl Raster {
    /// Without textures.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies what changed about textures, and empties `delta`.
    pub fn apply(&mut self, delta: &mut TexturesDelta) {
        for id in self.freed.drain(..) {
            self.textures.remove(&id);
        }
        let mut set: Vec<_> = delta.set.drain().collect();
        set.sort_by_key(|(id, _)| key(*id));
        for (id, changes) in set {
            for change in changes {
                self.textures.entry(key(id)).or_default().apply(&change);
            }
        }
        let mut freed: Vec<u64> = delta.free.drain().map(key).collect();
        freed.sort_unstable();
        self.freed = freed;
        delta.clear();
    }

    /// Draws onto a plain background. `scale` is the number of pixels per point.
    #[must_use]
    pub fn render(
        &self,
        primitives: &[ClippedPrimitive],
        size: [usize; 2],
        scale: f32,
        background: Color32,
    ) -> Image {
        let [width, height] = size;
        let prepared = self.prepare(primitives, size, scale);
        Image {
            width,
            height,
            rgba: rows(&prepared, width, 0..height, background),
        }
    }

    /// Draws some rows only, for pictures that are written as they are drawn.
    #[must_use]
    pub fn render_rows(
        &self,
        primitives: &[ClippedPrimitive],
        size: [usize; 2],
        scale: f32,
        background: Color32,
        part: std::ops::Range<usize>,
    ) -> Vec<u8> {
        let prepared = self.prepare(primitives, size, scale);
        rows(&prepared, size[0], part, background)
    }

    fn prepare<'a>(
        &'a self,
        primitives: &'a [ClippedPrimitive],
        size: [usize; 2],
        scale: f32,
    ) -> Vec<Prepared<'a>> {
        primitives
            .iter()
            .filter_map(|p| match &p.primitive {
                Primitive::Mesh(mesh) => Some(self.mesh(mesh, p.clip_rect, size, scale)),
                // Callbacks draw with a GPU; nothing here makes one.
                Primitive::Callback(_) => None,
            })
            .collect()
    }

    fn mesh<'a>(
        &'a self,
        mesh: &'a Mesh,
        clip: egui::Rect,
        size: [usize; 2],
        scale: f32,
    ) -> Prepared<'a> {
        let whole = |v: f32, max: usize| {
            let max = i64::try_from(max).unwrap_or(i64::MAX);
            ((f64::from(v) * f64::from(scale)).round() as i64).clamp(0, max)
        };
        let points: Vec<[i64; 2]> = mesh
            .vertices
            .iter()
            .map(|v| [grid(v.pos.x, scale), grid(v.pos.y, scale)])
            .collect();
        let ys = || points.iter().map(|p| p[1]);
        let rows = [
            ys().min().unwrap_or(0).div_euclid(SUB),
            ys().max().unwrap_or(0).div_euclid(SUB) + 1,
        ];
        Prepared {
            mesh,
            clip: [
                whole(clip.min.x, size[0]),
                whole(clip.min.y, size[1]),
                whole(clip.max.x, size[0]),
                whole(clip.max.y, size[1]),
            ],
            rows,
            points,
            texture: self.textures.get(&key(mesh.texture_id)),
        }
    }
}

/// A coordinate on the grid. Anything further out than a million pixels is as good as that.
fn grid(v: f32, scale: f32) -> i64 {
    let far = 1e6 * SUB as f64;
    let v = f64::from(v) * f64::from(scale) * SUB as f64;
    // NaN becomes 0.
    v.round().clamp(-far, far) as i64
}

fn key(id: TextureId) -> u64 {
    match id {
        TextureId::Managed(n) => n << 1,
        TextureId::User(n) => n << 1 | 1,
    }
}

fn rows(
    meshes: &[Prepared<'_>],
    width: usize,
    part: std::ops::Range<usize>,
    background: Color32,
) -> Vec<u8> {
    let mut out = vec![0; width * part.len() * 4];
    if width == 0 {
        return out;
    }
    out.par_chunks_mut(width * 4 * BAND)
        .enumerate()
        .for_each(|(i, pixels)| {
            let first = part.start + i * BAND;
            let mut band = triangle::Band::new(pixels, width, first, background);
            for mesh in meshes {
                band.mesh(mesh);
            }
        });
    out
}

#[cfg(test)]
mod tests;
