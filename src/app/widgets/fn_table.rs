//! A table whose cells are made on demand by a function.

use super::branch::Branch;
use super::table::{Cell, Column, Swatch, Table};

/// A table whose cells are made on demand by a function.
pub struct FnTable<'a> {
    columns: Vec<Column>,
    rows: usize,
    cell: Box<dyn Fn(usize, usize) -> Cell<'a> + 'a>,
    swatch: Box<dyn Fn(usize) -> Option<Swatch> + 'a>,
    branch: Box<dyn Fn(usize) -> Option<Branch> + 'a>,
    selected: Box<dyn Fn(usize) -> bool + 'a>,
    clickable: bool,
}

impl<'a> FnTable<'a> {
    /// A table of `rows` rows that can be clicked.
    #[must_use]
    pub fn new(
        columns: Vec<Column>,
        rows: usize,
        cell: impl Fn(usize, usize) -> Cell<'a> + 'a,
    ) -> Self {
        Self {
            columns,
            rows,
            cell: Box::new(cell),
            swatch: Box::new(|_| None),
            branch: Box::new(|_| None),
            selected: Box::new(|_| false),
            clickable: true,
        }
    }

    /// Colours of the rows.
    #[must_use]
    pub fn swatch(mut self, swatch: impl Fn(usize) -> Option<Swatch> + 'a) -> Self {
        self.swatch = Box::new(swatch);
        self
    }

    /// Where rows lie in each other.
    #[must_use]
    pub fn tree(mut self, branch: impl Fn(usize) -> Branch + 'a) -> Self {
        self.branch = Box::new(move |row| Some(branch(row)));
        self
    }

    /// Which rows are the selected ones.
    #[must_use]
    pub fn selected(mut self, selected: impl Fn(usize) -> bool + 'a) -> Self {
        self.selected = Box::new(selected);
        self
    }

    /// Rows cannot be clicked.
    #[must_use]
    pub fn fixed(mut self) -> Self {
        self.clickable = false;
        self
    }
}

impl Table for FnTable<'_> {
    fn columns(&self) -> &[Column] {
        &self.columns
    }
    fn rows(&self) -> usize {
        self.rows
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        (self.cell)(row, column)
    }
    fn swatch(&self, row: usize) -> Option<Swatch> {
        (self.swatch)(row)
    }
    fn branch(&self, row: usize) -> Option<Branch> {
        (self.branch)(row)
    }
    fn is_selected(&self, row: usize) -> bool {
        (self.selected)(row)
    }
    fn clickable(&self) -> bool {
        self.clickable
    }
}
