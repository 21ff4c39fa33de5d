//! Colours by role, for both themes. The only place in the project where a colour is chosen; `palette` tests hold
//! it to measured thresholds of contrast and of distance under colour-vision deficiency.

use super::geom::Rgba;
use crate::analysis::LayerClass;

/// Colours of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
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

const BLACK: Rgba = Rgba::hex(0x00_00_00);
const WHITE: Rgba = Rgba::hex(0xFF_FF_FF);
/// Okabe–Ito, the same in both themes; the neutral role differs.
const FILLS: [Rgba; 7] = [
    Rgba::hex(0x00_9E_73),
    Rgba::hex(0x56_B4_E9),
    Rgba::hex(0xCC_79_A7),
    Rgba::hex(0x00_72_B2),
    Rgba::hex(0xE6_9F_00),
    Rgba::hex(0xF0_E4_42),
    Rgba::hex(0xD5_5E_00),
];

const fn with_neutral(neutral: Rgba) -> [Rgba; 8] {
    let [a, b, c, d, e, f, g] = FILLS;
    [a, b, c, d, e, f, g, neutral]
}

impl Theme {
    /// The dark theme.
    #[must_use]
    pub const fn dark() -> Self {
        Self {
            dark: true,
            panel: Rgba::hex(0x22_22_27),
            canvas: Rgba::hex(0x13_13_16),
            lane: Rgba::hex(0x1B_1B_1F),
            line: Rgba::hex(0x36_36_3D),
            text: Rgba::hex(0xEC_EC_F0),
            weak: Rgba::hex(0xA2_A2_AC),
            warning: Rgba::hex(0xE8_70_3A),
            select: Rgba::hex(0x5A_B8_F0),
            on_select: BLACK,
            hit: Rgba::hex(0xF7_E7_3C),
            steps: [Rgba::hex(0x31_31_38), Rgba::hex(0x29_29_2F)],
            strong: WHITE,
            unrecorded: Rgba::hex(0x6E_6E_78),
            fills: with_neutral(Rgba::hex(0xC8_C8_C8)),
        }
    }

    /// The light theme.
    #[must_use]
    pub const fn light() -> Self {
        Self {
            dark: false,
            panel: Rgba::hex(0xFF_FF_FF),
            canvas: Rgba::hex(0xF1_F1_F4),
            lane: Rgba::hex(0xFF_FF_FF),
            line: Rgba::hex(0xD9_D9_E0),
            text: Rgba::hex(0x16_16_1A),
            weak: Rgba::hex(0x62_62_6C),
            warning: Rgba::hex(0xA8_4A_00),
            select: Rgba::hex(0x1A_78_B8),
            on_select: WHITE,
            hit: Rgba::hex(0xB5_89_00),
            steps: [Rgba::hex(0xD9_D9_E0), Rgba::hex(0xE6_E6_EB)],
            strong: BLACK,
            unrecorded: Rgba::hex(0x9A_9A_A4),
            fills: with_neutral(Rgba::hex(0x66_66_66)),
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

    /// Lines of the exposed hatch: black at 55 %.
    #[must_use]
    pub fn hatch(&self) -> Rgba {
        BLACK.percent(55)
    }
}

#[cfg(test)]
mod palette;
