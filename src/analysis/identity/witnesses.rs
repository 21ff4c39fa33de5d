//! Collectives that several ranks recorded, as witnesses of their clocks: only those that no rank can leave before all have
//! entered, matched as for late ranks.

use std::collections::{BTreeMap, BTreeSet};

use super::Recording;
use super::same;
use crate::analysis::collectives::kinds::ends_together;
use crate::analysis::collectives::matching::{Collective, CommGroup, matching};
use crate::analysis::collectives::told::Recorded;
use crate::analysis::layers::classify::{ArgSource, GoOn};
use crate::model::{LaneKind, SpanId, Trace};
use crate::time::TimeRange;

/// The collectives of all recordings.
#[derive(Default)]
pub(super) struct Witnesses {
    /// By recording, by start.
    of: Vec<Vec<Collective>>,
    groups: Vec<CommGroup>,
    /// By recording: its groups, ascending.
    own: Vec<Vec<u32>>,
    /// By recording: the rank that it states; its place where some state none.
    ranks: Vec<u32>,
}

/// Collectives that two recordings have in common.
pub(super) struct Common {
    /// On the clock of each, by time.
    pub pairs: Vec<(TimeRange, TimeRange)>,
    /// They were matched by a number that all ranks count alike.
    pub counted: bool,
}

impl Witnesses {
    /// Those of traces of several recordings; reads the args of every candidate.
    pub fn find(
        trace: &Trace,
        recordings: &[Recording],
        of_source: &[usize],
        args: &dyn ArgSource,
        go_on: &GoOn<'_>,
    ) -> Self {
        let mut this = Self {
            of: vec![Vec::new(); recordings.len()],
            own: vec![Vec::new(); recordings.len()],
            ..Self::default()
        };
        if recordings.len() < 2 {
            return this;
        }
        let mut spans: Vec<SpanId> = Vec::new();
        for id in trace.lane_ids() {
            if trace.lane(id).kind == LaneKind::Gpu {
                let of_lane = trace.lane_spans(id);
                spans.extend(of_lane.filter(|&s| ends_together(trace.span_name(s))));
            }
        }
        let mut found: Vec<(usize, Collective, CommGroup)> = Vec::new();
        args.each(&spans, go_on, &mut |op, arg| {
            let told = Recorded::read(arg);
            let Ok(kind) = told.kind(trace.span_name(op), true, || None) else {
                return true;
            };
            let source = trace.lane(trace.spans().lane(op)).source;
            let collective = Collective {
                op,
                range: trace.spans().range(op),
                group: 0,
                kind,
                bytes: told.bytes(),
                number: told.number(),
                launched: trace.spans().start(op),
            };
            found.push((of_source[source.index()], collective, told.group()));
            true
        });
        // Lists of members mean something only where all say which of them they are.
        let peopled: BTreeSet<usize> = found.iter().map(|f| f.0).collect();
        let stated: BTreeSet<u32> = peopled.iter().filter_map(|&r| recordings[r].rank).collect();
        let all_state = stated.len() == peopled.len();
        let mut places: BTreeMap<(String, Option<Vec<u32>>), u32> = BTreeMap::new();
        for (recording, mut collective, mut group) in found {
            group.members = group.members.filter(|_| all_state);
            let next = u32::try_from(this.groups.len()).unwrap_or(u32::MAX);
            let key = (group.name.clone(), group.members.clone());
            collective.group = *places.entry(key).or_insert_with(|| {
                this.groups.push(group);
                next
            });
            this.of[recording].push(collective);
        }
        for (own, groups) in this.of.iter_mut().zip(&mut this.own) {
            own.sort_by_key(|c| (c.launched, c.op));
            groups.extend(own.iter().map(|c| c.group));
            groups.sort_unstable();
            groups.dedup();
        }
        let rank = |(i, r): (u32, &Recording)| r.rank.filter(|_| all_state).unwrap_or(i);
        this.ranks = (0..).zip(recordings).map(rank).collect();
        this
    }

    /// Groups of which a recording has collectives, ascending.
    pub fn groups(&self, recording: usize) -> &[u32] {
        &self.own[recording]
    }

    /// Those that two recordings of different ranks have in common.
    pub fn common(&self, trace: &Trace, a: usize, b: usize) -> Common {
        let lists = [&self.of[a][..], &self.of[b][..]];
        let counted = lists.iter().all(|l| l.iter().all(|c| c.number.is_some()));
        let mut pairs = Vec::new();
        if lists.iter().all(|l| !l.is_empty()) && self.ranks[a] != self.ranks[b] {
            let numbers = [self.ranks[a], self.ranks[b]];
            let found = matching(&self.groups, &numbers, &lists, &|_, _| None);
            for matched in &found.matched {
                if let [x, y] = found.of(matched) {
                    let at = |rank: u32, at: u32| {
                        let op = lists[rank as usize][at as usize].op;
                        let source = trace.lane(trace.spans().lane(op)).source;
                        same::on_own_clock(trace, source, trace.spans().range(op))
                    };
                    pairs.push((at(x.rank, x.at), at(y.rank, y.at)));
                }
            }
        }
        pairs.sort_unstable();
        Common { pairs, counted }
    }
}
