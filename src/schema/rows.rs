//! Kinds of rows: where each of them is shown, and its columns without what they are read from.

use super::{Document, Field};
use crate::columns::{self, Column, Output, Unit};

/// A kind of row.
pub struct RowKind {
    /// What the rows are.
    pub title: &'static str,
    /// The document in which they are, and their path in it.
    pub json: Option<(Document, &'static str)>,
    /// In CSV.
    pub csv: bool,
    /// Section of the text report, or another command.
    pub text: &'static str,
    /// Tab of the window.
    pub tab: &'static str,
    /// Its columns.
    pub columns: Vec<RowColumn>,
}

/// A column of some kind of row.
pub struct RowColumn {
    /// Its key in JSON.
    pub key: &'static str,
    /// The object in which it lies in JSON.
    pub within: Option<&'static str>,
    /// Its heading in the text report, where it is shown there.
    pub text: &'static str,
    /// Its heading in the window, where it is shown there.
    pub title: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What it means.
    pub help: &'static str,
    /// In JSON.
    pub json: bool,
    /// In CSV.
    pub csv: bool,
    /// Several values in one cell.
    pub parts: bool,
    kind: &'static str,
}

impl RowColumn {
    fn of<R>(c: &Column<R>) -> Self {
        let shown = |output, heading| if c.is_in(output) { heading } else { "" };
        Self {
            key: c.key,
            within: c.within,
            text: shown(Output::Text, c.text),
            title: shown(Output::Panel, c.title),
            unit: c.unit(),
            help: c.help,
            json: c.is_in(Output::Json),
            csv: c.is_in(Output::Csv),
            parts: c.is_text() && c.unit() == Unit::Ns,
            kind: c.json_kind(),
        }
    }

    /// Where it is in JSON, from its row.
    #[must_use]
    pub fn path(&self) -> String {
        // An object has times above zero only.
        let object = self.within.map_or(String::new(), |o| format!("{o}."));
        let missing = if self.within.is_some() { "?" } else { "" };
        let parts = if self.parts { ".*" } else { "" };
        format!("{object}{}{missing}{parts}", self.key)
    }
}

impl RowKind {
    /// Its fields in JSON, below a path.
    pub(super) fn fields<'a>(&'a self, path: &'a str) -> impl Iterator<Item = Field> + 'a {
        let columns = self.columns.iter().filter(|c| c.json);
        columns.map(move |c| Field {
            path: format!("{path}.{}", c.path()),
            kind: c.kind.to_owned(),
            meaning: c.help.to_owned(),
            values: Vec::new(),
        })
    }
}

fn kind<R>(
    title: &'static str,
    columns: &[Column<R>],
    json: &'static str,
    text: &'static str,
    tab: &'static str,
) -> RowKind {
    RowKind {
        title,
        json: (!json.is_empty()).then_some((Document::Report, json)),
        csv: false,
        text,
        tab,
        columns: columns.iter().map(RowColumn::of).collect(),
    }
}

/// All kinds of rows, in the order of the documentation.
#[must_use]
pub fn row_kinds() -> Vec<RowKind> {
    let with_csv = |kind: RowKind| RowKind { csv: true, ..kind };
    let names = kind(
        "Names",
        columns::NAME_TIME,
        "",
        "stallscope report --by name",
        "Names",
    );
    let what_if = kind(
        "Predictions",
        columns::WHAT_IF,
        "ranks.*.whatif.*",
        "stallscope whatif",
        "What-if",
    );
    vec![
        with_csv(kind(
            "Steps",
            columns::STEP,
            "ranks.*.loop.steps[]",
            "Steps",
            "Steps",
        )),
        kind("Layers", columns::LAYER, "", "Layers", "Selection"),
        kind(
            "Memory of devices",
            columns::DEVICE_MEMORY,
            "memory?[]",
            "Memory",
            "",
        ),
        with_csv(RowKind {
            json: Some((Document::Names, "names[]")),
            ..names
        }),
        kind("Waits for a batch", columns::WAIT, "", "", "Waits"),
        kind(
            "Loading work",
            columns::WORKER,
            "ranks.*.workers.procs.*",
            "Loading work",
            "Workers",
        ),
        kind("CPU spans", columns::SPAN, "annotations.*", "", ""),
        kind(
            "CPU spans by name and caller",
            columns::LAG,
            "lag?[]",
            "CPU spans and the GPU work that they launched",
            "CPU/GPU lag",
        ),
        kind(
            "Calls that wait for the GPU",
            columns::SYNC,
            "syncs.*",
            "",
            "",
        ),
        kind(
            "Their callers",
            columns::SYNC_CALLER,
            "sync_callers?[]",
            "Calls that wait for the GPU",
            "",
        ),
        kind(
            "Callers and their calls",
            columns::SYNC_LINE,
            "",
            "",
            "Syncs",
        ),
        kind(
            "The same by name",
            columns::SYNC_NAME,
            "",
            "Calls that wait for the GPU",
            "",
        ),
        kind(
            "Pairs of streams",
            columns::STREAM_PAIR,
            "overlap.*",
            "Streams that worked at once",
            "Streams",
        ),
        kind("Queues", columns::QUEUE, "queue.*", "Launches", ""),
        kind("Lanes", columns::LANE, "lanes.*", "", ""),
        kind("Ranks", columns::RANK, "rank_table.ranks.*", "Ranks", ""),
        what_if,
    ]
}
