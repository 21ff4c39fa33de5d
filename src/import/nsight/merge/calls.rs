//! Which API call a GPU row belongs to: by (process, correlation id). The id alone is not enough, since every process
//! counts its own.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use crate::model::{RawSpan, Spans};

/// Ids of a process spread over at most this many times their number are looked up in a table of all ids.
const MAX_SPREAD: i128 = 4;

/// No call.
const NONE: u32 = u32::MAX;

/// Calls of all processes.
#[derive(Default)]
pub(crate) struct Calls {
    place: FxHashMap<i64, usize>,
    processes: Vec<OfProcess>,
    last: Option<(i64, usize)>,
    repeated: u64,
}

#[derive(Default)]
struct OfProcess {
    /// (id, call).
    calls: Vec<(i64, RawSpan)>,
    first: i64,
    /// Call by id − `first`; empty where ids are spread too far.
    dense: Vec<u32>,
}

impl Calls {
    /// Takes a call in. Id 0 says that there is none.
    pub fn push(&mut self, process: i64, id: i64, call: RawSpan) {
        if id == 0 {
            return;
        }
        let at = match self.last {
            Some((known, at)) if known == process => at,
            _ => {
                let next = self.processes.len();
                let at = *self.place.entry(process).or_insert(next);
                if at == next {
                    self.processes.push(OfProcess::default());
                }
                self.last = Some((process, at));
                at
            }
        };
        self.processes[at].calls.push((id, call));
    }

    /// To be called after the last call. Of several calls with one id the outermost stays: the one that starts first,
    /// then the longest.
    pub fn finish(&mut self, spans: &Spans) {
        for process in &mut self.processes {
            let key = |&(id, call): &(i64, RawSpan)| {
                let i = call.0 as usize;
                (id, spans.starts()[i], Reverse(spans.durs()[i]), call)
            };
            if !process.calls.is_sorted_by_key(key) {
                process.calls.sort_unstable_by_key(key);
            }
            let before = process.calls.len();
            process.calls.dedup_by_key(|c| c.0);
            self.repeated += (before - process.calls.len()) as u64;
            process.make_dense();
        }
        self.last = None;
    }

    /// Calls that were dropped for an outer one with the same id.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// The only process that made calls, if it is the only one.
    pub fn only_process(&self) -> Option<i64> {
        let mut keys = self.place.keys();
        match (keys.next(), keys.next()) {
            (Some(&only), None) => Some(only),
            _ => None,
        }
    }

    /// The call with this id in a process.
    pub fn find(&mut self, process: Option<i64>, id: Option<i64>) -> Option<RawSpan> {
        let (process, id) = (process?, id.filter(|&i| i != 0)?);
        let at = match self.last {
            Some((known, at)) if known == process => at,
            _ => {
                let at = *self.place.get(&process)?;
                self.last = Some((process, at));
                at
            }
        };
        self.processes[at].find(id)
    }
}

impl OfProcess {
    fn make_dense(&mut self) {
        let (Some(&(first, _)), Some(&(last, _))) = (self.calls.first(), self.calls.last()) else {
            return;
        };
        let spread = i128::from(last) - i128::from(first) + 1;
        if spread > MAX_SPREAD * self.calls.len() as i128 + 1_024 {
            return;
        }
        self.first = first;
        self.dense = vec![NONE; usize::try_from(spread).unwrap_or(0)];
        for &(id, call) in &self.calls {
            if let Some(slot) = usize::try_from(id - first)
                .ok()
                .and_then(|i| self.dense.get_mut(i))
            {
                *slot = call.0;
            }
        }
        self.calls = Vec::new();
    }

    fn find(&self, id: i64) -> Option<RawSpan> {
        if self.dense.is_empty() {
            let i = self.calls.binary_search_by_key(&id, |c| c.0).ok()?;
            return Some(self.calls[i].1);
        }
        let i = usize::try_from(id.checked_sub(self.first)?).ok()?;
        let call = *self.dense.get(i)?;
        (call != NONE).then_some(RawSpan(call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ArgsRef, Lane, LaneKind, SpanRow, TraceBuilder};

    fn builder(spans: &[(i64, i64)]) -> TraceBuilder {
        let mut b = TraceBuilder::new();
        let lane = b.add_lane(Lane::new(crate::model::SourceId(0), LaneKind::Cpu, "C"));
        let (name, cat) = (b.intern("call"), b.category("cuda_api", true));
        for &(start, end) in spans {
            b.add_span(SpanRow {
                lane,
                name,
                cat,
                start,
                dur: end - start,
                args: ArgsRef::NONE,
            });
        }
        b
    }

    #[test]
    fn ids_are_looked_up_per_process() {
        let b = builder(&[(0, 1), (2, 3), (4, 5)]);
        for step in [1, 1_000_000_007] {
            let mut calls = Calls::default();
            calls.push(7, 5 * step, RawSpan(0));
            calls.push(8, 5 * step, RawSpan(1));
            calls.push(7, 6 * step, RawSpan(2));
            calls.push(7, 0, RawSpan(2));
            calls.finish(b.so_far().spans());
            assert_eq!(calls.find(Some(7), Some(5 * step)), Some(RawSpan(0)));
            assert_eq!(calls.find(Some(8), Some(5 * step)), Some(RawSpan(1)));
            assert_eq!(calls.find(Some(8), Some(6 * step)), None);
            assert_eq!(calls.find(Some(7), Some(6 * step)), Some(RawSpan(2)));
            assert_eq!(calls.find(Some(7), Some(0)), None);
            assert_eq!(calls.find(Some(7), Some(i64::MIN)), None);
            assert_eq!(calls.find(Some(9), Some(5 * step)), None);
            assert_eq!(calls.find(None, Some(5)), None);
            assert_eq!((calls.repeated(), calls.only_process()), (0, None));
        }
    }

    #[test]
    fn of_calls_that_share_an_id_the_outermost_stays() {
        let b = builder(&[(10, 12), (5, 20), (5, 30), (6, 7)]);
        let mut calls = Calls::default();
        for i in 0..4 {
            calls.push(1, 99, RawSpan(i));
        }
        calls.finish(b.so_far().spans());
        assert_eq!(calls.find(Some(1), Some(99)), Some(RawSpan(2)));
        assert_eq!(calls.repeated(), 3);
        assert_eq!(calls.only_process(), Some(1));
    }
}
