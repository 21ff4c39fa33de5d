//! Which path of the reference of several recorders is which path of the report: the one table of them.

/// Reference | report, where it differs. `*` is one part of a path, the same on both sides, `**` any rest.
/// A path of the reference that is neither here nor in [`NOT_YET`] fails the test.
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
gpu.*.rank
gpu.*.ops
";

/// Paths of the reference that the report does not have yet. Whoever builds one moves it up.
pub const NOT_YET: &str = "
clocks.**
gpu.*.busy
gpu.*.idle
gpu.*.hull.**
gpu.*.lost_launches.**
gpu.*.not_recorded
gpu.*.overrun
gpu.*.overrun_worst
gpu.*.stream_overlaps
ranks.*.end_wait
ranks.*.explicit_steps
ranks.*.fetch_elsewhere
ranks.*.fetch_elsewhere.**
ranks.*.first_steps.**
ranks.*.lanes.**
ranks.*.leftover_steps
ranks.*.n_ends
ranks.*.n_waits
ranks.*.runs.**
ranks.*.startup.**
ranks.*.steady_wait
ranks.*.wait
ranks.*.wait_bound
ranks.*.wait_by_recorder.**
ranks.*.wait_exposed
ranks.*.wait_exposed_range.**
ranks.*.wait_hidden
ranks.*.wait_hidden_range.**
ranks.*.wait_lost
ranks.*.wait_unrecorded
";

/// Notices that are compared: whether they are there, and how often they hold.
pub const NOTICES: &[&str] = &[
    "gpu_not_recorded",
    "parent_not_opened",
    "ranks_numbered",
    "runs_guessed",
    "same_pid_other_loop",
    "several_runs",
    "worker_parent_unknown",
];

/// Cases whose values of some paths are not built yet, and those paths.
pub const NOT_YET_IN: &[(&str, &str)] = &[
    ("wild_03a", "gpu.*.ops\nruns.*.extent.**"),
    ("wild_03b", "gpu.*.ops\ngpu.*.rank"),
];
