//! Before and after as a PNG.

use super::{MAX_PIXELS, Picture, PictureSize, PngError, SCALES, encode, pixels};
use crate::view::{CompareInput, compare_picture};

/// Draws what changed between two recordings. `scale` is pixels per point.
///
/// # Errors
/// Where a side has no step, for a scale outside of what is possible, for a picture too large, and a failing encoder.
pub fn render_comparison(input: &CompareInput<'_>, scale: f32) -> Result<Picture, PngError> {
    if !SCALES.contains(&scale) {
        return Err(PngError::Scale(scale));
    }
    let list = compare_picture(input).ok_or(PngError::Nothing)?.list;
    let (width, height) = (
        pixels(list.size.width, scale),
        // Lanes without end: what does not fit is cut.
        pixels(list.size.height, scale).min(MAX_PIXELS),
    );
    if width > MAX_PIXELS {
        return Err(PngError::TooWide(width));
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
