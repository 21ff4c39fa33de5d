//! How large a picture is: on the screen, on paper, and how large the text in it is.

use super::{MAX_PIXELS, PngError, RESOLUTIONS, SCALES, TEXT, WIDTHS, pixels};
use crate::view::{Point, Size};

/// Points of a picture per inch of paper.
pub const POINTS_PER_INCH: f64 = 96.0;

/// A width on paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Real {
    /// Inches.
    pub inches: f64,
    /// Pixels per inch; a drawing has none.
    pub dpi: u32,
}

impl Real {
    /// Points across.
    #[must_use]
    pub fn points(self) -> u32 {
        (self.inches * POINTS_PER_INCH).round() as u32
    }

    /// Pixels per metre.
    pub(super) fn per_meter(self) -> u32 {
        (f64::from(self.dpi) / 0.0254).round() as u32
    }
}

/// How large a picture is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheet {
    /// Width, points.
    pub width: u32,
    /// Pixels per point.
    pub scale: f32,
    /// Size of labels, points.
    pub text: f32,
    /// Empty space around everything, points.
    pub margin: f32,
    /// How wide it is on paper.
    pub real: Option<Real>,
}

impl Default for Sheet {
    fn default() -> Self {
        Self {
            width: 1_920,
            scale: 1.0,
            text: TEXT,
            margin: 0.0,
            real: None,
        }
    }
}

impl Sheet {
    /// How much larger than usual all is.
    #[must_use]
    pub fn zoom(&self) -> f32 {
        self.text / TEXT
    }

    /// Pixels per point of what is laid out.
    #[must_use]
    pub fn pixels_per_point(&self) -> f32 {
        self.scale() * self.zoom()
    }

    /// Pixels across.
    fn across(&self) -> u32 {
        match self.real {
            Some(real) => (real.inches * f64::from(real.dpi)).round() as u32,
            None => pixels(self.width as f32, self.scale),
        }
    }

    fn scale(&self) -> f32 {
        match self.real {
            Some(_) => (f64::from(self.across()) / f64::from(self.width.max(1))) as f32,
            None => self.scale,
        }
    }

    /// Where what is laid out begins, in points of it.
    #[must_use]
    pub fn origin(&self) -> Point {
        let margin = self.margin / self.zoom();
        Point::new(margin, margin)
    }

    /// Width of what is laid out, points.
    #[must_use]
    pub fn inner_width(&self) -> f32 {
        self.width as f32 / self.zoom() - 2.0 * self.origin().x
    }

    /// Most points that what is laid out may be high.
    #[must_use]
    pub fn most_height(&self) -> f32 {
        (MAX_PIXELS as f32 / self.pixels_per_point()).floor() - 2.0 * self.origin().y
    }

    /// Size with margins of what is laid out, points of it.
    #[must_use]
    pub fn outer(&self, inner: Size) -> Size {
        let margin = 2.0 * self.origin().x;
        Size::new(inner.width + margin, inner.height + margin)
    }

    /// Pixels across and down for what is laid out.
    #[must_use]
    pub fn pixels(&self, inner: Size) -> [u32; 2] {
        let height = pixels(self.outer(inner).height, self.pixels_per_point());
        [self.across(), height.min(MAX_PIXELS)]
    }

    /// Whether such a picture is possible.
    ///
    /// # Errors
    /// For what is outside of what is possible.
    pub fn check(&self) -> Result<(), PngError> {
        if !WIDTHS.contains(&self.width) {
            return Err(PngError::Width(self.width));
        }
        match self.real {
            Some(real) if !RESOLUTIONS.contains(&real.dpi) => {
                return Err(PngError::Resolution(real.dpi));
            }
            None if !SCALES.contains(&self.scale) => return Err(PngError::Scale(self.scale)),
            _ => {}
        }
        // Also for what is no number.
        let room = self.inner_width().max(0.0);
        if !(WIDTHS.contains(&(room.ceil() as u32)) && self.text > 0.0 && self.margin >= 0.0) {
            return Err(PngError::Room(room.min(1e6) as u32));
        }
        let across = self.across();
        match across > MAX_PIXELS {
            true => Err(PngError::TooWide(across)),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_on_paper_has_the_pixels_of_its_resolution() {
        let real = Real {
            inches: 8.5 / 2.54,
            dpi: 300,
        };
        assert_eq!((real.points(), real.per_meter()), (321, 11_811));
        let sheet = Sheet {
            width: real.points(),
            text: 7.0 / 72.0 * 96.0,
            real: Some(real),
            ..Sheet::default()
        };
        assert_eq!(sheet.check().map_err(|e| e.to_string()), Ok(()));
        assert_eq!(sheet.pixels(Size::new(0.0, 100.0))[0], 1_004);
        assert!((sheet.inner_width() - 378.3).abs() < 0.1);
    }

    #[test]
    fn what_leaves_no_room_is_refused() {
        let with = |text: f32, margin: f32| {
            let sheet = Sheet {
                width: 640,
                text,
                margin,
                ..Sheet::default()
            };
            sheet.check().is_ok()
        };
        assert!(with(11.0, 0.0) && with(11.0, 160.0));
        assert!(!with(11.0, 161.0) && !with(24.0, 0.0));
        assert!(!with(f32::NAN, 0.0) && !with(0.0, 0.0) && !with(11.0, f32::NAN));
    }
}
