//! Tooltips of the timeline: what is under the pointer, after a short rest.

use egui::{Response, RichText, TextWrapMode, Ui};

use super::focus::{Focus, REST};
use super::scene::{Scene, rests};
use crate::analysis::Step;
use crate::app::model::document::Document;
use crate::app::model::facts::{attendance_line, cause_lines, copy_text, parts_text, step_of};
use crate::app::model::related::parent;
use crate::app::model::state::AppState;
use crate::app::widgets::table::percent;
use crate::model::{Measure, SpanId};
use crate::paint::readable;
use crate::time::{TimeRange, format_count, format_ns};
use crate::view::{Extremes, Hit, Mark, Target, format_sample, value_at};

/// Width of a tooltip, points.
const WIDTH: f32 = 420.0;
/// Characters that fit into it for sure.
const SHORT: usize = 56;

/// Shows the tooltip of what is under the pointer.
pub fn tooltip_ui(
    ui: &Ui,
    state: &AppState,
    focus: &Focus,
    scene: &Scene<'_>,
    canvas: &Response,
    tree: &Response,
) {
    let Some(doc) = &state.doc else {
        return;
    };
    let over = canvas.hovered() || tree.hovered();
    let Some(at) = ui.input(|i| i.pointer.hover_pos()).filter(|_| over) else {
        return;
    };
    if egui::Popup::is_any_open(ui.ctx()) || rests(ui, doc) {
        return;
    }
    let rested = ui.input(|i| i.pointer.time_since_last_movement());
    if rested < REST {
        let left = std::time::Duration::from_secs_f32(REST - rested + 0.01);
        ui.ctx().request_repaint_after(left);
        return;
    }
    let lines = text_at(doc, focus, scene, at);
    if lines.is_empty() {
        return;
    }
    let id = egui::Id::unique("timeline tooltip");
    let anchor = egui::PopupAnchor::Pointer;
    egui::Tooltip::always_open(ui.ctx().clone(), ui.layer_id(), id, anchor)
        .gap(14.0)
        .show(|ui| {
            ui.set_max_width(WIDTH);
            ui.spacing_mut().item_spacing.y = 2.0;
            for (i, line) in lines.iter().enumerate() {
                let line = readable(line, ui.ctx(), &egui::TextStyle::Body.resolve(ui.style()));
                let text = RichText::new(line.as_ref());
                let text = match i {
                    0 => text.strong(),
                    1 => text,
                    _ => text.color(state.look.weak),
                };
                // Short lines stay whole; long names wrap.
                let short = line.chars().count() <= SHORT;
                let wrap = if short {
                    TextWrapMode::Extend
                } else {
                    TextWrapMode::Wrap
                };
                ui.add(egui::Label::new(text).wrap_mode(wrap));
            }
        });
}

/// The lines of the tooltip at a position; empty where there is nothing to say.
fn text_at(doc: &Document, focus: &Focus, scene: &Scene<'_>, at: egui::Pos2) -> Vec<String> {
    match scene.hit(at) {
        Hit::Mark(m) => {
            let mark = &scene.list.marks[m];
            if mark.count == 1 {
                span_lines(doc, focus, mark.first)
            } else {
                run_lines(doc, mark)
            }
        }
        Hit::Target(Target::Wait(w)) => wait_lines(doc, w),
        Hit::Target(Target::Step(rank, step)) => {
            step_lines(doc, rank, &doc.analysis.ranks()[rank].steps[step])
        }
        Hit::Target(Target::Tail(t)) => {
            let tail = doc.analysis.tails()[t];
            vec![
                doc.trace.span_name(tail.span).to_owned(),
                format!("Its GPU work ends {} after it", format_ns(tail.lag)),
                format!("last: {}", doc.trace.span_name(tail.last_op)),
            ]
        }
        Hit::Target(Target::Band(gpu)) => band_lines(doc, gpu),
        Hit::Target(Target::Counter(i)) => {
            let time = doc.viewport.time_from_x(scene.x(at));
            counter_lines(doc, i, time)
        }
        Hit::Target(Target::Instants { row, first, count }) => {
            instant_lines(doc, row, (first, count))
        }
        Hit::Target(Target::Header(node)) => {
            let path = doc.tree.path(node).join(" · ");
            let note = scene.list.lanes.iter().find(|l| l.node == node);
            let mut lines = vec![path];
            lines.extend(note.map(|n| n.text.clone()));
            lines
        }
        _ => Vec::new(),
    }
}

/// Name, layer and duration, start, share of step, and what is linked.
fn span_lines(doc: &Document, focus: &Focus, span: SpanId) -> Vec<String> {
    let spans = doc.trace.spans();
    let range = spans.range(span);
    let layers = doc.analysis.layers();
    let layer = &layers.info(layers.of(span)).title;
    let mut lines = vec![
        doc.trace.span_name(span).to_owned(),
        format!("{} · {layer}", format_ns(range.len())),
        format!("starts at {}", format_ns(range.start)),
    ];
    if let Some((step, share)) = step_of(doc, span) {
        lines.push(format!("{} of step {}", percent(share), step.short()));
    }
    if doc.trace.is_unfinished(span) {
        lines.push("no end event: drawn to the end of the trace".to_owned());
    }
    if let Some(copy) = doc.trace.copy(span) {
        let kind = copy.kind.map_or("memset", copy_text);
        let bytes = copy.bytes.map_or(String::new(), |b| {
            format!(
                " · {}",
                crate::app::model::load::bytes_text(b.unsigned_abs())
            )
        });
        lines.push(format!("{kind}{bytes}"));
    }
    if let Some(w) = doc.analysis.wait_of_span(span) {
        lines.push(parts_text(&doc.analysis.waits()[w]));
        let cause = cause_lines(&doc.analysis, w).into_iter();
        lines.extend(cause.map(|(what, value)| format!("{}: {value}", what.to_lowercase())));
    }
    lines.extend(attendance_line(&doc.analysis, span));
    lines.extend(link_line(doc, focus, span));
    lines.extend(focus.queued_by(span));
    lines
}

/// What a span launched, or who launched it.
fn link_line(doc: &Document, focus: &Focus, span: SpanId) -> Option<String> {
    let spans = doc.trace.spans();
    if let Some(call) = doc.trace.launch_of(span) {
        let delay = spans.start(span) - spans.start(call);
        let by = parent(&doc.trace, doc.tree.lod(), call).unwrap_or(call);
        let name = doc.trace.span_name(by);
        return Some(format!(
            "launched {} earlier by {name}",
            format_ns(delay.max(0))
        ));
    }
    let links = focus.links_of(span)?;
    let last = links.ops.iter().map(|&o| spans.end(o)).max()?;
    let n = format_count(links.ops.len() as u64);
    let lag = last - spans.end(span);
    Some(match (lag > 0, links.ops.len()) {
        (true, 1) => format!(
            "launched 1 GPU operation; it ends {} after it",
            format_ns(lag)
        ),
        (true, _) => format!(
            "launched {n} GPU operations; the last ends {} after it",
            format_ns(lag)
        ),
        (false, 1) => "launched 1 GPU operation, which ends before it does".to_owned(),
        (false, _) => format!("launched {n} GPU operations; all end before it does"),
    })
}

fn run_lines(doc: &Document, mark: &Mark) -> Vec<String> {
    let spans = doc.trace.spans();
    let longest = mark.longest(&doc.trace, &doc.analysis, &doc.rows);
    let info = doc.analysis.layers().info(mark.layer);
    let width = f64::from(mark.rect.width().max(1.0));
    let len = width * doc.viewport.ns_per_px();
    vec![
        format!(
            "{} spans, mostly {}",
            format_count(u64::from(mark.count)),
            info.title
        ),
        format!(
            "busy {} ({})",
            format_ns(mark.busy),
            percent((mark.busy as f64 / len).min(1.0))
        ),
        format!(
            "longest: {} {}",
            doc.trace.span_name(longest),
            format_ns(spans.dur(longest))
        ),
        "double-click: zoom in".to_owned(),
    ]
}

fn wait_lines(doc: &Document, w: usize) -> Vec<String> {
    let wait = &doc.analysis.waits()[w];
    vec![
        format!("Batch wait {}", format_ns(wait.range.len())),
        parts_text(wait),
        doc.trace.span_name(wait.span).to_owned(),
        format!("starts at {}", format_ns(wait.range.start)),
    ]
}

fn step_lines(doc: &Document, rank: usize, step: &Step) -> Vec<String> {
    let info = &doc.analysis.ranks()[rank];
    let within = |u: &crate::analysis::Union| u.measure_in(step.range);
    let mut lines = vec![
        format!("step {} · {}", step.short(), format_ns(step.range.len())),
        format!("batch wait {}", format_ns(within(&info.wait))),
    ];
    if info.gpu.is_some() {
        lines.push(format!(
            "{} of it exposed",
            format_ns(within(&info.wait_exposed))
        ));
    }
    lines.push("click: select".to_owned());
    lines
}

/// Value at the pointer, and what it is between in view.
fn counter_lines(doc: &Document, index: u32, time: i64) -> Vec<String> {
    let counter = &doc.trace.counters()[index as usize];
    let name = match counter.series.as_str() {
        "" => counter.name.clone(),
        series => format!("{} · {series}", counter.name),
    };
    let value = value_at(counter, time);
    let mut lines = vec![
        name,
        value.map_or_else(|| "no value yet".to_owned(), |v| format_sample(counter, v)),
    ];
    let reserved = match counter.measure {
        Measure::Allocated => doc.trace.reserved_beside(counter),
        _ => None,
    };
    if let Some(other) = reserved.map(|i| &doc.trace.counters()[i])
        && let Some(value) = value_at(other, time)
    {
        lines.push(format!("reserved: {} (line)", format_sample(other, value)));
    }
    let window = doc.viewport.range();
    let at = |t: i64| counter.times.partition_point(|&s| s < t);
    let samples = at(window.start)..at(window.end);
    let n = format_count(samples.len() as u64);
    let tree = doc.tree.lod().counter(index);
    let held = value_at(counter, window.start).and_then(Extremes::of);
    if let Some(e) = Extremes::join(held, tree.extremes(&counter.values, samples)) {
        lines.push(format!(
            "in view: {} to {}, {n} samples",
            format_sample(counter, e.least),
            format_sample(counter, e.greatest)
        ));
    }
    lines
}

/// Name and time, or how many there are and which is the first.
fn instant_lines(doc: &Document, row: u32, (first, count): (u32, u32)) -> Vec<String> {
    let row = &doc.tree.lod().instants()[row as usize];
    let first = row.get(&doc.trace, first as usize);
    let name = doc.trace.name(first.name).to_owned();
    if count == 1 {
        return vec![name, format!("at {}", format_ns(first.time))];
    }
    vec![
        format!("{} instants", format_count(u64::from(count))),
        format!("first: {name}"),
        format!("at {}", format_ns(first.time)),
    ]
}

fn band_lines(doc: &Document, gpu: Option<usize>) -> Vec<String> {
    let window: TimeRange = doc.viewport.range();
    match gpu.map(|g| &doc.analysis.gpus()[g]) {
        Some(gpu) => {
            let (busy, idle) = (gpu.busy.measure_in(window), gpu.idle.measure_in(window));
            vec![
                format!("GPU {}", gpu.key),
                format!(
                    "in view: busy {} · idle {}",
                    format_ns(busy),
                    format_ns(idle)
                ),
            ]
        }
        None => vec![
            "No GPU events in this trace".to_owned(),
            "What of the wait was hidden cannot be told".to_owned(),
        ],
    }
}
