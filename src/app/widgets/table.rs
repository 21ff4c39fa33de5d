//! Sortable tables: any number of rows, only the visible ones are drawn. One unit per column, numbers right-aligned.
//!
//! Knows cells and columns, not what they mean.

use std::borrow::Cow;
use std::cmp::Ordering;

use egui::accesskit::Role;
use egui::{Align2, Color32, FontId, Rect, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use crate::app::widgets::branch::{Branch, Folds};
use crate::app::widgets::natural::natural;
use crate::app::widgets::roving::Roving;
use crate::paint;
use crate::time::{Unit, format_count};

/// Height of a row.
pub const ROW: f32 = 22.0;
/// Width of a column of numbers that is not made narrower, points.
const NUMBER: f32 = 98.0;
/// Inner margin of a cell.
const PAD: f32 = 8.0;
/// How far a row is indented in the one that it lies in, points.
const INDENT: f32 = 14.0;
/// Rows that lie deeper are not indented further.
const DEEPEST: u16 = 12;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Text, left-aligned.
    Text(Cow<'a, str>),
    /// A length or time, ns.
    Ns(i64),
    /// A number of things.
    Count(u64),
    /// A share of one, shown in percent.
    Share(f64),
    /// Not known or not applicable.
    None,
}

impl<'a> Cell<'a> {
    /// A text cell.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// A cell that may be unknown.
    pub fn ns(value: Option<i64>) -> Self {
        value.map_or(Self::None, Self::Ns)
    }

    /// `part` of `whole`; unknown where there is no whole.
    pub fn share_of(part: i64, whole: i64) -> Self {
        if whole <= 0 {
            return Self::None;
        }
        Self::Share(part as f64 / whole as f64)
    }

    /// What the table shows, in the column's unit.
    #[must_use]
    pub fn shown(&self, unit: Unit) -> String {
        match self {
            Self::Text(t) => t.to_string(),
            Self::Ns(ns) => {
                let decimals = if unit == Unit::Ns { 0 } else { 3 };
                format!("{} {}", unit.format(*ns, decimals), unit.symbol())
            }
            Self::Count(n) => format_count(*n),
            Self::Share(s) => percent(*s),
            Self::None => "–".to_owned(),
        }
    }

    /// For spreadsheets: no grouping, times in milliseconds to the nanosecond, shares in percent.
    #[must_use]
    pub fn plain(&self) -> String {
        match self {
            Self::Text(t) => t.replace(['\t', '\n', '\r'], " "),
            Self::Ns(ns) => Unit::Ms.format(*ns, 6).replace(',', ""),
            Self::Count(n) => n.to_string(),
            Self::Share(s) => format!("{:.3}", s * 100.0),
            Self::None => String::new(),
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::None, Self::None) => Ordering::Equal,
            (Self::None, _) => Ordering::Greater,
            (_, Self::None) => Ordering::Less,
            (Self::Text(a), Self::Text(b)) => natural(a, b),
            (Self::Ns(a), Self::Ns(b)) => a.cmp(b),
            (Self::Count(a), Self::Count(b)) => a.cmp(b),
            (Self::Share(a), Self::Share(b)) => a.total_cmp(b),
            _ => Ordering::Equal,
        }
    }
}

/// A share of one as text: `39.1 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Heading.
    pub title: Cow<'static, str>,
    /// Explanation on hover.
    pub tip: Cow<'static, str>,
    /// Width in points.
    pub width: f32,
    /// Right-aligned.
    pub numeric: bool,
}

/// The little square in front of a row.
#[derive(Clone, Copy, Debug)]
pub struct Swatch {
    /// Fill.
    pub fill: Color32,
    /// Diagonal lines over it.
    pub hatch: Option<Color32>,
}

/// What a table shows.
pub trait Table {
    /// Columns, left to right.
    fn columns(&self) -> &[Column];
    /// Number of rows.
    fn rows(&self) -> usize;
    /// One cell.
    fn cell(&self, row: usize, column: usize) -> Cell<'_>;
    /// Colour of a row.
    fn swatch(&self, _row: usize) -> Option<Swatch> {
        None
    }
    /// Place of a row in a tree; `None` for all rows of a flat table.
    fn branch(&self, _row: usize) -> Option<Branch> {
        None
    }
    /// Whether a row is the selected one.
    fn is_selected(&self, _row: usize) -> bool {
        false
    }
    /// Whether rows can be clicked.
    fn clickable(&self) -> bool {
        true
    }
}

/// Column and whether descending; `None` = as given.
type Sort = Option<(usize, bool)>;

/// Order and units of a table; kept between frames.
#[derive(Clone, Debug, Default)]
pub struct TableState {
    /// Column and whether descending; `None` = as given.
    pub sort: Sort,
    /// All rows in the shown order, and those that show: not what lies in closed ones.
    pub(super) order: Vec<u32>,
    shown: Vec<u32>,
    folds: Folds,
    units: Vec<Unit>,
    stamp: Option<(u64, usize, Sort, u64)>,
}

impl TableState {
    /// A table that starts sorted by a column, largest first.
    #[must_use]
    pub fn descending(column: usize) -> Self {
        Self {
            sort: Some((column, true)),
            ..Self::default()
        }
    }

    /// Sorts again when the data (by their `stamp`), their number or the sort column changed.
    pub(super) fn refresh(&mut self, table: &dyn Table, stamp: u64) {
        let now = Some((stamp, table.rows(), self.sort, self.folds.turns));
        if self.stamp == now {
            return;
        }
        self.stamp = now;
        let rows = u32::try_from(table.rows()).unwrap_or(u32::MAX);
        self.order = (0..rows).collect();
        if let Some((column, descending)) = self.sort {
            let cells: Vec<Cell<'_>> = (0..table.rows()).map(|r| table.cell(r, column)).collect();
            self.order.sort_by(|&a, &b| {
                let (a, b) = (&cells[a as usize], &cells[b as usize]);
                let unknown = matches!(a, Cell::None) || matches!(b, Cell::None);
                let order = a.compare(b);
                if descending && !unknown {
                    order.reverse()
                } else {
                    order
                }
            });
        }
        (self.order, self.shown) = {
            let sorted = std::mem::take(&mut self.order);
            self.folds.arrange(sorted, |row| table.branch(row))
        };
        self.units = (0..table.columns().len())
            .map(|column| {
                if !table.columns()[column].numeric {
                    return Unit::Ns;
                }
                let largest = (0..table.rows())
                    .filter_map(|row| match table.cell(row, column) {
                        Cell::Ns(ns) => Some(ns.saturating_abs()),
                        _ => None,
                    })
                    .max();
                column_unit(largest.unwrap_or(0))
            })
            .collect();
    }
}

/// Seconds only from 100 s on: milliseconds keep their microseconds until then.
fn column_unit(largest: i64) -> Unit {
    match largest {
        0..1_000 => Unit::Ns,
        1_000..1_000_000 => Unit::Us,
        1_000_000..100_000_000_000 => Unit::Ms,
        _ => Unit::S,
    }
}

/// Draws a table; returns the row that was clicked. `stamp` changes whenever the data does.
pub fn table_ui(
    ui: &mut Ui,
    name: &str,
    table: &dyn Table,
    state: &mut TableState,
    stamp: u64,
) -> Option<usize> {
    state.refresh(table, stamp);
    let spare = ui.available_width() - table.columns().iter().map(|c| c.width).sum::<f32>();
    // A first column of names takes what is left, up to a width at which the eye loses the row.
    let names = table
        .columns()
        .first()
        .is_some_and(|c| !c.numeric && c.width >= 120.0);
    let first = if names { spare.clamp(0.0, 180.0) } else { 0.0 };
    // A narrow panel first shrinks columns, then scrolls.
    let full: f32 = table.columns().iter().map(|c| c.width).sum();
    let shrink = (ui.available_width() / full).clamp(0.78, 1.0);
    let edges: Vec<(f32, f32)> = table
        .columns()
        .iter()
        .enumerate()
        .scan(0.0, |x, (i, c)| {
            let left = *x;
            // Numbers are never cut.
            let least = if c.numeric { c.width.min(NUMBER) } else { 0.0 };
            *x += (c.width * shrink).max(least) + if i == 0 { first } else { 0.0 };
            Some((left, *x))
        })
        .collect();
    let width = edges.last().map_or(0.0, |e| e.1);
    let mut clicked = None;
    egui::ScrollArea::horizontal()
        .id_salt((name, "x"))
        .auto_shrink([false, false])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            header_ui(ui, table, state, &edges, width.max(ui.available_width()));
            egui::ScrollArea::vertical()
                .id_salt((name, "y"))
                .auto_shrink([false, false])
                .show_rows(ui, ROW, state.shown.len(), |ui, visible| {
                    let full = width.max(ui.available_width());
                    let mut folded = None;
                    for place in visible {
                        let row = state.shown[place] as usize;
                        if row_ui(ui, table, state, row, place, &edges, full) {
                            clicked = Some(row);
                        }
                        folded = folded.or(fold_ui(ui, table, state, row));
                    }
                    folded.into_iter().for_each(|key| state.folds.toggle(key));
                });
        });
    clicked
}

fn header_ui(
    ui: &mut Ui,
    table: &dyn Table,
    state: &mut TableState,
    edges: &[(f32, f32)],
    width: f32,
) {
    let (rect, _) = ui.allocate_exact_size(vec2(width, ROW), Sense::hover());
    let font = FontId::proportional(11.5);
    let columns = table.columns().len();
    let roving = Roving::new(ui.ctx(), ui.scope_id().with("heads"), columns, None);
    for (i, column) in table.columns().iter().enumerate() {
        let cell = cell_rect(rect, edges[i]);
        let id = ui.scope_id().with(("head", i));
        let response = ui.interact(cell, id, roving.sense(i));
        roving.follow(ui, i, &response);
        response.widget_info(|| {
            WidgetInfo::labeled(Role::Button, true, format!("Sort by {}", column.title))
        });
        let color = if response.hovered() || response.has_focus() {
            ui.visuals().strong_text_color()
        } else {
            ui.visuals().weak_text_color()
        };
        if response.has_focus() {
            ring(ui, cell);
        }
        let arrow = match state.sort {
            Some((c, true)) if c == i => " ▾",
            Some((c, false)) if c == i => " ▴",
            _ => "",
        };
        let text = format!("{}{arrow}", column.title);
        draw_text(ui, cell, column.numeric, &text, font.clone(), color);
        if response.clicked() {
            state.sort = match state.sort {
                Some((c, d)) if c == i => Some((i, !d)),
                _ => Some((i, column.numeric)),
            };
        }
        if !column.tip.is_empty() {
            response.on_hover_text(column.tip.as_ref());
        }
    }
}

fn row_ui(
    ui: &mut Ui,
    table: &dyn Table,
    state: &TableState,
    row: usize,
    place: usize,
    edges: &[(f32, f32)],
    width: f32,
) -> bool {
    let sense = if table.clickable() {
        Sense::click()
    } else {
        Sense::hover()
    };
    let (rect, _) = ui.allocate_exact_size(vec2(width, ROW), Sense::hover());
    let response = ui.interact(rect, ui.scope_id().with(("row", row)), sense);
    let visuals = ui.visuals();
    let fill = if table.is_selected(row) {
        visuals.selection.bg_fill.gamma_multiply(0.6)
    } else if response.hovered() && table.clickable() {
        visuals.widgets.hovered.weak_bg_fill
    } else if place.is_multiple_of(2) {
        visuals.faint_bg_color
    } else {
        Color32::TRANSPARENT
    };
    ui.painter().rect_filled(rect, 2.0, fill);
    if response.has_focus() {
        ring(ui, rect);
    }
    let color = visuals.text_color();
    let weak = visuals.weak_text_color();
    for (i, column) in table.columns().iter().enumerate() {
        let mut cell = cell_rect(rect, edges[i]);
        if i == 0
            && let Some(branch) = table.branch(row)
        {
            cell.min.x += INDENT * (1.0 + f32::from(branch.depth.min(DEEPEST)));
        }
        if i == 0
            && let Some(swatch) = table.swatch(row)
        {
            draw_swatch(ui, pos2(cell.left() + PAD, cell.center().y - 5.0), swatch);
            cell.min.x += 18.0;
        }
        let value = table.cell(row, i);
        let color = if value == Cell::None { weak } else { color };
        let shown = value.shown(state.units[i]);
        draw_text(
            ui,
            cell,
            column.numeric,
            &shown,
            FontId::proportional(12.5),
            color,
        );
    }
    response.widget_info(|| {
        let cells: Vec<String> = table
            .columns()
            .iter()
            .enumerate()
            .map(|(i, c)| format!("{} {}", c.title, table.cell(row, i).shown(state.units[i])))
            .collect();
        let role = if table.clickable() {
            Role::Button
        } else {
            Role::Label
        };
        WidgetInfo::labeled(role, true, cells.join(", "))
    });
    response.clicked()
}

/// The triangle that opens or closes the row drawn last; its key when it is clicked.
fn fold_ui(ui: &Ui, table: &dyn Table, state: &TableState, row: usize) -> Option<u64> {
    let branch = table.branch(row).filter(|b| b.is_parent)?;
    let left = ui.min_rect().left() + INDENT * f32::from(branch.depth.min(DEEPEST));
    let bottom = ui.min_rect().bottom();
    let rect = Rect::from_min_max(pos2(left, bottom - ROW), pos2(left + INDENT + PAD, bottom));
    let response = ui.interact(rect, ui.scope_id().with(("fold", row)), Sense::click());
    let (sign, does) = if state.folds.is_open(&branch) {
        ("▾", "Close")
    } else {
        ("▸", "Open")
    };
    response.widget_info(|| {
        let name = table.cell(row, 0).plain();
        WidgetInfo::labeled(Role::Button, true, format!("{does} {name}"))
    });
    let color = if response.hovered() || response.has_focus() {
        ui.visuals().strong_text_color()
    } else {
        ui.visuals().weak_text_color()
    };
    if response.has_focus() {
        ring(ui, rect);
    }
    let at = pos2(rect.left() + PAD, rect.center().y);
    ui.painter().text(
        at,
        Align2::LEFT_CENTER,
        sign,
        FontId::proportional(13.0),
        color,
    );
    response.clicked().then_some(branch.key)
}

/// Marks what has the keyboard's focus.
pub fn ring(ui: &Ui, rect: Rect) {
    let stroke = Stroke::new(1.5, ui.visuals().selection.stroke.color);
    ui.painter()
        .rect_stroke(rect, 3.0, stroke, egui::StrokeKind::Inside);
}

/// A 10 px square with the cue of its layer.
pub fn draw_swatch(ui: &Ui, at: egui::Pos2, swatch: Swatch) {
    let rect = Rect::from_min_size(at, vec2(10.0, 10.0));
    ui.painter().rect_filled(rect, 2.0, swatch.fill);
    if let Some(color) = swatch.hatch {
        let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
        for i in 0..4 {
            let x = rect.left() - 6.0 + 5.0 * i as f32;
            let line = [pos2(x, rect.bottom()), pos2(x + 10.0, rect.top())];
            painter.line_segment(line, Stroke::new(1.5, color));
        }
    }
}

fn cell_rect(row: Rect, (left, right): (f32, f32)) -> Rect {
    Rect::from_x_y_ranges(row.left() + left..=row.left() + right, row.y_range())
}

/// `text` in at most `most` characters, two thirds of them from its start.
fn without_middle(text: &str, most: usize) -> String {
    let n = text.chars().count();
    if n <= most || most < 4 {
        return text.to_owned();
    }
    let head = (most - 1) * 2 / 3;
    let tail = most - 1 - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(n - tail).collect();
    format!("{start}…{end}")
}

/// Text inside a cell, cut with an ellipsis where it is too long.
fn draw_text(ui: &Ui, cell: Rect, right: bool, text: &str, font: FontId, color: Color32) {
    let room = (cell.width() - 2.0 * PAD).max(0.0);
    let layout = |text: String| {
        let mut job = egui::text::LayoutJob::simple_singleline(text, font.clone(), color);
        job.wrap = egui::text::TextWrapping::truncate_at_width(room);
        ui.painter().layout_job(job)
    };
    let text = &paint::readable(text, ui.ctx(), &font);
    let mut galley = layout(text.to_string());
    if galley.elided && !right {
        // Names of kernels and ops often differ at their ends only: the middle goes, not the end.
        let fit = galley
            .rows
            .first()
            .map_or(0, |r| r.char_count_excluding_newline().0);
        galley = layout(without_middle(text, fit.saturating_sub(1)));
    }
    let (anchor, x) = if right {
        (Align2::RIGHT_CENTER, cell.right() - PAD)
    } else {
        (Align2::LEFT_CENTER, cell.left() + PAD)
    };
    let at = anchor.anchor_size(pos2(x, cell.center().y), galley.size());
    ui.painter().galley(at.min, galley, color);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::widgets::table_text::{TextWriter, to_text};

    struct Demo(Vec<Column>, Vec<(&'static str, Option<i64>)>);

    impl Table for Demo {
        fn columns(&self) -> &[Column] {
            &self.0
        }
        fn rows(&self) -> usize {
            self.1.len()
        }
        fn cell(&self, row: usize, column: usize) -> Cell<'_> {
            let (name, ns) = self.1[row];
            if column == 0 {
                Cell::text(name)
            } else {
                Cell::ns(ns)
            }
        }
    }

    fn column(title: &'static str, numeric: bool) -> Column {
        Column {
            title: title.into(),
            tip: "".into(),
            width: 80.0,
            numeric,
        }
    }

    fn demo() -> Demo {
        Demo(
            vec![column("Step", false), column("Wait", true)],
            vec![
                ("step 10", Some(1_500)),
                ("step 9", None),
                ("step 2, b", Some(2_000_000_001)),
            ],
        )
    }

    #[test]
    fn unknown_cells_sort_last_both_ways() {
        let table = demo();
        let mut state = TableState::descending(1);
        state.refresh(&table, 0);
        assert_eq!(state.order, [2, 0, 1]);
        state.sort = Some((1, false));
        state.refresh(&table, 0);
        assert_eq!(state.order, [0, 2, 1]);
        state.sort = Some((0, false));
        state.refresh(&table, 0);
        assert_eq!(state.order, [2, 1, 0]);
    }

    #[test]
    fn the_middle_of_long_names_goes() {
        assert_eq!(without_middle("MmBackward0", 20), "MmBackward0");
        assert_eq!(
            without_middle("evaluate_function: MmBackward0", 13),
            "evaluate…ard0"
        );
    }

    #[test]
    fn a_column_has_one_unit_and_text_is_exact() {
        let table = demo();
        let mut state = TableState::default();
        state.refresh(&table, 0);
        assert_eq!(table.cell(0, 1).shown(state.units[1]), "0.002 ms");
        assert_eq!(
            to_text(&table, &mut state, 0, ','),
            "Step,Wait (ms)\nstep 10,0.001500\nstep 9,\n\"step 2, b\",2000.000001\n"
        );
        let whole = to_text(&table, &mut state, 0, '\t');
        assert!(whole.contains("step 9\t\n"));
        let mut parts = TextWriter::new(&table, &mut state, 0, '\t');
        assert!(!parts.go_on(&table, 2) && parts.is_of(&table, 0) && !parts.is_of(&table, 1));
        assert!(parts.go_on(&table, 2));
        assert_eq!(parts.into_text(), whole);
    }
}
