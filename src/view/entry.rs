//! What a colour or a sign of the timeline means.

use super::theme::Swatch;

/// One entry of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LegendEntry {
    /// Spans of a role; never [`Swatch::Wait`].
    Role(Swatch),
    /// Batch wait while the GPU idles.
    Exposed,
    /// Batch wait while the GPU works.
    Hidden,
    /// Waits outside of the training loop.
    OtherWait,
    /// Batch wait of a rank without a GPU.
    UnknownWait,
    /// The file cannot tell what the GPU did.
    Unrecorded,
    /// GPU work that a CPU span launched, after its end.
    Tail,
    /// The part of a collective in which a rank waits for others.
    RankWait,
    /// A rank that came last to a collective.
    LateRank,
}

impl LegendEntry {
    /// Its text.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Role(swatch) => swatch.title(),
            Self::Exposed => Swatch::Wait.title(),
            Self::Hidden => "hidden wait",
            Self::OtherWait => "other wait",
            Self::UnknownWait => "batch wait (GPU unknown)",
            Self::Unrecorded => "not recorded",
            Self::Tail => "GPU tail",
            Self::RankWait => "waits for a rank",
            Self::LateRank => "late rank",
        }
    }

    /// The same for readers of a picture, who cannot ask.
    #[must_use]
    pub fn long_title(self) -> &'static str {
        match self {
            Self::Tail => "GPU works on after a CPU span",
            Self::RankWait => "collective waits for a late rank",
            Self::LateRank => "last rank to arrive",
            _ => self.title(),
        }
    }

    /// The role that keeps its colour when the entry is clicked.
    #[must_use]
    pub fn swatch(self) -> Swatch {
        match self {
            Self::Role(swatch) => swatch,
            Self::Exposed
            | Self::Hidden
            | Self::OtherWait
            | Self::UnknownWait
            | Self::Unrecorded => Swatch::Wait,
            Self::Tail => Swatch::Cpu,
            Self::RankWait | Self::LateRank => Swatch::GpuComm,
        }
    }
}
