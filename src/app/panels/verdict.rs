//! The Verdict tab: what bounds the training, why, what to look at next, and where it shows.

use egui::{RichText, Ui};

use super::panel::{Panel, RANGE, WHOLE, busy_ui, waits_for_causes, waker};
use crate::analysis::{
    Analysis, Evidence, Issue, JobVerdict, Missing, Severity, Verdict, short_name,
};
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::app::model::latest::{Job, Latest};
use crate::app::widgets::look::Look;
use crate::app::widgets::table::percent;
use crate::time::{TimeRange, about_ns, format_ns};

/// What the tab is called.
pub const TITLE: &str = "Verdict";

/// Steps below which a verdict is weak.
const FEW_STEPS: usize = 20;

/// The tab.
#[derive(Default)]
pub struct VerdictPanel {
    /// The verdict is about the selection, not the whole trace.
    of_selection: bool,
    /// The jobs of a window, with the verdicts of their ranks.
    job: Latest<TimeRange, Vec<JobVerdict>>,
}

impl Panel for VerdictPanel {
    fn name() -> (&'static str, &'static str) {
        (
            TITLE,
            "What bounds the training, why, and what to try next.",
        )
    }

    fn job(&mut self) -> &mut dyn Job {
        &mut self.job
    }

    fn ui(&mut self, ui: &mut Ui, doc: &Document, look: &Look, actions: &mut Actions) {
        let range = match (self.of_selection, doc.range) {
            (true, Some(range)) => range,
            _ => doc.trace.extent(),
        };
        if waits_for_causes(ui, doc) {
            return;
        }
        let analysis = doc.analysis.clone();
        let make = move || analysis.jobs(range);
        self.job.request(range, make, waker(ui.ctx()));
        let Some(jobs) = self.job.last().cloned() else {
            busy_ui(ui);
            return;
        };
        egui::ScrollArea::vertical()
            .auto_shrink([false, false])
            .show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 4.0;
                for job in jobs.iter() {
                    match alone(job, doc.scope) {
                        Some(verdict) => {
                            rank_ui(ui, doc, verdict, &mut self.of_selection, look, actions);
                        }
                        None if doc.scope.is_none() => {
                            job_ui(ui, doc, job, &mut self.of_selection, look, actions);
                        }
                        None => {}
                    }
                }
            });
    }

    fn scope(&self, doc: &Document) -> &'static str {
        match (self.of_selection, doc.range) {
            (true, Some(_)) => RANGE,
            _ => WHOLE,
        }
    }

    fn text(&self, doc: &Document) -> Option<(String, &'static str)> {
        let jobs = self.job.last()?.iter();
        let text = jobs.map(|job| job_text(&doc.analysis, job)).collect();
        Some((text, "Verdict copied"))
    }
}

/// The rank of a job that stands for itself: the chosen one, or the only one.
fn alone(job: &JobVerdict, scope: Option<usize>) -> Option<&Verdict> {
    match (scope, &job.ranks[..]) {
        (Some(rank), all) => all.iter().find(|v| v.rank == rank),
        (None, [one]) => Some(one),
        (None, _) => None,
    }
}

/// All that is known of one rank.
fn rank_ui(
    ui: &mut Ui,
    doc: &Document,
    verdict: &Verdict,
    of_selection: &mut bool,
    look: &Look,
    actions: &mut Actions,
) {
    judged_ui(ui, doc, verdict, of_selection, look);
    for (i, issue) in verdict.issues.iter().enumerate() {
        issue_ui(ui, doc, issue, i == 0, look, actions);
    }
    left_out_ui(ui, verdict, look, actions);
    missing_ui(ui, doc, verdict, look);
}

/// The job first, then its ranks in a line each.
fn job_ui(
    ui: &mut Ui,
    doc: &Document,
    job: &JobVerdict,
    of_selection: &mut bool,
    look: &Look,
    actions: &mut Actions,
) {
    ui.horizontal_wrapped(|ui| {
        let run = &doc.analysis.collectives()[job.run];
        let mut parts = vec![format!("{} of {} ranks", job.ranks.len(), job.world)];
        if doc.analysis.collectives().len() > 1 {
            parts.insert(0, format!("Run {}", run.run));
        }
        parts.push(format!("{} collectives matched", job.matched));
        ui.label(RichText::new(parts.join(" · ")).small().color(look.weak));
        select_ui(ui, doc, of_selection);
    });
    let own = job.issues.first().filter(|_| job.compares_ranks());
    let of_rank = || {
        let mut issues = job.ranks.iter().flat_map(|v| &v.issues);
        issues.find(|i| i.kind == job.kind)
    };
    if let Some(issue) = own.or_else(of_rank) {
        let shown = Issue {
            text: job.text.clone(),
            ..issue.clone()
        };
        issue_ui(ui, doc, &shown, true, look, actions);
    }
    for what in &job.missing {
        let text = job.missing_text(&doc.analysis.collectives()[job.run], *what);
        if !job.text.why.contains(&text) {
            ui.label(RichText::new(text).color(look.weak));
        }
    }
    ranks_ui(ui, doc, &job.ranks, look, actions);
}

/// What was judged, and whether that is little.
fn judged_ui(ui: &mut Ui, doc: &Document, verdict: &Verdict, of_selection: &mut bool, look: &Look) {
    ui.horizontal_wrapped(|ui| {
        let ranks = doc.analysis.ranks();
        let rank = match ranks.len() {
            0 | 1 => String::new(),
            _ => format!("Rank {}", ranks[verdict.rank].rank),
        };
        let mut parts = vec![rank, verdict.coverage.trim_end_matches('.').to_owned()];
        if verdict.judged.partial_steps > 0 {
            parts.push(format!(
                "{} only partly in the window",
                verdict.judged.partial_steps
            ));
        }
        if (1..FEW_STEPS).contains(&verdict.judged.len()) {
            parts.push("few steps: weak evidence".to_owned());
        }
        parts.retain(|p| !p.is_empty());
        ui.label(RichText::new(parts.join(" · ")).small().color(look.weak));
        select_ui(ui, doc, of_selection);
    });
}

/// Whether the selection is judged instead of the whole trace.
fn select_ui(ui: &mut Ui, doc: &Document, of_selection: &mut bool) {
    if doc.range.is_some() || *of_selection {
        let text = RichText::new("judge the selection").small();
        if ui.checkbox(of_selection, text).changed() {
            ui.ctx().request_repaint();
        }
    }
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
    // Templates would push the rest out of the line.
    let name = doc.trace.span_name(evidence.span);
    let short = short_name(name).filter(|_| name.contains('<'));
    let name = short.as_deref().unwrap_or(name);
    let len = evidence.range.len();
    // Of a wait that is hidden in part, what it costs is less than what it takes.
    let text = if evidence.value < len {
        format!("of {} · {name}", about_ns(len))
    } else {
        name.to_owned()
    };
    place_ui(ui, evidence, &text, look, actions);
}

/// A place to go to: what it costs, when, what it is.
fn place_ui(ui: &mut Ui, place: &Evidence, text: &str, look: &Look, actions: &mut Actions) {
    ui.horizontal(|ui| {
        let at = format_ns(place.range.start);
        let show = ui
            .small_button("Show")
            .accessible_name(format!("Show {text} at {at}"));
        if show.clicked() {
            actions.push(Action::SelectSpan(Some(place.span)));
            actions.push(Action::ShowRange(place.range));
        }
        let text = format!("{} at {at} · {text}", about_ns(place.value));
        let label = egui::Label::new(RichText::new(text).color(look.weak));
        ui.add(label.truncate());
    });
}

/// The longest wait of a step that was not judged, where it is longer than those that were.
fn left_out_ui(ui: &mut Ui, verdict: &Verdict, look: &Look, actions: &mut Actions) {
    let longest = verdict
        .left_out
        .iter()
        .filter_map(|l| Some((l.place?, l)))
        .max_by_key(|(place, _)| place.range.len());
    let issue = verdict.issues.first();
    let shown = issue.and_then(|i| i.evidence.iter().map(|e| e.range.len()).max());
    let Some((place, left)) = longest.filter(|(p, _)| p.range.len() > shown.unwrap_or(0)) else {
        return;
    };
    ui.add_space(8.0);
    ui.label(RichText::new("Longer, but not judged").strong());
    let why = format!("wait in a {}", left.reason);
    place_ui(ui, &place, &why, look, actions);
}

/// Ranks in a line each.
fn ranks_ui(ui: &mut Ui, doc: &Document, verdicts: &[Verdict], look: &Look, actions: &mut Actions) {
    ui.add_space(10.0);
    ui.label(RichText::new("Ranks").strong());
    for verdict in verdicts {
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
    // Workers that there are not are no gap in the record.
    let alone = doc.analysis.loads_by_itself(verdict.rank);
    let (notes, missing): (Vec<Missing>, Vec<Missing>) = verdict
        .missing
        .iter()
        .partition(|&&m| alone && m == Missing::NoWorkers || !m.is_signal());
    for (heading, kinds) in [("Note", notes), ("Not recorded", missing)] {
        let text = |m: &Missing| doc.analysis.missing_text(verdict.rank, *m);
        let mut texts: Vec<String> = kinds.iter().map(text).collect();
        texts.retain(|text| !said.contains(&text.as_str()));
        if texts.is_empty() {
            continue;
        }
        ui.add_space(10.0);
        ui.label(RichText::new(heading).strong());
        for text in texts {
            ui.label(RichText::new(text).color(look.weak));
        }
    }
}

/// A job as text: its own verdict, where it has several ranks, then theirs.
fn job_text(analysis: &Analysis, job: &JobVerdict) -> String {
    let mut out = String::new();
    if job.ranks.len() > 1 {
        let text = &job.text;
        let kind = job.kind.key();
        out = format!("{} ({kind})\n{}\n{}\n\n", text.verdict, text.why, text.next);
    }
    let ranks = job.ranks.iter().map(|v| verdict_text(analysis, v));
    out.extend(ranks);
    out
}

/// A verdict as text.
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
