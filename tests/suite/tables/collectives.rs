//! Collectives of ranks that are opened together, and of one alone.

use std::collections::BTreeMap;

use stallscope::analysis::{Analysis, NoArgs};
use stallscope::tables::{self, CollectivesRow, Whose};
use stallscope::time::TimeRange;

use super::{analysed, report, run};
use crate::common::shared;

fn rows(a: &Analysis) -> Vec<Vec<CollectivesRow>> {
    let ranks = 0..a.ranks().len();
    let all: Vec<_> = ranks.map(|r| a.rank_collectives(r, &NoArgs)).collect();
    let named: Vec<_> = all.iter().enumerate().collect();
    let by_step = tables::keys_by_step(a, &named);
    let window = TimeRange::new(i64::MIN / 2, i64::MAX / 2);
    let of = |(rank, own)| {
        let whose = Whose {
            run: "r".into(),
            rank,
        };
        tables::collectives(a, &whose, window, own, &by_step)
    };
    named.into_iter().map(of).collect()
}

#[test]
fn matched_ones_have_one_key_and_the_costs_of_the_report() {
    let Some(path) = shared("traces/pairs/ranks2") else {
        return;
    };
    let (a, report) = (analysed(&path), report(&path));
    let rows = rows(&a);
    assert_eq!(rows.len(), 2);
    let mut by_key: BTreeMap<&str, Vec<&CollectivesRow>> = BTreeMap::new();
    for own in &rows {
        let mut keys: Vec<&str> = own.iter().map(|r| &*r.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), own.len(), "keys are unique per rank");
        assert!(own.is_sorted_by_key(|r| r.start));
        for row in own.iter().filter(|r| r.wait.is_some()) {
            by_key.entry(&row.key).or_default().push(row);
        }
    }
    let told = &report["job"]["collectives"];
    assert_eq!(told["matched"], by_key.len());
    for (key, members) in &by_key {
        assert_eq!(members.len(), 2, "{key}");
        assert!(members.iter().any(|m| m.wait == Some(0)), "{key}");
        let shortest = members.iter().map(|m| m.dur).min().unwrap();
        assert!(
            members.iter().all(|m| m.wait == Some(m.dur - shortest)),
            "{key}"
        );
    }
    for (place, late) in report["job"]["late"].as_array().unwrap().iter().enumerate() {
        let number = late["rank"].as_i64().unwrap();
        let own = rows
            .iter()
            .find(|r| i64::from(r[0].rank) == number)
            .unwrap();
        let sum =
            |get: &dyn Fn(&CollectivesRow) -> Option<i64>| own.iter().filter_map(get).sum::<i64>();
        assert_eq!(late["cost"], sum(&|r| r.cost), "late {place}");
        assert_eq!(late["waited"], sum(&|r| r.wait), "late {place}");
    }
}

#[test]
fn one_rank_alone_has_its_collectives_unmatched() {
    let Some(path) = shared("traces/pairs/ranks2/torch_rank0.json.gz") else {
        return;
    };
    let path = path.to_str().unwrap();
    let (code, out, err) = run(&["export", path, "--collectives", "-o", "-"]);
    assert_eq!(code, 0, "{err}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() > 2, "{out}");
    assert!(
        lines[1..].iter().all(|l| l.ends_with(",,,")),
        "nothing is matched: {out}"
    );
}
