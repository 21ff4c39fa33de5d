//! Why a trace could not be opened: cause, remedy, path; with the details to copy.

use egui::{RichText, Ui};

use crate::app::model::action::{Action, Actions};
use crate::app::model::load::Request;
use crate::import::{ErrorKind, LoadError};
use crate::session::{NotFound, Session, WhereNow};

/// What the dialog says.
pub enum ErrorDialog {
    /// This could not be opened.
    Failed(LoadError, Request),
    /// A trace of a session is nowhere.
    Lost(Box<Session>, WhereNow),
    /// Something else went wrong: what, and the details.
    Other(String, String),
}

impl ErrorDialog {
    /// Heading.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Failed(e, _) if e.kind == ErrorKind::TooLarge => "This may not fit into memory",
            Self::Failed(..) => "This could not be opened",
            Self::Lost(_, found) if found.files.is_err() => "A trace of this session is not found",
            Self::Lost(..) => "What this session compares with is not found",
            Self::Other(what, _) => what,
        }
    }

    /// The whole text, as Copy details gives it.
    #[must_use]
    pub fn details(&self) -> String {
        let (version, os) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS);
        let what = match self {
            Self::Failed(e, _) => format!("{e}\n({:?})", e.kind),
            Self::Lost(_, found) => format!("{}\n{}", self.title(), lost_text(found)),
            Self::Other(what, details) => format!("{what}\n{details}"),
        };
        format!("Stallscope {version}, {os}\n{what}")
    }

    /// First line.
    #[must_use]
    pub fn cause(&self) -> String {
        match self {
            Self::Failed(e, _) => match e.place {
                Some(place) => format!("{} ({place})", e.cause),
                None => e.cause.clone(),
            },
            Self::Lost(..) => self.title().to_owned(),
            Self::Other(what, _) => what.clone(),
        }
    }
}

/// The first trace that is nowhere.
fn lost_text(found: &WhereNow) -> String {
    let lost = found.files.as_ref().err().or(found.before.as_ref().err());
    lost.map(NotFound::to_string).unwrap_or_default()
}

/// Draws the dialog; true closes it.
pub fn error_ui(ui: &mut Ui, dialog: &ErrorDialog, actions: &mut Actions) -> bool {
    if let ErrorDialog::Failed(..) = dialog {
        ui.label(RichText::new(dialog.cause()).size(14.0));
    }
    match dialog {
        ErrorDialog::Failed(e, _) => {
            ui.label(&e.remedy);
            if let Some(command) = &e.command {
                egui::Frame::new()
                    .fill(ui.visuals().extreme_bg_color)
                    .corner_radius(4.0)
                    .inner_margin(8.0)
                    .show(ui, |ui| {
                        ui.set_width(ui.available_width());
                        ui.label(RichText::new(command).monospace());
                    });
            }
            ui.label(
                RichText::new(e.path.display().to_string())
                    .weak()
                    .monospace(),
            );
        }
        ErrorDialog::Lost(_, found) => {
            ui.label(format!("{}.", lost_text(found)));
            ui.label("Choose it: it is then looked at as the session says.");
        }
        ErrorDialog::Other(_, details) => {
            ui.label(RichText::new(details).weak());
        }
    }
    ui.add_space(6.0);
    ui.horizontal(|ui| buttons_ui(ui, dialog, actions)).inner
}

fn buttons_ui(ui: &mut Ui, dialog: &ErrorDialog, actions: &mut Actions) -> bool {
    if ui.button("Copy details").clicked() {
        actions.push(Action::CopyText(dialog.details(), "Details copied"));
    }
    if let ErrorDialog::Lost(session, found) = dialog {
        let choose = ui.button("Choose the trace…").clicked();
        if choose {
            actions.push(Action::ChooseFor(session.clone(), found.clone()));
        }
        let alone = found.files.is_ok() && ui.button("Open without it").clicked();
        if alone {
            let found = WhereNow {
                before: Ok(Vec::new()),
                ..found.clone()
            };
            actions.push(Action::GoOnWith(session.clone(), found));
        }
        return ui.button("Close").clicked() || choose || alone;
    }
    let ErrorDialog::Failed(e, request) = dialog else {
        return ui.button("Close").clicked();
    };
    if let Some(command) = &e.command
        && ui.button("Copy command").clicked()
    {
        actions.push(Action::CopyText(command.clone(), "Command copied"));
    }
    if e.kind != ErrorKind::TooLarge {
        return ui.button("Close").clicked();
    }
    let anyway = ui.button("Open anyway").clicked();
    if anyway {
        let request = Request {
            anyway: true,
            ..request.clone()
        };
        actions.push(Action::Open(request));
    }
    ui.button("Cancel").clicked() || anyway
}
