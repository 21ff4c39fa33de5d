//! Which time is where on the canvas: `f64` around an integer origin, so that a nanosecond is still exact after a
//! day. Knows no row and no colour.

use crate::time::TimeRange;

/// The shortest window, ns.
pub const MIN_WINDOW_NS: f64 = 100.0;
/// The empty margin past both ends of the trace, as a share of its length.
pub const GUTTER: f64 = 0.01;

/// A window of time as the view history keeps it: offsets from the viewport's origin, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Left edge, ns after the origin.
    pub start: f64,
    /// Length, ns.
    pub len: f64,
}

/// The mapping between time and canvas pixels (points from the canvas's left edge).
#[derive(Clone, Debug, PartialEq)]
pub struct Viewport {
    origin: i64,
    /// Length of the trace, ns; at least one nanosecond.
    extent: f64,
    window: Window,
    width: f64,
}

impl Viewport {
    /// Shows all of `extent` on a canvas of `width` points.
    #[must_use]
    pub fn new(extent: TimeRange, width: f32) -> Self {
        let mut this = Self {
            origin: extent.start,
            extent: (extent.len() as f64).max(1.0),
            window: Window {
                start: 0.0,
                len: 1.0,
            },
            width: f64::from(width).max(1.0),
        };
        this.fit();
        this
    }

    /// Canvas width, points.
    #[must_use]
    pub fn width(&self) -> f32 {
        self.width as f32
    }

    /// Changes the canvas width; the window stays.
    pub fn set_width(&mut self, width: f32) {
        self.width = f64::from(width).max(1.0);
    }

    /// The window, for the view history.
    #[must_use]
    pub fn window(&self) -> Window {
        self.window
    }

    /// Goes to a window of the view history, or to one in the middle of an animation.
    pub fn set_window(&mut self, window: Window) {
        self.window = self.clamped(window);
    }

    /// The window that would show `range` with `margin` (share of the range) on either side.
    #[must_use]
    pub fn window_of(&self, range: TimeRange, margin: f64) -> Window {
        let len = range.len() as f64;
        let start = (range.start.saturating_sub(self.origin)) as f64;
        self.clamped(Window {
            start: start - len * margin,
            len: len * (1.0 + 2.0 * margin),
        })
    }

    /// The window that shows the whole trace and its gutter.
    #[must_use]
    pub fn fit_window(&self) -> Window {
        let gutter = self.extent * GUTTER;
        Window {
            start: -gutter,
            len: self.max_len(),
        }
    }

    /// Shows the whole trace.
    pub fn fit(&mut self) {
        self.window = self.fit_window();
    }

    /// Shows `range` with `margin` (share of the range) on either side.
    pub fn zoom_to(&mut self, range: TimeRange, margin: f64) {
        self.window = self.window_of(range, margin);
    }

    /// Moves `time` to the middle, keeping the scale.
    pub fn center_on(&mut self, time: i64) {
        let at = (time.saturating_sub(self.origin)) as f64;
        self.set_window(Window {
            start: at - self.window.len / 2.0,
            len: self.window.len,
        });
    }

    /// Zooms in by `factor` (out below 1), keeping the time under `x` where it is.
    pub fn zoom_at(&mut self, x: f32, factor: f64) {
        if !(factor.is_finite() && factor > 0.0) {
            return;
        }
        let share = f64::from(x) / self.width;
        let len = (self.window.len / factor).clamp(self.min_len(), self.max_len());
        let start = self.window.start + share * (self.window.len - len);
        self.set_window(Window { start, len });
    }

    /// Moves the view by `dx` points: positive shows later time.
    pub fn pan(&mut self, dx: f32) {
        let start = self.window.start + f64::from(dx) * self.ns_per_px();
        self.set_window(Window {
            start,
            len: self.window.len,
        });
    }

    /// Nanoseconds per point.
    #[must_use]
    pub fn ns_per_px(&self) -> f64 {
        self.window.len / self.width
    }

    /// The point at which `time` lies, unclipped. Use [`Self::x_clipped`] for coordinates that become `f32`.
    #[must_use]
    pub fn x_from_time(&self, time: i64) -> f64 {
        let offset = time.saturating_sub(self.origin);
        (offset as f64 - self.window.start) * (self.width / self.window.len)
    }

    /// [`Self::x_from_time`] clipped to the canvas ± 2 points, so that no precision is lost in `f32`.
    #[must_use]
    pub fn x_clipped(&self, time: i64) -> f32 {
        self.x_from_time(time).clamp(-2.0, self.width + 2.0) as f32
    }

    /// The time at a point of the canvas, rounded to the nanosecond.
    #[must_use]
    pub fn time_from_x(&self, x: f32) -> i64 {
        let offset = self.window.start + f64::from(x) * self.ns_per_px();
        self.origin.saturating_add(offset.round() as i64)
    }

    /// The visible time in whole nanoseconds: every nanosecond of which a part shows.
    #[must_use]
    pub fn range(&self) -> TimeRange {
        let start = self.window.start.floor() as i64;
        let end = (self.window.start + self.window.len).ceil() as i64;
        TimeRange::new(
            self.origin.saturating_add(start),
            self.origin.saturating_add(end),
        )
    }

    /// Time zero of the offsets in [`Window`]: the start of the trace, ns.
    #[must_use]
    pub fn origin(&self) -> i64 {
        self.origin
    }

    /// True when the whole trace shows.
    #[must_use]
    pub fn is_fit(&self) -> bool {
        self.window.start <= 0.0 && self.window.start + self.window.len >= self.extent
    }

    fn max_len(&self) -> f64 {
        (self.extent * (1.0 + 2.0 * GUTTER)).max(MIN_WINDOW_NS)
    }

    fn min_len(&self) -> f64 {
        MIN_WINDOW_NS.min(self.max_len())
    }

    fn clamped(&self, window: Window) -> Window {
        let fit = self.fit_window();
        if !(window.start.is_finite() && window.len.is_finite()) {
            return fit;
        }
        let len = window.len.clamp(self.min_len(), self.max_len());
        // A window that was widened or narrowed by the clamp keeps its middle.
        let start = window.start + (window.len - len) / 2.0;
        let last = (fit.start + self.max_len() - len).max(fit.start);
        Window {
            start: start.clamp(fit.start, last),
            len,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = 86_400_000_000_000;

    #[test]
    fn a_nanosecond_is_exact_after_a_day() {
        let mut v = Viewport::new(TimeRange::new(7, DAY + 7), 1_000.0);
        v.zoom_to(TimeRange::new(DAY - 5_000, DAY + 5_000), 0.0);
        assert!((v.ns_per_px() - 10.0).abs() < 1e-9);
        let a = v.x_from_time(DAY);
        let b = v.x_from_time(DAY + 1);
        assert!((b - a - 0.1).abs() < 1e-6, "{a} {b}");
        for t in [DAY - 4_999, DAY, DAY + 3] {
            let x = v.x_from_time(t);
            let offset = v.window().start + x * v.ns_per_px();
            assert_eq!(offset.round() as i64 + v.origin(), t);
        }
    }

    #[test]
    fn windows_are_clamped_to_the_trace_and_to_100_ns() {
        let mut v = Viewport::new(TimeRange::new(0, 1_000_000), 500.0);
        assert!(v.is_fit());
        assert!((v.window().len - 1_020_000.0).abs() < 1e-6);
        v.zoom_at(250.0, 1e9);
        assert!((v.window().len - MIN_WINDOW_NS).abs() < 1e-9);
        v.pan(-1e9);
        assert!((v.window().start + 10_000.0).abs() < 1e-6);
        v.pan(1e12);
        assert!((v.window().start + v.window().len - 1_010_000.0).abs() < 1e-6);
        v.zoom_at(10.0, 1e-9);
        assert_eq!(v.window(), v.fit_window());
        v.zoom_at(10.0, f64::NAN);
        v.set_window(Window {
            start: f64::NAN,
            len: 4.0,
        });
        assert_eq!(v.window(), v.fit_window());
    }

    #[test]
    fn an_empty_trace_still_has_a_window() {
        let v = Viewport::new(TimeRange::new(5, 5), 0.0);
        assert!(v.ns_per_px() > 0.0 && !v.range().is_empty());
    }

    #[test]
    fn positions_are_clipped_before_they_become_small_floats() {
        let mut v = Viewport::new(TimeRange::new(0, DAY), 1_000.0);
        v.zoom_to(TimeRange::new(500, 700), 0.0);
        assert_eq!(v.x_clipped(DAY), 1_002.0);
        assert_eq!(v.x_clipped(0), -2.0);
    }

    proptest! {
        #[test]
        fn zooming_in_and_out_keeps_the_time_under_the_pointer(
            len in 1_000_000_i64..DAY, x in 0.0_f32..1_400.0, factor in 1.02_f64..1.3,
        ) {
            let mut v = Viewport::new(TimeRange::new(-len / 3, len - len / 3), 1_400.0);
            let before = v.time_from_x(x);
            for _ in 0..60 { v.zoom_at(x, factor); }
            let inside = v.x_from_time(before);
            prop_assert!((inside - f64::from(x)).abs() < 1.0 + 1.0 / v.ns_per_px());
            for _ in 0..60 { v.zoom_at(x, 1.0 / factor); }
            prop_assert!((v.x_from_time(before) - f64::from(x)).abs() < 1.0);
        }

        #[test]
        fn a_zoomed_range_is_visible(a in 0_i64..1_000_000, len in 1_i64..1_000_000) {
            let mut v = Viewport::new(TimeRange::new(0, 2_000_000), 800.0);
            let range = TimeRange::new(a, a + len);
            v.zoom_to(range, 0.1);
            prop_assert!(v.range().covers(range));
        }
    }
}
