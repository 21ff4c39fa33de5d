//! JSON whose long lists are made while it is written: a list as a tree would take many times the memory of its text.

use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::super::baseline::Baseline;
use crate::analysis::compare::Recording;

/// The only key of what stands for a list; its value is the list's number. No text of a trace or of rules becomes such
/// an object: their keys have objects, lists or times of layers that are more than one.
const STANDS_FOR: &str = "\u{0}list";

type Made<'a, T> = Box<dyn Fn() -> Box<dyn Iterator<Item = T> + 'a> + 'a>;

/// A long list.
enum List<'a> {
    Rows(Made<'a, Value>),
    Entries(Made<'a, (String, Value)>),
    Baseline(Box<dyn Fn() -> (Recording, bool) + 'a>, Option<u32>),
}

/// The long lists of a report.
#[derive(Default)]
pub(super) struct Lists<'a>(Vec<List<'a>>);

impl<'a> Lists<'a> {
    fn stand(&mut self, list: List<'a>) -> Value {
        let mut out = Map::new();
        out.insert(STANDS_FOR.to_owned(), self.0.len().into());
        self.0.push(list);
        out.into()
    }

    /// A list of rows.
    pub fn rows<I>(&mut self, rows: impl Fn() -> I + 'a) -> Value
    where
        I: Iterator<Item = Value> + 'a,
    {
        let made = move || -> Box<dyn Iterator<Item = Value> + 'a> { Box::new(rows()) };
        self.stand(List::Rows(Box::new(made)))
    }

    /// An object; no two entries have one key.
    pub fn entries<I>(&mut self, entries: impl Fn() -> I + 'a) -> Value
    where
        I: Iterator<Item = (String, Value)> + 'a,
    {
        let made =
            move || -> Box<dyn Iterator<Item = (String, Value)> + 'a> { Box::new(entries()) };
        self.stand(List::Entries(Box::new(made)))
    }

    /// What a later recording can be compared with, and whether not all of it was read; of one rank only, if there is one.
    pub fn baseline(
        &mut self,
        recording: impl Fn() -> (Recording, bool) + 'a,
        only: Option<u32>,
    ) -> Value {
        self.stand(List::Baseline(Box::new(recording), only))
    }
}

/// A report, to be written.
pub struct Listed<'a> {
    value: Value,
    lists: Lists<'a>,
}

impl<'a> Listed<'a> {
    pub(super) fn new(value: Value, lists: Lists<'a>) -> Self {
        Self { value, lists }
    }

    /// Adds a part at the end.
    pub fn put(&mut self, key: &str, part: Value) {
        if let Value::Object(value) = &mut self.value {
            value.insert(key.to_owned(), part);
        }
    }

    /// All of it as a tree.
    #[must_use]
    pub fn into_value(self) -> Value {
        // Keys are texts, and nothing else can fail.
        serde_json::to_value(&self).unwrap_or(Value::Null)
    }
}

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Part(&self.value, &self.lists).serialize(to)
    }
}

/// A part of a report.
struct Part<'a, 'l>(&'a Value, &'a Lists<'l>);

impl Serialize for Part<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(value, lists) = *self;
        match value {
            Value::Array(parts) => to.collect_seq(parts.iter().map(|v| Part(v, lists))),
            Value::Object(parts) => {
                let number = match parts.len() {
                    1 => parts.get(STANDS_FOR).and_then(Value::as_u64),
                    _ => None,
                };
                let list = number.and_then(|n| lists.0.get(usize::try_from(n).ok()?));
                match list {
                    Some(List::Rows(rows)) => to.collect_seq(rows()),
                    Some(List::Entries(entries)) => to.collect_map(entries()),
                    Some(List::Baseline(recording, only)) => {
                        let (recording, incomplete) = recording();
                        Baseline::saved(&recording, incomplete, *only).serialize(to)
                    }
                    None => to.collect_map(parts.iter().map(|(k, v)| (k, Part(v, lists)))),
                }
            }
            plain => plain.serialize(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_written_as_trees_are() {
        let mut lists = Lists::default();
        let rows = lists.rows(|| (0..3).map(|i| json!({"i": i, "of": [i]})));
        let none = lists.rows(std::iter::empty);
        let entries = lists.entries(|| (0..2).map(|i| (i.to_string(), json!([]))));
        let empty = lists.entries(std::iter::empty);
        let value =
            json!({"rows": rows, "a": {"none": none}, "b": [entries, empty, {}, [], 1.5, null]});
        let mut listed = Listed::new(value, lists);
        listed.put("last", true.into());
        let tree = json!({
            "rows": [{"i": 0, "of": [0]}, {"i": 1, "of": [1]}, {"i": 2, "of": [2]}],
            "a": {"none": []},
            "b": [{"0": [], "1": []}, {}, {}, [], 1.5, null],
            "last": true,
        });
        let text = |r: Result<String, serde_json::Error>| r.expect("written");
        assert_eq!(
            text(serde_json::to_string_pretty(&listed)),
            text(serde_json::to_string_pretty(&tree))
        );
        assert_eq!(listed.into_value(), tree);
    }
}
