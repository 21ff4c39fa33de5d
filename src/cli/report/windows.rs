//! The table of fixed windows, "second by second".

use super::super::CliError;
use super::super::analyse::Analysed;
use super::super::args::Layers;
use super::super::table::{Table, ms};
use super::{heading, say};
use crate::analysis::{TooManyWindows, WINDOW_GROUPS, WindowCell};
use crate::export::report::fixed_window;
use crate::time::format_ns;

fn too_many(e: TooManyWindows) -> CliError {
    CliError::Usage(format!("--windows: {e}."))
}

/// Fails where windows of `width` would be too many for a table.
pub fn check(a: &Analysed, width: i64) -> Result<(), CliError> {
    let origin = a.analysis.trace().extent().start;
    let count = a.analysis.window_count(width, origin);
    count.map(|_n| ()).map_err(too_many)
}

/// One row per window of `width`, from the start of the trace; only windows that touch the range asked for.
pub fn windows(out: &mut String, a: &Analysed, width: i64, way: Layers) -> Result<(), CliError> {
    let origin = a.analysis.trace().extent().start;
    let cells = a
        .analysis
        .fixed_windows(&WINDOW_GROUPS, width, origin)
        .map_err(too_many)?;
    let pick = |c: &WindowCell| match way {
        Layers::Exact => (c.sum, c.proc_max),
        Layers::Dfanalyzer => (c.dfa_sum, c.dfa_proc_max),
    };
    heading(
        out,
        &format!(
            "Windows of {}, in ms: sum over processes / busiest",
            format_ns(width)
        ),
    );
    let heads: Vec<&str> = std::iter::once("from ms")
        .chain(WINDOW_GROUPS.iter().map(|g| g.0))
        .collect();
    let mut t = Table::new(&heads);
    let mut totals = [(0_i64, 0_i64); WINDOW_GROUPS.len()];
    for (j, row) in cells.iter().enumerate() {
        let range = fixed_window(origin, width, j);
        if !range.overlaps(a.window) {
            continue;
        }
        let mut line = vec![ms(range.start - origin)];
        for (total, cell) in totals.iter_mut().zip(row) {
            let (sum, busiest) = pick(cell);
            total.0 += sum;
            total.1 += busiest;
            line.push(format!("{} / {}", ms(sum), ms(busiest)));
        }
        t.row(line);
    }
    let total = totals
        .iter()
        .map(|(s, b)| format!("{} / {}", ms(*s), ms(*b)));
    t.row(
        std::iter::once("added up".to_owned())
            .chain(total)
            .collect(),
    );
    out.push_str(&t.render());
    say(
        out,
        match way {
            Layers::Exact => {
                "Spans are clipped at window borders; \"busiest, added up\" depends on the width."
            }
            Layers::Dfanalyzer => {
                "As DFAnalyzer: whole spans in the window of their start, nested ones each; a cell can exceed its window."
            }
        },
    );
    Ok(())
}
