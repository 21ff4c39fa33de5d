//! The CPU/GPU lag tab: CPU spans by name and caller against the GPU work that they launched.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::panel::{Scope, TablePanel};
use super::rows;
use crate::analysis::LagRow;
use crate::app::model::action::Action;
use crate::app::model::document::Document;
use crate::app::widgets::branch::Branch;
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::TableState;
use crate::columns::LAG;

/// Columns.
const WIDTHS: &str = "name=300 count=70 cpu_time=100 gpu_launched=110 gpu_during=110 median_lag=105 max_lag=105 with_gpu=80 \
    charged_to=180";

/// The tab.
pub struct Lag;

const CAPTION: &str = "CPU time of a span is not its GPU time: work is queued and runs later. \
    Tail = end of the last GPU work a span launched, after the span's own end. Click: the longest span of the name.";
const NONE: &str = "No CPU span here launched GPU work. Either there are no GPU events, or their launch calls \
    (cudaLaunchKernel …) were not recorded.";

/// Rows with the names that lead to each.
pub struct Rows {
    rows: Vec<LagRow>,
    keys: Vec<u64>,
}

/// A key of a row that stays the same while what it is called by does.
pub fn key_of(around: Option<u64>, name: &impl Hash) -> u64 {
    let mut hash = DefaultHasher::new();
    (around, name).hash(&mut hash);
    hash.finish()
}

impl TablePanel for Lag {
    type Figures = Rows;
    const TITLE: &'static str = "CPU/GPU lag";
    const ABOUT: &'static str = "CPU spans against the GPU work they launched, by caller.";
    const FOLLOWS_RANGE: bool = true;

    fn make(doc: &Document, scope: Scope) -> impl FnOnce() -> Rows + Send + 'static {
        let (analysis, rank) = (doc.analysis.clone(), scope.number(doc));
        move || {
            let rows = analysis.lag_rows(scope.range, rank);
            let mut keys = Vec::with_capacity(rows.len());
            for row in &rows {
                keys.push(key_of(row.parent.map(|p| keys[p]), &(row.name, row.layer)));
            }
            Rows { rows, keys }
        }
    }

    fn empty(_doc: &Document, rows: &Rows) -> Option<&'static str> {
        rows.rows.is_empty().then_some(NONE)
    }

    fn caption(_doc: &Document, _rows: &Rows) -> String {
        CAPTION.to_owned()
    }

    fn table<'a>(doc: &'a Document, figures: &'a Rows, look: &'a Look) -> FnTable<'a> {
        let (analysis, rows) = (&doc.analysis, &figures.rows);
        let name = |s| analysis.shared_name(doc.trace.spans().name(s));
        let selected = doc.span.map(name);
        let alone = rows.iter().filter(|r| r.depth == 0).count() == 1;
        rows::table(analysis, LAG, WIDTHS, rows.len(), |i| &rows[i])
            .swatch(move |row| Some(look.swatch(analysis.layers().info(rows[row].layer).class)))
            .tree(move |i| Branch {
                parent: rows[i].parent,
                depth: rows[i].depth,
                is_parent: rows[i].is_parent,
                open_at_first: alone && rows[i].depth == 0,
                key: figures.keys[i],
            })
            .selected(move |row| selected == Some(rows[row].name))
    }

    fn order(_doc: &Document) -> TableState {
        rows::descending(WIDTHS, "gpu_launched")
    }

    fn clicked(figures: &Rows, row: usize) -> Option<Action> {
        Some(Action::RevealSpan(figures.rows[row].longest))
    }
}
