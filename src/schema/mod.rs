//! What the program's JSON holds, described once: `stallscope schema` prints it as JSON Schema, `docs/report.md` as a table.
//!
//! `fields/` has a line per field of each document: where it is, its type, what it means. Rows of tables come from
//! [`crate::columns`]. Knows no figure. The promise: within a schema no field goes, changes its type, unit or meaning, or
//! becomes null where it never was; fields and values of texts may be added.

use serde_json::{Value, json};

use crate::tables::{self, TableInfo};

mod rows;
mod tree;

pub use rows::{RowColumn, RowKind, row_kinds};
pub use tree::Field;
use tree::Node;

/// A document that some command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// `report --json`.
    Report,
    /// `report --by name --json`.
    Names,
    /// `compare --json`.
    Compare,
    /// `ranks --json`.
    Ranks,
    /// `whatif --json`.
    Whatif,
    /// `why --json`.
    Why,
    /// `info --json`.
    Info,
    /// Not JSON: the tables of `export` and `ranks --out`.
    Tables,
}

impl Document {
    /// All of them, that of `report` first.
    pub const ALL: [Self; 8] = [
        Self::Report,
        Self::Names,
        Self::Compare,
        Self::Ranks,
        Self::Whatif,
        Self::Why,
        Self::Info,
        Self::Tables,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Names => "names",
            Self::Compare => "compare",
            Self::Ranks => "ranks",
            Self::Whatif => "whatif",
            Self::Why => "why",
            Self::Info => "info",
            Self::Tables => "tables",
        }
    }

    /// What prints it.
    fn command(self) -> &'static str {
        match self {
            Self::Names => "report --by name",
            other => other.key(),
        }
    }

    /// The document of a name.
    #[must_use]
    pub fn named(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|d| d.key() == key)
    }

    /// The fields beside rows of tables, in the order of the documentation; none of [`Self::Tables`].
    #[must_use]
    pub fn fields(self) -> Vec<Field> {
        let text = match self {
            Self::Report => include_str!("fields/report.txt"),
            Self::Names => include_str!("fields/names.txt"),
            Self::Compare => include_str!("fields/compare.txt"),
            Self::Ranks => include_str!("fields/ranks.txt"),
            Self::Whatif => include_str!("fields/whatif.txt"),
            Self::Why => include_str!("fields/why.txt"),
            Self::Info => include_str!("fields/info.txt"),
            Self::Tables => "",
        };
        let lines = text
            .lines()
            .filter(|l| !l.is_empty() && !l.starts_with('#'));
        lines
            .filter_map(Field::parse)
            .flat_map(with_inner)
            .collect()
    }

    /// Version of its fields: the number that `schema` has in it.
    fn version(self) -> u32 {
        match self {
            Self::Tables => tables::SCHEMA,
            _ => {
                let fields = self.fields();
                let stated = fields.iter().find(|f| f.path == "schema");
                stated.and_then(|f| f.kind.parse().ok()).unwrap_or(1)
            }
        }
    }

    /// Its places.
    fn root(self) -> Node {
        let mut root = Node::default();
        for field in self.fields() {
            root.insert(&field);
        }
        for kind in row_kinds() {
            let under = kind.json.filter(|(document, _)| *document == self);
            if let Some((_, path)) = under {
                for field in kind.fields(path) {
                    root.insert(&field);
                }
            }
        }
        root
    }

    /// Its JSON Schema; of tables the list of columns. A `strict` one allows no field that it does not name: what a program
    /// may not rely on, as fields are added.
    #[must_use]
    pub fn schema(self, strict: bool) -> Value {
        if self == Self::Tables {
            return columns();
        }
        let root = self.root();
        let mut out = root.schema(strict);
        let mut head = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": format!("stallscope:{}:{}", self.key(), self.version()),
            "title": format!("stallscope {} --json", self.command()),
        });
        if let (Value::Object(head), Value::Object(out)) = (&mut head, &mut out) {
            head.append(out);
            let shared = root.shared(&Self::Report.root(), strict);
            if !shared.is_empty() {
                head.insert("$defs".to_owned(), shared.into());
            }
        }
        head
    }
}

/// A field; where it is what the report has at a path (`as path`), all that is in it.
fn with_inner(field: Field) -> Vec<Field> {
    let Some(path) = field.kind.strip_prefix("as ") else {
        return vec![field];
    };
    let path = format!("{path}.");
    let inner = Document::Report.fields().into_iter().filter_map(|f| {
        let below = f.path.strip_prefix(&path)?;
        Some(Field {
            path: format!("{}.{below}", field.path),
            ..f
        })
    });
    let own = Field {
        kind: "object".to_owned(),
        ..field.clone()
    };
    std::iter::once(own).chain(inner).collect()
}

/// The columns of all tables.
fn columns() -> Value {
    let column = |table: &TableInfo| {
        let name = table.name;
        let all = table.columns.iter().map(move |c| {
            json!({
                "table": name, "column": c.name, "type": c.kind.key(), "unit": c.unit.key(),
                "nullable": c.nullable, "meaning": c.meaning,
            })
        });
        all.collect::<Vec<_>>()
    };
    TableInfo::all().iter().flat_map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_field_with_a_meaning() {
        for document in Document::ALL {
            let fields = document.fields();
            for field in &fields {
                assert!(
                    !field.meaning.is_empty(),
                    "{} {}",
                    document.key(),
                    field.path
                );
                assert!(
                    field.knows_its_type(),
                    "{} {}: {}",
                    document.key(),
                    field.path,
                    field.kind
                );
            }
            for (i, field) in fields.iter().enumerate() {
                let twice = fields[..i].iter().any(|f| f.path == field.path);
                assert!(!twice, "{} {}: twice", document.key(), field.path);
            }
        }
    }
}
