//! Spans.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{RUN, Row, columns, narrow};
use crate::analysis::{Analysis, ArgSource, LayerId};
use crate::model::{CatId, LaneId, NameId, SpanId};
use crate::time::TimeRange;

/// A span. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpansRow {
    /// The name of the run.
    pub run: Arc<str>,
    /// The rank; -1 of a lane that belongs to none.
    pub rank: i32,
    /// The step in which it was launched, else in which it starts.
    pub step: Option<i32>,
    /// Its lane.
    pub lane: Arc<str>,
    /// Its number.
    pub span: i64,
    /// The number of the span that it lies in.
    pub parent: Option<i64>,
    /// What it is for.
    pub layer: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its category.
    pub cat: Option<Arc<str>>,
    /// Its start, from the start of the trace.
    pub start: i64,
    /// Its length.
    pub dur: i64,
    /// Number of the device.
    pub device: Option<i32>,
    /// Number of the stream.
    pub stream: Option<i32>,
    /// What a call and its operations have in common.
    pub correlation: Option<i64>,
    /// The number of the call that launched it.
    pub call: Option<i64>,
}

/// Makes rows of spans, so many at once as somebody asks for.
pub struct SpanTable<'a> {
    analysis: &'a Analysis,
    args: &'a dyn ArgSource,
    /// By span: the one that it lies in.
    parents: Vec<Option<SpanId>>,
    lanes: Vec<Arc<str>>,
    layers: Vec<Arc<str>>,
    names: FxHashMap<NameId, Arc<str>>,
    cats: FxHashMap<CatId, Option<Arc<str>>>,
    /// Of calls and of the operations that they launched, by span.
    correlations: Vec<i64>,
    /// Spans whose args are still to be read for that.
    unread: Vec<SpanId>,
}

/// What no recorder says.
const NO_CORRELATION: i64 = i64::MIN;

impl<'a> SpanTable<'a> {
    /// Of an analysis.
    #[must_use]
    pub fn new(analysis: &'a Analysis, args: &'a dyn ArgSource) -> Self {
        let trace = analysis.trace();
        let layers = analysis.layers().infos().iter();
        Self {
            analysis,
            args,
            parents: parents(analysis),
            lanes: trace
                .lanes()
                .iter()
                .map(|l| l.key.as_str().into())
                .collect(),
            layers: layers.map(|l| l.name.as_str().into()).collect(),
            names: FxHashMap::default(),
            cats: FxHashMap::default(),
            correlations: vec![NO_CORRELATION; trace.spans().len()],
            unread: Vec::new(),
        }
    }

    /// The spans of a rank (`None`: of lanes that belong to none) that touch a window and are of some layers (empty: of
    /// any), by start.
    #[must_use]
    pub fn of(
        &mut self,
        rank: Option<usize>,
        window: TimeRange,
        layers: &[LayerId],
    ) -> Vec<SpanId> {
        let (trace, ranks) = (self.analysis.trace(), self.analysis.ranks());
        let number = rank.map(|r| ranks[r].rank);
        let own = |lane: LaneId| match ranks.len() {
            1 => rank.is_some(),
            _ => self.analysis.lane_rank(lane) == number,
        };
        let spans = trace
            .lane_ids()
            .filter(|&l| own(l))
            .flat_map(|l| trace.lane_spans(l));
        let mut found: Vec<SpanId> = spans
            .filter(|&s| trace.spans().range(s).touches(window))
            .filter(|&s| layers.is_empty() || layers.contains(&self.analysis.layers().of(s)))
            .collect();
        found.sort_unstable_by_key(|&s| (trace.spans().start(s), s));
        let linked =
            |s: &&SpanId| trace.launch_of(**s).is_some() || !trace.launched_by(**s).is_empty();
        self.unread.extend(found.iter().filter(linked));
        found
    }

    /// The rows of some spans of one rank.
    pub fn rows(&mut self, run: &Arc<str>, rank: Option<usize>, ids: &[SpanId]) -> Vec<SpansRow> {
        self.read_correlations();
        let (analysis, trace) = (self.analysis, self.analysis.trace());
        let spans = trace.spans();
        let zero = trace.extent().start;
        let small = |n: i64| i32::try_from(n).ok();
        let mut out = Vec::with_capacity(ids.len());
        for &id in ids {
            let lane = spans.lane(id);
            let stream = trace.lane(lane).stream.map(|s| trace.stream(s));
            let call = trace.launch_of(id);
            let at = spans.start(call.unwrap_or(id));
            let name = self.names.entry(spans.name(id));
            let cat = self.cats.entry(spans.cat(id));
            out.push(SpansRow {
                run: Arc::clone(run),
                rank: rank.map_or(-1, |r| narrow(analysis.ranks()[r].rank)),
                step: rank.and_then(|r| analysis.step_at(r, at)).map(narrow),
                lane: Arc::clone(&self.lanes[lane.index()]),
                span: id.0.into(),
                parent: self.parents[id.index()].map(|p| p.0.into()),
                layer: Arc::clone(&self.layers[analysis.layers().of(id).index()]),
                name: Arc::clone(name.or_insert_with(|| trace.span_name(id).into())),
                cat: cat
                    .or_insert_with(|| {
                        let name = trace.category(spans.cat(id)).name.as_str();
                        (!name.is_empty()).then(|| name.into())
                    })
                    .clone(),
                start: spans.start(id) - zero,
                dur: spans.dur(id),
                device: stream
                    .and_then(|s| small(trace.device(s.device).index))
                    .filter(|&i| i >= 0),
                stream: stream.and_then(|s| small(s.number)),
                correlation: Some(self.correlations[id.index()]).filter(|&n| n != NO_CORRELATION),
                call: call.map(|c| c.0.into()),
            });
        }
        out
    }

    /// What the args of calls and of the operations that they launched say: of all that were asked for at once, as
    /// compressed files are read from their start.
    fn read_correlations(&mut self) {
        let asked = std::mem::take(&mut self.unread);
        let out = &mut self.correlations;
        self.args.each(&asked, &|| true, &mut |span, arg| {
            let said = arg("correlation").or_else(|| arg("correlationId"));
            if let Some(number) = said.and_then(|t| t.trim().parse().ok()) {
                out[span.index()] = number;
            }
            true
        });
    }
}

/// By span: the last earlier one of its lane that ends no earlier.
fn parents(analysis: &Analysis) -> Vec<Option<SpanId>> {
    let trace = analysis.trace();
    let spans = trace.spans();
    let mut out = vec![None; spans.len()];
    let mut open: Vec<SpanId> = Vec::new();
    for lane in trace.lane_ids() {
        open.clear();
        for id in trace.lane_spans(lane) {
            let end = spans.end(id);
            // What ends before this one does holds neither it nor anything that comes later and not in this one.
            while open.last().is_some_and(|&o| spans.end(o) < end) {
                open.pop();
            }
            out[id.index()] = open.last().copied();
            open.push(id);
        }
    }
    out
}

impl Row for SpansRow {
    const TABLE: &'static str = "spans";
    const ABOUT: &'static str = "A span; told by run, rank, span";
    const COLUMNS: &'static [super::Column<Self>] = columns! {
        "run" Plain RUN => Text(|r| &r.run);
        "rank" Plain "Distributed rank; -1 for a lane that belongs to none" => I32(|r| r.rank);
        "step" Plain "The step in which it was launched, else in which it starts" => I32Or(|r| r.step);
        "lane" Plain "Key of its lane in the JSON report" => Text(|r| &r.lane);
        "span" Plain "Its number in the trace" => I64(|r| r.span);
        "parent" Plain "The number of the span of its lane that it lies in" => I64Or(|r| r.parent);
        "layer" Plain "What it is for" => Text(|r| &r.layer);
        "name" Plain "Its name" => Text(|r| &r.name);
        "cat" Plain "Its category, as recorded" => TextOr(|r| r.cat.as_deref());
        "start" Ns "Its start, from the start of the rank's trace" => I64(|r| r.start);
        "dur" Ns "Its length" => I64(|r| r.dur);
        "device" Plain "Number of its device" => I32Or(|r| r.device);
        "stream" Plain "Number of its stream" => I32Or(|r| r.stream);
        "correlation" Plain "What a launch call and its GPU operations have in common, as recorded" => I64Or(|r| r.correlation);
        "call" Plain "The number of the call that launched it" => I64Or(|r| r.call);
    };
}
