//! Synchronising calls by who made them.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::analysis::Analysis;
use crate::analysis::base::callers::{CallerKind, is_own};
use crate::analysis::base::syncs::SyncFigures;
use crate::analysis::layers::classify::ArgSource;
use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::names::without_call;
use crate::model::SpanId;
use crate::time::TimeRange;

/// The synchronising calls of one caller. Times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncCaller {
    /// What the last of its names is.
    pub kind: CallerKind,
    /// Its name; of callers that call nothing else which waits several, the outer ones first.
    pub names: Vec<String>,
    /// The row that it lies in: always an earlier one.
    pub parent: Option<usize>,
    /// How many rows lie around it.
    pub depth: u16,
    /// Calls.
    pub calls: u64,
    /// Sum of their lengths.
    pub time: i64,
    /// Sum of the GPU time that they waited for.
    pub absorbed: i64,
    /// The same by the phase that launched it, the largest first.
    pub absorbed_by_phase: Vec<(Option<LayerId>, i64)>,
    /// Sum of their bubbles, where one is known of any.
    pub bubble: Option<i64>,
    /// The longest call.
    pub longest: SpanId,
}

/// What stands between names that share a row.
const BETWEEN: &str = " › ";
/// Characters that a shortened name keeps.
const SHORTEST: usize = 16;

impl SyncCaller {
    /// Its names as one text, the outermost first.
    #[must_use]
    pub fn caller(&self) -> String {
        self.names.join(BETWEEN)
    }

    /// The same in about `room` characters: the longest names lose their middle first. The call's own name goes where
    /// a caller tells more.
    #[must_use]
    pub fn short(&self, room: usize) -> String {
        let mut names = self.names.clone();
        if self.kind == CallerKind::Call && names.len() > 1 {
            names.pop();
        }
        let length = |name: &String| name.chars().count();
        let between = BETWEEN.chars().count();
        loop {
            let all = names.iter().map(length).sum::<usize>() + between * (names.len() - 1);
            let longest = names.iter_mut().max_by_key(|name| name.chars().count());
            let Some(name) = longest.filter(|name| all > room && length(name) > SHORTEST) else {
                return names.join(BETWEEN);
            };
            *name = without_middle(name, length(name).saturating_sub(all - room).max(SHORTEST));
        }
    }
}

/// The first third and the end of a text that is longer than `most` characters.
fn without_middle(text: &str, most: usize) -> String {
    let (head, n) = (most / 3, text.chars().count());
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(n - (most - head - 1)).collect();
    format!("{start}…{end}")
}

/// Synchronising calls by who made them.
#[derive(Clone, Debug, Default)]
pub struct SyncCallers {
    /// Callers, each followed by those that lie in it, the longest time first.
    pub rows: Vec<SyncCaller>,
    /// The calls, the longest first, with the row of their caller.
    pub calls: Vec<(usize, SyncFigures)>,
    /// Shorter calls that were left out.
    pub left_out: usize,
}

type Path = Vec<(CallerKind, String)>;

#[derive(Default)]
struct Node {
    below: BTreeMap<(CallerKind, String), Node>,
    /// Places of the calls that end here.
    calls: Vec<usize>,
}

impl Analysis {
    /// Synchronising calls that start in a window by who made them, of one rank (by its number) or of all; the `most`
    /// longest ones. `args` tells the call stacks of operators where functions have no spans.
    #[must_use]
    pub fn sync_callers(
        &self,
        window: TimeRange,
        rank: Option<u32>,
        most: usize,
        args: &dyn ArgSource,
    ) -> SyncCallers {
        let spans = self.trace().spans();
        let mut calls = self.sync_calls(window);
        calls.retain(|&c| rank.is_none_or(|r| self.lane_rank(spans.lane(c)) == Some(r)));
        calls.sort_by_key(|&c| (Reverse(spans.dur(c)), c));
        let left_out = calls.len().saturating_sub(most);
        calls.truncate(most);
        let figures: Vec<SyncFigures> = calls.iter().map(|&c| self.sync(c)).collect();
        let mut root = Node::default();
        for (i, path) in self.paths(&calls, args).into_iter().enumerate() {
            let mut node = &mut root;
            for step in path {
                node = node.below.entry(step).or_default();
            }
            node.calls.push(i);
        }
        let mut out = SyncCallers {
            left_out,
            ..SyncCallers::default()
        };
        let mut row_of = vec![0; figures.len()];
        self.add(&mut out.rows, &mut row_of, root, &figures);
        out.calls = row_of.into_iter().zip(figures).collect();
        out
    }

    /// The callers of each call, the outermost first, and the call's own name.
    fn paths(&self, calls: &[SpanId], args: &dyn ArgSource) -> Vec<Path> {
        let trace = self.trace();
        let name = |span| without_call(trace.span_name(span)).to_owned();
        let mut paths = Vec::with_capacity(calls.len());
        // Operators whose args may tell what spans do not.
        let mut asked: BTreeMap<SpanId, Vec<usize>> = BTreeMap::new();
        for (i, &call) in calls.iter().enumerate() {
            let callers = self.callers(call);
            let mut path: Path = callers.known().map(|(k, s)| (k, name(s))).collect();
            path.push((CallerKind::Call, name(call)));
            if let Some(op) = callers.op.filter(|_| callers.python.is_none()) {
                asked.entry(op).or_default().push(i);
            }
            paths.push(path);
        }
        let ops: Vec<SpanId> = asked.keys().copied().collect();
        let told = Cell::new(false);
        let mut found = |op: SpanId, arg: &dyn Fn(&str) -> Option<String>| {
            let told_of = [
                (CallerKind::Module, arg("Module Hierarchy")),
                (
                    CallerKind::Python,
                    arg("Call stack").and_then(|s| own_frame(&s)),
                ),
            ];
            for (kind, text) in told_of {
                let Some(text) = text.filter(|t| !t.is_empty()) else {
                    continue;
                };
                told.set(true);
                for &i in &asked[&op] {
                    let path = &mut paths[i];
                    let at = path.partition_point(|step| step.0 < kind);
                    if path.get(at).is_none_or(|step| step.0 != kind) {
                        path.insert(at, (kind, text.clone()));
                    }
                }
            }
            true
        };
        // A file may have to be unpacked as a whole for them: not where the first one has none.
        if let Some((first, rest)) = ops.split_first() {
            args.each(&[*first], &|| true, &mut found);
            if told.get() {
                args.each(rest, &|| true, &mut found);
            }
        }
        paths
    }

    /// Rows of a tree; callers with a single callee share its row.
    fn add(
        &self,
        rows: &mut Vec<SyncCaller>,
        row_of: &mut [usize],
        root: Node,
        figures: &[SyncFigures],
    ) {
        let spans = self.trace().spans();
        let time = |node: &Node| {
            let all = node.all_calls();
            all.iter().map(|&i| spans.dur(figures[i].span)).sum::<i64>()
        };
        // (names, node, the row around it, depth), the next one last. A path has five steps at most.
        let mut next: Vec<(Path, Node, Option<usize>, u16)> = Vec::new();
        let below = |next: &mut Vec<_>, node: Node, parent, depth| {
            let mut nodes: Vec<_> = node.below.into_iter().collect();
            nodes.sort_by_cached_key(|(name, node)| (time(node), Reverse(name.clone())));
            next.extend(
                nodes
                    .into_iter()
                    .map(|(name, node)| (vec![name], node, parent, depth)),
            );
        };
        below(&mut next, root, None, 0);
        while let Some((mut names, mut node, parent, depth)) = next.pop() {
            while node.calls.is_empty() && node.below.len() == 1 {
                let Some((name, only)) = node.below.pop_first() else {
                    break;
                };
                names.push(name);
                node = only;
            }
            let all = node.all_calls();
            rows.extend(self.row(&names, parent, depth, all.iter().map(|&i| &figures[i])));
            let place = rows.len() - 1;
            for &i in &node.calls {
                row_of[i] = place;
            }
            below(&mut next, node, Some(place), depth + 1);
        }
    }

    fn row<'a>(
        &self,
        names: &[(CallerKind, String)],
        parent: Option<usize>,
        depth: u16,
        calls: impl Iterator<Item = &'a SyncFigures>,
    ) -> Option<SyncCaller> {
        let spans = self.trace().spans();
        let mut by_phase: BTreeMap<Option<LayerId>, i64> = BTreeMap::new();
        let mut row: Option<SyncCaller> = None;
        for figures in calls {
            // The longest comes first.
            let row = row.get_or_insert_with(|| SyncCaller {
                kind: names.last().map_or(CallerKind::Call, |n| n.0),
                names: names.iter().map(|n| n.1.clone()).collect(),
                parent,
                depth,
                calls: 0,
                time: 0,
                absorbed: 0,
                absorbed_by_phase: Vec::new(),
                bubble: None,
                longest: figures.span,
            });
            row.calls += 1;
            row.time = row.time.saturating_add(spans.dur(figures.span));
            row.absorbed = row.absorbed.saturating_add(figures.absorbed);
            if let Some(bubble) = figures.bubble {
                row.bubble = Some(row.bubble.unwrap_or(0).saturating_add(bubble));
            }
            for &(phase, ns) in &figures.absorbed_by_phase {
                *by_phase.entry(phase).or_default() += ns;
            }
        }
        let mut row = row?;
        row.absorbed_by_phase = by_phase.into_iter().filter(|p| p.1 > 0).collect();
        row.absorbed_by_phase.sort_by_key(|p| (Reverse(p.1), p.0));
        Some(row)
    }
}

impl Node {
    /// The calls of this and of all below, ascending.
    fn all_calls(&self) -> Vec<usize> {
        let mut all = self.calls.clone();
        all.extend(self.below.values().flat_map(Self::all_calls));
        all.sort_unstable();
        all
    }
}

/// The innermost function of a call stack that is of the program itself. PyTorch writes the innermost first, with
/// semicolons between.
fn own_frame(stack: &str) -> Option<String> {
    let frames = stack.split(';').map(str::trim);
    frames
        .into_iter()
        .find(|f| !f.is_empty() && is_own(f))
        .map(str::to_owned)
}

/// A line of the table of callers and their calls.
#[derive(Clone, Debug, PartialEq)]
pub enum SyncLine {
    /// A caller.
    Caller(SyncCaller),
    /// One of its calls.
    Call(SyncFigures),
}

impl SyncCallers {
    /// Callers and calls, each behind the line that it lies in: that line's place, how many lie around it, itself.
    #[must_use]
    pub fn lines(self) -> Vec<(Option<usize>, u16, SyncLine)> {
        let mut calls: Vec<Vec<SyncFigures>> = vec![Vec::new(); self.rows.len()];
        for (row, call) in self.calls {
            calls[row].push(call);
        }
        let mut place_of = Vec::with_capacity(calls.len());
        let mut lines = Vec::new();
        for (row, own) in self.rows.into_iter().zip(calls) {
            let place = lines.len();
            place_of.push(place);
            let (parent, depth) = (row.parent.map(|p: usize| place_of[p]), row.depth);
            lines.push((parent, depth, SyncLine::Caller(row)));
            let own = own.into_iter().map(SyncLine::Call);
            lines.extend(own.map(|call| (Some(place), depth + 1, call)));
        }
        lines
    }
}
