//! Which lanes of the two sides belong together, and how they are drawn above each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{CompareSide, GAP, Scene, filled, words};
use crate::analysis::compare::Sample;
use crate::analysis::counted;
use crate::model::{LaneKind, Role};
use crate::time::TimeRange;
use crate::view::draw::{Align, Font, SectionKind};
use crate::view::geom::{Rect, Size};
use crate::view::layout;
use crate::view::lod::Part;
use crate::view::rows::{NodeId, ROW_HEIGHT, Row, RowKind, RowState, Rows};

/// Rows of a lane that are drawn at most: deeper ones are left out, and said to be.
const MOST_ROWS: usize = 6;
/// Between the two sides of a lane, points: half a row.
const APART: f32 = ROW_HEIGHT / 2.0;

/// What tells the lanes of two recordings apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LaneKey {
    /// The loop's thread.
    Loop(Part),
    /// A stream of the GPU, by number.
    Stream(i64),
    /// A stream that the other side has no number of: by busy time.
    BusyStream(usize),
    /// A worker, by start of its process.
    Worker(usize, Part),
    /// Another thread, by name and place among those of the name.
    Thread(String, usize, Part),
}

/// A lane of one side.
#[derive(Clone, Debug)]
pub(super) struct SideLane {
    node: NodeId,
    leaf: u32,
    title: String,
    /// Sub-rows, outermost first.
    subs: Vec<u16>,
    /// Busy time in the step that is shown, ns.
    busy: i64,
}

/// The lanes of a side's rank that show, in display order.
pub(super) fn side(
    side: &CompareSide<'_>,
    rows: &Rows,
    place: usize,
    window: TimeRange,
) -> Vec<(LaneKey, SideLane)> {
    let (trace, analysis) = (side.trace, side.analysis);
    let rank = &analysis.ranks()[place];
    let several = analysis.ranks().len() > 1;
    let lod = rows.tree().lod();
    let mut found: Vec<(Option<LaneKey>, SideLane)> = Vec::new();
    let mut workers: BTreeMap<Option<crate::model::ProcessId>, i64> = BTreeMap::new();
    for row in rows.rows() {
        let RowKind::Lane { leaf, sub } = row.kind else {
            continue;
        };
        if let Some((_, last)) = found.last_mut()
            && last.leaf == leaf
        {
            last.subs.push(sub);
            continue;
        }
        let of = lod.leaf(leaf);
        let lane = trace.lane(of.lane);
        let own = match lane.kind {
            LaneKind::Gpu => rank
                .gpu
                .is_some_and(|g| trace.lane_device(of.lane) == Some(analysis.gpus()[g].device)),
            LaneKind::Cpu => !several || analysis.lane_rank(of.lane) == Some(rank.rank),
            _ => false,
        };
        if !own {
            continue;
        }
        let start = trace.spans().starts().get(lane.spans.start as usize);
        if analysis.role(of.lane) == Role::Worker {
            let first = workers.entry(lane.process).or_insert(i64::MAX);
            *first = (*first).min(start.copied().unwrap_or(i64::MAX));
        }
        let key = match lane.kind {
            LaneKind::Gpu => lane.stream.map(|s| LaneKey::Stream(trace.stream(s).number)),
            _ if rank.loop_lanes.contains(&of.lane) => Some(LaneKey::Loop(part(of.part))),
            _ => None,
        };
        found.push((
            key,
            SideLane {
                node: row.node,
                leaf,
                title: rows.tree().node(row.node).title.clone(),
                subs: vec![sub],
                busy: of.busy_in(trace, analysis.layers(), window),
            },
        ));
    }
    let mut order: Vec<_> = workers.into_iter().map(|(p, start)| (start, p)).collect();
    order.sort_unstable();
    let mut names: BTreeMap<(String, Part), usize> = BTreeMap::new();
    let mut key = |lane: &SideLane| {
        let of = lod.leaf(lane.leaf);
        let process = trace.lane(of.lane).process;
        let worker = order.iter().position(|w| w.1 == process);
        if let Some(n) = worker.filter(|_| analysis.role(of.lane) == Role::Worker) {
            return LaneKey::Worker(n, part(of.part));
        }
        let name = unnumbered(&lane.title);
        let part = part(of.part);
        let place = names.entry((name.clone(), part)).or_default();
        *place += 1;
        LaneKey::Thread(name, *place, part)
    };
    found
        .into_iter()
        .map(|(known, lane)| (known.unwrap_or_else(|| key(&lane)), lane))
        .collect()
}

/// A thread whose calls have no rows of their own is the work of one whose calls have.
fn part(part: Part) -> Part {
    match part {
        Part::All => Part::Work,
        other => other,
    }
}

/// Threads are numbered anew in each process.
fn unnumbered(title: &str) -> String {
    title.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// A lane of both sides, or of one.
pub(super) type Pair = [Option<SideLane>; 2];

/// Puts lanes of equal keys together, in the order of the side before, then what is only after. Streams without a partner
/// of their number go by busy time.
pub(super) fn pairs(sides: [Vec<(LaneKey, SideLane)>; 2]) -> Vec<(LaneKey, Pair)> {
    let numbers = sides.each_ref().map(|s| {
        let streams = s.iter().filter(|(k, _)| matches!(k, LaneKey::Stream(_)));
        streams.map(|(k, _)| k.clone()).collect::<Vec<_>>()
    });
    let mut out: Vec<(LaneKey, Pair)> = Vec::new();
    for (i, lanes) in sides.into_iter().enumerate() {
        let other = &numbers[1 - i];
        let alone = |k: &LaneKey| matches!(k, LaneKey::Stream(_)) && !other.contains(k);
        let mut busiest: Vec<(i64, LaneKey)> = lanes
            .iter()
            .filter(|(k, _)| alone(k))
            .map(|(k, lane)| (-lane.busy, k.clone()))
            .collect();
        busiest.sort();
        for (key, lane) in lanes {
            let rank = busiest.iter().position(|b| b.1 == key);
            let key = rank.map_or(key, LaneKey::BusyStream);
            // Two recorders of a thread, or two processes on a GPU, have lanes of one key: they pair in their order.
            let free = |p: &(LaneKey, [Option<SideLane>; 2])| p.0 == key && p.1[i].is_none();
            let at = out.iter().position(free).unwrap_or_else(|| {
                out.push((key, [None, None]));
                out.len() - 1
            });
            out[at].1[i] = Some(lane);
        }
    }
    out.retain(|(_, pair)| pair.iter().flatten().any(|l| l.busy > 0));
    out
}

pub(super) fn draw(scene: &mut Scene<'_>) {
    let samples: [&Sample; 2] = scene.samples;
    let rows = scene
        .input
        .sides
        .map(|s| Rows::new(Arc::clone(s.tree), &RowState::default()));
    let windows = scene
        .shown
        .map(|r| TimeRange::new(r.start, r.start.saturating_add(scene.range)));
    let sides = [0, 1].map(|i| {
        let of = &scene.input.sides[i];
        side(of, &rows[i], samples[i].place, windows[i])
    });
    let mut placed: [Vec<Row>; 2] = [Vec::new(), Vec::new()];
    let top = scene.y;
    let mut missing = Vec::new();
    for (_, pair) in pairs(sides) {
        let title = pair.iter().flatten().next().map(|l| l.title.clone());
        for (i, lane) in pair.iter().enumerate() {
            let y = scene.y;
            let title = title.as_deref().filter(|_| i == 0).unwrap_or("");
            scene.name(y + ROW_HEIGHT / 2.0, title, Some(i));
            match lane {
                Some(lane) => placed[i].extend(lane.subs.iter().take(MOST_ROWS).enumerate().map(
                    |(n, &sub)| Row {
                        node: lane.node,
                        kind: RowKind::Lane {
                            leaf: lane.leaf,
                            sub,
                        },
                        y: y + n as f32 * ROW_HEIGHT,
                        height: ROW_HEIGHT,
                    },
                )),
                None => missing.push((y, i)),
            }
            let deeper = lane
                .as_ref()
                .map_or(0, |l| l.subs.len().saturating_sub(MOST_ROWS));
            if deeper > 0 {
                let text = format!("+ {} deeper", counted(deeper as u64, "row"));
                scene.name(y + 1.5 * ROW_HEIGHT, &text, None);
            }
            let rows = match lane {
                Some(lane) => lane.subs.len().min(MOST_ROWS),
                None => 1,
            };
            scene.y += rows as f32 * ROW_HEIGHT + if i == 0 { APART } else { GAP };
        }
    }
    let area = Rect::new(scene.x0(), top, scene.x1(), scene.y);
    if area.is_empty() {
        return;
    }
    for i in [0, 1] {
        let view = scene.viewport(i);
        let size = Size::new(scene.x1(), area.y1);
        let tree = Arc::clone(rows[i].tree());
        let chosen = Rows::placed(tree, placed[i].clone());
        let input = scene.layout_input(i, &chosen, &view, size);
        let list = layout::lanes_alone(&input, area);
        scene.list.sections.extend(list.sections);
        scene.spans.extend(list.marks.into_iter().map(|m| (i, m)));
    }
    scene.ends(&placed);
    let theme = scene.input.theme;
    let said = missing.into_iter().map(|(y, i)| {
        let text = ["not there before", "not there after"][i];
        let at = (scene.x0() + 10.0, y + ROW_HEIGHT / 2.0);
        words(at, text, (Font::Small, theme.weak), (Align::Left, 200.0))
    });
    let said = said.collect();
    scene.section(SectionKind::Lanes, area, said);
}

impl Scene<'_> {
    /// Where the step of each side ends: what follows is another one's, and fades.
    fn ends(&mut self, placed: &[Vec<Row>; 2]) {
        let theme = self.input.theme;
        let mut items = Vec::new();
        for (side, rows) in placed.iter().enumerate() {
            let view = self.viewport(side);
            let row = self.shown[side];
            let x = self.x0() + view.x_clipped(row.start.saturating_add(row.time));
            for row in rows {
                let behind = Rect::new(x, row.y, self.x1(), row.y + row.height);
                if !behind.is_empty() {
                    items.push(filled(behind, theme.canvas.percent(70)));
                    let edge = Rect::new(x, row.y, x + 1.5, row.y + row.height);
                    items.push(filled(edge, theme.strong));
                }
            }
        }
        let clip = Rect::new(self.x0(), 0.0, self.x1(), self.y);
        self.section(SectionKind::Overlay, clip, items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(leaf: u32, busy: i64) -> SideLane {
        SideLane {
            node: NodeId(leaf),
            leaf,
            title: format!("lane {leaf}"),
            subs: vec![0],
            busy,
        }
    }

    #[test]
    fn lanes_pair_by_what_they_are() {
        let thread = |n| LaneKey::Thread("python".to_owned(), n, Part::All);
        let before = vec![
            (LaneKey::Loop(Part::All), lane(0, 9)),
            (LaneKey::Stream(7), lane(1, 9)),
            (LaneKey::Stream(20), lane(2, 3)),
            (LaneKey::Stream(21), lane(3, 8)),
            (thread(1), lane(4, 0)),
        ];
        let after = vec![
            (LaneKey::Stream(7), lane(0, 9)),
            (LaneKey::Stream(30), lane(1, 5)),
            (LaneKey::Loop(Part::All), lane(2, 9)),
            (LaneKey::Worker(0, Part::All), lane(3, 1)),
            (thread(1), lane(4, 0)),
        ];
        let leaf = |l: &Option<SideLane>| l.as_ref().map(|l| l.leaf);
        let got: Vec<_> = pairs([before, after])
            .iter()
            .map(|(_, p)| p.each_ref().map(leaf))
            .collect();
        let want = [
            [Some(0), Some(2)],
            [Some(1), Some(0)],
            [Some(2), None],
            // The busiest of those whose numbers the other side does not have.
            [Some(3), Some(1)],
            // Not there before. The thread that does nothing is left out.
            [None, Some(3)],
        ];
        assert_eq!(got, want);
    }
}
