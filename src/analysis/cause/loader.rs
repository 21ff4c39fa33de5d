//! The lane on which a process loads: its spans that are part of loading, items, reads of one file, and which part each
//! instant belongs to.
//!
//! ```text
//! spans     ├──────────── item ─────────────┤ ├ collate ┤
//!              ├read┤   ├read┤ ├ transform ┤
//! segments  ▪▪▪rrrrrr bbbrrrrr▪ttttttttttttt▪·ccccccccccc     ▪ item  r read  b between reads of one file  · none
//! ```

use rustc_hash::FxHashMap;

use super::parts::{Part, Sayings};
use super::segments::{self, Segment, flatten};
use crate::analysis::base::core::Core;
use crate::analysis::base::lanes::MaxTree;
use crate::analysis::layers::classify::{ArgSource, GoOn};
use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::names::norm_name;
use crate::model::{ArgsOrigin, LaneId, LaneKind, SpanId};
use crate::time::TimeRange;

/// A file that was read, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub(super) u32);

/// The number of a batch in its iterator, and that of the iterator where it is recorded too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct BatchNumber {
    pub iterator: Option<i64>,
    pub batch: i64,
}

impl BatchNumber {
    /// What args say.
    pub fn of(arg: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let keys = ["batch", "batch_id", "batch_idx", "batch_index"];
        let number = |key: &str| arg(key).and_then(|text| whole(&text));
        let batch = keys.into_iter().find_map(arg)?;
        Some(Self {
            iterator: number("iterator"),
            batch: whole(&batch)?,
        })
    }
}

/// Names of files, each once.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub names: Vec<String>,
    ids: FxHashMap<String, FileId>,
}

impl Files {
    fn id(&mut self, name: String) -> FileId {
        let next = FileId(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        *self.ids.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }
}

/// A span that is part of loading.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub span: SpanId,
    pub range: TimeRange,
    pub part: Part,
    /// Of a read whose file is recorded.
    pub file: Option<FileId>,
    /// Read bytes.
    pub bytes: i64,
    /// It is a call that reads, not one that opens, seeks or asks.
    pub reads: bool,
}

/// Time between two reads of one file in an item.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between {
    pub range: TimeRange,
    pub file: FileId,
}

/// The lane on which a process loads.
#[derive(Debug, Default)]
pub(super) struct Loader {
    pub lane: LaneId,
    /// By start, longest first.
    pub spans: Vec<Work>,
    /// Ends of the spans.
    ends: MaxTree,
    /// Places in `spans` of the outermost items.
    pub items: Vec<usize>,
    /// Outermost collates.
    pub collates: Vec<TimeRange>,
    /// Spans with the number of a batch, by start.
    pub ids: Vec<(TimeRange, BatchNumber)>,
    /// Numbers of items in their data set, by span, where recorded.
    indices: Vec<(SpanId, i64)>,
    pub between: Vec<Between>,
    /// Disjoint, ascending.
    pub segments: Vec<Segment>,
}

impl Loader {
    /// The lane of a process with most loading, if it has any.
    pub fn find(core: &Core, process: usize, said: &mut Sayings) -> Option<Self> {
        let trace = &core.trace;
        let mut best: Option<((i64, u64), LaneId)> = None;
        let lanes = core.identity.lanes(process).iter().copied();
        for lane in lanes.filter(|&l| trace.lane(l).kind == LaneKind::Cpu) {
            let Some(time) = loading_time(core, lane, said) else {
                continue;
            };
            let thread = trace.lane(lane).thread.as_ref();
            let number = thread.and_then(|t| t.parse().ok()).unwrap_or(u64::MAX);
            let better =
                best.is_none_or(|((most, tid), _)| time > most || (time == most && number < tid));
            if better {
                best = Some(((time, number), lane));
            }
        }
        best.map(|(_, lane)| Self::of_lane(core, lane, said))
    }

    fn of_lane(core: &Core, lane: LaneId, said: &mut Sayings) -> Self {
        let columns = core.columns(lane);
        let mut this = Self {
            lane,
            ..Self::default()
        };
        for i in 0..columns.len() {
            let span = columns.id(i);
            if columns.of[i] == LayerId::IO_OTHER && is_any_call(core, span) {
                continue;
            }
            let name = core.trace.spans().name(span);
            let said = said.of(core.trace.names(), name, columns.of[i]);
            if let Some(batch) = said.batch {
                let iterator = None;
                let number = BatchNumber { iterator, batch };
                this.ids.push((columns.range(i), number));
            }
            if let Some(part) = said.part {
                this.spans.push(Work {
                    span,
                    range: columns.range(i),
                    part,
                    file: None,
                    bytes: 0,
                    reads: columns.of[i] == LayerId::IO_READ,
                });
            }
        }
        this.find_items();
        this
    }

    fn find_items(&mut self) {
        let ends: Vec<i64> = self.spans.iter().map(|s| s.range.end).collect();
        self.ends = MaxTree::new(&ends);
        let mut end: Option<i64> = None;
        for (i, span) in self.spans.iter().enumerate() {
            if span.part == Part::Item && end.is_none_or(|e| span.range.start >= e) {
                self.items.push(i);
                end = Some(span.range.end);
            }
            let outer = self.collates.last();
            if span.part == Part::Collate && outer.is_none_or(|c| span.range.end > c.end) {
                self.collates.push(span.range);
            }
        }
    }

    /// Whether anything tells of batches.
    pub fn makes_batches(&self) -> bool {
        !self.items.is_empty() || !self.collates.is_empty() || !self.ids.is_empty()
    }

    /// The range of an item.
    pub fn item(&self, item: usize) -> TimeRange {
        self.spans[self.items[item]].range
    }

    /// The number of an item in its data set, where recorded.
    pub fn index(&self, item: usize) -> Option<i64> {
        let span = self.spans[self.items[item]].span;
        let place = self.indices.binary_search_by_key(&span, |(s, _)| *s);
        place.ok().map(|p| self.indices[p].1)
    }

    /// The spans inside an item, itself left out.
    pub fn inside(&self, item: usize) -> impl Iterator<Item = &Work> {
        let place = self.items[item];
        let range = self.spans[place].range;
        // What has the same range may stand before it.
        let same = self.spans[..place].iter().rev();
        let before = same.take_while(|s| s.range == range).count();
        let rest = self.spans.iter().enumerate().skip(place - before);
        rest.take_while(move |(_, s)| s.range.start <= range.end)
            .filter(move |&(i, s)| i != place && range.covers(s.range))
            .map(|(_, s)| s)
    }

    /// Spans that share time with a window, by start. Costs what is found, however long a span around all others is.
    pub fn overlapping(&self, window: TimeRange) -> impl Iterator<Item = &Work> {
        let to = self.spans.partition_point(|s| s.range.start < window.end);
        let mut found = Vec::new();
        self.ends.above(window.start, 0..to, &mut |i| found.push(i));
        found.into_iter().map(|i| &self.spans[i])
    }

    /// Spans that begin in a window, by start.
    pub fn starting(&self, window: TimeRange) -> &[Work] {
        let from = self.spans.partition_point(|s| s.range.start < window.start);
        let to = self.spans.partition_point(|s| s.range.start < window.end);
        &self.spans[from..to.max(from)]
    }

    /// Places in `items` of those that share time with a window.
    pub fn items_in(&self, window: TimeRange) -> std::ops::Range<usize> {
        let range = |&place: &usize| self.spans[place].range;
        let from = self.items.partition_point(|p| range(p).end <= window.start);
        let to = self.items.partition_point(|p| range(p).start < window.end);
        from..to.max(from)
    }

    /// Stretches between reads that share time with a window.
    pub fn between_in(&self, window: TimeRange) -> &[Between] {
        let from = self
            .between
            .partition_point(|b| b.range.end <= window.start);
        let to = self.between.partition_point(|b| b.range.start < window.end);
        &self.between[from..to.max(from)]
    }

    /// Segments that share time with a window.
    pub fn segments_in(&self, window: TimeRange) -> &[Segment] {
        segments::within(&self.segments, window)
    }

    /// Finds what lies between reads, and the segments; after the files of reads are known.
    pub fn finish(&mut self) {
        let mut between = Vec::new();
        for item in 0..self.items.len() {
            let mut before: Option<&Work> = None;
            for span in self.inside(item) {
                if let Some(last) = before
                    && (last.part, span.part) == (Part::Read, Part::Read)
                    && let Some(file) = span.file.filter(|_| span.file == last.file)
                    && span.range.start > last.range.end
                {
                    between.push(Between {
                        range: TimeRange::new(last.range.end, span.range.start),
                        file,
                    });
                }
                before = Some(span);
            }
        }
        self.between = between;
        let flat = flatten(self.spans.iter().map(|s| (s.range, s.part)));
        let mut rest = self.between.as_slice();
        for segment in flat {
            if segment.part == Part::Item {
                split_item(segment, &mut rest, &mut self.segments);
            } else {
                self.segments.push(segment);
            }
        }
    }
}

/// Calls of the operating system's library that are recorded whatever they do: they are no sign of reading.
fn is_any_call(core: &Core, span: SpanId) -> bool {
    let trace = &core.trace;
    trace.category(trace.spans().cat(span)).name == "osrt"
}

/// How long a lane loads, summed over its spans; `None` where it does not.
fn loading_time(core: &Core, lane: LaneId, said: &mut Sayings) -> Option<i64> {
    const LAYERS: [LayerId; 4] = [
        LayerId::LOAD,
        LayerId::TRANSFORM,
        LayerId::ANNOTATION,
        LayerId::STEP,
    ];
    let mut occurring = core.index(lane).layers.iter();
    if !occurring.any(|l| LAYERS.contains(l)) {
        return None;
    }
    let columns = core.columns(lane);
    let mut time = None;
    for i in (0..columns.len()).filter(|&i| LAYERS.contains(&columns.of[i])) {
        let name = core.trace.spans().name(columns.id(i));
        let said = said.of(core.trace.names(), name, columns.of[i]);
        if said.batch.is_some() || said.part.is_some_and(Part::is_loading) {
            time = Some(time.unwrap_or(0_i64).saturating_add(columns.durs[i]));
        }
    }
    time
}

/// Adds an item's segment, cut where it lies between reads. `rest` holds what lies between reads from there on.
fn split_item(segment: Segment, rest: &mut &[Between], out: &mut Vec<Segment>) {
    let mut at = segment.range.start;
    while let Some((first, others)) = rest.split_first() {
        if first.range.end <= at {
            *rest = others;
            continue;
        }
        if first.range.start >= segment.range.end {
            break;
        }
        let range = first.range.clip(TimeRange::new(at, segment.range.end));
        let mut push = |range: TimeRange, part| {
            if !range.is_empty() {
                out.push(Segment { range, part });
            }
        };
        push(TimeRange::new(at, range.start), Part::Item);
        push(range, Part::BetweenReads);
        at = range.end;
        if at == segment.range.end {
            break;
        }
    }
    if at < segment.range.end {
        out.push(Segment {
            range: TimeRange::new(at, segment.range.end),
            part: Part::Item,
        });
    }
}

/// Spans per loader that are looked at for numbers of batches and items: where none of them has one, none has.
const SAMPLE: usize = 256;

/// Reads what args say of the spans of loaders: files, bytes, numbers of batches and items. `with_ids` tells for each whether
/// its batches are told by their numbers.
pub(super) fn read_args(
    core: &Core,
    args: &dyn ArgSource,
    go_on: &GoOn<'_>,
    loaders: &mut [(Loader, bool)],
    files: &mut Files,
) {
    let trace = &core.trace;
    let mut of_lane: FxHashMap<LaneId, usize> = FxHashMap::default();
    let mut sample = Vec::new();
    for (i, (loader, _)) in loaders.iter().enumerate() {
        let source = trace.source(trace.lane(loader.lane).source);
        // Rows of tables hold nothing of the kind, and each would be a query.
        if matches!(source.args, ArgsOrigin::None | ArgsOrigin::Rows(_)) {
            continue;
        }
        of_lane.insert(loader.lane, i);
        let work = loader.spans.iter().filter(|w| w.part != Part::Read);
        sample.extend(work.take(SAMPLE).map(|w| w.span));
    }
    let mut numbered = vec![false; loaders.len()];
    args.each(&sample, go_on, &mut |span, arg| {
        if let Some(&at) = of_lane.get(&trace.spans().lane(span)) {
            numbered[at] |= BatchNumber::of(arg).is_some();
        }
        true
    });
    let mut wanted = Vec::new();
    for ((loader, _), numbered) in loaders.iter().zip(&numbered) {
        if of_lane.contains_key(&loader.lane) {
            let asked = |w: &&Work| w.part == Part::Read || *numbered;
            wanted.extend(loader.spans.iter().filter(asked).map(|w| w.span));
        }
    }
    args.each(&wanted, go_on, &mut |span, arg| {
        let Some(&at) = of_lane.get(&trace.spans().lane(span)) else {
            return true;
        };
        let (loader, with_ids) = &mut loaders[at];
        let Ok(place) = loader.spans.binary_search_by_key(&span, |w| w.span) else {
            return true;
        };
        let work = &mut loader.spans[place];
        if work.part == Part::Read {
            work.file = arg("fname").or_else(|| arg("fhash")).map(|f| files.id(f));
            if work.reads {
                work.bytes = read_bytes(trace.span_name(span), arg);
            }
        }
        if numbered[at]
            && let Some(number) = BatchNumber::of(arg)
        {
            if *with_ids {
                loader.ids.push((work.range, number));
            }
            if let Some(index) = arg("index").and_then(|text| text.parse().ok()) {
                loader.indices.push((span, index));
            }
        }
        true
    });
    for (loader, _) in loaders {
        // Args come in the order of their file.
        loader
            .ids
            .sort_by_key(|(r, id)| (r.start, std::cmp::Reverse(r.end), *id));
        loader.indices.sort_unstable();
    }
}

fn read_bytes(name: &str, arg: &dyn Fn(&str) -> Option<String>) -> i64 {
    let number = |key: &str| arg(key).and_then(|text| whole(&text));
    let returned = number("ret").unwrap_or(0).max(0);
    if norm_name(name).eq_ignore_ascii_case("fread") {
        // It returns items.
        returned.saturating_mul(number("size").unwrap_or(1))
    } else {
        returned
    }
}

/// A whole number, also one written with a fraction of zero.
pub(super) fn whole(text: &str) -> Option<i64> {
    let text = text.trim();
    let text = text.split_once('.').map_or(text, |(whole, _)| whole);
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(spans: &[(i64, i64, Part)]) -> Vec<(i64, i64, Part)> {
        let spans = spans.iter().map(|&(a, b, p)| (TimeRange::new(a, b), p));
        let out = flatten(spans).into_iter();
        out.map(|s| (s.range.start, s.range.end, s.part)).collect()
    }

    #[test]
    fn the_innermost_span_tells_the_part() {
        let nested = [
            (0, 20, Part::Item),
            (5, 10, Part::Read),
            (6, 7, Part::Decode),
        ];
        let want = vec![
            (0, 5, Part::Item),
            (5, 6, Part::Read),
            (6, 7, Part::Decode),
            (7, 10, Part::Read),
            (10, 20, Part::Item),
        ];
        assert_eq!(segments(&nested), want);
    }

    #[test]
    fn spans_that_overlap_without_nesting_belong_to_the_later_one() {
        let crossed = [
            (0, 10, Part::Item),
            (5, 15, Part::Read),
            (30, 31, Part::Read),
        ];
        let want = vec![
            (0, 5, Part::Item),
            (5, 15, Part::Read),
            (30, 31, Part::Read),
        ];
        assert_eq!(segments(&crossed), want);
        let dead_below = [
            (0, 20, Part::Item),
            (5, 10, Part::Read),
            (7, 15, Part::Decode),
        ];
        let want = vec![
            (0, 5, Part::Item),
            (5, 7, Part::Read),
            (7, 15, Part::Decode),
            (15, 20, Part::Item),
        ];
        assert_eq!(segments(&dead_below), want);
    }

    #[test]
    fn numbers_are_whole_or_none() {
        assert_eq!(whole("17"), Some(17));
        assert_eq!(whole("17.0"), Some(17));
        assert_eq!(whole("x"), None);
    }
}
