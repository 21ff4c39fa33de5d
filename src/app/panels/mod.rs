//! The details panel: tabs over tables. Figures come from the analysis; what takes long is made on threads.
//!
//! [`PANELS`] is the only list of the tabs: commands, keys, palette and help sheet follow from it. A panel knows no other
//! one, and nothing below knows which there are.

use egui::{Context, Stroke, Ui, vec2};
use serde_json::Value;

use crate::analysis::LayerId;
use crate::app::model::action::Actions;
use crate::app::model::document::Document;
use crate::app::model::latest::Job;
use crate::app::model::tab::Tab;
use crate::app::widgets::look::Look;
use crate::app::widgets::table::TableState;
use crate::app::widgets::table_text::to_text;
pub use commands::commands;

use bar::Bar;
use copying::Copying;
use inspector::Inspector;
use panel::{Panel, Tabular};

mod bar;
mod commands;
mod copying;
mod inspector;
mod lag;
mod loading;
mod marks;
mod names;
mod panel;
mod rows;
mod selection;
mod steps;
mod streams;
mod syncs;
mod verdict;
mod waits;
mod whatif;
mod why;
mod workers;

/// Every tab, in the order of the tab bar.
const PANELS: &[Entry] = &[
    Entry::of::<selection::SelectionPanel>(),
    Entry::of::<names::NamesPanel>(),
    Entry::of::<Tabular<waits::Waits>>(),
    Entry::of::<Tabular<lag::Lag>>(),
    Entry::of::<Tabular<steps::StepsPanel>>(),
    Entry::of::<Tabular<workers::Workers>>(),
    Entry::of::<Tabular<streams::Streams>>(),
    Entry::of::<Tabular<syncs::Syncs>>(),
    Entry::of::<whatif::WhatIfPanel>(),
    Entry::of::<verdict::VerdictPanel>(),
    Entry::of::<marks::Marks>(),
];

/// Shown first: what loading is for.
const FIRST: &str = verdict::TITLE;
/// Shown once a range is selected, unless the user chose another: whoever selects a range wants its figures.
const OF_RANGE: &str = selection::TITLE;

/// Width of the panel about the selected span, points.
const INSPECTOR: f32 = 280.0;

/// A line of the list of tabs.
struct Entry {
    name: fn() -> (&'static str, &'static str),
    make: fn() -> Box<dyn Panel>,
}

impl Entry {
    const fn of<P: Panel + Default + 'static>() -> Self {
        Self {
            name: P::name,
            make: || Box::new(P::default()),
        }
    }
}

/// Every tab, in order.
pub fn tabs() -> impl Iterator<Item = Tab> {
    (0..PANELS.len()).map(tab_at)
}

fn tab_at(place: usize) -> Tab {
    let (title, about) = (PANELS[place].name)();
    Tab {
        title,
        about,
        place,
    }
}

/// Place of the tab of a title; the first one's where there is none.
fn place(title: &str) -> usize {
    tabs().position(|t| t.title == title).unwrap_or(0)
}

/// The panels of one open trace.
pub struct Panels {
    /// As in [`PANELS`].
    panels: Vec<Box<dyn Panel>>,
    /// Place of the open tab.
    open: usize,
    /// The user chose the tab, so that it no longer changes by itself.
    chosen: bool,
    inspector: Inspector,
    copying: Option<Copying>,
}

impl Default for Panels {
    fn default() -> Self {
        Self {
            panels: PANELS.iter().map(|entry| (entry.make)()).collect(),
            open: place(FIRST),
            chosen: false,
            inspector: Inspector::default(),
            copying: None,
        }
    }
}

impl Panels {
    /// The open tab.
    #[must_use]
    pub fn open(&self) -> Tab {
        tab_at(self.open)
    }

    /// Opens a tab, as the user wants it.
    pub fn show(&mut self, tab: Tab) {
        self.open = place(tab.title);
        self.chosen = true;
    }

    /// Opens the first tab that can show one layer alone, showing that.
    pub fn show_layer(&mut self, layer: LayerId) {
        if let Some(at) = self.panels.iter_mut().position(|p| p.show_layer(layer)) {
            self.open = at;
            self.chosen = true;
        }
    }

    /// Opens the tab of this title, if there is one, as it was left.
    pub fn recall(&mut self, title: &str) {
        if tabs().any(|t| t.title == title) {
            self.open = place(title);
            self.chosen = title != FIRST;
        }
    }

    /// A range was selected.
    pub fn range_selected(&mut self) {
        if !self.chosen {
            self.open = place(OF_RANGE);
        }
    }

    fn jobs(&mut self) -> impl Iterator<Item = &mut dyn Job> {
        let of_tabs = self.panels.iter_mut().map(|panel| panel.job());
        of_tabs.chain(std::iter::once(self.inspector.job()))
    }

    /// Takes what threads finished.
    pub fn poll(&mut self) {
        self.jobs().for_each(Job::poll);
    }

    /// True while a thread works for any of them, or a table is being copied.
    #[must_use]
    pub fn is_busy(&mut self) -> bool {
        self.copying.is_some() || self.jobs().any(|job| job.is_busy())
    }

    /// Begins to copy what the open tab shows. The text and what is said of it, where there is no table: a panel that
    /// has nothing of its own gives the verdict.
    pub fn copy(&mut self, doc: &Document) -> Option<(String, &'static str)> {
        if self.panels[self.open].has_table() {
            self.copying = Some(Copying::of(self.open));
            return None;
        }
        self.panels.iter().find_map(|panel| panel.text(doc))
    }

    /// Copies on for some milliseconds; the text once it is whole.
    pub fn go_on_copying(&mut self, doc: &Document, look: &Look) -> Option<String> {
        let copying = self.copying.take()?;
        let (text, rest) = copying.go_on(&mut self.panels, doc, look);
        self.copying = rest;
        text
    }

    /// True while a table is being copied.
    #[must_use]
    pub fn is_copying(&self) -> bool {
        self.copying.is_some()
    }

    /// All that is known of the selected span, as text.
    #[must_use]
    pub fn span_text(&self, doc: &Document) -> Option<String> {
        Some(self.inspector.text(doc, doc.span?))
    }

    /// The figures of the selected range, else of the visible window.
    pub fn selection_json(&mut self, doc: &Document) -> Option<Value> {
        self.panels[place(OF_RANGE)].json(doc)
    }

    /// Their table as comma-separated values.
    pub fn selection_csv(&mut self, doc: &Document, look: &Look) -> Option<String> {
        let mut text = None;
        self.panels[place(OF_RANGE)].table(doc, look, &mut |table, _, stamp| {
            text = Some(to_text(table, &mut TableState::default(), stamp, ','));
        });
        text
    }

    /// Gives the open tab the focus when it is drawn next: the next Tab leads into its table.
    pub fn focus_tab(ctx: &Context) {
        Bar::request_focus(ctx);
    }

    /// Draws the panel.
    pub fn ui(&mut self, ui: &mut Ui, doc: &Document, look: &Look, actions: &mut Actions) {
        let rect = ui.available_rect_before_wrap();
        let wide = rect.width() > 2.2 * INSPECTOR;
        let inspect = doc.span.filter(|_| wide);
        let mut left = rect;
        if inspect.is_some() {
            left.max.x -= INSPECTOR;
        }
        let mut side = ui.new_child(egui::UiBuilder::new().max_rect(left).id_salt("tabs"));
        side.set_clip_rect(left.intersect(ui.clip_rect()));
        side.spacing_mut().item_spacing.y = 0.0;
        let panel = self.panels[self.open].as_mut();
        let bar = Bar {
            tabs: &tabs().collect::<Vec<_>>(),
            open: self.open,
            doc,
            look,
        };
        bar.ui(&mut side, panel, actions);
        let body = side.available_rect_before_wrap().shrink2(vec2(12.0, 0.0));
        let mut content = side.new_child(egui::UiBuilder::new().max_rect(body).id_salt("tab"));
        content.set_clip_rect(body.expand2(vec2(4.0, 0.0)).intersect(ui.clip_rect()));
        panel.ui(&mut content, doc, look, actions);
        if let Some(span) = inspect {
            let right = egui::Rect::from_min_max(egui::pos2(left.right(), rect.top()), rect.max);
            let stroke = Stroke::new(1.0, look.line);
            ui.painter().vline(right.left(), right.y_range(), stroke);
            let inner = right.shrink2(vec2(12.0, 8.0));
            let mut side =
                ui.new_child(egui::UiBuilder::new().max_rect(inner).id_salt("inspector"));
            side.set_clip_rect(right.intersect(ui.clip_rect()));
            self.inspector.ui(&mut side, doc, span, look, actions);
        }
        ui.advance_cursor_after_rect(rect);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::guide::{GUIDE, HelpPage};
    use crate::app::widgets::markdown::{blocks, is_section};

    #[test]
    fn every_tab_is_in_the_guide() {
        for tab in tabs() {
            let HelpPage::Guide(place, Some(section)) = HelpPage::of_tab(tab.title) else {
                panic!("no page about tabs");
            };
            let page = blocks(GUIDE[place].text);
            let row = page.iter().any(|b| is_section(b, &section));
            assert!(row, "{} is not in the guide", tab.title);
        }
    }
}
