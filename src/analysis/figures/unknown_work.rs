//! What has to be said of GPU work that was launched and not recorded: how much, and what is unknown because of it.

use crate::analysis::base::core::Core;
use crate::analysis::base::gpus::Gpu;
use crate::analysis::base::loops::Rank;
use crate::analysis::base::lost_work::LostLaunches;
use crate::analysis::notices::{Certainty, Notice};
use crate::analysis::sums::stats::percentile_sorted;
use crate::time::format_ns;

/// An operation without a successor that ends so long after all that its file has of the CPU, ns, …
const LATE: i64 = 1_000_000_000;
/// … and lasts so many times the median of its stream, is worth a word.
const LONG: i64 = 1000;

/// The notices about all GPUs and ranks.
pub(in crate::analysis) fn notices(core: &Core, gpus: &[Gpu], ranks: &[Rank]) -> Vec<Notice> {
    let mut out = Vec::new();
    for gpu in gpus {
        out.extend(lost(gpu));
        out.extend(overruns(gpu));
    }
    out.extend(late_end(core, gpus));
    out.extend(ranks.iter().filter_map(|r| elsewhere(core, r)));
    out
}

fn lost(gpu: &Gpu) -> Option<Notice> {
    let LostLaunches {
        graph,
        kernel,
        calls_graph,
        calls_kernel,
    } = gpu.lost;
    let count = gpu.lost.lost();
    (count > 0).then(|| Notice {
        certainty: Certainty::NotRecorded,
        code: "launches_lost",
        count: count as u64,
        text: format!(
            "{graph} of {calls_graph} graph launches and {kernel} of {calls_kernel} kernel launches have no GPU work \
             recorded: the state of GPU {} is unknown for {} (busy and exposed times are lower bounds).",
            gpu.key,
            format_ns(gpu.not_recorded.measure()),
        ),
    })
}

fn overruns(gpu: &Gpu) -> Option<Notice> {
    let count = gpu.overruns.ops.len();
    let (operations, their) = match count {
        0 => return None,
        1 => ("operation", "its end is"),
        _ => ("operations", "their ends are"),
    };
    Some(Notice {
        certainty: Certainty::NotRecorded,
        code: "stream_overrun",
        count: count as u64,
        text: format!(
            "{count} {operations} of GPU {} ended up to {} after the next one of the stream had begun: {their} not \
             believed.",
            gpu.key,
            format_ns(gpu.overruns.worst),
        ),
    })
}

/// Another thread asks for the batches: what it waits for is not the loop's wait.
fn elsewhere(core: &Core, rank: &Rank) -> Option<Notice> {
    let most = rank.fetch_elsewhere.iter().max_by_key(|f| f.n)?;
    Some(Notice {
        certainty: Certainty::Info,
        code: "fetch_on_other_thread",
        count: most.n as u64,
        text: format!(
            "Thread {} of rank {} fetches {} batches beside the loop, {} in all: what it waits for is not the loop's wait.",
            core.trace.lane(most.lane).name,
            rank.rank,
            most.n,
            format_ns(most.time),
        ),
    })
}

/// Operations that end long after everything else: nothing tells whether that is true.
fn late_end(core: &Core, gpus: &[Gpu]) -> Option<Notice> {
    let mut last_call = vec![i64::MIN; core.trace.sources().len()];
    for lane in core.cpu_lanes() {
        let slot = &mut last_call[core.trace.lane(lane).source.index()];
        *slot = core
            .index(lane)
            .last_end()
            .map_or(*slot, |end| end.max(*slot));
    }
    let mut found = 0;
    let mut latest = 0;
    for lane in (0..gpus.len()).flat_map(|g| core.gpu_lanes(g)) {
        let calls_end = last_call[core.trace.lane(lane).source.index()];
        let late = core
            .index(lane)
            .last_end()
            .filter(|&end| calls_end != i64::MIN && end.saturating_sub(calls_end) >= LATE);
        let Some(end) = late else {
            continue;
        };
        let columns = core.columns(lane);
        let mut durs = columns.durs.to_vec();
        durs.sort_unstable();
        let median = percentile_sorted(&durs, 50).unwrap_or(0);
        let is_last = |&i: &usize| columns.range(i).end == end;
        let longest = (0..columns.len())
            .filter(is_last)
            .map(|i| columns.durs[i])
            .max();
        if longest.is_some_and(|d| d >= LONG.saturating_mul(median)) {
            found += 1;
            latest = latest.max(end - calls_end);
        }
    }
    (found > 0).then(|| Notice {
        certainty: Certainty::Guessed,
        code: "late_end",
        count: found,
        text: format!(
            "The last operation of {found} stream{} ends up to {} after the last call of the CPU: it counts as recorded, and \
             may be an error of the recorder.",
            if found == 1 { "" } else { "s" },
            format_ns(latest),
        ),
    })
}
