//! Files of several processes, whose correlation ids are their own.

use super::*;

fn row(cat: &str, name: &str, (pid, tid): (i64, i64), (ts, dur): (i64, i64), args: &str) -> String {
    format!(
        r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
    )
}

fn call(name: &str, pid: i64, ts: i64, correlation: i64) -> String {
    let args = format!("\"correlation\":{correlation}");
    row("cuda_runtime", name, (pid, pid), (ts, 5), &args)
}

fn kernel(name: &str, device: i64, ts: i64, correlation: i64) -> String {
    kernel_of(name, device, device, ts, correlation)
}

fn kernel_of(name: &str, pid: i64, device: i64, ts: i64, correlation: i64) -> String {
    let args = format!("\"device\":{device},\"stream\":7,\"correlation\":{correlation}");
    row("kernel", name, (pid, 7), (ts, 10), &args)
}

/// Which call launched each kernel, and how many have an id of several processes, or none of a call.
fn links(events: &[String]) -> (Vec<(String, Option<String>)>, [u64; 2]) {
    let (t, report) = open_list(&events.join(","));
    let kernels = t
        .spans()
        .ids()
        .filter(|&id| t.category(t.spans().cat(id)).name == "kernel");
    let mut found: Vec<_> = kernels
        .map(|id| {
            let call = t.launch_of(id).map(|call| t.span_name(call).to_owned());
            (t.span_name(id).to_owned(), call)
        })
        .collect();
    found.sort();
    let codes = ["links_ambiguous", "gpu_without_launch"];
    (found, codes.map(|code| count(&report, code)))
}

fn pairs(of: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    of.iter()
        .map(|(k, c)| ((*k).to_owned(), c.map(str::to_owned)))
        .collect()
}

#[test]
fn an_id_of_two_processes_links_nothing() {
    let (found, counts) = links(&[
        call("a1", 1, 100, 1),
        call("b1", 2, 200, 1),
        call("a2", 1, 110, 2),
        call("b3", 2, 210, 3),
        // Earlier than the call of b, and yet nothing says that a launched it.
        kernel("k1", 0, 120, 1),
        kernel("k2", 0, 130, 2),
        kernel("k3", 0, 230, 3),
        kernel("k9", 0, 240, 9),
    ]);
    let expected = [
        ("k1", None),
        ("k2", Some("a2")),
        ("k3", Some("b3")),
        ("k9", None),
    ];
    assert_eq!(found, pairs(&expected));
    assert_eq!(counts, [1, 1]);
}

/// Two ranks with the same process and GPU numbers, ids and streams, put together to one file.
fn put_together(pid: impl Fn(i64, i64) -> String) -> Vec<String> {
    let mut events = Vec::new();
    for rank in 0..2 {
        let at = 100 * rank;
        let number = |row: String, old: i64| {
            row.replace(
                &format!("\"pid\":{old}"),
                &format!("\"pid\":{}", pid(rank, old)),
            )
        };
        events.push(number(call(&format!("call {rank}"), 500, at + 1, 1), 500));
        events.push(number(kernel(&format!("kernel {rank}"), 0, at + 10, 1), 0));
    }
    events
}

#[test]
fn ranks_that_were_put_together_are_told_apart() {
    let text = |rank: i64, pid: i64| format!("\"[TP0{rank}] {pid}\"");
    let moved = |rank: i64, pid: i64| (rank * 100_000_000 + pid).to_string();
    let pids: [&dyn Fn(i64, i64) -> String; 2] = [&text, &moved];
    for pid in pids {
        let events = put_together(pid);
        let (found, counts) = links(&events);
        let expected = [("kernel 0", Some("call 0")), ("kernel 1", Some("call 1"))];
        assert_eq!(found, pairs(&expected));
        assert_eq!(counts, [0, 0]);
        let (t, _) = open_list(&events.join(","));
        let processes: Vec<_> = t
            .processes()
            .iter()
            .map(|p| (p.pid.as_str(), p.rank))
            .collect();
        assert_eq!(processes, [("500", Some(0)), ("500", Some(1))]);
        let devices: Vec<_> = t
            .devices()
            .iter()
            .map(|d| (d.index, d.space.is_some()))
            .collect();
        assert_eq!(devices, [(0, true), (0, true)]);
    }
}

#[test]
fn many_processes_with_one_id_take_no_longer_than_with_ids_of_their_own() {
    const PROCESSES: i64 = 20_000;
    let mut events = Vec::new();
    for i in 0..PROCESSES {
        events.push(call(&format!("call {i}"), 1_000_001 + i, 10 * i, 1));
        events.push(kernel(&format!("kernel {i}"), 0, 10 * i + 1, 1));
    }
    let (found, counts) = links(&events);
    assert!(found.iter().all(|f| f.1.is_none()));
    assert_eq!(counts, [20_000, 0]);
}

#[test]
fn a_pid_that_is_no_gpu_names_the_process() {
    let (found, counts) = links(&[
        call("a1", 11, 100, 1),
        call("b1", 22, 101, 1),
        kernel_of("k", 22, 0, 120, 1),
        kernel_of("l", 11, 1, 120, 1),
    ]);
    assert_eq!(found, pairs(&[("k", Some("b1")), ("l", Some("a1"))]));
    assert_eq!(counts, [0, 0]);
}

#[test]
fn what_a_call_waited_for_is_told_by_the_row_of_its_id() {
    let sync = |device: i64, ts: i64, correlation: i64| {
        let args = format!("\"device\":{device},\"stream\":7,\"correlation\":{correlation}");
        row("cuda_sync", "Stream Sync", (device, 7), (ts, 1), &args)
    };
    let (t, _) = open_list(
        &[
            call("a1", 1, 100, 1),
            call("cudaStreamSynchronize", 1, 130, 2),
            call("of both", 1, 140, 4),
            call("of b", 2, 125, 4),
            kernel("k0", 0, 120, 1),
            sync(0, 132, 2),
            sync(0, 145, 4),
        ]
        .join(","),
    );
    let scope = |name: &str| t.sync_scope(span(&t, name));
    let stream = crate::model::SyncScope::Stream(crate::model::StreamId(0));
    assert_eq!(scope("cudaStreamSynchronize"), Some(stream));
    assert_eq!((scope("of both"), scope("of b")), (None, None));
}
