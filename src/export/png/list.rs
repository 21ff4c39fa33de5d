//! Pictures that are one draw list, as PNGs: before and after, and the matrix of ranks by steps.

use super::{MAX_PIXELS, Picture, PictureSize, PngError, Sheet, encode};
use crate::view::{
    CompareInput, DrawList, RanksInput, Size, Theme, compare_picture, ranks_picture,
};

/// Draws what changed between two recordings.
///
/// # Errors
/// Where a side has no step, for a size outside of what is possible, and a failing encoder.
pub fn render_comparison(input: &CompareInput<'_>, sheet: &Sheet) -> Result<Picture, PngError> {
    render(comparison_list(input, sheet)?, sheet, input.theme)
}

/// What changed between two recordings as one list; what does not fit is cut.
pub fn comparison_list(input: &CompareInput<'_>, sheet: &Sheet) -> Result<DrawList, PngError> {
    sheet.check()?;
    let mut list = compare_picture(input).ok_or(PngError::Nothing)?.list;
    // Lanes without end.
    let height = list.size.height.min(sheet.most_height());
    list.size = Size::new(list.size.width, height);
    Ok(list)
}

/// Draws what ranks cost the others, step by step.
///
/// # Errors
/// For a size outside of what is possible, a picture too large, and a failing encoder.
pub fn render_ranks(input: &RanksInput<'_>) -> Result<Picture, PngError> {
    let list = ranks_picture(input).list;
    let width = list.size.width.ceil() as u32;
    let sheet = Sheet {
        width,
        ..Sheet::default()
    };
    if list.size.height > sheet.most_height() || width > MAX_PIXELS {
        let most = list.size.height.max(list.size.width);
        return Err(PngError::TooWide(most as u32));
    }
    render(list, &sheet, input.theme)
}

fn render(list: DrawList, sheet: &Sheet, theme: &Theme) -> Result<Picture, PngError> {
    let [width, height] = sheet.pixels(list.size);
    let png = encode(&[(sheet.origin(), list)], [width, height], sheet, theme)?;
    Ok(Picture {
        png,
        layout: PictureSize::whole(width, height),
    })
}
