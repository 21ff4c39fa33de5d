//! Rows of a table in memory: integers by column, at most one text per row.
//!
//! Knows no table and no statement.

use rusqlite::types::ValueRef;

/// One row: its number and the integers.
#[derive(Clone, Copy)]
pub(super) struct Row<const N: usize> {
    /// Row number.
    pub rowid: i64,
    /// A bit per column without an integer, and per column that holds something else instead.
    none: u16,
    junk: u16,
    values: [i64; N],
}

/// A value of a row.
pub(super) enum Taken {
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

/// Rows, and what is odd in them.
pub(super) struct Rows<const N: usize> {
    /// The rows.
    pub rows: Vec<Row<N>>,
    /// (row number, columns) of values that are no integers; a bit per column.
    pub junk: Vec<(i64, u16)>,
}

impl<const N: usize> Default for Rows<N> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            junk: Vec::new(),
        }
    }
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
}

/// Rows in order.
#[derive(Default)]
pub(super) struct Block<const N: usize> {
    taken: Rows<N>,
    /// Where each row's text is in `bytes`; empty where no text was asked for.
    texts: Vec<Option<(usize, usize)>>,
    bytes: Vec<u8>,
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
        self.texts.clear();
        self.bytes.clear();
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
        let (start, end) = (*self.texts.get(index)?)?;
        Some(&self.bytes[start..end])
    }

    /// Bytes of text that it holds.
    pub fn text_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Lends the rows to somebody who adds more.
    pub fn take_rows(&mut self) -> Rows<N> {
        std::mem::take(&mut self.taken)
    }

    /// Takes the rows back.
    pub fn set_rows(&mut self, rows: Rows<N>) {
        self.taken = rows;
    }

    /// Adds a row with a text behind its integers.
    ///
    /// # Errors
    /// When the statement has fewer columns.
    pub fn take(&mut self, row: &rusqlite::Row<'_>, rowid: i64) -> rusqlite::Result<()> {
        let mut out = Row::new(rowid);
        for i in 0..N {
            out.set(
                i,
                match row.get_ref(i + 1)? {
                    ValueRef::Integer(value) => Taken::Integer(value),
                    ValueRef::Null => Taken::Nothing,
                    ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => Taken::Junk,
                },
            );
        }
        let start = self.bytes.len();
        let found = match row.get_ref(N + 1)? {
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                self.bytes.extend_from_slice(text);
                true
            }
            ValueRef::Integer(n) => {
                self.bytes.extend_from_slice(n.to_string().as_bytes());
                true
            }
            ValueRef::Real(x) => {
                self.bytes.extend_from_slice(x.to_string().as_bytes());
                true
            }
            ValueRef::Null => false,
        };
        self.texts.push(found.then_some((start, self.bytes.len())));
        self.taken.push(out);
        Ok(())
    }
}
