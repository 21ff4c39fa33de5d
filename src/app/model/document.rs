//! One open trace and how it is looked at: view, selection, search. Knows no panel.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::causes::Causes;
use super::edits::{Edited, Edits};
use super::search::Search;
use super::settings::{recent_text, user_rules};
use super::walk::Walk;
use crate::analysis::{
    Analysis, Cancelled, Found, GoOn, OnProgress, Options, Rules, StepClass, counted, placed,
};
use crate::import::{ImportReport, Loaded, NoticeKind, Place, Progress, SharedArgs};
use crate::model::{LaneId, LaneKind, Role, SpanId, Trace};
use crate::time::TimeRange;
use crate::view::{
    DensePart, History, LegendEntry, Lod, NodeId, Note, RowState, RowTree, Rows, Stats, Swatch,
    Viewport, Window, dense_part, instants_out_of_view, legend_of,
};

/// What is under the pointer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pointer {
    /// Time, ns.
    pub time: Option<i64>,
    /// Points from the canvas's left edge.
    pub x: Option<f32>,
    /// Name of the lane.
    pub lane: Option<String>,
    /// The group or lane.
    pub node: Option<NodeId>,
    /// A span drawn by itself.
    pub span: Option<SpanId>,
}

/// A drag on the canvas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gesture {
    /// None goes on.
    #[default]
    None,
    /// The range from this time to the pointer is being selected.
    Range(i64),
    /// The view is being moved.
    Pan,
    /// A lane or group is being moved among those beside it.
    Lane(NodeId),
}

/// What a context menu is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Menu {
    /// A span.
    Span(SpanId),
    /// A group or lane.
    Node(NodeId),
    /// The selection or the view.
    View,
}

/// An animated move of the view.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// Where it began.
    pub from: Window,
    /// Where it ends.
    pub to: Window,
    /// When it began, seconds of egui's clock.
    pub begun: f64,
}

/// Which of the two selections is meant where both are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Latest {
    /// The range.
    #[default]
    Range,
    /// The span.
    Span,
}

/// Where the time that figures are about comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focused {
    /// The selected range.
    Range,
    /// The selected span.
    Span,
    /// Nothing is selected: what shows.
    View,
}

/// One open trace.
pub struct Document {
    /// What was opened.
    pub paths: Vec<PathBuf>,
    /// Keys of lanes that the user made loops.
    pub loops: Vec<String>,
    /// Key of its content, for the remembered view.
    pub key: String,
    /// Short name for the window.
    pub name: String,
    /// The timeline.
    pub trace: Arc<Trace>,
    /// Its analysis; that with the causes of waits once they are known.
    pub analysis: Arc<Analysis>,
    /// What works them out.
    pub causes: Causes,
    /// Groups and lanes.
    pub tree: Arc<RowTree>,
    /// What the user did to them.
    pub row_state: RowState,
    /// Marks of the user, by start.
    pub notes: Arc<[Note]>,
    /// What the user did to lanes and marks.
    pub edits: Edits,
    /// The rows that show.
    pub rows: Rows,
    /// What happened while it was read.
    pub report: ImportReport,
    /// A bundled sample: not for the Recent list.
    pub is_sample: bool,
    /// How long opening took, s.
    pub seconds: f64,
    /// Time against pixels.
    pub viewport: Viewport,
    /// Views before and after this one.
    pub history: History,
    /// A move that is being animated.
    pub moving: Option<Move>,
    /// Lanes are scrolled by this, points.
    pub scroll: f32,
    /// Pinned lanes are scrolled by this, points.
    pub pinned_scroll: f32,
    /// The overlap band is scrolled by this, points.
    pub band_scroll: f32,
    /// Height of the part of the window that lanes scroll in, points.
    pub lanes_height: f32,
    /// Where the canvas was drawn last, points: left, top, right, bottom.
    pub canvas: [f32; 4],
    /// A drag that goes on.
    pub gesture: Gesture,
    /// What the open context menu is about.
    pub menu: Option<Menu>,
    /// Selected range.
    pub range: Option<TimeRange>,
    /// Selected span.
    pub span: Option<SpanId>,
    /// Which of them was selected last.
    pub latest: Latest,
    /// Under the pointer.
    pub pointer: Pointer,
    /// When a command ran last, seconds of egui's clock: what rests under the pointer since then is not pointed at.
    pub commanded: f64,
    /// Search box and hits.
    pub search: Search,
    /// Exposed waits.
    pub walk: Walk,
    /// Where in the chain below a wait the selected span is: index in [`Analysis::waits`], and its place below it from 0.
    pub chain: Option<(usize, usize)>,
    /// All roles but this one are dimmed by the legend.
    pub only: Option<Swatch>,
    /// Index in [`Analysis::ranks`] of the rank that tables are about; `None` = all.
    pub scope: Option<usize>,
    /// Where nearly all spans are, where few others stretch the axis.
    pub dense: Option<DensePart>,
    /// Reads args of spans; not for the UI thread.
    pub args: Arc<SharedArgs>,
    /// What the last frame's level of detail did.
    pub stats: Stats,
    /// What the colours mean that occur.
    pub legend: Vec<LegendEntry>,
}

/// The built-in rules, after those of the user's file, if there is one. That it is in force becomes a notice, as the
/// command line does not read it; so do mistakes in it.
fn rules(own: Option<(PathBuf, io::Result<String>)>, report: &mut ImportReport) -> Rules {
    let Some((file, text)) = own else {
        return Rules::builtin();
    };
    if text.is_ok() {
        report.note(NoticeKind::Info, "own_rules", None, None, || {
            let file = file.display();
            format!("Layer rules of {file} are in force. Commands use them with --rules only.")
        });
    }
    let text = text.unwrap_or_else(|error| {
        let message = || format!("{} cannot be read: {error}.", file.display());
        report.note(NoticeKind::Skipped, "rules_unread", None, None, message);
        String::new()
    });
    let (rules, problems) = Rules::parse(&text, &file.display().to_string());
    for problem in problems {
        let place = Some(Place::Line(problem.line as u64));
        report.note(NoticeKind::Skipped, "rule_wrong", None, place, || {
            format!("A layer rule was left out: {problem}")
        });
    }
    rules
}

/// Says how many instants no view shows.
fn note_instants(trace: &Trace, lod: &Lod, report: &mut ImportReport) {
    let count = instants_out_of_view(trace, lod);
    let text = || "Instants before the first or after the last span are not shown.".to_owned();
    report.note_many(NoticeKind::Info, "instants_outside", None, count, &[], text);
}

/// The analysis of an open trace with steps of a class.
///
/// # Errors
/// When `go_on` said no.
pub(super) fn analysed(
    trace: &Arc<Trace>,
    args: &SharedArgs,
    loops: &[String],
    steps: Option<StepClass>,
    go_on: OnProgress<'_>,
) -> Result<Arc<Analysis>, Cancelled> {
    // What is wrong in them was said when the trace was opened.
    let rules = rules(user_rules(), &mut ImportReport::default());
    let of_user = |&l: &LaneId| loops.contains(&trace.lane(l).key);
    let options = Options {
        loop_lanes: trace.lane_ids().filter(of_user).collect(),
        steps,
        ..Options::default()
    };
    let arg = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        args.each(spans, go_on, found);
    };
    Analysis::with_args(Arc::clone(trace), &rules, &options, &arg, go_on).map(Arc::new)
}

impl Document {
    /// Takes the causes of waits, if they are known since the last call, and sees to it that they will be; `wake` is
    /// called then.
    pub fn poll_causes(&mut self, wake: impl FnOnce() + Send + 'static) {
        if let Some(analysis) = self.causes.poll(&self.analysis, &self.args, wake) {
            self.analysis = analysis;
        }
    }

    /// Analyses a trace and prepares it for drawing; the causes of its waits come later: see `Causes`. Takes its time: not
    /// for the UI thread. `loops`: keys of lanes that are loops because the user says so; a key that no lane has is passed
    /// over.
    ///
    /// # Errors
    /// When `progress` was cancelled.
    pub fn new(
        paths: Vec<PathBuf>,
        key: String,
        loaded: Loaded,
        loops: &[String],
        progress: &Progress,
    ) -> Result<Self, Cancelled> {
        let Loaded { trace, mut report } = loaded;
        let rules = rules(user_rules(), &mut report);
        report.sort();
        let trace = Arc::new(trace);
        let go_on = |_thousandths: u32| !progress.is_cancelled();
        let unplaced = SharedArgs::new(Arc::clone(&trace));
        let arg = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
            unplaced.each(spans, go_on, found);
        };
        let trace = placed(trace, &rules, &arg, &|| !progress.is_cancelled());
        drop(unplaced);
        let args = Arc::new(SharedArgs::new(Arc::clone(&trace)));
        let arg = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
            args.each(spans, go_on, found);
        };
        let of_user = |&l: &LaneId| loops.contains(&trace.lane(l).key);
        let options = Options {
            loop_lanes: trace.lane_ids().filter(of_user).collect(),
            ..Options::default()
        };
        let analysis =
            Analysis::without_causes(Arc::clone(&trace), &rules, &options, &arg, &go_on)?;
        let analysis = Arc::new(analysis);
        let lod = Arc::new(Lod::build_while(&trace, &analysis, &go_on)?);
        let tree = Arc::new(RowTree::new_while(&trace, &analysis, lod, &go_on)?);
        note_instants(&trace, tree.lod(), &mut report);
        let row_state = RowState::default();
        let legend = legend_of(&trace, &analysis);
        let (name, _) = recent_text(&paths);
        Ok(Self {
            paths,
            loops: loops.to_vec(),
            key,
            name,
            viewport: Viewport::new(trace.extent(), 1_000.0),
            history: History::new(),
            moving: None,
            scroll: 0.0,
            pinned_scroll: 0.0,
            band_scroll: 0.0,
            lanes_height: 400.0,
            canvas: [0.0; 4],
            gesture: Gesture::None,
            menu: None,
            range: None,
            span: None,
            latest: Latest::default(),
            pointer: Pointer::default(),
            commanded: f64::NEG_INFINITY,
            search: Search::default(),
            walk: Walk::new(&analysis, None),
            chain: None,
            only: None,
            scope: None,
            dense: dense_part(&trace),
            args,
            stats: Stats::default(),
            report,
            is_sample: false,
            seconds: 0.0,
            legend,
            rows: Rows::new(Arc::clone(&tree), &row_state),
            row_state,
            notes: Arc::default(),
            edits: Edits::default(),
            tree,
            analysis,
            causes: Causes::default(),
            trace,
        })
    }

    /// Changes what shows of the lane tree.
    pub fn change_rows(&mut self, change: impl FnOnce(&mut RowState, &RowTree)) {
        let before = self.edited();
        change(&mut self.row_state, &self.tree);
        self.rows = Rows::new(Arc::clone(&self.tree), &self.row_state);
        let after = self.edited();
        self.edits.changed(before, &after);
    }

    /// Changes the marks.
    pub fn change_notes(&mut self, change: impl FnOnce(&mut Vec<Note>)) {
        let before = self.edited();
        let mut notes = self.notes.to_vec();
        change(&mut notes);
        notes.sort();
        self.notes = notes.into();
        let after = self.edited();
        self.edits.changed(before, &after);
    }

    fn edited(&self) -> Edited {
        Edited {
            rows: self.row_state.clone(),
            notes: Arc::clone(&self.notes),
        }
    }

    /// Takes the last change of lanes and marks back, or does it again.
    pub fn undo(&mut self, back: bool) {
        let now = self.edited();
        if let Some(then) = self.edits.step(back, now) {
            self.notes = then.notes;
            self.row_state = then.rows;
            self.rows = Rows::new(Arc::clone(&self.tree), &self.row_state);
        }
    }

    /// The loops that the user has chosen once a lane is the loop of its rank too, or once it no longer is; `None` where
    /// the lane can be none: it is no thread of a training process.
    #[must_use]
    pub fn loops_with(&self, lane: LaneId) -> Option<Vec<String>> {
        let info = self.trace.lane(lane);
        let main = info.kind == LaneKind::Cpu && self.analysis.role(lane) == Role::Main;
        let rank = self.analysis.lane_rank(lane).filter(|_| main)?;
        let key_of = |l: &LaneId| &self.trace.lane(*l).key;
        let of_rank = self.analysis.identity().lanes_of(rank);
        let mut loops = self.loops.clone();
        loops.retain(|key| !of_rank.iter().any(|l| key_of(l) == key));
        if !self.loops.contains(&info.key) {
            loops.push(info.key.clone());
        }
        Some(loops)
    }

    /// Opens or closes a group.
    pub fn toggle(&mut self, node: NodeId) {
        self.change_rows(|rows, tree| rows.toggle(tree, node));
    }

    /// Pins or unpins a lane.
    pub fn toggle_pin(&mut self, node: NodeId) {
        self.change_rows(|rows, tree| rows.toggle_pin(tree, node));
    }

    /// Hides all lanes but those of a group or lane.
    pub fn show_only(&mut self, node: NodeId) {
        self.change_rows(|rows, tree| rows.show_only(tree, node));
    }

    /// Closes or opens every group.
    pub fn collapse_all(&mut self, collapsed: bool) {
        self.change_rows(|rows, tree| {
            for id in tree.ids().filter(|&id| !tree.node(id).children.is_empty()) {
                rows.set_collapsed(tree, id, collapsed);
            }
        });
    }

    /// Makes tables and the walk through the waits about one rank, or all.
    pub fn set_scope(&mut self, rank: Option<usize>) {
        let current = self.walk.current();
        self.scope = rank;
        self.walk = Walk::new(&self.analysis, rank);
        if let Some(wait) = current {
            self.walk.set(wait);
        }
    }

    /// Selects a span, or none.
    pub fn select_span(&mut self, span: Option<SpanId>) {
        self.span = span;
        if span.is_some() {
            self.latest = Latest::Span;
        }
    }

    /// Selects a range inside the trace; an empty one is none.
    pub fn select_range(&mut self, range: Option<TimeRange>) {
        let inside = range.map(|r| r.clip(self.trace.extent()));
        self.range = inside.filter(|r| !r.is_empty());
        if self.range.is_some() {
            self.latest = Latest::Range;
        }
    }

    /// What was selected last of a range and a span, and what is left of them.
    #[must_use]
    pub fn selected(&self) -> Option<(TimeRange, Focused)> {
        let range = self.range.map(|r| (r, Focused::Range));
        let spans = self.trace.spans();
        let span = self.span.map(|s| (spans.range(s), Focused::Span));
        match self.latest {
            Latest::Range => range.or(span),
            Latest::Span => span.or(range),
        }
    }

    /// What figures are about: what was selected last, else what shows of the trace.
    #[must_use]
    pub fn focus_range(&self) -> (TimeRange, Focused) {
        let shown = || self.viewport.range().clip(self.trace.extent());
        // Figures of no time say nothing.
        let selected = self.selected().filter(|(range, _)| !range.is_empty());
        selected.unwrap_or_else(|| (shown(), Focused::View))
    }

    /// What was opened, for the tooltip of its name.
    #[must_use]
    pub fn about(&self) -> String {
        let mut lines: Vec<String> = self
            .paths
            .iter()
            .take(8)
            .map(|p| p.display().to_string())
            .collect();
        if self.paths.len() > 8 {
            lines.push(format!("and {} more", self.paths.len() - 8));
        }
        for source in self.trace.sources().iter().take(8) {
            lines.push(source.producer.clone());
        }
        lines.push(format!(
            "{}, {}, opened in {:.2} s",
            counted(self.trace.spans().len() as u64, "span"),
            counted(self.trace.lanes().len() as u64, "lane"),
            self.seconds
        ));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes of the notices that a rule file gives.
    fn noted(text: io::Result<String>) -> Vec<&'static str> {
        let mut report = ImportReport::default();
        rules(Some((PathBuf::from("rules.toml"), text)), &mut report);
        report.notices.iter().map(|n| n.code).collect()
    }

    #[test]
    fn rules_of_the_user_are_never_in_force_unsaid() {
        let rule = "[[rule]]\nid = \"my\"\nname = 'x'\nlayer = \"fetch\"\n";
        assert_eq!(noted(Ok(rule.to_owned())), ["own_rules"]);
        let wrong = format!("{rule}[[rule]]\nid = \"bad\"\nname = '('\nlayer = \"fetch\"\n");
        assert_eq!(noted(Ok(wrong)), ["own_rules", "rule_wrong"]);
        assert_eq!(noted(Err(io::Error::other("gone"))), ["rules_unread"]);
        let mut report = ImportReport::default();
        rules(None, &mut report);
        assert!(report.notices.is_empty());
    }
}
