//! The Workers tab: what each loading process did, and how much of it the GPU covered.

use super::panel::{Scope, TablePanel};
use crate::analysis::{WorkerFigures, WorkerRow};
use crate::app::model::document::Document;
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::{Cell, Column, TableState};
use crate::time::format_ns;

const NONE: &str = "No loading work is in this trace. torch.profiler records only the main process: open the DFTracer \
    files of the same run beside it, or record with nsys. With 0 workers there are none: the training loop loads.";

/// Rank and figures of the ranks in scope.
type Figures = Vec<(usize, WorkerFigures)>;

/// The tab.
pub struct Workers;

impl TablePanel for Workers {
    type Figures = Figures;
    const TITLE: &'static str = "Workers";
    const ABOUT: &'static str = "What each loading process did.";
    const FOLLOWS_RANGE: bool = true;

    fn make(doc: &Document, scope: Scope) -> impl FnOnce() -> Figures + Send + 'static {
        let analysis = doc.analysis.clone();
        let ranks: Vec<usize> = scope.ranks(doc).collect();
        move || {
            ranks
                .into_iter()
                .map(|r| (r, analysis.workers(r, scope.range)))
                .collect()
        }
    }

    fn empty(_doc: &Document, figures: &Figures) -> Option<&'static str> {
        figures
            .iter()
            .all(|(_, f)| f.rows.is_empty())
            .then_some(NONE)
    }

    fn caption(doc: &Document, figures: &Figures) -> String {
        let sum = |f: &dyn Fn(&WorkerFigures) -> Option<i64>| -> i64 {
            figures.iter().filter_map(|(_, w)| f(w)).sum()
        };
        let processes: usize = figures.iter().map(|(_, f)| f.rows.len()).sum();
        let s = if processes == 1 { "" } else { "es" };
        let known = figures
            .iter()
            .any(|(r, _)| doc.analysis.ranks()[*r].gpu.is_some());
        let covered = if known {
            format!(
                "{} of it ran while the GPU worked, {} while it had nothing to do",
                format_ns(sum(&|f| f.hidden_sum)),
                format_ns(sum(&|f| f.exposed_sum))
            )
        } else {
            "what of it the GPU worked through is unknown (no GPU events)".to_owned()
        };
        format!(
            "Loading work: {} in {processes} process{s}; {covered}. Busiest process: {}.",
            format_ns(sum(&|f| Some(f.load_sum))),
            format_ns(figures.iter().map(|(_, f)| f.busiest).max().unwrap_or(0)),
        )
    }

    fn table<'a>(doc: &'a Document, figures: &'a Figures, _look: &'a Look) -> FnTable<'a> {
        let (analysis, rows) = (&doc.analysis, rows(figures));
        let columns = vec![
            Column::text("Process", 90.0, "Process id"),
            Column::number("Rank", 50.0, "Rank that it loads for"),
            Column::number("Loading", 105.0, "Time with at least one loading span"),
            Column::number("Utilisation", 85.0, "Loading as a share of the range"),
            Column::number("Hidden", 105.0, "Of it the GPU worked"),
            Column::number("Exposed", 105.0, "Of it the GPU had nothing to do"),
            Column::number("Not recorded", 105.0, "Of it nobody knows what the GPU did"),
            Column::number("During waits", 105.0, "Of it the loop waited for a batch"),
            Column::number("Items", 70.0, "Loading spans that start in the range"),
            Column::number("Median item", 105.0, "Median of their whole durations"),
        ];
        FnTable::new(columns, rows.len(), move |row, column| {
            let (rank, r) = rows[row];
            let info = &analysis.ranks()[rank];
            match column {
                0 => Cell::text(r.key.as_str()),
                1 => Cell::Count(u64::from(info.rank)),
                2 => Cell::Ns(r.load),
                3 => Cell::share_of(r.load, r.window),
                4 => Cell::ns(r.hidden),
                5 => Cell::ns(r.exposed),
                6 => Cell::Ns(r.unrecorded),
                7 => Cell::Ns(r.during_wait),
                8 => Cell::Count(r.n),
                _ => Cell::ns(r.whole_median),
            }
        })
        .fixed()
    }

    fn order(_doc: &Document) -> TableState {
        TableState::descending(2)
    }
}

fn rows(figures: &[(usize, WorkerFigures)]) -> Vec<(usize, &WorkerRow)> {
    figures
        .iter()
        .flat_map(|(rank, f)| f.rows.iter().map(|r| (*rank, r)))
        .collect()
}
