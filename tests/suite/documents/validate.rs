//! Holds a document against a JSON Schema, as far as the program's schemas go.

use std::collections::BTreeSet;

use serde_json::Value;

/// Words of JSON Schema that are understood here, and those that only tell something.
const KNOWN: [&str; 17] = [
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "anyOf",
    "enum",
];

/// What does not hold, and which properties of the schema were there.
#[derive(Default)]
pub struct Outcome {
    /// Place in the document, and what is wrong there.
    pub wrong: BTreeSet<String>,
    /// Places in the schema.
    pub seen: BTreeSet<String>,
}

/// Holds a document against a schema.
pub fn validate(schema: &Value, document: &Value, out: &mut Outcome) {
    Check { root: schema, out }.check(schema, document, "", "");
}

/// Places of all properties of a schema; what `$defs` has is in other places, too.
pub fn properties(schema: &Value, at: &str, out: &mut BTreeSet<String>) {
    for (word, inner) in schema.as_object().into_iter().flatten() {
        match (word.as_str(), inner) {
            ("properties", Value::Object(all)) => {
                for (key, inner) in all {
                    let place = format!("{at}/{key}");
                    out.insert(place.clone());
                    properties(inner, &place, out);
                }
            }
            ("items" | "additionalProperties", inner) => properties(inner, &format!("{at}/*"), out),
            _ => {}
        }
    }
}

struct Check<'a> {
    root: &'a Value,
    out: &'a mut Outcome,
}

impl Check<'_> {
    fn wrong(&mut self, at: &str, what: &str) {
        self.out.wrong.insert(format!("{at}: {what}"));
    }

    fn fits(&self, schema: &Value, value: &Value) -> bool {
        let mut inner = Outcome::default();
        Check {
            root: self.root,
            out: &mut inner,
        }
        .check(schema, value, "", "");
        inner.wrong.is_empty()
    }

    fn check(&mut self, schema: &Value, value: &Value, at: &str, place: &str) {
        let Some(words) = schema.as_object() else {
            if schema == false {
                self.wrong(at, "nothing is allowed here");
            }
            return;
        };
        for word in words.keys() {
            assert!(KNOWN.contains(&word.as_str()), "{word} is not understood");
        }
        if let Some(Value::String(path)) = words.get("$ref") {
            let name = path.strip_prefix("#/$defs/").expect("a reference inside");
            let target = &self.root["$defs"][name];
            assert!(target.is_object(), "{path} leads nowhere");
            self.check(target, value, at, &format!("/{name}"));
        }
        if let Some(Value::Array(any)) = words.get("anyOf") {
            match any.iter().find(|s| self.fits(s, value)) {
                Some(fitting) => self.check(fitting, value, at, place),
                None => self.wrong(at, &format!("fits none of several: {}", short(value))),
            }
        }
        if let Some(types) = words.get("type") {
            let types: Vec<&Value> = types
                .as_array()
                .map_or(vec![types], |all| all.iter().collect());
            if !types.iter().any(|t| is(value, t.as_str().expect("a type"))) {
                self.wrong(at, &format!("is no {types:?}: {}", short(value)));
                return;
            }
        }
        if words.get("const").is_some_and(|wanted| wanted != value) {
            self.wrong(at, &format!("is not {}: {}", words["const"], short(value)));
        }
        if let Some(Value::Array(known)) = words.get("enum")
            && !known.contains(value)
        {
            self.wrong(at, &format!("is none of {known:?}: {}", short(value)));
        }
        match value {
            Value::Object(fields) => {
                for key in words
                    .get("required")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                {
                    if !fields.contains_key(key.as_str().expect("a key")) {
                        self.wrong(at, &format!("lacks {key}"));
                    }
                }
                for (key, inner) in fields {
                    let own = words.get("properties").and_then(|p| p.get(key));
                    if let Some(own) = own {
                        let place = format!("{place}/{key}");
                        if !inner.is_null() {
                            self.out.seen.insert(place.clone());
                        }
                        self.check(own, inner, &format!("{at}.{key}"), &place);
                    } else if let Some(any) = words.get("additionalProperties") {
                        let at = match any {
                            Value::Bool(false) => format!("{at}.{key}"),
                            _ => format!("{at}.*"),
                        };
                        self.check(any, inner, &at, &format!("{place}/*"));
                    }
                }
            }
            Value::Array(all) => {
                let first = words.get("prefixItems").and_then(Value::as_array);
                let first = first.map_or(&[][..], Vec::as_slice);
                for (i, inner) in all.iter().enumerate() {
                    if let Some(schema) = first.get(i).or_else(|| words.get("items")) {
                        self.check(schema, inner, &format!("{at}[]"), &format!("{place}/*"));
                    }
                }
                let n = |word: &str| words.get(word).and_then(Value::as_u64);
                let len = all.len() as u64;
                if n("minItems").is_some_and(|least| len < least)
                    || n("maxItems").is_some_and(|most| len > most)
                {
                    self.wrong(at, &format!("has {len} entries"));
                }
            }
            _ => {}
        }
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(80).collect()
}

#[test]
fn what_does_not_fit_is_found() {
    use serde_json::json;
    let schema = json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {"a": {"type": ["integer", "null"]}, "b": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
        "$defs": {"n": {"anyOf": [{"type": "null"}, {"enum": [2]}]}},
    });
    let wrong = |document: Value| {
        let mut out = Outcome::default();
        validate(&schema, &document, &mut out);
        out.wrong.len()
    };
    assert_eq!(wrong(json!({"a": 1, "b": [2, null]})), 0);
    assert_eq!(wrong(json!({"a": null})), 0);
    assert_eq!(wrong(json!({"b": []})), 1);
    assert_eq!(wrong(json!({"a": 1.5})), 1);
    assert_eq!(wrong(json!({"a": 1, "b": [3]})), 1);
    assert_eq!(wrong(json!({"a": 1, "c": 1})), 1);
    assert_eq!(wrong(json!([])), 1);
}
