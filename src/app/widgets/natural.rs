//! The order of texts with numbers in them.

use std::cmp::Ordering;

/// Numbers inside texts compare as numbers: step 9 before step 10. A total order, whatever the digits.
#[must_use]
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a, b);
    loop {
        // Texts differ at the first character, or both go on with a number.
        let digits = |s: &str| s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
        let (n, m) = (digits(x), digits(y));
        if n > 0 && m > 0 {
            let (p, q) = (
                x[..n].trim_start_matches('0'),
                y[..m].trim_start_matches('0'),
            );
            let order = p.len().cmp(&q.len()).then_with(|| p.cmp(q));
            if order.is_ne() {
                return order;
            }
            (x, y) = (&x[n..], &y[m..]);
            continue;
        }
        match (x.chars().next(), y.chars().next()) {
            (Some(c), Some(d)) if c == d => (x, y) = (&x[c.len_utf8()..], &y[d.len_utf8()..]),
            // "a07" and "a7" are different texts.
            (None, None) => return a.cmp(b),
            (c, d) => return c.cmp(&d),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_numbers_have_one_order() {
        let mut names = [
            "x10",
            "x1999999999999999999999999",
            "x2",
            "y",
            "x",
            "x02",
            "2",
            "10",
            "x2b",
            "x2a10",
            "x2a9",
        ];
        names.sort_by(|a, b| natural(a, b));
        let sorted = [
            "2",
            "10",
            "x",
            "x02",
            "x2",
            "x2a9",
            "x2a10",
            "x2b",
            "x10",
            "x1999999999999999999999999",
            "y",
        ];
        assert_eq!(names, sorted);
    }
}
