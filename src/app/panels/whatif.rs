//! The What-if tab: step time with other workers, cores or cached data, from measured costs.

use egui::{Grid, RichText, Slider, Ui, vec2};
use egui_plot::{AxisHints, Bar, BarChart, Plot, PlotPoint, Text};

use super::panel::{Panel, Scope, busy_ui, by_torch, empty_ui, of_range, waits_for_causes, waker};
use crate::analysis::{Analysis, AsIf, Basis, Rates, WhatIf, counted};
use crate::app::model::action::Actions;
use crate::app::model::document::Document;
use crate::app::model::latest::{Job, Latest};
use crate::app::widgets::look::{Look, color, mix};
use crate::columns::{Output, Unit, Value, WHAT_IF, shown};
use crate::time::about_ns;
use crate::view::Swatch;

const TITLE: &str = "What-if";

/// Most workers of the slider and the chart.
const MAX_WORKERS: u32 = 32;
/// Where the measured bar stands on the axis of workers.
const MEASURED_AT: f64 = -2.0;
/// From this difference between the model and the measured step on, its answers are called rough.
const ROUGH: f64 = 0.1;
/// Most cores of the slider.
const MAX_CORES: u32 = 128;

const NONE: &str = "Nothing to compute with: this needs steps and loading spans (with 0 workers \
    the loop's waits are enough).";
const NONE_OF_TORCH: &str = "Nothing to compute with: this needs steps and loading spans (with 0 workers the loop's waits are \
    enough). torch.profiler records only the main process: open the DFTracer files of the same run beside it, or use nsys.";
const NONE_HERE: &str = "Nothing to compute with in the selected range: no whole step with loading lies in it. Press Esc to \
    ask about the whole trace.";
const LIMITS: &str = "Limits of the model: loading grows with the number of workers (CPU contention); near the point where \
    loading keeps up, variance alone makes waits; one slow sample blocks the batches behind it; prefetch, storage and \
    memory limits are not modelled.";

/// What is asked.
#[derive(Clone, Copy, Default, PartialEq)]
struct Question {
    /// Workers; `None` until the user moved the slider: what is recommended, else what was recorded.
    workers: Option<u32>,
    /// CPU cores for them; `None` = enough.
    cores: Option<u32>,
    /// Share of the data in memory.
    cached: f64,
}

impl Question {
    fn workers(self, rates: &Rates) -> u32 {
        let first = rates.recommended_workers.unwrap_or(rates.workers);
        self.workers.unwrap_or(first.min(MAX_WORKERS))
    }
}

/// The tab.
#[derive(Default)]
pub struct WhatIfPanel {
    question: Question,
    /// Costs and rates of a rank in the scope, and what its waits would be if their cause were gone.
    job: Latest<Scope, Option<(Rates, Vec<AsIf>)>>,
}

impl Panel for WhatIfPanel {
    fn name() -> (&'static str, &'static str) {
        (TITLE, "Step time with other workers, cores or cached data.")
    }

    fn job(&mut self) -> &mut dyn Job {
        &mut self.job
    }

    fn ui(&mut self, ui: &mut Ui, doc: &Document, look: &Look, _actions: &mut Actions) {
        if waits_for_causes(ui, doc) {
            return;
        }
        let (analysis, scope) = (doc.analysis.clone(), Scope::of(doc));
        let rank = scope.rank.unwrap_or(0);
        let make = move || {
            let rates = analysis.rates(rank, scope.range)?;
            Some((rates, analysis.as_if(rank, scope.range)))
        };
        self.job.request(scope, make, waker(ui.ctx()));
        let Some(rates) = self.job.last().cloned() else {
            busy_ui(ui);
            return;
        };
        let Some((rates, as_if)) = &*rates else {
            let why = match (scope.selected, by_torch(doc)) {
                (true, _) => NONE_HERE,
                (false, true) => NONE_OF_TORCH,
                (false, false) => NONE,
            };
            empty_ui(ui, look, why);
            return;
        };
        let question = self.question;
        egui::ScrollArea::vertical()
            .auto_shrink([false, false])
            .show(ui, |ui| {
                ui.horizontal_top(|ui| {
                    ui.vertical(|ui| {
                        ui.set_width(330.0);
                        self.question = question_ui(ui, rates, question);
                        ui.add_space(8.0);
                        answer_ui(ui, &doc.analysis, rates, question, look);
                    });
                    ui.add_space(20.0);
                    ui.vertical(|ui| {
                        let known = doc.analysis.ranks()[rank].gpu.is_some();
                        chart_ui(ui, rates, question, known, look);
                        notes_ui(ui, doc, rates, as_if, look);
                    });
                });
            });
        if self.question != question {
            ui.ctx().request_repaint();
        }
    }

    fn scope(&self, doc: &Document) -> &'static str {
        of_range(doc)
    }
}

/// Lets the user change the question.
fn question_ui(ui: &mut Ui, rates: &Rates, question: Question) -> Question {
    let mut asked = question;
    let mut workers = question.workers(rates);
    let mut cores = question.cores.unwrap_or(MAX_CORES);
    let mut cached = question.cached * 100.0;
    Grid::new("what-if question")
        .num_columns(2)
        .spacing([10.0, 6.0])
        .show(ui, |ui| {
            let label = ui.label("Workers").id;
            let slider = Slider::new(&mut workers, 0..=MAX_WORKERS);
            if slider_ui(ui, slider, label).changed() {
                asked.workers = Some(workers);
            }
            ui.end_row();
            let label = ui
                .label("CPU cores")
                .on_hover_text("Beyond one per core, a worker counts 30 %")
                .id;
            let slider = Slider::new(&mut cores, 1..=MAX_CORES).logarithmic(true);
            let slider = slider.custom_formatter(|n, _| {
                if n as u32 >= MAX_CORES {
                    "enough".to_owned()
                } else {
                    format!("{n}")
                }
            });
            if slider_ui(ui, slider, label).changed() {
                asked.cores = (cores < MAX_CORES).then_some(cores);
            }
            ui.end_row();
            let label = ui.label("Data in memory").id;
            let slider = Slider::new(&mut cached, 0.0..=100.0)
                .suffix(" %")
                .fixed_decimals(0);
            if slider_ui(ui, slider, label).changed() {
                asked.cached = cached / 100.0;
            }
            ui.end_row();
        });
    asked
}

/// A slider whose focus can be seen.
fn slider_ui(ui: &mut Ui, slider: Slider<'_>, label: egui::Id) -> egui::Response {
    let response = ui.add(slider).labelled_by(label);
    if response.has_focus() {
        crate::app::widgets::table::ring(ui, response.rect.expand(2.0));
    }
    response
}

/// A length that the model gives, ns.
fn ns(value: f64) -> String {
    if value.is_finite() {
        about_ns(value.round() as i64)
    } else {
        "–".to_owned()
    }
}

fn answer_ui(ui: &mut Ui, analysis: &Analysis, rates: &Rates, question: Question, look: &Look) {
    let asked = question.workers(rates);
    let now = rates.what_if(rates.workers, None, 0.0);
    let then = rates.what_if(asked, question.cores, question.cached);
    let unit = if rates.samples_known {
        "samples/s"
    } else {
        "batches/s"
    };
    let mut same = 0;
    Grid::new("what-if answer")
        .num_columns(5)
        .spacing([16.0, 4.0])
        .striped(true)
        .show(ui, |ui| {
            let head = |ui: &mut Ui, t: String| ui.label(RichText::new(t).color(look.weak));
            head(ui, String::new());
            head(ui, "measured".to_owned());
            head(
                ui,
                format!("{} (model)", counted(u64::from(rates.workers), "worker")),
            );
            head(ui, counted(u64::from(asked), "worker"));
            head(ui, "change".to_owned());
            ui.end_row();
            let measured = rates.measured();
            for column in shown(WHAT_IF, Output::Panel, "") {
                let cells =
                    [&measured, &now, &then].map(|answer| match column.value(analysis, answer) {
                        Value::Time(Some(ns)) => about_ns(ns),
                        Value::Rate(Some(rate)) => format!("{rate:.1} {unit}"),
                        _ => "–".to_owned(),
                    });
                // What is the same whatever is asked answers nothing.
                if cells.iter().all(|c| *c == cells[0]) {
                    same += 1;
                    continue;
                }
                ui.label(column.title);
                for cell in cells {
                    ui.label(cell);
                }
                if column.unit() == Unit::Ns {
                    let times = [&now, &then].map(|answer| column.time(analysis, answer));
                    ui.label(change(times));
                }
                ui.end_row();
            }
        });
    if same > 0 {
        let text = match same {
            1 => "One figure is the same in all and left out.".to_owned(),
            n => format!("{n} figures are the same in all and left out."),
        };
        ui.label(RichText::new(text).small().color(look.weak));
    }
}

fn change([a, b]: [Option<i64>; 2]) -> String {
    match (a, b) {
        (Some(a), Some(b)) if a > 0 => format!("{:+.1} %", (b as f64 / a as f64 - 1.0) * 100.0),
        _ => "–".to_owned(),
    }
}

/// Step time by number of workers.
fn chart_ui(ui: &mut Ui, rates: &Rates, question: Question, known: bool, look: &Look) {
    let asked = question.workers(rates);
    let most = (asked.max(rates.workers) * 2).clamp(8, MAX_WORKERS);
    let compute = color(look.theme.swatch(Swatch::GpuCompute));
    // Orange is for waits of which it is known that they are exposed.
    let wait = match known {
        true => color(look.theme.swatch(Swatch::Wait)),
        false => color(look.theme.unrecorded),
    };
    let answers: Vec<WhatIf> = (0..=most)
        .map(|n| rates.what_if(n, question.cores, question.cached))
        .collect();
    let bar = |w: &WhatIf, value: f64, fill: egui::Color32| {
        let fill = if w.workers == asked {
            fill
        } else {
            mix(look.panel, fill, 0.55)
        };
        Bar::new(f64::from(w.workers), value / 1e6)
            .width(0.8)
            .fill(fill)
            .stroke(egui::Stroke::NONE)
    };
    let work = |w: &WhatIf| bar(w, w.step - w.wait, compute);
    let lost = |w: &WhatIf| bar(w, w.wait, wait);
    let measured = |value: f64, fill: egui::Color32| {
        Bar::new(MEASURED_AT, value / 1e6)
            .width(1.2)
            .fill(fill)
            .stroke(egui::Stroke::NONE)
    };
    let mut works: Vec<Bar> = answers.iter().map(work).collect();
    works.push(measured(rates.pace.step - rates.pace.wait, compute));
    let mut losses: Vec<Bar> = answers.iter().map(lost).collect();
    losses.push(measured(rates.pace.wait, wait));
    let first = BarChart::new("without waiting", works).color(compute);
    let second = BarChart::new("waiting", losses)
        .color(wait)
        .stack_on(&[&first]);
    let plot = Plot::new("what-if chart")
        .height(140.0)
        .width(ui.available_width().min(560.0))
        .show_grid([false, true])
        .allow_zoom(false)
        .allow_drag(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .show_background(false)
        .include_y(0.0)
        .set_margin_fraction(vec2(0.01, 0.12))
        .x_grid_spacer(egui_plot::uniform_grid_spacer(|_| [8.0, 4.0, 1.0]))
        .custom_x_axes(vec![
            AxisHints::new_x()
                .label("workers")
                .label_spacing(8.0..=14.0)
                .formatter(|mark, _| match mark.value {
                    x if x < 0.0 => String::new(),
                    x => format!("{x:.0}"),
                }),
        ])
        .custom_y_axes(vec![
            AxisHints::new_y()
                .label_spacing(10.0..=16.0)
                .formatter(|mark, _| format!("{} ms", mark.value)),
        ])
        .show(ui, |plot| {
            plot.bar_chart(first);
            plot.bar_chart(second);
            let top = PlotPoint::new(MEASURED_AT, rates.pace.step / 1e6);
            let name = RichText::new("measured").small().color(look.weak);
            plot.text(Text::new("measured", top, name).anchor(egui::Align2::CENTER_BOTTOM));
        });
    plot.response.widget_info(|| {
        let text = "Step time by number of workers";
        egui::WidgetInfo::labeled(egui::accesskit::Role::Image, true, text)
    });
}

fn notes_ui(ui: &mut Ui, doc: &Document, rates: &Rates, as_if: &[AsIf], look: &Look) {
    let costs = &rates.costs;
    let mut lines = vec![format!(
        "Measured per batch: {} without waiting, {} loading ({} of it reading), {} hand-over.",
        ns(costs.compute),
        ns(costs.load),
        ns(costs.read),
        ns(costs.handover)
    )];
    lines.extend(rates.keeps_up());
    match &rates.recommended_reason {
        Some(why) => lines.push(format!("No number of workers is recommended: {why}.")),
        None => lines.push("More workers help only if there are cores for them.".to_owned()),
    }
    lines.extend(as_if.iter().map(|a| {
        format!(
            "{}: waits {} instead of {}, the loop {} instead of {} (its queue played again).",
            a.what.text(),
            about_ns(a.wait),
            about_ns(a.measured_wait),
            about_ns(a.time),
            about_ns(a.measured_time)
        )
    }));
    if let Some(off) = rates.off().filter(|o| o.abs() >= ROUGH) {
        let off = off * 100.0;
        lines.push(format!(
            "The model misses the measured step by {off:+.1} %: take its answers as rough."
        ));
    }
    match rates.pace.basis {
        Basis::Median => {}
        Basis::Drained => lines.push(
            "The loop does not wait for the GPU in each step: figures are means, from the end of the GPU work launched before \
             the steps to the end of their own."
                .to_owned(),
        ),
        Basis::CpuMean => lines.push("The steps are uneven: figures are means.".to_owned()),
    }
    if rates.load_from_waits {
        lines.push("The loop loads by itself: its waits stand in for the loading.".to_owned());
    }
    if !rates.handover_known {
        lines.push("The hand-over cost is unknown here (the loop does not wait, or no workers were recorded): a best case.".to_owned());
    }
    if !rates.samples_known {
        lines.push("The batch size is not recorded: rates are in batches.".to_owned());
    }
    if rates.profiled {
        lines.push("Profiled speed is not training speed.".to_owned());
    }
    if doc.analysis.ranks().len() > 1 {
        let rank = doc.scope.unwrap_or(0);
        lines.push(format!("For rank {}.", doc.analysis.ranks()[rank].rank));
    }
    lines.push(LIMITS.to_owned());
    for line in lines {
        ui.label(RichText::new(line).small().color(look.weak));
    }
}
