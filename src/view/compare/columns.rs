//! All steps of both sides as columns of parts: how even they are, which one is shown, which are not judged.

use super::{GAP, Scene, filled, parts, words};
use crate::analysis::compare::{AlignedBy, SampleRow};
use crate::time::{TimeRange, Unit};
use crate::view::draw::{Align, Font, Item, SectionKind};
use crate::view::geom::{Point, Rect};

/// Height of the columns of a side, points.
const HEIGHT: f32 = 54.0;
/// Widest column, points.
const WIDEST: f32 = 18.0;

/// A column: a step, or several where there are more steps than pixels.
struct Column<'a> {
    /// Its place on the axis of both sides.
    at: usize,
    /// The steps in it; none for a step that is not judged.
    rows: Vec<&'a SampleRow>,
    /// Longest step in it, ns.
    time: i64,
    /// Holds the step that is shown.
    shown: bool,
}

/// Number or place on the common axis, and length, of each whole step of a side; those that are not judged have no row.
fn steps<'a>(scene: &Scene<'a>, side: usize) -> Vec<(i64, i64, Option<&'a SampleRow>)> {
    let sample = scene.samples[side];
    let by_number = scene.rank.aligned_by == AlignedBy::Number;
    let analysis = scene.input.sides[side].analysis;
    let extent = analysis.trace().extent();
    let window = TimeRange {
        end: extent.end.max(extent.start.saturating_add(1)),
        ..extent
    };
    let judged = analysis.judged(sample.place, window);
    let known = &analysis.ranks()[sample.place].steps;
    let mut out = Vec::new();
    for (place, cycle) in (0_i64..).zip(&judged.cycles) {
        let row = sample.rows.binary_search_by_key(&cycle.step, |r| r.step);
        let row = row.ok().map(|i| &sample.rows[i]);
        let number = known.get(cycle.step).and_then(|s| s.number);
        let at = number.filter(|_| by_number).unwrap_or(place);
        out.push((at, cycle.time(), row));
    }
    out
}

pub(super) fn draw(scene: &mut Scene<'_>) {
    let sides = [steps(scene, 0), steps(scene, 1)];
    let ends = sides.iter().flatten().map(|s| s.0);
    let (Some(first), Some(last)) = (ends.clone().min(), ends.max()) else {
        return;
    };
    let places = usize::try_from(last.saturating_sub(first)).unwrap_or(0) + 1;
    let room = (scene.x1() - scene.x0() - 20.0).max(10.0);
    // Whole pixels.
    let each = places.div_ceil(room as usize).max(1);
    let count = places.div_ceil(each);
    let width = (room / count as f32).min(WIDEST);
    let judged = sides.iter().flatten().filter(|s| s.2.is_some());
    let most = judged.map(|s| s.1).max().unwrap_or(1).max(1);
    let title = match (scene.rank.aligned_by, each) {
        (AlignedBy::Number, 1) => "Steps by number".to_owned(),
        (AlignedBy::Index, 1) => "Steps in order".to_owned(),
        (_, n) => format!("Steps, {n} a column"),
    };
    for (side, steps) in sides.iter().enumerate() {
        let mut columns: Vec<Column<'_>> = Vec::new();
        for &(at, time, row) in steps {
            let at = usize::try_from(at.saturating_sub(first)).unwrap_or(0) / each;
            let shown = row.is_some_and(|r| r.step == scene.shown[side].step);
            match columns.last_mut().filter(|c| c.at == at) {
                Some(column) => {
                    column.rows.extend(row);
                    column.time = column.time.max(time);
                    column.shown |= shown;
                }
                None => columns.push(Column {
                    at,
                    rows: row.into_iter().collect(),
                    time,
                    shown,
                }),
            }
        }
        let area = scene.below(HEIGHT);
        strip(scene, &columns, (area, width, most), side);
        let name = if side == 0 { title.as_str() } else { "" };
        scene.name(area.y0 + 9.0, name, Some(side));
        scene.y += HEIGHT + GAP;
    }
}

fn strip(
    scene: &mut Scene<'_>,
    columns: &[Column<'_>],
    (area, width, most): (Rect, f32, i64),
    side: usize,
) {
    let (theme, clock) = (scene.input.theme, scene.clock());
    let height = |ns: i64| ((ns as f64 / most as f64) as f32 * HEIGHT).min(HEIGHT);
    let mut items = vec![filled(area, theme.lane)];
    let mut outline = None;
    for column in columns {
        let x = area.x0 + 10.0 + column.at as f32 * width;
        let gap = if width >= 4.0 { 1.0 } else { 0.0 };
        let right = (x + width - gap).max(x + 0.5);
        if column.rows.is_empty() {
            // Not judged: hollow.
            let rect = Rect::new(x, area.y1 - height(column.time), right, area.y1);
            items.push(Item::Outline {
                rect,
                color: theme.weak,
                width: 1.0,
            });
            continue;
        }
        if let Some(row) = column.rows.first() {
            let rows = &scene.samples[side].rows;
            if let Ok(place) = rows.binary_search_by_key(&row.step, |r| r.step) {
                let rect = Rect::new(x, area.y0, x + width, area.y1);
                scene.steps.push((rect, side, place));
            }
        }
        let n = column.rows.len() as i64;
        let mut y = area.y1;
        for (p, part) in clock.parts().iter().enumerate() {
            let values = column.rows.iter().map(|r| clock.of(r).get(p).copied());
            let sum: i128 = values.flatten().map(i128::from).sum();
            let mean = i64::try_from(sum / i128::from(n)).unwrap_or(i64::MAX);
            if mean <= 0 {
                continue;
            }
            let top = (y - height(mean)).max(area.y0);
            items.push(filled(
                Rect::new(x, top, right, y),
                parts::fill(theme, part),
            ));
            y = top;
        }
        if column.shown {
            outline = Some(Rect::new(x - 1.5, y - 1.5, right + 1.5, area.y1));
        }
    }
    if let Some(rect) = outline {
        items.push(Item::Outline {
            rect,
            color: theme.strong,
            width: 2.0,
        });
    }
    let question = scene.rank.figures.first();
    let median = question.and_then(|f| if side == 0 { f.before } else { f.after });
    if let Some(median) = median {
        let y = area.y1 - height(median);
        items.push(Item::Line {
            a: Point::new(area.x0, y),
            b: Point::new(area.x1, y),
            color: theme.strong.percent(70),
            width: 1.0,
        });
        let text = format!("median {} ms", Unit::Ms.format(median, 3));
        let style = (Font::Small, theme.weak);
        let (x, y) = (scene.x0() - 8.0, area.y0 + 26.0);
        let name = words((x, y), text, style, (Align::Right, scene.x0() - 20.0));
        let clip = Rect::new(0.0, area.y0, scene.x0(), area.y1);
        scene.section(SectionKind::Headers, clip, vec![name]);
    }
    scene.section(SectionKind::Band, area, items);
}
