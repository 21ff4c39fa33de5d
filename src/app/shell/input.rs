//! Keys and dropped files.

use std::path::PathBuf;

use egui::{Context, Event, Key};

use crate::app::canvas::canvas_id;
use crate::app::dialogs::Dialog;
use crate::app::model::action::{Action, Actions};
use crate::app::model::command::Command;
use crate::app::model::load::Request;
use crate::app::model::state::AppState;
use crate::app::panels::commands;
use crate::app::shell::toolbar::search_id;

/// Turns key presses into commands. While a text field has the focus, keys that write text are left to it.
pub fn keys(ctx: &Context, dialog: Option<&Dialog>, state: &AppState, actions: &mut Actions) {
    let typing = ctx.text_edit_focused();
    let focus = ctx.memory(|m| m.focused());
    let on_widget = focus.is_some_and(|id| id != canvas_id()) && !typing;
    let in_search = focus == Some(search_id());
    let menu_open = egui::Popup::is_any_open(ctx);
    for event in ctx.input(|i| i.events.clone()) {
        match event {
            Event::Copy if !typing => actions.push(Action::Do(Command::Copy)),
            Event::Key {
                key,
                physical_key,
                pressed: true,
                modifiers,
                ..
            } => {
                // A focused button or row takes Enter, Space and arrows itself.
                let for_widget = matches!(
                    key,
                    Key::Enter | Key::ArrowLeft | Key::ArrowRight | Key::ArrowUp | Key::ArrowDown
                ) && !modifiers.any();
                if on_widget && for_widget {
                    continue;
                }
                // Of several commands with a key the one that does something now.
                let can: Vec<Command> = commands()
                    .iter()
                    .copied()
                    .filter(|&c| state.can(c))
                    .collect();
                let Some(command) = Command::for_key(&can, key, physical_key, modifiers, typing)
                else {
                    if typing && key == Key::Escape {
                        leave_text(ctx, in_search || dialog.is_some(), actions);
                    }
                    continue;
                };
                // The first Esc closes an open menu, and only that.
                if command == Command::Clear && menu_open {
                    continue;
                }
                if allowed(dialog, command) {
                    actions.push(Action::Do(command));
                }
            }
            _ => {}
        }
    }
}

/// Esc in a text field: out of the field; in the search box it also clears the search, in a dialog it closes that.
fn leave_text(ctx: &Context, clear: bool, actions: &mut Actions) {
    if let Some(id) = ctx.memory(|m| m.focused()) {
        ctx.memory_mut(|m| m.surrender_focus(id));
    }
    if clear {
        actions.push(Action::Do(Command::Clear));
    }
}

/// Under a dialog only what opens or closes one works.
fn allowed(dialog: Option<&Dialog>, command: Command) -> bool {
    match dialog {
        None => true,
        Some(Dialog::Help(_)) if matches!(command, Command::Help | Command::Guide) => true,
        Some(_) => matches!(
            command,
            Command::Clear
                | Command::Quit
                | Command::ToggleTheme
                | Command::UiLarger
                | Command::UiSmaller
                | Command::UiReset
        ),
    }
}

/// Opens what is dropped on the window.
pub fn drops(ctx: &Context, state: &mut AppState, actions: &mut Actions) {
    let (hovers, paths) = ctx.input(|i| {
        let paths: Vec<PathBuf> = i
            .raw
            .dropped_files
            .iter()
            .map(|f| f.path().to_owned())
            .collect();
        (!i.raw.hovered_files.is_empty(), paths)
    });
    state.drop_hovers = hovers;
    // Where the system does not say where the pointer is, they are opened.
    let height = ctx.content_rect().height();
    let low = ctx
        .input(|i| i.pointer.latest_pos())
        .is_some_and(|p| p.y > height / 2.0);
    state.drop_compares = low && state.doc.is_some();
    if !paths.is_empty() && state.drop_compares {
        actions.push(Action::CloseDialog);
        actions.push(Action::CompareWith(paths));
    } else if !paths.is_empty() {
        actions.push(Action::CloseDialog);
        actions.push(Action::Open(Request {
            paths,
            ..Request::default()
        }));
    }
}
