//! A tree over sorted, disjoint intervals: leaves of 8, factor 4.
//!
//! All levels are columns, in which a walk reads on; together they take about three bytes per interval. Nothing in
//! a merged node is looked up in the intervals themselves: that would be a cache miss each.

use std::ops::Range;

use smallvec::SmallVec;

use crate::analysis::{LayerId, Union};
use crate::time::TimeRange;

/// Intervals per leaf.
const LEAF: usize = 8;
/// Children per node.
const FACTOR: usize = 4;
/// A hull that does not fit its column: never merged as a whole.
const TOO_LONG: u32 = u32::MAX;

/// What a [`Tree`] is built over and walked with: sorted, disjoint intervals with a layer each.
pub trait Intervals {
    /// How many.
    fn len(&self) -> usize;
    /// Interval `i`.
    fn range(&self, i: usize) -> TimeRange;
    /// Its layer.
    fn layer(&self, i: usize) -> LayerId;
    /// The length that [`Tree::longest`] compares, ns.
    fn length(&self, i: usize) -> i64 {
        self.range(i).len()
    }
    /// Both at once, for what has to look an id up first.
    fn get(&self, i: usize) -> (TimeRange, LayerId) {
        (self.range(i), self.layer(i))
    }
    /// True when there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Intervals for Union {
    fn len(&self) -> usize {
        self.parts().len()
    }
    fn range(&self, i: usize) -> TimeRange {
        self.parts()[i]
    }
    fn layer(&self, _i: usize) -> LayerId {
        LayerId(0)
    }
}

/// Eight intervals each: start after that of the node above, hull and busy time (ns), layer with the most time, which
/// of the eight is longest.
#[derive(Clone, Debug, Default)]
struct Leaves {
    start: Vec<u32>,
    hull: Vec<u32>,
    busy: Vec<u32>,
    layer: Vec<LayerId>,
    longest: Vec<u8>,
}

/// Everything about a stretch of consecutive intervals.
#[derive(Clone, Copy, Debug)]
struct Node {
    start: i64,
    end: i64,
    busy: i64,
    layer: LayerId,
    /// The longest interval, of equals the first: its index and length, ns.
    longest: (usize, i64),
}

/// The nodes of a level.
#[derive(Clone, Debug, Default)]
struct Level {
    start: Vec<i64>,
    end: Vec<i64>,
    busy: Vec<i64>,
    layer: Vec<LayerId>,
    /// Which child holds the longest interval.
    longest: Vec<u8>,
}

/// The tree.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    leaves: Leaves,
    /// `levels[0]` summarises four leaves per node, each further level four times as many.
    levels: Vec<Level>,
}

/// What a walk yields, in time order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index of the first interval.
    pub first: u32,
    /// Number of intervals.
    pub count: u32,
    /// From the first start to the last end, clipped to the window.
    pub hull: TimeRange,
    /// Time inside intervals and window, ns.
    pub busy: i64,
    /// Layer with the most time.
    pub layer: LayerId,
}

/// Time per layer, ns.
pub(in crate::view) type Shares = SmallVec<[(LayerId, i64); 4]>;

/// Adds `ns` of a layer.
pub(in crate::view) fn add_share(shares: &mut Shares, layer: LayerId, ns: i64) {
    match shares.iter_mut().find(|s| s.0 == layer) {
        Some(s) => s.1 += ns,
        None => shares.push((layer, ns)),
    }
}

/// The layer with the most time; of equals the one with the lowest number.
pub(in crate::view) fn dominant(shares: &Shares) -> LayerId {
    shares
        .iter()
        .max_by_key(|s| (s.1, std::cmp::Reverse(s.0)))
        .map_or(LayerId(0), |s| s.0)
}

/// Whether a node is one piece: nothing in it would be drawn for itself, and no gap in it parts runs. That is so where
/// it is at most `merge_ns` long; up to twice as long, where its gaps together are shorter than that.
#[inline]
fn merges(hull: i64, busy: i64, merge_ns: i64) -> bool {
    hull <= merge_ns || (hull - busy < merge_ns && hull < merge_ns.saturating_mul(2))
}

/// The state of one walk.
struct Walk<'a, I, F> {
    items: &'a I,
    window: TimeRange,
    merge_ns: i64,
    out: &'a mut F,
}

impl Tree {
    /// Builds the levels.
    #[must_use]
    pub fn new(items: &impl Intervals) -> Self {
        let n = items.len();
        if n <= LEAF {
            return Self::default();
        }
        let mut level: Vec<Node> = Vec::with_capacity(n.div_ceil(LEAF));
        let mut shares: Vec<Shares> = Vec::with_capacity(n.div_ceil(LEAF));
        for first in (0..n).step_by(LEAF) {
            let (node, share) = summarise(items, first, (first + LEAF).min(n));
            level.push(node);
            shares.push(share);
        }
        let leaves = Leaves::new(&level);
        let mut levels = Vec::new();
        // Leaves always have a level above: they count their starts from it.
        while levels.is_empty() || level.len() > FACTOR {
            let mut above = Vec::with_capacity(level.len().div_ceil(FACTOR));
            let mut above_shares = Vec::with_capacity(level.len().div_ceil(FACTOR));
            for (nodes, parts) in level.chunks(FACTOR).zip(shares.chunks(FACTOR)) {
                let (node, share) = join(nodes, parts);
                above.push(node);
                above_shares.push(share);
            }
            levels.push(Level::new(&above, levels.len()));
            level = above;
            shares = above_shares;
        }
        Self { leaves, levels }
    }

    /// A tree over the intervals of a union.
    #[must_use]
    pub fn of_union(union: &Union) -> Self {
        Self::new(union)
    }

    /// Yields what lies in `window`: single intervals, or whole nodes in which no interval is as long as twice
    /// `merge_ns` and no gap longer than `merge_ns`. `items` must be what the tree was built over.
    pub fn walk<I: Intervals, F: FnMut(Piece)>(
        &self,
        items: &I,
        window: TimeRange,
        merge_ns: i64,
        out: &mut F,
    ) {
        if window.is_empty() {
            return;
        }
        let mut walk = Walk {
            items,
            window,
            merge_ns,
            out,
        };
        match self.levels.last() {
            Some(top) => {
                for i in 0..top.start.len() {
                    self.visit(self.levels.len() - 1, i, &mut walk);
                }
            }
            None => walk.spans(0, items.len()),
        }
    }

    fn visit<I: Intervals, F: FnMut(Piece)>(
        &self,
        level: usize,
        i: usize,
        walk: &mut Walk<'_, I, F>,
    ) {
        let nodes = &self.levels[level];
        let (start, end) = (nodes.start[i], nodes.end[i]);
        // An empty interval at the window's start is inside, hence `<` and not `<=` on the left.
        if end < walk.window.start || start >= walk.window.end {
            return;
        }
        let inside = walk.window.start <= start && end <= walk.window.end;
        if inside && merges(end - start, nodes.busy[i], walk.merge_ns) {
            let width = node_width(level);
            let first = i * width;
            let last = (first + width).min(walk.items.len());
            (walk.out)(Piece {
                first: first as u32,
                count: (last - first) as u32,
                hull: TimeRange { start, end },
                busy: nodes.busy[i],
                layer: nodes.layer[i],
            });
            return;
        }
        let children = i * FACTOR..(i + 1) * FACTOR;
        if level == 0 {
            for child in children.start..children.end.min(self.leaves.hull.len()) {
                self.leaf(child, start, walk);
            }
        } else {
            for child in children.start..children.end.min(self.levels[level - 1].start.len()) {
                self.visit(level - 1, child, walk);
            }
        }
    }

    fn leaf<I: Intervals, F: FnMut(Piece)>(&self, i: usize, above: i64, walk: &mut Walk<'_, I, F>) {
        let first = i * LEAF;
        let last = (first + LEAF).min(walk.items.len());
        let (offset, hull) = (self.leaves.start[i], self.leaves.hull[i]);
        if offset != TOO_LONG && hull != TOO_LONG {
            let start = above + i64::from(offset);
            let end = start + i64::from(hull);
            if end < walk.window.start || start >= walk.window.end {
                return;
            }
            let inside = walk.window.start <= start && end <= walk.window.end;
            let busy = i64::from(self.leaves.busy[i]);
            if inside && merges(i64::from(hull), busy, walk.merge_ns) {
                (walk.out)(Piece {
                    first: first as u32,
                    count: (last - first) as u32,
                    hull: TimeRange { start, end },
                    busy,
                    layer: self.leaves.layer[i],
                });
                return;
            }
        }
        walk.spans(first, last);
    }

    /// Time inside intervals and `window`, ns.
    #[must_use]
    pub fn busy_in(&self, items: &impl Intervals, window: TimeRange) -> i64 {
        let mut sum = 0;
        self.walk(items, window, i64::MAX, &mut |p| sum += p.busy);
        sum
    }

    /// The longest of `count` intervals from `first` on, of equals the first one; `first` where there is none. Looks at
    /// a few intervals per level, not at all of them.
    #[must_use]
    pub fn longest(&self, items: &impl Intervals, first: usize, count: usize) -> usize {
        let end = first.saturating_add(count).min(items.len());
        let mut best = (i64::MIN, first);
        let mut look = |i: usize| {
            let len = items.length(i);
            if len > best.0 {
                best = (len, i);
            }
        };
        match self.levels.last() {
            Some(top) => {
                for i in 0..top.start.len() {
                    self.longest_in(Some(self.levels.len() - 1), i, first..end, &mut look);
                }
            }
            None => (first..end).for_each(look),
        }
        best.1
    }

    /// Looks at candidates for the longest interval of `within` in a node; `None` is the level of the leaves.
    fn longest_in(
        &self,
        level: Option<usize>,
        node: usize,
        within: Range<usize>,
        look: &mut impl FnMut(usize),
    ) {
        let width = level.map_or(LEAF, node_width);
        let (first, last) = (node * width, (node + 1) * width);
        if within.is_empty() || last <= within.start || within.end <= first {
            return;
        }
        if within.start <= first && last <= within.end {
            return look(self.longest_of(level, node));
        }
        match level {
            None => (first.max(within.start)..last.min(within.end)).for_each(look),
            Some(level) => {
                let below = level.checked_sub(1);
                for child in node * FACTOR..(node + 1) * FACTOR {
                    self.longest_in(below, child, within.clone(), look);
                }
            }
        }
    }

    /// The longest interval of a whole node.
    fn longest_of(&self, mut level: Option<usize>, mut node: usize) -> usize {
        while let Some(i) = level {
            node = node * FACTOR + usize::from(self.levels[i].longest[node]);
            level = i.checked_sub(1);
        }
        node * LEAF + usize::from(self.leaves.longest[node])
    }

    /// Bytes held.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let levels: usize = self
            .levels
            .iter()
            .map(|l| l.start.capacity() * 24 + l.layer.capacity() * 3)
            .sum();
        levels + self.leaves.hull.capacity() * 12 + self.leaves.layer.capacity() * 3
    }
}

impl Leaves {
    fn new(nodes: &[Node]) -> Self {
        let above = |i: usize| nodes[i / FACTOR * FACTOR].start;
        let fits = |ns: i64| u32::try_from(ns).unwrap_or(TOO_LONG);
        let ids = || nodes.iter().enumerate();
        Self {
            start: ids().map(|(i, n)| fits(n.start - above(i))).collect(),
            hull: ids().map(|(_, n)| fits(n.end - n.start)).collect(),
            // Where the hull fits, so does what is busy of it.
            busy: ids().map(|(_, n)| fits(n.busy)).collect(),
            layer: ids().map(|(_, n)| n.layer).collect(),
            longest: ids().map(|(_, n)| (n.longest.0 % LEAF) as u8).collect(),
        }
    }
}

/// Intervals per node of `levels[level]`.
fn node_width(level: usize) -> usize {
    (LEAF * FACTOR) << (2 * level)
}

impl Level {
    fn new(nodes: &[Node], level: usize) -> Self {
        let child = node_width(level) / FACTOR;
        Self {
            start: nodes.iter().map(|n| n.start).collect(),
            end: nodes.iter().map(|n| n.end).collect(),
            busy: nodes.iter().map(|n| n.busy).collect(),
            layer: nodes.iter().map(|n| n.layer).collect(),
            longest: nodes
                .iter()
                .map(|n| (n.longest.0 / child % FACTOR) as u8)
                .collect(),
        }
    }
}

impl<I: Intervals, F: FnMut(Piece)> Walk<'_, I, F> {
    /// Intervals one by one.
    fn spans(&mut self, first: usize, last: usize) {
        if first == last {
            return;
        }
        let starts = self.items.range(first).start;
        let inside = self.window.start <= starts && {
            let end = self.items.range(last - 1).end;
            end <= self.window.end && starts < self.window.end
        };
        for i in first..last {
            let (range, layer) = self.items.get(i);
            let mut hull = range;
            if !inside {
                let outside = range.end < self.window.start
                    || range.start >= self.window.end
                    || (range.end == self.window.start && !range.is_empty());
                if outside {
                    continue;
                }
                hull = range.clip(self.window);
            }
            (self.out)(Piece {
                first: i as u32,
                count: 1,
                hull,
                busy: hull.len(),
                layer,
            });
        }
    }
}

fn summarise(items: &impl Intervals, first: usize, last: usize) -> (Node, Shares) {
    let mut shares = Shares::new();
    let mut busy = 0;
    let mut end = i64::MIN;
    let mut longest = (first, i64::MIN);
    for i in first..last {
        let r = items.range(i);
        let length = items.length(i);
        if length > longest.1 {
            longest = (i, length);
        }
        busy += r.len();
        end = end.max(r.end);
        add_share(&mut shares, items.layer(i), r.len());
    }
    let node = Node {
        start: items.range(first).start,
        end,
        busy,
        layer: dominant(&shares),
        longest,
    };
    (node, shares)
}

fn join(nodes: &[Node], parts: &[Shares]) -> (Node, Shares) {
    let mut shares = Shares::new();
    for &(layer, ns) in parts.iter().flatten() {
        add_share(&mut shares, layer, ns);
    }
    let mut all = nodes[0];
    for node in &nodes[1..] {
        all.end = all.end.max(node.end);
        all.busy += node.busy;
        if node.longest.1 > all.longest.1 {
            all.longest = node.longest;
        }
    }
    all.layer = dominant(&shares);
    (all, shares)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Spans(Vec<(TimeRange, LayerId)>);

    impl Intervals for Spans {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn range(&self, i: usize) -> TimeRange {
            self.0[i].0
        }
        fn layer(&self, i: usize) -> LayerId {
            self.0[i].1
        }
    }

    fn spans(steps: &[(i64, i64, u16)]) -> Spans {
        let mut t = 0;
        let of = |&(gap, len, layer): &(i64, i64, u16)| {
            let start = t + gap;
            t = start + len;
            (TimeRange::new(start, t), LayerId(layer))
        };
        Spans(steps.iter().map(of).collect())
    }

    #[test]
    fn long_hulls_do_not_overflow_their_column() {
        let day = 86_400_000_000_000;
        let items = spans(&vec![(day, day, 1); 100]);
        let tree = Tree::new(&items);
        let all = TimeRange::new(0, 300 * day);
        assert_eq!(tree.busy_in(&items, all), 100 * day);
        // Leaves are too long to be merged as a whole; nodes above them, the last one of four intervals, are not.
        for (merge, expected) in [(20 * day, 97), (70 * day, 4)] {
            let mut pieces = 0;
            tree.walk(&items, all, merge, &mut |p| {
                pieces += 1;
                assert!(p.hull.len() <= merge);
            });
            assert_eq!(pieces, expected);
        }
    }

    proptest! {
        #[test]
        fn the_longest_of_any_stretch_is_found(
            steps in proptest::collection::vec((0_i64..5, 0_i64..9, Just(0_u16)), 1..900),
            first in 0_usize..900, count in 1_usize..900,
        ) {
            let items = spans(&steps);
            let tree = Tree::new(&items);
            let first = first % items.len();
            let own = first..(first + count).min(items.len());
            let expected = own.max_by_key(|&i| (items.range(i).len(), std::cmp::Reverse(i)));
            prop_assert_eq!(Some(tree.longest(&items, first, count)), expected);
        }

        #[test]
        fn the_longest_is_found_without_looking_at_all(n in 2_000_usize..60_000, at in 0.0_f64..1.0) {
            struct Counted(usize, usize, std::cell::Cell<usize>);
            impl Intervals for Counted {
                fn len(&self) -> usize {
                    self.0
                }
                fn range(&self, i: usize) -> TimeRange {
                    self.2.set(self.2.get() + 1);
                    let start = 10 * i as i64;
                    TimeRange::new(start, start + 1 + i64::from(i == self.1))
                }
                fn layer(&self, _i: usize) -> LayerId {
                    LayerId(0)
                }
            }
            let at = (n as f64 * at) as usize;
            let items = Counted(n, at, std::cell::Cell::new(0));
            let tree = Tree::new(&items);
            items.2.set(0);
            // Outside of the stretch all are equal: the first one.
            let expected = if (1..n - 1).contains(&at) { at } else { 1 };
            prop_assert_eq!(tree.longest(&items, 1, n - 2), expected);
            prop_assert!(items.2.get() <= 120, "{} of {n} looked at", items.2.get());
        }

        #[test]
        fn walks_cover_everything_exactly(
            steps in proptest::collection::vec((0_i64..50, 0_i64..90, 0_u16..3), 0..600),
            at in 0_i64..30_000, len in 0_i64..40_000, merge in 0_i64..4_000,
        ) {
            let items = spans(&steps);
            let tree = Tree::new(&items);
            let window = TimeRange::new(at, at + len);
            let inside = |r: &TimeRange| {
                r.overlaps(window) || (r.is_empty() && window.contains(r.start))
            };
            let busy: i64 = items.0.iter().map(|s| s.0.clip(window).len()).sum();
            let count = items.0.iter().filter(|s| inside(&s.0)).count();
            let one_piece = |own: &[(TimeRange, LayerId)]| {
                let hull = own[own.len() - 1].0.end - own[0].0.start;
                let gap = own.windows(2).map(|w| w[1].0.start - w[0].0.end).max();
                let longest = own.iter().map(|s| s.0.len()).max();
                hull <= merge || (gap < Some(merge) && longest < Some(2 * merge))
            };
            let (mut got, mut n, mut next) = (0, 0, 0);
            let mut bad = Vec::new();
            tree.walk(&items, window, merge, &mut |p| {
                got += p.busy;
                n += p.count as usize;
                let own = &items.0[p.first as usize..(p.first + p.count) as usize];
                let mut shares = Shares::new();
                for s in own {
                    add_share(&mut shares, s.1, s.0.clip(window).len());
                }
                let ok = p.first >= next
                    && (p.count == 1 || one_piece(own))
                    && dominant(&shares) == p.layer
                    && own.iter().map(|s| s.0.clip(window).len()).sum::<i64>() == p.busy;
                if !ok {
                    bad.push(p);
                }
                next = p.first + p.count;
            });
            prop_assert_eq!(bad, Vec::new());
            prop_assert_eq!((got, n), (busy, count));
            prop_assert!(tree.heap_bytes() <= items.len() * 3 + 200);
        }
    }
}
