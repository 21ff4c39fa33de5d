//! Several runs were opened together: one of them is looked at.

use std::path::PathBuf;

use egui::{RichText, ScrollArea, Ui};

use crate::analysis::{Identity, Run};
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::app::model::load::Request;
use crate::time::format_ns;

/// Names of sources that a line gives.
const NAMED: usize = 3;

/// The runs to choose from.
pub struct RunsDialog {
    /// Where the user has to choose: the runs.
    pub runs: Vec<Choice>,
}

/// One run.
pub struct Choice {
    /// Its sources and ranks.
    pub title: String,
    /// How long it is, and how far behind the one before.
    pub about: String,
    /// What to open.
    pub paths: Vec<PathBuf>,
}

impl RunsDialog {
    /// For what was opened, where it holds several runs that can be opened each by itself.
    #[must_use]
    pub fn of(doc: &Document) -> Option<Self> {
        let who = doc.analysis.identity();
        if who.runs.len() < 2 {
            return None;
        }
        let runs: Vec<Choice> = (0..who.runs.len()).map(|i| choice(doc, who, i)).collect();
        let alone = |c: &Choice| c.paths.iter().all(|p| p.exists());
        runs.iter().all(alone).then_some(Self { runs })
    }
}

fn choice(doc: &Document, who: &Identity, i: usize) -> Choice {
    let run = &who.runs[i];
    let recordings = run.recordings.iter().map(|&r| &who.recordings[r]);
    let mut names: Vec<String> = recordings.clone().take(NAMED).map(|r| r.name()).collect();
    let more = run.recordings.len().saturating_sub(NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let files = recordings.flat_map(|r| &r.files);
    let before = i.checked_sub(1).map(|i| &who.runs[i]);
    Choice {
        title: format!("{} · {}", names.join(", "), ranks(run)),
        about: about(run, before),
        paths: files.map(|&f| doc.trace.source(f).path.clone()).collect(),
    }
}

fn ranks(run: &Run) -> String {
    match run.ranks.len() {
        0 => "no training process".to_owned(),
        1 => "1 rank".to_owned(),
        n => format!("{n} ranks"),
    }
}

fn about(run: &Run, before: Option<&Run>) -> String {
    let Some(extent) = run.extent else {
        return "nothing drawn".to_owned();
    };
    let behind = before.and_then(|b| extent.start.checked_sub(b.extent?.end));
    let behind = behind.filter(|&gap| gap > 0);
    let behind = behind.map_or(String::new(), |gap| {
        format!(", {} after the one above", format_ns(gap))
    });
    format!("{} long{behind}", format_ns(extent.len()))
}

/// Draws the list; true closes it.
pub fn runs_ui(ui: &mut Ui, dialog: &RunsDialog, actions: &mut Actions) -> bool {
    ui.label("These files are of runs that share no process. Each has its own figures: choose one to look at.");
    let height = (ui.ctx().content_rect().height() - 200.0).max(120.0);
    let mut chosen = false;
    ScrollArea::vertical().max_height(height).show(ui, |ui| {
        for (i, run) in dialog.runs.iter().enumerate() {
            ui.horizontal(|ui| {
                if ui.button(format!("Open run {}", i + 1)).clicked() {
                    let paths = run.paths.clone();
                    actions.push(Action::Open(Request {
                        paths,
                        whole: true,
                        ..Request::default()
                    }));
                    chosen = true;
                }
                ui.vertical(|ui| {
                    ui.label(RichText::new(&run.title).strong());
                    ui.label(RichText::new(&run.about).weak());
                });
            });
        }
    });
    chosen
}
