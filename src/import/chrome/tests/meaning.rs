//! What the events mean: lanes, pairs, links, clocks, facts.

use super::*;
use crate::model::{CopyKind, LaneKind, SyncScope};
use crate::time::TimeRange;

/// An X event: category, name, pid, tid, ts, dur, args.
fn x(cat: &str, name: &str, pid: &str, tid: &str, ts: i64, dur: i64, args: &str) -> String {
    format!(
        r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
    )
}

fn open_events(events: &[String]) -> (Trace, ImportReport) {
    open_list(&events.join(","))
}

/// (name, start, end) of the spans of a lane, in order, ns / 1000.
fn on_lane(t: &Trace, key: &str) -> Vec<(String, i64, i64)> {
    let lane = lane(t, key);
    let offset = t.source(lane.source).to_trace_ns;
    lane.spans
        .clone()
        .map(SpanId)
        .map(|id| {
            let s = t.spans();
            let us = |ns: i64| (ns - offset) / 1000;
            (t.span_name(id).to_owned(), us(s.start(id)), us(s.end(id)))
        })
        .collect()
}

fn begin_end(rows: &[(&str, &str, i64)]) -> String {
    let events: Vec<String> = rows
        .iter()
        .map(|(ph, name, ts)| {
            format!(r#"{{"ph":"{ph}","name":"{name}","pid":1,"tid":1,"ts":{ts}}}"#)
        })
        .collect();
    events.join(",")
}

#[test]
fn begins_and_ends_are_paired_in_time_with_the_file_order_between_equals() {
    let (t, report) = open_list(&begin_end(&[
        ("B", "A", 1),
        ("B", "B", 1),
        ("E", "B", 7),
        ("E", "A", 7),
        ("B", "X", 7),
        ("E", "X", 10),
        ("E", "late", 21),
        ("B", "late", 20),
    ]));
    assert_eq!(
        on_lane(&t, "C1.1"),
        [("A", 1, 7), ("B", 1, 7), ("X", 7, 10), ("late", 20, 21)].map(|(n, s, e)| (
            n.to_owned(),
            s,
            e
        ))
    );
    assert_eq!(warnings(&report), Vec::<&str>::new());
    assert_eq!(t.extent(), TimeRange::new(0, 20_000));
}

#[test]
fn ends_that_fit_no_begin_are_counted() {
    let (t, report) = open_list(&begin_end(&[
        ("B", "A", 1),
        ("B", "B", 2),
        ("E", "A", 10),
        ("E", "C", 12),
        ("E", "D", 13),
        ("B", "open", 14),
        ("B", "unnamed", 15),
        ("E", "", 16),
    ]));
    // A closes although B is innermost; C closes B, which has another name; D closes nothing.
    let ends: Vec<(String, i64, i64)> = on_lane(&t, "C1.1");
    assert_eq!(ends[0], ("A".to_owned(), 1, 10));
    assert_eq!(ends[1], ("B".to_owned(), 2, 12));
    assert_eq!(ends[2], ("open".to_owned(), 14, 16));
    assert_eq!(ends[3], ("unnamed".to_owned(), 15, 16));
    assert!(t.is_unfinished(span(&t, "open")));
    assert_eq!(count(&report, "name_mismatch"), 2);
    assert_eq!(count(&report, "e_without_b"), 1);
    assert_eq!(count(&report, "b_without_e"), 1);
    let same_category = r#"{"ph":"B","cat":"c","name":"long name","pid":1,"tid":1,"ts":1},{"ph":"E","cat":"c","name":"long","pid":1,"tid":1,"ts":2}"#;
    let (_, report) = open_list(same_category);
    assert_eq!(count(&report, "e_of_other_name"), 1);
    assert_eq!(warnings(&report), Vec::<&str>::new());
}

#[test]
fn async_spans_lie_on_lanes_by_category_and_id() {
    let (t, report) = open_list(
        r#"{"ph":"b","cat":"net","id":"0x10","name":"get","pid":1,"tid":1,"ts":10},
           {"ph":"b","cat":"net","id":16,"name":"dns","pid":1,"tid":9,"ts":11},
           {"ph":"n","cat":"net","id":16,"name":"hit","pid":1,"tid":9,"ts":12},
           {"ph":"e","cat":"net","id":16,"name":"dns","pid":1,"tid":1,"ts":13},
           {"ph":"e","cat":"net","id":16,"name":"get","pid":1,"tid":1,"ts":20},
           {"ph":"S","cat":"old","id":"q","name":"step","pid":1,"tid":1,"ts":30},
           {"ph":"T","cat":"old","id":"q","name":"step","pid":1,"tid":1,"ts":31},
           {"ph":"F","cat":"old","id":"q","name":"step","pid":1,"tid":1,"ts":35},
           {"ph":"b","cat":"net","id2":{"local":5},"name":"mine","pid":1,"ts":40},
           {"ph":"e","cat":"net","id2":{"local":5},"name":"mine","pid":1,"ts":41},
           {"ph":"b","cat":"net","id2":{"local":5},"name":"theirs","pid":2,"ts":40},
           {"ph":"e","cat":"net","id2":{"local":5},"name":"theirs","pid":2,"ts":42},
           {"ph":"b","cat":"net","name":"no id","pid":2,"ts":40}"#,
    );
    let keys: Vec<&str> = t.lanes().iter().map(|l| l.key.as_str()).collect();
    assert_eq!(keys, ["Anet.16", "Aold.q", "Anet.5@1", "Anet.5@2"]);
    assert!(t.lanes().iter().all(|l| l.kind == LaneKind::Async));
    assert_eq!(on_lane(&t, "Anet.16")[1], ("dns".to_owned(), 11, 13));
    assert_eq!(t.instants().len(), 2);
    assert_eq!(t.instants()[0].lane, Some(crate::model::LaneId(0)));
    assert_eq!(count(&report, "async_without_id"), 1);
    assert_eq!(warnings(&report), ["async_without_id"]);
}

#[test]
fn counters_may_have_several_series_and_texts_as_values() {
    let (t, report) = open_list(
        r#"{"ph":"C","name":"mem","pid":"1000","ts":20,"args":{"used":"1.5","free":2}},
           {"ph":"C","name":"mem","pid":1000,"ts":10,"args":{"used":7,"free":"1.5e"}},
           {"ph":"C","name":"mem","id":"b","pid":1000,"ts":10,"args":{"used":nan}},
           {"ph":"C","name":"none","pid":1000,"ts":10,"args":{}}"#,
    );
    let found: Vec<_> = t
        .counters()
        .iter()
        .map(|c| (c.name.as_str(), c.series.as_str(), c.values.clone()))
        .collect();
    assert_eq!(
        found,
        [("mem", "used", vec![7.0, 1.5]), ("mem", "free", vec![2.0])]
    );
    assert_eq!(count(&report, "bad_counter_value"), 2);
    assert_eq!(count(&report, "counter_without_value"), 1);
}

#[test]
fn threads_are_equal_by_value_and_metadata_makes_no_lane() {
    let (t, _) = open_list(
        r#"{"ph":"M","name":"process_name","pid":0,"args":{"name":"python"}},
           {"ph":"M","name":"process_labels","pid":0,"args":{"labels":"GPU 0"}},
           {"ph":"M","name":"thread_name","pid":5,"tid":"5","args":{"name":"main "}},
           {"ph":"M","name":"process_sort_index","pid":5,"args":{"sort_index":"7"}},
           {"ph":"M","name":"process_name","pid":5,"args":{"name":"python"}},
           {"ph":"X","name":"a","pid":"5","tid":5.0,"ts":1,"dur":1},
           {"ph":"X","name":"b","pid":5,"tid":"0x5","ts":1,"dur":1},
           {"ph":"X","name":"c","pid":5,"ts":1,"dur":1},
           {"ph":"X","name":"d","ts":1,"dur":1},
           {"ph":"X","name":"e","pid":18446744073709551615,"tid":-1,"ts":1,"dur":1},
           {"ph":"i","s":"g","name":"all","ts":3},
           {"ph":"i","s":"t","name":"one","pid":5,"tid":77,"ts":2}"#,
    );
    let keys: Vec<&str> = t.lanes().iter().map(|l| l.key.as_str()).collect();
    assert_eq!(
        keys,
        ["C5.5", "C5", "C", "C18446744073709551615.-1", "C5.77"]
    );
    assert_eq!(on_lane(&t, "C5.5").len(), 2);
    assert_eq!(lane(&t, "C5.5").name, "main");
    let process = t.process(lane(&t, "C5").process.expect("known"));
    assert_eq!(
        (process.name.as_deref(), process.sort_index),
        (Some("python"), 7)
    );
    assert_eq!(t.processes().len(), 2);
    assert_eq!(t.instants()[0].lane, Some(crate::model::LaneId(4)));
    assert_eq!(t.instants()[1].lane, None);
}

#[test]
fn gpu_rows_lie_on_streams_in_order_of_appearance() {
    let (t, report) = open_events(&[
        x(
            "gpu_user_annotation",
            "step",
            "1",
            "20",
            10,
            50,
            "\"External id\":1",
        ),
        x(
            "Kernel",
            "k1",
            "0",
            "\"stream 7\"",
            10,
            5,
            "\"correlation\":4",
        ),
        x(
            "kernel",
            "k2",
            "0",
            "0",
            12,
            5,
            "\"device\":1,\"stream\":20,\"correlation\":0",
        ),
        x(
            "cuda_sync",
            "Stream Wait Event",
            "0",
            "7",
            20,
            1,
            "\"stream\":7",
        ),
        x(
            "gpu_memset",
            "Memset (Device)",
            "0",
            "7",
            30,
            1,
            "\"bytes\":64",
        ),
        x("overhead", "Buffer Flush", "-1", "0", 40, 1, ""),
        x("cpu_op", "op", "1", "1", 5, 1, ""),
    ]);
    let streams: Vec<(i64, i64)> = t
        .streams()
        .iter()
        .map(|s| (t.device(s.device).index, s.number))
        .collect();
    assert_eq!(streams, [(-1, 7), (1, 20)]);
    let lanes: Vec<(&str, LaneKind)> = t.lanes().iter().map(|l| (l.key.as_str(), l.kind)).collect();
    assert_eq!(
        lanes,
        [
            ("G?.20/annotation", LaneKind::GpuAnnotation),
            ("G?.7", LaneKind::Gpu),
            ("G1.20", LaneKind::Gpu),
            ("G?.7/sync", LaneKind::GpuSync),
            ("C-1.0", LaneKind::Overhead),
            ("C1.1", LaneKind::Cpu),
        ]
    );
    assert_eq!(t.streams()[1].ops, Some(crate::model::LaneId(2)));
    // The copy of the annotation does not say its GPU: the one whose number is its pid.
    assert_eq!(t.lanes()[0].stream, t.lanes()[2].stream);
    // The process 1 is not the GPU 1.
    assert_eq!(t.processes().len(), 1);
    assert_eq!(t.copies().len(), 1);
    assert_eq!(t.copies()[0].1.bytes, Some(64));
    assert_eq!(count(&report, "gpu_without_launch"), 3);
    assert!(!report.has("no_gpu"));
}

#[test]
fn mtia_work_is_drawn_and_does_not_count() {
    let (t, report) = open_events(&[
        x(
            "mtia_ccp_events",
            "wait",
            "17",
            "3774",
            10,
            5,
            "\"stream\":108",
        ),
        x(
            "mtia_runtime",
            "record",
            "5",
            "5",
            9,
            1,
            "\"correlation\":3,\"device\":17",
        ),
        x("cpu_op", "op", "5", "5", 8, 1, ""),
    ]);
    assert!(!t.devices()[0].counts);
    assert_eq!(lane(&t, "G17.108").kind, LaneKind::Gpu);
    assert!(report.has("mtia") && report.has("no_gpu"));
}

#[test]
fn launches_are_joined_by_correlation_and_the_earliest_call_wins() {
    let (t, report) = open_events(&[
        x(
            "cuda_driver",
            "cuLaunchKernel",
            "1",
            "1",
            12,
            1,
            "\"correlation\":4",
        ),
        x(
            "cuda_runtime",
            "cudaLaunchKernel",
            "1",
            "1",
            10,
            5,
            "\"correlation\":4",
        ),
        x(
            "cuda_runtime",
            "cudaGraphLaunch",
            "1",
            "1",
            20,
            5,
            "\"correlation\":5",
        ),
        x(
            "kernel",
            "k4",
            "0",
            "7",
            30,
            5,
            "\"correlation\":4,\"stream\":7,\"device\":0",
        ),
        x("kernel", "k5", "0", "7", 40, 5, "\"correlation\":5"),
        x("kernel", "k5", "0", "8", 41, 5, "\"correlation\":5"),
        x("kernel", "k9", "0", "8", 61, 5, "\"correlation\":9"),
        x(
            "gpu_user_annotation",
            "note",
            "0",
            "8",
            61,
            5,
            "\"correlation\":5",
        ),
    ]);
    assert_eq!(t.launches().len(), 3);
    let call = t.launch_of(span(&t, "k4")).expect("joined");
    assert_eq!(t.span_name(call), "cudaLaunchKernel");
    assert_eq!(t.launched_by(span(&t, "cudaGraphLaunch")).len(), 2);
    assert_eq!(t.launch_of(span(&t, "k9")), None);
    assert_eq!(count(&report, "gpu_without_launch"), 1);
}

#[test]
fn flows_link_operations_that_have_no_correlation() {
    let (t, report) = open_events(&[
        x("cuda_runtime", "launch", "1", "1", 10, 5, ""),
        x("kernel", "k", "0", "\"stream 7\"", 30, 5, ""),
        x("kernel", "other", "0", "7", 50, 5, ""),
        r#"{"ph":"s","cat":"ac2g","name":"ac2g","id":3,"pid":1,"tid":1,"ts":10}"#.to_owned(),
        r#"{"ph":"f","cat":"ac2g","name":"ac2g","id":3,"pid":0,"tid":"stream 7","ts":30,"bp":"e"}"#
            .to_owned(),
        r#"{"ph":"f","cat":"ac2g","name":"ac2g","id":4,"pid":0,"tid":7,"ts":50}"#.to_owned(),
    ]);
    let call = t.launch_of(span(&t, "k")).expect("joined");
    assert_eq!(t.span_name(call), "launch");
    assert_eq!(count(&report, "gpu_without_launch"), 1);
}

#[test]
fn forward_ops_are_linked_to_backward_ops() {
    let flow = |ph: &str, id: i64, tid: i64, ts: i64| {
        format!(
            r#"{{"ph":"{ph}","cat":"fwdbwd","name":"fwdbwd","id":{id},"pid":1,"tid":{tid},"ts":{ts}}}"#
        )
    };
    let (t, _) = open_events(&[
        flow("f", 1, 2, 60),
        x("cpu_op", "linear", "1", "1", 10, 20, ""),
        x("python_function", "frame", "1", "1", 11, 5, ""),
        x("cpu_op", "addmm", "1", "1", 12, 5, ""),
        x("cpu_op", "backward", "1", "2", 60, 20, ""),
        flow("s", 1, 1, 12),
        flow("s", 2, 1, 13),
        flow("f", 3, 2, 60),
    ]);
    assert_eq!(t.fwdbwd().len(), 1);
    assert_eq!(t.span_name(t.fwdbwd()[0].from), "addmm");
    assert_eq!(t.span_name(t.fwdbwd()[0].to), "backward");
}

#[test]
fn sync_rows_tell_what_a_call_waited_for() {
    let call = |name: &str, ts: i64, c: i64| {
        x(
            "cuda_runtime",
            name,
            "1",
            "1",
            ts,
            5,
            &format!("\"correlation\":{c}"),
        )
    };
    let sync = |name: &str, c: i64, more: &str| {
        let args = format!("\"device\":0,\"correlation\":{c}{more}");
        x("cuda_sync", name, "0", "7", 50, 1, &args)
    };
    let (t, _) = open_events(&[
        call("cudaStreamSynchronize", 1, 1),
        call("cudaDeviceSynchronize", 10, 2),
        call("cudaEventRecord", 20, 30),
        call("cudaEventSynchronize", 30, 3),
        call("cudaEventQuery", 40, 4),
        call("cudaStreamWaitEvent", 45, 5),
        x("kernel", "k", "0", "9", 60, 1, "\"device\":0"),
        sync("Stream Sync", 1, ",\"stream\":9"),
        sync("Context Sync", 2, ",\"stream\":-1"),
        sync(
            "Event Sync",
            3,
            ",\"stream\":-1,\"wait_on_stream\":9,\"wait_on_cuda_event_record_corr_id\":30",
        ),
        sync(
            "Event Sync",
            4,
            ",\"stream\":-1,\"wait_on_stream\":9,\"wait_on_cuda_event_record_corr_id\":31",
        ),
        sync("Stream Wait Event", 5, ",\"stream\":9"),
    ]);
    let scope = |name: &str| t.sync_scope(span(&t, name));
    let stream = crate::model::StreamId(0);
    assert_eq!(
        scope("cudaStreamSynchronize"),
        Some(SyncScope::Stream(stream))
    );
    assert_eq!(
        scope("cudaDeviceSynchronize"),
        Some(SyncScope::Device(crate::model::DeviceId(0)))
    );
    let record_at = t.spans().start(span(&t, "cudaEventRecord"));
    assert_eq!(
        scope("cudaEventSynchronize"),
        Some(SyncScope::Event { stream, record_at })
    );
    assert_eq!(scope("cudaEventQuery"), None);
    assert_eq!(scope("cudaStreamWaitEvent"), None);
}

#[test]
fn copies_have_bytes_and_direction() {
    let (t, _) = open_events(&[
        x("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", "0", "7", 1, 1, "\"bytes\":5"),
        x("Memcpy", "CopyHostToDevice", "0", "7", 2, 1, "\"kind\":\"DtoH\",\"bytes\":-1"),
        x("gpu_memcpy", "copy", "0", "7", 3, 1, "\"kind\":\"PtoP\""),
        r#"{"ph":"X","args":{"kind":"DtoD","bytes":9},"name":"copy","pid":0,"tid":7,"ts":4,"dur":1,"cat":"gpu_memcpy"}"#.to_owned(),
    ]);
    let found: Vec<_> = t.copies().iter().map(|(_, c)| (c.kind, c.bytes)).collect();
    assert_eq!(
        found,
        [
            (Some(CopyKind::HostToDevice), Some(5)),
            (Some(CopyKind::HostToDevice), None),
            (Some(CopyKind::PeerToPeer), None),
            (Some(CopyKind::DeviceToDevice), Some(9)),
        ]
    );
}

#[test]
fn the_recorder_gives_the_window_and_does_not_count() {
    let (t, _) = open_events(&[
        x(
            "Trace",
            "PyTorch Profiler (0)",
            "\"Spans\"",
            "\"PyTorch Profiler\"",
            5,
            100,
            "",
        ),
        x("cpu_op", "op", "1", "1", 10, 20, ""),
        r#"{"ph":"X","name":"bare","pid":1,"tid":1,"ts":40,"dur":50}"#.to_owned(),
    ]);
    // Spans without a category count: other programs write none.
    assert_eq!(t.counted_spans(), 2);
    assert_eq!(t.extent(), TimeRange::new(0, 80_000));
    assert_eq!(t.sources()[0].capture, Some(TimeRange::new(-5_000, 95_000)));
    assert_eq!(lane(&t, "CSpans.PyTorch Profiler").kind, LaneKind::Recorder);
    assert_eq!(on_lane(&t, "C1.1").len(), 2);
}

#[test]
fn spans_at_zero_are_left_out_where_the_file_lies_elsewhere() {
    let far = x("cpu_op", "far", "1", "1", 700_000_000_000, 20, "");
    let zero = x("cpu_op", "zero", "1", "2", 0, 0, "");
    let (t, report) = open_events(&[zero.clone(), far, zero.clone()]);
    assert_eq!(names(&t), ["far"]);
    assert_eq!((t.lanes().len(), count(&report, "zero_time")), (1, 2));
    let (t, report) = open_events(&[zero.clone(), x("cpu_op", "near", "1", "1", 7_000, 20, "")]);
    assert_eq!((t.spans().len(), warnings(&report).len()), (2, 0));
    let (t, _) = open_events(&[zero]);
    assert_eq!(t.spans().len(), 1);
}

#[test]
fn clocks_come_from_the_base_time_or_from_the_size_of_the_times() {
    let file = |base: &str, ts: &str| {
        format!(r#"{{"traceEvents":[{{"ph":"X","cat":"c","name":"a","ts":{ts},"dur":1}}]{base}}}"#)
    };
    let base = r#","baseTimeNanoseconds":1700000000000000000"#;
    let origin = |text: String| open(&text).0.unix_origin();
    assert_eq!(origin(file(base, "7.001")), Some(1_700_000_000_000_007_001));
    assert_eq!(
        origin(file("", "1712195495519689.047")),
        Some(1_712_195_495_519_689_047)
    );
    assert_eq!(origin(file("", "7.001")), None);
    // A base inside another object is not the file's.
    let nested = r#","viztracer_metadata":{"baseTimeNanoseconds":5}"#;
    assert_eq!(origin(file(nested, "7.001")), None);
    let (t, report) = open(&file(base, "1712195495519689.047"));
    assert_eq!(t.unix_origin(), Some(1_712_195_495_519_689_047));
    assert!(report.has("two_clocks"));
}

#[test]
fn facts_and_rank_come_from_known_keys_only() {
    let text = format!(
        r#"{{"schemaVersion":1,"username":"jdoe","INFO":["HOME=/home/jdoe"],"env":{{"TOKEN":"s3cret"}},
        "deviceProperties":[{{"id":2,"name":"MI300X"}}],"distributedInfo":{{"backend":"nccl","rank":"3","world_size":8}},
        "hip_runtime_version":60443483,"with_stack":1,"traceEvents":[{}],"traceName":"/home/jdoe/x.json"}}"#,
        x("kernel", "k", "2", "7", 1, 1, "\"device\":2")
    );
    let (t, report) = open(&text);
    let shown = format!("{report:?}{:?}", t.sources());
    for secret in ["jdoe", "s3cret", "TOKEN"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert_eq!(t.sources()[0].rank, Some(3));
    assert_eq!(t.sources()[0].rank, Some(3));
    assert_eq!(t.devices()[0].name.as_deref(), Some("MI300X"));
    let facts = &report.files[0].facts;
    assert!(facts.contains(&("HIP runtime".to_owned(), "60443483".to_owned())));
    let op = x("cpu_op", "op", "1", "1", 1, 1, "");
    let named = |name: &str| read_named(name, format!("[{op}]").as_bytes()).expect("readable");
    let (t, report) = named("worker2_step_12.1694.pt.trace.json");
    assert_eq!(t.sources()[0].rank, Some(2));
    assert_eq!(warnings(&report), ["rank_from_name"]);
    assert_eq!(
        warnings(&named("rank0.1795.pt.trace.json").1),
        Vec::<&str>::new()
    );
}

#[test]
fn cuts_between_blocks_change_nothing() {
    let mut events = Vec::new();
    for i in 0..40 {
        let c = format!("\"correlation\":{},\"device\":0,\"stream\":7", i + 1);
        events.push(x(
            "cuda_runtime",
            &format!("launch{}", i % 7),
            "1",
            "1",
            10 * i + 1,
            5,
            &c,
        ));
        events.push(x(
            "kernel",
            &format!("k{}", i % 5),
            "0",
            "7",
            10 * i + 9,
            6,
            &c,
        ));
        events.push(begin_end(&[("B", "b", 10 * i + 1), ("E", "b", 10 * i + 4)]));
    }
    let text = format!(
        "{{\"schemaVersion\":1,\"traceEvents\":[\n{}],\"traceName\":\"x\"}}",
        events.join(" ,\n")
    );
    let summary = |cuts: &[usize]| {
        let (t, report) = read_cut(text.as_bytes(), cuts).expect("readable");
        let lanes: Vec<String> = t.lanes().iter().map(|l| l.key.clone()).collect();
        let texts: Vec<String> = t.names().iter().map(|(_, n)| n.to_owned()).collect();
        (
            spans(&t),
            t.launches().to_vec(),
            lanes,
            texts,
            warnings(&report).len(),
        )
    };
    let whole = summary(&[]);
    assert_eq!(whole.0.len(), 120);
    for cut in (0..text.len()).step_by(3) {
        assert_eq!(summary(&[cut]), whole, "cut at {cut}");
        assert_eq!(
            summary(&[cut / 2, cut]),
            whole,
            "cut at {} and {cut}",
            cut / 2
        );
    }
}
