//! Nsight Systems SQLite exports.
//!
//! Owns the tables of every generation since 2021: columns are read by name, absent and empty tables alike mean "not
//! recorded". Each table is read once, front to back; launches are joined to GPU work in memory. Knows nothing of
//! layers or of what a wait is.

mod merge;
mod read;
mod tally;

use std::path::Path;

use crate::import::bytes::head::Head;
use crate::import::contract::error::LoadError;
use crate::import::contract::file::TraceFile;
use crate::import::contract::importer::{Claim, Context, Importer, RowArgs};
use crate::import::contract::progress::{Phase, Progress};
use crate::import::recognise::sniff::Content;
use crate::model::TracerFacts;
use merge::Export;
use merge::info::Meta;
use read::open::Database;
use read::recognise;
use read::rows::Rows;
use read::scan::Reader;
use read::unread::Unread;

/// Exports of Nsight Systems.
const TRACER: TracerFacts = TracerFacts {
    key: "nsight",
    name: "Nsight Systems",
    slows_training: false,
    sees_workers: true,
    folder_is_run: false,
    encloses_fetches: false,
    joins_runs: false,
};

/// Reads SQLite exports.
pub(crate) struct Nsight;

impl Importer for Nsight {
    fn facts(&self) -> &'static TracerFacts {
        &TRACER
    }

    fn files(&self) -> &'static str {
        "Nsight Systems SQLite (.sqlite)"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".sqlite", ".nsys-rep"]
    }

    fn claims(&self, content: &Content, _: &Head) -> Option<Claim> {
        (*content == Content::Sqlite).then_some(Claim::Sure)
    }

    fn memory(&self, text: u64) -> u64 {
        // Rows take 60 to 120 bytes there.
        text
    }

    fn read(&self, files: &[&TraceFile], ctx: &mut Context<'_>) -> Result<(), LoadError> {
        files.iter().try_for_each(|file| import(&file.path, ctx))
    }

    fn rows(&self, path: &Path) -> Result<Box<dyn RowArgs>, LoadError> {
        Ok(Box::new(Rows::open(path)?))
    }
}

/// Reads an export into the builder of `ctx`.
///
/// # Errors
/// When the file is no readable Nsight export, or the user cancelled.
fn import(path: &Path, ctx: &mut Context<'_>) -> Result<(), LoadError> {
    let db = Database::open(path)?;
    recognise::check(&db)?;
    let unread = Unread::default();
    let reader = Reader {
        db: &db,
        progress: ctx.progress,
        unread: &unread,
    };
    ctx.progress.set_phase(Phase::Reading);
    let stop = Stop::default();
    let progress = ctx.progress;
    std::thread::scope(|scope| {
        let watch = std::thread::Builder::new()
            .name("stallscope-cancel".to_owned())
            .spawn_scoped(scope, || stop.watch(progress, &db));
        let meta = Meta::read(&reader);
        let result = meta.and_then(|meta| {
            let mut export = Export::new(reader, meta, ctx.builder, ctx.report)?;
            export.run()
        });
        stop.now();
        drop(watch);
        result
    })
}

/// Ends the watch for a cancel when the import ends.
#[derive(Default)]
struct Stop {
    done: std::sync::Mutex<bool>,
    changed: std::sync::Condvar,
}

impl Stop {
    fn now(&self) {
        if let Ok(mut done) = self.done.lock() {
            *done = true;
        }
        self.changed.notify_all();
    }

    /// SQLite looks at a cancel only through this, should a single step ever take long.
    fn watch(&self, progress: &Progress, db: &Database) {
        let Ok(mut done) = self.done.lock() else {
            return;
        };
        while !*done {
            let wait = std::time::Duration::from_millis(50);
            match self.changed.wait_timeout(done, wait) {
                Ok((guard, _)) => done = guard,
                Err(_poisoned) => return,
            }
            if progress.is_cancelled() {
                db.interrupt();
            }
        }
    }
}
