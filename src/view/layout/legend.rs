//! What the colours mean: the entries that a trace needs, for the window and for pictures.

use super::{collectives, tails};
use crate::analysis::{Analysis, LayerClass};
use crate::model::Trace;
use crate::view::draw::{DrawList, Item, Section, SectionKind};
use crate::view::entry::LegendEntry;
use crate::view::geom::{Rect, Size};
use crate::view::theme::{Swatch, Theme};

impl LegendEntry {
    /// Width and height of [`Self::sample`], points.
    pub const SIZE: Size = Size {
        width: 13.0,
        height: 11.0,
    };

    /// A sample of its look.
    #[must_use]
    pub fn sample(self, theme: &Theme) -> DrawList {
        let size = Self::SIZE;
        let all = Rect::new(0.0, 0.0, size.width, size.height);
        let mut items = Vec::new();
        self.draw(theme, all, &mut items);
        DrawList {
            size,
            sections: vec![Section {
                kind: SectionKind::Caption,
                clip: all,
                items,
            }],
            ..DrawList::default()
        }
    }

    /// Draws a sample into a rectangle.
    pub(super) fn draw(self, theme: &Theme, rect: Rect, out: &mut Vec<Item>) {
        let wait = theme.swatch(Swatch::Wait);
        let (fill, border) = match self {
            Self::Role(swatch) => {
                let fill = theme.swatch(swatch);
                (fill, (!theme.dark).then(|| theme.outline(fill)))
            }
            Self::Exposed => (wait, None),
            Self::Hidden => (wait.percent(30), Some(wait)),
            Self::OtherWait => (wait.percent(8).over(theme.lane), Some(wait.percent(60))),
            Self::UnknownWait => (wait.percent(8).over(theme.lane), Some(wait)),
            Self::Unrecorded => {
                let fill = theme.unrecorded.percent(45).over(theme.lane);
                (fill, Some(theme.unrecorded))
            }
            Self::Tail => return tails::sample(theme, rect, out),
            Self::RankWait | Self::LateRank => {
                return collectives::sample(theme, rect, self == Self::LateRank, out);
            }
        };
        out.push(Item::Rect { rect, fill });
        if let Some(color) = border {
            let width = 1.0;
            out.push(Item::Outline { rect, color, width });
        }
        if self == Self::Exposed {
            out.push(Item::Hatch {
                rect,
                color: theme.hatch(),
                line: 2.0,
                pitch: 6.0,
            });
        }
    }
}

/// The entries that occur in a trace, in order. Looks at all spans: once per trace, not per frame.
#[must_use]
pub fn legend_of(trace: &Trace, analysis: &Analysis) -> Vec<LegendEntry> {
    let layers = analysis.layers();
    let mut seen = vec![false; layers.infos().len()];
    let mut other_wait = false;
    for lane in trace.lane_ids() {
        let loops = analysis.ranks().iter().any(|r| r.loop_lane == Some(lane));
        let mut here = vec![false; seen.len()];
        for id in trace.lane_spans(lane) {
            here[usize::from(layers.of(id).0)] = true;
        }
        for (info, (seen, here)) in layers.infos().iter().zip(seen.iter_mut().zip(here)) {
            *seen |= here;
            other_wait |= here && !loops && info.class == LayerClass::Wait;
        }
    }
    let occurs = |swatch: Swatch| {
        let mut infos = layers.infos().iter().zip(&seen);
        infos.any(|(info, seen)| *seen && Swatch::of(info.class) == swatch)
    };
    let roles = Swatch::ALL.into_iter();
    let roles = roles.filter(|&s| s != Swatch::Wait && occurs(s));
    let mut out: Vec<LegendEntry> = roles.map(LegendEntry::Role).collect();
    let ranks = analysis.ranks();
    let hidden = |r: &crate::analysis::Rank| {
        r.wait.measure() > r.wait_exposed.measure() + r.wait_unrecorded.measure()
    };
    let extent = trace.extent();
    let beyond = |g: &crate::analysis::Gpu| {
        let ends = g.record.start > extent.start || g.record.end < extent.end;
        ends || !g.not_recorded.is_empty()
    };
    let unknown = |r: &crate::analysis::Rank| r.gpu.is_none() && !r.wait.is_empty();
    let cut = |r: &crate::analysis::Rank| r.gpu.is_some() && !r.wait_unrecorded.is_empty();
    let unrecorded = ranks.iter().any(cut) || analysis.gpus().iter().any(beyond);
    let runs = analysis.collectives();
    let late = |r: &crate::analysis::Collectives| r.arrivals.of.iter().any(|a| a.cost > 0);
    let more = [
        (
            LegendEntry::Exposed,
            ranks.iter().any(|r| !r.wait_exposed.is_empty()),
        ),
        (LegendEntry::Hidden, ranks.iter().any(hidden)),
        (LegendEntry::OtherWait, other_wait),
        (LegendEntry::UnknownWait, ranks.iter().any(unknown)),
        (LegendEntry::Unrecorded, unrecorded),
        (LegendEntry::Tail, !analysis.tails().is_empty()),
        (
            LegendEntry::RankWait,
            runs.iter().any(|r| r.waiting.iter().any(|w| !w.is_empty())),
        ),
        (LegendEntry::LateRank, runs.iter().any(late)),
    ];
    out.extend(more.into_iter().filter(|m| m.1).map(|m| m.0));
    out
}
