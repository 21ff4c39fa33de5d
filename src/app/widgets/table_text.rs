//! Tables as text for the clipboard and for spreadsheets. Knows no pixels.

use crate::app::widgets::table::{Cell, Table, TableState};

/// The table as text for spreadsheets, in the shown order, cells divided by `divider`.
#[must_use]
pub fn to_text(table: &dyn Table, state: &mut TableState, stamp: u64, divider: char) -> String {
    let mut writer = TextWriter::new(table, state, stamp, divider);
    writer.go_on(table, usize::MAX);
    writer.out
}

/// Writes a table as text in parts: 100,000 rows take longer than a frame may.
#[derive(Clone, Debug)]
pub struct TextWriter {
    stamp: u64,
    divider: char,
    order: Vec<u32>,
    next: usize,
    out: String,
}

impl TextWriter {
    /// Writes the headings; rows come in the shown order.
    #[must_use]
    pub fn new(table: &dyn Table, state: &mut TableState, stamp: u64, divider: char) -> Self {
        state.refresh(table, stamp);
        let mut this = Self {
            stamp,
            divider,
            order: state.order.clone(),
            next: 0,
            out: String::new(),
        };
        for (i, column) in table.columns().iter().enumerate() {
            let rows = if column.numeric { table.rows() } else { 0 };
            let unit = (0..rows).find_map(|r| match table.cell(r, i) {
                Cell::Ns(_) => Some(" (ms)"),
                Cell::Share(_) if !column.title.contains('%') => Some(" (%)"),
                _ => None,
            });
            this.push(table, i, format!("{}{}", column.title, unit.unwrap_or("")));
        }
        this
    }

    /// True while the table still holds what it held at the start.
    #[must_use]
    pub fn is_of(&self, table: &dyn Table, stamp: u64) -> bool {
        self.stamp == stamp && self.order.len() == table.rows()
    }

    /// Writes up to `rows` rows more; true when all are written.
    pub fn go_on(&mut self, table: &dyn Table, rows: usize) -> bool {
        let end = self.next.saturating_add(rows).min(self.order.len());
        for place in self.next..end {
            let row = self.order[place] as usize;
            for i in 0..table.columns().len() {
                self.push(table, i, table.cell(row, i).plain());
            }
        }
        self.next = end;
        end == self.order.len()
    }

    /// What is written so far.
    #[must_use]
    pub fn into_text(self) -> String {
        self.out
    }

    fn push(&mut self, table: &dyn Table, column: usize, cell: String) {
        if self.divider == ',' && cell.contains([',', '"']) {
            self.out.push('"');
            self.out.push_str(&cell.replace('"', "\"\""));
            self.out.push('"');
        } else {
            self.out.push_str(&cell);
        }
        let last = column + 1 == table.columns().len();
        self.out.push(if last { '\n' } else { self.divider });
    }
}
