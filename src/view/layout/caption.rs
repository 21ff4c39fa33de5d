//! Title line and legend of an exported picture.

use super::ctx::{text, text_right};
use crate::view::draw::{DrawList, Font, Item, Section, SectionKind};
use crate::view::geom::{Rect, Size};
use crate::view::theme::{Swatch, Theme};

/// Height of the title line, points.
pub const TITLE: f32 = 30.0;
/// Height of the legend, points.
pub const LEGEND: f32 = 26.0;

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

/// What the colours mean.
#[must_use]
pub fn legend(theme: &Theme, width: f32) -> DrawList {
    let y = LEGEND / 2.0;
    let mut items = vec![back(theme, width, LEGEND)];
    let mut x = 10.0;
    let entry =
        |items: &mut Vec<Item>, x: &mut f32, look: &dyn Fn(Rect, &mut Vec<Item>), name: &str| {
            let rect = Rect::new(*x, y - 5.5, *x + 13.0, y + 5.5);
            look(rect, items);
            items.push(text((*x + 18.0, y), name, Font::Small, theme.text, 160.0));
            *x += 18.0 + name.chars().count() as f32 * 5.8 + 16.0;
        };
    for swatch in Swatch::ALL {
        if swatch == Swatch::Wait {
            continue;
        }
        let look = |rect: Rect, out: &mut Vec<Item>| {
            let fill = theme.swatch(swatch);
            out.push(Item::Rect { rect, fill });
            if !theme.dark {
                let color = theme.outline(fill);
                out.push(Item::Outline {
                    rect,
                    color,
                    width: 1.0,
                });
            }
        };
        entry(&mut items, &mut x, &look, swatch.title());
    }
    let wait = theme.swatch(Swatch::Wait);
    let hidden = |rect: Rect, out: &mut Vec<Item>| {
        out.push(Item::Rect {
            rect,
            fill: wait.percent(30),
        });
        out.push(Item::Outline {
            rect,
            color: wait,
            width: 1.0,
        });
    };
    let exposed = |rect: Rect, out: &mut Vec<Item>| {
        out.push(Item::Rect { rect, fill: wait });
        out.push(Item::Hatch {
            rect,
            color: theme.hatch(),
            line: 2.0,
            pitch: 6.0,
        });
    };
    let grey = |rect: Rect, out: &mut Vec<Item>| {
        out.push(Item::Rect {
            rect,
            fill: theme.unrecorded.percent(45).over(theme.lane),
        });
        out.push(Item::Outline {
            rect,
            color: theme.unrecorded,
            width: 1.0,
        });
    };
    entry(&mut items, &mut x, &exposed, "exposed wait");
    entry(&mut items, &mut x, &hidden, "hidden wait");
    entry(&mut items, &mut x, &grey, "not recorded");
    let tail = |rect: Rect, out: &mut Vec<Item>| super::tails::sample(theme, rect, out);
    entry(&mut items, &mut x, &tail, "GPU works on after a CPU span");
    list(width, LEGEND, items)
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
