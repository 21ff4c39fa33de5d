//! Telling Nsight exports from other programs' SQLite databases, each refused by its name with what to do.

use super::open::Database;
use crate::import::contract::error::{ErrorKind, LoadError};

/// Tables that only Nsight exports have.
fn is_nsight_table(table: &str) -> bool {
    let table = table.to_ascii_uppercase();
    table.starts_with("CUPTI_ACTIVITY_KIND_")
        || table.starts_with("TARGET_INFO_")
        || matches!(
            table.as_str(),
            "NVTX_EVENTS"
                | "OSRT_API"
                | "PROCESSSTREAMS"
                | "THREADNAMES"
                | "META_DATA_EXPORT"
                | "EXPORT_META_DATA"
        )
}

/// Fails unless the database is an export of Nsight Systems.
pub(crate) fn check(db: &Database) -> Result<(), LoadError> {
    let refuse = |cause: &str, remedy: &str| {
        Err(LoadError::new(
            ErrorKind::Unsupported,
            &db.path,
            cause,
            remedy,
        ))
    };
    let again =
        "Record with `nsys profile --trace=cuda,nvtx` and export with `nsys export --type sqlite`.";
    let starts = |prefix: &str| db.tables().any(|t| t.starts_with(prefix));
    if is_nvprof(db) {
        return refuse(
            "This is a database of nvprof or the NVIDIA Visual Profiler, which Nsight Systems replaced.",
            again,
        );
    }
    let nsight = db.tables().filter(|t| is_nsight_table(t)).count();
    if nsight > 0 && (db.has(super::strings::TABLE) || nsight > 1) {
        return Ok(());
    }
    if starts("dlprof_") {
        return refuse("This is a database of DLProf.", again);
    }
    if starts("rocpd_") {
        return refuse(
            "This is a database of rocprof (AMD).",
            "Record with torch.profiler, whose traces work with AMD GPUs too.",
        );
    }
    if ["STRING_IDS", "CANN_API", "PYTORCH_API", "COMPUTE_TASK_INFO"]
        .iter()
        .any(|t| db.has(t))
    {
        return refuse(
            "This is a database of the Ascend profiler (torch_npu, msprof).",
            "Export its trace_view.json and open that.",
        );
    }
    if db.has("AccessPoints") && db.has("LineOffsets") {
        return refuse(
            "This is the index that DFTracer's tools keep beside a compressed trace (.zindex).",
            "Open the .pfw.gz file beside it.",
        );
    }
    let names: Vec<&str> = db
        .tables()
        .filter(|t| !t.starts_with("sqlite_"))
        .take(4)
        .collect();
    if names.is_empty() {
        return refuse("This SQLite database has no tables.", again);
    }
    let cause = format!(
        "This is an SQLite database, but not an export of Nsight Systems: its tables are {}{}.",
        names.join(", "),
        if db.tables().count() > 4 { ", …" } else { "" }
    );
    refuse(&cause, again)
}

/// nvprof's tables share a prefix with Nsight's, but not their columns.
fn is_nvprof(db: &Database) -> bool {
    if db.has("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") {
        return true;
    }
    let mut cupti = db
        .tables()
        .filter(|t| t.to_ascii_uppercase().starts_with("CUPTI_ACTIVITY_KIND_"))
        .peekable();
    !db.has(super::strings::TABLE)
        && cupti.peek().is_some()
        && cupti.all(|t| db.has_column(t, "_id_"))
}
