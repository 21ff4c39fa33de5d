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
    let number = |n: i64| n.to_string();
    let if_known = |known: bool, n: i64| {
        if known { n.to_string() } else { String::new() }
    };
    let known = |n: i64| if_known(r.gpu.is_some(), n);
    let of_wait = |n: i64| if_known(r.gpu.is_some() && recorded.waits(), n);
    let maybe = |n: Option<i64>| n.map_or(String::new(), |n| n.to_string());
    let mut cells = vec![
        r.rank.to_string(),
        quoted(&r.steps[row.step].label),
        u8::from(row.first).to_string(),
        number(row.range.start),
        number(row.time()),
        if_known(recorded.waits(), row.wait),
        of_wait(row.wait_exposed),
        of_wait(row.wait_hidden),
        if_known(recorded.waits(), row.wait_unrecorded),
        of_wait(row.wait_hidden_by_earlier),
    ];
    cells.extend(PHASES.map(|(l, _name)| if_known(recorded.layer(l), row.phase(l))));
    cells.extend([
        number(row.other()),
        if_known(recorded.syncs(), row.in_sync),
        known(row.gpu_busy),
        known(row.gpu_idle),
        if_known(
            r.gpu.is_some(),
            i64::try_from(row.n_ops).unwrap_or(i64::MAX),
        ),
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
