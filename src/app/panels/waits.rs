//! The Waits tab: every batch wait, what the GPU and the workers did meanwhile.

use super::panel::{Scope, TablePanel};
use super::rows;
use crate::analysis::WaitRow;
use crate::app::model::action::Action;
use crate::app::model::document::Document;
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::TableState;
use crate::columns::WAIT;
use crate::time::{about_ns, format_count};

/// Columns.
const WIDTHS: &str = "step=70 rank=50 start=110 wait=100 hidden=100 exposed=100 unrecorded=100 worker=70 spent=170 kind=110 item=90 \
    file=220 workers=260";

const NONE: &str = "No batch waits were recognised. Look for: DataLoader next, fetch.iter, batch_wait, NVTX data. \
    Name your own wait with record_function(\"data_wait\"), an NVTX range, or a rule.";

/// The tab.
pub struct Waits;

impl TablePanel for Waits {
    type Figures = Vec<WaitRow>;
    const TITLE: &'static str = "Waits";
    const ABOUT: &'static str = "Every batch wait and what the GPU did meanwhile.";
    const FOLLOWS_RANGE: bool = false;
    const FROM_CAUSES: bool = true;

    fn nothing(doc: &Document) -> Option<&'static str> {
        doc.analysis.waits().is_empty().then_some(NONE)
    }

    fn make(doc: &Document, scope: Scope) -> impl FnOnce() -> Vec<WaitRow> + Send + 'static {
        let (analysis, rank) = (doc.analysis.clone(), scope.rank);
        move || analysis.wait_rows(rank)
    }

    fn caption(doc: &Document, rows: &Vec<WaitRow>) -> String {
        let total: i64 = rows.iter().map(|r| r.wait.range.len()).sum();
        let s = if rows.len() == 1 { "" } else { "s" };
        let n = format_count(rows.len() as u64);
        let of_them = if doc.walk.is_empty() {
            doc.walk.why_none().to_owned()
        } else {
            doc.walk.share_text()
        };
        format!("{n} wait{s}, {} in all. {of_them}", about_ns(total))
    }

    fn table<'a>(doc: &'a Document, rows: &'a Vec<WaitRow>, _look: &'a Look) -> FnTable<'a> {
        let current = doc.walk.current();
        rows::table(&doc.analysis, WAIT, WIDTHS, rows.len(), |i| &rows[i])
            .selected(move |row| current == Some(rows[row].index))
    }

    fn order(doc: &Document) -> TableState {
        // Where the exposed part is unknown, the whole wait comes first.
        let known = doc.analysis.ranks().iter().any(|r| r.gpu.is_some());
        rows::descending(WIDTHS, if known { "exposed" } else { "wait" })
    }

    fn clicked(rows: &Vec<WaitRow>, row: usize) -> Option<Action> {
        Some(Action::ShowWait(rows[row].index))
    }
}
