//! The tab bar: tabs, then what goes for the open one.

use egui::{
    Align, Context, Layout, Response, RichText, Sense, Stroke, Ui, WidgetInfo, accesskit::Role,
    vec2,
};

use super::panel::Panel;
use crate::app::model::action::{Action, Actions};
use crate::app::model::document::Document;
use crate::app::model::guide::HelpPage;
use crate::app::model::tab::Tab;
use crate::app::widgets::look::Look;
use crate::app::widgets::roving::Roving;
use crate::app::widgets::table;

/// Said of what a tab is about.
const SCOPE: &str = "What the figures of this tab are about";

/// What the bar shows.
pub struct Bar<'a> {
    /// Every tab, in order.
    pub tabs: &'a [Tab],
    /// Place of the open one.
    pub open: usize,
    /// What is open.
    pub doc: &'a Document,
    /// Colours.
    pub look: &'a Look,
}

impl Bar<'_> {
    fn id() -> egui::Id {
        egui::Id::unique("tab bar")
    }

    /// Gives the open tab the focus when it is drawn next.
    pub fn request_focus(ctx: &Context) {
        Roving::request_focus(ctx, Self::id());
    }

    /// Draws the bar over the open panel.
    pub fn ui(&self, ui: &mut Ui, panel: &mut dyn Panel, actions: &mut Actions) {
        let (doc, look) = (self.doc, self.look);
        ui.add_space(4.0);
        let width = ui.available_width();
        let wide = width >= 900.0;
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            ui.add_space(6.0);
            self.tabs_ui(ui, actions);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                ui.add_space(10.0);
                // Where there is no room, Ctrl+C does it.
                let several = doc.analysis.ranks().len() > 1;
                let room = wide || !several || width >= 720.0;
                if panel.has_table() && room {
                    let text = if wide { "Copy as TSV" } else { "Copy" };
                    let copy = ui.button(text).accessible_name("Copy as TSV");
                    if copy.on_hover_text("Copies the table (Ctrl+C)").clicked() {
                        actions.push(Action::CopyTable);
                    }
                }
                scope_ui(ui, doc, actions);
                let tab = self.tabs[self.open];
                let info = ui.small_button("i").accessible_name("About this tab");
                let tip = format!("{} Click: this tab in the guide.", tab.about);
                if info.on_hover_text(tip).clicked() {
                    actions.push(Action::ShowHelp(HelpPage::of_tab(tab.title)));
                }
                ui.add_space(4.0);
                let note = if panel.job().is_busy() {
                    // What shows below is the answer to an older question.
                    "computing…"
                } else {
                    panel.scope(doc)
                };
                let label = egui::Label::new(RichText::new(note).small().color(look.weak));
                ui.add(label.truncate()).on_hover_text(SCOPE);
            });
        });
        ui.add_space(4.0);
    }

    fn tabs_ui(&self, ui: &mut Ui, actions: &mut Actions) {
        let roving = Roving::new(ui.ctx(), Self::id(), self.tabs.len(), Some(self.open));
        for (i, &tab) in self.tabs.iter().enumerate() {
            let response = self.tab_ui(ui, tab, roving.sense(i), i == self.open);
            if response.clicked() {
                actions.push(Action::ShowTab(tab));
            }
            if let Some(next) = roving.follow(ui, i, &response) {
                actions.push(Action::ShowTab(self.tabs[next]));
            }
        }
    }

    fn tab_ui(&self, ui: &mut Ui, tab: Tab, sense: Sense, active: bool) -> Response {
        let font = egui::FontId::proportional(12.5);
        let color = if active {
            self.look.text
        } else {
            self.look.weak
        };
        let title = tab.title.to_owned();
        let galley = ui.painter().layout_no_wrap(title, font, color);
        let size = vec2(galley.size().x + 16.0, 24.0);
        let (rect, response) = ui.allocate_exact_size(size, sense);
        response.widget_info(|| WidgetInfo::selected(Role::Tab, true, active, tab.title));
        if response.hovered() || response.has_focus() {
            let fill = ui.visuals().widgets.hovered.weak_bg_fill;
            ui.painter().rect_filled(rect, 4.0, fill);
        }
        if response.has_focus() {
            table::ring(ui, rect);
        }
        let at = rect.center() - galley.size() / 2.0;
        ui.painter().galley(at, galley, color);
        if active {
            let line = rect.shrink2(vec2(8.0, 0.0)).x_range();
            let stroke = Stroke::new(2.0, self.look.select);
            ui.painter().hline(line, rect.bottom() - 1.0, stroke);
        }
        response
    }
}

/// All ranks or one of them, where there are several.
fn scope_ui(ui: &mut Ui, doc: &Document, actions: &mut Actions) {
    let ranks = doc.analysis.ranks();
    if ranks.len() < 2 {
        return;
    }
    let text = |r: Option<usize>| match r {
        Some(r) => format!("rank {}", ranks[r].rank),
        None => "all ranks".to_owned(),
    };
    let combo = egui::ComboBox::from_id_salt("scope")
        .selected_text(text(doc.scope))
        .width(64.0)
        .height(320.0);
    let response = combo.show_ui(ui, |ui| {
        for rank in std::iter::once(None).chain((0..ranks.len()).map(Some)) {
            if ui.selectable_label(doc.scope == rank, text(rank)).clicked() {
                actions.push(Action::Scope(rank));
                ui.close();
            }
        }
    });
    response.response.accessible_name("Ranks");
}
