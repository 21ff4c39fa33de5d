//! Nsight exports made for one rule each: every generation in miniature, joins, lanes, odd values.

use crate::support::nsight_help as help;
use crate::support::nsight_oracle as oracle;
use crate::support::nsight_tiny as tiny;

use std::path::PathBuf;

use serde_json::Value;
use stallscope::import::{ArgsReader, Loaded};
use stallscope::model::{Clock, CopyKind, LaneKind, SpanId, SyncScope};

use help::{find, lane, load, noted, scratch, warnings};
use oracle::Oracle;
use tiny::{GENERATIONS, MAIN, PROCESS, Tiny};

const MS: i64 = 1_000_000;

/// The tiny export of schema 3.24.0, changed by `change`.
fn changed(name: &str, change: impl FnOnce(&mut Tiny)) -> (PathBuf, Loaded) {
    let path = scratch(name).join("report.sqlite");
    change(&mut Tiny::write(&path, "3.24.0"));
    let loaded = load(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
    (path, loaded)
}

#[test]
fn every_generation_gives_the_figures_that_were_worked_out_by_hand() {
    let folder = scratch("generations");
    for generation in GENERATIONS {
        let path = folder.join(format!("{generation}.sqlite"));
        Tiny::write(&path, generation);
        let loaded = load(&path).expect("opens");
        assert_eq!(warnings(&loaded), Vec::<&str>::new(), "{generation}");
        let figures = Oracle::new(&path, &loaded).compute();
        let device = &figures["devices"][0];
        let wait = &figures["batch_wait"][0];
        let launch = &figures["launch"];
        let got: Vec<&Value> = vec![
            &wait["total_ns"],
            &wait["unoverlapped_own_any_ns"],
            &wait["unoverlapped_own_kernel_ns"],
            &wait["unoverlapped_own_compute_ns"],
            &device["busy_any_ns"],
            &device["busy_kernel_ns"],
            &device["busy_compute_ns"],
            &device["busy_comm_ns"],
            &device["busy_copy_ns"],
            &device["span_ns"],
            &device["idle_ns"],
            &device["overlap_comm_compute_ns"],
            &figures["sync"]["3"]["total_ns"],
            &launch["delay_max_ns"],
            &launch["queue_sum_ns"],
            &figures["lag"]["backward"]["max_ns"],
            &figures["lag"]["forward"]["max_ns"],
            &figures["lag"]["h2d"]["max_ns"],
        ];
        let by_hand = [
            38_000, 21_000, 21_000, 26_000, 40_000, 38_000, 33_000, 10_000, 2_000, 53_000, 13_000,
            5_000, 13_000, 8_500, 13_500, 18_000, 11_000, 2_000,
        ];
        let by_hand: Vec<Value> = by_hand.iter().map(|us| Value::from(us * 1_000)).collect();
        assert_eq!(got, by_hand.iter().collect::<Vec<_>>(), "{generation}");
        let trace = &loaded.trace;
        assert_eq!(
            trace.devices()[0].name.as_deref(),
            Some("Test GPU"),
            "{generation}"
        );
        assert_eq!(
            trace.processes().len(),
            1,
            "{generation}: only active processes"
        );
        assert_eq!(trace.processes()[0].name.as_deref(), Some("python"));
        assert_eq!(lane(trace, "C10.10").name, "python");
        assert_eq!(lane(trace, "G10.0.1.20").kind, LaneKind::Gpu);
        assert_eq!(lane(trace, "G10.0.1.7.sync").kind, LaneKind::GpuSync);
        let clock = match generation {
            "none" => Clock::Unknown,
            _ => Clock::Unix {
                zero: 1_750_000_000_123_456_789,
            },
        };
        assert_eq!(trace.sources()[0].clock, clock);
    }
}

#[test]
fn ids_of_another_process_are_not_joined() {
    let (_, loaded) = changed("two_processes", |t| {
        let other = PROCESS + (1 << 24);
        let name = t.string("cudaLaunchKernel_v7000");
        // The same correlation ids in another process, whose kernel has no call of its own under id 4.
        t.sql(&format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000,2000,0,{},1,{name},0,NULL)",
            other | 11
        ));
        t.kernel("foreign", 7, 70., 71., 4);
        t.sql(&format!(
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid={other} WHERE start=70000000"
        ));
    });
    let trace = &loaded.trace;
    assert_eq!(trace.launch_of(find(trace, "foreign")), None);
    assert_eq!(noted(&loaded, "no_launch"), 1);
    for link in trace.launches() {
        let process = |s: SpanId| trace.lane(trace.spans().lane(s)).process;
        assert_eq!(process(link.from), process(link.to));
    }
    assert_eq!(trace.launches().len(), 6);
}

#[test]
fn of_two_calls_with_one_id_the_outer_one_launched_and_backtraces_are_no_calls() {
    let (_, loaded) = changed("repeated_id", |t| {
        t.call("cuLaunchKernel", 10.2, 10.8, 1);
        t.call("cudaLaunchKernel_v7000", 10., 11., 1);
        t.sql("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET eventClass=67 WHERE rowid=(SELECT max(rowid) FROM CUPTI_ACTIVITY_KIND_RUNTIME)");
    });
    let trace = &loaded.trace;
    let call = trace.launch_of(find(trace, "K1")).expect("a call");
    assert_eq!(trace.span_name(call), "cudaLaunchKernel");
    assert_eq!(noted(&loaded, "repeated_call"), 1);
    assert_eq!(noted(&loaded, "backtrace_rows"), 1);
    assert_eq!(warnings(&loaded), Vec::<&str>::new());
}

#[test]
fn ranks_that_call_their_gpu_0_have_a_gpu_each() {
    let other = PROCESS + (1 << 24);
    let (_, loaded) = changed("physical", |t| {
        t.kernel("second", 7, 12., 20., 900);
        t.sql(&format!(
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid={other} WHERE correlationId=900;
             CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
             INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 10), (5, 0, 11);
             INSERT INTO TARGET_INFO_GPU VALUES (3, 'Third', 1), (5, 'Fifth', 0);"
        ));
    });
    let gpus: Vec<_> = loaded
        .trace
        .devices()
        .iter()
        .map(|d| (d.index, d.name.as_deref()))
        .collect();
    assert_eq!(gpus, [(3, Some("Third")), (5, Some("Fifth"))]);
    assert_eq!(lane(&loaded.trace, "G10.0.1.7").spans.len(), 4);
    assert_eq!(lane(&loaded.trace, "G11.0.1.7").spans.len(), 1);
}

#[test]
fn blocking_calls_say_what_they_waited_for() {
    let (_, loaded) = changed("scopes", |t| {
        let sync = |t: &mut Tiny,
                    name: &str,
                    at: f64,
                    id: i64,
                    stream: i64,
                    kind: i64,
                    event: i64,
                    record: i64| {
            t.call(name, at, at + 0.5, id);
            let s = (at * 1e6).round();
            t.sql(&format!(
                "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES ({s},{s}+400000,0,1,0,{stream},{id},$P,NULL,{kind},{event},{record})"
            ));
        };
        t.sql("CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
               streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL)");
        for (at, id, stream) in [(66., 100, 20), (70., 101, 7)] {
            t.call("cudaEventRecord_v3020", at, at + 0.1, id);
            t.sql(&format!(
                "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0,1,{stream},{id},$P,5)"
            ));
        }
        let none = 0xFFFF_FFFF_i64;
        // The numbers of the type say something else than the names: names count.
        sync(t, "cudaEventSynchronize_v3020", 68., 110, none, 2, 5, none);
        sync(t, "cuEventSynchronize", 72., 111, none, 1, 5, none);
        sync(
            t,
            "cudaDeviceSynchronize_v3020",
            74.,
            112,
            none,
            1,
            none,
            none,
        );
        sync(t, "cudaStreamWaitEvent_v3020", 76., 113, 20, 2, 5, none);
    });
    let trace = &loaded.trace;
    let scope = |name: &str| trace.sync_scope(find(trace, name));
    let stream = |n: i64| {
        let at = trace
            .streams()
            .iter()
            .position(|s| s.number == n)
            .expect("a stream");
        stallscope::model::StreamId(u32::try_from(at).expect("few"))
    };
    let zero = trace.sources()[0].to_trace_ns;
    let event = |n, ms: i64| {
        Some(SyncScope::Event {
            stream: stream(n),
            record_at: ms * MS + zero,
        })
    };
    let stream_syncs: Vec<_> = trace
        .spans()
        .ids()
        .filter(|&s| trace.span_name(s) == "cudaStreamSynchronize")
        .filter_map(|s| trace.sync_scope(s))
        .collect();
    assert_eq!(stream_syncs, [SyncScope::Stream(stream(7))]);
    assert_eq!(scope("cudaEventSynchronize"), event(20, 66));
    assert_eq!(scope("cuEventSynchronize"), event(7, 70));
    assert_eq!(
        scope("cudaDeviceSynchronize"),
        Some(SyncScope::Device(trace.streams()[0].device))
    );
    let waits: Vec<_> = lane(trace, "G10.0.1.20.sync")
        .spans
        .clone()
        .map(SpanId)
        .collect();
    assert_eq!(trace.span_name(waits[0]), "cudaStreamWaitEvent");
    assert_eq!(noted(&loaded, "sync_without_stream"), 3);
    assert!(!trace.lanes().iter().any(|l| l.key.contains("4294967295")));
}

#[test]
fn synchronisations_are_shown_on_the_device_of_their_context() {
    let (_, loaded) = changed("sync-device", |t| {
        t.sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 1, contextId = 2");
        t.sql("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET deviceId = 1, contextId = 2");
        // One stream with operations, one without, and a context that nothing else names.
        t.sql("UPDATE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION SET contextId = 2");
        for (context, stream) in [(2, 99), (3, 7)] {
            t.sql(&format!(
                "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start,end,deviceId,contextId,greenContextId,streamId,
                 correlationId,globalPid,syncType,eventId) VALUES (70000000,71000000,0,{context},0,{stream},0,$P,3,0)"
            ));
        }
    });
    let keys: Vec<&str> = loaded
        .trace
        .lanes()
        .iter()
        .filter(|l| l.kind == LaneKind::GpuSync)
        .map(|l| l.key.as_str())
        .collect();
    assert_eq!(
        keys,
        ["G10.1.2.7.sync", "G10.1.2.99.sync", "G10.0.3.7.sync"]
    );
    assert_eq!(noted(&loaded, "sync_device"), 2);
    let devices: Vec<i64> = loaded.trace.devices().iter().map(|d| d.index).collect();
    assert_eq!(devices, [1, 0]);
}

#[test]
fn unified_memory_copies_are_on_a_lane_of_their_own() {
    let (_, loaded) = changed("managed", |t| {
        t.call("cudaFree_v3020", 1., 2., 0);
        t.sql("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start,end,deviceId,contextId,streamId,correlationId,globalPid,bytes,copyKind)
               VALUES (5000000,6000000,0,1,7,0,$P,4096,11), (6000000,7000000,0,1,7,0,$P,4096,99)");
    });
    let trace = &loaded.trace;
    let lane = lane(trace, "G10.0.1.7.um");
    assert_eq!(
        (lane.spans.len(), lane.name.as_str()),
        (1, "unified memory")
    );
    let span = SpanId(lane.spans.start);
    assert_eq!(trace.launch_of(span), None);
    let copy = trace.copy(span).expect("a copy");
    assert_eq!(
        (copy.kind, copy.raw_kind),
        (Some(CopyKind::Managed), Some(11))
    );
    assert_eq!(noted(&loaded, "unknown_copy_kind"), 1);
    // Only the one of kind 99 misses a call.
    assert_eq!(noted(&loaded, "no_launch"), 1);
}

#[test]
fn nvtx_rows_become_ranges_marks_and_names() {
    let (path, loaded) = changed("nvtx", |t| {
        let other = MAIN + 1;
        t.sql(&format!(
            "INSERT INTO NVTX_EVENTS (start,end,eventType,text,globalTid,endGlobalTid,domainId,category) VALUES
               (5000000,9000000,60,'request',$T,{other},3,8), (6000000,9500000,60,'task',$T,NULL,0,NULL),
               (7000000,NULL,59,'epoch',$T,NULL,0,NULL), (3000000,NULL,34,'start of epoch',$T,NULL,0,NULL),
               (-1878291120,NULL,75,'NCCL',$T,NULL,3,NULL), (-1878291000,NULL,33,'transport',$T,NULL,3,8),
               (4000000,NULL,39,'Rank 0',$T,NULL,0,NULL), (1000000,2000000,59,NULL,$T,NULL,0,NULL),
               (1000000,2000000,99,'?',$T,NULL,0,NULL);
             INSERT INTO NVTX_EVENTS (start,end,eventType,textId,globalTid,domainId) VALUES
               (2000000,2500000,59,987654,$T,0);"
        ));
    });
    let trace = &loaded.trace;
    assert_eq!(lane(trace, "C10.10").name, "Rank 0");
    let cat = |name| {
        trace
            .category(trace.spans().cat(find(trace, name)))
            .name
            .as_str()
    };
    assert_eq!(
        (cat("request"), cat("task"), cat("h2d")),
        ("nvtx.cross", "nvtx", "nvtx")
    );
    let epoch = find(trace, "epoch");
    assert!(trace.is_unfinished(epoch));
    let extent = trace.extent();
    assert_eq!(
        trace.spans().end(epoch),
        extent.end,
        "drawn to the end of the trace"
    );
    let mark = trace.instants()[0];
    assert_eq!(
        (trace.name(mark.name), mark.time),
        ("start of epoch", 3 * MS + trace.sources()[0].to_trace_ns)
    );
    for (code, n) in [
        ("cross_thread_range", 1),
        ("open_range", 1),
        ("nameless_range", 1),
        ("unknown_name", 1),
        ("other_nvtx", 1),
    ] {
        assert_eq!(noted(&loaded, code), n, "{code}");
    }
    let mut args = ArgsReader::new();
    let request = args
        .read(trace, find(trace, "request"))
        .expect("readable")
        .expect("args");
    assert_eq!(
        (&request["domain"], &request["categoryName"]),
        (&"NCCL".into(), &"transport".into())
    );
    assert!(path.exists());
}

#[test]
fn args_are_the_columns_of_the_row_with_names_resolved() {
    let (_, loaded) = changed("args", |_| {});
    let trace = &loaded.trace;
    let mut args = ArgsReader::new();
    let kernel = args
        .read(trace, find(trace, "K2"))
        .expect("readable")
        .expect("args");
    assert_eq!(kernel["demangledName"], "K2");
    assert_eq!(
        (&kernel["start"], &kernel["streamId"]),
        (&29_000_000.into(), &7.into())
    );
    assert!(
        !kernel.contains_key("mangledName"),
        "columns without a value are left out"
    );
    let call = trace.launch_of(find(trace, "K2")).expect("a call");
    let call = args.read(trace, call).expect("readable").expect("args");
    assert_eq!(call["nameId"], "cudaLaunchKernel_v7000");
}

#[test]
fn odd_values_are_counted_and_never_stop_the_rest() {
    let (_, loaded) = changed("odd", |t| {
        for i in 0..8 {
            t.kernel(
                &format!("odd {i}"),
                7,
                80. + f64::from(i),
                81. + f64::from(i),
                0,
            );
        }
        let set = |n: i64, what: &str| {
            t.sql(&format!(
                "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET {what} WHERE rowid=5+{n}"
            ));
        };
        set(1, "start='abc'");
        set(2, "start=2.5e8+0.25");
        set(3, "end=x'00ff'");
        set(4, "start=-9223372036854775808, end=9223372036854775807");
        set(5, "end=start-5");
        set(6, "demangledName=123456789, shortName=987654321");
        set(7, "streamId='seven'");
        t.sql("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes='12 MB'");
        t.sql("INSERT INTO StringIds VALUES (5000, CAST(x'6b65726e656cff' AS TEXT))");
        t.sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName=5000 WHERE rowid=13");
    });
    for (code, n) in [
        ("bad_time", 3),
        ("far_time", 1),
        ("negative_dur", 1),
        ("unknown_name", 1),
        ("bad_value", 2),
        ("bad_text", 1),
    ] {
        assert_eq!(noted(&loaded, code), n, "{code}");
    }
    let trace = &loaded.trace;
    assert_eq!(
        lane(trace, "G10.0.1.?").spans.len(),
        1,
        "a stream that is no number"
    );
    assert_eq!(trace.copies()[0].1.bytes, None);
    find(trace, "?");
    find(trace, "kernel\u{fffd}");
    assert_eq!(trace.anomalies()["negative_dur"], 1);
}

#[test]
fn short_names_stand_in_for_missing_full_ones() {
    let (_, loaded) = changed("short_names", |t| {
        let short = t.string("short one");
        t.sql(&format!(
            "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName=777, shortName={short} WHERE correlationId=1"
        ));
    });
    find(&loaded.trace, "short one");
    assert_eq!(noted(&loaded, "unknown_name"), 0);
}

#[test]
fn graphs_without_times_are_not_drawn_but_counted() {
    let (_, loaded) = changed("graphs", |t| {
        t.call("cudaGraphLaunch_v10000", 66., 67., 50);
        t.sql("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL,
                 deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,
                 streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, graphId INTEGER NOT NULL,
                 graphExecId INTEGER NOT NULL);
               INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (68000000,69000000,0,1,0,7,50,$P,4,9),
                 (0,0,0,1,0,7,50,$P,4,9)");
    });
    let trace = &loaded.trace;
    let graph = find(trace, "CUDA graph 4");
    assert_eq!(trace.category(trace.spans().cat(graph)).name, "graph");
    let call = trace.launch_of(graph).expect("a call");
    assert_eq!(trace.span_name(call), "cudaGraphLaunch");
    assert_eq!(noted(&loaded, "no_time"), 1);
}

#[test]
fn processes_are_assumed_only_where_there_is_one() {
    let (_, loaded) = changed("no_process", |t| {
        t.sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid=NULL");
    });
    assert_eq!(loaded.trace.launches().len(), 6);
    assert_eq!(warnings(&loaded), ["no_process"]);
    let (_, loaded) = changed("no_process_of_two", |t| {
        t.sql("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid=NULL");
        let name = t.string("cudaMalloc_v3020");
        let other = PROCESS + (1 << 24);
        t.sql(&format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,2,0,{other},1,{name},0,NULL)"
        ));
    });
    assert_eq!(
        loaded.trace.launches().len(),
        1,
        "the copy says its process"
    );
    assert_eq!(lane(&loaded.trace, "G?.0.1.7").spans.len(), 4);
    assert_eq!(warnings(&loaded), ["unknown_process"]);
    assert_eq!(noted(&loaded, "unknown_process"), 5);
    // Nobody is made up for them.
    let trace = &loaded.trace;
    assert!(trace.processes().iter().all(|p| p.pid != "?"));
    assert_eq!(lane(trace, "G?.0.1.7").process, None);
}

#[test]
fn unix_times_are_taken_as_such() {
    let (_, loaded) = changed("unix", |t| {
        for table in [
            "CUPTI_ACTIVITY_KIND_KERNEL",
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
            "NVTX_EVENTS",
        ] {
            t.sql(&format!(
                "UPDATE {table} SET start=start+1750000000123456789, end=end+1750000000123456789"
            ));
        }
    });
    assert_eq!(loaded.trace.sources()[0].clock, Clock::Unix { zero: 0 });
    assert_eq!(loaded.trace.unix_origin(), Some(1_750_000_000_123_456_789));
    let (_, loaded) = changed("shifted", |t| {
        t.sql("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_SHIFT', '1000')");
    });
    let zero = 1_750_000_000_123_455_789;
    assert_eq!(loaded.trace.sources()[0].clock, Clock::Unix { zero });
}

#[test]
fn gpu_counters_become_tracks() {
    let (_, loaded) = changed("metrics", |t| {
        t.sql("CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);
               CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, metricId INTEGER, metricName TEXT);
               INSERT INTO TARGET_INFO_GPU_METRICS VALUES (256, 1, 'SMs Active');
               INSERT INTO GPU_METRICS VALUES (1000, 256, 1, 40), (2000, 256, 1, 90), (1500, 256, 2, 7),
                 (NULL, 256, 1, 3), (3000, 256, 1, 'x'), (3000, 256, 1, NULL);");
    });
    let counters = loaded.trace.counters();
    assert_eq!(
        (counters.len(), counters[0].series.as_str()),
        (2, "SMs Active")
    );
    assert_eq!(counters[0].values, [40.0, 90.0]);
    assert_eq!(counters[1].series, "metric 2");
    assert_eq!(noted(&loaded, "bad_value"), 2);
}

#[test]
fn what_the_recorder_lost_is_said() {
    let (_, loaded) = changed("diagnostics", |t| {
        t.sql("CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, timestampType INTEGER, source INTEGER,
                 severity INTEGER, text TEXT NOT NULL, globalPid INTEGER);
               INSERT INTO DIAGNOSTIC_EVENT VALUES (1,1,2,1,'CPU IP/backtrace sampling not supported',NULL),
                 (1,1,2,3,'1,204 CUDA events were lost.',NULL)");
    });
    assert_eq!(warnings(&loaded), ["lost_events"]);
    assert!(loaded.report.has("diagnostics"));
}
