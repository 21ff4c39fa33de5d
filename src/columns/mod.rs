//! What is said of each kind of row, once: a table of columns per kind, with key, headings, unit, meaning and getter.
//!
//! JSON, CSV, the text report, the window's tables and `docs/report.md` take from these tables what they show. Owns no
//! figure and formats none: an output turns a [`Value`] into its own text, in one place and by its unit.

use std::borrow::Cow;

use crate::analysis::{Analysis, LayerId};

/// A table of the rows of a type: key, heading in the window, meaning, getter, and what else [`Column`] offers.
macro_rules! columns {
    ($row:ty: $($key:literal $title:literal $help:tt: $get:expr $(, $more:ident($given:expr))*;)*) => {
        &[$(Column::<$row>::new($key, $title, $help, $get)$(.$more($given))*,)*]
    };
}

mod lanes;
mod layers;
mod memory;
mod name_times;
mod names;
mod queues;
mod ranks;
mod steps;
mod streams;
mod syncs;
mod waits;
mod whatif;
mod workers;

pub use lanes::LANE;
pub use layers::LAYER;
pub use memory::DEVICE_MEMORY;
pub use name_times::NAME_TIME;
pub use names::{LAG, SPAN};
pub use queues::QUEUE;
pub use ranks::RANK;
pub use steps::{STEP, is_empty_phase};
pub use streams::STREAM_PAIR;
pub use syncs::{SYNC, SYNC_CALLER, SYNC_LINE, SYNC_NAME};
pub use waits::WAIT;
pub use whatif::WHAT_IF;
pub use workers::WORKER;

/// A column of the rows `R`.
pub struct Column<R: 'static> {
    /// Its name in JSON; in CSV its unit follows.
    pub key: &'static str,
    /// Its heading in the window.
    pub title: &'static str,
    /// Its heading in the text report, where it is shown there. Times are in ms, or in µs where it says so.
    pub text: &'static str,
    /// What it means, as a phrase.
    pub help: &'static str,
    /// In JSON it is an entry of this object, which holds times above zero only.
    pub within: Option<&'static str>,
    get: Get<R>,
    outputs: u8,
}

/// Where columns are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// `report --json` and its like.
    Json = 1,
    /// `report --csv`.
    Csv = 2,
    /// The text report.
    Text = 4,
    /// The window's tables.
    Panel = 8,
}

/// How a column's values are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds: lengths, and times of the trace's clock.
    Ns,
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// A share of one.
    Share,
    /// Things per second.
    PerSecond,
    /// A name.
    Text,
    /// Yes or no.
    Flag,
}

/// Times in ns by phase of the loop; `None` is the time between phases.
pub type ByPhase = [(Option<LayerId>, i64)];

/// A value of a row; `None` is not known or does not apply, which is not zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// ns.
    Time(Option<i64>),
    /// ns, as a mean has them.
    Mean(Option<f64>),
    /// A number of things.
    Count(Option<u64>),
    /// Bytes.
    Bytes(Option<i64>),
    /// A mean number of things.
    Average(Option<f64>),
    /// Part and whole: unknown where there is no whole.
    Share(i64, i64),
    /// Things per second.
    Rate(Option<f64>),
    /// A name.
    Text(Option<Cow<'a, str>>),
    /// A phase of the loop; `None` is the time between phases.
    Phase(Option<LayerId>),
    /// Times in ns by phase.
    Phases(&'a ByPhase),
    /// Yes or no.
    Flag(bool),
}

/// Reads a value off a row; the analysis knows the names of what the row holds.
pub enum Get<R: 'static> {
    /// [`Value::Time`].
    Time(fn(&Analysis, &R) -> Option<i64>),
    /// [`Value::Mean`].
    Mean(fn(&Analysis, &R) -> Option<f64>),
    /// [`Value::Count`].
    Count(fn(&Analysis, &R) -> Option<u64>),
    /// [`Value::Bytes`].
    Bytes(fn(&Analysis, &R) -> Option<i64>),
    /// [`Value::Average`].
    Average(fn(&Analysis, &R) -> Option<f64>),
    /// [`Value::Share`].
    Share(fn(&Analysis, &R) -> (i64, i64)),
    /// [`Value::Rate`].
    Rate(fn(&Analysis, &R) -> Option<f64>),
    /// [`Value::Text`].
    Text(for<'a> fn(&'a Analysis, &'a R) -> Option<Cow<'a, str>>),
    /// [`Value::Phase`].
    Phase(fn(&Analysis, &R) -> Option<LayerId>),
    /// [`Value::Phases`].
    Phases(for<'a> fn(&'a Analysis, &'a R) -> &'a ByPhase),
    /// [`Value::Flag`].
    Flag(fn(&Analysis, &R) -> bool),
}

impl<R> Column<R> {
    /// A column of JSON, CSV and the window.
    const fn new(key: &'static str, title: &'static str, help: &'static str, get: Get<R>) -> Self {
        Self {
            key,
            title,
            text: "",
            help,
            within: None,
            get,
            outputs: Output::Json as u8 | Output::Csv as u8 | Output::Panel as u8,
        }
    }

    /// Shows it in the text report, too.
    const fn text(mut self, heading: &'static str) -> Self {
        self.text = heading;
        self.outputs |= Output::Text as u8;
        self
    }

    /// Leaves it out of an output.
    const fn not_in(mut self, output: Output) -> Self {
        self.outputs &= !(output as u8);
        self
    }

    /// Leaves it out of all other outputs.
    const fn only_in(mut self, output: Output) -> Self {
        self.outputs = output as u8;
        self
    }

    /// Puts it into an object in JSON.
    const fn within(mut self, object: &'static str) -> Self {
        self.within = Some(object);
        self
    }

    /// Whether an output shows it.
    #[must_use]
    pub const fn is_in(&self, output: Output) -> bool {
        self.outputs & output as u8 != 0
    }

    /// How its values are counted.
    #[must_use]
    pub const fn unit(&self) -> Unit {
        match self.get {
            Get::Time(_) | Get::Mean(_) | Get::Phases(_) => Unit::Ns,
            Get::Count(_) | Get::Average(_) => Unit::Count,
            Get::Bytes(_) => Unit::Bytes,
            Get::Share(_) => Unit::Share,
            Get::Rate(_) => Unit::PerSecond,
            Get::Text(_) | Get::Phase(_) => Unit::Text,
            Get::Flag(_) => Unit::Flag,
        }
    }

    /// What it is in JSON: its unit, with `?` where it may be null.
    #[must_use]
    pub const fn json_kind(&self) -> &'static str {
        match self.get {
            Get::Time(_) | Get::Mean(_) => "ns?",
            Get::Count(_) => "count?",
            Get::Bytes(_) => "bytes?",
            Get::Average(_) => "number?",
            Get::Share(_) => "share?",
            Get::Rate(_) => "1/s?",
            Get::Text(_) => "text?",
            Get::Phase(_) => "text",
            Get::Phases(_) => "ns",
            Get::Flag(_) => "flag",
        }
    }

    /// Whether its cells are read as text: left-aligned, shortened where there is no room.
    #[must_use]
    pub const fn is_text(&self) -> bool {
        matches!(self.get, Get::Text(_) | Get::Phase(_) | Get::Phases(_))
    }

    /// Its name where numbers stand without a unit: `wait_ns`.
    #[must_use]
    pub fn key_and_unit(&self) -> String {
        match self.unit() {
            Unit::Ns => format!("{}_ns", self.key),
            Unit::PerSecond => format!("{}_per_s", self.key),
            Unit::Bytes => format!("{}_bytes", self.key),
            Unit::Count | Unit::Share | Unit::Text | Unit::Flag => self.key.to_owned(),
        }
    }

    /// Its value of a row.
    #[must_use]
    pub fn value<'a>(&self, analysis: &'a Analysis, row: &'a R) -> Value<'a> {
        match self.get {
            Get::Time(get) => Value::Time(get(analysis, row)),
            Get::Mean(get) => Value::Mean(get(analysis, row)),
            Get::Count(get) => Value::Count(get(analysis, row)),
            Get::Bytes(get) => Value::Bytes(get(analysis, row)),
            Get::Average(get) => Value::Average(get(analysis, row)),
            Get::Share(get) => {
                let (part, whole) = get(analysis, row);
                Value::Share(part, whole)
            }
            Get::Rate(get) => Value::Rate(get(analysis, row)),
            Get::Text(get) => Value::Text(get(analysis, row)),
            Get::Phase(get) => Value::Phase(get(analysis, row)),
            Get::Phases(get) => Value::Phases(get(analysis, row)),
            Get::Flag(get) => Value::Flag(get(analysis, row)),
        }
    }

    /// Its value of a row, ns; `None` also where it is no time.
    #[must_use]
    pub fn time(&self, analysis: &Analysis, row: &R) -> Option<i64> {
        match self.get {
            Get::Time(get) => get(analysis, row),
            _ => None,
        }
    }
}

/// The number of a rank.
fn number(analysis: &Analysis, rank: usize) -> Option<u64> {
    Some(analysis.ranks()[rank].rank.into())
}

/// The columns that an output shows: those with the keys `first` (with blanks between them), then all others in the
/// table's order.
#[must_use]
pub fn shown<R>(
    table: &'static [Column<R>],
    output: Output,
    first: &str,
) -> Vec<&'static Column<R>> {
    let columns: Vec<_> = table.iter().filter(|c| c.is_in(output)).collect();
    let named = first.split_whitespace().filter_map(|key| {
        let found = columns.iter().find(|c| c.key == key);
        debug_assert!(found.is_some(), "{key} is no column of {output:?}");
        found.copied()
    });
    let others = columns.iter().copied();
    let others = others.filter(|c| first.split_whitespace().all(|key| key != c.key));
    named.chain(others).collect()
}

/// The column with a key. Evaluated as a constant it is a key of the table or no program.
///
/// # Panics
/// If the table has no such column.
#[must_use]
pub const fn column<R>(table: &'static [Column<R>], key: &str) -> &'static Column<R> {
    let mut i = 0;
    while i < table.len() {
        if same(table[i].key, key) {
            return &table[i];
        }
        i += 1;
    }
    panic!("no such column")
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<R>(name: &str, table: &'static [Column<R>]) {
        for output in [Output::Json, Output::Csv, Output::Text, Output::Panel] {
            let columns = shown(table, output, "");
            for (i, c) in columns.iter().enumerate() {
                let of = format!("{name} {} in {output:?}", c.key);
                assert!(columns[..i].iter().all(|o| o.key != c.key), "{of}: twice");
                let heading = if output == Output::Text {
                    c.text
                } else {
                    c.title
                };
                assert!(!heading.is_empty(), "{of}: without a heading");
                assert!(!c.help.is_empty() && !c.help.ends_with('.'), "{of}: help");
            }
        }
    }

    #[test]
    fn columns_have_one_key_and_what_their_outputs_need() {
        check("LANE", LANE);
        check("LAYER", LAYER);
        check("DEVICE_MEMORY", DEVICE_MEMORY);
        check("LAG", LAG);
        check("NAME_TIME", NAME_TIME);
        check("QUEUE", QUEUE);
        check("RANK", RANK);
        check("SPAN", SPAN);
        check("STEP", STEP);
        check("STREAM_PAIR", STREAM_PAIR);
        check("SYNC", SYNC);
        check("SYNC_CALLER", SYNC_CALLER);
        check("SYNC_LINE", SYNC_LINE);
        check("SYNC_NAME", SYNC_NAME);
        check("WAIT", WAIT);
        check("WHAT_IF", WHAT_IF);
        check("WORKER", WORKER);
    }

    #[test]
    fn outputs_take_named_columns_first_and_all_others_behind() {
        let columns = shown(STEP, Output::Csv, "gpu_lag rank");
        let keys: Vec<&str> = columns.iter().map(|c| c.key).collect();
        assert_eq!(&keys[..4], ["gpu_lag", "rank", "step", "first"]);
        assert_eq!(keys.last(), Some(&"first_kernel"));
        assert!(!keys.contains(&"short"));
        assert_eq!(column(STEP, "wait").title, "Wait");
        assert_eq!(column(STEP, "n_ops").unit(), Unit::Count);
    }
}
