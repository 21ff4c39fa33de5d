//! A factor-4 tree over sorted, disjoint intervals.

use smallvec::SmallVec;

use crate::analysis::{LayerId, Union};
use crate::time::TimeRange;

/// Intervals per leaf.
const LEAF: usize = 32;
/// Children per node.
const FACTOR: usize = 4;

/// What a [`Tree`] is built over and walked with: sorted, disjoint intervals with a layer each.
pub trait Intervals {
    /// How many.
    fn len(&self) -> usize;
    /// Interval `i`.
    fn range(&self, i: usize) -> TimeRange;
    /// Its layer.
    fn layer(&self, i: usize) -> LayerId;
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

/// One node: everything about a stretch of consecutive intervals.
#[derive(Clone, Copy, Debug)]
struct Node {
    start: i64,
    end: i64,
    busy: i64,
    longest: u32,
    layer: LayerId,
}

/// The tree. About 1.3 bytes per interval.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// `levels[0]` summarises 32 intervals per node, each further level four times as many.
    levels: Vec<Vec<Node>>,
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
    /// Index of the longest interval.
    pub longest: u32,
    /// Layer with the most time.
    pub layer: LayerId,
}

type Shares = SmallVec<[(LayerId, i64); 4]>;

impl Tree {
    /// Builds the levels.
    #[must_use]
    pub fn new(items: &impl Intervals) -> Self {
        let n = items.len();
        if n <= LEAF {
            return Self::default();
        }
        let mut shares: Vec<Shares> = Vec::with_capacity(n.div_ceil(LEAF));
        let mut level: Vec<Node> = Vec::with_capacity(n.div_ceil(LEAF));
        for first in (0..n).step_by(LEAF) {
            let (node, share) = summarise(items, first, (first + LEAF).min(n));
            level.push(node);
            shares.push(share);
        }
        let mut levels = Vec::new();
        while level.len() > FACTOR {
            let mut above = Vec::with_capacity(level.len().div_ceil(FACTOR));
            let mut above_shares = Vec::with_capacity(level.len().div_ceil(FACTOR));
            for (nodes, parts) in level.chunks(FACTOR).zip(shares.chunks(FACTOR)) {
                let (node, share) = join(nodes, parts, items);
                above.push(node);
                above_shares.push(share);
            }
            levels.push(std::mem::replace(&mut level, above));
            shares = above_shares;
        }
        levels.push(level);
        Self { levels }
    }

    /// A tree over the intervals of a union.
    #[must_use]
    pub fn of_union(union: &Union) -> Self {
        Self::new(union)
    }

    /// Yields what lies in `window`: single intervals, or whole nodes that are at most `merge_ns` long.
    /// `items` must be what the tree was built over.
    pub fn walk(
        &self,
        items: &impl Intervals,
        window: TimeRange,
        merge_ns: i64,
        out: &mut impl FnMut(Piece),
    ) {
        if window.is_empty() {
            return;
        }
        let Some(top) = self.levels.last() else {
            walk_items(items, 0, items.len(), window, out);
            return;
        };
        let level = self.levels.len() - 1;
        for i in 0..top.len() {
            self.visit(items, level, i, window, merge_ns, out);
        }
    }

    fn visit(
        &self,
        items: &impl Intervals,
        level: usize,
        i: usize,
        window: TimeRange,
        merge_ns: i64,
        out: &mut impl FnMut(Piece),
    ) {
        let node = self.levels[level][i];
        // An empty interval at the window's start is inside, hence `<` and not `<=` on the left.
        if node.end < window.start || node.start >= window.end {
            return;
        }
        let width = LEAF * FACTOR.pow(u32::try_from(level).unwrap_or(0));
        let first = i * width;
        let last = (first + width).min(items.len());
        let inside = window.start <= node.start && node.end <= window.end;
        if inside && node.end - node.start <= merge_ns {
            out(Piece {
                first: u32::try_from(first).unwrap_or(u32::MAX),
                count: u32::try_from(last - first).unwrap_or(u32::MAX),
                hull: TimeRange {
                    start: node.start,
                    end: node.end,
                },
                busy: node.busy,
                longest: node.longest,
                layer: node.layer,
            });
        } else if level == 0 {
            walk_items(items, first, last, window, out);
        } else {
            let below = self.levels[level - 1].len();
            for child in i * FACTOR..((i + 1) * FACTOR).min(below) {
                self.visit(items, level - 1, child, window, merge_ns, out);
            }
        }
    }

    /// Time inside intervals and `window`, ns.
    #[must_use]
    pub fn busy_in(&self, items: &impl Intervals, window: TimeRange) -> i64 {
        let mut sum = 0;
        self.walk(items, window, i64::MAX, &mut |p| sum += p.busy);
        sum
    }

    /// Bytes held.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.levels
            .iter()
            .map(|l| l.capacity() * size_of::<Node>())
            .sum()
    }
}

fn walk_items(
    items: &impl Intervals,
    first: usize,
    last: usize,
    window: TimeRange,
    out: &mut impl FnMut(Piece),
) {
    for i in first..last {
        let range = items.range(i);
        let outside = range.end < window.start
            || range.start >= window.end
            || (range.end == window.start && !range.is_empty());
        if outside {
            continue;
        }
        let hull = range.clip(window);
        let index = u32::try_from(i).unwrap_or(u32::MAX);
        out(Piece {
            first: index,
            count: 1,
            hull,
            busy: hull.len(),
            longest: index,
            layer: items.layer(i),
        });
    }
}

fn summarise(items: &impl Intervals, first: usize, last: usize) -> (Node, Shares) {
    let mut shares = Shares::new();
    let (mut busy, mut longest, mut longest_dur) = (0, first, -1);
    let mut end = i64::MIN;
    for i in first..last {
        let r = items.range(i);
        busy += r.len();
        end = end.max(r.end);
        add(&mut shares, items.layer(i), r.len());
        if r.len() > longest_dur {
            (longest, longest_dur) = (i, r.len());
        }
    }
    let node = Node {
        start: items.range(first).start,
        end,
        busy,
        longest: u32::try_from(longest).unwrap_or(u32::MAX),
        layer: dominant(&shares),
    };
    (node, shares)
}

fn join(nodes: &[Node], parts: &[Shares], items: &impl Intervals) -> (Node, Shares) {
    let mut shares = Shares::new();
    for &(layer, ns) in parts.iter().flatten() {
        add(&mut shares, layer, ns);
    }
    let mut all = nodes[0];
    for node in &nodes[1..] {
        all.end = all.end.max(node.end);
        all.busy += node.busy;
        let dur = |i: u32| items.range(i as usize).len();
        if dur(node.longest) > dur(all.longest) {
            all.longest = node.longest;
        }
    }
    all.layer = dominant(&shares);
    (all, shares)
}

/// Adds `ns` of a layer.
fn add(shares: &mut Shares, layer: LayerId, ns: i64) {
    match shares.iter_mut().find(|s| s.0 == layer) {
        Some(s) => s.1 += ns,
        None => shares.push((layer, ns)),
    }
}

/// The layer with the most time; of equals the one with the lowest number.
fn dominant(shares: &Shares) -> LayerId {
    shares
        .iter()
        .max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)))
        .map_or(LayerId(0), |s| s.0)
}
