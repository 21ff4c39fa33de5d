//! Ruler ticks: steps of 1-2-5, one unit for the whole ruler, labels at least 90 points apart.

use super::viewport::Viewport;
use crate::time::Unit;

/// Least distance of labels, points.
pub const LABEL_DISTANCE: f64 = 90.0;

/// The ticks of a ruler.
#[derive(Clone, Debug, PartialEq)]
pub struct Ticks {
    /// Distance of labelled ticks, ns.
    pub step: i64,
    /// Distance of unlabelled ticks, ns; divides `step`.
    pub minor: i64,
    /// The unit of all labels.
    pub unit: Unit,
    /// What labels count from, ns after the origin: 0, or a round time at the left where labels would get long.
    pub base: i64,
    /// Times (ns after the origin) and labels of the labelled ticks in view, ascending.
    pub labels: Vec<(i64, String)>,
}

/// The smallest of 1, 2, 5 × 10ⁿ that is at least `least`, in whole nanoseconds.
#[must_use]
pub fn nice_step(least: f64) -> i64 {
    let mut power = 1_i64;
    loop {
        for m in [1, 2, 5] {
            if (power * m) as f64 >= least {
                return power * m;
            }
        }
        // Beyond 30 years there is nothing to label.
        if power >= 1_000_000_000_000_000_000 {
            return power;
        }
        power *= 10;
    }
}

/// The ticks of a viewport. Labels count from the viewport's origin.
#[must_use]
pub fn ticks(viewport: &Viewport) -> Ticks {
    let step = nice_step(LABEL_DISTANCE * viewport.ns_per_px());
    let minor = match step.to_string().as_bytes()[0] {
        b'2' if step >= 4 => step / 4,
        b'5' if step >= 5 => step / 5,
        _ if step >= 10 => step / 5,
        _ => step,
    };
    let unit = Unit::for_length(step);
    let window = viewport.window();
    let first = (window.start / step as f64).ceil() as i64;
    let last = ((window.start + window.len) / step as f64).floor() as i64;
    let base = base(window.start, unit);
    let plus = if base > 0 { "+" } else { "" };
    let labels = (first..=last)
        .map(|i| {
            let t = i * step;
            let text = format!("{plus}{} {}", unit.format(t - base, 0), unit.symbol());
            (t, text)
        })
        .collect();
    Ticks {
        step,
        minor,
        unit,
        base,
        labels,
    }
}

/// Five digits are the most that is read at a glance.
const LONGEST: i64 = 100_000;

fn base(start: f64, unit: Unit) -> i64 {
    let start = start.max(0.0) as i64;
    if start / unit.ns() < LONGEST {
        return 0;
    }
    let round = unit.ns() * 1_000;
    start / round * round
}

impl Ticks {
    /// The absolute offset that the ruler's header shows, ns after the origin: what labels count from, or else the
    /// left edge.
    #[must_use]
    pub fn offset(&self, viewport: &Viewport) -> i64 {
        if self.base > 0 {
            self.base
        } else {
            viewport.window().start.round() as i64
        }
    }

    /// Unlabelled ticks in view, ns after the origin.
    pub fn minors(&self, viewport: &Viewport) -> impl Iterator<Item = i64> + use<> {
        let window = viewport.window();
        let (minor, step) = (self.minor, self.step);
        let first = (window.start / minor as f64).ceil() as i64;
        let last = ((window.start + window.len) / minor as f64).floor() as i64;
        (first..=last)
            .map(move |i| i * minor)
            .filter(move |t| t % step != 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::time::TimeRange;

    #[test]
    fn steps_are_1_2_5() {
        for (least, step) in [
            (0.1, 1),
            (1.0, 1),
            (1.5, 2),
            (3.0, 5),
            (5.1, 10),
            (11.0, 20),
            (4e9, 5_000_000_000),
        ] {
            assert_eq!(nice_step(least), step, "{least}");
        }
    }

    #[test]
    fn labels_of_a_window() {
        let mut v = Viewport::new(TimeRange::new(1_000, 1_000_001_000), 1_150.0);
        v.zoom_to(TimeRange::new(205_001_000, 565_001_000), 0.0);
        let t = ticks(&v);
        assert_eq!((t.step, t.unit), (50_000_000, Unit::Ms));
        assert_eq!(t.labels[0], (250_000_000, "250 ms".to_owned()));
        assert_eq!(t.labels.len(), 7);
        assert_eq!(t.minor, 10_000_000);
        assert!(t.minors(&v).all(|m| m % t.step != 0));
    }

    #[test]
    fn long_labels_count_from_a_round_time() {
        let mut v = Viewport::new(TimeRange::new(0, 20_000_000_000), 1_000.0);
        v.zoom_to(TimeRange::new(10_205_313_000, 10_205_317_000), 0.0);
        let t = ticks(&v);
        assert_eq!((t.base, t.unit), (10_205_313_000, Unit::Ns));
        assert_eq!(t.labels[1].1, "+500 ns");
        assert_eq!(t.offset(&v), 10_205_313_000);
    }

    proptest! {
        #[test]
        fn labels_are_far_apart_and_few(len in 100_i64..100_000_000_000_000, at in 0.0_f64..1.0, zoom in 1.0_f64..1e9) {
            let mut v = Viewport::new(TimeRange::new(0, len), 1_000.0);
            v.zoom_at((at * 1_000.0) as f32, zoom);
            let t = ticks(&v);
            prop_assert!(t.step as f64 / v.ns_per_px() >= LABEL_DISTANCE);
            prop_assert!(t.labels.len() <= 12);
            prop_assert!(t.minor >= 1 && t.step % t.minor == 0);
            prop_assert!(t.minors(&v).count() <= 60);
            for (time, _) in &t.labels {
                let x = v.x_from_time(v.origin() + time);
                prop_assert!((-1.0..=1_001.0).contains(&x));
            }
        }
    }
}
