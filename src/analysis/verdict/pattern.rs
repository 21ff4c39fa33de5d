//! How an issue's time lies over the steps: in each, in some, in bursts.

use std::cmp::Reverse;

use crate::analysis::sums::stats::{percentile, ratio, round6};
use crate::analysis::verdict::issue::{Burst, Pattern};

/// Steps that are named.
const NAMED: usize = 3;

/// Pattern and burst of times by entry; `label` names an entry. `None` where nothing is above zero.
pub(in crate::analysis) fn pattern(
    times: &[i64],
    label: impl Fn(usize) -> String,
) -> Option<(Pattern, Burst)> {
    let (sum, n) = (
        times.iter().map(|&t| i128::from(t)).sum::<i128>(),
        times.len(),
    );
    if sum <= 0 {
        return None;
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&i| (Reverse(times[i]), i));
    let (mut held, mut k) = (0_i128, 0);
    while held * 10 < sum * 9 && k < n {
        held += i128::from(times[order[k]]);
        k += 1;
    }
    let mut top = order[..k].to_vec();
    top.sort_unstable();
    let apart: Vec<i64> = top
        .windows(2)
        .map(|w| i64::try_from(w[1] - w[0]).unwrap_or(i64::MAX))
        .collect();
    let (least, most) = (apart.iter().min(), apart.iter().max());
    let period = match (least, most) {
        (Some(&least), Some(&most)) if k >= 3 && most - least <= 1 && least > 1 => {
            percentile(&mut apart.clone(), 50)
        }
        _ => None,
    };
    let median = i128::from(percentile(&mut times.to_vec(), 50).unwrap_or(0));
    let count = i128::try_from(n).unwrap_or(i128::MAX);
    let uneven = median * 2 * count < sum;
    let large = times.iter().filter(|&&t| 2 * count * i128::from(t) >= sum);
    let pattern = if 4 * k <= n && uneven {
        Pattern::Burst
    } else if 2 * large.count() >= n {
        Pattern::EveryStep
    } else {
        Pattern::SomeSteps
    };
    let whole = |x: i128| i64::try_from(x).unwrap_or(i64::MAX);
    let burst = Burst {
        k,
        n,
        share: round6(ratio(whole(held), whole(sum)).unwrap_or(0.0)),
        steps: top.iter().take(NAMED).map(|&i| label(i)).collect(),
        period,
    };
    Some((pattern, burst))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[i64]) -> (Pattern, Burst) {
        pattern(times, |i| i.to_string()).expect("a sum")
    }

    #[test]
    fn every_eighth_step_is_a_burst_with_a_period() {
        let times: Vec<i64> = (0..48).map(|i| if i % 8 == 7 { 100 } else { 0 }).collect();
        let (pattern, burst) = of(&times);
        assert_eq!(pattern, Pattern::Burst);
        assert_eq!((burst.k, burst.n, burst.period), (6, 48, Some(8)));
        assert_eq!(burst.steps, ["7", "15", "23"]);
    }

    #[test]
    fn equal_steps_are_every_step_and_no_period() {
        let (pattern, burst) = of(&[10; 20]);
        assert_eq!(
            (pattern, burst.k, burst.period),
            (Pattern::EveryStep, 18, None)
        );
        assert_eq!(burst.share, 0.9);
    }

    #[test]
    fn a_third_of_the_steps_is_neither() {
        assert_eq!(of(&[0, 0, 9, 0, 0, 9, 0, 0, 9]).0, Pattern::SomeSteps);
        assert_eq!(pattern(&[0, 0], |i| i.to_string()), None);
        assert_eq!(pattern(&[], |i| i.to_string()), None);
    }
}
