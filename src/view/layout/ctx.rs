//! What all stages of the layout share: coordinates, colours with fading, and the list that they fill.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::{LayoutInput, Links};
use crate::analysis::{LayerClass, LayerId};
use crate::time::TimeRange;
use crate::view::draw::{Align, DrawList, Font, Item, Section, SectionKind, Text};
use crate::view::entry::LegendEntry;
use crate::view::geom::{Point, Rect, Rgba};
use crate::view::theme::Swatch;

/// Opacity of all but the chain below a wait, percent.
const FADED: u32 = 35;

/// State of one layout.
pub(super) struct Ctx<'a> {
    pub input: &'a LayoutInput<'a>,
    /// The visible time in whole nanoseconds.
    pub window: TimeRange,
    /// Neighbours that together are at most this long are one piece, ns: no gap in it is one that parts runs.
    pub merge_ns: i64,
    /// Left edge of the canvas.
    pub x0: f32,
    /// What stands beside arrows: labels keep clear of it.
    pub chips: Vec<Rect>,
    /// What a legend has to say.
    pub drawn: RefCell<BTreeSet<LegendEntry>>,
    pub list: DrawList,
}

impl<'a> Ctx<'a> {
    pub fn new(input: &'a LayoutInput<'a>) -> Self {
        Self {
            window: input.viewport.range(),
            merge_ns: (super::runs::JOIN_GAP * input.viewport.ns_per_px()).floor() as i64,
            x0: input.metrics.header_width,
            chips: Vec::new(),
            drawn: RefCell::default(),
            list: DrawList {
                size: input.size,
                ..DrawList::default()
            },
            input,
        }
    }

    /// Canvas position of a time, clipped to the canvas ± 2 points, in picture coordinates.
    pub fn x(&self, time: i64) -> f32 {
        self.x0 + self.input.viewport.x_clipped(time)
    }

    /// Picture coordinate of a canvas coordinate that is not clipped yet.
    pub fn clip_x(&self, x: f64) -> f32 {
        let width = f64::from(self.input.viewport.width());
        self.x0 + x.clamp(-2.0, width + 2.0) as f32
    }

    /// Right edge of the canvas.
    pub fn x1(&self) -> f32 {
        self.input.size.width
    }

    pub fn section(&mut self, kind: SectionKind, clip: Rect, items: Vec<Item>) {
        if !items.is_empty() && !clip.is_empty() {
            self.list.sections.push(Section { kind, clip, items });
        }
    }

    /// Remembers that something is drawn that a legend explains.
    pub fn drew(&self, entry: LegendEntry) {
        self.drawn.borrow_mut().insert(entry);
    }

    pub fn class(&self, layer: LayerId) -> LayerClass {
        let infos = self.input.analysis.layers().infos();
        infos
            .get(usize::from(layer.0))
            .map_or(LayerClass::Api, |l| l.class)
    }

    /// Whether nobody can tell what of a rank's waits was exposed: index in [`crate::analysis::Analysis::ranks`].
    pub fn no_gpu(&self, rank: usize) -> bool {
        self.input.analysis.ranks()[rank].gpu.is_none()
    }

    /// Whether a span has the name of the hovered one.
    pub fn is_namesake(&self, span: crate::model::SpanId) -> bool {
        let spans = self.input.trace.spans();
        self.input
            .hovered
            .is_some_and(|h| spans.name(h) == spans.name(span))
    }

    /// One physical pixel, points.
    pub fn pixel(&self) -> f32 {
        1.0 / self.input.metrics.pixels_per_point.max(0.1)
    }

    /// Opacity of ordinary spans of a class, percent: lower where something else is in focus.
    pub fn opacity(&self, class: LayerClass, gpu: bool) -> u32 {
        let input = self.input;
        let mut percent = 100;
        if input.hits.is_some() {
            percent = 20;
        }
        let chosen = self.chosen_links();
        if chosen.is_some_and(|l| l.chain) {
            percent = percent.min(FADED);
        }
        if gpu && chosen.is_some_and(|l| !l.is_empty()) {
            percent = percent.min(40);
        }
        percent.min(self.legend_opacity(Swatch::of(class)))
    }

    /// The links, unless they are there because the pointer is at their span. Pointing at a span draws its links and
    /// leaves everything else as it is: a picture that flickers with the pointer cannot be read.
    fn chosen_links(&self) -> Option<&Links> {
        let input = self.input;
        let selected = |l: &Links| {
            let own = |s| l.span == s || (l.chain && l.ops.contains(&s));
            input.selected.is_some_and(own)
        };
        let links = input.links?;
        (input.hovered != Some(links.span) || selected(links)).then_some(links)
    }

    /// Opacity of waits in lanes, percent.
    pub fn wait_opacity(&self) -> u32 {
        let faded = self.chosen_links().is_some_and(|l| l.chain);
        let most = if faded { FADED } else { 100 };
        self.legend_opacity(Swatch::Wait).min(most)
    }

    /// Opacity of a role, percent: lower where the legend keeps another one.
    pub fn legend_opacity(&self, swatch: Swatch) -> u32 {
        match self.input.options.only {
            Some(only) if only != swatch => 20,
            _ => 100,
        }
    }
}

/// A line of text.
pub(super) fn text(
    at: (f32, f32),
    text: impl Into<String>,
    font: Font,
    color: Rgba,
    max_width: f32,
) -> Item {
    aligned(Align::Left, at, text, (font, color), max_width)
}

/// A line of text that ends at `at`.
pub(super) fn text_right(
    at: (f32, f32),
    text: impl Into<String>,
    font: Font,
    color: Rgba,
    max_width: f32,
) -> Item {
    aligned(Align::Right, at, text, (font, color), max_width)
}

fn aligned(
    align: Align,
    (x, y): (f32, f32),
    text: impl Into<String>,
    (font, color): (Font, Rgba),
    max_width: f32,
) -> Item {
    Item::Text(Text {
        at: Point::new(x, y),
        text: text.into(),
        font,
        color,
        align,
        max_width,
    })
}

/// `part` of `whole` in whole percent, as shown: "64 %", "< 1 %" for what would round to nothing.
pub(super) fn percent(part: i64, whole: i64) -> String {
    if whole <= 0 || part <= 0 {
        return "0 %".to_owned();
    }
    let tenths = (i128::from(part) * 1_000 + i128::from(whole) / 2) / i128::from(whole);
    match tenths {
        0..5 => "< 1 %".to_owned(),
        995.. if part < whole => "> 99 %".to_owned(),
        _ => format!("{} %", (tenths + 5) / 10),
    }
}

/// A length for a label: three significant digits at most, "54 ms", "1.2 ms", "39.5 ms".
pub(super) fn short_time(ns: i64) -> String {
    use crate::time::Unit;
    let unit = Unit::for_length(ns);
    let whole = ns.unsigned_abs() / unit.ns().unsigned_abs();
    let decimals = match (unit, whole) {
        (Unit::Ns, _) | (_, 100..) => 0,
        (_, 10..) => 1,
        _ => 2,
    };
    let text = unit.format(ns, decimals);
    let text = if decimals > 0 {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} {}", unit.symbol())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_lengths_are_short() {
        assert_eq!(percent(64, 100), "64 %");
        assert_eq!(percent(0, 100), "0 %");
        assert_eq!(percent(4, 1_000), "< 1 %");
        assert_eq!(percent(9_996, 10_000), "> 99 %");
        assert_eq!(percent(100, 100), "100 %");
        assert_eq!(percent(5, 0), "0 %");
        assert_eq!(short_time(54_000_000), "54 ms");
        assert_eq!(short_time(101_400_000), "101 ms");
        assert_eq!(short_time(39_540_000), "39.5 ms");
        assert_eq!(short_time(1_200), "1.2 µs");
        assert_eq!(short_time(1_234), "1.23 µs");
        assert_eq!(short_time(640), "640 ns");
        assert_eq!(short_time(0), "0 ns");
    }
}
