//! The Steps tab: a stacked bar and a row per step.

use egui::{Ui, vec2};
use egui_plot::{AxisHints, Bar, BarChart, Plot};

use super::panel::{Scope, TablePanel, by_torch};
use super::rows;
use crate::analysis::{ColumnSummary, Pace, StepRow};
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::look::{color, mix};
use crate::columns::{Column, STEP, is_empty_phase};
use crate::time::{TimeRange, Unit, about_ns};
use crate::view::Swatch;

/// Height of the bars, points.
const CHART: f32 = 96.0;
/// Bars that are drawn; of longer runs neighbours are joined.
const MAX_BARS: usize = 400;

/// A few steps do not fill the chart.
const MIN_BARS: f64 = 12.0;

const NONE: &str = "No steps found: no spans that are named as steps, and no fetch spans to derive them from. Mark steps with \
    ranges, or name your own in a rule.";
const NONE_OF_TORCH: &str = "No steps found: no ProfilerStep, NVTX or step spans, and no fetch spans to derive them from. \
    Give torch.profiler a schedule and call prof.step(), or mark steps with an NVTX range.";

/// Columns.
const WIDTHS: &str = "short=130 rank=46 time=100 wait=100 wait_exposed=96 wait_hidden=96 gpu_busy=100 gpu_idle=96 launched=100 \
    n_ops=80 in_sync=96 first_kernel=96 gpu_lag=96 h2d=96 forward=96 backward=96 optimizer=96 compute=96 comm=96 checkpoint=96 eval=96 gc=96 \
    compile=96 log=96 loader=96 other=96";

/// The tab.
pub struct StepsPanel;

/// Steps of the ranks in scope, and what the bars show of them.
pub struct Steps {
    rows: Vec<StepRow>,
    /// One of the ranks has a GPU.
    gpu: bool,
    summary: String,
    /// Keys of phases that none of them has.
    empty: Vec<&'static str>,
    bars: Vec<Group>,
}

/// One bar: a step, or neighbours where there are more than bars. Means, ns.
struct Group {
    range: TimeRange,
    wait: f64,
    busy: f64,
    other: f64,
}

impl TablePanel for StepsPanel {
    type Figures = Steps;
    const TITLE: &'static str = "Steps";
    const ABOUT: &'static str = "One bar and one row per training step.";
    const FOLLOWS_RANGE: bool = false;

    fn make(doc: &Document, scope: Scope) -> impl FnOnce() -> Steps + Send + 'static {
        let analysis = doc.analysis.clone();
        let ranks: Vec<usize> = scope.ranks(doc).collect();
        move || {
            let gpu = ranks.iter().any(|&r| analysis.ranks()[r].gpu.is_some());
            let pace = match ranks[..] {
                [rank] => analysis.pace(&analysis.judged(rank, scope.range)),
                _ => None,
            };
            let rows = ranks
                .into_iter()
                .flat_map(|r| analysis.step_rows(r, scope.range).0);
            let rows: Vec<StepRow> = rows.cloned().collect();
            let empty = STEP.iter().filter(|c| is_empty_phase(c, &analysis, &rows));
            Steps {
                summary: summary(&rows, gpu, pace.as_ref()),
                empty: empty.map(|c| c.key).collect(),
                bars: bars(&rows, gpu),
                gpu,
                rows,
            }
        }
    }

    fn empty(doc: &Document, steps: &Steps) -> Option<&'static str> {
        let why = if by_torch(doc) { NONE_OF_TORCH } else { NONE };
        steps.rows.is_empty().then_some(why)
    }

    fn above_ui(ui: &mut Ui, steps: &Steps, look: &Look, actions: &mut Actions) {
        // In a low panel the rows go before the bars.
        if ui.available_height() >= CHART + 90.0
            && let Some(range) = chart_ui(ui, &steps.bars, steps.gpu, look)
        {
            actions.push(Action::ZoomToRange(range));
        }
    }

    fn caption(_doc: &Document, steps: &Steps) -> String {
        steps.summary.clone()
    }

    fn table<'a>(doc: &'a Document, steps: &'a Steps, _look: &'a Look) -> FnTable<'a> {
        let (rows, range) = (&steps.rows, doc.range);
        let keep = |c: &Column<StepRow>| !steps.empty.contains(&c.key);
        rows::table_of(&doc.analysis, STEP, WIDTHS, keep, rows.len(), |i| &rows[i])
            .selected(move |row| range == Some(rows[row].range))
    }

    fn clicked(steps: &Steps, row: usize) -> Option<Action> {
        Some(Action::ZoomToRange(steps.rows[row].range))
    }
}

/// What a step takes; sum, median, 95th percentile and maximum of step time and of exposed wait (of all wait where no GPU is
/// known).
fn summary(rows: &[StepRow], gpu: bool, pace: Option<&Pace>) -> String {
    let times = ColumnSummary::of(rows.iter().map(StepRow::time));
    let waits = |r: &StepRow| if gpu { r.wait_exposed } else { r.wait };
    let waits = ColumnSummary::of(rows.iter().filter_map(waits));
    let text = |ns: Option<i64>| ns.map_or("–".to_owned(), about_ns);
    let what = if gpu { "exposed wait" } else { "batch wait" };
    let of_waits = if waits.max.is_some() {
        format!(
            "{what} {} in all, median {}, p95 {}",
            text(waits.sum),
            text(waits.median),
            text(waits.p95)
        )
    } else {
        "batch waits not recorded".to_owned()
    };
    let pace = pace.map_or_else(String::new, |p| {
        let why = p
            .instead_of_median()
            .map_or_else(String::new, |w| format!(" ({w})"));
        format!("{} a step{why} · ", about_ns(p.per_step()))
    });
    format!(
        "{} step{} · {pace}CPU step median {}, p95 {}, max {} · {of_waits}",
        rows.len(),
        if rows.len() == 1 { "" } else { "s" },
        text(times.median),
        text(times.p95),
        text(times.max),
    )
}

/// The bars: steps, or groups of neighbours of one rank where there are more than fit.
fn bars(rows: &[StepRow], known: bool) -> Vec<Group> {
    let per_bar = rows.len().div_ceil(MAX_BARS).max(1);
    let group = |g: &[StepRow]| {
        let mean = |f: &dyn Fn(&StepRow) -> Option<i64>| {
            let all = g.iter().map(|r| f(r).unwrap_or(0) as f64);
            all.sum::<f64>() / g.len() as f64
        };
        let wait = mean(&|r| if known { r.wait_exposed } else { r.wait });
        let busy = mean(&|r| r.gpu_busy.filter(|_| known));
        Group {
            range: TimeRange::new(
                g.iter().map(|r| r.range.start).min().unwrap_or(0),
                g.iter().map(|r| r.range.end).max().unwrap_or(0),
            ),
            wait,
            busy,
            other: (mean(&|r| Some(r.time())) - wait - busy).max(0.0),
        }
    };
    let ranks = rows.chunk_by(|a, b| a.rank == b.rank);
    let bars: Vec<Group> = ranks
        .flat_map(|rank| rank.chunks(per_bar))
        .map(group)
        .collect();
    // Thousands of ranks with a few steps each: a bar holds several ranks then.
    if bars.len() > 2 * MAX_BARS {
        return rows.chunks(per_bar).map(group).collect();
    }
    bars
}

/// Exposed wait, GPU busy and the rest, stacked. Returns the range of a clicked bar.
fn chart_ui(ui: &mut Ui, groups: &[Group], known: bool, look: &Look) -> Option<TimeRange> {
    let height = |g: &Group| g.wait + g.busy + g.other;
    let longest = groups.iter().map(height).fold(1.0, f64::max);
    let unit = Unit::for_length(longest as i64);
    let scale = 1.0 / unit.ns() as f64;
    let bars = |fill: egui::Color32, f: &dyn Fn(&Group) -> f64| -> Vec<Bar> {
        let bar = |(i, g): (usize, &Group)| {
            Bar::new(i as f64, f(g) * scale)
                .width(0.86)
                .fill(fill)
                .stroke(egui::Stroke::NONE)
        };
        groups.iter().enumerate().map(bar).collect()
    };
    let theme = &look.theme;
    let rest = mix(look.panel, look.text, 0.25);
    let wait = color(theme.swatch(Swatch::Wait));
    let gpu = color(theme.swatch(Swatch::GpuCompute));
    let first_name = if known { "exposed wait" } else { "batch wait" };
    let first = BarChart::new(first_name, bars(wait, &|g| g.wait)).color(wait);
    let second = BarChart::new("GPU busy", bars(gpu, &|g| g.busy))
        .color(gpu)
        .stack_on(&[&first]);
    let third = BarChart::new("other", bars(rest, &|g| g.other))
        .color(rest)
        .stack_on(&[&first, &second]);
    let symbol = unit.symbol();
    let step = mark_step(longest * scale);
    let decimals = if step < 1.0 { 1 } else { 0 };
    let response = Plot::new("steps chart")
        .height(CHART)
        .width(ui.available_width())
        .show_axes([false, true])
        .show_grid([false, true])
        .show_x(false)
        .allow_zoom(false)
        .allow_drag(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .show_background(false)
        .set_margin_fraction(vec2(0.01, 0.12))
        .include_y(0.0)
        .include_x(MIN_BARS)
        .y_grid_spacer(egui_plot::uniform_grid_spacer(move |_| {
            [step * 4.0, step * 2.0, step]
        }))
        .custom_y_axes(vec![
            AxisHints::new_y()
                .label_spacing(10.0..=14.0)
                .formatter(move |mark, _| format!("{:.decimals$} {symbol}", mark.value)),
        ])
        .show(ui, |plot| {
            plot.bar_chart(first);
            if known {
                plot.bar_chart(second);
            }
            plot.bar_chart(third);
            plot.pointer_coordinate().map(|p| p.x)
        });
    response.response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::accesskit::Role::Image, true, "Steps as stacked bars")
    });
    let clicked = response.response.clicked();
    let at = response.inner.filter(|_| clicked)?.round();
    let group = groups.get(if at >= 0.0 { at as usize } else { return None })?;
    Some(group.range)
}

/// Distance of the marks beside the bars: 1, 2 or 5 times a power of ten, three or four of them.
fn mark_step(longest: f64) -> f64 {
    let raw = (longest / 3.0).max(0.1);
    let power = 10_f64.powf(raw.log10().floor());
    let digit = match raw / power {
        d if d < 2.0 => 1.0,
        d if d < 5.0 => 2.0,
        _ => 5.0,
    };
    digit * power
}
