//! How fast a GPU is from step to step: noise in which each step keeps some of the one before it.

use super::model::Rng;

/// A series with a standard deviation and a correlation of neighbours, in thousandths; integers alone, so that it is the
/// same on every machine.
pub struct Speed {
    rng: Rng,
    noise: i64,
    lag1: i64,
    /// New part of each value, so that the deviation stays as it is.
    new: i64,
    last: i64,
}

impl Speed {
    /// What kernels take without noise.
    pub const USUAL: i64 = 1_000;

    pub fn new(seed: u64, noise: i64, lag1: i64) -> Self {
        let lag1 = lag1.clamp(-999, 999);
        let new = (1_000_000 - lag1 * lag1).unsigned_abs().isqrt();
        Self {
            rng: Rng::new(seed ^ 0x51ce_d0f5),
            noise,
            lag1,
            new: i64::try_from(new).unwrap_or(0),
            last: 0,
        }
    }

    /// What kernels of the next step take, in thousandths of the usual.
    pub fn next(&mut self) -> i64 {
        if self.noise == 0 {
            return Self::USUAL;
        }
        // Even between -sqrt(3) and sqrt(3): a deviation of one.
        let even = i64::try_from(self.rng.below(3_465)).unwrap_or(0) - 1_732;
        self.last = (self.lag1 * self.last + self.new * even) / 1_000;
        (Self::USUAL + self.noise * self.last / 1_000).max(100)
    }
}
