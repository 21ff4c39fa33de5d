//! The marks that the user set: going there, changing and deleting them.

use egui::{Grid, RichText, ScrollArea, Ui};

use super::panel::{Panel, empty_ui};
use crate::app::model::action::{Action, Actions};
use crate::app::model::command::Command;
use crate::app::model::document::Document;
use crate::app::model::latest::{Job, Latest};
use crate::app::widgets::look::Look;
use crate::time::format_ns;
use crate::view::Note;

/// The tab. There is nothing to work out.
#[derive(Default)]
pub struct Marks {
    job: Latest<(), ()>,
}

const NONE: &str =
    "No marks. M sets one at the pointer, or on the selected range; a saved session keeps them.";

/// When a mark is, and how long.
fn when(note: &Note) -> [String; 2] {
    let length = match note.range.is_empty() {
        true => String::new(),
        false => format_ns(note.range.len()),
    };
    [format_ns(note.range.start), length]
}

impl Panel for Marks {
    fn name() -> (&'static str, &'static str) {
        (
            "Marks",
            "Marks on the time axis, with what was written of them.",
        )
    }

    fn job(&mut self) -> &mut dyn Job {
        &mut self.job
    }

    fn ui(&mut self, ui: &mut Ui, doc: &Document, look: &Look, actions: &mut Actions) {
        if doc.notes.is_empty() {
            empty_ui(ui, look, NONE);
            return;
        }
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            let grid = Grid::new("marks").num_columns(5).spacing([14.0, 4.0]);
            grid.show(ui, |ui| {
                for (place, note) in doc.notes.iter().enumerate() {
                    let [at, length] = when(note);
                    let shown = ui.link(&at).on_hover_text("Goes there");
                    if shown.clicked() {
                        actions.push(Action::ShowNote(place));
                    }
                    ui.label(RichText::new(length).color(look.weak));
                    ui.add(egui::Label::new(&note.text).truncate());
                    let edit = ui.small_button("Edit");
                    if edit
                        .accessible_name(format!("Edit the mark at {at}"))
                        .clicked()
                    {
                        actions.push(Action::AskNote(Some(place)));
                    }
                    let delete = ui.small_button("Delete");
                    let tip = format!("Delete the mark at {at}");
                    let delete = delete.on_hover_text(Command::Undo.text());
                    if delete.accessible_name(tip).clicked() {
                        actions.push(Action::DropNote(place));
                    }
                    ui.end_row();
                }
            });
        });
    }
}
