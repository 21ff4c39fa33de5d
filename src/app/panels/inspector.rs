//! About the selected span: name, layer, times, parent, args, GPU side, links.

use egui::{RichText, Ui};
use serde_json::{Map, Value};

use super::panel::waker;
use super::why;
use crate::analysis::{LayerClass, SpanFigures};
use crate::app::model::action::{Action, Actions};
use crate::app::model::command::Command;
use crate::app::model::document::Document;
use crate::app::model::facts::{attendance_line, by_phase, cause_lines, copy_text, step_of};
use crate::app::model::latest::{Job, Latest};
use crate::app::model::related;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::percent;
use crate::import::SharedArgs;
use crate::model::SpanId;
use crate::time::{format_count, format_ns};

/// Characters of an arg's value that are shown; Copy takes all.
const SHOWN: usize = 400;

/// What is computed or read about a span.
pub struct About {
    /// Children's time is not the span's own.
    self_time: i64,
    /// Its GPU side, for spans of the CPU.
    gpu: Option<SpanFigures>,
    /// What a synchronising call waited for, in words.
    sync: Option<String>,
    /// Its args, or why they cannot be read.
    args: Result<Option<Map<String, Value>>, String>,
}

/// The panel about the selected span.
#[derive(Default)]
pub struct Inspector {
    job: Latest<SpanId, About>,
}

impl Inspector {
    /// The work beside the UI thread that finds out about the span.
    pub fn job(&mut self) -> &mut dyn Job {
        &mut self.job
    }

    /// Draws what is known of a span.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        doc: &Document,
        span: SpanId,
        look: &Look,
        actions: &mut Actions,
    ) {
        let (analysis, args) = (doc.analysis.clone(), doc.args.clone());
        let make = move || about(&analysis, &args, span);
        self.job.request(span, make, waker(ui.ctx()));
        ui.spacing_mut().item_spacing.y = 3.0;
        ui.spacing_mut().interact_size.y = 17.0;
        ui.horizontal(|ui| {
            let name = RichText::new(doc.trace.span_name(span)).strong();
            let width = ui.available_width() - 52.0;
            ui.allocate_ui(egui::vec2(width, 20.0), |ui| {
                ui.set_width(width);
                ui.add(egui::Label::new(name).truncate())
                    .on_hover_text(doc.trace.span_name(span));
            });
            if ui
                .small_button("Copy")
                .on_hover_text("Copies all of this (Ctrl+C)")
                .clicked()
            {
                let text = self.text(doc, span);
                actions.push(Action::CopyText(text, "Span copied"));
            }
        });
        let about = self.job.get(&span).map(|about| &**about);
        egui::ScrollArea::vertical()
            .auto_shrink([false, false])
            .show(ui, |ui| {
                why::why_ui(ui, doc, look, actions);
                egui::Grid::new("span facts")
                    .num_columns(2)
                    .spacing([10.0, 3.0])
                    .show(ui, |ui| {
                        for (key, value) in facts(doc, span, about) {
                            ui.label(RichText::new(key).color(look.weak));
                            ui.add(egui::Label::new(&value).truncate())
                                .on_hover_text(value);
                            ui.end_row();
                        }
                    });
                links_ui(ui, doc, span, actions);
                args_ui(ui, about, look.weak);
            });
    }

    /// All that is known of a span, as tab-separated lines.
    #[must_use]
    pub fn text(&self, doc: &Document, span: SpanId) -> String {
        let about = self.job.get(&span).map(|about| &**about);
        let mut lines = vec![format!("Name\t{}", doc.trace.span_name(span))];
        let facts = facts(doc, span, about).into_iter();
        lines.extend(facts.map(|(k, v)| format!("{k}\t{v}")));
        let spans = doc.trace.spans();
        lines.push(format!("Start (ns)\t{}", spans.start(span)));
        lines.push(format!("Duration (ns)\t{}", spans.dur(span)));
        if let Some(Ok(Some(args))) = about.map(|a| &a.args) {
            let clean = |v: &Value| value_text(v).replace(['\t', '\n', '\r'], " ");
            lines.extend(args.iter().map(|(k, v)| format!("{k}\t{}", clean(v))));
        }
        lines.join("\n") + "\n"
    }
}

fn about(analysis: &crate::analysis::Analysis, args: &SharedArgs, span: SpanId) -> About {
    let trace = analysis.trace();
    let cpu = !trace.lane(trace.spans().lane(span)).kind.is_gpu();
    let is_sync = analysis.layers().class_of(span) == LayerClass::Sync;
    About {
        self_time: self_time(trace, span),
        gpu: cpu.then(|| analysis.span_figures(span, analysis.options().own)),
        sync: (cpu && is_sync).then(|| {
            let figures = analysis.sync(span);
            format!(
                "absorbed {} of GPU time: {}",
                format_ns(figures.absorbed),
                by_phase(analysis, &figures.absorbed_by_phase)
            )
        }),
        args: args.read(span).map_err(|e| e.to_string()),
    }
}

/// The span's time without that of the spans inside it on its lane.
fn self_time(trace: &crate::model::Trace, span: SpanId) -> i64 {
    let spans = trace.spans();
    let range = spans.range(span);
    let row = spans.row(span);
    let end = trace.lane(spans.lane(span)).spans.end;
    let mut covered = 0;
    let mut reach = range.start;
    for id in (span.0 + 1..end).map(SpanId) {
        if spans.start(id) >= range.end {
            break;
        }
        if spans.row(id) <= row || spans.end(id) <= reach {
            continue;
        }
        let inside = spans.range(id).clip(range);
        covered += inside.end - inside.start.max(reach);
        reach = inside.end;
    }
    range.len() - covered
}

/// What is known of a span: (what, value).
fn facts(doc: &Document, span: SpanId, about: Option<&About>) -> Vec<(&'static str, String)> {
    let (trace, analysis) = (&doc.trace, &doc.analysis);
    let spans = trace.spans();
    let lane = trace.lane(spans.lane(span));
    let layer = &analysis.layers().info(analysis.layers().of(span)).name;
    let rule = analysis
        .rule_of(span)
        .map_or(String::new(), |r| format!(" by rule {r}"));
    let mut out = vec![
        ("Layer", format!("{layer}{rule}")),
        ("Start", format_ns(spans.start(span))),
        ("Duration", format_ns(spans.dur(span))),
    ];
    if let Some(about) = about {
        out.push(("Self time", format_ns(about.self_time)));
    }
    if let Some((step, share)) = step_of(doc, span) {
        out.push((
            "Step",
            format!("{}, {} of it", step.short(), percent(share)),
        ));
    }
    if let Some(w) = analysis.wait_of_span(span) {
        let wait = &analysis.waits()[w];
        if let (Some(exposed), Some(hidden)) = (wait.exposed, wait.hidden) {
            out.push(("Exposed", format_ns(exposed)));
            out.push(("Hidden", format_ns(hidden)));
            if wait.unrecorded > 0 {
                out.push(("Not recorded", format_ns(wait.unrecorded)));
            }
        } else {
            out.push(("Exposed", "unknown: no GPU events".to_owned()));
        }
        out.extend(cause_lines(analysis, w));
    }
    let place = doc.tree.lod().place(trace, span);
    let title = place.map(|(leaf, _)| doc.tree.node(doc.tree.of_leaf(leaf)).title.clone());
    let lane_name = match title {
        Some(title) if title != lane.name => format!("{title} ({})", lane.name),
        _ => lane.name.clone(),
    };
    out.push(("Lane", lane_name));
    out.push(("Category", trace.category(spans.cat(span)).name.clone()));
    if let Some(parent) = related::parent(trace, doc.tree.lod(), span) {
        out.push(("Parent", trace.span_name(parent).to_owned()));
    }
    if let Some(copy) = trace.copy(span) {
        let bytes = copy.bytes.map_or("–".to_owned(), |b| {
            crate::app::model::load::bytes_text(b.unsigned_abs())
        });
        let kind = copy.kind.map_or("memset", copy_text);
        out.push(("Copy", format!("{kind}, {bytes}")));
    }
    if let Some(line) = attendance_line(analysis, span) {
        out.push(("Collective", line));
    }
    if trace.is_unfinished(span) {
        out.push(("End", "no end event".to_owned()));
    }
    if let Some(call) = trace.launch_of(span) {
        let delay = spans.start(span) - spans.end(call);
        out.push(("Launched by", trace.span_name(call).to_owned()));
        out.push(("Queued for", format_ns(delay.max(0))));
    }
    if let Some(gpu) = about.and_then(|a| a.gpu.as_ref()).filter(|g| g.n_ops > 0) {
        out.push(("GPU operations", format_count(gpu.n_ops)));
        out.push(("GPU launched", format_ns(gpu.launched_sum)));
        out.push(("GPU during", format_ns(gpu.executed_during)));
        match gpu.lag {
            Some(lag) => out.push(("GPU tail", format_ns(lag))),
            None if gpu.cut => out.push((
                "GPU tail",
                "not known: it reaches out of what was recorded".to_owned(),
            )),
            None => {}
        }
    }
    if let Some(sync) = about.and_then(|a| a.sync.clone()) {
        out.push(("Waited", sync));
    }
    out
}

fn links_ui(ui: &mut Ui, doc: &Document, span: SpanId, actions: &mut Actions) {
    let up = related::parent(&doc.trace, doc.tree.lod(), span).is_some();
    let back = doc.trace.launch_of(span).is_some();
    let on = related::linked(&doc.trace, span, true).is_some();
    ui.horizontal_wrapped(|ui| {
        for (is, command, text) in [
            (true, Command::ZoomToSelection, "Zoom"),
            (true, Command::RangeFromSpan, "Select range"),
            (up, Command::ParentSpan, "Parent"),
            (back, Command::FollowBack, "Launch call"),
            (on, Command::FollowLink, "First GPU work"),
        ] {
            if !is {
                continue;
            }
            if ui
                .small_button(text)
                .on_hover_text(command.hover_text(false))
                .clicked()
            {
                match command {
                    Command::ZoomToSelection => {
                        actions.push(Action::ViewRange(doc.trace.spans().range(span)));
                    }
                    other => actions.push(Action::Do(other)),
                }
            }
        }
    });
}

fn args_ui(ui: &mut Ui, about: Option<&About>, weak: egui::Color32) {
    ui.add_space(4.0);
    let Some(about) = about else {
        ui.spinner();
        return;
    };
    let args = match &about.args {
        Ok(Some(args)) if !args.is_empty() => args,
        Ok(_) => {
            ui.label(RichText::new("No args were recorded.").color(weak));
            return;
        }
        Err(why) => {
            ui.label(RichText::new(format!("The args cannot be read: {why}")).color(weak));
            return;
        }
    };
    ui.label(RichText::new("Args").strong());
    egui::Grid::new("span args")
        .num_columns(2)
        .spacing([10.0, 2.0])
        .show(ui, |ui| {
            for (key, value) in args {
                let text = value_text(value);
                let shown: String = text.chars().take(SHOWN).collect();
                ui.label(RichText::new(key).color(weak).small());
                let label = egui::Label::new(RichText::new(&shown).small()).truncate();
                ui.add(label).on_hover_text(shown);
                ui.end_row();
            }
        });
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}
