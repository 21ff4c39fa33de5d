//! Args as they stand in their file, and as people should see them.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::import::contract::importer::Importer;
use crate::import::text::lenient;
use crate::model::{SourceId, Trace};

/// A value as text; `None` for null.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

/// Args as they stand in their file.
pub(super) enum Raw {
    Text(Vec<u8>, Option<&'static dyn Importer>),
    Row(Option<Map<String, Value>>),
}

impl Raw {
    /// All of them, as people should see them; `None` where there are none, or the text is none of args.
    pub fn args(&self, trace: &Trace, source: SourceId) -> Option<Map<String, Value>> {
        match self {
            Self::Row(row) => row.clone(),
            Self::Text(text, None) => lenient::args(text),
            Self::Text(text, Some(importer)) => {
                let args = importer.parse_args(text, trace, source)?;
                Some(with_names(*importer, args, trace, source))
            }
        }
    }
}

/// What stands for something else, as hashes do, is replaced by what it stands for.
fn with_names(
    importer: &dyn Importer,
    args: Map<String, Value>,
    trace: &Trace,
    source: SourceId,
) -> Map<String, Value> {
    let named = |(key, value): (String, Value)| {
        let text = match &value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let new = importer.stands_for(&key).zip(text);
        let named = new.and_then(|(new, text)| Some((new, trace.alias(source, &text)?)));
        match named {
            Some((new, name)) => (new.to_owned(), Value::String(name.to_owned())),
            None => (key, value),
        }
    };
    args.into_iter().map(named).collect()
}

/// Args of which somebody asks for a few fields.
pub(super) enum Looked<'a> {
    /// Only those that are asked for are taken out of the text: there are millions of spans.
    Fields(Fields<'a>),
    /// What is no whole JSON object.
    All(Option<Map<String, Value>>),
}

impl<'a> Looked<'a> {
    pub fn at(raw: &'a Raw, trace: &'a Trace, source: SourceId) -> Self {
        Fields::of(raw, trace, source)
            .map_or_else(|| Self::All(raw.args(trace, source)), Self::Fields)
    }

    /// A field as text; `None` where there is none, or it is null.
    pub fn text(&self, key: &str) -> Option<String> {
        match self {
            Self::Fields(fields) => fields.text(key),
            Self::All(all) => shown(all.as_ref()?.get(key)?),
        }
    }
}

/// The fields of args, of which none is taken out yet.
pub(super) struct Fields<'a> {
    all: Pairs<'a>,
    importer: &'static dyn Importer,
    trace: &'a Trace,
    source: SourceId,
}

impl<'a> Fields<'a> {
    /// Of a whole JSON object; `None` where it is none.
    fn of(raw: &'a Raw, trace: &'a Trace, source: SourceId) -> Option<Self> {
        let Raw::Text(text, Some(importer)) = raw else {
            return None;
        };
        let all = importer
            .has_json_args()
            .then(|| serde_json::from_slice(text).ok())?;
        Some(Self {
            all: all?,
            importer: *importer,
            trace,
            source,
        })
    }

    /// A field as text, as [`Raw::args`] has it: of several the last.
    fn text(&self, key: &str) -> Option<String> {
        let mut last = None;
        for (own, raw) in &self.all.0 {
            let stands = self.importer.stands_for(own);
            if own != key && stands != Some(key) {
                continue;
            }
            let value = serde_json::from_str(raw.get()).unwrap_or(Value::Null);
            let name = stands.filter(|_| value.is_string() || value.is_number());
            let name = name.and_then(|new| {
                let text = shown(&value)?;
                Some((new, self.trace.alias(self.source, &text)?))
            });
            match name {
                Some((new, name)) if new == key => last = Some(name.to_owned()),
                Some(_) => {}
                None if own == key => last = shown(&value),
                None => {}
            }
        }
        last
    }
}

/// Keys and values of an object, borrowed from its text.
struct Pairs<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        struct Key<'k>(#[serde(borrow)] Cow<'k, str>);

        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut all = Vec::with_capacity(8);
                while let Some(Key(key)) = map.next_key()? {
                    all.push((key, map.next_value()?));
                }
                Ok(Pairs(all))
            }
        }

        from.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::importers::IMPORTERS;
    use crate::model::{Source, TraceBuilder};

    /// Whatever stands in the text: a field that is asked for alone is what stands in all of them.
    #[test]
    fn a_field_alone_is_the_field_of_all() {
        let texts = [
            r#"{"fname":"a","ret":7,"size":"12"}"#,
            r#"{"fhash":"f1","hhash":12,"ret":-1}"#,
            r#"{"fhash":"unknown","cwd":"c1","exec_hash":null}"#,
            r#"{"fname":"own","fhash":"f1"}"#,
            r#"{"fhash":"f1","fname":"own"}"#,
            r#"{"fhash":"f1","fhash":"f2"}"#,
            r#"{"ret":1,"ret":2,"ret":null}"#,
            r#"{"n\u0061me":"\u00e9\n","deep":{"a":[1,2]},"t":true}"#,
            r#"{"ret":1e3,"size":123456789012345678901234567890,"x":1.50}"#,
            "{ \"ret\" : 5 }",
            r#"{"ret":5"#,
            r#"{"ret":NaN}"#,
            "[1]",
            "",
        ];
        let keys = [
            "fname",
            "fhash",
            "host",
            "hhash",
            "ret",
            "size",
            "name",
            "deep",
            "t",
            "x",
            "cwd",
            "exec_hash",
            "program",
            "none",
        ];
        for importer in IMPORTERS {
            let mut b = TraceBuilder::new();
            let source = b.add_source(Source::new("f", importer.facts()));
            b.add_alias(Some(source), "f1", "/data/one");
            b.add_alias(Some(source), "f2", "/data/two");
            b.add_alias(Some(source), "12", "node1");
            b.add_alias(Some(source), "c1", "/home");
            let trace = b.finish();
            for text in texts {
                let raw = Raw::Text(text.as_bytes().to_vec(), Some(*importer));
                let all = raw.args(&trace, source);
                let looked = Looked::at(&raw, &trace, source);
                for key in keys {
                    let want = all.as_ref().and_then(|all| shown(all.get(key)?));
                    assert_eq!(looked.text(key), want, "{key} of {text}");
                }
            }
        }
    }
}
