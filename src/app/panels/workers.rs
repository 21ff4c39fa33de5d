//! The Workers tab: what each loading process did, and how much of it the GPU covered.

use egui::Ui;

use super::loading::{Maker, WaitedFile, files_ui, makers, makers_ui, waited_files};
use super::panel::{Scope, TablePanel, by_torch};
use super::rows;
use crate::analysis::WorkerRow;
use crate::app::model::action::Actions;
use crate::app::model::document::Document;
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::TableState;
use crate::columns::WORKER;
use crate::time::{TimeRange, about_ns};

const NONE: &str = "No loading work is in this trace: name the spans of loader workers, or open a recording of them beside \
    it. With 0 workers there are none: the training loop loads.";
const NONE_OF_TORCH: &str = "No loading work is in this trace. torch.profiler records only the main process: open the \
    DFTracer files of the same run beside it, or record with nsys. With 0 workers there are none: the training loop loads.";

/// Columns.
const WIDTHS: &str = "process=90 rank=50 load=105 util=85 hidden=105 exposed=105 unrecorded=105 during_wait=105 n=70 \
    whole_median=105";

/// Loading work of the ranks in scope.
#[derive(Default)]
pub struct Loading {
    rows: Vec<WorkerRow>,
    load: i64,
    busiest: i64,
    /// One of the ranks has a GPU.
    gpu: bool,
    hidden: i64,
    exposed: i64,
    makers: Vec<Maker>,
    files: Vec<WaitedFile>,
    range: TimeRange,
}

/// The tab.
pub struct Workers;

impl TablePanel for Workers {
    type Figures = Loading;
    const TITLE: &'static str = "Workers";
    const ABOUT: &'static str = "What each loading process did.";
    const FOLLOWS_RANGE: bool = true;
    const FROM_CAUSES: bool = true;

    fn make(doc: &Document, scope: Scope) -> impl FnOnce() -> Loading + Send + 'static {
        let analysis = doc.analysis.clone();
        let ranks: Vec<usize> = scope.ranks(doc).collect();
        move || {
            let mut out = Loading {
                range: scope.range,
                ..Loading::default()
            };
            for rank in ranks {
                out.makers.extend(makers(&analysis, rank, scope.range));
                out.files.extend(waited_files(&analysis, rank, scope.range));
                let figures = analysis.workers(rank, scope.range);
                out.rows.extend(figures.rows);
                out.load += figures.load_sum;
                out.busiest = out.busiest.max(figures.busiest);
                out.gpu |= analysis.ranks()[rank].gpu.is_some();
                out.hidden += figures.hidden_sum.unwrap_or(0);
                out.exposed += figures.exposed_sum.unwrap_or(0);
            }
            out
        }
    }

    fn empty(doc: &Document, figures: &Loading) -> Option<&'static str> {
        let why = if by_torch(doc) { NONE_OF_TORCH } else { NONE };
        figures.rows.is_empty().then_some(why)
    }

    fn above_ui(ui: &mut Ui, figures: &Loading, look: &Look, actions: &mut Actions) {
        makers_ui(ui, &figures.makers, figures.range, look, actions);
        files_ui(ui, &figures.files, look);
    }

    fn caption(_doc: &Document, figures: &Loading) -> String {
        let processes = figures.rows.len();
        let s = if processes == 1 { "" } else { "es" };
        let covered = if figures.gpu {
            format!(
                "{} of it ran while the GPU worked, {} while it had nothing to do",
                about_ns(figures.hidden),
                about_ns(figures.exposed)
            )
        } else {
            "what of it the GPU worked through is unknown (no GPU events)".to_owned()
        };
        format!(
            "Loading work: {} in {processes} process{s}; {covered}. Busiest process: {}.",
            about_ns(figures.load),
            about_ns(figures.busiest),
        )
    }

    fn table<'a>(doc: &'a Document, figures: &'a Loading, _look: &'a Look) -> FnTable<'a> {
        let rows = &figures.rows;
        rows::table(&doc.analysis, WORKER, WIDTHS, rows.len(), |i| &rows[i]).fixed()
    }

    fn order(_doc: &Document) -> TableState {
        rows::descending(WIDTHS, "load")
    }
}
