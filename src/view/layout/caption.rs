//! Title line and legend of an exported picture.

use super::LegendEntry;
use super::ctx::{text, text_right};
use crate::view::draw::{DrawList, Font, Item, Section, SectionKind};
use crate::view::geom::{Rect, Size};
use crate::view::theme::Theme;

/// Height of the title line, points.
pub const TITLE: f32 = 30.0;
/// Height of a legend of one line, points.
pub const LEGEND: f32 = 26.0;
/// Height of each further line, points.
const LEGEND_LINE: f32 = 18.0;
/// Space left and right of it, points.
const LEFT: f32 = 10.0;

/// A title on the left and what it is about on the right.
#[must_use]
pub fn title(theme: &Theme, width: f32, name: &str, about: &str) -> DrawList {
    let y = TITLE / 2.0;
    let items = vec![
        back(theme, width, TITLE),
        text((10.0, y), name, Font::Title, theme.text, width * 0.55),
        text_right(
            (width - 10.0, y),
            about,
            Font::Body,
            theme.weak,
            width * 0.42,
        ),
    ];
    list(width, TITLE, items)
}

/// Where the entries of a legend go: left edge and line.
fn places(entries: &[LegendEntry], width: f32) -> Vec<(f32, u16)> {
    let (mut x, mut line) = (LEFT, 0);
    let place = |entry: &LegendEntry| {
        let own = 18.0 + entry.long_title().chars().count() as f32 * 5.8;
        if x > LEFT && x + own > width - LEFT {
            (x, line) = (LEFT, line + 1);
        }
        let at = (x, line);
        x += own + 16.0;
        at
    };
    entries.iter().map(place).collect()
}

/// Height of a legend, points.
#[must_use]
pub fn legend_height(entries: &[LegendEntry], width: f32) -> f32 {
    let more = places(entries, width).last().map_or(0, |p| p.1);
    LEGEND + f32::from(more) * LEGEND_LINE
}

/// What the colours mean.
#[must_use]
pub fn legend(theme: &Theme, entries: &[LegendEntry], width: f32) -> DrawList {
    let height = legend_height(entries, width);
    let mut items = vec![back(theme, width, height)];
    for (entry, (x, line)) in entries.iter().zip(places(entries, width)) {
        let y = LEGEND / 2.0 + f32::from(line) * LEGEND_LINE;
        let rect = Rect::new(x, y - 5.5, x + 13.0, y + 5.5);
        entry.draw(theme, rect, &mut items);
        let words = entry.long_title();
        items.push(text((x + 18.0, y), words, Font::Small, theme.text, 200.0));
    }
    list(width, height, items)
}

fn back(theme: &Theme, width: f32, height: f32) -> Item {
    Item::Rect {
        rect: Rect::new(0.0, 0.0, width, height),
        fill: theme.panel,
    }
}

fn list(width: f32, height: f32, items: Vec<Item>) -> DrawList {
    DrawList {
        size: Size::new(width, height),
        sections: vec![Section {
            kind: SectionKind::Caption,
            clip: Rect::new(0.0, 0.0, width, height),
            items,
        }],
        ..DrawList::default()
    }
}
