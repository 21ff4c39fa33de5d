//! Values that differ from the reference, with why.

const PER_RANK: &str = "The reference tells no GPU where there are several loops; here each rank has its own, and what it worked through costs nothing";

/// Case, path below `ranks.R.loop` and all below it, reason.
pub const EXCUSED: &[(&str, &str, &str)] = &[
    (
        "nsight.s2021_ddp_edge_notextid",
        "waits.*.cause.exposed",
        PER_RANK,
    ),
    (
        "nsight.s2021_ddp_edge_notextid",
        "waits.*.cause.hidden",
        PER_RANK,
    ),
    ("nsight.s2021_ddp_edge_notextid", "cause.by_group", PER_RANK),
    (
        "nsight.s2021_ddp_edge_notextid",
        "cause.by_group_judged",
        PER_RANK,
    ),
    (
        "nsight.s2021_ddp_edge_notextid",
        "cause.by_group_later",
        PER_RANK,
    ),
    ("nsight.s2021_ddp_edge_notextid", "cause.by_kind", PER_RANK),
    (
        "nsight.s2021_ddp_edge_notextid",
        "cause.by_worker",
        PER_RANK,
    ),
    ("nsight.s2021_ddp_edge_notextid", "cause.judged", PER_RANK),
    ("nsight.s2021_ddp_edge_notextid", "cause.later", PER_RANK),
    ("nsight.s2025_ddp_hidden", "waits.*.cause.exposed", PER_RANK),
    ("nsight.s2025_ddp_hidden", "waits.*.cause.hidden", PER_RANK),
    ("nsight.s2025_ddp_hidden", "cause.by_group", PER_RANK),
    ("nsight.s2025_ddp_hidden", "cause.by_group_judged", PER_RANK),
    ("nsight.s2025_ddp_hidden", "cause.by_group_later", PER_RANK),
    ("nsight.s2025_ddp_hidden", "cause.by_kind", PER_RANK),
    ("nsight.s2025_ddp_hidden", "cause.by_worker", PER_RANK),
    ("nsight.s2025_ddp_hidden", "cause.judged", PER_RANK),
    ("nsight.s2025_ddp_hidden", "cause.later", PER_RANK),
    (
        "case.ids_nvtx",
        "cause.iterators.*.batch_items",
        "Numbers on the spans tell where a batch ends: nobody has to count items",
    ),
];
