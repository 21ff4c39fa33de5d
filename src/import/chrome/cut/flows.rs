//! Which flows stay: those whose ends all lie in spans that stay.
//!
//! A flow from a forward to a backward operator links the innermost operators around its ends. It stays where that link
//! would be the same with the spans that stay, and not where an end would then lie in an outer one.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{Cut, SourceId, SpanId, Trace};

/// A process and a thread as the file names them, hashed.
pub(super) type Place = (u64, u64);

/// One end of a flow, or a point of its way.
pub(super) struct Flow {
    /// Equal for all of one flow.
    pub key: u64,
    /// `s`, `t` or `f`.
    pub phase: u8,
    /// From a forward to a backward operator.
    pub forward: bool,
    /// ns.
    pub ts: i64,
    /// Where.
    pub place: Place,
    /// The entry of its text.
    pub entry: usize,
}

/// Start and end, ns.
type Ends = (i64, i64);

/// Spans of one place that stay.
#[derive(Default)]
struct Spans {
    all: Vec<Ends>,
    operators: Vec<Ends>,
}

/// Flows, and the spans that stay.
pub(super) struct Flows {
    flows: Vec<Flow>,
    spans: FxHashMap<Place, Spans>,
    /// Forward and backward operators that are linked and stay.
    links: FxHashSet<(Ends, Ends)>,
    /// From the first start to the last end of the spans that stay, but those around the whole window: in them whatever
    /// lies outside would seem to stay.
    reach: Ends,
    /// Flows with an end outside that: they do not stay, and are known by a number.
    gone: FxHashSet<u64>,
}

impl Flows {
    pub fn new(trace: &Trace, source: SourceId, cut: &Cut) -> Self {
        let (spans, shift) = (trace.spans(), trace.source(source).to_trace_ns);
        let own = |time: i64| time.saturating_sub(shift);
        let ends = |span: SpanId| (own(spans.start(span)), own(spans.end(span)));
        let stays = |span: SpanId| cut.keeps(span) && trace.lane(spans.lane(span)).source == source;
        let links = trace.fwdbwd().iter();
        let links = links.filter(|l| stays(l.from) && stays(l.to));
        let window = cut.window();
        let inner = cut.spans().filter(|&s| !spans.range(s).covers(window));
        let reach = inner.filter(|&s| stays(s)).map(ends);
        let reach = reach.fold((own(window.start), own(window.end)), |a, b| {
            (a.0.min(b.0), a.1.max(b.1))
        });
        Self {
            flows: Vec::new(),
            spans: FxHashMap::default(),
            links: links.map(|l| (ends(l.from), ends(l.to))).collect(),
            reach,
            gone: FxHashSet::default(),
        }
    }

    /// Whether a flow with this end may stay; what may not is not kept.
    pub fn may_stay(&mut self, key: u64, ts: i64) -> bool {
        let inside = self.reach.0 <= ts && ts <= self.reach.1;
        if !inside {
            self.gone.insert(key);
        }
        inside
    }

    pub fn add(&mut self, flow: Flow) {
        self.flows.push(flow);
    }

    pub fn span(&mut self, place: Place, ends: Ends, is_operator: bool) {
        let spans = self.spans.entry(place).or_default();
        spans.all.push(ends);
        if is_operator {
            spans.operators.push(ends);
        }
    }

    /// Entries of what stays.
    pub fn kept(mut self) -> Vec<usize> {
        self.flows.retain(|f| !self.gone.contains(&f.key));
        let mut moments: FxHashMap<(Place, bool), Vec<(i64, usize)>> = FxHashMap::default();
        for (i, flow) in self.flows.iter().enumerate() {
            let moments = moments.entry((flow.place, flow.forward)).or_default();
            moments.push((flow.ts, i));
        }
        // The innermost span that stays around each.
        let mut around: Vec<Option<Ends>> = vec![None; self.flows.len()];
        #[expect(
            clippy::iter_over_hash_type,
            reason = "each place is a world of its own"
        )]
        for ((place, forward), mut moments) in moments {
            let Some(spans) = self.spans.get_mut(&place) else {
                continue;
            };
            let spans = match forward {
                true => &mut spans.operators,
                false => &mut spans.all,
            };
            innermost(spans, &mut moments, forward, &mut around);
        }
        let mut order: Vec<usize> = (0..self.flows.len()).collect();
        order.sort_by_key(|&i| self.flows[i].key);
        let mut kept = Vec::new();
        for flow in order.chunk_by(|&a, &b| self.flows[a].key == self.flows[b].key) {
            if self.stays(flow, &around) {
                kept.extend(flow.iter().map(|&i| self.flows[i].entry));
            }
        }
        kept
    }

    fn stays(&self, flow: &[usize], around: &[Option<Ends>]) -> bool {
        let all: Option<Vec<Ends>> = flow.iter().map(|&i| around[i]).collect();
        let Some(all) = all else {
            return false;
        };
        let of = |phase: u8| {
            let ends = flow.iter().zip(&all);
            ends.filter(move |(i, _)| self.flows[**i].phase == phase)
                .map(|(_, ends)| *ends)
        };
        let forward = flow.iter().any(|&i| self.flows[i].forward);
        !forward || of(b'f').all(|to| of(b's').any(|from| self.links.contains(&(from, to))))
    }
}

/// The innermost span around each moment. The end of a span belongs to it, but for operators, of which the next one may
/// begin there.
fn innermost(
    spans: &mut [Ends],
    moments: &mut [(i64, usize)],
    open_ended: bool,
    around: &mut [Option<Ends>],
) {
    spans.sort_unstable_by_key(|&(start, end)| (start, std::cmp::Reverse(end)));
    moments.sort_unstable();
    let mut rest = spans.iter().peekable();
    let mut open: Vec<Ends> = Vec::new();
    for &(time, slot) in moments.iter() {
        while let Some(&span) = rest.next_if(|s| s.0 <= time) {
            while open
                .pop_if(|o| o.1 < span.0 || (open_ended && o.1 == span.0))
                .is_some()
            {}
            open.push(span);
        }
        let over = |o: &mut Ends| match open_ended {
            true => o.1 <= time && o.0 < time,
            false => o.1 < time,
        };
        while open.pop_if(over).is_some() {}
        around[slot] = open.last().copied();
    }
}
