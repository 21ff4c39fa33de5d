//! Export PNG: options on the left, the picture on the right, as it will be.

use std::path::{Path, PathBuf};

use egui::{DragValue, Grid, RichText, Slider, TextEdit, TextureHandle, TextureOptions, Ui, vec2};

use crate::app::model::action::{Action, Actions};
use crate::app::model::latest::{Job, Latest};
use crate::app::model::load::bytes_text;
use crate::app::model::picture::{self, Preview, Source, Span};
use crate::app::model::settings::{ExportChoice, LengthUnit, ThemeName};
use crate::app::model::state::AppState;
use crate::export::png::{Lanes, PngOptions, RESOLUTIONS, TEXT, WIDTHS, suggested_name};
use crate::view::Theme;

/// Width of the options, points.
const OPTIONS: f32 = 270.0;

/// What the ending of the name means.
const ENDINGS: &str =
    "A name that ends in .svg gives a drawing for papers and web pages, any other a PNG.";

/// The open dialog.
pub struct ExportDialog {
    /// Options that are kept.
    pub choice: ExportChoice,
    /// Which time.
    pub span: Span,
    /// Which lanes.
    pub lanes: Lanes,
    /// Where to write.
    file: String,
    /// Whether the user changed the name.
    renamed: bool,
    /// A file of this name is there already: the next Save replaces it.
    pub exists: Option<PathBuf>,
    /// The Save button got the focus, so that Enter saves.
    focused: bool,
    preview: Latest<PngOptions, Preview>,
    texture: Option<(u64, TextureHandle)>,
}

impl ExportDialog {
    /// A dialog with the options of the last time, about the selection if there is one.
    #[must_use]
    pub fn new(state: &AppState) -> Option<Self> {
        let doc = state.doc.as_ref()?;
        let span = if doc.range.is_some() {
            Span::Selection
        } else {
            Span::Visible
        };
        Some(Self {
            choice: state.settings.export.clone(),
            span,
            lanes: Lanes::AsShown,
            file: String::new(),
            renamed: false,
            exists: None,
            focused: false,
            preview: Latest::default(),
            texture: None,
        })
    }

    /// True while the preview is being drawn.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.preview.is_busy()
    }
}

/// Draws the dialog; true closes it.
pub fn export_ui(
    ui: &mut Ui,
    dialog: &mut ExportDialog,
    state: &AppState,
    actions: &mut Actions,
) -> bool {
    let Some(doc) = &state.doc else {
        return true;
    };
    let screen = ui.ctx().content_rect();
    let size = vec2(
        ui.available_width(),
        (screen.height() - 120.0).clamp(300.0, 600.0),
    );
    let options = picture::options(doc, &dialog.choice, dialog.span, dialog.lanes);
    dialog.preview.poll();
    let (source, wake) = (Source::of(doc), ui.ctx().clone());
    let wanted = options.clone();
    dialog.preview.request(
        options.clone(),
        move || picture::preview(&source, &wanted),
        move || wake.request_repaint(),
    );
    if !dialog.renamed {
        let name = suggested_name(&picture::first_name(doc), picture::range(doc, dialog.span));
        let folder = folder(state.settings.export_folder.as_deref());
        dialog.file = folder.join(name).display().to_string();
    }
    let (area, _) = ui.allocate_exact_size(vec2(size.x, size.y - 70.0), egui::Sense::hover());
    let (left, right) = area.split_left_right_at_x(area.left() + OPTIONS);
    let mut side = ui.new_child(egui::UiBuilder::new().max_rect(left));
    options_ui(&mut side, dialog, doc.range.is_some());
    let right = right.with_min_x(right.left() + 16.0);
    let mut side = ui.new_child(egui::UiBuilder::new().max_rect(right));
    preview_ui(&mut side, dialog, &options);
    ui.add_space(4.0);
    file_ui(ui, dialog, actions)
}

fn options_ui(ui: &mut Ui, dialog: &mut ExportDialog, has_selection: bool) {
    ui.label(RichText::new("Range").strong());
    ui.horizontal(|ui| {
        ui.radio_value(&mut dialog.span, Span::Visible, "visible");
        ui.add_enabled_ui(has_selection, |ui| {
            ui.radio_value(&mut dialog.span, Span::Selection, "selection");
        });
        ui.radio_value(&mut dialog.span, Span::All, "all");
    });
    ui.label(RichText::new("Lanes").strong());
    ui.horizontal(|ui| {
        ui.radio_value(&mut dialog.lanes, Lanes::AsShown, "as shown");
        ui.radio_value(&mut dialog.lanes, Lanes::All, "all expanded");
        ui.radio_value(&mut dialog.lanes, Lanes::Dense, "dense");
        ui.radio_value(&mut dialog.lanes, Lanes::Band, "band only");
    });
    let choice = &mut dialog.choice;
    Grid::new("export numbers")
        .num_columns(2)
        .spacing([12.0, 4.0])
        .show(ui, |ui| {
            size_ui(ui, choice);
            ui.label("Theme");
            ui.horizontal(|ui| {
                for theme in &Theme::ALL {
                    ui.radio_value(&mut choice.theme, ThemeName::of(theme), theme.name);
                }
            });
            ui.end_row();
            ui.label("Legend");
            ui.horizontal(|ui| {
                let mut chosen = (choice.legend, choice.legend && choice.legend_used);
                ui.radio_value(&mut chosen, (true, false), "all")
                    .on_hover_text("What occurs in the trace");
                ui.radio_value(&mut chosen, (true, true), "drawn")
                    .on_hover_text("Only what the picture shows");
                ui.radio_value(&mut chosen, (false, false), "none");
                (choice.legend, choice.legend_used) = chosen;
            });
            ui.end_row();
        });
    ui.label(RichText::new("Parts").strong());
    ui.columns(2, |columns| {
        columns[0].checkbox(&mut choice.title, "title line");
        columns[0].checkbox(&mut choice.ruler, "ruler");
        columns[1].checkbox(&mut choice.names, "lane names");
        columns[1].checkbox(&mut choice.band, "overlap band");
    });
}

/// Width, resolution, text, margin and more time.
fn size_ui(ui: &mut Ui, choice: &mut ExportChoice) {
    let label = ui.label("Width").id;
    ui.horizontal(|ui| {
        let width = match choice.unit {
            LengthUnit::Points => DragValue::new(&mut choice.width).range(WIDTHS),
            LengthUnit::Cm => DragValue::new(&mut choice.paper)
                .range(8.5..=120.0)
                .speed(0.1),
            LengthUnit::In => DragValue::new(&mut choice.paper)
                .range(3.4..=50.0)
                .speed(0.05),
        };
        ui.add(width).labelled_by(label);
        for (unit, name) in LengthUnit::ALL {
            let button = egui::Button::selectable(choice.unit == unit, name);
            if ui.add(button).clicked() {
                change_unit(choice, unit);
            }
        }
    });
    ui.end_row();
    if choice.unit == LengthUnit::Points {
        let label = ui.label("Scale").id;
        ui.add(Slider::new(&mut choice.scale, 1..=3).suffix("×"))
            .labelled_by(label);
    } else {
        let label = ui.label("Resolution").id;
        let dpi = DragValue::new(&mut choice.dpi).range(RESOLUTIONS);
        ui.add(dpi.suffix(" per inch")).labelled_by(label);
    }
    ui.end_row();
    let label = ui.label("Text").id;
    let suffix = match choice.unit {
        LengthUnit::Points => " px",
        LengthUnit::Cm | LengthUnit::In => " pt",
    };
    let text = DragValue::new(&mut choice.text).range(3.0..=72.0);
    ui.add(text.speed(0.25).max_decimals(2).suffix(suffix))
        .labelled_by(label)
        .on_hover_text("Size of labels; rows, lines and all other text in proportion");
    ui.end_row();
    let label = ui.label("Margin").id;
    let margin = DragValue::new(&mut choice.margin).range(0..=200);
    ui.add(margin.suffix(" px")).labelled_by(label);
    ui.end_row();
    let label = ui.label("Context").id;
    let context = DragValue::new(&mut choice.context).range(0..=1_000);
    ui.add(context.suffix(" %"))
        .labelled_by(label)
        .on_hover_text("So much more time before and after the range");
    ui.end_row();
}

/// Another unit for the same width on paper; a size of text that is usual with it.
fn change_unit(choice: &mut ExportChoice, unit: LengthUnit) {
    match (choice.unit, unit) {
        (LengthUnit::Points, LengthUnit::Cm) => choice.paper = 17.0,
        (LengthUnit::Points, LengthUnit::In) => choice.paper = 7.0,
        (LengthUnit::In, LengthUnit::Cm) => choice.paper = tenths(choice.paper * 2.54),
        (LengthUnit::Cm, LengthUnit::In) => choice.paper = tenths(choice.paper / 2.54),
        (_, LengthUnit::Points) | (LengthUnit::Cm | LengthUnit::In, _) => {}
    }
    if (choice.unit == LengthUnit::Points) != (unit == LengthUnit::Points) {
        choice.text = match unit {
            LengthUnit::Points => TEXT,
            LengthUnit::Cm | LengthUnit::In => 7.0,
        };
    }
    choice.unit = unit;
}

fn tenths(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

fn preview_ui(ui: &mut Ui, dialog: &mut ExportDialog, options: &PngOptions) {
    let room = ui.available_size();
    let stamp = dialog.preview.stamp();
    if dialog.texture.as_ref().is_none_or(|(s, _)| *s != stamp)
        && let Some(Ok(image)) = dialog.preview.last().map(|p| &p.image)
    {
        let texture =
            ui.ctx()
                .load_texture("export preview", image.clone(), TextureOptions::LINEAR);
        dialog.texture = Some((stamp, texture));
    }
    let current = dialog.preview.get(options).cloned();
    let line = match &current {
        None => "Drawing…".to_owned(),
        Some(p) => match (&p.image, p.size) {
            (Err(why), _) => why.clone(),
            (Ok(_), Some(size)) => {
                let notice = size.notice().map_or(String::new(), |n| format!(" · {n}"));
                let bytes = bytes_text(p.bytes as u64);
                format!("{} × {} pixels · {bytes}{notice}", size.width, size.height)
            }
            _ => String::new(),
        },
    };
    ui.label(RichText::new(line).weak());
    if let Some((_, texture)) = &dialog.texture {
        let size = texture.size_vec2();
        let fit = (room.x / size.x).min((room.y - 26.0) / size.y).min(1.0);
        let image = egui::Image::new((texture.id(), size * fit)).alt_text("Preview of the picture");
        let shown = ui.add(image);
        let stroke = ui.visuals().window_stroke;
        ui.painter()
            .rect_stroke(shown.rect, 0.0, stroke, egui::StrokeKind::Outside);
    }
}

fn file_ui(ui: &mut Ui, dialog: &mut ExportDialog, actions: &mut Actions) -> bool {
    let mut close = false;
    ui.horizontal(|ui| {
        let label = ui.label("File").on_hover_text(ENDINGS).id;
        let width = (ui.available_width() - 220.0).max(120.0);
        let edit = TextEdit::singleline(&mut dialog.file).desired_width(width);
        let response = ui.add(edit).labelled_by(label).on_hover_text(ENDINGS);
        dialog.renamed |= response.changed();
        let entered = response.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
        let exists = dialog.exists.as_deref() == Some(Path::new(dialog.file.trim()));
        let save = ui.button(if exists { "Replace" } else { "Save" });
        if !dialog.focused || entered {
            dialog.focused = true;
            save.request_focus();
        }
        if save.clicked() || entered {
            let path = PathBuf::from(dialog.file.trim());
            // Asked once whether to replace a file that is there, not again for the same name.
            let replace = dialog.exists.as_ref() == Some(&path);
            actions.push(Action::SavePng(Some(path), replace));
        }
        if ui
            .button("Browse…")
            .on_hover_text("Choose where to save")
            .clicked()
        {
            actions.push(Action::SavePng(None, true));
        }
        close = ui.button("Cancel").clicked();
    });
    if let Some(path) = &dialog.exists
        && path.as_path() == Path::new(dialog.file.trim())
    {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let text = format!("“{}” is there already.", name.to_string_lossy());
        ui.label(RichText::new(text).color(ui.visuals().warn_fg_color));
    }
    close
}

/// Where pictures go: where the last one went, else the working folder, else (started from a desktop) the home folder.
fn folder(last: Option<&Path>) -> PathBuf {
    if let Some(last) = last {
        return last.to_owned();
    }
    let here = std::env::current_dir().unwrap_or_default();
    if here.parent().is_some() {
        return here;
    }
    let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    std::env::var_os(home).map_or(here, PathBuf::from)
}
