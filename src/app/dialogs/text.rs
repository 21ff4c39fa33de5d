//! A line of text: of a mark, or the name of a lane.

use egui::{Key, TextEdit, Ui};

use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::time::{TimeRange, format_ns};
use crate::view::{NodeId, Note};

/// What the text is for.
enum About {
    /// A mark: the one at this place, else a new one.
    Note(Option<usize>, TimeRange),
    /// The name of a lane or group.
    Lane(NodeId),
}

/// The open dialog.
pub struct TextDialog {
    about: About,
    said: String,
    text: String,
    focused: bool,
}

impl TextDialog {
    /// For a mark: the one at a place, or a new one on the selected range, at the pointer, or in the middle of the view.
    /// `None` where there is no such mark.
    #[must_use]
    pub fn of_note(doc: &Document, place: Option<usize>) -> Option<Self> {
        let old = match place {
            Some(place) => Some(doc.notes.get(place)?),
            None => None,
        };
        let range = old.map(|n| n.range).or(doc.range).unwrap_or_else(|| {
            let visible = doc.viewport.range();
            let middle = visible.start + visible.len() / 2;
            let extent = doc.trace.extent();
            let at = doc.pointer.time.unwrap_or(middle);
            let at = at.clamp(extent.start, extent.end);
            TimeRange::new(at, at)
        });
        let said = match range.is_empty() {
            true => format!("At {}", format_ns(range.start)),
            false => format!("{} – {}", format_ns(range.start), format_ns(range.end)),
        };
        Some(Self {
            about: About::Note(place, range),
            said,
            text: old.map_or(String::new(), |n| n.text.clone()),
            focused: false,
        })
    }

    /// For the name of a lane or group.
    #[must_use]
    pub fn of_lane(doc: &Document, node: NodeId) -> Self {
        Self {
            about: About::Lane(node),
            said: format!(
                "Instead of “{}”; empty: that again",
                doc.tree.node(node).title
            ),
            text: doc.rows.title(node).to_owned(),
            focused: false,
        }
    }

    /// Heading.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self.about {
            About::Note(..) => "Mark",
            About::Lane(_) => "Name of the lane",
        }
    }

    fn action(&self) -> Action {
        let text = self.text.trim().to_owned();
        match self.about {
            About::Note(place, range) => Action::SetNote(place, Note { range, text }),
            About::Lane(node) => Action::Rename(node, text),
        }
    }
}

/// Draws the dialog; true closes it.
pub fn text_ui(ui: &mut Ui, dialog: &mut TextDialog, actions: &mut Actions) -> bool {
    ui.label(&dialog.said);
    let edit = TextEdit::singleline(&mut dialog.text)
        .char_limit(200)
        .desired_width(f32::INFINITY);
    let edit = ui.add(edit).accessible_name("Text");
    if !dialog.focused {
        dialog.focused = true;
        edit.request_focus();
    }
    let entered = edit.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
    let mut close = entered;
    ui.horizontal(|ui| {
        let keep = ui.button("Keep").clicked();
        if keep || entered {
            actions.push(dialog.action());
        }
        if let About::Note(Some(place), _) = dialog.about
            && ui.button("Delete").clicked()
        {
            actions.push(Action::DropNote(place));
            close = true;
        }
        close |= keep | ui.button("Cancel").clicked();
    });
    close
}
