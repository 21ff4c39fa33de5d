//! How the parts of a step look: the colours of what fills them on the timeline, shades of grey for what left the GPU idle.

use super::{filled, words};
use crate::analysis::part_title;
use crate::view::draw::{Align, Font, Item};
use crate::view::geom::{Rect, Rgba};
use crate::view::theme::{Swatch, Theme, contrast};

/// Width of a character of a label, points.
const ADVANCE: f32 = 6.2;

/// The fill of a part.
pub(in crate::view) fn fill(theme: &Theme, part: &str) -> Rgba {
    let shade =
        |swatch: Swatch, percent: u32| theme.swatch(swatch).percent(percent).over(theme.lane);
    match part {
        "compute" => theme.swatch(Swatch::GpuCompute),
        "comm" => theme.swatch(Swatch::GpuComm),
        "h2d" => theme.swatch(Swatch::GpuCopy),
        "copy" => shade(Swatch::GpuCopy, 65),
        "memset" => shade(Swatch::GpuCopy, 35),
        "unrecorded" => theme.unrecorded,
        "wait_exposed" | "fetch" => theme.swatch(Swatch::Wait),
        "forward" => theme.swatch(Swatch::Cpu),
        "backward" => shade(Swatch::Cpu, 72),
        "optimizer" => shade(Swatch::Cpu, 48),
        "idle_loader" | "loader" => theme.swatch(Swatch::Load),
        "idle_gc" | "gc" | "idle_compile" | "compile" => shade(Swatch::Load, 60),
        "idle_checkpoint" | "checkpoint" | "idle_log" | "log" => shade(Swatch::Io, 80),
        "idle_eval" | "eval" => shade(Swatch::Io, 45),
        "idle_host" => shade(Swatch::Neutral, 85),
        "idle_sync" => shade(Swatch::Neutral, 62),
        "idle_dependency" => shade(Swatch::Neutral, 44),
        "idle_short" => shade(Swatch::Neutral, 30),
        _ => shade(Swatch::Neutral, 16),
    }
}

/// Whether a part is hatched, as exposed waits are on the timeline.
fn hatched(part: &str) -> bool {
    part == "wait_exposed"
}

/// A piece of a bar.
pub(in crate::view) fn piece(theme: &Theme, part: &str, rect: Rect, out: &mut Vec<Item>) {
    out.push(filled(rect, fill(theme, part)));
    if hatched(part) && rect.width() >= 5.0 && rect.height() >= 8.0 {
        out.push(Item::Hatch {
            rect,
            color: theme.hatch(),
            line: 1.0,
            pitch: 5.0,
        });
    }
}

/// The colour of a text on a part.
fn label(theme: &Theme, part: &str) -> Rgba {
    let back = fill(theme, part);
    let both = [Rgba::hex(0), Rgba::hex(0x00FF_FFFF)];
    let [black, white] = both.map(|c| contrast(c, back));
    both[usize::from(white > black)]
}

/// A piece of a bar, with its name where there is room.
pub(in crate::view) fn named_piece(theme: &Theme, part: &str, rect: Rect, out: &mut Vec<Item>) {
    piece(theme, part, rect, out);
    let title = part_title(part);
    let width = title.chars().count() as f32 * ADVANCE;
    if width + 8.0 > rect.width() {
        return;
    }
    let y = (rect.y0 + rect.y1) / 2.0;
    // Lines of a hatch do not run through letters.
    let plate = Rect::new(rect.x0 + 2.0, y - 7.0, rect.x0 + 8.0 + width, y + 7.0);
    out.push(filled(plate, fill(theme, part)));
    let style = (Font::Small, label(theme, part));
    let place = (Align::Left, rect.width() - 6.0);
    out.push(words((rect.x0 + 5.0, y), title, style, place));
}

/// What the colours of parts mean, in lines from `y` on; also where the last one ends.
pub(in crate::view) fn legend<'a>(
    theme: &Theme,
    parts: impl IntoIterator<Item = &'a str>,
    (left, right): (f32, f32),
    y: f32,
) -> (Vec<Item>, f32) {
    const LINE: f32 = 18.0;
    let (mut x, mut y) = (left, y + 13.0);
    let mut items = Vec::new();
    for part in parts {
        let title = part_title(part);
        let own = 20.0 + title.chars().count() as f32 * 6.0;
        if x > left && x + own > right {
            (x, y) = (left, y + LINE);
        }
        let rect = Rect::new(x, y - 5.5, x + 13.0, y + 5.5);
        piece(theme, part, rect, &mut items);
        items.push(Item::Outline {
            rect,
            color: theme.weak,
            width: 1.0,
        });
        let style = (Font::Small, theme.text);
        items.push(words((x + 18.0, y), title, style, (Align::Left, 200.0)));
        x += own + 14.0;
    }
    (items, y + LINE)
}
