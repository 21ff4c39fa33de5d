//! Rules L2–L4: what is at least 3 points wide is drawn for itself, narrower neighbours form runs.

use crate::analysis::LayerId;
use crate::time::TimeRange;
use crate::view::lod::Piece;
use crate::view::lod::tree::{Shares, add_share, dominant};
use crate::view::viewport::Viewport;

/// From this width a span has a rectangle of its own, points.
pub const OWN_WIDTH: f64 = 3.0;
/// Narrower neighbours closer than this are one run, points.
pub const JOIN_GAP: f64 = 1.5;
/// Least width of a run, points.
pub const MIN_WIDTH: f64 = 1.5;
/// Least width of what must never vanish (rule L6), points.
pub const MIN_PRIORITY_WIDTH: f64 = 2.0;
/// Runs are cut after this width, so that their height follows the load, points.
const CELL: f64 = 4.0;
/// How far what is cut reaches beyond the canvas, points.
const OUTSIDE: f64 = 2.0;
/// Steps of the busy share that tell two neighbouring runs apart.
const SHARES: f64 = 16.0;

/// One thing to draw in a row: a piece of its own, or a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Left edge, points on the canvas.
    pub x0: f64,
    /// Right edge.
    pub x1: f64,
    /// Position of the first interval.
    pub first: u32,
    /// Number of intervals.
    pub count: u32,
    /// Busy time in the window, ns.
    pub busy: i64,
    /// Layer with the most time.
    pub layer: LayerId,
    /// From the first start to the last end, clipped to the window.
    pub hull: TimeRange,
    /// Busy share in sixteenths, 1–16; 16 for a single interval.
    share: u8,
}

impl Run {
    /// Takes a later run of the same height in.
    pub fn absorb(&mut self, next: &Self) {
        self.x1 = self.x1.max(next.x1);
        self.count += next.count;
        self.busy += next.busy;
        self.hull.end = self.hull.end.max(next.hull.end);
    }

    /// Share of its time that is busy, 0–1; 1 for a single interval.
    pub fn coverage(&self) -> f32 {
        if self.count == 1 || self.hull.is_empty() {
            return 1.0;
        }
        (self.busy as f64 / self.hull.len() as f64) as f32
    }

    /// Height as a share of the row's bar: 35–100 % by busy share.
    pub fn height(&self) -> f32 {
        0.35 + 0.65 * f32::from(self.share) / SHARES as f32
    }
}

fn share(piece: &Piece) -> u8 {
    if piece.count == 1 || piece.hull.is_empty() {
        return SHARES as u8;
    }
    let share = piece.busy as f64 / piece.hull.len() as f64;
    (share * SHARES).ceil().clamp(1.0, SHARES) as u8
}

/// Collects the runs of one row. Neighbours are compared in nanoseconds; only what is drawn becomes points.
pub struct Runs {
    window: TimeRange,
    /// Points from the window's first whole nanosecond to the canvas, and per nanosecond.
    shift: f64,
    scale: f64,
    width: f64,
    min_width: f64,
    /// The limits above, ns.
    own_ns: i64,
    gap_ns: i64,
    cell_ns: i64,
    min_ns: i64,
    out: Vec<Run>,
    open: Option<Piece>,
    /// A piece that starts before this joins the open run, ns.
    gap_end: i64,
    /// A piece that ends after this does not, ns.
    cell_end: i64,
    /// Time of the layer that the open run starts with, ns.
    own_share: i64,
    /// Time of its other layers, ns. A node of the level of detail counts for its dominant layer.
    others: Shares,
    /// Right edge of what was drawn last.
    edge: f64,
    /// The last of `out` is a run that equal neighbours may join.
    extendable: bool,
}

impl Runs {
    pub fn new(view: &Viewport) -> Self {
        Self::with_width(view, MIN_WIDTH)
    }

    /// For what must never vanish (rule L6): wider.
    pub fn priority(view: &Viewport) -> Self {
        Self::with_width(view, MIN_PRIORITY_WIDTH)
    }

    fn with_width(view: &Viewport, min_width: f64) -> Self {
        let window = view.range();
        let ns = |points: f64| (points * view.ns_per_px()).ceil() as i64;
        Self {
            window,
            shift: view.x_from_time(window.start),
            scale: 1.0 / view.ns_per_px(),
            width: f64::from(view.width()),
            min_width,
            own_ns: ns(OWN_WIDTH),
            gap_ns: ns(JOIN_GAP),
            cell_ns: ns(CELL),
            min_ns: ns(min_width),
            out: Vec::new(),
            open: None,
            gap_end: 0,
            cell_end: 0,
            own_share: 0,
            others: Shares::new(),
            edge: f64::NEG_INFINITY,
            extendable: false,
        }
    }

    /// Inside the window differences are small: this is exact where [`Viewport::x_from_time`] is.
    fn x(&self, t: i64) -> f64 {
        (t - self.window.start) as f64 * self.scale + self.shift
    }

    /// Adds the next piece, in time order.
    #[inline]
    pub fn push(&mut self, piece: Piece) {
        if let Some(open) = &mut self.open {
            let joins = piece.hull.end <= self.cell_end
                && piece.hull.start < self.gap_end
                && (piece.count > 1 || piece.hull.end - piece.hull.start < self.own_ns);
            if joins {
                open.count += piece.count;
                open.busy += piece.busy;
                // Pieces do not overlap and come in order.
                open.hull.end = piece.hull.end;
                self.gap_end = self.gap_end.max(piece.hull.end + self.gap_ns);
                if piece.layer == open.layer {
                    self.own_share += piece.busy;
                } else {
                    add_share(&mut self.others, piece.layer, piece.busy);
                }
                return;
            }
        }
        self.start(piece);
    }

    #[inline(never)]
    fn start(&mut self, piece: Piece) {
        let cut = piece.hull.start <= self.window.start || piece.hull.end >= self.window.end;
        if piece.count == 1 && (piece.hull.len() >= self.own_ns || cut) {
            let run = self.run(&piece);
            self.flush(run.x0);
            self.emit(run, f64::INFINITY);
            self.extendable = false;
            return;
        }
        self.flush(self.x(piece.hull.start));
        self.own_share = piece.busy;
        let end = piece.hull.end.max(piece.hull.start + self.min_ns);
        self.gap_end = end + self.gap_ns;
        self.cell_end = piece.hull.start + self.cell_ns;
        self.open = Some(piece);
    }

    fn run(&self, piece: &Piece) -> Run {
        let mut x0 = self.x(piece.hull.start);
        let mut x1 = self.x(piece.hull.end);
        // What the window cuts goes on outside, so that no border shows at the cut.
        if piece.hull.start <= self.window.start {
            x0 = x0.min(-OUTSIDE);
        }
        if piece.hull.end >= self.window.end {
            x1 = x1.max(self.width + OUTSIDE);
        }
        Run {
            x0,
            x1,
            first: piece.first,
            count: piece.count,
            busy: piece.busy,
            layer: piece.layer,
            hull: piece.hull,
            share: share(piece),
        }
    }

    /// All runs.
    pub fn finish(mut self) -> Vec<Run> {
        self.flush(f64::INFINITY);
        self.out
    }

    /// Closes the open run; `next` is where the following piece starts.
    fn flush(&mut self, next: f64) {
        let Some(piece) = self.open.take() else {
            return;
        };
        let mut run = self.run(&piece);
        if !self.others.is_empty() {
            add_share(&mut self.others, run.layer, self.own_share);
            run.layer = dominant(&self.others);
            self.others.clear();
        }
        if self.extendable
            && let Some(last) = self.out.last_mut()
            && last.layer == run.layer
            && run.x0 - last.x1 < JOIN_GAP
            && last.share == run.share
        {
            last.absorb(&run);
            self.edge = last.x1;
            return;
        }
        self.emit(run, next);
        self.extendable = run.count > 1;
    }

    fn emit(&mut self, mut run: Run, next: f64) {
        // At least the least width, but never over what was drawn before or comes next.
        run.x0 = run.x0.max(self.edge);
        run.x1 = run.x1.max((run.x0 + self.min_width).min(next)).max(run.x0);
        self.edge = run.x1;
        self.out.push(run);
    }
}
