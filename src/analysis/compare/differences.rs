//! Order statistics of all differences between two series, without building them.
//!
//! There are m·n of them. The k-th smallest is found by halving the range of values and counting those below by two
//! pointers over the sorted series: at most 64 passes over m + n values.

/// Two series, sorted.
pub(super) struct Differences {
    before: Vec<i64>,
    after: Vec<i64>,
}

/// Pairs with after > before, and with after = before.
pub(super) struct Pairs {
    pub more: u128,
    pub equal: u128,
}

impl Differences {
    /// Of two series that are not empty.
    pub fn new(before: &[i64], after: &[i64]) -> Self {
        let sorted = |v: &[i64]| {
            let mut v = v.to_vec();
            v.sort_unstable();
            v
        };
        Self {
            before: sorted(before),
            after: sorted(after),
        }
    }

    /// Their number.
    pub fn len(&self) -> u128 {
        self.before.len() as u128 * self.after.len() as u128
    }

    /// Pairs with after ≤ before + `d`.
    fn up_to(&self, d: i128) -> u128 {
        let (mut reached, mut count) = (0, 0);
        for &a in &self.before {
            let most = i128::from(a) + d;
            while reached < self.after.len() && i128::from(self.after[reached]) <= most {
                reached += 1;
            }
            count += reached as u128;
        }
        count
    }

    /// The `k`-th smallest difference, from 1; 0 without any.
    pub fn nth(&self, k: u128) -> i128 {
        let (Some(&b0), Some(&b1)) = (self.before.first(), self.before.last()) else {
            return 0;
        };
        let (Some(&a0), Some(&a1)) = (self.after.first(), self.after.last()) else {
            return 0;
        };
        let mut low = i128::from(a0) - i128::from(b1);
        let mut high = i128::from(a1) - i128::from(b0);
        while low < high {
            let middle = (low + high).div_euclid(2);
            if self.up_to(middle) >= k {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Their median, that of an even number rounded half up: the Hodges–Lehmann shift.
    pub fn median(&self) -> i128 {
        let n = self.len();
        let upper = self.nth(n / 2 + 1);
        if n % 2 == 1 {
            return upper;
        }
        (self.nth(n / 2) + upper + 1).div_euclid(2)
    }

    /// Pairs by sign.
    pub fn pairs(&self) -> Pairs {
        let (below, up_to) = (self.up_to(-1), self.up_to(0));
        Pairs {
            more: self.len() - up_to,
            equal: up_to - below,
        }
    }

    /// Sizes of the groups of equal values of both series together.
    pub fn ties(&self) -> Vec<usize> {
        let mut all: Vec<i64> = self.before.iter().chain(&self.after).copied().collect();
        all.sort_unstable();
        all.chunk_by(|a, b| a == b).map(<[i64]>::len).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn halving_finds_what_sorting_finds(
            before in prop::collection::vec(-60_i64..60, 1..14),
            after in prop::collection::vec(-60_i64..60, 1..14),
        ) {
            let d = Differences::new(&before, &after);
            let mut all: Vec<i128> = before
                .iter()
                .flat_map(|&a| after.iter().map(move |&b| i128::from(b - a)))
                .collect();
            all.sort_unstable();
            for (k, &value) in all.iter().enumerate() {
                prop_assert_eq!(d.nth(k as u128 + 1), value);
            }
            let pairs = d.pairs();
            prop_assert_eq!(pairs.more as usize, all.iter().filter(|x| **x > 0).count());
            prop_assert_eq!(pairs.equal as usize, all.iter().filter(|x| **x == 0).count());
            prop_assert_eq!(d.ties().iter().sum::<usize>(), before.len() + after.len());
        }
    }

    #[test]
    fn the_ends_of_time_do_no_harm() {
        let d = Differences::new(&[i64::MIN, i64::MAX], &[i64::MAX, i64::MIN]);
        assert_eq!(d.nth(1), i128::from(i64::MIN) - i128::from(i64::MAX));
        assert_eq!(d.median(), 0);
        assert_eq!(Differences::new(&[1], &[2, 4]).median(), 2);
        assert_eq!(Differences::new(&[4], &[1, 2]).median(), -2);
    }
}
