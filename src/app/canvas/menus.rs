//! Context menus of the timeline.

use egui::{Response, Ui};

use super::scene::Scene;
use crate::app::model::action::{Action, Actions};
use crate::app::model::command::Command;
use crate::app::model::document::{Document, Menu};
use crate::app::model::state::AppState;
use crate::model::{LaneId, SpanId};
use crate::view::{Hit, NodeId, Target};

/// The menus of canvas and lane names.
pub fn canvas_menus(
    canvas: &Response,
    tree: &Response,
    scene: &Scene<'_>,
    state: &AppState,
    doc: &Document,
    actions: &mut Actions,
) {
    for response in [canvas, tree] {
        if response.secondary_clicked()
            && let Some(at) = response.interact_pointer_pos()
        {
            actions.push(Action::SetMenu(about(scene, doc, at)));
        }
        response.context_menu(|ui| {
            ui.set_min_width(180.0);
            match doc.menu {
                Some(Menu::Span(span)) => span_menu_ui(ui, doc, span, actions),
                Some(Menu::Node(node)) => node_menu_ui(ui, state, doc, node, actions),
                _ => view_menu_ui(ui, state, actions),
            }
        });
    }
}

fn about(scene: &Scene<'_>, doc: &Document, at: egui::Pos2) -> Menu {
    match scene.hit(at) {
        Hit::Mark(m) => Menu::Span(scene.span_of(doc, m)),
        Hit::Target(Target::Wait(w)) => Menu::Span(doc.analysis.waits()[w].span),
        Hit::Target(Target::Tail(t)) => Menu::Span(doc.analysis.tails()[t].span),
        _ => scene.node(at).map_or(Menu::View, Menu::Node),
    }
}

fn item(ui: &mut Ui, text: &str, actions: &mut Actions, make: impl FnOnce() -> Action) {
    if ui.button(text).clicked() {
        actions.push(make());
        ui.close();
    }
}

fn span_menu_ui(ui: &mut Ui, doc: &Document, span: SpanId, actions: &mut Actions) {
    let range = doc.trace.spans().range(span);
    let name = doc.trace.span_name(span);
    let shown: String = name.chars().take(40).collect();
    ui.label(egui::RichText::new(shown).weak());
    item(ui, "Zoom to span", actions, || Action::ViewRange(range));
    item(ui, "Select its range", actions, || {
        Action::SelectRange(Some(range))
    });
    item(ui, "Select span", actions, || {
        Action::SelectSpan(Some(span))
    });
    item(ui, "Copy name", actions, || {
        Action::CopyText(name.to_owned(), "Name copied")
    });
    let id = doc.trace.spans().name(span);
    item(ui, "Find same name", actions, || Action::FindName(id));
    if let Some((leaf, _)) = doc.tree.lod().place(&doc.trace, span) {
        ui.separator();
        node_items_ui(ui, doc, doc.tree.of_leaf(leaf), actions);
    }
}

fn node_menu_ui(
    ui: &mut Ui,
    state: &AppState,
    doc: &Document,
    node: NodeId,
    actions: &mut Actions,
) {
    ui.label(egui::RichText::new(doc.rows.title(node)).weak());
    node_items_ui(ui, doc, node, actions);
    ui.separator();
    view_menu_ui(ui, state, actions);
}

fn node_items_ui(ui: &mut Ui, doc: &Document, node: NodeId, actions: &mut Actions) {
    let info = doc.tree.node(node);
    if let Some((lane, _)) = doc.tree.lane(node) {
        loop_item_ui(ui, doc, lane, actions);
        let pinned = doc.row_state.pinned.contains(&info.key);
        let text = if pinned { "Unpin lane" } else { "Pin lane" };
        item(ui, text, actions, || Action::TogglePin(node));
    } else {
        let collapsed = doc.row_state.is_collapsed(&doc.tree, node);
        let text = if collapsed { "Expand" } else { "Collapse" };
        item(ui, text, actions, || Action::ToggleNode(node));
    }
    item(ui, "Rename…", actions, || Action::AskName(node));
    item(ui, "Move up", actions, || Action::StepLane(node, false));
    item(ui, "Move down", actions, || Action::StepLane(node, true));
    item(ui, "Hide", actions, || Action::HideNode(node));
    let only = doc.row_state.only.as_ref() == Some(&info.key);
    let text = if only {
        "Show all again"
    } else {
        "Show only this lane or group"
    };
    item(ui, text, actions, || Action::ShowOnly(node));
    if let Some(parent) = info.parent.filter(|_| doc.tree.lane(node).is_some()) {
        let title = &doc.tree.node(parent).title;
        let text = format!("Collapse {title}");
        item(ui, &text, actions, || Action::ToggleNode(parent));
    }
}

/// For threads of training processes: makes them the loop, or no longer.
fn loop_item_ui(ui: &mut Ui, doc: &Document, lane: LaneId, actions: &mut Actions) {
    if doc.loops_with(lane).is_none() {
        return;
    }
    let chosen = doc.loops.contains(&doc.trace.lane(lane).key);
    let is_loop = doc.analysis.ranks().iter();
    let is_loop = is_loop.flat_map(|r| &r.loop_lanes).any(|&l| l == lane);
    if chosen || !is_loop {
        let text = match chosen {
            true => "Choose the loop by evidence again",
            false => Command::UseAsLoop.text(),
        };
        item(ui, text, actions, || Action::ToggleLoop(lane));
    }
}

fn view_menu_ui(ui: &mut Ui, state: &AppState, actions: &mut Actions) {
    for command in [
        Command::ZoomToSelection,
        Command::Fit,
        Command::SetMark,
        Command::ShowHidden,
        Command::Compare,
        Command::ExportPng,
        Command::CopyCommand,
    ] {
        let button = egui::Button::new(command.text());
        if ui.add_enabled(state.can(command), button).clicked() {
            actions.push(Action::Do(command));
            ui.close();
        }
    }
}
