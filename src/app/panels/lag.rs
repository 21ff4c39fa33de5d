//! The CPU/GPU lag tab: CPU spans by name against the GPU work that they launched.

use super::panel::{Scope, TablePanel};
use super::rows;
use crate::analysis::NameRow;
use crate::app::model::action::Action;
use crate::app::model::document::Document;
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::TableState;
use crate::columns::NAME;

/// Columns.
const WIDTHS: &str = "name=220 count=70 cpu_time=100 gpu_launched=110 gpu_during=110 median_lag=105 max_lag=105 with_gpu=80 \
    charged_to=180";

/// The tab.
pub struct Lag;

const CAPTION: &str = "CPU time of a span is not its GPU time: work is queued and runs later. \
    Tail = end of the last GPU work a span launched, after the span's own end. Click: the longest span of the name.";
const NONE: &str = "No CPU span here launched GPU work. Either there are no GPU events, or their launch calls \
    (cudaLaunchKernel …) were not recorded.";

impl TablePanel for Lag {
    type Figures = Vec<NameRow>;
    const TITLE: &'static str = "CPU/GPU lag";
    const ABOUT: &'static str = "CPU spans against the GPU work they launched.";
    const FOLLOWS_RANGE: bool = true;

    fn make(doc: &Document, scope: Scope) -> impl FnOnce() -> Vec<NameRow> + Send + 'static {
        let (analysis, rank) = (doc.analysis.clone(), scope.number(doc));
        move || analysis.name_table(scope.range, rank)
    }

    fn empty(_doc: &Document, rows: &Vec<NameRow>) -> Option<&'static str> {
        rows.is_empty().then_some(NONE)
    }

    fn caption(_doc: &Document, _rows: &Vec<NameRow>) -> String {
        CAPTION.to_owned()
    }

    fn table<'a>(doc: &'a Document, rows: &'a Vec<NameRow>, look: &'a Look) -> FnTable<'a> {
        let analysis = &doc.analysis;
        let selected = doc.span.map(|s| doc.trace.spans().name(s));
        rows::table(analysis, NAME, WIDTHS, rows.len(), |i| &rows[i])
            .swatch(move |row| Some(look.swatch(analysis.layers().info(rows[row].layer).class)))
            .selected(move |row| selected == Some(rows[row].name))
    }

    fn order(_doc: &Document) -> TableState {
        rows::descending(WIDTHS, "gpu_launched")
    }

    fn clicked(rows: &Vec<NameRow>, row: usize) -> Option<Action> {
        Some(Action::RevealSpan(rows[row].longest))
    }
}
