//! Items and files: what each item read, what is usual, and which item of a worker a wait is to be blamed on.

use rustc_hash::FxHashMap;

use super::loader::{FileId, Files, Loader};
use super::parts::Part;
use crate::analysis::sums::intervals::Union;
use crate::analysis::sums::stats::percentile;
use crate::time::TimeRange;

/// A visit is slow from so many medians on, and …
const SLOW: i64 = 4;
/// … from so much above the median, ns.
const SLOW_BY: i64 = 5_000_000;
/// Calls of a visit from which on reading is done in many …
const MANY_CALLS: u32 = 64;
/// … small pieces, bytes.
const SMALL: i64 = 4_096;

/// What was read of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FileRead {
    /// Reading it, and between reads of it, ns.
    pub ns: i64,
    /// Bytes that the calls returned.
    pub bytes: i64,
    /// Calls that read.
    pub calls: u32,
}

impl FileRead {
    /// Megabytes per second, to three decimals; `None` where nothing was read in no time.
    #[must_use]
    pub fn mb_s(self) -> Option<f64> {
        rate(self.bytes, self.ns)
    }

    /// Whether it was read in many small pieces.
    #[must_use]
    pub fn in_small_pieces(self) -> bool {
        self.calls >= MANY_CALLS && self.bytes <= SMALL.saturating_mul(i64::from(self.calls))
    }
}

pub(super) fn rate(bytes: i64, ns: i64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a rate is no time")]
    let rate = bytes as f64 * 1_000.0 / ns as f64;
    (bytes > 0 && ns > 0).then(|| three_decimals(rate))
}

fn three_decimals(x: f64) -> f64 {
    format!("{x:.3}").parse().unwrap_or(x)
}

/// One item's reading of one file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    pub file: FileId,
    pub read: FileRead,
    /// Index of the loader, and place of the item in it.
    pub of: (usize, usize),
}

/// What is usual of a rank's items and files.
#[derive(Debug, Default)]
pub(super) struct Usual {
    /// Median item, ns.
    pub item: i64,
    /// Median rate of the visits that read something.
    pub mb_s: Option<f64>,
    pub visits: Vec<Visit>,
    /// Median visit of a file, ns.
    pub visit: i64,
    /// A visit of so long is slow, ns.
    slow: i64,
}

impl Usual {
    pub fn of(loaders: &[&Loader], files: &Files) -> Self {
        let mut lengths = Vec::new();
        let mut all = Vec::new();
        for (l, loader) in loaders.iter().enumerate() {
            for item in 0..loader.items.len() {
                lengths.push(loader.item(item).len());
                let own = visits(loader, item).into_iter();
                all.extend(own.map(|(file, read)| Visit {
                    file,
                    read,
                    of: (l, item),
                }));
            }
        }
        debug_assert!(all.iter().all(|v| (v.file.0 as usize) < files.names.len()));
        #[expect(clippy::cast_precision_loss, reason = "a rate is no time")]
        let mut rates: Vec<f64> = all
            .iter()
            .filter(|v| v.read.bytes > 0 && v.read.ns > 0)
            .map(|v| v.read.bytes as f64 * 1_000.0 / v.read.ns as f64)
            .collect();
        rates.sort_unstable_by(f64::total_cmp);
        let middle = |shift: usize| rates.get((rates.len() + shift).checked_sub(1)? / 2);
        let mut times: Vec<i64> = all.iter().map(|v| v.read.ns).collect();
        let visit = percentile(&mut times, 50).unwrap_or(0);
        Self {
            item: percentile(&mut lengths, 50).unwrap_or(0),
            mb_s: middle(0)
                .zip(middle(1))
                .map(|(a, b)| three_decimals(f64::midpoint(*a, *b))),
            slow: (SLOW * visit).max(visit.saturating_add(SLOW_BY)),
            visit,
            visits: all,
        }
    }

    /// Visits that took unusually long.
    pub fn slow_visits(&self) -> impl Iterator<Item = &Visit> {
        self.visits.iter().filter(|v| v.read.ns >= self.slow)
    }
}

/// What an item read of each file, by file.
pub(super) fn visits(loader: &Loader, item: usize) -> Vec<(FileId, FileRead)> {
    let mut of: FxHashMap<FileId, (FileRead, Vec<TimeRange>)> = FxHashMap::default();
    for span in loader.inside(item).filter(|s| s.part == Part::Read) {
        if let Some(file) = span.file {
            let (read, ranges) = of.entry(file).or_default();
            read.bytes = read.bytes.saturating_add(span.bytes);
            read.calls += u32::from(span.reads);
            ranges.push(span.range);
        }
    }
    let range = loader.item(item);
    let between = loader.between_in(range).iter();
    for gap in between.filter(|b| range.covers(b.range)) {
        if let Some((_, ranges)) = of.get_mut(&gap.file) {
            ranges.push(gap.range);
        }
    }
    let mut out: Vec<(FileId, FileRead)> = of
        .into_iter()
        .map(|(file, (read, ranges))| {
            let ns = Union::new(ranges).measure();
            (file, FileRead { ns, ..read })
        })
        .collect();
    out.sort_unstable_by_key(|(file, _)| *file);
    out
}

/// The item that a wait is to be blamed on.
#[derive(Clone, Debug, PartialEq)]
pub struct Blame {
    /// When it was loaded.
    pub range: TimeRange,
    /// Its span.
    pub span: crate::model::SpanId,
    /// Its number in the data set, where recorded.
    pub index: Option<i64>,
    /// Of it inside the wait, ns.
    pub in_wait: i64,
    /// The rank's median item, ns.
    pub median: i64,
    /// Of `in_wait` reading, ns.
    pub reading: i64,
    /// Files that it read, those that took longest first.
    pub files: Vec<(FileId, FileRead)>,
    /// The rank's median rate of reading a file, MB/s.
    pub mb_s_median: Option<f64>,
}

/// Files of a blamed item that are named.
const NAMED: usize = 3;

/// The item that took at least half of a wait and twice the usual time. `until` = when the batch was made, at most the
/// wait's end.
pub(super) fn blame(
    loader: &Loader,
    usual: &Usual,
    names: &Files,
    wait: TimeRange,
    until: i64,
) -> Option<Blame> {
    let window = TimeRange::new(wait.start, until);
    let inside = |&item: &usize| loader.item(item).clip(window).len();
    let items = loader.items_in(window);
    let item = items.max_by_key(|i| (inside(i), std::cmp::Reverse(loader.item(*i).start)))?;
    let (range, in_wait) = (loader.item(item), inside(&item));
    if 2 * in_wait < wait.len() || range.len() < 2 * usual.item {
        return None;
    }
    let mut files = visits(loader, item);
    let name = |f: &FileId| &names.names[f.0 as usize];
    files.sort_by(|a, b| b.1.ns.cmp(&a.1.ns).then_with(|| name(&a.0).cmp(name(&b.0))));
    files.truncate(NAMED);
    // A read may lie in another one: every moment counts once.
    let reads = loader.inside(item).filter(|s| s.part == Part::Read);
    let between = loader.between_in(range).iter();
    let between = between.filter(|b| range.covers(b.range));
    let reading = reads.map(|s| s.range).chain(between.map(|b| b.range));
    let reading = Union::new(reading.map(|r| r.clip(window)).collect());
    Some(Blame {
        range,
        span: loader.spans[loader.items[item]].span,
        index: loader.index(item),
        in_wait,
        median: usual.item,
        reading: reading.measure(),
        files,
        mb_s_median: usual.mb_s,
    })
}

/// How long each file was read inside a window, by file: every moment once.
pub(super) fn reading_in(loader: &Loader, window: TimeRange) -> Vec<(FileId, i64)> {
    let mut of: FxHashMap<FileId, Vec<TimeRange>> = FxHashMap::default();
    let reads = loader.overlapping(window).filter(|s| s.part == Part::Read);
    let reads = reads.filter_map(|s| Some((s.file?, s.range)));
    let between = loader.between_in(window).iter().map(|b| (b.file, b.range));
    for (file, range) in reads.chain(between) {
        of.entry(file).or_default().push(range.clip(window));
    }
    let of = of.into_iter();
    let times = of.map(|(file, ranges)| (file, Union::new(ranges).measure()));
    let mut out: Vec<(FileId, i64)> = times.filter(|(_, ns)| *ns > 0).collect();
    out.sort_unstable_by_key(|(file, _)| *file);
    out
}
