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
}

impl Run {
    /// Busy share in sixteenths, 1–16; 16 for a single interval.
    pub fn share(&self) -> u8 {
        if self.count == 1 || self.hull.is_empty() {
            return SHARES as u8;
        }
        let share = self.busy as f64 / self.hull.len() as f64;
        (share * SHARES).ceil().clamp(1.0, SHARES) as u8
    }

    /// Takes a later run in, for one label over both.
    pub fn absorb(&mut self, next: &Self) {
        let x1 = next.x1;
        join(self, *next);
        self.x1 = x1;
    }

    /// Height as a share of the row's bar: 35–100 % by busy share.
    pub fn height(&self) -> f32 {
        0.35 + 0.65 * f32::from(self.share()) / SHARES as f32
    }
}

/// Collects the runs of one row.
pub struct Runs {
    window: TimeRange,
    /// Points from the window's first whole nanosecond to the canvas, and per nanosecond.
    shift: f64,
    scale: f64,
    width: f64,
    min_width: f64,
    out: Vec<Run>,
    open: Option<Run>,
    /// Time per layer in the open run, ns. A node of the level of detail counts for its dominant layer.
    shares: Shares,
    /// Right edge of what was drawn last.
    edge: f64,
    /// The last of `out` is a run that equal neighbours may join.
    extendable: bool,
}

impl Runs {
    pub fn new(view: &Viewport) -> Self {
        let window = view.range();
        Self {
            window,
            shift: view.x_from_time(window.start),
            scale: 1.0 / view.ns_per_px(),
            width: f64::from(view.width()),
            min_width: MIN_WIDTH,
            out: Vec::new(),
            open: None,
            shares: Shares::new(),
            edge: f64::NEG_INFINITY,
            extendable: false,
        }
    }

    /// For what must never vanish (rule L6): wider.
    pub fn priority(view: &Viewport) -> Self {
        Self {
            min_width: MIN_PRIORITY_WIDTH,
            ..Self::new(view)
        }
    }

    /// Inside the window differences are small: this is exact where [`Viewport::x_from_time`] is.
    fn x(&self, t: i64) -> f64 {
        (t - self.window.start) as f64 * self.scale + self.shift
    }

    /// Adds the next piece, in time order.
    pub fn push(&mut self, piece: Piece) {
        let mut x0 = self.x(piece.hull.start);
        let mut x1 = self.x(piece.hull.end);
        // What the window cuts goes on outside, so that no border shows at the cut.
        if piece.hull.start <= self.window.start {
            x0 = x0.min(-OUTSIDE);
        }
        if piece.hull.end >= self.window.end {
            x1 = x1.max(self.width + OUTSIDE);
        }
        let run = Run {
            x0,
            x1,
            first: piece.first,
            count: piece.count,
            busy: piece.busy,
            layer: piece.layer,
            hull: piece.hull,
        };
        if piece.count == 1 && x1 - x0 >= OWN_WIDTH {
            self.flush(x0);
            self.emit(run, f64::INFINITY);
            self.extendable = false;
            return;
        }
        match &mut self.open {
            Some(open)
                if x0 - open.x1.max(open.x0 + self.min_width) < JOIN_GAP
                    && x1 - open.x0 <= CELL =>
            {
                join(open, run);
            }
            _ => {
                self.flush(x0);
                self.open = Some(run);
            }
        }
        add_share(&mut self.shares, run.layer, run.busy);
    }

    /// All runs.
    pub fn finish(mut self) -> Vec<Run> {
        self.flush(f64::INFINITY);
        self.out
    }

    /// Closes the open run; `next` is where the following piece starts.
    fn flush(&mut self, next: f64) {
        let Some(mut run) = self.open.take() else {
            return;
        };
        run.layer = dominant(&self.shares);
        self.shares.clear();
        if self.extendable
            && let Some(last) = self.out.last_mut()
            && last.layer == run.layer
            && last.share() == run.share()
            && run.x0 - last.x1 < JOIN_GAP
        {
            let x1 = run.x1.max(last.x1);
            join(last, run);
            last.x1 = x1;
            self.edge = x1;
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

fn join(run: &mut Run, next: Run) {
    run.x1 = run.x1.max(next.x1);
    run.count += next.count;
    run.busy += next.busy;
    run.hull.end = run.hull.end.max(next.hull.end);
}
