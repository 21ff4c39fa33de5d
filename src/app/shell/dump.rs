//! A test hook: with `STALLSCOPE_STATE_DUMP=FILE` the window writes what it shows as JSON after every change, so that
//! a script which drives the real window with mouse and keys can check the outcome. Documented in `docs`.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::app::dialogs::Dialog;
use crate::app::model::document::Document;
use crate::app::model::state::AppState;
use crate::app::panels::Panels;
use crate::output;

/// Writes the state where the environment asks for it.
pub struct Dump {
    file: Option<PathBuf>,
    last: String,
}

impl Dump {
    /// As `STALLSCOPE_STATE_DUMP` says; off without it.
    #[must_use]
    pub fn from_env() -> Self {
        Self {
            file: std::env::var_os("STALLSCOPE_STATE_DUMP").map(PathBuf::from),
            last: String::new(),
        }
    }

    /// Writes the state if it changed.
    pub fn write(&mut self, state: &AppState, panels: &mut Panels, dialog: Option<&Dialog>) {
        let Some(file) = &self.file else {
            return;
        };
        let text = value(state, panels, dialog).to_string();
        if text == self.last {
            return;
        }
        // Readers see the old file or the new one, never a half.
        if output::write(file, text.as_bytes()).is_ok() {
            self.last = text;
        }
    }
}

/// What the window shows.
fn value(state: &AppState, panels: &mut Panels, dialog: Option<&Dialog>) -> Value {
    let dialog = match dialog {
        None => Value::Null,
        Some(Dialog::Error(e)) => json!({ "error": e.cause() }),
        Some(Dialog::Help(_)) => json!("help"),
        Some(Dialog::Notices) => json!("notices"),
        Some(Dialog::Palette(_)) => json!("palette"),
        Some(Dialog::Path(_)) => json!("path"),
        Some(Dialog::Runs(d)) => {
            json!({ "runs": d.runs.iter().map(|r| r.title.as_str()).collect::<Vec<_>>() })
        }
        Some(Dialog::Export(_)) => json!("export"),
        Some(Dialog::Text(_)) => json!("text"),
        Some(Dialog::Lanes(_)) => json!("lanes"),
    };
    let written = state.last_written.as_ref().map(|p| p.display().to_string());
    json!({
        "loading": state.loading.is_some(),
        "ranks": state.ranks.as_ref().filter(|r| r.visible).and_then(|r| Some(r.run()?.across.rows.len())),
        "dialog": dialog,
        "written": written,
        "dark": state.look.theme.dark,
        "trace": state.doc.as_ref().map(|doc| document(doc, panels)),
    })
}

fn document(doc: &Document, panels: &mut Panels) -> Value {
    let range = doc.viewport.range();
    let selection = panels.selection_json(doc);
    json!({
        "name": doc.name,
        "spans": doc.trace.counted_spans(),
        "tab": panels.open().title,
        "view": [range.start, range.end],
        "moving": doc.moving.is_some(),
        "canvas": doc.canvas,
        "range": doc.range.map(|r| [r.start, r.end]),
        "span": doc.span.map(|s| doc.trace.span_name(s)),
        "waits": doc.walk.len(),
        "wait": doc.walk.position(),
        "search": { "text": doc.search.text, "hits": doc.search.hits.len() },
        "merged_runs": doc.stats.merged_runs,
        "notices": doc.report.notices.len(),
        "selection": selection,
    })
}
