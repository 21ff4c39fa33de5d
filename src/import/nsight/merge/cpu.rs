//! What the CPU threads did: CUDA API calls, operating-system calls, libraries, the profiler's own overhead.

use super::Export;
use super::lanes::ThreadUse;
use crate::import::contract::error::LoadError;
use crate::import::nsight::read::rows::{OSRT, OVERHEAD, PROFILER_OVERHEAD, RUNTIME};
use crate::import::nsight::read::scan::Spec;
use crate::import::nsight::tally::Reason;

/// Event class of runtime calls, of driver calls, and of backtraces of either.
const RUNTIME_CALL: i64 = 0;
const DRIVER_CALL: i64 = 1;
const BACKTRACE: i64 = 67;

/// Tables of plain calls: (table, category, column of the name).
const CALLS: [(&str, &str, &str); 6] = [
    (OSRT, "osrt", "nameId"),
    ("CUDNN_EVENTS", "cudnn", "nameId"),
    ("CUBLAS_EVENTS", "cublas", "nameId"),
    ("MPI_P2P_EVENTS", "mpi", "textId"),
    ("MPI_COLLECTIVES_EVENTS", "mpi", "textId"),
    ("MPI_OTHER_EVENTS", "mpi", "textId"),
];

impl Export<'_> {
    /// Runtime and driver API calls. GPU work is joined to them, so they come first.
    pub(crate) fn api_calls(&mut self) -> Result<(), LoadError> {
        let spec = Spec {
            table: RUNTIME,
            columns: [
                "start",
                "end",
                "globalTid",
                "correlationId",
                "nameId",
                "eventClass",
                "returnValue",
            ],
            text: None,
            required: 2,
        };
        let cat = self.builder.category("cuda_api", true);
        self.scan(&spec, |this, block| {
            for row in block.rows() {
                match row.get(5) {
                    None | Some(RUNTIME_CALL | DRIVER_CALL) => {}
                    Some(BACKTRACE) => {
                        this.tally.row(Reason::Backtrace, RUNTIME, row.rowid);
                        continue;
                    }
                    Some(_) => {
                        this.tally.row(Reason::OtherClass, RUNTIME, row.rowid);
                        continue;
                    }
                }
                let Some(times) = this.times(RUNTIME, row.rowid, row.get(0), row.get(1)) else {
                    continue;
                };
                let name = row
                    .get(4)
                    .and_then(|id| this.strings.call(id, this.builder));
                let name = name.unwrap_or_else(|| this.no_name(RUNTIME, row.rowid));
                let thread = row.get(2);
                let lane = this.lane_of_row(RUNTIME, row.rowid, thread, ThreadUse::Work);
                let span = this.span(RUNTIME, row.rowid, lane, name, cat, times);
                match (this.process_of_thread(thread), row.get(3)) {
                    (Some(process), Some(id)) => this.calls.push(process, id, span),
                    (_, None) => this.tally.row(Reason::NoCorrelation, RUNTIME, row.rowid),
                    // Told with the row's thread.
                    (None, Some(_)) => {}
                }
                if row.get(6).unwrap_or(0) != 0 {
                    this.tally.row(Reason::FailedCall, RUNTIME, row.rowid);
                }
            }
        })?;
        self.calls.finish(self.builder.so_far().spans());
        let repeated = self.calls.repeated();
        self.tally.many(Reason::RepeatedCall, RUNTIME, repeated);
        Ok(())
    }

    /// Calls of the operating system and of libraries.
    pub(crate) fn other_calls(&mut self) -> Result<(), LoadError> {
        for (table, cat, name) in CALLS {
            if self.rows_at_most(table) == 0 {
                continue;
            }
            let spec = Spec {
                table,
                columns: ["start", "end", "globalTid", name],
                text: None,
                required: 2,
            };
            let cat = self.builder.category(cat, true);
            self.scan(&spec, |this, block| {
                for row in block.rows() {
                    let Some(times) = this.times(table, row.rowid, row.get(0), row.get(1)) else {
                        continue;
                    };
                    let name = row
                        .get(3)
                        .and_then(|id| this.strings.name(id, this.builder));
                    let name = name.unwrap_or_else(|| this.no_name(table, row.rowid));
                    let lane = this.lane_of_row(table, row.rowid, row.get(2), ThreadUse::Work);
                    this.span(table, row.rowid, lane, name, cat, times);
                }
            })?;
        }
        Ok(())
    }

    /// The profiler's own work, which may explain a gap.
    pub(crate) fn overhead(&mut self) -> Result<(), LoadError> {
        let cat = self.builder.category("overhead", true);
        for table in [OVERHEAD, PROFILER_OVERHEAD] {
            let spec = Spec {
                table,
                columns: ["start", "end", "globalTid", "nameId"],
                text: None,
                required: 2,
            };
            self.scan(&spec, |this, block| {
                for row in block.rows() {
                    let Some(times) = this.times(table, row.rowid, row.get(0), row.get(1)) else {
                        continue;
                    };
                    let name = match row.get(3) {
                        // The name is optional here.
                        None => this.builder.intern("overhead"),
                        Some(id) => this
                            .strings
                            .name(id, this.builder)
                            .unwrap_or_else(|| this.no_name(table, row.rowid)),
                    };
                    let lane = this.lane_of_row(table, row.rowid, row.get(2), ThreadUse::Overhead);
                    this.span(table, row.rowid, lane, name, cat, times);
                }
            })?;
        }
        Ok(())
    }
}
