//! The batches of each worker as blocks on one time axis, those that the loop had to wait for hatched: a worker that is
//! slower than the others is seen at once.

use egui::{Pos2, RichText, ScrollArea, Sense, Ui, pos2, vec2};

use crate::analysis::{Analysis, FileRead, FileTotal, MadeBatch, counted};
use crate::app::model::action::{Action, Actions};
use crate::app::model::load::bytes_text;
use crate::app::widgets::look::Look;
use crate::paint::paint;
use crate::time::{TimeRange, about_ns, format_ns};
use crate::view::{DrawList, Item, Point, Rect, Section, SectionKind, Swatch, Theme};

/// Height of a worker's row, points.
const ROW: f32 = 15.0;
/// Rows that show without scrolling.
const ROWS: usize = 8;
/// Width of the names, points.
const NAMES: f32 = 92.0;
/// Narrower blocks are neither hatched nor parted from their neighbours, points.
const DETAIL: f32 = 4.0;

/// A worker and what it made.
pub struct Maker {
    title: String,
    batches: Vec<MadeBatch>,
    /// Those of them that are drawn: what is drawn over and no late one is left out, see [`CELLS`].
    drawn: Vec<u32>,
    /// Length of each block's wait, ns.
    waited: Vec<i64>,
    /// Median time in which it made one, ns.
    median: i64,
    /// Batches whose wait is known, and those of them that it waited for.
    told: usize,
    late: usize,
}

/// The workers of a rank of which batches are known, in a window.
#[must_use]
pub fn makers(analysis: &Analysis, rank: usize, window: TimeRange) -> Vec<Maker> {
    let causes = analysis.causes(rank);
    let several = analysis.ranks().len() > 1;
    let mut out: Vec<Maker> = Vec::new();
    let mut last = None;
    for batch in analysis.made_batches(rank, window) {
        if last != Some(batch.worker) {
            last = Some(batch.worker);
            let pid = &causes.workers[batch.worker].pid;
            let title = match several {
                true => format!("{} · {pid}", analysis.ranks()[rank].rank),
                false => format!("worker {pid}"),
            };
            out.push(Maker {
                title,
                batches: Vec::new(),
                drawn: Vec::new(),
                waited: Vec::new(),
                median: 0,
                told: 0,
                late: 0,
            });
        }
        if let Some(maker) = out.last_mut() {
            let wait = batch.wait.map(|w| analysis.waits()[w].range.len());
            maker.waited.push(wait.unwrap_or(0));
            maker.told += usize::from(batch.late.is_some());
            maker.late += usize::from(batch.late == Some(true));
            maker.batches.push(batch);
        }
    }
    for maker in &mut out {
        let mut times: Vec<i64> = maker.batches.iter().map(|b| b.range.len()).collect();
        times.sort_unstable();
        maker.median = times[times.len() / 2];
        maker.drawn = drawn(&maker.batches, window);
    }
    out
}

/// Parts of the time axis that blocks are told apart by: as many as a wide screen has pixels, so that a frame costs the
/// same however many batches there are.
const CELLS: i64 = 4_096;

/// The batches that are drawn: those that end in another cell than all before, late ones and others each for themselves.
fn drawn(batches: &[MadeBatch], window: TimeRange) -> Vec<u32> {
    let cell = (window.len() / CELLS).max(1);
    let mut reach = [i64::MIN; 2];
    let ends_later = |(_, batch): &(u32, &MadeBatch)| {
        let reach = &mut reach[usize::from(batch.late == Some(true))];
        let end = batch.range.end.div_euclid(cell);
        let later = end > *reach;
        *reach = end.max(*reach);
        later
    };
    (0..)
        .zip(batches)
        .filter(ends_later)
        .map(|(i, _)| i)
        .collect()
}

/// A file that took some of the waiting.
pub struct WaitedFile {
    name: String,
    /// In waits, ns.
    in_waits: i64,
    /// All reading of it.
    read: FileRead,
}

/// The files that took 1 % of the waiting of a rank or more, in a window; those that took most first.
#[must_use]
pub fn waited_files(analysis: &Analysis, rank: usize, window: TimeRange) -> Vec<WaitedFile> {
    let Some(waiting) = analysis.why_waited(rank, window) else {
        return Vec::new();
    };
    let (totals, causes) = (&waiting.totals, analysis.causes(rank));
    let of = |f: &FileTotal| WaitedFile {
        name: causes.file(f.file).to_owned(),
        in_waits: f.in_waits,
        read: f.read,
    };
    totals.telling_files().map(of).collect()
}

/// Draws the list of files; nothing where no file took part of the waiting worth naming.
pub fn files_ui(ui: &mut Ui, files: &[WaitedFile], look: &Look) {
    if files.is_empty() {
        return;
    }
    let title = format!(
        "{} took 1 % of the waiting or more",
        counted(files.len() as u64, "file")
    );
    let title = RichText::new(title).small();
    egui::CollapsingHeader::new(title)
        .id_salt("files in waits")
        .show(ui, |ui| {
            egui::Grid::new("files in waits")
                .num_columns(4)
                .spacing([16.0, 2.0])
                .show(ui, |ui| {
                    for head in ["In waits", "Size", "MB/s", "File"] {
                        ui.label(RichText::new(head).small().color(look.weak));
                    }
                    ui.end_row();
                    for file in files {
                        let size = u64::try_from(file.read.bytes).unwrap_or(0);
                        let rate = file.read.mb_s();
                        let rate = rate.map_or("–".to_owned(), |r| format!("{r:.1}"));
                        let cells = [format_ns(file.in_waits), bytes_text(size), rate];
                        for cell in cells {
                            ui.label(RichText::new(cell).small());
                        }
                        let name = RichText::new(&file.name).small();
                        ui.add(egui::Label::new(name).truncate())
                            .on_hover_text(&file.name);
                        ui.end_row();
                    }
                });
        });
    ui.add_space(4.0);
}

/// Draws the rows. A click on a block shows its wait, else its work.
pub fn makers_ui(
    ui: &mut Ui,
    makers: &[Maker],
    window: TimeRange,
    look: &Look,
    actions: &mut Actions,
) {
    if makers.is_empty() {
        return;
    }
    let sum = |of: fn(&Maker) -> usize| makers.iter().map(of).sum::<usize>();
    let (all, told, late) = (sum(|m| m.batches.len()), sum(|m| m.told), sum(|m| m.late));
    let text = match (told, all - told) {
        (0, _) => "Batches by worker; which wait was for which is not known.".to_owned(),
        (_, 0) => format!(
            "Batches by worker: {late} of {all} were not ready when the loop asked (hatched)."
        ),
        (_, unknown) => format!(
            "Batches by worker: {late} of {told} were not ready when the loop asked (hatched); of {unknown} more it is not known."
        ),
    };
    ui.label(RichText::new(text).small().color(look.weak));
    let spacing = std::mem::take(&mut ui.spacing_mut().item_spacing.y);
    let height = ROW * makers.len().min(ROWS) as f32;
    ScrollArea::vertical()
        .id_salt("batches by worker")
        .max_height(height)
        .show_rows(ui, ROW, makers.len(), |ui, rows| {
            for maker in &makers[rows] {
                row_ui(ui, maker, window, look, actions);
            }
        });
    ui.add_space(6.0);
    ui.spacing_mut().item_spacing.y = spacing;
}

fn row_ui(ui: &mut Ui, maker: &Maker, window: TimeRange, look: &Look, actions: &mut Actions) {
    let size = vec2(ui.available_width(), ROW);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let median = about_ns(maker.median);
    let label = format!(
        "{}, {} batches of {median}",
        maker.title,
        maker.batches.len()
    );
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &label));
    let middle = pos2(rect.left(), rect.center().y);
    let font = egui::FontId::proportional(11.0);
    let ink = ui.visuals().text_color();
    ui.painter()
        .text(middle, egui::Align2::LEFT_CENTER, &maker.title, font, ink);
    let lane = Rect::new(
        rect.left() + NAMES,
        rect.top() + 1.5,
        rect.right(),
        rect.bottom() - 1.5,
    );
    let at = |t: i64| {
        let share = (t - window.start) as f64 / window.len().max(1) as f64;
        lane.x0 + lane.width() * share.clamp(0.0, 1.0) as f32
    };
    let mut items = vec![Item::Rect {
        rect: lane,
        fill: look.theme.lane,
    }];
    let ends = |batch: &MadeBatch| at(batch.range.end).max(at(batch.range.start) + 1.0);
    // Of one worker they come one after the other.
    let under = response.hover_pos().and_then(|p| {
        let next = maker.batches.partition_point(|b| at(b.range.start) <= p.x);
        let i = next.checked_sub(1)?;
        (p.x <= ends(&maker.batches[i])).then_some(i)
    });
    // What ends within a pixel that is filled changes nothing, but a late one does.
    let mut reach = [f32::MIN; 2];
    for batch in maker.drawn.iter().map(|&i| &maker.batches[i as usize]) {
        let (x0, x1) = (at(batch.range.start), ends(batch));
        let reach = &mut reach[usize::from(batch.late == Some(true))];
        if x1 > *reach {
            *reach = x1;
            let rect = Rect::new(x0, lane.y0, x1, lane.y1);
            block(rect, batch, &look.theme, &mut items);
        }
    }
    let list = DrawList {
        sections: vec![Section {
            kind: SectionKind::Lanes,
            clip: lane,
            items,
        }],
        ..DrawList::default()
    };
    paint(&list, ui.painter(), Pos2::ZERO);
    let Some(i) = under else {
        return;
    };
    let batch = maker.batches[i];
    let wait = match (batch.wait, batch.late) {
        (Some(_), Some(true)) => format!("the loop waited {} for it", about_ns(maker.waited[i])),
        (Some(_), Some(false)) => "ready before the loop asked".to_owned(),
        _ => "whose wait it was is not known".to_owned(),
    };
    let text = format!("{}: {}; {wait}", maker.title, about_ns(batch.range.len()));
    if response.on_hover_text_at_pointer(text).clicked() {
        let action = match (batch.wait, batch.span) {
            (Some(wait), Some(span)) => Some(Action::FollowChain(wait, Some(0), span)),
            (_, Some(span)) => Some(Action::RevealSpan(span)),
            (_, None) => None,
        };
        actions.extend(action);
    }
}

/// A batch as items of a draw list.
fn block(rect: Rect, batch: &MadeBatch, theme: &Theme, out: &mut Vec<Item>) {
    out.push(Item::Rect {
        rect,
        fill: theme.swatch(Swatch::Load),
    });
    if rect.width() < DETAIL {
        return;
    }
    if batch.late == Some(true) {
        out.push(Item::Hatch {
            rect,
            color: theme.hatch(),
            line: 1.5,
            pitch: 6.0,
        });
    }
    out.push(Item::Line {
        a: Point::new(rect.x1, rect.y0),
        b: Point::new(rect.x1, rect.y1),
        color: theme.lane,
        width: 1.0,
    });
}
