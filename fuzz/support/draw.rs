//! What is drawn of whatever opens: lanes, layout and pictures, over any part of the time. Needs the feature `png`.

use std::path::Path;
use std::sync::Arc;

use stallscope::analysis::{Analysis, Options, Rules};
use stallscope::export::png::{Lanes, PngOptions, SIGNATURE, render_png};
use stallscope::export::svg::render_svg;
use stallscope::import::{OpenOptions, Progress, open};
use stallscope::time::TimeRange;
use stallscope::view::{Lod, RowState, RowTree, Rows, Theme};

/// Bytes before the trace: which part of the time, how wide, which lanes, in which colours.
pub const HEAD: usize = 20;

/// A view, and the trace that it is of.
pub fn view(folder: &Path, data: &[u8]) {
    let Some((head, trace)) = data.split_at_checked(HEAD) else {
        return;
    };
    let path = folder.join("trace.json");
    std::fs::write(&path, trace).expect("a writable folder");
    let Ok(loaded) = open(&[path], &OpenOptions::default(), &Progress::new()) else {
        return;
    };
    let trace = Arc::new(loaded.trace);
    let rules = Rules::builtin();
    let analysis = Analysis::new(Arc::clone(&trace), &rules, &Options::default(), &|_| true);
    let analysis = analysis.expect("nobody cancels");
    let lod = Arc::new(Lod::build(&trace, &analysis));
    let tree = Arc::new(RowTree::new(&trace, &analysis, lod));
    let state = RowState {
        expand_all: head[16] & 1 == 1,
        ..RowState::default()
    };
    let rows = Rows::new(tree, &state);
    let options = PngOptions {
        range: range(head, trace.extent()),
        width: 640 + u32::from(head[17]),
        theme: if head[18] & 1 == 1 {
            Theme::dark()
        } else {
            Theme::light()
        },
        lanes: match head[18] >> 1 & 3 {
            0 => Lanes::All,
            1 => Lanes::Band,
            _ => Lanes::AsShown,
        },
        ruler: head[19] & 1 == 1,
        lane_names: head[19] & 2 == 2,
        band: head[19] & 4 == 4,
        legend: head[19] & 8 == 8,
        ..PngOptions::default()
    };
    // What cannot be drawn is refused with a reason, by both alike.
    match render_svg(&trace, &analysis, &rows, &options) {
        Ok(drawing) => {
            let odd = ["NaN", "\"inf", "\"-inf"];
            assert!(odd.iter().all(|o| !drawing.svg.contains(o)), "no number");
        }
        Err(why) => {
            let png = render_png(&trace, &analysis, &rows, &options);
            assert_eq!(png.err().map(|e| e.to_string()), Some(why.to_string()));
            return;
        }
    }
    // Pixels take long: one picture in four.
    if head[19] >> 4 & 3 == 0 {
        let png = render_png(&trace, &analysis, &rows, &options).expect("what SVG shows");
        assert!(png.png.starts_with(&SIGNATURE));
    }
}

/// The whole, a part of it by shares of its length, or any two times.
fn range(head: &[u8], extent: TimeRange) -> Option<TimeRange> {
    let number = |at: usize| {
        head[at..at + 8]
            .iter()
            .fold(0, |n, &b| n << 8 | i64::from(b))
    };
    let (a, b) = (number(0), number(8));
    let part = |n: i64| {
        let share = i128::from(n.rem_euclid(1 << 16));
        let at = (i128::from(extent.len()) * share) >> 16;
        extent.start.saturating_add(i64::try_from(at).unwrap_or(0))
    };
    match head[16] >> 1 & 3 {
        0 => None,
        1 => Some(TimeRange { start: a, end: b }),
        _ => {
            let (a, b) = (part(a), part(b));
            Some(TimeRange {
                start: a.min(b),
                end: a.max(b),
            })
        }
    }
}
