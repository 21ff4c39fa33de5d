//! Title line and legend of an exported picture.

use super::ctx::{text, text_right};
use crate::view::draw::{DrawList, Font, Item, Section, SectionKind};
use crate::view::entry::LegendEntry;
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

/// Widest usual characters of the title's two fonts, points.
const NAME_ADVANCE: f32 = 8.5;
const ABOUT_ADVANCE: f32 = 6.2;

/// A title on the left and what it is about on the right: as many of its parts, the first ones first, as have room.
#[must_use]
pub fn title(theme: &Theme, width: f32, name: &str, about: &[String]) -> DrawList {
    let y = TITLE / 2.0;
    let beside_name = width - 40.0 - name.chars().count() as f32 * NAME_ADVANCE;
    let room = beside_name.max(width * 0.63);
    let mut words = String::new();
    for part in about {
        let longer = if words.is_empty() {
            part.clone()
        } else {
            format!("{words} · {part}")
        };
        if !words.is_empty() && longer.chars().count() as f32 * ABOUT_ADVANCE > room {
            break;
        }
        words = longer;
    }
    let left = width - 40.0 - words.chars().count() as f32 * ABOUT_ADVANCE;
    let items = vec![
        back(theme, width, TITLE),
        text(
            (10.0, y),
            name,
            Font::Title,
            theme.text,
            left.max(width * 0.36),
        ),
        text_right((width - 10.0, y), &words, Font::Body, theme.weak, room),
    ];
    list(width, TITLE, items)
}

/// Height of a line below the title, points.
const LINE: f32 = 18.0;

/// Texts as lines that fit into a width, broken between words where they can be.
fn broken(texts: &[String], width: f32) -> Vec<String> {
    let most = (((width - 2.0 * LEFT) / ABOUT_ADVANCE) as usize).max(20);
    let mut out = Vec::new();
    for text in texts {
        let mut line = String::new();
        for word in text.split(' ') {
            let long = line.chars().count() + 1 + word.chars().count() > most;
            if long && !line.is_empty() {
                out.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            while line.chars().count() > most {
                let rest = line.chars().skip(most).collect();
                out.push(line.chars().take(most).collect());
                line = rest;
            }
        }
        out.push(line);
    }
    out
}

/// Height of lines of text below the title, points.
#[must_use]
pub fn lines_height(texts: &[String], width: f32) -> f32 {
    broken(texts, width).len() as f32 * LINE
}

/// What is said below the title, in as many lines as it needs.
#[must_use]
pub fn lines(theme: &Theme, texts: &[String], width: f32) -> DrawList {
    let height = lines_height(texts, width);
    let mut items = vec![back(theme, width, height)];
    for (i, line) in broken(texts, width).into_iter().enumerate() {
        let at = (LEFT, (i as f32 + 0.5) * LINE - 2.0);
        items.push(text(at, line, Font::Body, theme.text, width - 2.0 * LEFT));
    }
    list(width, height, items)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn said(width: f32, name: &str) -> String {
        let about = [
            "0 ns – 5 ms",
            "5 ms",
            "exposed wait 1 ms (20.0 %)",
            "GPU busy 3 ms (60.0 %)",
        ];
        let list = title(&Theme::light(), width, name, &about.map(str::to_owned));
        let texts = list.sections.iter().flat_map(|s| &s.items);
        let mut texts = texts.filter_map(|i| match i {
            Item::Text(text) => Some(text.text.clone()),
            _ => None,
        });
        texts.next_back().expect("what it is about")
    }

    #[test]
    fn the_title_line_says_as_much_as_there_is_room_for() {
        let all = "0 ns – 5 ms · 5 ms · exposed wait 1 ms (20.0 %) · GPU busy 3 ms (60.0 %)";
        assert_eq!(said(1_400.0, "trace.json"), all);
        assert_eq!(said(640.0, "trace.json"), all, "a short name leaves room");
        let long = "a".repeat(60);
        let some = "0 ns – 5 ms · 5 ms · exposed wait 1 ms (20.0 %)";
        assert_eq!(said(700.0, &long), some);
    }
}
