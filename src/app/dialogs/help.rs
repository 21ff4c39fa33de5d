//! Help: every command that has keys and the mouse gestures, made from the command table; and the pages of the guide.

use egui::{Key, RichText, Ui, vec2};

use crate::app::model::command::{GESTURES, Group};
use crate::app::model::guide::{GUIDE, HelpPage};
use crate::app::model::state::AppState;
use crate::app::panels::commands;
use crate::app::widgets::markdown::{Block, blocks, page_ui};

/// Width of the list of pages, points.
const PAGES: f32 = 132.0;

/// What is open of the help.
pub struct HelpDialog {
    page: HelpPage,
    /// The parts of the page of the guide.
    blocks: Vec<Block>,
    /// The page has just been opened: its section is scrolled to.
    fresh: bool,
}

impl HelpDialog {
    /// Opens a page.
    #[must_use]
    pub fn new(page: HelpPage) -> Self {
        let blocks = match &page {
            HelpPage::Keys => Vec::new(),
            HelpPage::Guide(place, _) => blocks(GUIDE.get(*place).map_or("", |p| p.text)),
        };
        Self {
            page,
            blocks,
            fresh: true,
        }
    }

    /// What it is called.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match &self.page {
            HelpPage::Keys => "Keys and mouse",
            HelpPage::Guide(place, _) => GUIDE.get(*place).map_or("Guide", |p| p.title),
        }
    }
}

/// Draws the open page beside the list of all; never closes by itself.
pub fn help_ui(ui: &mut Ui, help: &mut HelpDialog, state: &AppState) -> bool {
    let screen = ui.ctx().content_rect();
    let height = (screen.height() - 130.0).max(200.0);
    let mut next = None;
    ui.horizontal_top(|ui| {
        ui.vertical(|ui| {
            ui.set_width(PAGES);
            ui.spacing_mut().item_spacing.y = 2.0;
            next = pages_ui(ui, &help.page);
        });
        ui.add_space(6.0);
        ui.vertical(|ui| {
            let link = page_of(ui, help, state, height);
            next = next.take().or(link);
        });
    });
    help.fresh = false;
    if let Some(page) = next {
        *help = HelpDialog::new(page);
        ui.ctx().request_repaint();
    }
    false
}

/// The open page, which scrolls; the page that a link in it leads to.
fn page_of(ui: &mut Ui, help: &HelpDialog, state: &AppState, height: f32) -> Option<HelpPage> {
    let area = egui::ScrollArea::vertical()
        // Each page begins at its top.
        .id_salt(help.title())
        .max_height(height)
        .min_scrolled_height(height)
        .auto_shrink([false, true]);
    let shown = area.show(ui, |ui| {
        scroll_by_keys(ui, height);
        let HelpPage::Guide(_, section) = &help.page else {
            keys_ui(ui, state);
            return None;
        };
        ui.set_width((ui.available_width() - 16.0).max(160.0));
        ui.spacing_mut().item_spacing = vec2(8.0, 7.0);
        let leads = |target: &str| HelpPage::linked(target).is_some();
        let section = (section.as_deref(), help.fresh);
        let link = page_ui(ui, &help.blocks, section, &leads, &state.look);
        link.and_then(HelpPage::linked)
    });
    shown.inner
}

/// All pages; the one that was clicked.
fn pages_ui(ui: &mut Ui, open: &HelpPage) -> Option<HelpPage> {
    let guide = (0..GUIDE.len()).map(|i| (GUIDE[i].title, HelpPage::Guide(i, None)));
    let keys = std::iter::once(("Keys and mouse", HelpPage::Keys));
    let mut clicked = None;
    for (title, page) in keys.chain(guide) {
        let is_open = match (&page, open) {
            (HelpPage::Guide(a, _), HelpPage::Guide(b, _)) => a == b,
            (a, b) => a == b,
        };
        if ui.selectable_label(is_open, title).clicked() {
            clicked = Some(page);
        }
    }
    clicked
}

fn keys_ui(ui: &mut Ui, state: &AppState) {
    ui.spacing_mut().interact_size.y = 15.0;
    ui.columns(2, |columns| {
        for group in [Group::File, Group::View, Group::Go, Group::Select] {
            group_ui(&mut columns[0], group, state.mac);
        }
        mouse_ui(&mut columns[1]);
        for group in [Group::Search, Group::Details, Group::Window] {
            group_ui(&mut columns[1], group, state.mac);
        }
        columns[1].add_space(8.0);
        let note = "Commands without a key are in the palette (Ctrl+Shift+P), as are all.";
        columns[1].label(RichText::new(note).weak());
    });
}

/// Arrows, Page up and down, Home and End move the sheet.
fn scroll_by_keys(ui: &Ui, page: f32) {
    let pressed = |key| ui.input(|i| i.key_pressed(key));
    let steps = [
        (Key::ArrowDown, -40.0),
        (Key::ArrowUp, 40.0),
        (Key::PageDown, -page),
        (Key::PageUp, page),
        (Key::End, -1e5),
        (Key::Home, 1e5),
    ];
    for (key, by) in steps {
        if pressed(key) {
            ui.scroll_with_delta(egui::vec2(0.0, by));
        }
    }
}

fn heading(ui: &mut Ui, text: &str) {
    ui.add_space(6.0);
    ui.label(RichText::new(text).strong());
}

fn group_ui(ui: &mut Ui, group: Group, mac: bool) {
    heading(ui, group.title());
    egui::Grid::new(("help", group.title()))
        .num_columns(2)
        .min_col_width(130.0)
        .spacing([12.0, 3.0])
        .show(ui, |ui| {
            let own = commands().iter().filter(|c| c.group() == group);
            // What has no key helps nobody here.
            for command in own.filter(|c| !c.shortcuts().is_empty()) {
                let keys = command.keys_text(mac);
                ui.label(RichText::new(keys).monospace().weak());
                ui.label(command.text()).on_hover_text(command.tooltip());
                ui.end_row();
            }
        });
}

fn mouse_ui(ui: &mut Ui) {
    heading(ui, "Mouse");
    egui::Grid::new("help mouse")
        .num_columns(2)
        .min_col_width(130.0)
        .spacing([12.0, 3.0])
        .show(ui, |ui| {
            for (gesture, does) in GESTURES {
                ui.label(RichText::new(*gesture).monospace().weak());
                ui.label(*does);
                ui.end_row();
            }
        });
}
