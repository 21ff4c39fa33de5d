//! The Names tab: which names take the time, of all layers or one.

use egui::Ui;

use super::panel::{Panel, Scope, UseTable, busy_ui, caption_ui, empty_ui, of_range, waker};
use super::rows;
use crate::analysis::{self, LayerId, NameTime, counted, without_call};
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::app::model::latest::{Job, Latest};
use crate::app::widgets::look::Look;
use crate::app::widgets::table::{TableState, table_ui};
use crate::columns::NAME_TIME;

/// Columns.
const WIDTHS: &str = "name=240 title=130 self=105 share=85 total=105 count=75 mean=100 p95=100 max=100 gpu_idle=110 \
    longest=115";

const TITLE: &str = "Names";

const OF_RANGE: &str =
    "Self and total are cut to the selection; mean, p95 and max are of whole spans that touch it.";
const OF_ALL: &str = "Of the whole trace: select a range for its names alone.";
const SELF: &str =
    "Self = total without the spans inside on the same lane. Click: the longest span of the name.";

/// The tab.
pub struct NamesPanel {
    job: Latest<Scope, Vec<NameTime>>,
    order: TableState,
    /// Only names of this layer.
    layer: Option<LayerId>,
    /// Only names that hold this.
    text: String,
    kept: Kept,
}

impl Default for NamesPanel {
    fn default() -> Self {
        Self {
            job: Latest::default(),
            order: rows::descending(WIDTHS, "self"),
            layer: None,
            text: String::new(),
            kept: Kept::default(),
        }
    }
}

/// The rows that pass the filters.
#[derive(Default)]
struct Kept {
    /// What they were chosen from and by.
    by: Option<(u64, Option<LayerId>, String)>,
    rows: Vec<u32>,
    /// Changes with the rows.
    stamp: u64,
}

impl NamesPanel {
    /// Chooses the rows again where figures or filters changed.
    fn filter(&mut self, doc: &Document) {
        let Some(all) = self.job.last() else {
            return;
        };
        let by = (self.job.stamp(), self.layer, self.text.clone());
        if self.kept.by.as_ref() == Some(&by) {
            return;
        }
        let text = self.text.trim().to_lowercase();
        let keep = |row: &NameTime| {
            self.layer.is_none_or(|l| l == row.layer)
                && (text.is_empty()
                    || without_call(doc.trace.name(row.name))
                        .to_lowercase()
                        .contains(&text))
        };
        let kept = (0..).zip(all.iter()).filter(|(_, row)| keep(row));
        self.kept.rows = kept.map(|(i, _)| i).collect();
        self.kept.by = Some(by);
        self.kept.stamp += 1;
    }

    /// The filters, and what the table shows.
    fn filters_ui(&mut self, ui: &mut Ui, doc: &Document, all: &[NameTime]) {
        let title = |layer: LayerId| doc.analysis.layers().info(layer).title.as_str();
        ui.horizontal(|ui| {
            let shown = self.layer.map_or("All layers", title);
            let combo = egui::ComboBox::from_id_salt("layer of names")
                .selected_text(shown)
                .width(150.0)
                .height(400.0);
            let response = combo.show_ui(ui, |ui| {
                ui.selectable_value(&mut self.layer, None, "All layers");
                for (layer, names) in by_layer(all) {
                    let text = format!("{} · {}", title(layer), counted(names, "name"));
                    ui.selectable_value(&mut self.layer, Some(layer), text);
                }
            });
            response.response.accessible_name("Layer");
            let edit = egui::TextEdit::singleline(&mut self.text)
                .hint_text("Filter names…")
                .desired_width(180.0);
            ui.add(edit).accessible_name("Filter names");
            let is_filtered = self.layer.is_some() || !self.text.is_empty();
            if is_filtered
                && ui
                    .small_button("×")
                    .accessible_name("Show all names")
                    .clicked()
            {
                self.layer = None;
                self.text.clear();
            }
        });
        ui.add_space(2.0);
    }

    fn caption(&self, doc: &Document, all: &[NameTime]) -> String {
        let (kept, of) = (self.kept.rows.len() as u64, all.len() as u64);
        let number = match kept == of {
            true => counted(of, "name"),
            false => format!("{kept} of {}", counted(of, "name")),
        };
        let range = if doc.range.is_some() {
            OF_RANGE
        } else {
            OF_ALL
        };
        format!("{number}. {range} {SELF}")
    }
}

/// The layers that occur with their number of names, most own time first.
fn by_layer(all: &[NameTime]) -> Vec<(LayerId, u64)> {
    let mut layers: Vec<(i64, LayerId)> = all.iter().map(|r| (r.layer_own, r.layer)).collect();
    layers.sort_unstable_by_key(|&(own, layer)| (std::cmp::Reverse(own), layer));
    let count = |same: &[(i64, LayerId)]| Some((same.first()?.1, same.len() as u64));
    layers.chunk_by(|a, b| a == b).filter_map(count).collect()
}

impl Panel for NamesPanel {
    fn name() -> (&'static str, &'static str) {
        (
            TITLE,
            "Kernels, ops, calls, functions and reads by the time they take.",
        )
    }

    fn job(&mut self) -> &mut dyn Job {
        &mut self.job
    }

    fn ui(&mut self, ui: &mut Ui, doc: &Document, look: &Look, actions: &mut Actions) {
        let scope = Scope::of(doc);
        let analysis = doc.analysis.clone();
        let of = scope
            .rank
            .map_or(analysis::Scope::All, analysis::Scope::Rank);
        let make = move || analysis.names(scope.range, of);
        self.job.request(scope, make, waker(ui.ctx()));
        let Some(all) = self.job.last().cloned() else {
            busy_ui(ui);
            return;
        };
        if all.is_empty() {
            empty_ui(ui, look, "Nothing was recorded in this range.");
            return;
        }
        self.filters_ui(ui, doc, &all);
        self.filter(doc);
        if self.kept.rows.is_empty() {
            empty_ui(ui, look, "No name in this range passes the filters.");
            return;
        }
        caption_ui(ui, look, &self.caption(doc, &all));
        let mut clicked = None;
        self.table(doc, look, &mut |table, order, stamp| {
            clicked = table_ui(ui, TITLE, table, order, stamp);
        });
        let row = clicked.and_then(|row| self.kept.rows.get(row));
        actions.extend(row.map(|&row| Action::RevealSpan(all[row as usize].longest)));
    }

    fn scope(&self, doc: &Document) -> &'static str {
        of_range(doc)
    }

    fn show_layer(&mut self, layer: LayerId) -> bool {
        self.layer = Some(layer);
        self.text.clear();
        true
    }

    fn has_table(&self) -> bool {
        true
    }

    fn table(&mut self, doc: &Document, look: &Look, use_it: UseTable<'_>) {
        self.filter(doc);
        let Some(all) = self.job.last() else {
            return;
        };
        let (analysis, kept) = (&doc.analysis, &self.kept.rows);
        let row = |i: usize| &all[kept[i] as usize];
        let name = |s| analysis.shared_name(doc.trace.spans().name(s));
        let span = |s| (name(s), analysis.layers().of(s));
        let selected = doc.span.map(span);
        let table = rows::table(analysis, NAME_TIME, WIDTHS, kept.len(), row)
            .swatch(|i| Some(look.swatch(analysis.layers().info(row(i).layer).class)))
            .selected(|i| selected == Some((row(i).name, row(i).layer)));
        use_it(&table, &mut self.order, self.kept.stamp);
    }
}
