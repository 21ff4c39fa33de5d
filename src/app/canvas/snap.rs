//! Which edge of a span a drag sticks to.

use crate::app::model::document::Document;
use crate::time::TimeRange;
use crate::view::{RowKind, Target, Viewport};

/// Edges this close are snapped to, points.
pub const SNAP: f64 = 5.0;

/// What lies under the pointer, for snapping.
#[derive(Clone, Debug)]
pub enum Under {
    /// A row of spans: (leaf, sub-row).
    Row(u32, u16),
    /// Something else of the picture.
    Other(Option<Target>),
}

impl Under {
    /// What a row shows.
    #[must_use]
    pub fn row(kind: RowKind) -> Self {
        match kind {
            RowKind::Lane { leaf, sub } => Self::Row(leaf, sub),
            _ => Self::Other(None),
        }
    }
}

/// `time`, or the nearest edge of what is under the pointer if it is close enough on the screen.
#[must_use]
pub fn snap(doc: &Document, under: &Under, time: i64) -> i64 {
    let near = |t: &i64| distance(&doc.viewport, *t, time) <= SNAP;
    edges(doc, under, time)
        .into_iter()
        .filter(near)
        .min_by_key(|&t| (t.abs_diff(time), t))
        .unwrap_or(time)
}

fn distance(viewport: &Viewport, a: i64, b: i64) -> f64 {
    (viewport.x_from_time(a) - viewport.x_from_time(b)).abs()
}

/// Edges around `time`: at most a few per kind.
fn edges(doc: &Document, under: &Under, time: i64) -> Vec<i64> {
    let mut out = Vec::new();
    let mut push = |r: TimeRange| out.extend([r.start, r.end]);
    let analysis = &doc.analysis;
    match under {
        Under::Row(leaf, sub) => {
            let row = &doc.tree.lod().leaf(*leaf).rows[usize::from(*sub)];
            let around = [
                row.at_or_before(&doc.trace, time),
                row.after(&doc.trace, time),
            ];
            for span in around.into_iter().flatten() {
                push(doc.trace.spans().range(span));
            }
        }
        Under::Other(target) => {
            for rank in analysis.ranks() {
                let i = rank.steps.partition_point(|s| s.range.start <= time);
                let around = i.saturating_sub(1)..(i + 1).min(rank.steps.len());
                rank.steps[around].iter().for_each(|s| push(s.range));
            }
            if let Some(Target::Band(_) | Target::Wait(_)) = target {
                let waits = analysis.waits();
                let i = waits.partition_point(|w| w.range.start <= time);
                let around = i.saturating_sub(2)..(i + 2).min(waits.len());
                waits[around].iter().for_each(|w| push(w.range));
                for gpu in analysis.gpus() {
                    let parts = gpu.busy.parts();
                    let i = parts.partition_point(|p| p.start <= time);
                    let around = i.saturating_sub(1)..(i + 1).min(parts.len());
                    parts[around].iter().for_each(|&p| push(p));
                }
            }
        }
    }
    out
}
