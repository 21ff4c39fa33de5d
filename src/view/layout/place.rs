//! Where a row is drawn, and what the stages of a strip of rows collect.

use super::ctx::Ctx;
use super::labels;
use crate::view::draw::{Item, Target};
use crate::view::geom::Rect;

/// A row on the screen.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub row: u32,
    pub pinned: bool,
    /// The bars' rectangle, canvas wide.
    pub bar: Rect,
    /// GPU lane: fades while links show.
    pub gpu: bool,
    /// About the recording itself: holds everything else.
    pub recorder: bool,
    /// Lane of a training loop: its waits are told apart.
    pub loops: bool,
    /// That loop's GPU is not known: nobody can tell its waits apart.
    pub no_gpu: bool,
}

/// What the stages of one strip collect, in painting order.
#[derive(Default)]
pub(super) struct Layers {
    pub back: Vec<Item>,
    pub tails: Vec<Item>,
    pub spans: Vec<Item>,
    pub priority: Vec<Item>,
    /// Lines along the lower edge of spans, top to bottom: where they lead on over spans.
    pub strips: Vec<Rect>,
    /// Ends of tails.
    pub caps: Vec<Item>,
    /// Texts that are in `texts` already.
    pub written: Vec<labels::Written>,
    pub labels: Vec<labels::Candidate>,
    pub texts: Vec<Item>,
}

/// Remembers where something can be hit.
pub(super) fn target(ctx: &mut Ctx<'_>, rect: Rect, clip: Rect, target: Target) {
    let rect = rect.clip(clip);
    if !rect.is_empty() {
        ctx.list.targets.push((rect, target));
    }
}
