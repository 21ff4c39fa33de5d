//! The steps of a loop as a picture: the mean step as a bar of parts, and all steps as columns of parts. A pure function,
//! for files.
//!
//! ```text
//! mean step │ compute          │ wait │ short gaps │ 123.456 ms
//! steps     ▂▂▃▂▂▂▆▂▂▂
//!           ■ compute ■ wait …
//! ```

use super::compare::{filled, parts, words};
use super::draw::{Align, DrawList, Font, Item, Section, SectionKind};
use super::geom::{Point, Rect, Size};
use super::theme::Theme;
use crate::analysis::{PartedStep, StepParts};
use crate::time::Unit;

/// Height of the bar, points.
const BAR: f32 = 24.0;
/// Room for the length behind the bar, points.
const LENGTH: f32 = 100.0;
/// Height of the columns, points.
const COLUMNS: f32 = 84.0;
/// Widest column, points.
const WIDEST: f32 = 24.0;
/// Space between the regions, points.
const GAP: f32 = 12.0;

/// Everything that [`steps`] depends on.
pub struct StepsInput<'a> {
    /// The steps.
    pub parts: &'a StepParts,
    /// Colours.
    pub theme: &'a Theme,
    /// Width of the picture, points.
    pub width: f32,
    /// Width of the names on the left, points.
    pub header_width: f32,
}

/// The picture. Its height is that of what there is to show.
#[must_use]
pub fn steps(input: &StepsInput<'_>) -> DrawList {
    let (theme, width, x0) = (input.theme, input.width, input.header_width);
    let mut items = Vec::new();
    let mut y = GAP;
    let name = |y: f32, text: &str, items: &mut Vec<Item>| {
        let style = (Font::Body, theme.text);
        items.push(words((10.0, y), text, style, (Align::Left, x0 - 20.0)));
    };
    let about = |y: f32, text: String, items: &mut Vec<Item>| {
        let style = (Font::Small, theme.weak);
        items.push(words((10.0, y), text, style, (Align::Left, x0 - 20.0)));
    };
    let mean = input.parts.mean();
    let shown = input.parts.mean_parts();
    if let Some(mean) = mean {
        name(y + BAR / 2.0, "Mean step", &mut items);
        let scale = f64::from((width - LENGTH - x0 - 10.0).max(50.0)) / mean.max(1) as f64;
        let x = |ns: i64| x0 + 10.0 + (ns as f64 * scale) as f32;
        let mut at = 0_i64;
        for &(part, ns) in &shown {
            let end = at.saturating_add(ns);
            let rect = Rect::new(x(at), y, x(end), y + BAR);
            parts::named_piece(theme, part, rect, &mut items);
            at = end;
        }
        let text = format!("{} ms", Unit::Ms.format(mean, 3));
        let style = (Font::Body, theme.text);
        let at = (x(mean) + 6.0, y + BAR / 2.0);
        items.push(words(at, text, style, (Align::Left, LENGTH)));
        y += BAR + GAP;
    }
    let room = (width - x0 - 20.0).max(10.0);
    let steps = &input.parts.steps;
    // Whole pixels.
    let each = steps.len().div_ceil(room as usize).max(1);
    let columns: Vec<&[PartedStep]> = steps.chunks(each).collect();
    let most = steps.iter().map(|s| s.range.len()).max().unwrap_or(0);
    let area = Rect::new(x0, y, width, y + COLUMNS);
    items.push(filled(area, theme.lane));
    let each_width = (room / columns.len().max(1) as f32).min(WIDEST);
    for (place, column) in columns.iter().enumerate() {
        let x = x0 + 10.0 + place as f32 * each_width;
        let gap = if each_width >= 4.0 { 1.0 } else { 0.0 };
        let across = (x, (x + each_width - gap).max(x + 0.5));
        draw_column(input, column, (across, area), most.max(1), &mut items);
    }
    name(area.y0 + 10.0, "All whole steps", &mut items);
    let order = match each {
        1 => "in their order".to_owned(),
        n => format!("{n} a column, the mean of them"),
    };
    about(area.y0 + 27.0, order, &mut items);
    let longest = format!("longest {} ms", Unit::Ms.format(most, 3));
    about(area.y0 + 42.0, longest, &mut items);
    if let Some(mean) = mean.filter(|m| *m <= most) {
        let line = area.y1 - height(mean, most);
        items.push(Item::Line {
            a: Point::new(area.x0, line),
            b: Point::new(area.x1, line),
            color: theme.strong.percent(70),
            width: 1.0,
        });
        about(area.y0 + 57.0, "line: mean step".to_owned(), &mut items);
    }
    if steps.iter().any(|s| !s.judged) {
        about(area.y0 + 72.0, "hollow: not judged".to_owned(), &mut items);
    }
    let names = shown.iter().map(|p| p.0);
    let (legend, end) = parts::legend(theme, names, (x0 + 10.0, width - 10.0), area.y1 + 4.0);
    items.extend(legend);
    let all = Rect::new(0.0, 0.0, width, end);
    DrawList {
        size: Size::new(width, end),
        sections: vec![Section {
            kind: SectionKind::Band,
            clip: all,
            items,
        }],
        ..DrawList::default()
    }
}

/// Height of a column, points.
fn height(ns: i64, most: i64) -> f32 {
    (ns as f64 / most.max(1) as f64) as f32 * (COLUMNS - 4.0)
}

/// A step, or several where there are more of them than pixels.
fn draw_column(
    input: &StepsInput<'_>,
    steps: &[PartedStep],
    ((x0, x1), area): ((f32, f32), Rect),
    most: i64,
    items: &mut Vec<Item>,
) {
    let judged: Vec<&PartedStep> = steps.iter().filter(|s| s.judged).collect();
    let n = judged.len() as i128;
    if n == 0 {
        let time = steps.iter().map(|s| s.range.len()).max().unwrap_or(0);
        items.push(Item::Outline {
            rect: Rect::new(x0, area.y1 - height(time, most), x1, area.y1),
            color: input.theme.weak,
            width: 1.0,
        });
        return;
    }
    let mut below = 0_i64;
    for (place, part) in input.parts.names.iter().enumerate() {
        let values = judged.iter().filter_map(|s| s.parts.get(place));
        let sum: i128 = values.copied().map(i128::from).sum();
        let mean = i64::try_from(sum / n).unwrap_or(i64::MAX);
        if mean <= 0 {
            continue;
        }
        let top = below.saturating_add(mean);
        let (y0, y1) = (area.y1 - height(top, most), area.y1 - height(below, most));
        let fill = parts::fill(input.theme, part);
        items.push(filled(Rect::new(x0, y0, x1, y1), fill));
        below = top;
    }
}
