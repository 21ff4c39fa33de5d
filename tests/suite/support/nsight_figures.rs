//! The figures of the oracle, one method per section of a reference file.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use stallscope::analysis::Union;
use stallscope::model::{Clock, LaneKind};
use stallscope::time::TimeRange;

use super::nsight_oracle::{Oracle, Range, Work, row_of};

impl Oracle<'_> {
    /// All sections of a reference file.
    pub fn compute(&self) -> Map<String, Value> {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
        put("schema", self.schema());
        put("processes", self.processes());
        put("streams", self.streams());
        put("devices", self.devices());
        put("process_devices", self.process_devices());
        put("memcpy", self.memcpy());
        put("nvtx", self.nvtx());
        put("ranges", self.range_list());
        put("batch_wait", self.batch_wait());
        put("launch", self.launch());
        put("runtime_api", self.runtime_api());
        put("sync", self.sync());
        put("lag", self.lag());
        put("anomalies", self.anomalies());
        put("time", self.time());
        out
    }

    fn schema(&self) -> Value {
        let source = &self.trace.sources()[0];
        let words: Vec<&str> = source
            .producer
            .split([' ', ','])
            .filter(|w| !w.is_empty())
            .collect();
        let after = |word: &str| {
            let at = words.iter().position(|w| *w == word)?;
            words
                .get(at + 1)
                .filter(|w| w.starts_with(|c: char| c.is_ascii_digit()))
        };
        let zero = match source.clock {
            Clock::Unix { zero } => Some(zero),
            Clock::Unknown => None,
        };
        json!({"product_version": after("Systems"), "schema_version": after("schema"), "session_start_utc_ns": zero})
    }

    fn processes(&self) -> Value {
        let mut list = BTreeMap::new();
        for process in self.trace.processes() {
            list.insert(
                process.pid.parse::<i64>().unwrap_or(0),
                (process.name.clone(), BTreeSet::new()),
            );
        }
        for (lane, _) in self.spans_of(LaneKind::Cpu) {
            let pid = &self.trace.process(lane.process.expect("a process")).pid;
            let tid: i64 = lane
                .thread
                .as_ref()
                .expect("a thread")
                .parse()
                .expect("a number");
            list.entry(pid.parse().unwrap_or(0))
                .or_default()
                .1
                .insert(tid);
        }
        list.iter()
            .map(|(pid, (name, threads))| json!({"pid": pid, "name": name, "threads": threads}))
            .collect()
    }

    fn streams(&self) -> Value {
        self.lanes
            .iter()
            .map(|(key, work)| {
                let all = work.all();
                json!({
                    "pid": key.0, "deviceId": key.1, "contextId": key.2, "streamId": key.3,
                    "kernels": work.kernels, "memcpys": work.memcpys, "memsets": work.memsets, "graphs": work.graphs,
                    "sum_ns": all.iter().map(|r| r.len()).sum::<i64>(),
                    "busy_ns": Union::new(all.clone()).measure(),
                    "first_ns": all.iter().map(|r| r.start).min(),
                    "last_ns": all.iter().map(|r| r.end).max(),
                })
            })
            .collect()
    }

    fn per_device(&self) -> BTreeMap<i64, Work> {
        let mut devices: BTreeMap<i64, Work> = BTreeMap::new();
        for (key, work) in &self.lanes {
            devices.entry(key.1).or_default().add(work);
        }
        devices
    }

    fn devices(&self) -> Value {
        self.per_device()
            .into_iter()
            .map(|(id, work)| {
                let any = Union::new(work.all());
                let kernel = Union::new(work.kernel_ranges());
                let (compute, comm) = (Union::new(work.compute.clone()), Union::new(work.comm.clone()));
                let copy = Union::new(work.copy.clone());
                let hull = any.hull().unwrap_or_default();
                let gaps = Union::single(hull).subtract(&any);
                let class = |least: i64| {
                    let of: Vec<i64> = gaps.parts().iter().map(|g| g.len()).filter(|&l| l >= least).collect();
                    json!({"count": of.len(), "total_ns": of.iter().sum::<i64>()})
                };
                let mut largest: Vec<TimeRange> = gaps.parts().to_vec();
                largest.sort_by_key(|g| (-g.len(), g.start));
                largest.truncate(5);
                json!({
                    "deviceId": id,
                    "kernels": work.kernels, "memcpys": work.memcpys, "memsets": work.memsets, "graphs": work.graphs,
                    "first_ns": hull.start, "last_ns": hull.end, "span_ns": hull.len(),
                    "busy_any_ns": any.measure(), "busy_kernel_ns": kernel.measure(),
                    "busy_compute_ns": compute.measure(), "busy_comm_ns": comm.measure(), "busy_copy_ns": copy.measure(),
                    "overlap_copy_kernel_ns": kernel.intersect(&copy).measure(),
                    "overlap_comm_compute_ns": comm.intersect(&compute).measure(),
                    "idle_ns": hull.len() - any.measure(),
                    "gaps": {"all": class(0), "ge_10us": class(10_000), "ge_1ms": class(1_000_000),
                             "largest": largest.iter().map(|g| json!([g.start, g.end])).collect::<Value>()},
                })
            })
            .collect()
    }

    fn process_devices(&self) -> Value {
        let mut list: BTreeMap<(i64, i64), Work> = BTreeMap::new();
        for (key, work) in &self.lanes {
            list.entry((key.0, key.1)).or_default().add(work);
        }
        list.into_iter()
            .map(|((pid, device), work)| {
                let all = work.all();
                json!({"pid": pid, "deviceId": device, "kernels": work.kernels,
                    "first_ns": all.iter().map(|r| r.start).min(), "last_ns": all.iter().map(|r| r.end).max(),
                    "busy_any_ns": Union::new(all).measure()})
            })
            .collect()
    }

    fn memcpy(&self) -> Value {
        let mut kinds: BTreeMap<String, (u64, i128, i64)> = BTreeMap::new();
        for &(span, info) in self.trace.copies() {
            if self.cat(span) == "memcpy" {
                let kind = info.raw_kind.expect("a kind").to_string();
                let slot = kinds.entry(kind).or_default();
                slot.0 += 1;
                slot.1 += i128::from(info.bytes.expect("bytes"));
                slot.2 += self.trace.spans().dur(span);
            }
        }
        let entry = |(kind, (count, bytes, ns))| {
            let bytes = i64::try_from(bytes).expect("fits");
            (kind, json!({"count": count, "bytes": bytes, "ns": ns}))
        };
        kinds.into_iter().map(entry).collect::<Map<_, _>>().into()
    }

    fn nvtx(&self) -> Value {
        #[derive(Default)]
        struct Stat {
            durations: Vec<i64>,
            open: u64,
            with_work: u64,
            ops: usize,
        }
        let mut names: BTreeMap<&str, Stat> = BTreeMap::new();
        for range in &self.ranges {
            let stat = names.entry(&range.name).or_default();
            match range.end {
                Some(end) => stat.durations.push(end - range.start),
                None => stat.open += 1,
            }
            stat.with_work += u64::from(!range.ops.is_empty());
            stat.ops += range.ops.len();
        }
        let entry = |(name, s): (&str, Stat)| {
            let value = json!({
                "count": s.durations.len(), "total_ns": s.durations.iter().sum::<i64>(),
                "min_ns": s.durations.iter().min(), "max_ns": s.durations.iter().max(), "open": s.open,
                "instances_with_gpu_work": s.with_work, "gpu_ops": s.ops,
            });
            (name.to_owned(), value)
        };
        names.into_iter().map(entry).collect::<Map<_, _>>().into()
    }

    fn range_list(&self) -> Value {
        let mut list: Vec<&Range> = self.ranges.iter().collect();
        list.sort_by_key(|r| (r.start, r.pid, r.tid, r.name.clone(), r.end.unwrap_or(-1)));
        list.iter()
            .map(|r| {
                let last = r.ops.iter().map(|o| o.end).max();
                json!({
                    "name": r.name, "pid": r.pid, "tid": r.tid, "type": r.kind, "domain": r.domain,
                    "start": r.start, "end": r.end, "gpu_ops": r.ops.len(),
                    "gpu_first": r.ops.iter().map(|o| o.start).min(), "gpu_last": last,
                    "gpu_sum_ns": r.ops.iter().map(|o| o.len()).sum::<i64>(),
                    "lag": last.zip(r.end).map(|(l, e)| l - e),
                })
            })
            .collect()
    }

    fn lag(&self) -> Value {
        let mut names: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        for range in &self.ranges {
            if let (Some(last), Some(end)) = (range.ops.iter().map(|o| o.end).max(), range.end) {
                names.entry(&range.name).or_default().push(last - end);
            }
        }
        let entry = |(name, lags): (&str, Vec<i64>)| {
            let positive: Vec<i64> = lags.iter().copied().filter(|&l| l > 0).collect();
            let value = json!({"ranges": lags.len(), "positive": positive.len(), "max_ns": lags.iter().max(),
                "min_ns": lags.iter().min(), "sum_positive_ns": positive.iter().sum::<i64>()});
            (name.to_owned(), value)
        };
        names.into_iter().map(entry).collect::<Map<_, _>>().into()
    }

    fn batch_wait(&self) -> Value {
        let mut waits: BTreeMap<i64, Vec<TimeRange>> = BTreeMap::new();
        for range in self.ranges.iter().filter(|r| r.name == "batch_wait") {
            if let Some(end) = range.end {
                waits
                    .entry(range.pid)
                    .or_default()
                    .push(TimeRange::new(range.start, end));
            }
        }
        let devices = self.per_device();
        let every = Union::new(devices.values().flat_map(Work::all).collect());
        waits
            .into_iter()
            .map(|(pid, list)| {
                let mine = || self.lanes.iter().filter(move |(k, _)| k.0 == pid);
                let used: BTreeSet<i64> = mine().map(|(k, _)| k.1).collect();
                let own = |part: fn(&Work) -> Vec<TimeRange>| {
                    Union::new(used.iter().flat_map(|d| part(&devices[d])).collect())
                };
                let process = Union::new(mine().flat_map(|(_, w)| w.all()).collect());
                let union = Union::new(list.clone());
                let outside = |busy: &Union| union.subtract(busy).measure();
                let own_any = own(Work::all);
                let mut worst: Vec<(i64, TimeRange)> =
                    list.iter().map(|&w| (w.len() - own_any.measure_in(w), w)).collect();
                worst.sort_by_key(|&(alone, w)| (-alone, w.start));
                worst.truncate(5);
                json!({
                    "pid": pid, "devices": used, "count": list.len(),
                    "total_ns": list.iter().map(|w| w.len()).sum::<i64>(), "union_ns": union.measure(),
                    "unoverlapped_own_any_ns": outside(&own_any),
                    "unoverlapped_own_kernel_ns": outside(&own(Work::kernel_ranges)),
                    "unoverlapped_own_compute_ns": outside(&own(|w| w.compute.clone())),
                    "unoverlapped_process_any_ns": outside(&process),
                    "unoverlapped_all_devices_any_ns": outside(&every),
                    "worst": worst.iter().map(|(alone, w)| json!({
                        "start": w.start, "end": w.end, "unoverlapped_own_any_ns": alone})).collect::<Value>(),
                })
            })
            .collect()
    }

    fn launch(&self) -> Value {
        let mut delays = Vec::new();
        let mut queue = Vec::new();
        for (_, span) in self.operations().filter(|&(_, s)| self.cat(s) == "kernel") {
            if let Some(call) = self.trace.launch_of(span) {
                let (op, call) = (self.file_range(span), self.file_range(call));
                delays.push(op.start - call.start);
                if op.start > call.end {
                    queue.push(op.start - call.end);
                }
            }
        }
        delays.sort_unstable();
        json!({
            "matched_kernels": delays.len(), "delay_sum_ns": delays.iter().sum::<i64>(),
            "delay_min_ns": delays.first(), "delay_max_ns": delays.last(),
            "delay_median_low_ns": delays.get(delays.len().saturating_sub(1) / 2),
            "queued_kernels": queue.len(), "queue_sum_ns": queue.iter().sum::<i64>(),
        })
    }

    fn runtime_api(&self) -> Value {
        let mut names: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
        for (_, span) in self.calls() {
            let slot = names.entry(self.trace.span_name(span)).or_default();
            slot.0 += 1;
            slot.1 += self.trace.spans().dur(span);
        }
        let entry = |(name, (count, ns)): (&str, (u64, i64))| {
            (name.to_owned(), json!({"count": count, "total_ns": ns}))
        };
        names.into_iter().map(entry).collect::<Map<_, _>>().into()
    }

    /// Rows that name a stream are spans. The others are only counted; their times come from the file.
    fn sync(&self) -> Value {
        let types = self.pairs(
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
            "syncType",
            "streamId",
        );
        let times = self.pairs("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "start", "end");
        let mut kinds: BTreeMap<String, (u64, i64)> = BTreeMap::new();
        for (_, span) in self.spans_of(LaneKind::GpuSync) {
            let slot = kinds
                .entry(types[&row_of(self.trace, span).1].0.to_string())
                .or_default();
            slot.0 += 1;
            slot.1 += self.trace.spans().dur(span);
        }
        let mut without = 0;
        for (row, (kind, stream)) in &types {
            if *stream == json!(0xFFFF_FFFF_u32) {
                let (s, e) = &times[row];
                let slot = kinds.entry(kind.to_string()).or_default();
                slot.0 += 1;
                slot.1 += e.as_i64().expect("a time") - s.as_i64().expect("a time");
                without += 1;
            }
        }
        assert_eq!(
            without,
            self.noted("sync_without_stream"),
            "sync rows without a stream"
        );
        let entry = |(kind, (count, ns))| (kind, json!({"count": count, "total_ns": ns}));
        kinds.into_iter().map(entry).collect::<Map<_, _>>().into()
    }

    /// How often the report counts something.
    fn noted(&self, code: &str) -> u64 {
        self.report
            .notices
            .iter()
            .filter(|n| n.code == code)
            .map(|n| n.count)
            .sum()
    }

    fn of_kind(&self, kind: &str) -> u64 {
        let kinds = &self.report.files[0].by_kind;
        kinds.iter().find(|k| k.0 == kind).map_or(0, |k| k.1)
    }

    fn anomalies(&self) -> Value {
        let unlinked = |kernel: bool| {
            self.operations()
                .filter(|&(_, s)| {
                    (self.cat(s) == "kernel") == kernel && self.trace.launch_of(s).is_none()
                })
                .count()
        };
        let idle_launches = self
            .calls()
            .filter(|&(_, s)| self.trace.span_name(s).contains("LaunchKernel"))
            .filter(|&(_, s)| self.trace.launched_by(s).is_empty())
            .count();
        let empty = self
            .operations()
            .filter(|&(_, s)| self.cat(s) == "kernel" && self.trace.spans().dur(s) == 0)
            .count();
        let marks = self.trace.instants().len();
        assert_eq!(marks as u64, self.of_kind("NVTX marks"));
        json!({
            "backtrace_rows": self.noted("backtrace_rows"),
            "other_class_rows": self.noted("other_class_rows"),
            "category_rows": self.of_kind("NVTX categories"),
            "domain_rows": self.of_kind("NVTX domains"),
            "thread_name_rows": self.of_kind("NVTX thread names"),
            "marks": marks,
            "cross_thread_ranges": self.noted("cross_thread_range"),
            "duplicate_correlation_in_process": self.noted("repeated_call"),
            "failed_api_calls": self.noted("failed_calls"),
            "invalid_stream_sync_rows": self.noted("sync_without_stream"),
            "kernels_without_runtime": unlinked(true),
            "copies_without_runtime": unlinked(false),
            "launches_without_gpu_row": idle_launches,
            "nameless_ranges": self.noted("nameless_range"),
            "negative_kernels": self.noted("negative_dur"),
            "zero_length_kernels": empty,
            "open_ranges": self.noted("open_range"),
            "unknown_copy_kinds": self.noted("unknown_copy_kind"),
            "unknown_name_ids": self.noted("unknown_name"),
        })
    }

    fn time(&self) -> Value {
        let spans = || {
            self.trace
                .spans()
                .ids()
                .filter(|&s| self.cat(s) != "overhead" && !self.trace.is_unfinished(s))
        };
        let open = self
            .trace
            .spans()
            .ids()
            .filter(|&s| self.trace.is_unfinished(s));
        let first = spans().chain(open).map(|s| self.file_range(s).start).min();
        let last = spans().map(|s| self.file_range(s).end).max();
        json!({"first_ns": first, "last_ns": last})
    }
}
