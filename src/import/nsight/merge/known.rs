//! What an export says elsewhere of rows that do not say their process or GPU, where a column is missing.
//!
//! Looked for only where it is needed, before the tables are read for good: an answer counts where all that the export
//! holds agrees on it.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::Export;
use super::info;
use super::lanes::{ThreadUse, process_of};
use crate::import::contract::error::LoadError;
use crate::import::nsight::read::rows::{GRAPH_TRACE, KERNEL, MEMCPY, MEMSET, SYNC, TABLES};
use crate::import::nsight::read::scan::{Failure, Spec};
use crate::import::nsight::tally::Reason;
use crate::model::LaneId;

/// Tables of operations, which name their GPU reliably.
const OPERATIONS: [&str; 4] = [KERNEL, MEMCPY, MEMSET, GRAPH_TRACE];

/// Answers.
#[derive(Default)]
pub(crate) struct Known {
    /// The only process of the export.
    process: Option<i64>,
    /// (process, context) → its device; none where rows disagree.
    contexts: FxHashMap<(Option<i64>, i64), Option<i64>>,
    /// Process → the only device number that its rows name; none where they name several.
    devices: FxHashMap<Option<i64>, Option<i64>>,
    /// The number of the only GPU of the machine, or the only one that rows name of which nobody knows the process.
    device: Option<i64>,
}

/// Columns that say whose the rows of a table are.
fn owner(table: &str) -> &'static [&'static str] {
    if OPERATIONS.contains(&table) || table == SYNC {
        &["globalPid", "deviceId"]
    } else {
        &["globalTid"]
    }
}

/// What the tables name.
#[derive(Default)]
struct Named {
    processes: BTreeSet<i64>,
    devices: FxHashMap<Option<i64>, Option<i64>>,
    contexts: FxHashMap<(Option<i64>, i64), Option<i64>>,
    /// A table was not read whole: there may be more.
    more: bool,
}

impl Export<'_> {
    /// Looks around where a table with rows lacks a column that says whose they are.
    pub(crate) fn look_around(&mut self) -> Result<(), LoadError> {
        let db = self.reader.db;
        let lacks = |table: &&str| {
            let mut owner = owner(table).iter();
            self.rows_at_most(table) > 0 && owner.any(|c| !db.has_column(table, c))
        };
        if !TABLES.iter().any(lacks) {
            return Ok(());
        }
        let mut named = Named::default();
        for table in TABLES {
            self.collect(table, &mut named)?;
        }
        let names = info::process_names(&self.reader)?;
        let listed = info::only_gpu(&self.reader)?;
        self.known.contexts = named.contexts;
        if named.more {
            return Ok(());
        }
        let only = |set: &BTreeSet<i64>| set.first().copied().filter(|_| set.len() == 1);
        // A worker is forked from its trainer and has its name: where there is another process of that name, rows may
        // be of that one.
        self.known.process = only(&named.processes).filter(|process| {
            let own = names.iter().find(|n| n.0 == *process).map(|n| &n.1);
            own.is_none_or(|own| names.iter().filter(|n| n.1 == *own).count() == 1)
        });
        self.known.device = named.devices.get(&None).copied().flatten().or(listed);
        self.known.devices = named.devices;
        Ok(())
    }

    /// Processes and devices that a table names.
    fn collect(&self, table: &'static str, named: &mut Named) -> Result<(), LoadError> {
        let (db, reader) = (self.reader.db, self.reader);
        let Some(plan) = self.plans.get(table).filter(|_| db.has(table)) else {
            return Ok(());
        };
        named.more |= db.rowid_name(table).is_none();
        let spec = Spec {
            table,
            columns: ["globalPid", "globalTid", "contextId", "deviceId"],
            text: None,
            required: 0,
        };
        let operations = OPERATIONS.contains(&table);
        let result = reader.scan(&spec, plan, |block| {
            named.more |= !block.damage.is_empty();
            for row in block.rows() {
                let process = row.get(0).or(row.get(1).map(process_of));
                named.processes.extend(process);
                let Some(device) = row.get(3).filter(|_| operations) else {
                    continue;
                };
                let agree = |known: &mut Option<i64>| *known = known.filter(|&d| d == device);
                agree(named.devices.entry(process).or_insert(Some(device)));
                if let Some(context) = row.get(2) {
                    let known = named.contexts.entry((process, context));
                    agree(known.or_insert(Some(device)));
                }
            }
            Ok(())
        });
        match result {
            Ok(()) => Ok(()),
            Err(Failure::Stop(error)) => Err(error),
            // It is told when the table is read for good.
            Err(Failure::Sql(_) | Failure::Texts) => {
                named.more = true;
                reader.progress.check(&db.path)
            }
        }
    }

    /// The process of a row of GPU work: what it says, else the only one that makes CUDA calls, else the only one.
    pub(crate) fn process_of_row(
        &mut self,
        table: &'static str,
        rowid: i64,
        stated: Option<i64>,
    ) -> Option<i64> {
        if stated.is_some() {
            return stated;
        }
        let only = self.calls.only_process().or(self.known.process);
        let reason = match only {
            Some(_) => Reason::NoProcess,
            None => Reason::UnknownProcess,
        };
        self.tally.row(reason, table, rowid);
        only
    }

    /// The device of a row of GPU work: what it says, else that of its context, else the only one of its process.
    pub(crate) fn device_of_row(
        &mut self,
        table: &'static str,
        rowid: i64,
        stated: Option<i64>,
        (process, context): (Option<i64>, Option<i64>),
    ) -> Option<i64> {
        if stated.is_some() {
            return stated;
        }
        let of_context = context.and_then(|c| *self.known.contexts.get(&(process, c))?);
        let device = of_context
            .or_else(|| self.only_listed(process))
            .or_else(|| match self.known.devices.get(&process) {
                Some(&only) => only,
                None => self.known.device,
            });
        let reason = match device {
            Some(_) => Reason::NoDevice,
            None => Reason::UnknownDevice,
        };
        self.tally.row(reason, table, rowid);
        device
    }

    /// The only device that a process has, by the table of those.
    fn only_listed(&self, process: Option<i64>) -> Option<i64> {
        let whole = !self.reader.unread.has(info::CUDA_DEVICES.table);
        process
            .filter(|_| whole)
            .and_then(|p| self.lanes.only_device(p))
    }

    /// The lane of a row of CPU work, for which one that names no thread may get one of its own.
    pub(crate) fn lane_of_row(
        &mut self,
        table: &'static str,
        rowid: i64,
        thread: Option<i64>,
        of: ThreadUse,
    ) -> LaneId {
        if let Some(thread) = thread {
            return self.lanes.thread(thread, of, self.builder);
        }
        self.no_thread(table, rowid);
        let process = self.known.process;
        self.lanes.unknown_thread(process, of, self.builder)
    }

    /// Counts a row that names no thread.
    pub(crate) fn no_thread(&mut self, table: &'static str, rowid: i64) {
        let reason = match self.known.process {
            Some(_) => Reason::NoThread,
            None => Reason::UnknownThread,
        };
        self.tally.row(reason, table, rowid);
    }

    /// The process of a thread; where rows name none, the only process.
    pub(crate) fn process_of_thread(&self, thread: Option<i64>) -> Option<i64> {
        thread.map(process_of).or(self.known.process)
    }
}
