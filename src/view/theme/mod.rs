//! Colours by role, for both themes. The only place in the project where a colour is chosen; `palette` tests hold
//! it to measured thresholds of contrast and of distance under colour-vision deficiency.

use super::geom::Rgba;
use crate::analysis::LayerClass;

/// Colours of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Its name: on the command line, in the remembered state, in the window.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Light on dark, or dark on light.
    pub dark: bool,
    /// Behind ruler, headers and around lanes.
    pub panel: Rgba,
    /// Behind the canvas, between lanes.
    pub canvas: Rgba,
    /// Behind the spans of a lane.
    pub lane: Rgba,
    /// Lines between regions.
    pub line: Rgba,
    /// Main text.
    pub text: Rgba,
    /// Secondary text.
    pub weak: Rgba,
    /// Warning text: exposed shares.
    pub warning: Rgba,
    /// Edges of the selection, and its tint.
    pub select: Rgba,
    /// Text on `select`.
    pub on_select: Rgba,
    /// Search hits.
    pub hit: Rgba,
    /// Step strip, even and odd steps.
    pub steps: [Rgba; 2],
    /// Arrows and the outline of the selected span.
    pub strong: Rgba,
    /// Not recorded: the file cannot tell what the GPU did.
    pub unrecorded: Rgba,
    fills: [Rgba; 8],
}

/// The eight roles that have a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Swatch {
    /// Kernels.
    GpuCompute,
    /// Copies and memsets.
    GpuCopy,
    /// Collective communication.
    GpuComm,
    /// CPU ops, python, phases of the loop.
    Cpu,
    /// Loading work.
    Load,
    /// Reads and other file work.
    Io,
    /// Batch wait.
    Wait,
    /// API calls, synchronisation, containers and the rest.
    Neutral,
}

impl Swatch {
    /// All of them, in the order of the legend.
    pub const ALL: [Self; 8] = [
        Self::GpuCompute,
        Self::GpuCopy,
        Self::GpuComm,
        Self::Cpu,
        Self::Load,
        Self::Io,
        Self::Wait,
        Self::Neutral,
    ];

    /// The swatch of a drawing class.
    #[must_use]
    pub fn of(class: LayerClass) -> Self {
        match class {
            LayerClass::Wait => Self::Wait,
            LayerClass::GpuCompute => Self::GpuCompute,
            LayerClass::GpuComm => Self::GpuComm,
            LayerClass::GpuCopy => Self::GpuCopy,
            LayerClass::Cpu => Self::Cpu,
            LayerClass::Load => Self::Load,
            LayerClass::Io => Self::Io,
            LayerClass::GpuMark | LayerClass::Container | LayerClass::Api | LayerClass::Sync => {
                Self::Neutral
            }
        }
    }

    /// Its name in the legend.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::GpuCompute => "GPU compute",
            Self::GpuCopy => "copy",
            Self::GpuComm => "comm",
            Self::Cpu => "CPU",
            Self::Load => "loading",
            Self::Io => "reads",
            Self::Wait => "exposed wait",
            Self::Neutral => "API, other",
        }
    }

    fn label_is_white(self, dark: bool) -> bool {
        match self {
            Self::Cpu => true,
            Self::Neutral => !dark,
            _ => false,
        }
    }
}

const BLACK: Rgba = Rgba::hex(0x0000_0000);
const WHITE: Rgba = Rgba::hex(0x00FF_FFFF);
/// Okabe–Ito, the same in both themes; the neutral role differs.
const FILLS: [Rgba; 7] = [
    Rgba::hex(0x0000_9E73),
    Rgba::hex(0x0056_B4E9),
    Rgba::hex(0x00CC_79A7),
    Rgba::hex(0x0000_72B2),
    Rgba::hex(0x00E6_9F00),
    Rgba::hex(0x00F0_E442),
    Rgba::hex(0x00D5_5E00),
];

/// Tones for names without a layer.
const NAMES: [Rgba; 8] = [
    Rgba::hex(0x00A8_8F9F),
    Rgba::hex(0x008F_9BB8),
    Rgba::hex(0x0086_A9A4),
    Rgba::hex(0x00A3_AC86),
    Rgba::hex(0x00BD_A283),
    Rgba::hex(0x00B5_8F84),
    Rgba::hex(0x009C_8FB5),
    Rgba::hex(0x008A_A58C),
];

const fn with_neutral(neutral: Rgba) -> [Rgba; 8] {
    let [a, b, c, d, e, f, g] = FILLS;
    [a, b, c, d, e, f, g, neutral]
}

impl Theme {
    /// Every theme: the only list of them.
    pub const ALL: [Self; 2] = [Self::light(), Self::dark()];

    /// The theme of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name == name)
    }

    /// What a light or dark system gets.
    #[must_use]
    pub const fn of_system(dark: bool) -> Self {
        if dark { Self::dark() } else { Self::light() }
    }

    /// The dark theme.
    #[must_use]
    pub const fn dark() -> Self {
        Self {
            name: "dark",
            about: "Light on dark",
            dark: true,
            panel: Rgba::hex(0x0022_2227),
            canvas: Rgba::hex(0x0013_1316),
            lane: Rgba::hex(0x001B_1B1F),
            line: Rgba::hex(0x0036_363D),
            text: Rgba::hex(0x00EC_ECF0),
            weak: Rgba::hex(0x00A2_A2AC),
            warning: Rgba::hex(0x00E8_703A),
            select: Rgba::hex(0x005A_B8F0),
            on_select: BLACK,
            hit: Rgba::hex(0x00F7_E73C),
            steps: [Rgba::hex(0x0031_3138), Rgba::hex(0x0029_292F)],
            strong: WHITE,
            unrecorded: Rgba::hex(0x006E_6E78),
            fills: with_neutral(Rgba::hex(0x00C8_C8C8)),
        }
    }

    /// The light theme.
    #[must_use]
    pub const fn light() -> Self {
        Self {
            name: "light",
            about: "Dark on light",
            dark: false,
            panel: Rgba::hex(0x00FF_FFFF),
            canvas: Rgba::hex(0x00F1_F1F4),
            lane: Rgba::hex(0x00FF_FFFF),
            line: Rgba::hex(0x00D9_D9E0),
            text: Rgba::hex(0x0016_161A),
            weak: Rgba::hex(0x0062_626C),
            warning: Rgba::hex(0x00A8_4A00),
            select: Rgba::hex(0x001A_78B8),
            on_select: WHITE,
            hit: Rgba::hex(0x00B5_8900),
            steps: [Rgba::hex(0x00D9_D9E0), Rgba::hex(0x00E6_E6EB)],
            strong: BLACK,
            unrecorded: Rgba::hex(0x009A_9AA4),
            fills: with_neutral(Rgba::hex(0x0066_6666)),
        }
    }

    /// The fill of a role.
    #[must_use]
    pub fn swatch(&self, swatch: Swatch) -> Rgba {
        self.fills[swatch as usize]
    }

    /// The fill of a drawing class.
    #[must_use]
    pub fn fill(&self, class: LayerClass) -> Rgba {
        self.swatch(Swatch::of(class))
    }

    /// The colour of labels on a role's fill.
    #[must_use]
    pub fn label(&self, swatch: Swatch) -> Rgba {
        if swatch.label_is_white(self.dark) {
            WHITE
        } else {
            BLACK
        }
    }

    /// The border that the light theme needs because yellow and orange alone are too close to white: fill × 0.55.
    #[must_use]
    pub fn outline(&self, fill: Rgba) -> Rgba {
        fill.shade(55)
    }

    /// A hue for a name of which nobody knows what it is for: pale, so that it is taken for no role.
    #[must_use]
    pub fn of_name(&self, name: &str) -> Rgba {
        // Numbers tell calls of one thing apart, not things.
        let letters = name.bytes().filter(|b| !b.is_ascii_digit());
        let hash = letters.fold(0x811C_9DC5_u32, |h, b| {
            (h ^ u32::from(b)).wrapping_mul(0x0100_0193)
        });
        let tone = NAMES[(hash >> 16) as usize % NAMES.len()];
        if self.dark {
            tone.shade(72)
        } else {
            tone.tint(20)
        }
    }

    /// Counters and instants: no layer's colour, so that they are taken for none.
    #[must_use]
    pub fn counter(&self) -> Rgba {
        self.swatch(Swatch::Neutral)
    }

    /// Lines of the exposed hatch: black at 55 %.
    #[must_use]
    pub fn hatch(&self) -> Rgba {
        BLACK.percent(55)
    }
}

mod contrast;
#[cfg(test)]
mod palette;

pub use contrast::{READABLE, contrast};
