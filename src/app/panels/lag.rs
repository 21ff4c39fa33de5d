//! The CPU/GPU lag tab: CPU spans by name against the GPU work that they launched.

use super::panel::{Scope, TablePanel};
use crate::analysis::NameRow;
use crate::app::model::action::Action;
use crate::app::model::document::Document;
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::{Cell, Column, TableState};

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
        let columns = vec![
            Column::text("Span", 220.0, "Name of the CPU span"),
            Column::number("Calls", 70.0, "Spans of this name"),
            Column::number("CPU time", 100.0, "Sum of their lengths"),
            Column::number(
                "GPU launched",
                110.0,
                "Sum of the GPU work that they launched",
            ),
            Column::number(
                "GPU during",
                110.0,
                "GPU busy while they ran, whoever launched it",
            ),
            Column::number(
                "Tail median",
                105.0,
                "End of the last launched work after the span's end",
            ),
            Column::number("Tail max", 105.0, "The largest of them"),
            Column::number("With GPU", 80.0, "Spans that launched something"),
            Column::text(
                "Charged to",
                180.0,
                "The synchronising call in which its GPU work ends, for the longest span",
            ),
        ];
        FnTable::new(columns, rows.len(), move |row, column| {
            let r = &rows[row];
            match column {
                0 => Cell::text(analysis.trace().name(r.name)),
                1 => Cell::Count(r.count),
                2 => Cell::Ns(r.cpu_time),
                3 => Cell::Ns(r.gpu_launched),
                4 => Cell::Ns(r.gpu_during),
                5 => Cell::ns(r.median_lag),
                6 => Cell::ns(r.max_lag),
                7 => Cell::Count(r.with_gpu),
                _ => match r.charged_to {
                    Some(call) => Cell::text(analysis.trace().span_name(call)),
                    None => Cell::None,
                },
            }
        })
        .swatch(move |row| Some(look.swatch(analysis.layers().info(rows[row].layer).class)))
        .selected(move |row| selected == Some(rows[row].name))
    }

    fn order(_doc: &Document) -> TableState {
        TableState::descending(3)
    }

    fn clicked(rows: &Vec<NameRow>, row: usize) -> Option<Action> {
        Some(Action::RevealSpan(rows[row].longest))
    }
}
