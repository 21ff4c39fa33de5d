//! The Waits tab: every batch wait, what the GPU and the workers did meanwhile.

use super::panel::{Scope, TablePanel};
use crate::analysis::{Analysis, Wait};
use crate::app::model::action::Action;
use crate::app::model::document::Document;
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::{Cell, Column, TableState};
use crate::time::{format_count, format_ns};

/// Column of the whole wait, and of its exposed part.
const WAIT: usize = 3;
const EXPOSED: usize = 5;

const NONE: &str = "No batch waits were recognised. Look for: DataLoader next, fetch.iter, batch_wait, NVTX data. \
    Name your own wait with record_function(\"data_wait\"), an NVTX range, or a rule.";

/// The tab.
pub struct Waits;

/// One batch wait.
pub struct Row {
    /// Index in [`Analysis::waits`].
    wait: usize,
    /// What workers did meanwhile, in words.
    workers: String,
}

impl TablePanel for Waits {
    type Figures = Vec<Row>;
    const TITLE: &'static str = "Waits";
    const ABOUT: &'static str = "Every batch wait and what the GPU did meanwhile.";
    const FOLLOWS_RANGE: bool = false;

    fn nothing(doc: &Document) -> Option<&'static str> {
        doc.analysis.waits().is_empty().then_some(NONE)
    }

    fn make(doc: &Document, scope: Scope) -> impl FnOnce() -> Vec<Row> + Send + 'static {
        let (analysis, rank) = (doc.analysis.clone(), scope.rank);
        move || {
            let all = analysis.waits().iter().enumerate();
            all.filter(|(_, w)| rank.is_none_or(|r| r == w.rank))
                .map(|(wait, w)| Row {
                    wait,
                    workers: workers_text(&analysis, w),
                })
                .collect()
        }
    }

    fn caption(doc: &Document, rows: &Vec<Row>) -> String {
        let waits = doc.analysis.waits();
        let total: i64 = rows.iter().map(|r| waits[r.wait].range.len()).sum();
        let s = if rows.len() == 1 { "" } else { "s" };
        let n = format_count(rows.len() as u64);
        let of_them = if doc.walk.is_empty() {
            doc.walk.why_none().to_owned()
        } else {
            doc.walk.share_text()
        };
        format!("{n} wait{s}, {} in all. {of_them}", format_ns(total))
    }

    fn table<'a>(doc: &'a Document, rows: &'a Vec<Row>, _look: &'a Look) -> FnTable<'a> {
        let (analysis, current) = (&doc.analysis, doc.walk.current());
        let columns = vec![
            Column::text("Step", 70.0, "The step that the wait lies in"),
            Column::number("Rank", 50.0, "Distributed rank"),
            Column::number("Start", 110.0, "When the loop began to wait"),
            Column::number("Wait", 100.0, "How long the training loop was blocked"),
            Column::number("Hidden", 100.0, "Of it the GPU was still working"),
            Column::number(
                "Exposed",
                100.0,
                "Of it the GPU had nothing to do: what loading costs",
            ),
            Column::number("Not recorded", 100.0, "Of it nobody knows what the GPU did"),
            Column::text(
                "What workers did",
                260.0,
                "Loading work while the loop waited",
            ),
        ];
        FnTable::new(columns, rows.len(), move |row, column| {
            let wait = &analysis.waits()[rows[row].wait];
            let rank = &analysis.ranks()[wait.rank];
            match column {
                0 => wait
                    .step
                    .map_or(Cell::None, |s| Cell::text(rank.steps[s].short())),
                1 => Cell::Count(u64::from(rank.rank)),
                2 => Cell::Ns(wait.range.start),
                3 => Cell::Ns(wait.range.len()),
                4 => Cell::ns(wait.hidden),
                5 => Cell::ns(wait.exposed),
                6 => Cell::Ns(wait.unrecorded),
                _ => Cell::text(rows[row].workers.as_str()),
            }
        })
        .selected(move |row| current == Some(rows[row].wait))
    }

    fn order(doc: &Document) -> TableState {
        // Where the exposed part is unknown, the whole wait comes first.
        let known = doc.analysis.ranks().iter().any(|r| r.gpu.is_some());
        TableState::descending(if known { EXPOSED } else { WAIT })
    }

    fn clicked(rows: &Vec<Row>, row: usize) -> Option<Action> {
        Some(Action::ShowWait(rows[row].wait))
    }
}

/// How many workers loaded during a wait, and for how long together.
fn workers_text(analysis: &Analysis, wait: &Wait) -> String {
    let figures = analysis.workers(wait.rank, wait.range);
    if figures.rows.is_empty() {
        return if analysis.loads_by_itself(wait.rank) {
            "no workers: the loop loads by itself".to_owned()
        } else {
            "not recorded".to_owned()
        };
    }
    let n = figures.rows.iter().filter(|r| r.load > 0).count();
    format!(
        "{n} of {} loading, {} together",
        figures.rows.len(),
        format_ns(figures.load_sum)
    )
}
