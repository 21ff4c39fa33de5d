//! Rows of a table as columns: what Parquet is written from, and what waits on disk until all ranks are judged.

use std::io::{self, Read};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Row, Type, Value};

/// Some rows of one table, by column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    rows: usize,
    columns: Vec<Cells>,
}

/// The cells of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Its type.
    pub kind: Type,
    /// By row: whether there is a value; empty where the column cannot be null.
    pub there: Vec<bool>,
    /// The values that are there: numbers, 1 for true, places in `texts`.
    pub values: Vec<i64>,
    /// Texts, each at least once.
    pub texts: Vec<Arc<str>>,
}

impl Cells {
    fn new(kind: Type, nullable: bool, rows: usize) -> Self {
        Self {
            kind,
            there: Vec::with_capacity(if nullable { rows } else { 0 }),
            values: Vec::with_capacity(rows),
            texts: Vec::new(),
        }
    }

    /// Fills it with one value per row.
    fn fill<'a>(&mut self, nullable: bool, values: impl Iterator<Item = Value<'a>>) {
        // Rows of one rank share their texts: the same text mostly lies at the same place.
        let mut places: FxHashMap<(*const u8, usize), i64> = FxHashMap::default();
        for value in values {
            let cell = match value {
                Value::Null => None,
                Value::I32(n) => Some(n.into()),
                Value::I64(n) => Some(n),
                Value::Bool(is) => Some(is.into()),
                Value::Text(text) => Some(
                    *places
                        .entry((text.as_ptr(), text.len()))
                        .or_insert_with(|| {
                            self.texts.push(text.into());
                            i64::try_from(self.texts.len() - 1).unwrap_or(i64::MAX)
                        }),
                ),
            };
            if nullable {
                self.there.push(cell.is_some());
            }
            self.values.extend(cell);
        }
    }
}

impl Block {
    /// Rows as columns.
    #[must_use]
    pub fn of<R: Row>(rows: &[R]) -> Self {
        let column = |c: &super::Column<R>| {
            let mut cells = Cells::new(c.kind(), c.nullable(), rows.len());
            cells.fill(c.nullable(), rows.iter().map(|r| c.value(r)));
            cells
        };
        Self {
            rows: rows.len(),
            columns: R::COLUMNS.iter().map(column).collect(),
        }
    }

    /// How many rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// True without rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Its columns, in the order of the table.
    #[must_use]
    pub fn columns(&self) -> &[Cells] {
        &self.columns
    }

    /// Puts other values into a column of the rows `R`, one for each row.
    ///
    /// # Panics
    /// If there is no such column, or the number of values is another one.
    pub fn put<'a, R: Row>(&mut self, name: &str, values: impl Iterator<Item = Value<'a>>) {
        let at = R::COLUMNS.iter().position(|c| c.name == name);
        let at = at.unwrap_or_else(|| panic!("{} has no column {name}", R::TABLE));
        let column = &R::COLUMNS[at];
        let mut cells = Cells::new(column.kind(), column.nullable(), self.rows);
        let mut n = 0;
        cells.fill(column.nullable(), values.inspect(|_| n += 1));
        assert_eq!(n, self.rows, "values of {name}");
        self.columns[at] = cells;
    }

    /// As bytes, which [`Block::read`] takes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, self.rows as u64);
        for cells in &self.columns {
            number(&mut out, cells.there.len() as u64);
            for eight in cells.there.chunks(8) {
                let bits = eight.iter().enumerate();
                out.push(bits.map(|(i, is)| u8::from(*is) << i).sum());
            }
            number(&mut out, cells.texts.len() as u64);
            for text in &cells.texts {
                number(&mut out, text.len() as u64);
                out.extend_from_slice(text.as_bytes());
            }
            number(&mut out, cells.values.len() as u64);
            for &value in &cells.values {
                // Small ones of both signs in few bytes.
                number(&mut out, ((value << 1) ^ (value >> 63)).cast_unsigned());
            }
        }
        out
    }

    /// Rows of `R` from their bytes.
    ///
    /// # Errors
    /// Where they are no such rows.
    pub fn read<R: Row>(bytes: &[u8]) -> io::Result<Self> {
        let mut bytes = bytes;
        let rows = length(&mut bytes)?;
        let mut columns = Vec::with_capacity(R::COLUMNS.len());
        for column in R::COLUMNS {
            let mut cells = Cells::new(column.kind(), false, 0);
            let there = length(&mut bytes)?;
            let bits = take(&mut bytes, there.div_ceil(8))?;
            cells
                .there
                .extend((0..there).map(|i| bits[i / 8] & (1 << (i % 8)) != 0));
            for _ in 0..length(&mut bytes)? {
                let len = length(&mut bytes)?;
                let text = std::str::from_utf8(take(&mut bytes, len)?);
                cells.texts.push(text.map_err(|_wrong| broken())?.into());
            }
            let values = length(&mut bytes)?;
            cells.values.reserve(values.min(bytes.len()));
            for _ in 0..values {
                let n = unpack(&mut bytes)?;
                let value = (n >> 1).cast_signed() ^ -(n & 1).cast_signed();
                cells.values.push(value);
            }
            let known = match cells.there.is_empty() {
                true => rows,
                false => cells.there.iter().filter(|is| **is).count(),
            };
            let nullable = column.nullable() && rows > 0;
            let whole = known == values && cells.there.len() == if nullable { rows } else { 0 };
            let texts = i64::try_from(cells.texts.len()).unwrap_or(i64::MAX);
            let is_text = column.kind() == Type::Text;
            let inside = !is_text || cells.values.iter().all(|v| (0..texts).contains(v));
            if !whole || !inside {
                return Err(broken());
            }
            columns.push(cells);
        }
        match bytes.is_empty() {
            true => Ok(Self { rows, columns }),
            false => Err(broken()),
        }
    }
}

fn broken() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "rows that were kept on disk are not what was written there",
    )
}

/// Groups of seven bits, the lowest first.
fn number(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push((n & 0x7f) as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn unpack(bytes: &mut &[u8]) -> io::Result<u64> {
    let mut n = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let mut byte = [0];
        bytes.read_exact(&mut byte)?;
        n |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] < 0x80 {
            return Ok(n);
        }
    }
    Err(broken())
}

fn length(bytes: &mut &[u8]) -> io::Result<usize> {
    usize::try_from(unpack(bytes)?).map_err(|_wrong| broken())
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> io::Result<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(len).ok_or_else(broken)?;
    *bytes = rest;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tables::NoticesRow;

    fn notice(rank: Option<i32>, file: Option<&str>, count: i64) -> NoticesRow {
        NoticesRow {
            run: "r".into(),
            rank,
            file: file.map(Into::into),
            level: "info",
            code: "c".into(),
            count,
            text: "t\0é".into(),
        }
    }

    proptest! {
        #[test]
        fn rows_come_back_from_bytes_and_damage_is_an_error(
            rows in prop::collection::vec((any::<Option<i32>>(), any::<Option<bool>>(), any::<i64>()), 0..20),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let rows: Vec<NoticesRow> = rows
                .into_iter()
                .map(|(rank, file, n)| notice(rank, file.map(|f| if f { "a" } else { "" }), n))
                .collect();
            let block = Block::of(&rows);
            let mut bytes = block.bytes();
            prop_assert_eq!(Block::read::<NoticesRow>(&bytes).ok(), Some(block));
            let at = at.index(bytes.len());
            prop_assert!(Block::read::<NoticesRow>(&bytes[..at]).is_err());
            // Whatever comes of it, nothing panics.
            bytes[at] = byte;
            let _ = Block::read::<NoticesRow>(&bytes);
        }
    }

    #[test]
    fn values_of_a_column_are_replaced() {
        let mut block = Block::of(&[notice(None, None, 1), notice(Some(2), Some("f"), 2)]);
        let ranks = [Value::I32(7), Value::Null];
        block.put::<NoticesRow>("rank", ranks.into_iter());
        block.put::<NoticesRow>("run", std::iter::repeat_n(Value::Text("new"), 2));
        let mut wanted = [notice(Some(7), None, 1), notice(None, Some("f"), 2)];
        for row in &mut wanted {
            row.run = "new".into();
        }
        // Texts that lie at different places may be there more than once.
        assert_eq!(block.columns()[1], Block::of(&wanted).columns()[1]);
        assert_eq!(&*block.columns()[0].texts[0], "new");
        assert_eq!(block.columns()[0].values, [0, 0]);
    }
}
