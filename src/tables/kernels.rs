//! GPU operations by name.

use std::sync::Arc;

use super::{RANK, RUN, Row, Whose, columns, narrow, wide};
use crate::analysis::Analysis;
use crate::time::TimeRange;

/// GPU operations of one layer and normalised name in the judged cycles of a rank. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelsRow {
    /// The name of the run.
    pub run: Arc<str>,
    /// The rank.
    pub rank: i32,
    /// What they are for.
    pub layer: Arc<str>,
    /// Their normalised name.
    pub name: Arc<str>,
    /// How many.
    pub n: i64,
    /// Sum of their lengths.
    pub sum: i64,
    /// The shortest.
    pub min: i64,
    /// The longest.
    pub max: i64,
    /// Judged cycles that have one.
    pub steps: i32,
}

/// The operations of a rank's GPU in the judged cycles of a window, by layer and name.
///
/// # Panics
/// If there is no such rank.
#[must_use]
pub fn kernels(analysis: &Analysis, whose: &Whose, window: TimeRange) -> Vec<KernelsRow> {
    let rank = narrow(analysis.ranks()[whose.rank].rank);
    let judged = analysis.judged(whose.rank, window);
    let mut rows: Vec<KernelsRow> = analysis
        .kernels(&judged)
        .into_iter()
        .map(|k| KernelsRow {
            run: Arc::clone(&whose.run),
            rank,
            layer: analysis.layers().info(k.layer).name.as_str().into(),
            name: k.name.into(),
            n: wide(k.count),
            sum: k.time,
            min: k.min,
            max: k.max,
            steps: narrow(k.by_cycle.len()),
        })
        .collect();
    rows.sort_by(|a, b| (&a.name, &a.layer).cmp(&(&b.name, &b.layer)));
    rows
}

impl Row for KernelsRow {
    const TABLE: &'static str = "kernels";
    const ABOUT: &'static str =
        "GPU operations of a name in the judged steps of a rank; told by run, rank, layer, name";
    const COLUMNS: &'static [super::Column<Self>] = columns! {
        "run" Plain RUN => Text(|r| &r.run);
        "rank" Plain RANK => I32(|r| r.rank);
        "layer" Plain "What they are for" => Text(|r| &r.layer);
        "name" Plain "Their name without arguments, deep template parameters and counters" => Text(|r| &r.name);
        "n" Number "How many were launched in judged steps" => I64(|r| r.n);
        "sum" Ns "Sum of their lengths; concurrent ones count each" => I64(|r| r.sum);
        "min" Ns "Length of the shortest" => I64(|r| r.min);
        "max" Ns "Length of the longest" => I64(|r| r.max);
        "steps" Number "Judged steps that launched one" => I32(|r| r.steps);
    };
}
