//! What an export does not contain, said so that nobody takes "not recorded" for "idle".

use std::collections::BTreeMap;

use super::Export;
use crate::import::contract::error::LoadError;
use crate::import::contract::report::NoticeKind;
use crate::import::nsight::read::open::{Access, message};
use crate::import::nsight::read::rows;
use crate::import::nsight::read::scan::{Failure, LONG_TEXTS, Plan, Spec};
use crate::import::nsight::tally::Reason;
use crate::time::format_count;

/// Tables with events that have no place in the timeline (yet); their rows are counted.
const NOT_DRAWN: [&str; 14] = [
    "SCHED_EVENTS",
    "COMPOSITE_EVENTS",
    "GENERIC_EVENTS",
    "CUDA_GRAPH_EVENTS",
    "CUDA_GRAPH_NODE_EVENTS",
    "CUDA_GPU_MEMORY_USAGE_EVENTS",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
    "CUDA_HOST_CALLBACK",
    "CUPTI_ACTIVITY_KIND_JIT",
    "GPU_CONTEXT_SWITCH_EVENTS",
    "MPI_START_WAIT_EVENTS",
    "OSRT_FILE_ACCESS_EVENTS",
    "NET_NIC_METRIC",
];

/// Newest major version of the schema that is known.
const KNOWN_MAJOR: u32 = 3;

impl Export<'_> {
    /// Adds the notices that concern the file as a whole.
    pub(super) fn notices(&mut self) -> Result<(), LoadError> {
        self.access_notices();
        if let Some(major) = self.meta.major()
            && major > KNOWN_MAJOR
        {
            let text = format!(
                "The schema version is {}; versions up to {KNOWN_MAJOR}.x are known. It was read as if nothing had changed.",
                self.meta.schema.as_deref().unwrap_or("?")
            );
            self.note(NoticeKind::Guessed, "unknown_schema", 1, text);
        }
        self.missing_notices();
        let by_table = std::mem::take(&mut self.unlinked);
        if self.rows(rows::RUNTIME) > 0 {
            for (table, n) in by_table {
                self.tally.many(Reason::NoLaunch, table, n);
            }
        }
        self.not_drawn()
    }

    fn access_notices(&mut self) {
        let (kind, code, text) = match &self.reader.db.access {
            Access::Plain => return,
            Access::LogGone => (
                NoticeKind::Info,
                "wal_without_log",
                "The database is in write-ahead mode and its log (-wal) is not there or holds nothing: if it was not copied along, the last rows are missing.".to_owned(),
            ),
            Access::LogRead(pages) => (
                NoticeKind::Info,
                "wal_read",
                format!(
                    "The database is in write-ahead mode: it was read with the {} of its log (-wal), from a copy in memory, so that nothing is written beside it.",
                    match pages {
                        1 => "one page".to_owned(),
                        n => format!("{} pages", format_count(*n)),
                    }
                ),
            ),
            Access::LogUnread(why) => (
                NoticeKind::Skipped,
                "wal_unread",
                format!(
                    "The log of the database (-wal) was not read ({why}): the last rows may be missing. Run `sqlite3 FILE 'PRAGMA wal_checkpoint'` on a copy of both to include them."
                ),
            ),
            Access::Locked => (
                NoticeKind::Guessed,
                "locked",
                "Another program has locked the database; it was read as it stands and may change.".to_owned(),
            ),
            Access::AsItStands => (
                NoticeKind::Guessed,
                "as_it_stands",
                "SQLite could not open the database the usual way (a journal lies beside it, or its folder is read-only); it was read as it stands.".to_owned(),
            ),
        };
        self.note(kind, code, 1, text);
    }

    fn missing_notices(&mut self) {
        let operations: u64 = [rows::KERNEL, rows::MEMCPY, rows::MEMSET, rows::GRAPH_TRACE]
            .iter()
            .map(|t| self.rows(t))
            .sum();
        let kernels = self.rows(rows::KERNEL) + self.rows(rows::GRAPH_TRACE);
        let calls = self.rows(rows::RUNTIME);
        let missing = NoticeKind::NotRecorded;
        let nothing = rows::TABLES.iter().all(|t| self.rows(t) == 0);
        if nothing && rows::TABLES.iter().any(|t| self.left_out.contains(t)) {
            let text = "Nothing could be read: of the tables of GPU activity, API calls and ranges that the export has, none is readable.";
            self.note(missing, "no_spans", 1, text.to_owned());
            return;
        }
        if nothing {
            let text = "Nothing was recorded: the export has no GPU activity, no API calls and no ranges. Record with `nsys profile --trace=cuda,nvtx`.";
            self.note(missing, "no_spans", 1, text.to_owned());
            return;
        }
        let unread = |tables: &[&str]| tables.iter().any(|t| self.left_out.contains(t));
        let gpu_unread = unread(&[rows::KERNEL, rows::MEMCPY, rows::MEMSET, rows::GRAPH_TRACE]);
        let kernels_unread = unread(&[rows::KERNEL, rows::GRAPH_TRACE]);
        let calls_unread = unread(&[rows::RUNTIME]);
        let ranges_unread = unread(&[rows::NVTX]);
        if operations == 0 && gpu_unread {
            let text = "The GPU activity of this export could not be read: what the GPU did is unknown. Showing CPU only.";
            self.note(missing, "no_gpu", 1, text.to_owned());
        } else if operations == 0 {
            let text = if calls > 0 {
                "No GPU activity was recorded, though CUDA was called: tracing the GPU failed. Record with `--trace=cuda,nvtx`, and check that nsys supports the GPU. Showing CPU only."
            } else {
                "No GPU activity was recorded. This export has no CUDA activity. Record with `--trace=cuda,nvtx`. Showing CPU only."
            };
            self.note(missing, "no_gpu", 1, text.to_owned());
        } else if kernels == 0 && kernels_unread {
            let text = "The kernels of this export could not be read: the GPU looks idle while kernels run.";
            self.note(missing, "no_kernels", 1, text.to_owned());
        } else if kernels == 0 {
            let text = "No kernels were recorded, only copies: the GPU looks idle while kernels run. Record with `--trace=cuda,nvtx`.";
            self.note(missing, "no_kernels", 1, text.to_owned());
        }
        if operations > 0 && calls == 0 && calls_unread {
            let text = "The CUDA API calls of this export could not be read: which call launched which GPU work is unknown, and so are launch delays and GPU tails.";
            self.note(missing, "no_runtime", 1, text.to_owned());
        } else if operations > 0 && calls == 0 {
            let text = "No CUDA API calls were recorded: which call launched which GPU work is unknown, and so are launch delays and GPU tails. Record with `--trace=cuda,nvtx`.";
            self.note(missing, "no_runtime", 1, text.to_owned());
        }
        let ranges = self
            .nvtx
            .get(crate::import::nsight::merge::nvtx::RANGES)
            .copied()
            .unwrap_or(0);
        if operations > 0 && ranges == 0 && ranges_unread {
            let text = "The NVTX ranges of this export could not be read: waits for batches, steps and phases are unknown.";
            self.note(missing, "no_nvtx", 1, text.to_owned());
        } else if operations > 0 && ranges == 0 {
            // Only a training program is expected to have waits for batches to show.
            let kind = if self.loader_threads {
                missing
            } else {
                NoticeKind::Info
            };
            let text = "No NVTX ranges were recorded: waits for batches, steps and phases are unknown. Record with `--trace=cuda,nvtx`, and annotate the loop with NVTX ranges.";
            self.note(kind, "no_nvtx", 1, text.to_owned());
        }
        if self.rows(rows::KERNEL) > 0 && !self.reader.db.has_column(rows::KERNEL, "demangledName")
        {
            let text = "The full names of kernels are not in the file; short names are shown.";
            self.note(missing, "no_demangled_name", 1, text.to_owned());
        }
        if self.strings.is_empty() {
            let text = "The file has no strings (table StringIds): names are shown as ?.";
            self.note(missing, "no_strings", 1, text.to_owned());
        }
    }

    /// Counts the rows of tables that are not drawn.
    fn not_drawn(&mut self) -> Result<(), LoadError> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for table in NOT_DRAWN {
            let plan = Plan::new(self.reader.db, table);
            let spec = Spec {
                table,
                columns: [],
                text: None,
                required: 0,
            };
            let reader = self.reader;
            let result = reader.scan::<0>(&spec, &plan, |block| {
                *counts.entry(table).or_default() += block.rows().len() as u64;
                if let Some(row) = block.damage.first() {
                    let why = format!("near row {}", row.max(&1));
                    reader.unread.not_counted(table, why);
                }
                Ok(())
            });
            match result {
                Ok(()) => {}
                Err(Failure::Stop(error)) => return Err(error),
                Err(Failure::Sql(error)) => {
                    reader.progress.check(&reader.db.path)?;
                    reader.unread.not_counted(table, message(&error));
                }
                Err(Failure::Texts) => {
                    reader.unread.not_counted(table, LONG_TEXTS.to_owned());
                }
            }
        }
        counts.retain(|_, n| *n > 0);
        let list: Vec<String> = counts
            .iter()
            .map(|(table, n)| format!("{table} {}", format_count(*n)))
            .collect();
        let text = format!("Recorded but not drawn: {}.", list.join(", "));
        self.note(NoticeKind::Info, "not_drawn", counts.values().sum(), text);
        Ok(())
    }
}
