//! The batches that a worker made: by the numbers on its spans, by its collates, or by so many items each.

use super::loader::{BatchNumber, Loader};
use super::parts::Part;
use crate::time::TimeRange;

/// Batches per worker that may be made ahead and never taken.
const AHEAD: usize = 4;

/// Numbers of items that are tried.
const MOST: usize = 64;

/// A batch that a worker made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// From the start of its first span to the end of its last recorded work.
    pub range: TimeRange,
    /// Its number in its iterator, where a span carries it.
    pub id: Option<BatchNumber>,
}

/// The batches of a worker, in time order.
#[derive(Clone, Debug, Default)]
pub(super) struct Batches {
    pub all: Vec<Batch>,
    /// Latest end up to each.
    reach: Vec<i64>,
    /// Starts and ends, ascending.
    edges: Vec<i64>,
}

impl Batches {
    /// The batches of a loader; `items` = items of one batch, where neither numbers nor collates tell.
    pub fn new(loader: &Loader, items: Option<usize>) -> Self {
        let all = if !loader.ids.is_empty() {
            by_id(loader)
        } else if !loader.collates.is_empty() {
            let cuts: Vec<i64> = loader.collates.iter().map(|c| c.end).collect();
            by_cuts(loader, &cuts)
        } else if let Some(size) = items.filter(|&s| s > 0) {
            let n = loader.items.len();
            let last = |first: usize| (first + size).min(n) - 1;
            let cuts = (0..n).step_by(size).map(|i| loader.item(last(i)).end);
            by_cuts(loader, &cuts.collect::<Vec<_>>())
        } else {
            Vec::new()
        };
        let mut reach = i64::MIN;
        let reaches = all.iter().map(|b: &Batch| {
            reach = reach.max(b.range.end);
            reach
        });
        let reach = reaches.collect();
        let mut edges: Vec<i64> = all
            .iter()
            .flat_map(|b| [b.range.start, b.range.end])
            .collect();
        edges.sort_unstable();
        Self { all, reach, edges }
    }

    /// Whether spans carry the numbers of all of them.
    pub fn have_ids(&self) -> bool {
        self.all.iter().all(|b| b.id.is_some())
    }

    /// How many were made by a time.
    pub fn made_by(&self, skip: usize, t: i64) -> usize {
        let rest = self.all.get(skip..).unwrap_or_default();
        rest.iter().filter(|b| b.range.end <= t).count()
    }

    /// The first batch that was in the making at a time.
    pub fn at(&self, t: i64) -> Option<usize> {
        let from = self.reach.partition_point(|&r| r <= t);
        let to = self.all.partition_point(|b| b.range.start <= t);
        (from..to).find(|&j| self.all[j].range.contains(t))
    }

    /// Cuts a window where batches begin and end; tells of each piece the batch that was in the making.
    pub fn pieces(&self, window: TimeRange, mut piece: impl FnMut(TimeRange, Option<usize>)) {
        let mut at = window.start;
        let from = self.edges.partition_point(|&e| e <= at);
        let edges = self.edges[from..].iter().copied();
        let inner = edges.take_while(|&e| e < window.end);
        for edge in inner.chain([window.end]) {
            if edge > at {
                piece(TimeRange::new(at, edge), self.at(at));
                at = edge;
            }
        }
    }
}

/// Hulls of neighbours with one number.
fn by_id(loader: &Loader) -> Vec<Batch> {
    let mut out: Vec<Batch> = Vec::new();
    for &(range, id) in &loader.ids {
        match out.last_mut() {
            Some(last) if last.id == Some(id) => last.range.end = last.range.end.max(range.end),
            _ => out.push(Batch {
                range,
                id: Some(id),
            }),
        }
    }
    out
}

/// Batches that end at `cuts`: each owns what begins after the one before. What precedes the first item of the first one
/// belongs to starting the worker.
fn by_cuts(loader: &Loader, cuts: &[i64]) -> Vec<Batch> {
    let mut out: Vec<Batch> = Vec::with_capacity(cuts.len());
    for &end in cuts {
        let from = out.last().map_or(0, |b| {
            let before = b.range.end;
            loader.spans.partition_point(|s| s.range.start < before)
        });
        let own = loader.spans[from..].iter().map(|s| (s.range.start, s.part));
        let mut own = own.take_while(|&(start, _)| start < end);
        let start = if out.is_empty() {
            let first = own.clone().find(|&(_, part)| part == Part::Item);
            first.or_else(|| own.next())
        } else {
            own.next()
        };
        out.push(Batch {
            range: TimeRange::new(start.map_or(end, |s| s.0), end),
            id: None,
        });
    }
    out
}

/// What one worker made and gave away.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Yield {
    /// Items that it loaded.
    pub items: usize,
    /// Batches of it that were taken.
    pub taken: usize,
    /// It made the last batch of an iterator, which may be a short one.
    pub last: bool,
}

/// How many items a batch can have had: what explains all workers exactly; else the one number with a short last batch;
/// else all those with which batches were made ahead and not taken, none where they are more than [`MOST`].
pub(super) fn sizes(workers: &[Yield]) -> Vec<usize> {
    let top = workers.iter().map(|w| w.items).max().unwrap_or(0);
    let all = |b: usize, fits: &dyn Fn(&Yield, usize) -> bool| workers.iter().all(|w| fits(w, b));
    // From n = b · m of any worker that has a batch taken.
    let exact = workers
        .iter()
        .find(|w| w.taken > 0)
        .map(|w| w.items / w.taken);
    let exact = exact.filter(|&b| b > 0 && all(b, &|w, b| w.items == b * w.taken));
    if let Some(b) = exact {
        return vec![b];
    }
    let short =
        |w: &Yield, b: usize| w.items.div_ceil(b) == w.taken && (w.items == b * w.taken || w.last);
    // ceil(n / b) = m holds from ceil(n / m) to (n − 1) / (m − 1) only.
    let mut range = (1, top);
    for w in workers.iter().filter(|w| w.items > 0) {
        match w.taken {
            0 => range = (1, 0),
            1 => range.0 = range.0.max(w.items),
            m => {
                range.0 = range.0.max(w.items.div_ceil(m));
                range.1 = range.1.min((w.items - 1) / (m - 1));
            }
        }
    }
    let mut shorts = (range.0..=range.1).filter(|&b| all(b, &short));
    if let (Some(b), None) = (shorts.next(), shorts.next()) {
        return vec![b];
    }
    // The record may end inside a batch of each.
    let ahead = |w: &Yield, b: usize| {
        let made = w.items.div_ceil(b);
        w.taken <= made && made <= w.taken + AHEAD
    };
    let mut range = (1, top);
    for w in workers {
        range.0 = range.0.max(w.items.div_ceil(w.taken + AHEAD));
        if w.items > 0 && w.taken > 1 {
            range.1 = range.1.min((w.items - 1) / (w.taken - 1));
        }
    }
    let fits = |b: &usize| all(*b, &ahead);
    // Where so many fit, the counts tell nothing.
    let found: Vec<usize> = (range.0..=range.1).filter(fits).take(MOST + 1).collect();
    if found.len() > MOST {
        Vec::new()
    } else {
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(workers: &[(usize, usize, bool)]) -> Vec<usize> {
        let workers: Vec<Yield> = workers
            .iter()
            .map(|&(items, taken, last)| Yield { items, taken, last })
            .collect();
        sizes(&workers)
    }

    /// The same by trying every number.
    fn tried(workers: &[(usize, usize, bool)]) -> Vec<usize> {
        let top = workers.iter().map(|w| w.0).max().unwrap_or(0);
        let fit = |f: &dyn Fn(usize, usize, bool, usize) -> bool| -> Vec<usize> {
            (1..=top)
                .filter(|&b| workers.iter().all(|&(n, m, last)| f(n, m, last, b)))
                .collect()
        };
        let exact = fit(&|n, m, _, b| n == b * m);
        if !exact.is_empty() {
            return exact;
        }
        let short = fit(&|n, m, last, b| n.div_ceil(b) == m && (n == b * m || last));
        if short.len() == 1 {
            return short;
        }
        fit(&|n, m, _, b| m <= n.div_ceil(b) && n.div_ceil(b) <= m + AHEAD)
    }

    #[test]
    fn sizes_are_those_found_by_trying_all() {
        assert_eq!(of(&[(12, 4, false), (9, 3, true)]), vec![3]);
        assert_eq!(of(&[(12, 4, false), (11, 4, true)]), vec![3]);
        // The record may have been cut: batches of two then lie ready, or the last of three is a short one.
        assert_eq!(of(&[(12, 4, false), (11, 4, false)]), vec![2, 3]);
        // Cut inside a batch of each, of 20 items: the right one is among them.
        assert!(of(&[(119, 3, false), (107, 3, false)]).contains(&20));
        // Anything fits.
        assert_eq!(of(&[(8_193, 2, false)]), Vec::<usize>::new());
        let mut seed = 7_u64;
        let mut next = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(seed >> 33).unwrap_or(0) % n
        };
        for _ in 0..3_000 {
            let n = 1 + next(3);
            let workers: Vec<(usize, usize, bool)> =
                (0..n).map(|_| (next(20), next(6), next(2) == 0)).collect();
            assert_eq!(of(&workers), tried(&workers), "{workers:?}");
        }
    }
}
