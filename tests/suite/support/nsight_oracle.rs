//! Recomputes the figures of the reference files from the public model, with its own bookkeeping: everything that
//! `nsight_ref.py` reads from a database, read from an imported trace.
//!
//! What the model does not keep (event type and domain of a range, type of a synchronisation) is looked up in the
//! database by the row that a span refers to, so that the reference to the row is tested too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};
use stallscope::import::{ImportReport, Loaded};
use stallscope::model::{Lane, LaneKind, SpanId, Trace};
use stallscope::time::TimeRange;

/// pid, device, context, stream, as in the file.
type StreamKey = (i64, i64, i64, i64);

#[derive(Default, Clone)]
pub struct Work {
    pub compute: Vec<TimeRange>,
    pub comm: Vec<TimeRange>,
    pub copy: Vec<TimeRange>,
    pub kernels: u64,
    pub memcpys: u64,
    pub memsets: u64,
    pub graphs: u64,
}

impl Work {
    pub fn add(&mut self, other: &Work) {
        self.compute.extend(&other.compute);
        self.comm.extend(&other.comm);
        self.copy.extend(&other.copy);
        self.kernels += other.kernels;
        self.memcpys += other.memcpys;
        self.memsets += other.memsets;
        self.graphs += other.graphs;
    }
    pub fn kernel_ranges(&self) -> Vec<TimeRange> {
        [self.compute.as_slice(), &self.comm].concat()
    }
    pub fn all(&self) -> Vec<TimeRange> {
        [self.compute.as_slice(), &self.comm, &self.copy].concat()
    }
}

pub struct Range {
    pub name: String,
    pub pid: i64,
    pub tid: i64,
    pub kind: i64,
    pub domain: Value,
    pub start: i64,
    pub end: Option<i64>,
    pub ops: Vec<TimeRange>,
}

pub struct Oracle<'a> {
    pub trace: &'a Trace,
    pub report: &'a ImportReport,
    pub db: rusqlite::Connection,
    pub offset: i64,
    pub lanes: BTreeMap<StreamKey, Work>,
    pub ranges: Vec<Range>,
    pub negative: BTreeSet<i64>,
}

/// The table and row of a span.
pub fn row_of(trace: &Trace, span: SpanId) -> (usize, i64) {
    let (table, row) = trace
        .spans()
        .args(span)
        .as_row()
        .expect("an Nsight span has a row");
    (usize::from(table), row)
}

fn parse_stream(lane: &Lane) -> StreamKey {
    let key = lane.key.strip_prefix('G').expect("GPU lanes start with G");
    let parts: Vec<i64> = key
        .split('.')
        .filter(|p| *p != "um")
        // The reference takes an unknown process for 0.
        .map(|p| {
            if p == "?" {
                0
            } else {
                p.parse().expect("numbers")
            }
        })
        .collect();
    (parts[0], parts[1], parts[2], parts[3])
}

impl<'a> Oracle<'a> {
    pub fn new(path: &Path, loaded: &'a Loaded) -> Self {
        let trace = &loaded.trace;
        let uri = format!("file:{}?mode=ro&immutable=1", path.display());
        let flags =
            rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_URI;
        let db = rusqlite::Connection::open_with_flags(uri, flags).expect("opens");
        let mut oracle = Self {
            trace,
            report: &loaded.report,
            db,
            offset: trace.sources()[0].to_trace_ns,
            lanes: BTreeMap::new(),
            ranges: Vec::new(),
            negative: BTreeSet::new(),
        };
        oracle.negative = oracle
            .pairs("CUPTI_ACTIVITY_KIND_KERNEL", "start", "end")
            .into_iter()
            .filter(|(_, (s, e))| e.as_i64() < s.as_i64())
            .map(|(row, _)| row)
            .collect();
        oracle.collect_work();
        oracle.collect_ranges();
        oracle
    }

    /// Two columns of a table by row.
    pub fn pairs(&self, table: &str, a: &str, b: &str) -> BTreeMap<i64, (Value, Value)> {
        let sql = format!("SELECT rowid, \"{a}\", \"{b}\" FROM \"{table}\"");
        let Ok(mut statement) = self.db.prepare(&sql) else {
            return BTreeMap::new();
        };
        let value = |row: &rusqlite::Row<'_>, i| row.get::<_, Option<i64>>(i).map(|v| json!(v));
        statement
            .query_map([], |row| {
                Ok((row.get(0)?, (value(row, 1)?, value(row, 2)?)))
            })
            .expect("runs")
            .map(|r| r.expect("integers"))
            .collect()
    }

    pub fn file_range(&self, span: SpanId) -> TimeRange {
        let r = self.trace.spans().range(span);
        TimeRange {
            start: r.start - self.offset,
            end: r.end - self.offset,
        }
    }

    pub fn cat(&self, span: SpanId) -> &str {
        &self.trace.category(self.trace.spans().cat(span)).name
    }

    fn is_negative(&self, span: SpanId) -> bool {
        self.cat(span) == "kernel" && self.negative.contains(&row_of(self.trace, span).1)
    }

    pub fn spans_of(&self, kind: LaneKind) -> impl Iterator<Item = (&'a Lane, SpanId)> + '_ {
        self.trace
            .lane_ids()
            .filter(move |&l| self.trace.lane(l).kind == kind)
            .flat_map(move |l| {
                self.trace
                    .lane_spans(l)
                    .map(move |s| (self.trace.lane(l), s))
            })
    }

    pub fn operations(&self) -> impl Iterator<Item = (&'a Lane, SpanId)> + '_ {
        self.spans_of(LaneKind::Gpu)
            .filter(|&(_, s)| !self.is_negative(s))
    }

    pub fn calls(&self) -> impl Iterator<Item = (&'a Lane, SpanId)> + '_ {
        self.spans_of(LaneKind::Cpu)
            .filter(|&(_, s)| self.cat(s) == "cuda_api")
    }

    fn collect_work(&mut self) {
        let mut lanes: BTreeMap<StreamKey, Work> = BTreeMap::new();
        for (lane, span) in self.operations() {
            let work = lanes.entry(parse_stream(lane)).or_default();
            let range = self.file_range(span);
            let nccl = self.trace.span_name(span).to_lowercase().contains("nccl");
            match self.cat(span) {
                "kernel" if nccl => work.comm.push(range),
                "kernel" | "graph" => work.compute.push(range),
                _ => work.copy.push(range),
            }
            match self.cat(span) {
                "kernel" => work.kernels += 1,
                "memcpy" => work.memcpys += 1,
                "memset" => work.memsets += 1,
                "graph" => work.graphs += 1,
                other => panic!("category {other} on a GPU lane"),
            }
        }
        self.lanes = lanes;
    }

    fn collect_ranges(&mut self) {
        let kinds = self.pairs("NVTX_EVENTS", "eventType", "domainId");
        let mut ranges = Vec::new();
        for id in self.trace.lane_ids() {
            let lane = self.trace.lane(id);
            if lane.kind != LaneKind::Cpu {
                continue;
            }
            let spans: Vec<SpanId> = self.trace.lane_spans(id).collect();
            let calls: Vec<SpanId> = spans
                .iter()
                .copied()
                .filter(|&s| self.cat(s) == "cuda_api")
                .collect();
            for &span in spans.iter().filter(|&&s| self.cat(s).starts_with("nvtx")) {
                let name = self.trace.span_name(span).to_owned();
                if name == "(no text)" {
                    continue;
                }
                let whole = self.file_range(span);
                let end = (!self.trace.is_unfinished(span)).then_some(whole.end);
                let (kind, domain) = kinds[&row_of(self.trace, span).1].clone();
                let kind = kind.as_i64().expect("a type");
                let mut ops = Vec::new();
                if let (Some(end), 59) = (end, kind) {
                    let from = calls.partition_point(|&c| self.file_range(c).start < whole.start);
                    for &call in &calls[from..] {
                        let at = self.file_range(call);
                        if at.start > end {
                            break;
                        }
                        if at.end <= end {
                            let launched = self.trace.launched_by(call).iter();
                            ops.extend(
                                launched
                                    .filter(|l| !self.is_negative(l.to))
                                    .map(|l| self.file_range(l.to)),
                            );
                        }
                    }
                }
                let number = |text: Option<&str>| text.and_then(|t| t.parse().ok()).unwrap_or(0);
                let process = lane.process.map(|p| self.trace.process(p).pid.as_str());
                ranges.push(Range {
                    name,
                    pid: number(process),
                    tid: number(lane.thread.as_deref()),
                    kind,
                    domain,
                    start: whole.start,
                    end,
                    ops,
                });
            }
        }
        self.ranges = ranges;
    }
}
