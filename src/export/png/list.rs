//! Pictures that are one draw list, as PNGs: before and after, and the matrix of ranks by steps.

use super::{MAX_PIXELS, Picture, PictureSize, PngError, SCALES, encode, pixels};
use crate::view::{
    CompareInput, DrawList, RanksInput, Size, Theme, compare_picture, ranks_picture,
};

/// Draws what changed between two recordings. `scale` is pixels per point.
///
/// # Errors
/// Where a side has no step, for a scale outside of what is possible, for a picture too wide, and a failing encoder.
pub fn render_comparison(input: &CompareInput<'_>, scale: f32) -> Result<Picture, PngError> {
    let mut list = compare_picture(input).ok_or(PngError::Nothing)?.list;
    // Lanes without end: what does not fit is cut.
    let most = (MAX_PIXELS as f32 / scale.max(1.0)).floor();
    list.size = Size::new(list.size.width, list.size.height.min(most));
    render(list, scale, input.theme)
}

/// Draws what ranks cost the others, step by step. `scale` is pixels per point.
///
/// # Errors
/// For a scale outside of what is possible, a picture too large, and a failing encoder.
pub fn render_ranks(input: &RanksInput<'_>, scale: f32) -> Result<Picture, PngError> {
    render(ranks_picture(input).list, scale, input.theme)
}

fn render(list: DrawList, scale: f32, theme: &Theme) -> Result<Picture, PngError> {
    if !SCALES.contains(&scale) {
        return Err(PngError::Scale(scale));
    }
    let [width, height] = [list.size.width, list.size.height].map(|side| pixels(side, scale));
    if width.max(height) > MAX_PIXELS {
        return Err(PngError::TooWide(width.max(height)));
    }
    let png = encode(&[(0.0, list)], [width, height], scale, theme)?;
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
