//! What ranks cost the others, step by step: a matrix of ranks by steps, and a bar for each rank.
//!
//! ```text
//!   rank 116  node014   ▒ ▓ ▓ █ ▓ ▓ ▒ █ ▓   ██████████ 1,630 ms     a cell: what the rank cost the others in that step,
//!   rank 511  node063   · · · · █ · · · ·   ██ 398 ms               of the whole step; a bar: of all judged steps
//!             steps     1 2 3 4 5 6 7 8 9
//! ```

use std::cmp::Reverse;
use std::ops::Range;

use super::draw::{Align, DrawList, Font, Item, Section, SectionKind, Text};
use super::geom::{Point, Rect, Rgba, Size};
use super::theme::{Swatch, Theme};
use crate::analysis::{Across, ratio};
use crate::time::{about_ns, format_count};

/// Rows and columns at most; of more, a cell is the largest of a block.
pub const MOST_CELLS: usize = 2_048;
/// Heights that a row can have, points.
pub const ROW_HEIGHTS: std::ops::RangeInclusive<f32> = 1.0..=16.0;

/// Height of title and axis of steps, points.
const HEAD: f32 = 66.0;
/// Below the rows, points.
const FOOT: f32 = 10.0;
/// Width of the bars of ranks with their figures, points.
const BARS: f32 = 190.0;
/// Least distance of two labels of ranks, points.
const LABEL: f32 = 14.0;
/// Least distance of two labels of steps, points.
const STEP_LABEL: f32 = 56.0;
/// Part of a full cell that the smallest cost that shows at all gets: a tenth of a percent of a step must not look like none.
const FAINT: f64 = 0.12;

/// How the rows are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankOrder {
    /// What costs most first.
    #[default]
    Cost,
    /// By number.
    Number,
}

/// What is drawn, and how.
#[derive(Clone, Debug)]
pub struct RanksInput<'a> {
    /// The ranks.
    pub across: &'a Across,
    /// The name of the run.
    pub name: &'a str,
    /// How the rows are sorted.
    pub order: RankOrder,
    /// Colours.
    pub theme: &'a Theme,
    /// Width of the picture, points.
    pub width: f32,
    /// Height of a row, one of [`ROW_HEIGHTS`], points.
    pub row_height: f32,
    /// What shows of the rows' height: only those are laid out, points from the first; `None` = all.
    pub shows: Option<Range<f32>>,
    /// Rows that are marked, by place in the picture.
    pub marked: Option<Range<usize>>,
}

/// The matrix, drawn.
#[derive(Clone, Debug, Default)]
pub struct RanksPicture {
    /// What is painted.
    pub list: DrawList,
    /// Where the cells are.
    pub matrix: Rect,
    /// By row: places of its ranks.
    pub rows: Vec<Range<usize>>,
    /// Places of the ranks in the order of the rows.
    pub order: Vec<usize>,
    /// Steps in each column, but for the last one.
    pub steps_each: usize,
    row_height: f32,
}

impl RanksPicture {
    /// The row at a height of the picture.
    #[must_use]
    pub fn row_at(&self, y: f32) -> Option<usize> {
        let row = (y - self.matrix.y0) / self.row_height;
        (row >= 0.0 && (row as usize) < self.rows.len()).then_some(row as usize)
    }

    /// The ranks of some rows, by place.
    #[must_use]
    pub fn ranks_of(&self, rows: Range<usize>) -> Vec<usize> {
        let rows = self.rows.get(rows).unwrap_or_default().iter();
        rows.flat_map(|r| &self.order[r.clone()]).copied().collect()
    }

    /// The steps at a distance from the left, by place in [`crate::analysis::Columns::numbers`].
    #[must_use]
    pub fn steps_at(&self, x: f32, steps: usize) -> Option<Range<usize>> {
        let cells = steps.div_ceil(self.steps_each.max(1));
        let at = (x - self.matrix.x0) / self.matrix.width() * cells as f32;
        if at < 0.0 || at as usize >= cells {
            return None;
        }
        let first = at as usize * self.steps_each;
        Some(first..(first + self.steps_each).min(steps))
    }
}

/// The height of a row that lets all rows of a picture be seen at once, as far as that is possible.
#[must_use]
pub fn fitting_row_height(ranks: usize, height: f32) -> f32 {
    (height / ranks.max(1) as f32).clamp(*ROW_HEIGHTS.start(), *ROW_HEIGHTS.end())
}

/// Ranks by place, as their rows are sorted.
fn sorted(across: &Across, order: RankOrder) -> Vec<usize> {
    let mut places: Vec<usize> = (0..across.rows.len()).collect();
    if order == RankOrder::Cost {
        places.sort_by_key(|&p| (Reverse(across.job.late.get(p).map(|l| l.cost_judged)), p));
    }
    places
}

/// From `a` to `b` by a share.
fn mix(a: Rgba, b: Rgba, share: f64) -> Rgba {
    let of = |i: usize| {
        let (a, b) = (f64::from(a.0[i]), f64::from(b.0[i]));
        (a + (b - a) * share).round() as u8
    };
    Rgba([of(0), of(1), of(2), 255])
}

struct Scene<'a> {
    input: &'a RanksInput<'a>,
    out: RanksPicture,
}

/// The matrix of ranks by steps. Its height is that of the rows.
#[must_use]
pub fn ranks_picture(input: &RanksInput<'_>) -> RanksPicture {
    let across = input.across;
    let order = sorted(across, input.order);
    let each = order.len().div_ceil(MOST_CELLS).max(1);
    let first = (0..order.len()).step_by(each);
    let rows: Vec<Range<usize>> = first.map(|i| i..(i + each).min(order.len())).collect();
    let row_height = input
        .row_height
        .clamp(*ROW_HEIGHTS.start(), *ROW_HEIGHTS.end());
    let left = 150.0_f32.min(input.width / 4.0);
    let right = (input.width - BARS).max(left + 50.0);
    let bottom = HEAD + rows.len() as f32 * row_height;
    let matrix = Rect::new(left, HEAD, right, bottom);
    let steps = across.columns.numbers.len();
    let cells = MOST_CELLS.min(matrix.width() as usize).max(1);
    let mut scene = Scene {
        input,
        out: RanksPicture {
            list: DrawList {
                size: Size::new(input.width, bottom + FOOT),
                ..DrawList::default()
            },
            matrix,
            rows,
            order,
            steps_each: steps.div_ceil(cells).max(1),
            row_height,
        },
    };
    scene.caption(each);
    scene.axis();
    scene.cells();
    scene.names();
    scene.bars();
    scene.marked();
    scene.out
}

impl Scene<'_> {
    fn section(&mut self, kind: SectionKind, clip: Rect, items: Vec<Item>) {
        self.out.list.sections.push(Section { kind, clip, items });
    }

    fn text(&self, at: (f32, f32), text: String, font: Font, align: Align, width: f32) -> Item {
        let color = match font {
            Font::Small => self.input.theme.weak,
            _ => self.input.theme.text,
        };
        Item::Text(Text {
            at: Point::new(at.0, at.1),
            text,
            font,
            color,
            align,
            max_width: width,
        })
    }

    /// Rows that show.
    fn shown(&self) -> Range<usize> {
        let all = self.out.rows.len();
        let Some(shows) = &self.input.shows else {
            return 0..all;
        };
        let row = |y: f32| (y.max(0.0) / self.out.row_height) as usize;
        row(shows.start).min(all)..(row(shows.end) + 1).min(all)
    }

    fn y(&self, row: usize) -> f32 {
        self.out.matrix.y0 + row as f32 * self.out.row_height
    }

    fn columns(&self) -> usize {
        let steps = self.input.across.columns.numbers.len();
        steps.div_ceil(self.out.steps_each).max(1)
    }

    /// Left edge of a column.
    fn x(&self, column: usize) -> f32 {
        let matrix = self.out.matrix;
        matrix.x0 + matrix.width() * column as f32 / self.columns() as f32
    }

    fn caption(&mut self, ranks_each: usize) {
        let input = self.input;
        let across = input.across;
        let order = match input.order {
            RankOrder::Cost => "by cost",
            RankOrder::Number => "by number",
        };
        let mut title = format!(
            "{}: what {} ranks cost the others in {} steps, {order}",
            input.name,
            format_count(across.rows.len() as u64),
            format_count(across.columns.numbers.len() as u64),
        );
        let blocks = [(ranks_each, "ranks"), (self.out.steps_each, "steps")];
        let blocks = blocks.iter().filter(|(n, _)| *n > 1);
        let blocks: Vec<String> = blocks.map(|(n, what)| format!("{n} {what}")).collect();
        if !blocks.is_empty() {
            title += &format!("; a cell is the largest of {}", blocks.join(" × "));
        }
        let width = input.width - 24.0;
        let headline = across.job.text.verdict.clone();
        let items = vec![
            self.text((12.0, 16.0), title, Font::Strong, Align::Left, width),
            self.text((12.0, 35.0), headline, Font::Small, Align::Left, width),
        ];
        let clip = Rect::new(0.0, 0.0, input.width, HEAD);
        self.section(SectionKind::Caption, clip, items);
    }

    /// Numbers of steps above the columns, and what the colours mean.
    fn axis(&mut self) {
        let matrix = self.out.matrix;
        let numbers = &self.input.across.columns.numbers;
        let y = HEAD - 9.0;
        let word = if self.input.across.columns.stated {
            "step"
        } else {
            "nth step"
        };
        let mut items = vec![self.text(
            (matrix.x0 - 8.0, y),
            word.to_owned(),
            Font::Small,
            Align::Right,
            80.0,
        )];
        let width = matrix.width() / self.columns() as f32;
        let every = ((STEP_LABEL / width).ceil() as usize).max(1);
        for column in (0..self.columns()).step_by(every) {
            let Some(number) = numbers.get(column * self.out.steps_each) else {
                continue;
            };
            let at = (self.x(column) + (width / 2.0).min(8.0), y);
            if at.0 + STEP_LABEL / 2.0 < matrix.x1 {
                let text = number.to_string();
                items.push(self.text(at, text, Font::Small, Align::Left, STEP_LABEL));
            }
        }
        // From nothing to the whole step.
        let scale = Rect::new(matrix.x1 + 16.0, y - 5.0, matrix.x1 + 76.0, y + 5.0);
        items.push(Item::Fade {
            rect: scale,
            from: self.cell(FAINT),
            to: self.cell(1.0),
        });
        let text = "the whole step".to_owned();
        items.push(self.text((scale.x1 + 6.0, y), text, Font::Small, Align::Left, 100.0));
        let clip = Rect::new(0.0, HEAD - 20.0, self.input.width, HEAD);
        self.section(SectionKind::Ruler, clip, items);
    }

    fn cell(&self, share: f64) -> Rgba {
        let theme = self.input.theme;
        mix(theme.lane, theme.swatch(Swatch::Wait), share)
    }

    fn cells(&mut self) {
        let across = self.input.across;
        let shown = self.shown();
        let mut row_of = vec![usize::MAX; across.rows.len()];
        for row in shown.clone() {
            for &place in &self.out.order[self.out.rows[row].clone()] {
                row_of[place] = row;
            }
        }
        let (columns, each) = (self.columns(), self.out.steps_each);
        let mut items = Vec::new();
        // Which steps of a rank were judged at all.
        for row in shown.clone() {
            let places = &self.out.order[self.out.rows[row].clone()];
            let of = places.iter().flat_map(|&p| {
                let judged = across.verdict(p).judged.places.iter();
                judged.map(move |&c| across.columns.column(p, c) / each)
            });
            let mut judged: Vec<usize> = of.collect();
            judged.sort_unstable();
            judged.dedup();
            for run in judged.chunk_by(|a, b| a + 1 == *b) {
                let [first, .., last] = [run[0], run[run.len() - 1]];
                items.push(Item::Rect {
                    rect: Rect::new(
                        self.x(first),
                        self.y(row),
                        self.x(last + 1),
                        self.y(row + 1),
                    ),
                    fill: self.input.theme.lane,
                });
            }
        }
        let mut most: Vec<(usize, usize, f64)> = Vec::new();
        for cost in across.costs.iter().filter(|c| c.ns > 0) {
            let row = row_of[cost.place];
            if row == usize::MAX {
                continue;
            }
            let column = across.columns.column(cost.place, cost.cycle) / each;
            let time = across.verdict(cost.place).judged.cycles[cost.cycle].time();
            most.push((
                row,
                column.min(columns - 1),
                ratio(cost.ns, time).unwrap_or(0.0),
            ));
        }
        most.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.total_cmp(&a.2)));
        most.dedup_by_key(|m| (m.0, m.1));
        for (row, column, share) in most {
            if share < 0.001 {
                continue;
            }
            let share = FAINT + (1.0 - FAINT) * share.min(1.0);
            items.push(Item::Rect {
                rect: Rect::new(
                    self.x(column),
                    self.y(row),
                    self.x(column + 1),
                    self.y(row + 1),
                ),
                fill: self.cell(share),
            });
        }
        let matrix = self.out.matrix;
        let behind = Item::Rect {
            rect: matrix,
            fill: self.input.theme.canvas,
        };
        items.push(Item::Outline {
            rect: matrix,
            color: self.input.theme.line,
            width: 1.0,
        });
        self.section(SectionKind::Background, matrix, vec![behind]);
        self.section(SectionKind::Lanes, matrix, items);
    }

    /// Names of ranks on the left, as many as there is room for.
    fn names(&mut self) {
        let across = self.input.across;
        let every = ((LABEL / self.out.row_height).ceil() as usize).max(1);
        let width = self.out.matrix.x0 - 20.0;
        let mut items = Vec::new();
        for row in self.shown().filter(|r| r % every == 0) {
            let Some(&place) = self.out.order.get(self.out.rows[row].start) else {
                continue;
            };
            let rank = &across.rows[place];
            let host = rank
                .host
                .as_deref()
                .map_or_else(String::new, |h| format!("  {h}"));
            let y = self.y(row) + self.out.row_height.max(LABEL) / 2.0;
            let text = format!("rank {}{host}", rank.rank);
            items.push(self.text((12.0, y), text, Font::Small, Align::Left, width));
        }
        let clip = Rect::new(0.0, HEAD, self.out.matrix.x0, self.out.list.size.height);
        self.section(SectionKind::Headers, clip, items);
    }

    /// What each rank costs in all judged steps.
    fn bars(&mut self) {
        let across = self.input.across;
        let cost = |place: usize| across.job.late.get(place).map_or(0, |l| l.cost_judged);
        let most = (0..across.rows.len()).map(cost).max().unwrap_or(0).max(1);
        let left = self.out.matrix.x1 + 16.0;
        let room = BARS - 100.0;
        let every = ((LABEL / self.out.row_height).ceil() as usize).max(1);
        let mut items = Vec::new();
        for row in self.shown() {
            let places = &self.out.order[self.out.rows[row].clone()];
            let ns = places.iter().map(|&p| cost(p)).max().unwrap_or(0);
            if ns == 0 {
                continue;
            }
            let width = room * (ns as f64 / most as f64) as f32;
            let gap = if self.out.row_height >= 4.0 { 1.0 } else { 0.0 };
            let (y0, y1) = (self.y(row), self.y(row + 1));
            items.push(Item::Rect {
                rect: Rect::new(left, y0 + gap, left + width.max(1.0), y1 - gap),
                fill: self.cell(1.0),
            });
            if row % every == 0 {
                let y = y0 + self.out.row_height.max(LABEL) / 2.0;
                let at = (left + width + 6.0, y);
                items.push(self.text(at, about_ns(ns), Font::Small, Align::Left, 80.0));
            }
        }
        let clip = Rect::new(left, HEAD, self.input.width, self.out.list.size.height);
        self.section(SectionKind::Band, clip, items);
    }

    /// Rows that were chosen.
    fn marked(&mut self) {
        let Some(rows) = self.input.marked.clone().filter(|r| !r.is_empty()) else {
            return;
        };
        let rect = Rect::new(0.0, self.y(rows.start), self.input.width, self.y(rows.end));
        let color = self.input.theme.select;
        let items = vec![
            Item::Rect {
                rect,
                fill: color.percent(18),
            },
            Item::Outline {
                rect,
                color,
                width: 1.0,
            },
        ];
        let clip = Rect::new(0.0, HEAD, self.input.width, self.out.list.size.height);
        self.section(SectionKind::Overlay, clip, items);
    }
}
