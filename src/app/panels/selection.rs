//! The Selection tab: what the GPUs and each layer did in the selected range, else in the visible window. Follows a
//! drag at once; percentiles come from a thread when it rests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use egui::{RichText, Ui};
use serde_json::{Value, json};

use super::panel::{Panel, RANGE, UseTable, waker};
use super::rows;
use crate::analysis::{
    Analysis, GpuHeadline, LayerClass, LayerId, LayerRow, Percentiles, Scope, Selection,
};
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::{Document, Focused};
use crate::app::model::latest::{self, Latest};
use crate::app::widgets::look::Look;
use crate::app::widgets::table::{TableState, percent, table_ui};
use crate::columns::{LAYER, Output, shown};
use crate::export::rows::object_with_units;
use crate::model::Measure;
use crate::time::{TimeRange, about_ns, format_ns};
use crate::view::{Extremes, format_sample, value_at};

/// Percentiles by layer, of a window and scope; `None` when a newer window came first.
type Job = Latest<(TimeRange, Scope), Option<BTreeMap<LayerId, Percentiles>>>;

/// What the tab is called.
pub const TITLE: &str = "Selection";

/// The tab. Its figures are kept while nothing changes.
#[derive(Default)]
pub struct SelectionPanel {
    selection: Option<Arc<Selection>>,
    /// Changes with the figures.
    stamp: u64,
    job: Job,
    /// Stops whoever computes percentiles of an older window.
    cancel: Arc<AtomicBool>,
    order: TableState,
}

impl SelectionPanel {
    /// The figures, up to date.
    fn refresh(&mut self, doc: &Document) -> Arc<Selection> {
        let (range, _) = doc.focus_range();
        let scope = doc.scope.map_or(Scope::All, Scope::Rank);
        let same = |s: &&Arc<Selection>| s.window == range && s.scope == scope;
        if let Some(selection) = self.selection.as_ref().filter(same) {
            return Arc::clone(selection);
        }
        self.stamp += 1;
        self.cancel.store(true, Ordering::Relaxed);
        self.cancel = Arc::default();
        let selection = Arc::new(doc.analysis.selection(range, scope));
        self.selection = Some(Arc::clone(&selection));
        selection
    }
}

/// The percentiles of a selection, if they are there.
fn percentiles<'a>(job: &'a Job, of: &Selection) -> Option<&'a BTreeMap<LayerId, Percentiles>> {
    let known = job.get(&(of.window, of.scope))?;
    (**known).as_ref()
}

impl Panel for SelectionPanel {
    fn name() -> (&'static str, &'static str) {
        (
            TITLE,
            "Figures of what was selected last, a range or a span; else of the visible window.",
        )
    }

    fn job(&mut self) -> &mut dyn latest::Job {
        &mut self.job
    }

    fn ui(&mut self, ui: &mut Ui, doc: &Document, look: &Look, actions: &mut Actions) {
        let selection = self.refresh(doc);
        let key = (selection.window, selection.scope);
        let (analysis, cancel) = (doc.analysis.clone(), Arc::clone(&self.cancel));
        let make = move || analysis.percentiles(key.0, key.1, &cancel);
        self.job.request(key, make, waker(ui.ctx()));
        headline_ui(ui, doc, &selection, look);
        if selection.rows.is_empty() {
            ui.add_space(8.0);
            let why = "Nothing was recorded in this range.";
            ui.label(RichText::new(why).color(look.weak));
            return;
        }
        self.table(doc, look, &mut |table, order, stamp| {
            if let Some(row) = table_ui(ui, TITLE, table, order, stamp) {
                let layer = rows(&doc.analysis, &selection, None)[row].layer;
                actions.push(Action::NamesOf(layer));
            }
        });
    }

    fn scope(&self, doc: &Document) -> &'static str {
        match doc.focus_range().1 {
            Focused::Range => RANGE,
            Focused::Span => "selected span",
            Focused::View => "visible window",
        }
    }

    fn has_table(&self) -> bool {
        true
    }

    fn table(&mut self, doc: &Document, look: &Look, use_it: UseTable<'_>) {
        let selection = self.refresh(doc);
        let known = percentiles(&self.job, &selection);
        // Percentiles that arrive may change the order.
        let stamp = self.stamp * 2 + u64::from(known.is_some());
        let (analysis, rows) = (&doc.analysis, rows(&doc.analysis, &selection, known));
        let table = rows::table(analysis, LAYER, WIDTHS, rows.len(), |i| &rows[i])
            .swatch(|row| Some(look.swatch(analysis.layers().info(rows[row].layer).class)));
        use_it(&table, &mut self.order, stamp);
    }

    fn json(&mut self, doc: &Document) -> Option<Value> {
        let selection = self.refresh(doc);
        Some(json(doc, &selection, percentiles(&self.job, &selection)))
    }
}

fn headline_ui(ui: &mut Ui, doc: &Document, s: &Selection, look: &Look) {
    let (range, of) = doc.focus_range();
    let whose = match doc.scope {
        Some(r) => format!("rank {}", doc.analysis.ranks()[r].rank),
        None if doc.analysis.ranks().len() > 1 => "all ranks".to_owned(),
        None => String::new(),
    };
    let mut what = vec![
        format!("{} – {}", format_ns(range.start), format_ns(range.end)),
        about_ns(range.len()),
        steps_text(doc, s),
    ];
    if !whose.is_empty() {
        what.push(whose);
    }
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = egui::vec2(18.0, 2.0);
        let mark = match of {
            Focused::Range => "Selected range: ",
            Focused::Span => "Time of the selected span: ",
            Focused::View => "Visible window: ",
        };
        ui.label(RichText::new(format!("{mark}{}", what.join(" · "))).strong());
        let memory = memory(doc, range).map(|text| (text, false));
        for (text, warn) in headline(s, doc.analysis.options().warn)
            .into_iter()
            .chain(memory)
        {
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
fn mean(gpus: &[GpuHeadline], part: impl Fn(&GpuHeadline) -> i64) -> i64 {
    let n = i64::try_from(gpus.len()).unwrap_or(1).max(1);
    (gpus.iter().map(part).sum::<i64>() + n / 2).div_euclid(n)
}

/// The headline's figures in words, with whether they are a warning: exposed wait of a share `warn` or more.
fn headline(s: &Selection, warn: f64) -> Vec<(String, bool)> {
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
            about_ns(s.wait.total),
            share(s.wait.total)
        );
        let unknown = "no GPU events: exposed is unknown";
        return vec![(wait, false), (unknown.to_owned(), false)];
    }
    let exposed = mean(&s.gpus, |g| g.exposed_wait);
    let busy = mean(&s.gpus, |g| g.busy);
    let other = mean(&s.gpus, |g| g.idle_other);
    let unknown = mean(&s.gpus, |g| g.not_recorded);
    let costs = exposed as f64 >= warn * len as f64 && exposed > 0;
    let several = match s.gpus.len() {
        1 => String::new(),
        n => format!(" (mean of {n} GPUs)"),
    };
    let (first, idle) = if s.waits_recorded {
        let text = format!("Exposed wait {} ({})", about_ns(exposed), share(exposed));
        (text, "GPU idle, other cause")
    } else {
        (NO_WAITS.to_owned(), "GPU idle")
    };
    let mut out = vec![
        (first, costs),
        (
            format!("GPU busy {} ({})", about_ns(busy), share(busy)),
            false,
        ),
        (
            format!("{idle} {} ({})", about_ns(other), share(other)),
            false,
        ),
    ];
    if unknown > 0 {
        out.push((
            format!("not recorded {} ({})", about_ns(unknown), share(unknown)),
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
            about_ns(s.wait.total),
            about_ns(s.wait.exposed),
            about_ns(s.wait.hidden)
        );
        if s.wait.not_recorded > 0 {
            all.push_str(&format!(", {} not recorded", about_ns(s.wait.not_recorded)));
        }
        out.push((all, false));
    }
    out
}

/// The most memory that was allocated on the GPUs of the scope.
fn memory(doc: &Document, range: TimeRange) -> Option<String> {
    let of_rank = doc.scope.map(|r| doc.analysis.ranks()[r].rank);
    let who = doc.analysis.identity();
    let peaks = (0_u32..).zip(doc.trace.counters()).filter_map(|(i, c)| {
        let on_gpu = c.measure == Measure::Allocated && c.name.contains(", GPU ");
        let own = of_rank.is_none_or(|r| who.rank_of(c.source, c.process) == Some(r));
        if !on_gpu || !own {
            return None;
        }
        let at = |t: i64| c.times.partition_point(|&s| s < t);
        let inside = at(range.start)..at(range.end);
        let held = value_at(c, range.start).and_then(Extremes::of);
        let tree = doc.tree.lod().counter(i);
        let most = Extremes::join(held, tree.extremes(&c.values, inside))?;
        Some((most.greatest, c))
    });
    let (most, counter) = peaks.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let words = format_sample(counter, most);
    Some(format!("GPU memory at most {words}"))
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

/// The rows in their order, with what is known of percentiles.
fn rows(
    analysis: &Analysis,
    selection: &Selection,
    known: Option<&BTreeMap<LayerId, Percentiles>>,
) -> Vec<LayerRow> {
    let mut selection = selection.clone();
    if let Some(known) = known {
        selection.add(known);
    }
    let mut rows = selection.rows;
    rows.sort_by_key(|r| (place(analysis.layers().info(r.layer).class), r.layer));
    rows
}

/// Columns.
const WIDTHS: &str = "title=150 wall=105 sum=105 busiest=115 touching=75 mean_inside=105 mean_whole=105 p95=110 exposed_cpu=115 share=105";

/// All figures, times in nanoseconds.
fn json(
    doc: &Document,
    selection: &Selection,
    known: Option<&BTreeMap<LayerId, Percentiles>>,
) -> Value {
    let waits = selection.waits_recorded;
    let exposure = waits && !selection.gpus.is_empty();
    let columns = shown(LAYER, Output::Json, "");
    let layers: Vec<_> = rows(&doc.analysis, selection, known)
        .iter()
        .map(|row| object_with_units(&doc.analysis, &columns, row))
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
    json!({
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
    })
}
