//! How the parts of a step look: the colours of what fills them on the timeline, shades of grey for what left the GPU idle.

use super::{Scene, filled, words};
use crate::analysis::part_title;
use crate::view::draw::{Align, Font, Item, SectionKind};
use crate::view::geom::{Rect, Rgba};
use crate::view::theme::{Swatch, Theme, contrast};

/// The fill of a part.
pub(super) fn fill(theme: &Theme, part: &str) -> Rgba {
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
pub(super) fn piece(theme: &Theme, part: &str, rect: Rect, out: &mut Vec<Item>) {
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
pub(super) fn label(theme: &Theme, part: &str) -> Rgba {
    let back = fill(theme, part);
    let both = [Rgba::hex(0), Rgba::hex(0x00FF_FFFF)];
    let [black, white] = both.map(|c| contrast(c, back));
    both[usize::from(white > black)]
}

/// What the colours of the parts mean.
pub(super) fn legend(scene: &mut Scene<'_>) {
    const LINE: f32 = 18.0;
    let theme = scene.input.theme;
    let Some(d) = &scene.rank.decomposition else {
        return;
    };
    let right = scene.x1() - 10.0;
    let (mut x, mut y) = (scene.x0() + 10.0, scene.y + 13.0);
    let mut items = Vec::new();
    for part in &d.parts {
        let title = part_title(part.name);
        let own = 20.0 + title.chars().count() as f32 * 6.0;
        if x > scene.x0() + 10.0 && x + own > right {
            (x, y) = (scene.x0() + 10.0, y + LINE);
        }
        let rect = Rect::new(x, y - 5.5, x + 13.0, y + 5.5);
        piece(theme, part.name, rect, &mut items);
        items.push(Item::Outline {
            rect,
            color: theme.weak,
            width: 1.0,
        });
        let style = (Font::Small, theme.text);
        items.push(words((x + 18.0, y), title, style, (Align::Left, 200.0)));
        x += own + 14.0;
    }
    let end = y + LINE;
    let clip = Rect::new(0.0, scene.y, scene.x1(), end);
    scene.section(SectionKind::Caption, clip, items);
    scene.y = end;
}
