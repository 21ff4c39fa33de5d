//! The matrix of many ranks in place of the timeline: who costs whom how much, step by step. A click opens the trace of a
//! rank, a drag those of several.

use std::ops::Range;

use egui::{Button, Id, Rect, Response, RichText, Sense, Ui, WidgetInfo, accesskit::Role, vec2};

use crate::analysis::{LateCause, counted};
use crate::app::model::action::{Action, Actions};
use crate::app::model::command::Command;
use crate::app::model::load::Request;
use crate::app::model::ranks::RanksView;
use crate::app::model::state::AppState;
use crate::paint::{color, paint};
use crate::ranks::RunOfRanks;
use crate::time::{about_ns, format_ns};
use crate::view::{RankOrder, RanksInput, RanksPicture, fitting_row_height, ranks_picture};

/// Least height of a row that fits, so that it can be hit, points.
const LEAST: f32 = 4.0;

/// Draws the matrix into what is left of `ui`.
pub fn ranks_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
    buttons_ui(ui, state, actions);
    let theme = state.look.theme.clone();
    let Some(view) = &mut state.ranks else {
        return;
    };
    let rect = ui.available_rect_before_wrap();
    ui.advance_cursor_after_rect(rect);
    let response = ui.interact(rect, Id::unique("ranks"), Sense::click_and_drag());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0.0, color(theme.panel));
    let Some(run) = view.run() else {
        return;
    };
    let across = &run.across;
    let fits = fitting_row_height(across.rows.len(), rect.height() - 80.0).max(LEAST);
    let row_height = view.row_height.unwrap_or(fits);
    let marked = view.drag.map(|(a, b)| a.min(b)..a.max(b) + 1);
    let picture = ranks_picture(&RanksInput {
        across,
        name: &run.name,
        order: view.order,
        theme: &theme,
        width: rect.width(),
        row_height,
        shows: Some(view.scroll..view.scroll + rect.height()),
        marked,
    });
    // Title and axis stay; the rows go below them.
    let head = picture.matrix.y0;
    let most = (picture.list.size.height - rect.height()).max(0.0);
    let body = Rect::from_min_max(rect.min + vec2(0.0, head), rect.max);
    let scroll = view.scroll.clamp(0.0, most);
    paint(
        &picture.list,
        &ui.painter_at(body),
        rect.min - vec2(0.0, scroll),
    );
    let top = Rect::from_min_max(rect.min, rect.min + vec2(rect.width(), head));
    paint(&picture.list, &ui.painter_at(top), rect.min);
    let local = response.interact_pointer_pos().or(response.hover_pos());
    let local = local.map(|p| p - rect.min.to_vec2());
    let at = local.filter(|p| p.y >= head).map(|p| (p.x, p.y + scroll));
    if let Some((x, y)) = at
        && let Some(row) = picture.row_at(y)
        && view.drag.is_none()
    {
        let tip = tip(run, &picture, row, x);
        response.clone().on_hover_text_at_pointer(tip);
    }
    let row = at.and_then(|(_, y)| picture.row_at(y));
    let said = across.job.text.verdict.clone();
    view.scroll = scroll;
    wheel(ui, view, &response, row_height);
    if let Some(rows) = chosen(view, &response, row) {
        let places = picture.ranks_of(rows);
        actions.push(open(view, &places));
    }
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, said.as_str()));
}

/// Opens the traces of ranks, as one timeline.
fn open(view: &RanksView, places: &[usize]) -> Action {
    Action::Open(Request {
        paths: view.files(places),
        whole: true,
        ..Request::default()
    })
}

/// Rows that a click or the end of a drag chooses.
fn chosen(view: &mut RanksView, response: &Response, row: Option<usize>) -> Option<Range<usize>> {
    if response.drag_started() {
        view.drag = row.map(|r| (r, r));
    } else if response.dragged()
        && let (Some(drag), Some(row)) = (&mut view.drag, row)
    {
        drag.1 = row;
    }
    if response.drag_stopped() {
        let (a, b) = view.drag.take()?;
        return Some(a.min(b)..a.max(b) + 1);
    }
    let row = row.filter(|_| response.clicked())?;
    Some(row..row + 1)
}

/// The wheel scrolls the rows; with Ctrl it makes them higher or lower.
fn wheel(ui: &Ui, view: &mut RanksView, response: &Response, row_height: f32) {
    if !response.hovered() {
        return;
    }
    let (zoom, delta) = ui.input(|i| (i.zoom_delta(), i.smooth_scroll_delta()));
    if (zoom - 1.0).abs() > f32::EPSILON {
        view.zoom(zoom, row_height);
    } else {
        view.scroll -= delta.y;
    }
}

/// What a row and a step are.
fn tip(run: &RunOfRanks, picture: &RanksPicture, row: usize, x: f32) -> String {
    let across = &run.across;
    let places = picture.ranks_of(row..row + 1);
    let Some(&place) = places.first() else {
        return String::new();
    };
    let rank = &across.rows[place];
    let host = rank
        .host
        .as_deref()
        .map_or_else(String::new, |h| format!(" on {h}"));
    let mut lines = vec![match places.len() {
        1 => format!("Rank {}{host}", rank.rank),
        n => format!("Rank {}{host} and {} more", rank.rank, n - 1),
    }];
    if let Some(late) = across.job.late.get(place) {
        let why = across.why.iter().find(|w| w.0 == place);
        let why = why.and_then(|w| w.1.cause).map(LateCause::key);
        let why = why.map_or_else(String::new, |w| format!(", {w}"));
        lines.push(format!(
            "Last to {}, cost the others {}{why}",
            counted((late.last + late.last_shared) as u64, "collective"),
            about_ns(late.cost_judged),
        ));
    }
    let columns = &across.columns;
    if let Some(steps) = picture.steps_at(x, columns.numbers.len()) {
        let own = across.costs.iter().filter(|c| {
            places.contains(&c.place) && steps.contains(&columns.column(c.place, c.cycle))
        });
        let numbers = &columns.numbers[steps.clone()];
        let name = match numbers {
            [one] => format!("Step {one}"),
            [first, .., last] => format!("Steps {first} to {last}"),
            [] => String::new(),
        };
        let cost = own.map(|c| c.ns).max();
        lines.push(match cost {
            Some(ns) => format!("{name}: cost {}", format_ns(ns)),
            None => format!("{name}: cost nothing, or not judged"),
        });
    }
    lines.push("Click: open this trace. Drag: open those of several ranks.".to_owned());
    lines.join("\n")
}

/// What can be done here.
fn buttons_ui(ui: &mut Ui, state: &mut AppState, actions: &mut Actions) {
    let (weak, open_trace) = (state.look.weak, state.doc.is_some());
    let Some(view) = &mut state.ranks else {
        return;
    };
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        let orders = [
            (RankOrder::Cost, "By cost"),
            (RankOrder::Number, "By number"),
        ];
        for (order, text) in orders {
            if ui.selectable_label(view.order == order, text).clicked() {
                view.order = order;
                view.scroll = 0.0;
            }
        }
        if view.all().runs.len() > 1 {
            let name = view.run().map_or("", |r| r.name.as_str());
            let tip = "Shows the next run";
            if ui
                .button(format!("Run: {name} ▸"))
                .on_hover_text(tip)
                .clicked()
            {
                view.next_run();
            }
        }
        let first = view.run().and_then(|r| Some((r, r.across.why.first()?.0)));
        if let Some((run, place)) = first {
            let text = format!("Open rank {}", run.across.rows[place].rank);
            let tip = "Opens the trace of the rank that costs most";
            let button = ui.add(Button::new(text).min_size(vec2(24.0, 24.0)));
            if button.on_hover_text(tip).clicked() {
                actions.push(open(view, &[place]));
            }
        }
        if open_trace && ui.button("Back to the trace  Esc").clicked() {
            actions.push(Action::Do(Command::Ranks));
        }
        let all = view.all();
        let unread = match all.unread.len() {
            0 => String::new(),
            n => format!("{} could not be read", counted(n as u64, "file")),
        };
        let response = ui.label(RichText::new(unread).color(weak));
        if !all.unread.is_empty() {
            let named = all.unread.iter().take(10);
            let named: Vec<String> = named
                .map(|u| format!("{}: {}", u.file.display(), u.why))
                .collect();
            response.on_hover_text(named.join("\n"));
        }
    });
}
