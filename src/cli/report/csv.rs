//! The step table as CSV, in ns; empty cells are not measured.

use std::io::{self, Write};

use super::super::analyse::Analysed;
use super::super::steady::PHASES;
use crate::analysis::StepRow;

const HEAD: &str = "rank,step,first,start_ns,time_ns,wait_ns,wait_exposed_ns,wait_hidden_ns,wait_unrecorded_ns,\
wait_hidden_by_earlier_ns,fetch_ns,h2d_ns,forward_ns,backward_ns,optimizer_ns,compute_ns,comm_ns,checkpoint_ns,eval_ns,\
other_ns,in_sync_ns,gpu_busy_ns,gpu_idle_ns,n_ops,launched_ns,first_kernel_ns,gpu_lag_ns";

/// All steps of the ranks asked for.
pub fn steps(a: &Analysed, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{HEAD}")?;
    for rank in a.ranks() {
        for row in a.analysis.step_rows(rank, a.window).0 {
            let cells = cells(a, rank, row);
            writeln!(out, "{}", cells.join(","))?;
        }
    }
    Ok(())
}

fn cells(a: &Analysed, rank: usize, row: &StepRow) -> Vec<String> {
    let r = &a.analysis.ranks()[rank];
    let number = |n: i64| n.to_string();
    let known = |n: i64| {
        if r.gpu.is_some() {
            n.to_string()
        } else {
            String::new()
        }
    };
    let maybe = |n: Option<i64>| n.map_or(String::new(), |n| n.to_string());
    let mut cells = vec![
        r.rank.to_string(),
        quoted(&r.steps[row.step].label),
        u8::from(row.first).to_string(),
        number(row.range.start),
        number(row.time()),
        number(row.wait),
        known(row.wait_exposed),
        known(row.wait_hidden),
        number(row.wait_unrecorded),
        known(row.wait_hidden_by_earlier),
    ];
    cells.extend(PHASES.map(|(l, _name)| number(row.phase(l))));
    cells.extend([
        number(row.other()),
        number(row.in_sync),
        known(row.gpu_busy),
        known(row.gpu_idle),
        row.n_ops.to_string(),
        known(row.launched),
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
