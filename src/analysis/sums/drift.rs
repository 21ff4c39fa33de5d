//! How far two clocks can be apart, given bounds on their distance at single times, while one of them may run faster.
//!
//! ```text
//!  δ ▲        ╲ upper bounds                 δ(t) = a + b·(t − t₀), |b| ≤ limit
//!    │  ▼    ▼   ▼
//!    │ ─────────────── a line between them   feasible slopes b: f(b) = max(lower − b·Δt) − min(upper − b·Δt) ≤ 0
//!    │   ▲  ▲      ▲ lower bounds            f is convex, so its least value and its zeros are found by bisection
//!    └──────────────────▶ t
//! ```
//!
//! Exact: slopes are whole parts per billion, everything else is scaled by 10⁹ in 128 bits.

/// Parts per billion.
const SCALE: i128 = 1_000_000_000;

/// The distance of two clocks is not below (`lower`) or not above `value` at time `t`, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) struct Bound {
    /// Time on the reference clock.
    pub t: i64,
    /// The other clock's time minus the reference's.
    pub value: i64,
    /// Whether it bounds from below.
    pub lower: bool,
}

/// What a set of bounds leaves possible.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Distance {
    lower: Vec<(i128, i128)>,
    upper: Vec<(i128, i128)>,
    t0: i128,
    drift: Option<[i64; 2]>,
}

impl Distance {
    /// With slopes up to `limit` ppb either way. `None` unless there are bounds from both sides.
    pub fn new(bounds: &[Bound], limit: i64) -> Option<Self> {
        let t0 = i128::from(bounds.iter().map(|b| b.t).min()?);
        let side = |lower: bool| -> Vec<(i128, i128)> {
            let own = bounds.iter().filter(|b| b.lower == lower);
            own.map(|b| (i128::from(b.t) - t0, i128::from(b.value) * SCALE))
                .collect()
        };
        let mut this = Self {
            lower: side(true),
            upper: side(false),
            t0,
            drift: None,
        };
        if this.lower.is_empty() || this.upper.is_empty() {
            return None;
        }
        this.drift = this.slopes(limit);
        Some(this)
    }

    /// The slopes that fit, ppb; `None` where no line does: a contradiction.
    pub fn drift(&self) -> Option<[i64; 2]> {
        self.drift
    }

    fn highest_lower(&self, b: i64) -> i128 {
        let b = i128::from(b);
        let all = self.lower.iter().map(|(t, v)| v - b * t);
        all.max().unwrap_or(i128::MIN)
    }

    fn lowest_upper(&self, b: i64) -> i128 {
        let b = i128::from(b);
        let all = self.upper.iter().map(|(t, v)| v - b * t);
        all.min().unwrap_or(i128::MAX)
    }

    /// Not above 0 for a slope that fits; convex.
    fn excess(&self, b: i64) -> i128 {
        self.highest_lower(b) - self.lowest_upper(b)
    }

    fn slopes(&self, limit: i64) -> Option<[i64; 2]> {
        // Without any drift in most cases, and a far miss cannot be mended by any.
        let reach = self
            .lower
            .iter()
            .chain(&self.upper)
            .map(|(t, _)| *t)
            .max()?;
        if self.excess(0) > 2 * i128::from(limit) * reach {
            return None;
        }
        let best = if self.excess(0) <= 0 {
            0
        } else {
            least(-limit, limit, |b| self.excess(b))
        };
        if self.excess(best) > 0 {
            return None;
        }
        let edge = |mut bad: i64| {
            if self.excess(bad) <= 0 {
                return bad;
            }
            let mut good = best;
            while (bad - good).abs() > 1 {
                let middle = i64::midpoint(bad, good);
                if self.excess(middle) <= 0 {
                    good = middle;
                } else {
                    bad = middle;
                }
            }
            good
        };
        Some([edge(-limit), edge(limit)])
    }

    /// The least and the greatest distance at a time of the reference clock, ns; `None` in a contradiction.
    pub fn at(&self, t: i64) -> Option<[i64; 2]> {
        let [first, last] = self.drift?;
        let dt = i128::from(t) - self.t0;
        let lower = |b: i64| self.highest_lower(b) + i128::from(b) * dt;
        let upper = |b: i64| -(self.lowest_upper(b) + i128::from(b) * dt);
        let low = lower(least(first, last, lower)).div_euclid(SCALE);
        let high = -(upper(least(first, last, upper)).div_euclid(SCALE));
        let clamped = |x: i128| i64::try_from(x.clamp(i64::MIN.into(), i64::MAX.into()));
        Some([clamped(low).ok()?, clamped(high).ok()?])
    }
}

/// Where a convex function of whole numbers is least, in `[from, to]`.
fn least(from: i64, to: i64, of: impl Fn(i64) -> i128) -> i64 {
    let (mut from, mut to) = (from, to);
    while to - from > 2 {
        let third = (to - from) / 3;
        let (a, b) = (from + third, to - third);
        if of(a) <= of(b) {
            to = b;
        } else {
            from = a;
        }
    }
    (from..=to)
        .min_by_key(|&b| (of(b), b.abs()))
        .unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(t: i64, value: i64, lower: bool) -> Bound {
        Bound { t, value, lower }
    }

    #[test]
    fn bounds_without_drift() {
        let all = [bound(0, 10, true), bound(5, 30, false), bound(9, 12, true)];
        let d = Distance::new(&all, 0).expect("two sides");
        assert_eq!((d.drift(), d.at(100)), (Some([0, 0]), Some([12, 30])));
        assert!(Distance::new(&all[..1], 0).is_none());
        let d = Distance::new(&[bound(0, 2, true), bound(0, 1, false)], 100).expect("two sides");
        assert_eq!((d.drift(), d.at(0)), (None, None));
    }

    #[test]
    fn a_drift_is_found_where_one_fits() {
        // 50 ppm: 50 µs in a second.
        let second = 1_000_000_000;
        let all: Vec<Bound> = (0..5)
            .flat_map(|k| {
                let at = k * second;
                let d = k * 50_000;
                [bound(at, d - 100, true), bound(at, d + 100, false)]
            })
            .collect();
        assert_eq!(Distance::new(&all, 0).and_then(|d| d.drift()), None);
        let d = Distance::new(&all, 100_000).expect("two sides");
        let [low, high] = d.drift().expect("fits");
        assert!((49_900..=50_000).contains(&low) && (50_000..=50_100).contains(&high));
        let [low, high] = d.at(2 * second).expect("fits");
        assert_eq!((low, high), (99_900, 100_100));
        assert_eq!(Distance::new(&all, 40_000).and_then(|d| d.drift()), None);
    }

    #[test]
    fn times_at_both_ends_do_not_overflow() {
        let all = [
            bound(i64::MIN, i64::MAX, true),
            bound(i64::MAX, i64::MIN, false),
        ];
        let d = Distance::new(&all, 100_000).expect("two sides");
        assert_eq!(d.drift(), None);
        let all = [
            bound(i64::MIN, i64::MIN, true),
            bound(i64::MAX, i64::MAX, false),
        ];
        let d = Distance::new(&all, 100_000).expect("two sides");
        assert!(d.at(i64::MAX).is_some());
    }
}
