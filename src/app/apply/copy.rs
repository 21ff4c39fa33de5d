//! What leaves the window: texts for the clipboard, pictures and tables for files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::Context;

use super::remember::look;
use super::window::App;
use crate::app::dialogs::Dialog;
use crate::app::model::picker::{Ask, Made, Make, Picker};
use crate::app::model::picture::{self, Source};
use crate::app::model::settings::rules_file;
use crate::app::model::trimmed::Window;
use crate::export::png::{SIGNATURE, suggested_name};
use crate::import::Progress;
use crate::output;
use crate::session::{self, Kept, Session};

impl App {
    /// Opens a file dialog, or writes a file, on a thread; one at a time.
    pub(super) fn pick(&mut self, ctx: &Context, ask: Ask) {
        if self.state.picker.is_some() {
            self.state.say("A file dialog is already open".to_owned());
            return;
        }
        let wake = ctx.clone();
        self.state.picker = Picker::open(ask, move || wake.request_repaint());
    }

    /// Copies the selected span, else the open table.
    pub(super) fn copy(&mut self, ctx: &Context) {
        let doc = self.state.doc.as_ref();
        match doc.and_then(|doc| self.panels.span_text(doc)) {
            Some(text) => {
                ctx.copy_text(text);
                self.state.say("Span copied".to_owned());
            }
            None => self.copy_table(ctx),
        }
    }

    /// Copies the open table, over several frames where it is long.
    pub(super) fn copy_table(&mut self, ctx: &Context) {
        let doc = self.state.doc.as_ref();
        if let Some((text, said)) = doc.and_then(|doc| self.panels.copy(doc)) {
            ctx.copy_text(text);
            self.state.say(said.to_owned());
        }
        self.go_on_copying(ctx);
    }

    /// Copies on until this frame's time is used up.
    pub(super) fn go_on_copying(&mut self, ctx: &Context) {
        let (doc, look) = (self.state.doc.as_ref(), &self.state.look);
        if let Some(text) = doc.and_then(|doc| self.panels.go_on_copying(doc, look)) {
            ctx.copy_text(text);
            self.state.say("Table copied".to_owned());
        } else if self.panels.is_copying() {
            ctx.request_repaint();
        }
    }

    /// Copies the command line that draws what the window shows.
    pub(super) fn copy_command(&mut self, ctx: &Context) {
        if let Some(doc) = &self.state.doc {
            ctx.copy_text(picture::command_line(doc, &self.state.settings.export));
            self.state.say("Command copied".to_owned());
        }
    }

    /// Writes the table of the selection to a file that the user chooses.
    pub(super) fn export_csv(&mut self, ctx: &Context) {
        let (doc, look) = (self.state.doc.as_ref(), &self.state.look);
        let text = doc.and_then(|doc| self.panels.selection_csv(doc, look));
        self.save_selection(ctx, text, "csv");
    }

    /// Writes the figures of the selection to a file that the user chooses.
    pub(super) fn export_json(&mut self, ctx: &Context) {
        let doc = self.state.doc.as_ref();
        let value = doc.and_then(|doc| self.panels.selection_json(doc));
        let text = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
        self.save_selection(ctx, text, "json");
    }

    fn save_selection(&mut self, ctx: &Context, text: Option<String>, extension: &str) {
        if let (Some(doc), Some(text)) = (&self.state.doc, text) {
            let name = format!("{}.{extension}", picture::file_stem(doc));
            let inputs = self.inputs();
            let make: Make = Box::new(move |path| {
                // Its heading tells an older table of the same kind; the first line of JSON is too short to tell anything.
                let heading = text.lines().next().filter(|line| line.len() > 16);
                spare(path, heading.unwrap_or("").as_bytes(), &inputs)?;
                Ok(Made::one(path, text.into_bytes()))
            });
            self.pick(ctx, Ask::Save(name, make));
        }
    }

    /// Writes the selected range, else what shows, as a trace of its own to a file that the user chooses.
    pub(super) fn save_trimmed(&mut self, ctx: &Context) {
        let Some(doc) = &self.state.doc else {
            return;
        };
        let progress = Arc::new(Progress::new());
        let window = Window::of(doc, Arc::clone(&progress));
        let inputs = self.inputs();
        let name = format!("{}.json.gz", picture::file_stem(doc));
        let make: Make = Box::new(move |path| {
            let made = window.files(path)?;
            // Of two traces in a folder that was read nobody can tell which one may be replaced.
            for (file, _) in &made.files {
                spare(file, b"", &inputs)?;
            }
            Ok(made)
        });
        if self.state.picker.is_none() {
            self.state.saving = Some(progress);
        }
        self.pick(ctx, Ask::Save(name, make));
    }

    /// Stops saving a window.
    pub(super) fn cancel_saving(&mut self) {
        if let Some(saving) = &self.state.saving {
            saving.cancel();
        }
    }

    /// Draws the picture of the open dialog into a file, or into one that the user chooses. A file that is there
    /// already is replaced only if `replace` says so.
    pub(super) fn save_png(&mut self, ctx: &Context, file: Option<PathBuf>, replace: bool) {
        let (Some(doc), Some(Dialog::Export(dialog))) = (&self.state.doc, &self.dialog) else {
            return;
        };
        let source = Source::of(doc);
        let options = picture::options(doc, &dialog.choice, dialog.span, dialog.lanes);
        let name = suggested_name(&picture::first_name(doc), picture::range(doc, dialog.span));
        let inputs = self.inputs();
        let make: Make = Box::new(move |path| {
            let begins: &[u8] = match picture::is_svg(path) {
                true => b"<svg xmlns=",
                false => &SIGNATURE,
            };
            spare(path, begins, &inputs)?;
            let bytes = source.file(path, &options)?;
            Ok(Made::one(path, bytes))
        });
        let ask = match file {
            Some(path) => Ask::Write(path, replace, make),
            None => Ask::Save(name, make),
        };
        self.pick(ctx, ask);
    }
}

impl App {
    /// Writes which traces are open, and how, to a file that the user chooses.
    pub(super) fn save_session(&mut self, ctx: &Context) {
        let Some(doc) = &self.state.doc else {
            return;
        };
        // While they are compared, either of them may be the one whose details show.
        let (after, before) = match &self.state.compared {
            Some(c) if c.details == 0 => (&c.other, Some(doc)),
            Some(c) => (doc, Some(&c.other)),
            None => (doc, None),
        };
        let look = look(after, &self.panels);
        let (files, loops) = (after.paths.clone(), after.loops.clone());
        let before = before.map_or_else(Vec::new, |b| b.paths.clone());
        let mut read = self.inputs();
        // It may be saved again over what was opened.
        read.retain(|path| Some(path) != self.state.session.as_ref());
        let name = format!("{}{}", picture::file_stem(after), session::ENDING);
        let make: Make = Box::new(move |path| {
            spare(path, session::BEGINS, &read)?;
            let folder = path.parent().unwrap_or(Path::new(""));
            let kept = |files: &[PathBuf]| -> Vec<Kept> {
                files.iter().map(|f| Kept::of(f, folder)).collect()
            };
            let session = Session::new(kept(&files), kept(&before), loops, look);
            Ok(Made::one(path, session.text().into_bytes()))
        });
        self.pick(ctx, Ask::Save(name, make));
    }

    /// What the window has read: paths that were opened and what is compared with them, the files found there, all ranks
    /// that were opened one by one, the session, the user's own rules.
    fn inputs(&self) -> Vec<PathBuf> {
        let state = &self.state;
        let other = state.compared.as_ref().map(|c| &c.other);
        let mut inputs = Vec::new();
        for doc in state.doc.iter().chain(other) {
            inputs.extend(doc.paths.iter().cloned());
            inputs.extend(doc.trace.sources().iter().map(|s| s.path.clone()));
        }
        if let Some(ranks) = &state.ranks {
            let files = ranks.all().runs.iter().flat_map(|r| &r.files);
            inputs.extend(ranks.paths.iter().cloned());
            inputs.extend(files.flat_map(|f| f.paths.iter().cloned()));
        }
        inputs.extend(state.session.clone());
        inputs.extend(rules_file());
        inputs
    }
}

/// Refuses to write over what was read; `begins` as in [`output::conflict`].
///
/// # Errors
/// A sentence for the user.
fn spare(path: &Path, begins: &[u8], inputs: &[PathBuf]) -> Result<(), String> {
    match output::conflict(path, begins, inputs.iter().map(PathBuf::as_path)) {
        None => Ok(()),
        Some(conflict) => Err(format!("Not written: {conflict}. Choose another name.")),
    }
}
