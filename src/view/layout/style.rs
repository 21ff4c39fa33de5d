//! How a drawing class looks.

use super::ctx::Ctx;
use crate::analysis::LayerClass;
use crate::model::NameId;
use crate::view::geom::Rgba;
use crate::view::theme::{Swatch, Theme};

/// Colours of one span or run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Style {
    pub fill: Rgba,
    /// Border all around, one pixel.
    pub border: Option<Rgba>,
    /// Right edge only: tells neighbours apart.
    pub edge: Option<Rgba>,
    pub label: Rgba,
}

/// The look of a class; `opacity` in percent.
pub(super) fn style(theme: &Theme, class: LayerClass, opacity: u32) -> Style {
    let swatch = Swatch::of(class);
    let full = theme.swatch(swatch);
    match class {
        LayerClass::Wait => Style {
            // Opaque, so that a tail behind it does not shine through its label.
            fill: full.percent(30).over(theme.lane).percent(opacity),
            border: Some(full.percent(opacity)),
            edge: None,
            label: theme.text.percent(opacity),
        },
        // Containers hold everything else: filled, they would outshine what is inside.
        LayerClass::Container | LayerClass::GpuMark => Style {
            fill: full
                .percent(if theme.dark { 16 } else { 14 })
                .over(theme.lane)
                .percent(opacity),
            border: Some(full.percent(45).percent(opacity)),
            edge: None,
            label: theme.text.percent(opacity),
        },
        _ => Style {
            fill: full.percent(opacity),
            border: (!theme.dark).then(|| theme.outline(full).percent(opacity)),
            edge: Some(full.shade(60).percent(opacity)),
            label: theme.label(swatch).percent(opacity.max(40)),
        },
    }
}

/// A wait that no loop is known to be in: nothing can be said about the GPU.
pub(super) fn wait_elsewhere(theme: &Theme, opacity: u32) -> Style {
    let full = theme.swatch(Swatch::Wait);
    Style {
        fill: full.percent(8).over(theme.lane).percent(opacity),
        border: Some(full.percent(60).percent(opacity)),
        edge: None,
        label: theme.text.percent(opacity),
    }
}

/// A batch wait of a rank without a GPU: what of it was exposed, nobody can tell.
pub(super) fn wait_unknown(theme: &Theme, opacity: u32) -> Style {
    let full = theme.swatch(Swatch::Wait);
    Style {
        border: Some(full.percent(opacity)),
        ..wait_elsewhere(theme, opacity)
    }
}

/// Five lightness steps inside the layer's hue, by name.
pub(super) fn vary(fill: Rgba, name: NameId) -> Rgba {
    match name.0.wrapping_mul(0x9E37_79B1) >> 29 {
        0 | 1 => fill,
        2 => fill.shade(84),
        3 => fill.shade(72),
        4 => fill.tint(14),
        5 => fill.tint(28),
        _ => fill.shade(92),
    }
}

impl Ctx<'_> {
    /// The look of a class in a row, faded where something else is in focus.
    pub fn style(&self, class: LayerClass, gpu: bool) -> Style {
        style(self.input.theme, class, self.opacity(class, gpu))
    }
}
