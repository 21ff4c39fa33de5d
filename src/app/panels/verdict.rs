//! The Verdict tab: what bounds the training, why, what to look at next, and where it shows.

use egui::{RichText, Ui};

use super::{busy_ui, waker};
use crate::analysis::{Analysis, Evidence, Issue, Severity, Verdict};
use crate::app::action::{Action, Actions};
use crate::app::document::Document;
use crate::app::jobs::Latest;
use crate::app::look::Look;
use crate::app::state::AppState;
use crate::app::table::percent;
use crate::time::{TimeRange, format_ns};

/// Verdicts of a window; the first is the one to show.
pub type Job = Latest<TimeRange, Vec<Verdict>>;

/// Steps below which a verdict is weak.
const FEW_STEPS: usize = 20;

/// The window that is judged: the selection where the user wants that, else the whole trace.
fn window(doc: &Document) -> TimeRange {
    match (doc.judge_selection, doc.range) {
        (true, Some(range)) => range,
        _ => doc.trace.extent(),
    }
}

/// Draws the tab.
pub fn verdict_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
    let look = state.look.clone();
    let Some(doc) = &mut state.doc else {
        return;
    };
    let range = window(doc);
    let analysis = doc.analysis.clone();
    let make = move || analysis.verdicts(range);
    doc.jobs.verdict.request(range, make, waker(ui.ctx()));
    let Some(verdicts) = doc.jobs.verdict.last().cloned() else {
        busy_ui(ui);
        return;
    };
    let doc = &*doc;
    let shown = doc
        .scope
        .and_then(|r| verdicts.iter().find(|v| v.rank == r))
        .or(verdicts.first());
    let Some(verdict) = shown else {
        return;
    };
    egui::ScrollArea::vertical()
        .auto_shrink([false, false])
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 4.0;
            judged_ui(ui, doc, verdict, &look, actions);
            for (i, issue) in verdict.issues.iter().enumerate() {
                issue_ui(ui, doc, issue, i == 0, &look, actions);
            }
            missing_ui(ui, doc, verdict, &look);
            if doc.scope.is_none() {
                others_ui(ui, doc, &verdicts, verdict.rank, &look, actions);
            }
        });
}

/// What was judged, and whether that is little.
fn judged_ui(ui: &mut Ui, doc: &Document, verdict: &Verdict, look: &Look, actions: &mut Actions) {
    ui.horizontal_wrapped(|ui| {
        let ranks = doc.analysis.ranks();
        let rank = if ranks.len() > 1 {
            format!("Rank {} · ", ranks[verdict.rank].rank)
        } else {
            String::new()
        };
        let mut text = format!(
            "{rank}{} of {} steps judged",
            verdict.steady_steps, verdict.steps
        );
        if verdict.partial_steps > 0 {
            text.push_str(&format!(
                " · {} only partly in the window",
                verdict.partial_steps
            ));
        }
        if verdict.steady_steps < FEW_STEPS {
            text.push_str(" · few steps: weak evidence");
        }
        ui.label(RichText::new(text).small().color(look.weak));
        if doc.range.is_some() || doc.judge_selection {
            let mut on = doc.judge_selection;
            if ui
                .checkbox(&mut on, RichText::new("judge the selection").small())
                .changed()
            {
                actions.push(Action::JudgeSelection(on));
            }
        }
    });
}

fn issue_ui(
    ui: &mut Ui,
    doc: &Document,
    issue: &Issue,
    first: bool,
    look: &Look,
    actions: &mut Actions,
) {
    let severe = issue.severity != Severity::Info;
    let color = if severe { look.warning } else { look.text };
    ui.add_space(if first { 2.0 } else { 8.0 });
    let size = if first { 15.0 } else { 13.0 };
    ui.label(
        RichText::new(&issue.text.verdict)
            .size(size)
            .strong()
            .color(color),
    );
    if !issue.text.why.is_empty() {
        ui.label(&issue.text.why);
    }
    if !issue.text.next.is_empty() {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 5.0;
            ui.label(RichText::new("Next:").strong());
            ui.label(&issue.text.next);
        });
    }
    for evidence in &issue.evidence {
        evidence_ui(ui, doc, evidence, look, actions);
    }
}

fn evidence_ui(
    ui: &mut Ui,
    doc: &Document,
    evidence: &Evidence,
    look: &Look,
    actions: &mut Actions,
) {
    ui.horizontal(|ui| {
        let name = doc.trace.span_name(evidence.span);
        let at = format_ns(evidence.range.start);
        let show = ui
            .small_button("Show")
            .accessible_name(format!("Show {name} at {at}"));
        if show.clicked() {
            actions.push(Action::SelectSpan(Some(evidence.span)));
            actions.push(Action::ShowRange(evidence.range));
        }
        let cost = format_ns(evidence.value);
        let text = format!("{cost} at {at} · {name}");
        let label = egui::Label::new(RichText::new(text).color(look.weak));
        ui.add(label.truncate());
    });
}

/// The other ranks in a line each.
fn others_ui(
    ui: &mut Ui,
    doc: &Document,
    verdicts: &[Verdict],
    shown: usize,
    look: &Look,
    actions: &mut Actions,
) {
    let others: Vec<&Verdict> = verdicts.iter().filter(|v| v.rank != shown).collect();
    if others.is_empty() {
        return;
    }
    ui.add_space(10.0);
    ui.label(RichText::new("Other ranks").strong());
    for verdict in others {
        let number = doc.analysis.ranks()[verdict.rank].rank;
        ui.horizontal(|ui| {
            let show = ui.small_button(format!("Rank {number}"));
            if show.on_hover_text("Show this rank alone").clicked() {
                actions.push(Action::Scope(Some(verdict.rank)));
            }
            let text = verdict
                .issues
                .first()
                .map_or("", |i| i.text.verdict.as_str());
            let label = egui::Label::new(RichText::new(text).color(look.weak));
            ui.add(label.truncate()).on_hover_text(text);
        });
    }
}

fn missing_ui(ui: &mut Ui, doc: &Document, verdict: &Verdict, look: &Look) {
    // What the verdict itself says is not said twice.
    let said: Vec<&str> = verdict.issues.iter().map(|i| i.text.why.as_str()).collect();
    let text = |m: &crate::analysis::Missing| doc.analysis.missing_text(verdict.rank, *m);
    let mut missing: Vec<String> = verdict.missing.iter().map(text).collect();
    missing.retain(|text| !said.contains(&text.as_str()));
    if missing.is_empty() {
        return;
    }
    ui.add_space(10.0);
    ui.label(RichText::new("Not recorded").strong());
    for text in missing {
        ui.label(RichText::new(text).color(look.weak));
    }
}

/// The verdict as text.
#[must_use]
pub fn text(doc: &Document) -> Option<String> {
    let verdicts = doc.jobs.verdict.last()?;
    let mut out = String::new();
    for verdict in verdicts.iter() {
        out.push_str(&verdict_text(&doc.analysis, verdict));
    }
    Some(out)
}

fn verdict_text(analysis: &Analysis, verdict: &Verdict) -> String {
    let mut out = format!("Rank {}\n", analysis.ranks()[verdict.rank].rank);
    for issue in &verdict.issues {
        let share = percent(issue.share);
        out.push_str(&format!(
            "{} ({}, {share})\n",
            issue.text.verdict,
            issue.kind.key()
        ));
        out.push_str(&format!("{}\n{}\n", issue.text.why, issue.text.next));
    }
    out
}
