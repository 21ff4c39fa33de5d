//! From lines about fields to JSON Schema.

use serde_json::{Map, Value, json};

/// A field of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where it is. Between dots: a key, `*` for every key of an object; behind it `?` where the key may be missing, `[]`
    /// for every entry of the list that it holds.
    pub path: String,
    /// Its type, by its unit: `ns`, `text`, `flag` …; `object` and `list` where only that may be null, `= path` where it is
    /// what is there. `?` at the end: it may be null.
    pub kind: String,
    /// What it means.
    pub meaning: String,
    /// Of a text: what it is one of, as far as known; empty for any text.
    pub values: Vec<String>,
}

/// Texts that are one of a few, by name.
const VALUES: &str = include_str!("fields/values.txt");

/// The values of a name in the list of them.
fn values(name: &str) -> Option<Vec<String>> {
    let mut lines = VALUES.lines().filter_map(|l| l.split_once(" | "));
    let (_, values) = lines.find(|l| l.0 == name)?;
    Some(values.split("; ").map(str::to_owned).collect())
}

impl Field {
    /// Of a line `path | type | meaning`.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, " | ").map(|p| p.trim().to_owned());
        let (path, mut kind) = (parts.next()?, parts.next()?);
        let mut known = Vec::new();
        if let Some(name) = kind.strip_prefix("one of ") {
            let plain = name.trim_end_matches('?');
            known = values(plain)?;
            kind = format!("text{}", &name[plain.len()..]);
        }
        Some(Self {
            path,
            kind,
            meaning: parts.next()?,
            values: known,
        })
    }

    /// The path without what says whether it is there: as people write it.
    #[must_use]
    pub fn plain_path(&self) -> String {
        self.path.replace('?', "")
    }

    fn type_without_null(&self) -> &str {
        self.kind.strip_suffix('?').unwrap_or(&self.kind)
    }

    /// Whether its type is one that a schema can say.
    #[cfg(test)]
    pub(super) fn knows_its_type(&self) -> bool {
        let kind = self.type_without_null();
        matches!(kind, "object" | "list" | "any") || kind.starts_with("= ") || leaf(kind).is_some()
    }
}

/// The schema of a value by its unit.
fn leaf(kind: &str) -> Option<Value> {
    Some(match kind {
        "ns" | "count" | "bytes" | "ppb" => json!({"type": "integer"}),
        "share" => json!({"type": "number"}),
        "number" | "1/s" | "MB/s" => json!({"type": "number"}),
        "text" => json!({"type": "string"}),
        "flag" => json!({"type": "boolean"}),
        "text or count" => json!({"type": ["string", "integer"]}),
        "ns, ns" => {
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2})
        }
        "ns, ns, text" => {
            let items = [
                json!({"type": "integer"}),
                json!({"type": "integer"}),
                json!({"type": "string"}),
            ];
            json!({"type": "array", "prefixItems": items, "items": false, "minItems": 3})
        }
        // The version: it is what it is.
        number => json!({"const": number.parse::<u32>().ok()?}),
    })
}

/// A place in a document.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    field: Option<Field>,
    keys: Vec<(String, Self)>,
    /// What any other key has.
    any: Option<Box<Self>>,
    /// What an entry of the list has.
    item: Option<Box<Self>>,
    optional: bool,
}

/// A step on the way to a place.
enum Way<'a> {
    Key(&'a str, bool),
    Any,
    Item,
}

fn ways(path: &str) -> Vec<Way<'_>> {
    let mut out = Vec::new();
    for part in path.split('.') {
        let bare = part.trim_end_matches("[]");
        match bare.strip_suffix('?') {
            _ if bare == "*" => out.push(Way::Any),
            Some(key) => out.push(Way::Key(key, true)),
            None => out.push(Way::Key(bare, false)),
        }
        let lists = (part.len() - bare.len()) / 2;
        out.extend((0..lists).map(|_| Way::Item));
    }
    out
}

impl Node {
    /// Adds a field; the first one of a place stays.
    pub fn insert(&mut self, field: &Field) {
        let mut node = self;
        for way in ways(&field.path) {
            node = match way {
                Way::Any => node.any.get_or_insert_default(),
                Way::Item => node.item.get_or_insert_default(),
                Way::Key(key, optional) => {
                    let at = match node.keys.iter().position(|k| k.0 == key) {
                        Some(at) => at,
                        None => {
                            node.keys.push((key.to_owned(), Self::default()));
                            node.keys.len() - 1
                        }
                    };
                    let inner = &mut node.keys[at].1;
                    inner.optional |= optional;
                    inner
                }
            };
        }
        node.field.get_or_insert_with(|| field.clone());
    }

    fn at(&self, path: &str) -> Option<&Self> {
        let mut node = self;
        for way in ways(path) {
            node = match way {
                Way::Any => node.any.as_deref()?,
                Way::Item => node.item.as_deref()?,
                Way::Key(key, _) => &node.keys.iter().find(|k| k.0 == key)?.1,
            };
        }
        Some(node)
    }

    /// Its schema.
    pub fn schema(&self, strict: bool) -> Value {
        let field = self.field.as_ref();
        let null = field.is_some_and(|f| f.kind.ends_with('?'));
        let mut out =
            if let Some(path) = field.and_then(|f| f.type_without_null().strip_prefix("= ")) {
                json!({"$ref": format!("#/$defs/{}", shared_name(path))})
            } else if let Some(item) = &self.item {
                json!({"type": "array", "items": item.schema(strict)})
            } else if !self.keys.is_empty() || self.any.is_some() {
                self.object(strict)
            } else {
                field
                    .and_then(|f| leaf(f.type_without_null()))
                    .unwrap_or_else(|| json!({}))
            };
        if let Some(values) = field.map(|f| &f.values).filter(|v| !v.is_empty()) {
            out = match strict {
                true => json!({ "enum": values }),
                false => json!({"anyOf": [{ "enum": values }, out]}),
            };
        }
        if null {
            or_null(&mut out);
        }
        if let (Some(field), Value::Object(out)) = (field, &mut out) {
            out.insert("description".to_owned(), description(field).into());
        }
        out
    }

    fn object(&self, strict: bool) -> Value {
        let mut out = json!({"type": "object"});
        let properties = self.keys.iter();
        let properties: Map<String, Value> = properties
            .map(|(key, node)| (key.clone(), node.schema(strict)))
            .collect();
        let required = self.keys.iter().filter(|k| !k.1.optional);
        let required: Vec<&str> = required.map(|k| k.0.as_str()).collect();
        if !properties.is_empty() {
            out["properties"] = properties.into();
        }
        if !required.is_empty() {
            out["required"] = required.into();
        }
        match &self.any {
            Some(any) => out["additionalProperties"] = any.schema(strict),
            None if strict => out["additionalProperties"] = false.into(),
            None => {}
        }
        out
    }

    /// The schemas of places that other ones are like, by path; those that are not here are those of the `report`.
    pub fn shared(&self, report: &Self, strict: bool) -> Map<String, Value> {
        let mut paths = Vec::new();
        self.refs(&mut paths);
        paths.sort_unstable();
        paths.dedup();
        let found = paths.iter().filter_map(|p| {
            Some((
                shared_name(p),
                self.at(p).or_else(|| report.at(p))?.schema(strict),
            ))
        });
        found.collect()
    }

    fn refs(&self, out: &mut Vec<String>) {
        let kind = self.field.as_ref().map(Field::type_without_null);
        out.extend(kind.and_then(|k| k.strip_prefix("= ")).map(str::to_owned));
        let inner = self.keys.iter().map(|k| &k.1);
        for node in inner.chain(self.any.as_deref()).chain(self.item.as_deref()) {
            node.refs(out);
        }
    }
}

/// What a place is called where others are like it: its path without what is not a key.
fn shared_name(path: &str) -> String {
    let parts = path.split('.').map(|p| p.trim_end_matches("[]"));
    let keys: Vec<&str> = parts.filter(|p| *p != "*").collect();
    keys.join(".")
}

fn or_null(schema: &mut Value) {
    if let Some(Value::Array(any)) = schema.get_mut("anyOf") {
        any.push(json!({"type": "null"}));
    } else if let Some(types) = schema.get_mut("type") {
        match types {
            Value::Array(types) => types.push("null".into()),
            one => *one = json!([one.take(), "null"]),
        }
    } else if schema.as_object().is_some_and(|s| !s.is_empty()) {
        *schema = json!({"anyOf": [schema.take(), {"type": "null"}]});
    }
}

fn description(field: &Field) -> String {
    let kind = field.type_without_null();
    let unit = match kind {
        "ns" | "ppb" | "1/s" | "MB/s" | "bytes" => format!("; {kind}"),
        "ns, ns" | "ns, ns, text" => "; ns".to_owned(),
        "share" => "; a part of one, rounded to six decimals".to_owned(),
        _ => String::new(),
    };
    let null = if field.kind.ends_with('?') {
        "; null where not told"
    } else {
        ""
    };
    format!("{}{unit}{null}", field.meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_a_schema() {
        let mut root = Node::default();
        for line in [
            "schema | 2 | Version",
            "a.*.b? | ns? | A time",
            "l | list? | Things",
            "l[].x | text | One",
            "same? | = a.* | As there",
            "who | one of side? | Which",
        ] {
            root.insert(&Field::parse(line).expect("a line"));
        }
        let wanted = json!({
            "type": "object",
            "properties": {
                "schema": {"const": 2, "description": "Version"},
                "a": {"type": "object", "additionalProperties": {
                    "type": "object",
                    "properties": {"b": {"type": ["integer", "null"], "description": "A time; ns; null where not told"}},
                }},
                "l": {"type": ["array", "null"], "description": "Things; null where not told", "items": {
                    "type": "object",
                    "properties": {"x": {"type": "string", "description": "One"}},
                    "required": ["x"],
                }},
                "same": {"$ref": "#/$defs/a", "description": "As there"},
                "who": {
                    "anyOf": [{"enum": ["before", "after"]}, {"type": "string"}, {"type": "null"}],
                    "description": "Which; null where not told",
                },
            },
            "required": ["schema", "a", "l", "who"],
        });
        assert_eq!(root.schema(false), wanted);
        assert_eq!(
            root.shared(&root, false)["a"],
            wanted["properties"]["a"]["additionalProperties"]
        );
        let strict = root.schema(true);
        let known = json!([{"enum": ["before", "after"]}, {"type": "null"}]);
        assert_eq!(strict["properties"]["who"]["anyOf"], known);
        assert_eq!(strict["additionalProperties"], false);
        assert_eq!(
            strict["properties"]["l"]["items"]["additionalProperties"],
            false
        );
    }
}
