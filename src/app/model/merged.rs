//! Settings of several windows in one file: what this window changed, over what the others wrote meanwhile.

use serde_json::{Map, Value};

/// Traces whose views are kept.
pub const MAX_TRACES: usize = 50;
/// Files in the Recent list.
pub const MAX_RECENT: usize = 8;

/// A list in which the newest stands first: what names an entry, and how many are kept.
struct Newest {
    key: &'static str,
    id: fn(&Value) -> &Value,
    most: usize,
}

const LISTS: [Newest; 2] = [
    Newest {
        key: "recent",
        id: |files| files,
        most: MAX_RECENT,
    },
    Newest {
        key: "traces",
        id: |trace| &trace["key"],
        most: MAX_TRACES,
    },
];

/// Lists to which things are only added.
const GROWING: [&str; 1] = ["hints_seen"];

/// The fields of `own` that differ from `base`, what this window knew to be in the file before, in place of those that are
/// in the `file` now. Lists take what is new on either side.
#[must_use]
pub fn merged(own: Map<String, Value>, base: &Value, mut file: Map<String, Value>) -> Value {
    for (key, own) in own {
        let there = file.get(&key);
        let newest = LISTS.iter().find(|l| l.key == key);
        let value = match (newest, there) {
            (Some(list), Some(there)) => list.merged(own, &base[&key], there),
            (None, Some(there)) if GROWING.contains(&key.as_str()) => grown(own, there),
            (None, Some(there)) if own == base[&key] => there.clone(),
            (None, Some(_)) | (_, None) => own,
        };
        file.insert(key, value);
    }
    Value::Object(file)
}

fn entries(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn grown(own: Value, there: &Value) -> Value {
    let mut all = entries(&own).to_vec();
    all.extend(
        entries(there)
            .iter()
            .filter(|e| !entries(&own).contains(e))
            .cloned(),
    );
    Value::Array(all)
}

impl Newest {
    fn merged(&self, own: Value, base: &Value, there: &Value) -> Value {
        let (own, base, there) = (entries(&own), entries(base), entries(there));
        let named =
            |among: &[Value], entry: &Value| among.iter().any(|e| (self.id)(e) == (self.id)(entry));
        // What changed was put in front; behind it everything is as it was.
        let mut changed = 0;
        while !starts_with(&rest(base, &own[..changed], named), &own[changed..]) {
            changed += 1;
        }
        let front = &own[..changed];
        // Of a full list the oldest fell off; of another one they were taken.
        let taken =
            |entry: &Value| own.len() < self.most && named(base, entry) && !named(own, entry);
        let mut all = front.to_vec();
        let theirs = rest(there, front, named);
        all.extend(theirs.into_iter().filter(|e| !taken(e)).cloned());
        all.truncate(self.most);
        Value::Array(all)
    }
}

/// What of a list is not named among some entries.
fn rest<'a>(
    list: &'a [Value],
    without: &[Value],
    named: impl Fn(&[Value], &Value) -> bool,
) -> Vec<&'a Value> {
    list.iter().filter(|e| !named(without, e)).collect()
}

/// Whether a list is the other one, but for entries that are missing from it.
fn starts_with(list: &[&Value], other: &[Value]) -> bool {
    let mut list = list.iter();
    other.iter().all(|entry| list.any(|e| *e == entry))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    fn both(own: Value, base: Value, file: Value) -> Value {
        merged(object(own), &base, object(file))
    }

    #[test]
    fn what_either_window_changed_stays() {
        let base =
            json!({"theme": "dark", "ui": 100, "recent": [["a"], ["b"]], "hints_seen": ["x"]});
        let own = json!({"theme": "light", "ui": 100, "recent": [["c"], ["a"], ["b"]], "hints_seen": ["x", "y"]});
        let file = json!({"theme": "dark", "ui": 125, "recent": [["b"], ["d"], ["a"]], "hints_seen": ["x", "z"], "newer": 1});
        let found = both(own, base, file);
        let expected = json!({
            "theme": "light", "ui": 125, "recent": [["c"], ["b"], ["d"], ["a"]],
            "hints_seen": ["x", "y", "z"], "newer": 1
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn what_was_taken_from_the_list_is_gone_and_what_is_unchanged_goes_back_nowhere() {
        let base = json!({"recent": [["a"], ["b"], ["c"]]});
        let file = json!({"recent": [["d"], ["a"], ["b"], ["c"]]});
        let taken = both(
            json!({"recent": [["a"], ["c"]]}),
            base.clone(),
            file.clone(),
        );
        assert_eq!(taken, json!({"recent": [["d"], ["a"], ["c"]]}));
        assert_eq!(both(base.clone(), base, file.clone()), file);
    }

    #[test]
    fn views_are_those_of_who_changed_them_last() {
        let view = |key: &str, at: i64| json!({"key": key, "view": at});
        let base = json!({"traces": [view("a", 1), view("b", 1)]});
        let own = json!({"traces": [view("a", 2), view("b", 1)]});
        let file = json!({"traces": [view("c", 3), view("b", 3), view("a", 1)]});
        let found = both(own, base, file);
        let expected = [view("a", 2), view("c", 3), view("b", 3)];
        assert_eq!(found, json!({"traces": expected}));
    }

    proptest! {
        #[test]
        fn nothing_new_of_either_window_is_lost(ours in proptest::collection::vec(0..6_u8, 0..4), theirs in proptest::collection::vec(0..6_u8, 0..4)) {
            let front = |list: &mut Vec<u8>, n: u8| {
                list.retain(|&m| m != n);
                list.insert(0, n);
            };
            let base = vec![0_u8, 1];
            let (mut own, mut file) = (base.clone(), base.clone());
            ours.iter().for_each(|&n| front(&mut own, n));
            theirs.iter().for_each(|&n| front(&mut file, n));
            let of = |list: &[u8]| json!({"recent": list});
            let found = both(of(&own), of(&base), of(&file));
            let found: Vec<u8> = serde_json::from_value(found["recent"].clone()).expect("numbers");
            for n in own.iter().chain(&file) {
                prop_assert!(found.contains(n));
                prop_assert_eq!(found.iter().filter(|m| *m == n).count(), 1);
            }
            if own != base {
                prop_assert_eq!(found[0], own[0]);
            }
        }
    }
}
