//! Which path of the reference of several recorders is which path of the report: the one table of them.

/// Reference | report, where it differs. `*` is one part of a path, the same on both sides, `**` any rest.
/// A path of the reference that is not here fails the test.
pub const PATHS: &str = "
sources.#
sources.*.path
sources.*.kind
sources.*.host
sources.*.run
runs.#
runs.*.sources.**
runs.*.extent.**
runs.*.ranks.**
processes.#
processes.*.host
processes.*.pid
processes.*.role
processes.*.rank
processes.*.parent
processes.*.sources.**
processes.*.evidence.**
ranks.*.run
ranks.*.pid
ranks.*.device
ranks.*.gpu_how
ranks.*.workers | ranks.*.loop.workers
ranks.*.lanes.** | ranks.*.loop.lanes.**
ranks.*.n_waits | ranks.*.loop.n_waits
ranks.*.n_ends | ranks.*.loop.n_ends
ranks.*.wait | ranks.*.loop.wait
ranks.*.end_wait | ranks.*.loop.end_wait
ranks.*.steady_wait | ranks.*.loop.steady_wait
ranks.*.wait_by_recorder.** | ranks.*.loop.wait_by_recorder.**
ranks.*.wait_exposed | ranks.*.loop.wait_exposed
ranks.*.wait_hidden | ranks.*.loop.wait_hidden
ranks.*.wait_unrecorded | ranks.*.loop.wait_unrecorded
ranks.*.wait_lost | ranks.*.loop.wait_lost
ranks.*.wait_bound | ranks.*.loop.wait_bound
ranks.*.wait_exposed_range.** | ranks.*.loop.wait_exposed_range.**
ranks.*.wait_hidden_range.** | ranks.*.loop.wait_hidden_range.**
ranks.*.startup.** | ranks.*.loop.startup.**
ranks.*.explicit_steps | ranks.*.loop.explicit_steps
ranks.*.leftover_steps | ranks.*.loop.leftover_steps
ranks.*.first_steps.** | ranks.*.loop.first_steps.**
ranks.*.fetch_elsewhere | ranks.*.loop.fetch_elsewhere
ranks.*.fetch_elsewhere.** | ranks.*.loop.fetch_elsewhere.**
ranks.*.runs.** | ranks.*.loop.runs.**
gpu.*.rank
gpu.*.ops
gpu.*.busy
gpu.*.idle
gpu.*.hull.**
gpu.*.not_recorded
gpu.*.lost_launches.**
gpu.*.overrun
gpu.*.overrun_worst
gpu.*.stream_overlaps
clocks.**
";

/// Notices that are compared: whether they are there, and how often they hold.
pub const NOTICES: &[&str] = &[
    "parent_not_opened",
    "ranks_numbered",
    "runs_guessed",
    "same_pid_other_loop",
    "several_runs",
    "worker_parent_unknown",
];

/// Notices that are compared by whether they are there: the report counts spans, the reference processes.
pub const PRESENT: &[&str] = &[
    "clock_contradiction",
    "clock_moved",
    "fetch_on_other_thread",
    "gpu_not_recorded",
    "hosts_differ",
    "late_end",
    "launches_lost",
    "stream_overrun",
];

/// Cases whose values of some paths are not built yet, and those paths.
pub const NOT_YET_IN: &[(&str, &str)] = &[];
