//! Tables for other programs: what each row is, and which columns it has, by name, type, unit and meaning.
//!
//! Owns no figure: rows take theirs from the analysis. Knows no file and no format; `export::tables` writes rows as they
//! are described here, `stallscope schema tables` and `docs/tables.md` print the description. Types are those that all
//! engines read alike: text, whole numbers of 32 and 64 bits, truth values. Every row says its run and rank; times are ns.

use std::sync::Arc;

mod across;
mod arrivals;
mod block;
mod collectives;
mod kernels;
mod notices;
mod ranks;
mod spans;
mod steps;
mod waits;

pub use across::{Beside, MatchedCells};
pub use arrivals::ArrivalsRow;
pub use block::{Block, Cells};
pub use collectives::{CollectivesRow, collectives, keys, keys_by_step, kind_of, name_of};
pub use kernels::{KernelsRow, kernels};
pub use notices::NoticesRow;
pub use ranks::{Origin, RanksRow};
pub use spans::{SpanTable, SpansRow};
pub use steps::{StepsRow, steps};
pub use waits::{WaitsRow, waits};

/// Version of the tables: within it a column keeps its name, type, unit and meaning; new ones can be null and stand last.
pub const SCHEMA: u32 = 1;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// UTF-8.
    Text,
    /// 32 bits with a sign.
    I32,
    /// 64 bits with a sign.
    I64,
    /// Yes or no.
    Bool,
}

impl Type {
    /// The name in the description of the tables.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Text => "STRING",
            Self::I32 => "I32",
            Self::I64 => "I64",
            Self::Bool => "BOOL",
        }
    }
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Nanoseconds since 1970.
    UnixNs,
    /// Bytes.
    Bytes,
    /// Things.
    Number,
    /// Nothing: it names something, or is text or a truth value.
    Plain,
}

impl Unit {
    /// The name in the description of the tables; empty for [`Unit::Plain`].
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::UnixNs => "Unix ns",
            Self::Bytes => "bytes",
            Self::Number => "number",
            Self::Plain => "",
        }
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Not told.
    Null,
    /// Of [`Type::Text`].
    Text(&'a str),
    /// Of [`Type::I32`].
    I32(i32),
    /// Of [`Type::I64`].
    I64(i64),
    /// Of [`Type::Bool`].
    Bool(bool),
}

/// Reads a value off a row. What has `Or` in its name can be null, and nothing else can.
pub enum Get<R: 'static> {
    /// [`Type::Text`].
    Text(for<'a> fn(&'a R) -> &'a str),
    /// [`Type::Text`] or null.
    TextOr(for<'a> fn(&'a R) -> Option<&'a str>),
    /// [`Type::I32`].
    I32(fn(&R) -> i32),
    /// [`Type::I32`] or null.
    I32Or(fn(&R) -> Option<i32>),
    /// [`Type::I64`].
    I64(fn(&R) -> i64),
    /// [`Type::I64`] or null.
    I64Or(fn(&R) -> Option<i64>),
    /// [`Type::Bool`].
    Bool(fn(&R) -> bool),
    /// [`Type::Bool`] or null.
    BoolOr(fn(&R) -> Option<bool>),
}

/// A column of the rows `R`.
pub struct Column<R: 'static> {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What it means, as a phrase.
    pub meaning: &'static str,
    get: Get<R>,
}

impl<R> Column<R> {
    const fn new(name: &'static str, unit: Unit, meaning: &'static str, get: Get<R>) -> Self {
        Self {
            name,
            unit,
            meaning,
            get,
        }
    }

    /// Its type.
    #[must_use]
    pub const fn kind(&self) -> Type {
        match self.get {
            Get::Text(_) | Get::TextOr(_) => Type::Text,
            Get::I32(_) | Get::I32Or(_) => Type::I32,
            Get::I64(_) | Get::I64Or(_) => Type::I64,
            Get::Bool(_) | Get::BoolOr(_) => Type::Bool,
        }
    }

    /// Whether a value may be missing.
    #[must_use]
    pub const fn nullable(&self) -> bool {
        matches!(
            self.get,
            Get::TextOr(_) | Get::I32Or(_) | Get::I64Or(_) | Get::BoolOr(_)
        )
    }

    /// Its value of a row.
    #[must_use]
    pub fn value<'a>(&self, row: &'a R) -> Value<'a> {
        let or = |value: Option<Value<'a>>| value.unwrap_or(Value::Null);
        match self.get {
            Get::Text(get) => Value::Text(get(row)),
            Get::TextOr(get) => or(get(row).map(Value::Text)),
            Get::I32(get) => Value::I32(get(row)),
            Get::I32Or(get) => or(get(row).map(Value::I32)),
            Get::I64(get) => Value::I64(get(row)),
            Get::I64Or(get) => or(get(row).map(Value::I64)),
            Get::Bool(get) => Value::Bool(get(row)),
            Get::BoolOr(get) => or(get(row).map(Value::Bool)),
        }
    }
}

/// A row of a table.
pub trait Row: Sized + 'static {
    /// The name of the table.
    const TABLE: &'static str;
    /// What a row is, as a phrase, and by which columns it is told from all others.
    const ABOUT: &'static str;
    /// Its columns, in their order.
    const COLUMNS: &'static [Column<Self>];
}

/// The columns of a row: name, unit, meaning, getter.
macro_rules! columns {
    ($($name:literal $unit:ident $meaning:expr => $kind:ident($get:expr);)*) => {
        &[$($crate::tables::Column::new(
            $name, $crate::tables::Unit::$unit, $meaning, $crate::tables::Get::$kind($get)
        )),*]
    };
}
use columns;

/// A column without the rows it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Type,
    /// What it counts.
    pub unit: Unit,
    /// Whether a value may be missing.
    pub nullable: bool,
    /// What it means.
    pub meaning: &'static str,
}

/// A table without its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableInfo {
    /// Its name.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Its columns, in their order.
    pub columns: Vec<ColumnInfo>,
}

impl TableInfo {
    /// The table of rows.
    #[must_use]
    pub fn of<R: Row>() -> Self {
        let info = |c: &Column<R>| ColumnInfo {
            name: c.name,
            kind: c.kind(),
            unit: c.unit,
            nullable: c.nullable(),
            meaning: c.meaning,
        };
        Self {
            name: R::TABLE,
            about: R::ABOUT,
            columns: R::COLUMNS.iter().map(info).collect(),
        }
    }

    /// All tables.
    #[must_use]
    pub fn all() -> [Self; 8] {
        [
            Self::of::<RanksRow>(),
            Self::of::<StepsRow>(),
            Self::of::<CollectivesRow>(),
            Self::of::<ArrivalsRow>(),
            Self::of::<WaitsRow>(),
            Self::of::<KernelsRow>(),
            Self::of::<SpansRow>(),
            Self::of::<NoticesRow>(),
        ]
    }
}

/// Whose rows are made.
#[derive(Clone, Debug)]
pub struct Whose {
    /// The name of the run.
    pub run: Arc<str>,
    /// Index in [`crate::analysis::Analysis::ranks`].
    pub rank: usize,
}

const RUN: &str = "Name of the run";
const RANK: &str = "Distributed rank";

/// A number of things as a column has it.
fn narrow<N: TryInto<i32>>(n: N) -> i32 {
    n.try_into().unwrap_or(i32::MAX)
}

/// The same in 64 bits.
fn wide<N: TryInto<i64>>(n: N) -> i64 {
    n.try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_one_name_and_a_meaning_without_a_full_stop() {
        for table in TableInfo::all() {
            for (i, c) in table.columns.iter().enumerate() {
                let of = format!("{}.{}", table.name, c.name);
                assert!(table.columns[..i].iter().all(|o| o.name != c.name), "{of}");
                assert!(!c.meaning.is_empty() && !c.meaning.ends_with('.'), "{of}");
                let counts = !matches!(c.kind, Type::Text | Type::Bool);
                assert!(counts || c.unit == Unit::Plain, "{of}: a unit");
            }
            assert_eq!(table.columns[0].name, "run");
        }
    }
}
