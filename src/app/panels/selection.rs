//! The Selection tab: what the GPUs and each layer did in the selected range, else in the visible window. Follows a
//! drag at once; percentiles come from a thread when it rests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use egui::{RichText, Ui};
use serde_json::json;

use super::{FnTable, shown_ui, waker};
use crate::analysis::{
    Analysis, GpuHeadline, LayerClass, LayerId, LayerRow, Percentiles, Scope, Selection,
};
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::app::model::latest::Latest;
use crate::app::model::state::AppState;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::{Cell, Column, Table, TableState, percent};
use crate::time::{TimeRange, format_ns};

/// Percentiles by layer, of a window and scope; `None` when a newer window came first.
pub type Job = Latest<(TimeRange, Scope), Option<BTreeMap<LayerId, Percentiles>>>;

/// Figures of a selection that is shown, kept while nothing changes.
#[derive(Default)]
pub struct Shown {
    /// The newest figures.
    pub selection: Option<Selection>,
    /// Changes with them.
    pub stamp: u64,
    cancel: Arc<AtomicBool>,
}

/// What the panel is about: the selected range, else what shows; and whether it was selected.
#[must_use]
pub fn window(doc: &Document) -> (TimeRange, bool) {
    match doc.range {
        Some(range) => (range, true),
        None => (doc.viewport.range().clip(doc.trace.extent()), false),
    }
}

/// Brings the figures up to date.
pub fn refresh(doc: &mut Document) {
    let (range, _) = window(doc);
    let scope = doc.scope.map_or(Scope::All, Scope::Rank);
    let same = |s: &Selection| s.window == range && s.scope == scope;
    if !doc.shown.selection.as_ref().is_some_and(same) {
        doc.shown.selection = Some(doc.analysis.selection(range, scope));
        doc.shown.stamp += 1;
        // Whoever computes percentiles of another window can stop.
        doc.shown.cancel.store(true, Ordering::Relaxed);
        doc.shown.cancel = Arc::default();
    }
}

fn request_percentiles(ui: &Ui, doc: &mut Document) {
    let Some(key) = doc.shown.selection.as_ref().map(|s| (s.window, s.scope)) else {
        return;
    };
    let (analysis, cancel) = (doc.analysis.clone(), Arc::clone(&doc.shown.cancel));
    let make = move || analysis.percentiles(key.0, key.1, &cancel);
    doc.jobs.selection.request(key, make, waker(ui.ctx()));
}

fn percentiles(doc: &Document) -> Option<Arc<Option<BTreeMap<LayerId, Percentiles>>>> {
    let shown = doc.shown.selection.as_ref()?;
    doc.jobs
        .selection
        .get(&(shown.window, shown.scope))
        .cloned()
}

/// Draws the tab.
pub fn selection_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
    let look = state.look.clone();
    let Some(doc) = &mut state.doc else {
        return;
    };
    refresh(doc);
    request_percentiles(ui, doc);
    headline_ui(ui, doc, &look);
    let Some(selection) = doc.shown.selection.clone() else {
        return;
    };
    if selection.rows.is_empty() {
        ui.add_space(8.0);
        let why = "Nothing was recorded in this range.";
        ui.label(RichText::new(why).color(look.weak));
        return;
    }
    let (analysis, known) = (doc.analysis.clone(), percentiles(doc));
    let rows = rows(&analysis, &selection);
    // Percentiles that arrive may change the order.
    let stamp = doc.shown.stamp * 2 + u64::from(known.is_some());
    let by_layer = known.as_ref().and_then(|k| k.as_ref().as_ref());
    let table = table(&analysis, &selection, &rows, by_layer, &look);
    if let Some(row) = shown_ui(ui, doc, &table, stamp, TableState::default()) {
        let name = &analysis.layers().info(rows[row].layer).name;
        actions.push(Action::SearchFor(format!("layer:{name}")));
    }
}

fn headline_ui(ui: &mut Ui, doc: &Document, look: &Look) {
    let Some(s) = &doc.shown.selection else {
        return;
    };
    let (range, selected) = window(doc);
    let whose = match doc.scope {
        Some(r) => format!("rank {}", doc.analysis.ranks()[r].rank),
        None if doc.analysis.ranks().len() > 1 => "all ranks".to_owned(),
        None => String::new(),
    };
    let mut what = vec![
        format!("{} – {}", format_ns(range.start), format_ns(range.end)),
        format_ns(range.len()),
        steps_text(doc, s),
    ];
    if !whose.is_empty() {
        what.push(whose);
    }
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = egui::vec2(18.0, 2.0);
        let mark = if selected { "" } else { "Visible window: " };
        ui.label(RichText::new(format!("{mark}{}", what.join(" · "))).strong());
        for (text, warn) in headline(s) {
            let color = if warn { look.warning } else { look.text };
            ui.label(RichText::new(text).color(color));
        }
    });
    ui.add_space(5.0);
}

fn steps_text(doc: &Document, s: &Selection) -> String {
    if doc.analysis.ranks().iter().all(|r| r.steps.is_empty()) {
        return "no steps".to_owned();
    }
    match (s.steps, s.partial_steps) {
        (0, 0) => "no step".to_owned(),
        (0, p) => format!("inside {}", count(p, "step")),
        (n, 0) => count(n, "step"),
        (n, p) => format!("{} and parts of {p}", count(n, "step")),
    }
}

fn count(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

/// Means over GPUs, rounded half up; parts of one GPU add up to the window.
#[must_use]
pub fn mean(gpus: &[GpuHeadline], part: impl Fn(&GpuHeadline) -> i64) -> i64 {
    let n = i64::try_from(gpus.len()).unwrap_or(1).max(1);
    (gpus.iter().map(part).sum::<i64>() + n / 2).div_euclid(n)
}

/// The headline's figures in words, with whether they are a warning.
fn headline(s: &Selection) -> Vec<(String, bool)> {
    let len = s.window.len().max(1);
    let share = |ns: i64| percent(ns as f64 / len as f64);
    const NO_WAITS: &str = "no batch waits recorded: exposed is unknown";
    if s.gpus.is_empty() && !s.waits_recorded {
        return vec![(
            "no batch waits and no GPU events recorded".to_owned(),
            false,
        )];
    }
    if s.gpus.is_empty() {
        let wait = format!(
            "Batch wait {} ({})",
            format_ns(s.wait.total),
            share(s.wait.total)
        );
        let unknown = "no GPU events: exposed is unknown";
        return vec![(wait, false), (unknown.to_owned(), false)];
    }
    let exposed = mean(&s.gpus, |g| g.exposed_wait);
    let busy = mean(&s.gpus, |g| g.busy);
    let other = mean(&s.gpus, |g| g.idle_other);
    let unknown = mean(&s.gpus, |g| g.not_recorded);
    let several = match s.gpus.len() {
        1 => String::new(),
        n => format!(" (mean of {n} GPUs)"),
    };
    let (first, idle) = if s.waits_recorded {
        let text = format!("Exposed wait {} ({})", format_ns(exposed), share(exposed));
        (text, "GPU idle, other cause")
    } else {
        (NO_WAITS.to_owned(), "GPU idle")
    };
    let mut out = vec![
        (first, exposed > 0),
        (
            format!("GPU busy {} ({})", format_ns(busy), share(busy)),
            false,
        ),
        (
            format!("{idle} {} ({})", format_ns(other), share(other)),
            false,
        ),
    ];
    if unknown > 0 {
        out.push((
            format!("not recorded {} ({})", format_ns(unknown), share(unknown)),
            false,
        ));
    }
    if !several.is_empty() {
        out.push((several.trim().to_owned(), false));
    }
    // Said only where it adds something: a wait that is exposed as a whole is in the first figure.
    if s.wait.hidden > 0 || s.wait.not_recorded > 0 || s.gpus.len() > 1 {
        let mut all = format!(
            "{} {}: {} exposed, {} hidden",
            if s.gpus.len() > 1 {
                "Loops waited, summed,"
            } else {
                "Loop waited"
            },
            format_ns(s.wait.total),
            format_ns(s.wait.exposed),
            format_ns(s.wait.hidden)
        );
        if s.wait.not_recorded > 0 {
            all.push_str(&format!(
                ", {} not recorded",
                format_ns(s.wait.not_recorded)
            ));
        }
        out.push((all, false));
    }
    out
}

/// Waits first, then loading, CPU and GPU; what is never work last.
fn place(class: LayerClass) -> u8 {
    match class {
        LayerClass::Wait => 0,
        LayerClass::Load => 1,
        LayerClass::Io => 2,
        LayerClass::GpuCompute => 3,
        LayerClass::GpuCopy => 4,
        LayerClass::GpuComm => 5,
        LayerClass::Cpu => 6,
        LayerClass::Sync => 7,
        LayerClass::Api => 8,
        LayerClass::Container => 9,
        LayerClass::GpuMark => 10,
    }
}

fn rows<'a>(analysis: &Analysis, selection: &'a Selection) -> Vec<&'a LayerRow> {
    let mut rows: Vec<&LayerRow> = selection.rows.iter().collect();
    rows.sort_by_key(|r| (place(analysis.layers().info(r.layer).class), r.layer));
    rows
}

const SUM: &str = "Summed over processes (GPUs): how much work was done. Several processes at once count several times";
const BUSIEST: &str =
    "The process (GPU) that is in it longest: what a synchronous step could have waited for";

fn table<'a>(
    analysis: &'a Analysis,
    selection: &'a Selection,
    rows: &'a [&'a LayerRow],
    known: Option<&'a BTreeMap<LayerId, Percentiles>>,
    look: &'a Look,
) -> FnTable<'a> {
    let columns = vec![
        Column::text(
            "Layer",
            150.0,
            "What spans are for. Click a row to find its spans",
        ),
        Column::number("Wall", 105.0, "Time in which any process (GPU) is in it"),
        Column::number("Sum", 110.0, SUM),
        Column::number("Busiest process", 115.0, BUSIEST),
        Column::number("Count", 75.0, "Spans that start in the range"),
        Column::number("Mean", 100.0, "Mean whole duration of those"),
        Column::number("p95", 100.0, "95th percentile of their whole durations"),
        Column::number(
            "Exposed",
            105.0,
            "While the GPU of its own rank had nothing to do, summed over ranks",
        ),
        Column::number("% of selection", 105.0, "Wall time as a share of the range"),
    ];
    FnTable::new(columns, rows.len(), move |row, column| {
        let r = rows[row];
        let info = analysis.layers().info(r.layer);
        match column {
            0 => Cell::text(info.title.as_str()),
            1 => Cell::Ns(r.wall),
            2 => Cell::Ns(r.sum),
            3 => Cell::Ns(r.busiest),
            4 => Cell::Count(r.count),
            5 => Cell::ns(r.mean()),
            6 => Cell::ns(known.and_then(|k| k.get(&r.layer)).map(|p| p.p95)),
            7 => Cell::ns(r.exposed.filter(|_| !is_gpu(info.class))),
            _ => Cell::share_of(r.wall, selection.window.len()),
        }
    })
    .swatch(move |row| Some(look.swatch(analysis.layers().info(rows[row].layer).class)))
}

/// Runs `use_it` with the table.
pub fn with_table<R>(
    doc: &mut Document,
    look: &Look,
    use_it: impl FnOnce(&dyn Table, u64) -> R,
) -> Option<R> {
    refresh(doc);
    let selection = doc.shown.selection.as_ref()?;
    let known = percentiles(doc);
    let rows = rows(&doc.analysis, selection);
    let by_layer = known.as_ref().and_then(|k| k.as_ref().as_ref());
    let table = table(&doc.analysis, selection, &rows, by_layer, look);
    Some(use_it(&table, doc.shown.stamp))
}

/// All figures as JSON text, times in nanoseconds.
#[must_use]
pub fn json(doc: &mut Document) -> Option<String> {
    serde_json::to_string_pretty(&value(doc)?).ok()
}

/// All figures, times in nanoseconds.
#[must_use]
pub fn value(doc: &mut Document) -> Option<serde_json::Value> {
    refresh(doc);
    let selection = doc.shown.selection.as_ref()?;
    let waits = selection.waits_recorded;
    let exposure = waits && !selection.gpus.is_empty();
    let known = percentiles(doc);
    let by_layer = known.as_ref().and_then(|k| k.as_ref().as_ref());
    let layers: Vec<_> = rows(&doc.analysis, selection)
        .into_iter()
        .map(|r| {
            let p = by_layer.and_then(|k| k.get(&r.layer));
            json!({
                "layer": doc.analysis.layers().info(r.layer).name,
                "wall_ns": r.wall,
                "sum_ns": r.sum,
                "busiest_ns": r.busiest,
                "count": r.count,
                "touching": r.touching,
                "mean_ns": r.mean(),
                "median_ns": p.map(|p| p.median),
                "p95_ns": p.map(|p| p.p95),
                "max_ns": p.map(|p| p.max),
                "exposed_ns": r.exposed,
            })
        })
        .collect();
    let gpus: Vec<_> = selection
        .gpus
        .iter()
        .map(|g| {
            json!({
                "gpu": doc.analysis.gpus()[g.gpu].key,
                "exposed_wait_ns": waits.then_some(g.exposed_wait),
                "busy_ns": g.busy,
                "idle_other_ns": g.idle_other,
                "not_recorded_ns": g.not_recorded,
            })
        })
        .collect();
    Some(json!({
        "start_ns": selection.window.start,
        "end_ns": selection.window.end,
        "steps": selection.steps,
        "partial_steps": selection.partial_steps,
        "wait_ns": waits.then_some(selection.wait.total),
        "wait_exposed_ns": exposure.then_some(selection.wait.exposed),
        "wait_hidden_ns": exposure.then_some(selection.wait.hidden),
        "wait_not_recorded_ns": waits.then_some(selection.wait.not_recorded),
        "gpus": gpus,
        "layers": layers,
    }))
}

fn is_gpu(class: LayerClass) -> bool {
    matches!(
        class,
        LayerClass::GpuCompute | LayerClass::GpuCopy | LayerClass::GpuComm | LayerClass::GpuMark
    )
}
