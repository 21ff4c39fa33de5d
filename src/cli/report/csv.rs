//! The step table as CSV, in ns; empty cells are not measured.

use std::io::{self, Write};

use super::super::analyse::Analysed;
use super::super::steady::PHASES;
use crate::analysis::{Recorded, StepRow};

const HEAD: &str = "rank,step,first,start_ns,time_ns,wait_ns,wait_exposed_ns,wait_hidden_ns,wait_unrecorded_ns,\
wait_hidden_by_earlier_ns,fetch_ns,h2d_ns,forward_ns,backward_ns,optimizer_ns,compute_ns,comm_ns,checkpoint_ns,eval_ns,\
other_ns,in_sync_ns,gpu_busy_ns,gpu_idle_ns,n_ops,launched_ns,first_kernel_ns,gpu_lag_ns";

/// All steps of the ranks asked for.
pub fn steps(a: &Analysed, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEAD}")?;
    for rank in a.ranks() {
        let recorded = a.analysis.recorded(rank);
        for row in a.analysis.step_rows(rank, a.window).0 {
            let cells = cells(a, rank, row, &recorded);
            writeln!(out, "{}", cells.join(","))?;
        }
    }
    Ok(())
}

fn cells(a: &Analysed, rank: usize, row: &StepRow, recorded: &Recorded) -> Vec<String> {
    let r = &a.analysis.ranks()[rank];
    let known = recorded.step(row);
    let number = |n: i64| n.to_string();
    let maybe = |n: Option<i64>| n.map_or(String::new(), |n| n.to_string());
    let mut cells = vec![
        r.rank.to_string(),
        quoted(&r.steps[row.step].label),
        u8::from(row.first).to_string(),
        number(row.range.start),
        number(row.time()),
        maybe(known.wait),
        maybe(known.wait_exposed),
        maybe(known.wait_hidden),
        maybe(known.wait_unrecorded),
        maybe(known.wait_hidden_by_earlier),
    ];
    cells.extend(PHASES.map(|(l, _name)| maybe(recorded.phase(row, l))));
    cells.extend([
        number(row.other()),
        maybe(known.in_sync),
        maybe(known.gpu_busy),
        maybe(known.gpu_idle),
        known.n_ops.map_or(String::new(), |n| n.to_string()),
        maybe(known.launched),
        maybe(row.first_kernel),
        maybe(row.gpu_lag),
    ]);
    cells
}

/// A text cell: in quotes where it needs them.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
