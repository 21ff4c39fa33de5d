//! Contrast of colours by WCAG 2, for text on fills that are faded.

use std::sync::LazyLock;

use super::{BLACK, Theme, WHITE};
use crate::view::geom::Rgba;

/// Least contrast of text, WCAG 2.
pub const READABLE: f64 = 4.5;

/// Linear light of an sRGB channel.
static LINEAR: LazyLock<[f64; 256]> = LazyLock::new(|| {
    std::array::from_fn(|v| {
        let v = v as f64 / 255.0;
        if v <= 0.04045 {
            v / 12.92
        } else {
            ((v + 0.055) / 1.055).powf(2.4)
        }
    })
});

/// Contrast of two opaque colours, 1 to 21.
#[must_use]
pub fn contrast(a: Rgba, b: Rgba) -> f64 {
    let light = |c: Rgba| {
        let [r, g, b] = [c.0[0], c.0[1], c.0[2]].map(|v| LINEAR[usize::from(v)]);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (light(a), light(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

impl Theme {
    /// A colour for text on an opaque fill: the one that is wanted where it can be read there, else the quietest that
    /// can.
    #[must_use]
    pub fn readable(&self, fill: Rgba, wanted: Rgba) -> Rgba {
        let on_fill = |c: Rgba| contrast(c.over(fill), fill);
        let choice = [wanted, self.weak, self.text, BLACK, WHITE];
        let best = || {
            choice
                .into_iter()
                .max_by(|a, b| on_fill(*a).total_cmp(&on_fill(*b)))
        };
        let first = choice.into_iter().find(|&c| on_fill(c) >= READABLE);
        first.or_else(best).unwrap_or(wanted)
    }
}
