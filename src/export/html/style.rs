//! How the page looks: the colours of both themes, and rules that need nothing from outside.

use crate::view::Theme;

/// The colours of a theme as properties.
fn colors(theme: &Theme) -> String {
    let all = [
        ("page", theme.canvas),
        ("panel", theme.panel),
        ("line", theme.line),
        ("text", theme.text),
        ("weak", theme.weak),
        ("warn", theme.warning),
        ("link", theme.select),
    ];
    let one = |(name, color): (&str, crate::view::Rgba)| {
        let [r, g, b, _] = color.0;
        format!("--{name}:#{r:02x}{g:02x}{b:02x};")
    };
    all.map(one).concat()
}

/// The style sheet.
pub(super) fn style() -> String {
    let (light, dark) = (colors(&Theme::light()), colors(&Theme::dark()));
    // On paper it is always light.
    format!(
        ":root{{color-scheme:light dark;{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{}",
        include_str!("style.css")
    )
}
