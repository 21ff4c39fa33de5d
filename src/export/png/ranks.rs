//! The matrix of ranks by steps as a PNG.

use super::{MAX_PIXELS, Picture, PictureSize, PngError, SCALES, encode, pixels};
use crate::view::{RanksInput, ranks_picture};

/// Draws what ranks cost the others, step by step. `scale` is pixels per point.
///
/// # Errors
/// For a scale outside of what is possible, a picture too large, and a failing encoder.
pub fn render_ranks(input: &RanksInput<'_>, scale: f32) -> Result<Picture, PngError> {
    if !SCALES.contains(&scale) {
        return Err(PngError::Scale(scale));
    }
    let list = ranks_picture(input).list;
    let [width, height] = [list.size.width, list.size.height].map(|side| pixels(side, scale));
    if width.max(height) > MAX_PIXELS {
        return Err(PngError::TooWide(width.max(height)));
    }
    let png = encode(&[(0.0, list)], [width, height], scale, input.theme)?;
    Ok(Picture {
        png,
        layout: PictureSize {
            width,
            height,
            lanes_shown: 0,
            lanes_total: 0,
            bands_shown: 0,
            bands_total: 0,
        },
    })
}
