//! Pictures of the page: each in the light and in the dark theme, of which one shows, as long as both are small.

use std::borrow::Cow;
use std::sync::Arc;

use super::HtmlInput;
use super::page::Page;
use super::privacy::Privacy;
use crate::analysis::CycleRow;
use crate::export::png::{Lanes, PngOptions, about};
use crate::export::svg::{Drawing, Look, list_inline, render_inline};
use crate::time::TimeRange;
use crate::view::{
    CompareInput, CompareSide, DrawList, Lod, RowState, RowTree, Rows, Theme, compare_picture,
};

/// Width of a picture, points.
pub(super) const WIDTH: u32 = 1_190;
/// Width of the names in it, points.
pub(super) const NAMES: f32 = 200.0;
/// Bytes of a picture in both themes.
const MOST: usize = 600_000;

/// Writes a picture; `draw` gives it in a theme, with ids that begin as it is told.
fn figure(
    page: &mut Page<'_>,
    caption: &str,
    mut draw: impl FnMut(&Theme, Look<'_>) -> Option<String>,
) {
    let privacy = page.privacy();
    let shown = hiding(privacy);
    page.pictures += 1;
    let n = page.pictures;
    let mut in_theme = |theme: &Theme| {
        let ids = format!("p{n}{}", &theme.name[..1]);
        let look = Look {
            ids: &ids,
            shown: &shown,
        };
        draw(theme, look)
    };
    let Some(light) = in_theme(&Theme::light()) else {
        return;
    };
    let dark = in_theme(&Theme::dark()).filter(|dark| light.len() + dark.len() <= MOST);
    page.raw("<figure>\n");
    page.element("figcaption", caption);
    let only = if dark.is_none() { " only" } else { "" };
    page.raw(&format!("<div class=\"light{only}\">{light}</div>\n"));
    if let Some(dark) = dark {
        page.raw(&format!("<div class=\"dark\">{dark}</div>\n"));
    }
    page.raw("</figure>\n");
}

/// What of texts in pictures is shown.
fn hiding(privacy: &Privacy) -> impl Fn(&str) -> Cow<'_, str> {
    |text| privacy.shown(text)
}

/// A draw list as a picture.
pub(super) fn of_list(
    page: &mut Page<'_>,
    caption: &str,
    draw: impl Fn(&Theme) -> Option<DrawList>,
) {
    figure(page, caption, |theme, look| {
        Some(list_inline(&draw(theme)?, theme.panel, look))
    });
}

/// The timeline of everything, and of the longest judged step.
pub(super) fn timelines(page: &mut Page<'_>, input: &HtmlInput<'_>) {
    let analysis = input.analysis;
    let trace = analysis.trace();
    let lod = Arc::new(Lod::build(trace, analysis));
    let tree = Arc::new(RowTree::new(trace, analysis, lod));
    let rows = Rows::new(tree, &RowState::default());
    page.section("timeline", "Timeline");
    let what = if input.chosen {
        "The range"
    } else {
        "The whole trace"
    };
    timeline(page, input, &rows, input.window.clip(trace.extent()), what);
    if let Some((rank, step)) = longest(input) {
        let name = analysis.ranks()[rank].steps[step.step].short();
        let what = format!("Step {name}{}, the longest judged one", input.of_rank(rank));
        let lag = analysis.step_rows(rank, input.window).0.into_iter();
        let lag = lag.filter(|r| r.step == step.step).find_map(|r| r.gpu_lag);
        let end = step.range.end.saturating_add(lag.unwrap_or(0).max(0));
        let range = TimeRange::new(step.range.start, end).clip(trace.extent());
        timeline(page, input, &rows, range, &what);
    }
    page.raw("</section>\n");
}

/// The longest judged step of the ranks asked for, the first of equals.
fn longest(input: &HtmlInput<'_>) -> Option<(usize, CycleRow)> {
    let of_rank = |rank: usize| {
        let judged = input.analysis.judged(rank, input.window);
        let rows: Vec<CycleRow> = judged.rows().cloned().collect();
        rows.into_iter().map(move |row| (rank, row))
    };
    let all = input.ranks().into_iter().flat_map(of_rank);
    all.min_by_key(|(_, row)| std::cmp::Reverse(row.time()))
}

fn timeline(page: &mut Page<'_>, input: &HtmlInput<'_>, rows: &Rows, range: TimeRange, what: &str) {
    if range.is_empty() {
        return;
    }
    let analysis = input.analysis;
    let draw = |theme: &Theme, lanes: Lanes, look: Look<'_>| -> Option<Drawing> {
        let options = PngOptions {
            range: Some(range),
            width: WIDTH,
            theme: theme.clone(),
            lanes,
            title: None,
            ..PngOptions::default()
        };
        render_inline(analysis.trace(), analysis, rows, &options, look).ok()
    };
    let plain = Look {
        ids: "",
        shown: &|text| Cow::Borrowed(text),
    };
    let probe = draw(&Theme::light(), Lanes::AsShown, plain);
    let fits = |d: &Drawing| d.svg.len() <= MOST;
    let lanes = match probe.as_ref().is_some_and(fits) {
        true => Lanes::AsShown,
        false => Lanes::Band,
    };
    let mut caption = format!("{what}: {}.", about(analysis, range).join(" · "));
    if lanes == Lanes::Band {
        caption.push_str(" Its lanes would make this file too large: the band alone is drawn.");
    } else if let Some(cut) = probe.and_then(|p| p.layout.notice()) {
        caption.push_str(&format!(" {cut}."));
    }
    figure(page, &caption, |theme, look| {
        Some(draw(theme, lanes, look)?.svg)
    });
}

/// What changed, as lanes, parts and steps of both sides.
pub(super) fn comparison(page: &mut Page<'_>, input: &HtmlInput<'_>, before: &super::Before<'_>) {
    let Some(old) = before.analysis else {
        page.say(
            "Of the recording before only its saved report is at hand, which has no lanes to draw.",
        );
        return;
    };
    let analyses = [old, input.analysis];
    let trees = analyses.map(|a| {
        let lod = Arc::new(Lod::build(a.trace(), a));
        Arc::new(RowTree::new(a.trace(), a, lod))
    });
    let side = |i: usize| CompareSide {
        trace: analyses[i].trace(),
        analysis: analyses[i],
        tree: &trees[i],
        recording: before.recordings[i],
        name: before.names[i],
    };
    let caption = "Lanes of the typical step of both, the mean step as parts, and all steps.";
    of_list(page, caption, |theme| {
        let picture = compare_picture(&CompareInput {
            sides: [side(0), side(1)],
            found: before.found,
            rank: 0,
            steps: [None, None],
            window: None,
            theme,
            width: WIDTH as f32,
            header_width: NAMES,
            pixels_per_point: 1.0,
        });
        // A job's threads may have no end.
        picture.map(|p| p.list).filter(|l| l.size.height <= 6_000.0)
    });
}
