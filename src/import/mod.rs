//! From files to a [`Trace`](crate::model::Trace): recognises formats by content and fills one [`TraceBuilder`](crate::model::TraceBuilder) from all inputs.
//!
//! Knows nothing of layers, analysis or pixels. Files are opened read-only and read in blocks; nothing is written
//! beside them. Partial input opens as far as it goes, and everything that was repaired, skipped or guessed is in the
//! [`ImportReport`].

use std::path::PathBuf;

mod bytes;
mod chrome;
mod contract;
mod dftracer;
mod importers;
mod nsight;
mod opening;
mod recognise;
mod spans;
mod text;
mod trimmed;

pub use bytes::digest::sha256_of;
pub use bytes::small::{SMALL, open_regular, read_small};
pub use contract::error::{ErrorKind, LoadError};
pub use contract::options::{MOST_THREADS, OpenOptions};
pub use contract::progress::{Phase, Progress};
pub use contract::report::{Fact, FileReport, ImportReport, Loss, Lost, Notice, NoticeKind, Place};
pub use importers::TRACERS;
pub use opening::again::cut_text;
pub use opening::args::{ArgsReader, FoundArgs, SharedArgs};
pub use opening::files::{FileFound, Files, free_memory};
pub use opening::open::Loaded;

/// Opens files and folders as one trace.
///
/// Files whose clocks do not relate to that of the first one are left out, with a notice.
///
/// # Errors
/// When nothing could be read from them, it would not fit into memory, or the user cancelled.
pub fn open(
    paths: &[PathBuf],
    options: &OpenOptions,
    progress: &Progress,
) -> Result<Loaded, LoadError> {
    on_own_threads(options, || opening::open::open(paths, options, progress))
}

/// Runs an opening on threads of its own. Not on the shared pool: streams keep the threads until they end, and whatever
/// else is worked out meanwhile, such as figures of a trace on the screen, would wait for one.
fn on_own_threads<T: Send>(options: &OpenOptions, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads.min(MOST_THREADS))
        .thread_name(|i| format!("stallscope-import-{i}"));
    let alone = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
        pool.use_current_thread().build()
    };
    match pool.build().or_else(|_no_threads| alone()) {
        Ok(pool) => pool.install(work),
        // Inside a pool, which then has threads.
        Err(_) => work(),
    }
}
