//! Args for people: hashes become the names they stand for.

use serde_json::{Map, Value};

use crate::model::{SourceId, Trace};

/// Names in place of hashes: `fname` of `fhash`, `host` of `hhash`, `command` of `cmd_hash`, `program` of `exec_hash`.
pub(super) fn with_names(
    args: Map<String, Value>,
    trace: &Trace,
    source: SourceId,
) -> Map<String, Value> {
    let rename = |key: &str| {
        Some(match key {
            "fhash" => "fname",
            "hhash" => "host",
            "cmd_hash" => "command",
            "exec_hash" => "program",
            "cwd" => "cwd",
            _ => return None,
        })
    };
    args.into_iter()
        .map(|(key, value)| {
            let text = match &value {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            let named = rename(&key)
                .zip(text)
                .and_then(|(new, text)| Some((new, trace.alias(source, &text)?)));
            match named {
                Some((new, name)) => (new.to_owned(), Value::String(name.to_owned())),
                None => (key, value),
            }
        })
        .collect()
}
