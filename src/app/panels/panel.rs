//! What a tab of the details panel is, and the kind that most are: a table of figures that are made beside the UI thread.

use egui::{Context, RichText, Ui};
use serde_json::Value;

use crate::analysis::LayerId;
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::app::model::latest::{Job, Latest};
use crate::app::widgets::fn_table::FnTable;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::{Table, TableState, table_ui};
use crate::time::TimeRange;

/// Looks at a table: with its order, and a stamp that changes whenever the figures do.
pub type UseTable<'a> = &'a mut dyn FnMut(&dyn Table, &mut TableState, u64);

/// Whether torch.profiler wrote any of the files: what is said of it alone is said of its traces alone.
#[must_use]
pub fn by_torch(doc: &Document) -> bool {
    let sources = doc.trace.sources().iter();
    let mut torch = sources.filter(|s| s.tracer.key == "torch");
    torch.any(|s| s.producer.contains("torch"))
}

/// Figures are about the whole trace, whatever is selected.
pub const WHOLE: &str = "whole trace";
/// Figures are about the selected range.
pub const RANGE: &str = "selected range";

/// What figures are about that follow the selected range.
#[must_use]
pub fn of_range(doc: &Document) -> &'static str {
    if doc.range.is_some() { RANGE } else { WHOLE }
}

/// A tab of the details panel. It owns what it is asked, its figures and the order of its table, all of one open trace.
pub trait Panel: Send {
    /// Its title, and a line that explains it.
    fn name() -> (&'static str, &'static str)
    where
        Self: Sized;

    /// The work beside the UI thread that makes its figures.
    fn job(&mut self) -> &mut dyn Job;

    /// Draws it.
    fn ui(&mut self, ui: &mut Ui, doc: &Document, look: &Look, actions: &mut Actions);

    /// What its figures are about, in words such as [`WHOLE`] and [`RANGE`].
    fn scope(&self, _doc: &Document) -> &'static str {
        WHOLE
    }

    /// Shows one layer alone from now on; false where it has no such way.
    fn show_layer(&mut self, _layer: LayerId) -> bool {
        false
    }

    /// Whether it is a table.
    fn has_table(&self) -> bool {
        false
    }

    /// Lends its table, once its figures are there.
    fn table(&mut self, _doc: &Document, _look: &Look, _use_it: UseTable<'_>) {}

    /// What is copied of a panel that is no table, and what is said then.
    fn text(&self, _doc: &Document) -> Option<(String, &'static str)> {
        None
    }

    /// Its figures for a file.
    fn json(&mut self, _doc: &Document) -> Option<Value> {
        None
    }
}

/// A panel that is a table of figures; [`Tabular`] makes them, draws and lends the table.
pub trait TablePanel {
    /// The figures.
    type Figures: Send + Sync + 'static;
    /// Its title.
    const TITLE: &'static str;
    /// A line that explains it.
    const ABOUT: &'static str;
    /// Whether the figures are about the selected range, or always about the whole trace.
    const FOLLOWS_RANGE: bool;

    /// Whether figures follow from the causes of waits, which are worked out after the timeline shows.
    const FROM_CAUSES: bool = false;

    /// Why there is nothing to make figures of.
    fn nothing(_doc: &Document) -> Option<&'static str> {
        None
    }

    /// Makes the figures of a scope; what it returns runs on a thread.
    fn make(doc: &Document, scope: Scope) -> impl FnOnce() -> Self::Figures + Send + 'static;

    /// Why there is nothing to show.
    fn empty(_doc: &Document, _figures: &Self::Figures) -> Option<&'static str> {
        None
    }

    /// Draws what stands above the caption.
    fn above_ui(_ui: &mut Ui, _figures: &Self::Figures, _look: &Look, _actions: &mut Actions) {}

    /// The line above the table.
    fn caption(doc: &Document, figures: &Self::Figures) -> String;

    /// The table.
    fn table<'a>(doc: &'a Document, figures: &'a Self::Figures, look: &'a Look) -> FnTable<'a>;

    /// How the table is sorted at first.
    fn order(_doc: &Document) -> TableState {
        TableState::default()
    }

    /// What a click on a row does.
    fn clicked(_figures: &Self::Figures, _row: usize) -> Option<Action> {
        None
    }
}

/// A table of figures that are made on a thread.
pub struct Tabular<P: TablePanel> {
    job: Latest<Scope, P::Figures>,
    /// `None` until the table is drawn.
    order: Option<TableState>,
}

impl<P: TablePanel> Default for Tabular<P> {
    fn default() -> Self {
        Self {
            job: Latest::default(),
            order: None,
        }
    }
}

impl<P: TablePanel> Panel for Tabular<P> {
    fn name() -> (&'static str, &'static str) {
        (P::TITLE, P::ABOUT)
    }

    fn job(&mut self) -> &mut dyn Job {
        &mut self.job
    }

    fn ui(&mut self, ui: &mut Ui, doc: &Document, look: &Look, actions: &mut Actions) {
        if let Some(why) = P::nothing(doc) {
            empty_ui(ui, look, why);
            return;
        }
        if P::FROM_CAUSES && waits_for_causes(ui, doc) {
            return;
        }
        let mut scope = Scope::of(doc);
        if !P::FOLLOWS_RANGE {
            (scope.range, scope.selected) = (doc.trace.extent(), false);
        }
        let make = P::make(doc, scope);
        self.job.request(scope, make, waker(ui.ctx()));
        let Some(figures) = self.job.last().cloned() else {
            busy_ui(ui);
            return;
        };
        if let Some(why) = P::empty(doc, &figures) {
            empty_ui(ui, look, why);
            return;
        }
        P::above_ui(ui, &figures, look, actions);
        caption_ui(ui, look, &P::caption(doc, &figures));
        self.table(doc, look, &mut |table, order, stamp| {
            let row = table_ui(ui, P::TITLE, table, order, stamp);
            actions.extend(row.and_then(|row| P::clicked(&figures, row)));
        });
    }

    fn scope(&self, doc: &Document) -> &'static str {
        if P::FOLLOWS_RANGE {
            of_range(doc)
        } else {
            WHOLE
        }
    }

    fn has_table(&self) -> bool {
        true
    }

    fn table(&mut self, doc: &Document, look: &Look, use_it: UseTable<'_>) {
        if let Some(figures) = self.job.last() {
            let order = self.order.get_or_insert_with(|| P::order(doc));
            let table = P::table(doc, figures, look);
            use_it(&table, order, self.job.stamp());
        }
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

    /// The only rank in it, by its number.
    #[must_use]
    pub fn number(self, doc: &Document) -> Option<u32> {
        self.rank.map(|r| doc.analysis.ranks()[r].rank)
    }

    /// The ranks in it.
    pub fn ranks(self, doc: &Document) -> impl Iterator<Item = usize> + use<> {
        (0..doc.analysis.ranks().len()).filter(move |&r| self.rank.is_none_or(|s| s == r))
    }
}

/// Wakes the window when a job is done.
pub fn waker(ctx: &Context) -> impl FnOnce() + Send + 'static {
    let ctx = ctx.clone();
    move || ctx.request_repaint()
}

/// A line above a table.
pub fn caption_ui(ui: &mut Ui, look: &Look, text: &str) {
    let label = egui::Label::new(RichText::new(text).small().color(look.weak));
    ui.add(label.truncate()).on_hover_text(text);
    ui.add_space(4.0);
}

/// Says why there is nothing to show.
pub fn empty_ui(ui: &mut Ui, look: &Look, why: &str) {
    ui.add_space(10.0);
    ui.label(RichText::new(why).color(look.weak));
}

/// Says so, and returns true, while the causes of waits are being worked out.
pub fn waits_for_causes(ui: &mut Ui, doc: &Document) -> bool {
    let waits = !doc.analysis.causes_known();
    if waits {
        busy_ui(ui);
    }
    waits
}

/// Shown while a job runs for the first time.
pub fn busy_ui(ui: &mut Ui) {
    ui.add_space(10.0);
    ui.horizontal(|ui| {
        ui.spinner();
        ui.label("Computing…");
    });
}
