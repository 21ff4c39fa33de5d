//! The details panel: tabs over tables. Figures come from the analysis; what takes long is made on threads.

use egui::{
    Align, Context, Layout, RichText, Sense, Stroke, Ui, WidgetInfo, accesskit::Role, vec2,
};

use crate::app::model::action::{Action, Actions};
use crate::app::model::document::{Document, Tab};
use crate::app::model::latest::Latest;
use crate::app::model::state::AppState;
use crate::app::widgets::roving::Roving;
use crate::app::widgets::table::{self, Column, Table, TableState};
use crate::app::widgets::table_text;
use crate::model::SpanId;
use crate::time::TimeRange;
use crate::view::Links;

mod copying;
mod inspector;
mod lag;
mod selection;
mod steps;
mod streams;
mod syncs;
mod verdict;
mod waits;
mod whatif;
mod workers;

pub use copying::{Copying, go_on_copying};
pub use inspector::selected_text as copy_span;
pub use selection::{Shown, refresh as refresh_selection, value as selection_json};
use syncs::by_phase;
pub use syncs::queued_by;
pub use verdict::text as verdict_text;
pub use whatif::Question;

/// Width of the panel about the selected span, points.
const INSPECTOR: f32 = 280.0;

/// Work beside the UI thread, one kind per field.
pub struct Jobs {
    /// Links of the span in focus.
    pub links: Latest<SpanId, Links>,
    /// Whose work the synchronising call in focus waits for.
    pub queued: Latest<SpanId, String>,
    /// Percentiles of the selection.
    pub selection: selection::Job,
    /// Batch waits.
    pub waits: waits::Job,
    /// CPU spans by name.
    pub lag: lag::Job,
    /// Steps.
    pub steps: steps::Job,
    /// Loading processes.
    pub workers: workers::Job,
    /// Pairs of streams.
    pub streams: streams::Job,
    /// Synchronising calls.
    pub syncs: syncs::Job,
    /// The verdict.
    pub verdict: verdict::Job,
    /// What-if model.
    pub whatif: whatif::Job,
    /// The selected span.
    pub span: inspector::Job,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            links: Latest::new("stallscope-links"),
            queued: Latest::new("stallscope-queued"),
            selection: Latest::new("stallscope-selection"),
            waits: Latest::new("stallscope-waits"),
            lag: Latest::new("stallscope-lag"),
            steps: Latest::new("stallscope-steps"),
            workers: Latest::new("stallscope-workers"),
            streams: Latest::new("stallscope-streams"),
            syncs: Latest::new("stallscope-syncs"),
            verdict: Latest::new("stallscope-verdict"),
            whatif: Latest::new("stallscope-whatif"),
            span: Latest::new("stallscope-span"),
        }
    }
}

impl Jobs {
    /// Takes what is ready.
    pub fn poll(&mut self) {
        self.links.poll();
        self.queued.poll();
        self.waits.poll();
        self.selection.poll();
        self.lag.poll();
        self.steps.poll();
        self.workers.poll();
        self.streams.poll();
        self.syncs.poll();
        self.verdict.poll();
        self.whatif.poll();
        self.span.poll();
    }

    /// True while what a tab shows is not yet that of the newest question.
    #[must_use]
    pub fn is_computing(&self, tab: Tab) -> bool {
        match tab {
            Tab::Selection => self.selection.is_busy(),
            Tab::Waits => self.waits.is_busy(),
            Tab::Lag => self.lag.is_busy(),
            Tab::Steps => self.steps.is_busy(),
            Tab::Workers => self.workers.is_busy(),
            Tab::Streams => self.streams.is_busy(),
            Tab::Syncs => self.syncs.is_busy(),
            Tab::WhatIf => self.whatif.is_busy(),
            Tab::Verdict => self.verdict.is_busy(),
        }
    }

    /// True while any of them works.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.links.is_busy()
            || self.queued.is_busy()
            || self.waits.is_busy()
            || self.selection.is_busy()
            || self.lag.is_busy()
            || self.steps.is_busy()
            || self.workers.is_busy()
            || self.streams.is_busy()
            || self.syncs.is_busy()
            || self.verdict.is_busy()
            || self.whatif.is_busy()
            || self.span.is_busy()
    }
}

/// What figures are about: the selected range, else the whole trace; and a rank, else all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The time.
    pub range: TimeRange,
    /// Whether the user selected it.
    pub selected: bool,
    /// Index in the analysis's ranks; `None` = all.
    pub rank: Option<usize>,
}

impl Scope {
    /// The scope of tables that are about a range.
    #[must_use]
    pub fn of(doc: &Document) -> Self {
        Self {
            range: doc.range.unwrap_or(doc.trace.extent()),
            selected: doc.range.is_some(),
            rank: doc.scope,
        }
    }

    /// Whether the figures of a tab are about the selected range, without saying so in its headline.
    fn follows(tab: Tab) -> bool {
        match tab {
            Tab::Lag | Tab::Workers | Tab::Streams | Tab::Syncs | Tab::WhatIf => true,
            Tab::Selection | Tab::Waits | Tab::Steps | Tab::Verdict => false,
        }
    }

    /// The only rank in it, by its number.
    #[must_use]
    pub fn number(self, doc: &Document) -> Option<u32> {
        self.rank.map(|r| doc.analysis.ranks()[r].rank)
    }

    /// The ranks in it.
    pub fn ranks(self, doc: &Document) -> impl Iterator<Item = usize> {
        (0..doc.analysis.ranks().len()).filter(move |&r| self.rank.is_none_or(|s| s == r))
    }
}

/// Wakes the window when a job is done.
fn waker(ctx: &Context) -> impl FnOnce() + Send + 'static {
    let ctx = ctx.clone();
    move || ctx.request_repaint()
}

/// Draws the panel.
pub fn details_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
    let rect = ui.available_rect_before_wrap();
    let inspect = state.doc.as_ref().is_some_and(|d| d.span.is_some());
    let wide = rect.width() > 2.2 * INSPECTOR;
    let mut left = rect;
    if inspect && wide {
        left.max.x -= INSPECTOR;
    }
    let mut tabs = ui.new_child(egui::UiBuilder::new().max_rect(left).id_salt("tabs"));
    tabs.set_clip_rect(left.intersect(ui.clip_rect()));
    tabs.spacing_mut().item_spacing.y = 0.0;
    tab_bar_ui(&mut tabs, state, actions);
    let body = tabs.available_rect_before_wrap().shrink2(vec2(12.0, 0.0));
    let mut content = tabs.new_child(egui::UiBuilder::new().max_rect(body).id_salt("tab"));
    content.set_clip_rect(body.expand2(vec2(4.0, 0.0)).intersect(ui.clip_rect()));
    tab_ui(&mut content, state, actions);
    if inspect && wide {
        let right = egui::Rect::from_min_max(egui::pos2(left.right(), rect.top()), rect.max);
        let stroke = Stroke::new(1.0, state.look.line);
        ui.painter().vline(right.left(), right.y_range(), stroke);
        let inner = right.shrink2(vec2(12.0, 8.0));
        let mut side = ui.new_child(egui::UiBuilder::new().max_rect(inner).id_salt("inspector"));
        side.set_clip_rect(right.intersect(ui.clip_rect()));
        inspector::inspector_ui(&mut side, state, actions);
    }
    ui.advance_cursor_after_rect(rect);
}

fn tab_bar_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions) {
    let Some(doc) = &state.doc else {
        return;
    };
    ui.add_space(4.0);
    let width = ui.available_width();
    let wide = width >= 900.0;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        ui.add_space(6.0);
        let at = Tab::ALL.iter().position(|&t| t == doc.tab);
        let roving = Roving::new(ui.ctx(), tab_bar_id(), Tab::ALL.len(), at);
        for (i, tab) in Tab::ALL.into_iter().enumerate() {
            let response = tab_button_ui(ui, state, tab, roving.sense(i), doc.tab == tab);
            if response.clicked() {
                actions.push(Action::ShowTab(tab));
            }
            if let Some(next) = roving.follow(ui, i, &response) {
                actions.push(Action::ShowTab(Tab::ALL[next]));
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.add_space(10.0);
            // Where there is no room, Ctrl+C does it.
            let several = doc.analysis.ranks().len() > 1;
            let room = wide || !several || width >= 720.0;
            if doc.tab != Tab::Verdict && doc.tab != Tab::WhatIf && room {
                let text = if wide { "Copy as TSV" } else { "Copy" };
                let copy = ui.button(text).accessible_name("Copy as TSV");
                if copy.on_hover_text("Copies the table (Ctrl+C)").clicked() {
                    actions.push(Action::CopyTable);
                }
            }
            scope_ui(ui, doc, actions);
            if doc.jobs.is_computing(doc.tab) {
                // What shows below is the answer to an older question.
                ui.label(RichText::new("computing…").small().color(state.look.weak));
            } else if wide && doc.range.is_some() && Scope::follows(doc.tab) {
                ui.label(
                    RichText::new("of the selection")
                        .small()
                        .color(state.look.weak),
                );
            }
        });
    });
    ui.add_space(4.0);
}

fn tab_bar_id() -> egui::Id {
    egui::Id::unique("tab bar")
}

/// Gives the open tab the focus when it is drawn next: the next Tab leads into its table.
pub fn focus_tab(ctx: &Context) {
    Roving::request_focus(ctx, tab_bar_id());
}

fn tab_button_ui(
    ui: &mut Ui,
    state: &AppState,
    tab: Tab,
    sense: Sense,
    active: bool,
) -> egui::Response {
    let font = egui::FontId::proportional(12.5);
    let color = if active {
        state.look.text
    } else {
        state.look.weak
    };
    let galley = ui
        .painter()
        .layout_no_wrap(tab.title().to_owned(), font, color);
    let size = vec2(galley.size().x + 16.0, 24.0);
    let (rect, response) = ui.allocate_exact_size(size, sense);
    response.widget_info(|| WidgetInfo::selected(Role::Tab, true, active, tab.title()));
    if response.hovered() || response.has_focus() {
        let fill = ui.visuals().widgets.hovered.weak_bg_fill;
        ui.painter().rect_filled(rect, 4.0, fill);
    }
    if response.has_focus() {
        table::ring(ui, rect);
    }
    let at = rect.center() - galley.size() / 2.0;
    ui.painter().galley(at, galley, color);
    if active {
        let line = rect.shrink2(vec2(8.0, 0.0)).x_range();
        ui.painter().hline(
            line,
            rect.bottom() - 1.0,
            Stroke::new(2.0, state.look.select),
        );
    }
    response
}

/// All ranks or one of them, where there are several.
fn scope_ui(ui: &mut Ui, doc: &Document, actions: &mut Actions) {
    let ranks = doc.analysis.ranks();
    if ranks.len() < 2 {
        return;
    }
    let text = |r: Option<usize>| match r {
        Some(r) => format!("rank {}", ranks[r].rank),
        None => "all ranks".to_owned(),
    };
    let combo = egui::ComboBox::from_id_salt("scope")
        .selected_text(text(doc.scope))
        .width(64.0)
        .height(320.0);
    let response = combo.show_ui(ui, |ui| {
        for rank in std::iter::once(None).chain((0..ranks.len()).map(Some)) {
            if ui.selectable_label(doc.scope == rank, text(rank)).clicked() {
                actions.push(Action::Scope(rank));
                ui.close();
            }
        }
    });
    response.response.accessible_name("Ranks");
}

fn tab_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
    let Some(tab) = state.doc.as_ref().map(|d| d.tab) else {
        return;
    };
    match tab {
        Tab::Selection => selection::selection_ui(ui, state, actions),
        Tab::Waits => waits::waits_ui(ui, state, actions),
        Tab::Lag => lag::lag_ui(ui, state, actions),
        Tab::Steps => steps::steps_ui(ui, state, actions),
        Tab::Workers => workers::workers_ui(ui, state, actions),
        Tab::Streams => streams::streams_ui(ui, state, actions),
        Tab::Syncs => syncs::syncs_ui(ui, state, actions),
        Tab::WhatIf => whatif::whatif_ui(ui, state, actions),
        Tab::Verdict => verdict::verdict_ui(ui, state, actions),
    }
}

/// A line above a table.
fn caption_ui(ui: &mut Ui, state: &AppState, text: &str) {
    let label = egui::Label::new(RichText::new(text).small().color(state.look.weak));
    ui.add(label.truncate()).on_hover_text(text);
    ui.add_space(4.0);
}

/// Says why there is nothing to show.
fn empty_ui(ui: &mut Ui, state: &AppState, why: &str) {
    ui.add_space(10.0);
    ui.label(RichText::new(why).color(state.look.weak));
}

/// Shown while a job runs for the first time.
fn busy_ui(ui: &mut Ui) {
    ui.add_space(10.0);
    ui.horizontal(|ui| {
        ui.spinner();
        ui.label("Computing…");
    });
}

/// Draws a table of a tab; returns the clicked row.
fn shown_ui(
    ui: &mut Ui,
    doc: &mut Document,
    table: &dyn Table,
    stamp: u64,
    start: TableState,
) -> Option<usize> {
    let tab = doc.tab;
    let mut state = doc.tables.remove(&tab).unwrap_or(start);
    let clicked = table::table_ui(ui, tab.title(), table, &mut state, stamp);
    doc.tables.insert(tab, state);
    clicked
}

/// A table whose cells are made on demand by a function.
struct FnTable<'a> {
    columns: Vec<Column>,
    rows: usize,
    cell: Box<dyn Fn(usize, usize) -> table::Cell<'a> + 'a>,
    swatch: Box<dyn Fn(usize) -> Option<table::Swatch> + 'a>,
    selected: Box<dyn Fn(usize) -> bool + 'a>,
    clickable: bool,
}

impl<'a> FnTable<'a> {
    fn new(
        columns: Vec<Column>,
        rows: usize,
        cell: impl Fn(usize, usize) -> table::Cell<'a> + 'a,
    ) -> Self {
        Self {
            columns,
            rows,
            cell: Box::new(cell),
            swatch: Box::new(|_| None),
            selected: Box::new(|_| false),
            clickable: true,
        }
    }

    fn swatch(mut self, swatch: impl Fn(usize) -> Option<table::Swatch> + 'a) -> Self {
        self.swatch = Box::new(swatch);
        self
    }

    fn selected(mut self, selected: impl Fn(usize) -> bool + 'a) -> Self {
        self.selected = Box::new(selected);
        self
    }

    fn fixed(mut self) -> Self {
        self.clickable = false;
        self
    }
}

impl Table for FnTable<'_> {
    fn columns(&self) -> &[Column] {
        &self.columns
    }
    fn rows(&self) -> usize {
        self.rows
    }
    fn cell(&self, row: usize, column: usize) -> table::Cell<'_> {
        (self.cell)(row, column)
    }
    fn swatch(&self, row: usize) -> Option<table::Swatch> {
        (self.swatch)(row)
    }
    fn is_selected(&self, row: usize) -> bool {
        (self.selected)(row)
    }
    fn clickable(&self) -> bool {
        self.clickable
    }
}

/// Name and content of a file with the selection's figures.
#[must_use]
pub fn selection_file(state: &mut AppState, json: bool) -> Option<(String, String)> {
    let look = state.look.clone();
    let doc = state.doc.as_mut()?;
    let (name, extension) = (
        crate::app::model::picture::file_stem(doc),
        if json { "json" } else { "csv" },
    );
    let text = if json {
        selection::json(doc)
    } else {
        selection::with_table(doc, &look, |t, s| {
            table_text::to_text(t, &mut TableState::default(), s, ',')
        })
    };
    Some((format!("{name}.{extension}"), text?))
}
