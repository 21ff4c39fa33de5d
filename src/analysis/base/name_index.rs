//! What each name takes in any window: sums for blocks of a lane's spans, so that a window costs what its edges hold.
//!
//! ```text
//! spans by start  ▪▪▪▪▪▪▪▪│▪▪▪▪▪▪▪▪│▪▪▪▪▪▪▪▪│▪▪▪▪     blocks of 1,024, here of 8
//! window               [  swept  │  kept  │ swept ]    and what is open at its two ends
//! ```
//!
//! Sums of whole lanes scale with the spans, prefix sums by name would take 24 bytes for each of them; a block's names
//! are few, so that blocks take a few bytes per span.
//!
//! A span's own time is its length without its direct children on the lane. A child is charged to its parent when it
//! starts, by what no earlier child covers: so the own times of spans that start in a block need nothing of other
//! blocks but the spans that are open where it begins.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::base::core::Core;
use crate::analysis::base::lanes::Lane;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::sums::intervals::{Near, Union};
use crate::model::{LaneId, NameId, SpanId};
use crate::time::TimeRange;

/// Spans per block.
const BLOCK: usize = 1 << 10;

/// When the GPU that a lane works for had nothing to do; `None` where that has no meaning or is not known.
pub(in crate::analysis) type IdleOf<'a> = dyn Fn(LaneId) -> Option<&'a Union> + Sync + 'a;

/// Sums over the spans of one name and layer. Times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::analysis) struct Sums {
    /// Spans.
    pub count: u64,
    /// Their whole lengths.
    pub whole: i64,
    /// Their lengths inside the window.
    pub total: i64,
    /// That without their direct children.
    pub own: i64,
    /// Of `total`, while the GPU of their rank was idle.
    pub idle: i64,
    /// Whether that is known for any of them.
    pub idle_known: bool,
    /// The longest one, the first of equals: length, span.
    pub longest: Option<(i64, SpanId)>,
}

impl Sums {
    fn see(&mut self, dur: i64, span: SpanId) {
        let longer = |&(d, s): &(i64, SpanId)| (dur, s) > (d, span);
        if self.longest.as_ref().is_none_or(longer) {
            self.longest = Some((dur, span));
        }
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.whole = self.whole.saturating_add(other.whole);
        self.total = self.total.saturating_add(other.total);
        self.own = self.own.wrapping_add(other.own);
        self.idle = self.idle.saturating_add(other.idle);
        self.idle_known |= other.idle_known;
        if let Some((dur, span)) = other.longest {
            self.see(dur, span);
        }
    }
}

/// The pairs of name and layer that occur, by name.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Keys {
    all: Vec<(NameId, LayerId)>,
    /// By name: the first of its pairs.
    first: Vec<u32>,
}

impl Keys {
    fn new(core: &Core) -> Self {
        let mut layer_of: Vec<Option<LayerId>> = vec![None; core.trace.names().len()];
        let mut further = FxHashSet::default();
        let names = core.trace.spans().names();
        for (&name, &layer) in names.iter().zip(core.layers.column()) {
            let name = core.names.shared(name);
            let known = layer_of[name.index()].get_or_insert(layer);
            if *known != layer {
                further.insert((name, layer));
            }
        }
        let first = (0..).zip(&layer_of);
        let mut all: Vec<(NameId, LayerId)> = first
            .filter_map(|(name, layer)| Some((NameId(name), (*layer)?)))
            .collect();
        all.extend(further);
        all.sort_unstable();
        let mut first = Vec::with_capacity(layer_of.len() + 1);
        let mut at = 0;
        for name in 0..=layer_of.len() {
            while all.get(at).is_some_and(|key| key.0.index() < name) {
                at += 1;
            }
            first.push(u32::try_from(at).unwrap_or(u32::MAX));
        }
        // Names that share another one have its pairs.
        let shared = |name: u32| first[core.names.shared(NameId(name)).index()];
        let names = (0..).zip(&layer_of);
        let first = names.map(|(name, _)| shared(name)).collect();
        Self { all, first }
    }

    /// All pairs; a slot is a place among them.
    pub fn all(&self) -> &[(NameId, LayerId)] {
        &self.all
    }

    #[inline]
    fn slot(&self, name: NameId, layer: LayerId) -> usize {
        let mut slot = self.first[name.index()] as usize;
        // Nearly every name has one layer.
        while self.all[slot].1 != layer {
            slot += 1;
        }
        slot
    }
}

/// Sums of the spans of one slot that start in a block, unclipped.
#[derive(Clone, Copy, Debug)]
struct Entry {
    slot: u32,
    count: u32,
    whole: i64,
    own: i64,
    idle: i64,
    longest: Option<(i64, SpanId)>,
}

/// The blocks of one lane.
#[derive(Debug, Default)]
struct Blocks {
    entries: Vec<Entry>,
    /// By block: the end of its entries.
    ends: Vec<u32>,
}

impl Blocks {
    fn of(&self, block: usize) -> &[Entry] {
        let start = block.checked_sub(1).map_or(0, |b| self.ends[b] as usize);
        &self.entries[start..self.ends[block] as usize]
    }
}

/// A span that may contain later ones.
struct Open {
    end: i64,
    slot: usize,
    /// How far its children reach.
    covered: i64,
}

/// The spans of a lane in stored order, each with its parent: the last earlier one that ends no earlier and is open.
#[derive(Default)]
struct Nesting {
    /// Those that can contain a later one: ends descend.
    open: Vec<Open>,
}

impl Nesting {
    /// The next span: its parent's slot, and what of the parent's own time it takes.
    #[inline]
    fn next(&mut self, range: TimeRange, slot: usize) -> Option<(usize, TimeRange)> {
        let TimeRange { start, end } = range;
        // Those that ended, and those that this one crosses: it takes their place.
        let gone = |o: &mut Open| o.end <= start || o.end < end;
        while self.open.pop_if(gone).is_some() {}
        let taken = self.open.last_mut().map(|parent| {
            let from = start.max(parent.covered).min(end);
            parent.covered = parent.covered.max(end);
            (parent.slot, TimeRange { start: from, end })
        });
        self.open.pop_if(|parent| parent.end == end);
        self.open.push(Open {
            end,
            slot,
            covered: start,
        });
        taken
    }
}

/// One lane while it is summed.
struct LaneView<'a> {
    core: &'a Core,
    keys: &'a Keys,
    lane: LaneId,
    columns: Lane<'a>,
    names: &'a [NameId],
    idle: Option<&'a Union>,
}

impl<'a> LaneView<'a> {
    fn new(core: &'a Core, keys: &'a Keys, lane: LaneId, idle: Option<&'a Union>) -> Self {
        let spans = core.trace.lane(lane).spans.clone();
        Self {
            core,
            keys,
            lane,
            columns: core.columns(lane),
            names: &core.trace.spans().names()[spans.start as usize..spans.end as usize],
            idle,
        }
    }

    #[inline]
    fn slot(&self, i: usize) -> usize {
        self.keys.slot(self.names[i], self.columns.of[i])
    }

    /// Whether spans of a slot count here, and not in another record of the same thread.
    fn counts(&self, slot: usize) -> bool {
        !self.core.is_repeated(self.lane, self.keys.all[slot].1)
    }

    /// The indices of the spans before `i` that end after `t`, ascending.
    fn open_before(&self, i: usize, t: i64) -> Vec<usize> {
        let mut open = Vec::new();
        let index = self.core.index(self.lane);
        index.open_before(&self.columns, i, t, |i| open.push(i));
        open
    }

    fn open_at(&self, t: i64) -> Vec<usize> {
        let mut open = Vec::new();
        let index = self.core.index(self.lane);
        index.open_at(&self.columns, t, |i| open.push(i));
        open
    }

    fn blocks(&self) -> Blocks {
        let mut out = Blocks::default();
        let mut nesting = Nesting::default();
        let mut near = Near::default();
        let mut places: FxHashMap<u32, usize> = FxHashMap::default();
        for i in 0..self.columns.len() {
            let range = self.columns.range(i);
            let slot = self.slot(i);
            let idle = self.idle.map_or(0, |idle| near.measure(idle, range));
            let taken = nesting.next(range, slot);
            let entry = out.entry(&mut places, slot);
            entry.count += 1;
            entry.whole = entry.whole.saturating_add(range.len());
            entry.own = entry.own.wrapping_add(range.len());
            entry.idle = entry.idle.saturating_add(idle);
            if entry.longest.is_none_or(|(dur, _)| range.len() > dur) {
                entry.longest = Some((range.len(), self.columns.id(i)));
            }
            if let Some((parent, part)) = taken {
                let entry = out.entry(&mut places, parent);
                entry.own = entry.own.wrapping_sub(part.len());
            }
            if (i + 1).is_multiple_of(BLOCK) {
                out.close(&mut places);
            }
        }
        out.close(&mut places);
        out.entries.shrink_to_fit();
        out
    }

    /// Adds what lies in a window.
    fn add(&self, blocks: &Blocks, window: TimeRange, sums: &mut [Sums]) {
        let mut out = Clipped {
            view: self,
            window,
            near: Near::default(),
            sums,
        };
        let (a, b) = self.columns.start_range(window);
        let mut nesting = Nesting::default();
        for i in self.open_at(window.start) {
            out.span(&mut nesting, i);
        }
        let (first, last) = (a.div_ceil(BLOCK), b / BLOCK);
        if first >= last {
            (a..b).for_each(|i| out.span(&mut nesting, i));
            return;
        }
        let (first, last) = (first * BLOCK, last * BLOCK);
        (a..first).for_each(|i| out.span(&mut nesting, i));
        for block in first / BLOCK..last / BLOCK {
            for entry in blocks.of(block) {
                out.entry(entry);
            }
        }
        // What of those lies behind the window.
        let mut nesting = Nesting::default();
        for i in self.open_at(window.end) {
            let taken = nesting.next(self.columns.range(i), self.slot(i));
            if (first..last).contains(&i) {
                out.cut(i, taken);
            }
        }
        if last < b {
            let mut nesting = Nesting::default();
            for i in self.open_before(last, self.columns.starts[last]) {
                nesting.next(self.columns.range(i), self.slot(i));
            }
            (last..b).for_each(|i| out.span(&mut nesting, i));
        }
    }
}

impl Blocks {
    fn entry(&mut self, places: &mut FxHashMap<u32, usize>, slot: usize) -> &mut Entry {
        let slot = u32::try_from(slot).unwrap_or(u32::MAX);
        let at = *places.entry(slot).or_insert_with(|| {
            self.entries.push(Entry {
                slot,
                count: 0,
                whole: 0,
                own: 0,
                idle: 0,
                longest: None,
            });
            self.entries.len() - 1
        });
        &mut self.entries[at]
    }

    fn close(&mut self, places: &mut FxHashMap<u32, usize>) {
        places.clear();
        let end = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.ends.push(end);
    }
}

/// Adds spans as far as they lie in a window.
struct Clipped<'a, 'b> {
    view: &'b LaneView<'a>,
    window: TimeRange,
    near: Near,
    sums: &'b mut [Sums],
}

impl Clipped<'_, '_> {
    fn span(&mut self, nesting: &mut Nesting, i: usize) {
        let range = self.view.columns.range(i);
        let slot = self.view.slot(i);
        let taken = nesting.next(range, slot);
        if let Some((parent, part)) = taken.filter(|t| self.view.counts(t.0)) {
            let sums = &mut self.sums[parent];
            sums.own = sums.own.wrapping_sub(part.clip(self.window).len());
        }
        if !self.view.counts(slot) {
            return;
        }
        let inside = range.clip(self.window);
        let idle = self.view.idle;
        let one = Sums {
            count: 1,
            whole: range.len(),
            total: inside.len(),
            own: inside.len(),
            idle: idle.map_or(0, |idle| self.near.measure(idle, inside)),
            idle_known: idle.is_some(),
            longest: Some((range.len(), self.view.columns.id(i))),
        };
        self.sums[slot].add(&one);
    }

    fn entry(&mut self, entry: &Entry) {
        let slot = entry.slot as usize;
        if !self.view.counts(slot) {
            return;
        }
        let all = Sums {
            count: entry.count.into(),
            whole: entry.whole,
            total: entry.whole,
            own: entry.own,
            idle: entry.idle,
            idle_known: entry.count > 0 && self.view.idle.is_some(),
            longest: entry.longest,
        };
        self.sums[slot].add(&all);
    }

    /// Takes away what a span of a block has behind the window.
    fn cut(&mut self, i: usize, taken: Option<(usize, TimeRange)>) {
        let behind = TimeRange {
            start: self.window.end,
            end: i64::MAX,
        };
        if let Some((parent, part)) = taken.filter(|t| self.view.counts(t.0)) {
            let sums = &mut self.sums[parent];
            sums.own = sums.own.wrapping_add(part.clip(behind).len());
        }
        let slot = self.view.slot(i);
        if !self.view.counts(slot) {
            return;
        }
        let over = self.view.columns.range(i).clip(behind);
        let sums = &mut self.sums[slot];
        sums.total = sums.total.saturating_sub(over.len());
        sums.own = sums.own.wrapping_sub(over.len());
        if let Some(idle) = self.view.idle {
            sums.idle = sums.idle.saturating_sub(idle.measure_in(over));
        }
    }
}

/// Sums by name for blocks of every lane.
#[derive(Debug, Default)]
pub(in crate::analysis) struct NameIndex {
    keys: Keys,
    /// By lane.
    lanes: Vec<Blocks>,
}

impl NameIndex {
    pub fn new(core: &Core, idle: &IdleOf<'_>) -> Self {
        let keys = Keys::new(core);
        let lanes: Vec<LaneId> = core.trace.lane_ids().collect();
        let blocks = |&lane: &LaneId| LaneView::new(core, &keys, lane, idle(lane)).blocks();
        let lanes = lanes.par_iter().map(blocks).collect();
        Self { keys, lanes }
    }

    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The spans of some lanes that touch a window, in parts of about as many spans each.
    pub fn parts(
        &self,
        core: &Core,
        idle: &IdleOf<'_>,
        lanes: &[LaneId],
        window: TimeRange,
    ) -> Vec<Part> {
        if window.is_empty() {
            return Vec::new();
        }
        let size = |lane: LaneId| {
            let (a, b) = core.columns(lane).start_range(window);
            // What is open at its start; and each lane takes some time.
            b - a + BLOCK
        };
        let all: usize = lanes.iter().map(|&l| size(l)).sum();
        let share = all.div_ceil(rayon::current_num_threads()).max(1);
        let mut groups: Vec<(usize, Vec<LaneId>)> = Vec::new();
        for &lane in lanes {
            if groups.last().is_none_or(|g| g.0 >= share) {
                groups.push((0, Vec::new()));
            }
            if let Some(group) = groups.last_mut() {
                group.0 += size(lane);
                group.1.push(lane);
            }
        }
        let part = |(_, lanes): &(usize, Vec<LaneId>)| {
            let view = |lane: LaneId| LaneView::new(core, &self.keys, lane, idle(lane));
            let mut sums = vec![Sums::default(); self.keys.all.len()];
            for &lane in lanes {
                view(lane).add(&self.lanes[lane.index()], window, &mut sums);
            }
            let mut lengths = Lengths::new(&sums);
            for &lane in lanes {
                lengths.add(&view(lane), window);
            }
            Part { sums, lengths }
        };
        groups.par_iter().map(part).collect()
    }

    pub fn heap_bytes(&self) -> usize {
        let lane = |b: &Blocks| b.entries.capacity() * size_of::<Entry>() + b.ends.capacity() * 4;
        self.lanes.iter().map(lane).sum::<usize>()
            + self.keys.all.capacity() * size_of::<(NameId, LayerId)>()
            + self.keys.first.capacity() * 4
    }
}

/// What some lanes have in a window.
pub(in crate::analysis) struct Part {
    /// By slot.
    pub sums: Vec<Sums>,
    lengths: Lengths,
}

impl Part {
    /// Appends the whole lengths of the spans of a slot, ns.
    pub fn add_lengths(&self, slot: usize, out: &mut Vec<i64>) {
        let count = usize::try_from(self.sums[slot].count).unwrap_or(0);
        let end = self.lengths.next[slot];
        let own = end - count..end;
        match self.lengths.is_wide[slot] {
            true => out.extend_from_slice(&self.lengths.wide[own]),
            false => out.extend(self.lengths.narrow[own].iter().map(|&dur| i64::from(dur))),
        }
    }
}

/// By slot: the sums of all parts.
pub(in crate::analysis) fn all_sums(keys: &Keys, parts: &[Part]) -> Vec<Sums> {
    let mut all = vec![Sums::default(); keys.all.len()];
    for part in parts {
        for (sums, other) in all.iter_mut().zip(&part.sums) {
            sums.add(other);
        }
    }
    all
}

/// Whole lengths of spans in ns, those of a slot side by side: in four bytes where its longest fits.
struct Lengths {
    narrow: Vec<u32>,
    wide: Vec<i64>,
    is_wide: Vec<bool>,
    /// By slot: where its next one goes.
    next: Vec<usize>,
}

impl Lengths {
    /// Room for as many as were counted.
    fn new(sums: &[Sums]) -> Self {
        let fits = |s: &Sums| s.longest.is_none_or(|(dur, _)| u32::try_from(dur).is_ok());
        let is_wide: Vec<bool> = sums.iter().map(|s| !fits(s)).collect();
        let mut ends = [0; 2];
        let mut next = Vec::with_capacity(sums.len());
        for (sums, &is_wide) in sums.iter().zip(&is_wide) {
            let end = &mut ends[usize::from(is_wide)];
            next.push(*end);
            *end += usize::try_from(sums.count).unwrap_or(0);
        }
        Self {
            narrow: vec![0; ends[0]],
            wide: vec![0; ends[1]],
            is_wide,
            next,
        }
    }

    /// Adds the spans of a lane that touch a window.
    fn add(&mut self, view: &LaneView<'_>, window: TimeRange) {
        let mut put = |i: usize| {
            let slot = view.slot(i);
            if !view.counts(slot) {
                return;
            }
            let (at, dur) = (self.next[slot], view.columns.durs[i]);
            self.next[slot] += 1;
            match self.is_wide[slot] {
                true => self.wide[at] = dur,
                // It is no longer than the longest, which fits.
                false => self.narrow[at] = u32::try_from(dur).unwrap_or(u32::MAX),
            }
        };
        view.open_at(window.start).into_iter().for_each(&mut put);
        let (a, b) = view.columns.start_range(window);
        (a..b).for_each(put);
    }
}
