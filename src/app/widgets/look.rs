//! egui's style made from the timeline's [`Theme`], so that the window and the timeline are one picture.

use egui::{
    Color32, Context, CornerRadius, FontFamily, FontId, Margin, Stroke, Style, TextStyle, Visuals,
    vec2,
};

use crate::analysis::LayerClass;
use crate::app::widgets::table;
pub use crate::paint::color;
use crate::paint::egui_theme;
use crate::view::{Swatch, Theme};

/// Colours of the window's own parts.
#[derive(Clone, Debug)]
pub struct Look {
    /// The timeline's colours.
    pub theme: Theme,
    /// Around everything.
    pub panel: Color32,
    /// Behind the details panel's tables.
    pub panel_low: Color32,
    /// Lines between regions.
    pub line: Color32,
    /// Main text.
    pub text: Color32,
    /// Secondary text.
    pub weak: Color32,
    /// Warning text.
    pub warning: Color32,
    /// The selection.
    pub select: Color32,
    /// The one button that matters; its text is white.
    pub primary: Color32,
}

impl Look {
    /// The look of one theme.
    #[must_use]
    pub fn new(theme: Theme) -> Self {
        Self {
            panel: color(theme.panel),
            panel_low: color(theme.lane),
            line: color(theme.line),
            text: color(theme.text),
            weak: color(theme.weak),
            warning: color(theme.warning),
            select: color(theme.select),
            primary: color(theme.swatch(Swatch::Cpu)),
            theme,
        }
    }

    /// The square in front of rows of a drawing class.
    #[must_use]
    pub fn swatch(&self, class: LayerClass) -> table::Swatch {
        let swatch = Swatch::of(class);
        table::Swatch {
            fill: color(self.theme.swatch(swatch)),
            hatch: (swatch == Swatch::Wait).then(|| color(self.theme.hatch())),
        }
    }

    /// The style of egui's own widgets.
    fn style(&self) -> Style {
        let mut style = Style::default();
        let mut visuals = if self.theme.dark {
            Visuals::dark()
        } else {
            Visuals::light()
        };
        let radius = CornerRadius::same(4);
        visuals.panel_fill = self.panel;
        visuals.window_fill = self.panel;
        visuals.extreme_bg_color = self.panel_low;
        // On a white panel a white field could not be seen.
        let field = mix(self.panel, self.text, 0.06);
        visuals.text_edit_bg_color = (!self.theme.dark).then_some(field);
        visuals.faint_bg_color = mix(self.panel, self.text, 0.03);
        visuals.window_stroke = Stroke::new(1.0, self.line);
        visuals.window_corner_radius = CornerRadius::same(8);
        visuals.menu_corner_radius = CornerRadius::same(6);
        visuals.weak_text_color = Some(self.weak);
        visuals.warn_fg_color = self.warning;
        visuals.error_fg_color = self.warning;
        visuals.hyperlink_color = self.select;
        visuals.selection.bg_fill = self.select.gamma_multiply(0.35);
        visuals.selection.stroke = Stroke::new(1.0, self.select);
        visuals.slider_trailing_fill = true;
        let widgets = &mut visuals.widgets;
        for (w, lift) in [
            (&mut widgets.noninteractive, 0.0),
            (&mut widgets.inactive, 0.08),
            (&mut widgets.hovered, 0.15),
            (&mut widgets.active, 0.22),
            (&mut widgets.open, 0.12),
        ] {
            w.corner_radius = radius;
            w.bg_fill = mix(self.panel, self.text, lift);
            w.weak_bg_fill = w.bg_fill;
            w.fg_stroke = Stroke::new(1.0, self.text);
            w.bg_stroke = Stroke::NONE;
            w.expansion = 0.0;
        }
        widgets.noninteractive.bg_stroke = Stroke::new(1.0, self.line);
        widgets.hovered.bg_stroke = Stroke::new(1.0, self.line);
        // egui draws what has the keyboard's focus as active.
        widgets.active.bg_stroke = Stroke::new(1.5, self.select);
        widgets.inactive.bg_fill = mix(self.panel, self.text, 0.18);
        style.visuals = visuals;
        style.spacing.item_spacing = vec2(8.0, 4.0);
        style.spacing.button_padding = vec2(8.0, 3.0);
        style.spacing.menu_margin = Margin::same(6);
        style.spacing.window_margin = Margin::same(14);
        style.spacing.interact_size.y = 22.0;
        style.interaction.tooltip_delay = 0.3;
        style.interaction.selectable_labels = false;
        let font = |size| FontId::new(size, FontFamily::Proportional);
        style.text_styles.insert(TextStyle::Body, font(12.5));
        style.text_styles.insert(TextStyle::Button, font(12.5));
        style.text_styles.insert(TextStyle::Small, font(11.0));
        style.text_styles.insert(TextStyle::Heading, font(18.0));
        let mono = FontId::new(11.5, FontFamily::Monospace);
        style.text_styles.insert(TextStyle::Monospace, mono);
        style
    }

    /// Gives egui this style, for when it is as light or dark as this theme.
    pub fn use_in(&self, ctx: &Context) {
        ctx.set_style_of(egui_theme(&self.theme), self.style());
    }

    /// Gives egui the styles of a dark and of a light system, and signs (arrows, triangles) also in proportional text.
    pub fn install(ctx: &Context) {
        ctx.set_fonts(crate::paint::fonts());
        for dark in [true, false] {
            Self::new(Theme::of_system(dark)).use_in(ctx);
        }
    }
}

/// `share` of the way from one opaque colour to another.
#[must_use]
pub fn mix(from: Color32, to: Color32, share: f32) -> Color32 {
    from.lerp_to_gamma(to, share)
}
