//! The mean step of both sides as two bars of parts on one scale, each part joined with itself.

use super::{GAP, Scene, filled, parts, words};
use crate::analysis::compare::{Answer, Direction, Figure, decimals};
use crate::time::Unit;
use crate::view::draw::{Align, Font, Item, SectionKind};
use crate::view::geom::{Point, Rect};

/// Height of a bar, points.
const BAR: f32 = 22.0;
/// Between the bars: lines that join parts, and what changed, points.
const BETWEEN: f32 = 34.0;
/// Room for the length behind a bar, points.
const LENGTH: f32 = 90.0;
/// Width of a character of a label, points.
const ADVANCE: f32 = 6.2;
/// Between two labels of changes, points.
const APART: f32 = 8.0;

/// `▲ 11.2 ms` where a part surely changed, or seems to have; nothing for others.
pub(super) fn mark(figure: &Figure, step: i64) -> Option<String> {
    if !figure.answer.is_marked() {
        return None;
    }
    let sign = match figure.direction? {
        Direction::More => '▲',
        Direction::Less => '▼',
    };
    let size = figure.shift?.saturating_abs();
    let size = Unit::Ms.format(size, decimals(step));
    let hint = if figure.answer == Answer::Hint {
        " (hint)"
    } else {
        ""
    };
    Some(format!("{sign} {size} ms{hint}"))
}

pub(super) fn draw(scene: &mut Scene<'_>) {
    let (theme, rank) = (scene.input.theme, scene.rank);
    let Some(d) = &rank.decomposition else {
        return;
    };
    let x0 = scene.x0() + 10.0;
    let steps = [d.step_before, d.step_after];
    let most = steps.into_iter().max().unwrap_or(0).max(1);
    let scale = f64::from((scene.x1() - LENGTH - x0).max(50.0)) / most as f64;
    let x = |ns: i64| x0 + (ns as f64 * scale) as f32;
    let tops = [scene.y + 6.0, scene.y + 6.0 + BAR + BETWEEN];
    let mut items = Vec::new();
    let mut at = [0_i64; 2];
    let mut marks: Vec<(f32, String)> = Vec::new();
    for part in &d.parts {
        let lengths = [part.before, part.after];
        let mut middle = x0;
        for side in [0, 1] {
            let (a, b) = (x(at[side]), x(at[side].saturating_add(lengths[side])));
            let rect = Rect::new(a, tops[side], b, tops[side] + BAR);
            middle = (a + b) / 2.0;
            at[side] = at[side].saturating_add(lengths[side]);
            parts::named_piece(theme, part.name, rect, &mut items);
        }
        // The ends of the part, joined.
        items.push(Item::Line {
            a: Point::new(x(at[0]), tops[0] + BAR),
            b: Point::new(x(at[1]), tops[1]),
            color: theme.weak.percent(60),
            width: 1.0,
        });
        let name = format!("part.{}", part.name);
        let figure = rank.figures.iter().find(|f| f.name == name);
        if let Some(text) = figure.and_then(|f| mark(f, d.step_before)) {
            marks.push((middle, text));
        }
    }
    changes(scene, &marks, tops[0] + BAR + BETWEEN / 2.0, &mut items);
    for side in [0, 1] {
        let y = tops[side] + BAR / 2.0;
        let text = format!("{} ms", Unit::Ms.format(steps[side], 3));
        let style = (Font::Body, theme.text);
        let place = (Align::Left, LENGTH);
        items.push(words((x(at[side]) + 6.0, y), text, style, place));
        let title = if side == 0 { "Mean step" } else { "" };
        scene.name(y, title, Some(side));
    }
    let end = tops[1] + BAR + GAP;
    let clip = Rect::new(scene.x0(), scene.y, scene.x1(), end);
    scene.section(SectionKind::Band, clip, items);
    scene.y = end;
}

/// What changed, between the bars, from left to right so that no text covers another.
fn changes(scene: &Scene<'_>, marks: &[(f32, String)], y: f32, out: &mut Vec<Item>) {
    let theme = scene.input.theme;
    let mut free = scene.x0() + 4.0;
    for (middle, text) in marks {
        let width = text.chars().count() as f32 * (ADVANCE + 0.8) + 8.0;
        let left = (middle - width / 2.0).max(free).min(scene.x1() - width);
        let plate = Rect::new(left, y - 9.0, left + width, y + 9.0);
        out.push(filled(plate, theme.canvas));
        let style = (Font::Strong, theme.text);
        let at = (left + 4.0, y);
        out.push(words(at, text.as_str(), style, (Align::Left, width + 20.0)));
        free = left + width + APART;
    }
}
