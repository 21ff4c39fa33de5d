//! Rows of a table in memory: integers by column, at most one text per row.
//!
//! Knows no table and no statement.

use rusqlite::types::ValueRef;

/// One row: its number and the integers.
#[derive(Clone, Copy)]
pub(crate) struct Row<const N: usize> {
    /// Row number.
    pub rowid: i64,
    /// A bit per column without an integer, and per column that holds something else instead.
    none: u16,
    junk: u16,
    values: [i64; N],
}

/// A value of a row.
pub(crate) enum Taken {
    /// An integer.
    Integer(i64),
    /// None.
    Nothing,
    /// Something else in its place.
    Junk,
}

impl<const N: usize> Row<N> {
    /// A row of integers 0.
    pub fn new(rowid: i64) -> Self {
        const { assert!(N <= 16, "a bit per column in 16 bits") };
        Self {
            rowid,
            none: 0,
            junk: 0,
            values: [0; N],
        }
    }

    /// Sets a column.
    #[inline]
    pub fn set(&mut self, column: usize, value: Taken) {
        match value {
            Taken::Integer(value) => self.values[column] = value,
            Taken::Nothing => self.none |= 1 << column,
            Taken::Junk => {
                self.none |= 1 << column;
                self.junk |= 1 << column;
            }
        }
    }

    /// The integer of a column, by its place in [`Spec::columns`].
    pub fn get(&self, column: usize) -> Option<i64> {
        (self.none & (1 << column) == 0).then(|| self.values[column])
    }

    /// True when a column holds a value that is no integer.
    pub fn is_junk(&self, column: usize) -> bool {
        self.junk & (1 << column) != 0
    }
}

/// Rows, their texts, and what is odd in them.
#[derive(Default)]
pub(crate) struct Rows<const N: usize> {
    /// The rows.
    pub rows: Vec<Row<N>>,
    /// (row number, columns) of values that are no integers; a bit per column.
    pub junk: Vec<(i64, u16)>,
    /// Where each row's text is in `bytes`; empty where no text was asked for.
    texts: Vec<Option<(usize, usize)>>,
    /// All texts.
    pub bytes: Vec<u8>,
}

impl<const N: usize> Rows<N> {
    /// Adds a row.
    #[inline]
    pub fn push(&mut self, row: Row<N>) {
        if row.junk != 0 {
            self.junk.push((row.rowid, row.junk));
        }
        self.rows.push(row);
    }

    /// Adds the text of the row that was added last, if it has one.
    pub fn push_text(&mut self, value: ValueRef<'_>) {
        let start = self.bytes.len();
        match value {
            ValueRef::Text(text) | ValueRef::Blob(text) => self.bytes.extend_from_slice(text),
            ValueRef::Integer(n) => self.bytes.extend_from_slice(n.to_string().as_bytes()),
            ValueRef::Real(x) => self.bytes.extend_from_slice(x.to_string().as_bytes()),
            ValueRef::Null => {
                self.texts.push(None);
                return;
            }
        }
        self.texts.push(Some((start, self.bytes.len())));
    }
}

/// Rows in order.
#[derive(Default)]
pub(crate) struct Block<const N: usize> {
    taken: Rows<N>,
    /// Row numbers behind which the file is damaged.
    pub damage: Vec<i64>,
    /// Share of the table that this block completes, in row numbers.
    pub done: u64,
    /// The last block of its range.
    pub last: bool,
}

impl<const N: usize> Block<N> {
    /// Empties it and keeps the memory.
    pub fn clear(&mut self) {
        self.taken.rows.clear();
        self.taken.junk.clear();
        self.taken.texts.clear();
        self.taken.bytes.clear();
        self.damage.clear();
        self.done = 0;
        self.last = false;
    }

    /// The rows.
    pub fn rows(&self) -> &[Row<N>] {
        &self.taken.rows
    }

    /// (row number, columns) of values that are no integers; a bit per column.
    pub fn junk(&self) -> &[(i64, u16)] {
        &self.taken.junk
    }

    /// The text of the row at `index`; bytes, since files hold texts that are not UTF-8.
    pub fn text(&self, index: usize) -> Option<&[u8]> {
        let (start, end) = (*self.taken.texts.get(index)?)?;
        Some(&self.taken.bytes[start..end])
    }

    /// Bytes of text that it holds.
    pub fn text_bytes(&self) -> usize {
        self.taken.bytes.len()
    }

    /// Lends the rows to somebody who adds more.
    pub fn take_rows(&mut self) -> Rows<N> {
        std::mem::take(&mut self.taken)
    }

    /// Takes the rows back.
    pub fn set_rows(&mut self, rows: Rows<N>) {
        self.taken = rows;
    }
}
