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

/// Which call launched each kernel, and how many links were guessed, left open and not there.
fn links(events: &[String]) -> (Vec<(String, Option<String>)>, [u64; 3]) {
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
    let codes = ["launch_by_gpu", "launch_unknown", "gpu_without_launch"];
    (found, codes.map(|code| count(&report, code)))
}

fn pairs(of: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    of.iter()
        .map(|(k, c)| ((*k).to_owned(), c.map(str::to_owned)))
        .collect()
}

#[test]
fn what_starts_later_launched_nothing_and_each_process_has_its_gpu() {
    let (found, counts) = links(&[
        call("a1", 1, 100, 1),
        call("b1", 2, 200, 1),
        kernel("k0", 0, 120, 1),
        kernel("k1", 1, 220, 1),
    ]);
    assert_eq!(found, pairs(&[("k0", Some("a1")), ("k1", Some("b1"))]));
    assert_eq!(counts, [1, 0, 0]);
}

#[test]
fn what_is_known_of_a_gpu_holds_for_all_of_it() {
    // The ids that one process alone has, and the order of time, decide for each GPU.
    let (found, counts) = links(&[
        call("a1", 1, 100, 1),
        call("b1", 2, 90, 1),
        call("a2", 1, 110, 2),
        call("b3", 2, 95, 3),
        kernel("k1", 0, 120, 1),
        kernel("k2", 0, 130, 2),
        kernel("l1", 1, 125, 1),
        kernel("l3", 1, 135, 3),
        kernel("l9", 1, 145, 9),
    ]);
    let expected = [
        ("k1", Some("a1")),
        ("k2", Some("a2")),
        ("l1", Some("b1")),
        ("l3", Some("b3")),
        ("l9", None),
    ];
    assert_eq!(found, pairs(&expected));
    assert_eq!(counts, [0, 0, 1]);
}

#[test]
fn a_link_that_nothing_decides_is_not_made_but_counted() {
    let (found, counts) = links(&[
        call("a1", 1, 100, 1),
        call("b1", 2, 101, 1),
        kernel("k0", 0, 120, 1),
        kernel("k1", 1, 122, 1),
    ]);
    assert_eq!(found, pairs(&[("k0", None), ("k1", None)]));
    assert_eq!(counts, [0, 2, 0]);
    // One GPU that both use: time decides where it can.
    let (found, counts) = links(&[
        call("a1", 1, 100, 1),
        call("b1", 2, 200, 1),
        call("a2", 1, 110, 2),
        call("b3", 2, 210, 3),
        kernel("k1", 0, 120, 1),
        kernel("k2", 0, 130, 2),
        kernel("k3", 0, 230, 3),
        kernel("l1", 0, 240, 1),
    ]);
    let expected = [
        ("k1", Some("a1")),
        ("k2", Some("a2")),
        ("k3", Some("b3")),
        ("l1", None),
    ];
    assert_eq!(found, pairs(&expected));
    assert_eq!(counts, [0, 1, 0]);
}

#[test]
fn where_processes_share_a_gpu_none_is_guessed_by_the_gpu_of_its_own() {
    // Both work on GPU 0; that one of them has GPU 1 besides does not give GPU 0 to the other.
    let (found, counts) = links(&[
        call("a1", 1, 100, 1),
        call("b1", 2, 101, 1),
        call("a2", 1, 110, 2),
        call("b3", 2, 111, 3),
        call("a4", 1, 112, 4),
        kernel("k1", 0, 120, 1),
        kernel("k2", 0, 130, 2),
        kernel("k3", 0, 140, 3),
        kernel("l4", 1, 150, 4),
    ]);
    let expected = [
        ("k1", None),
        ("k2", Some("a2")),
        ("k3", Some("b3")),
        ("l4", Some("a4")),
    ];
    assert_eq!(found, pairs(&expected));
    assert_eq!(counts, [0, 1, 0]);
}

#[test]
fn the_first_launch_on_a_gpu_does_not_make_all_of_it_one_processs_own() {
    // Both use GPU 0, a is ahead of b throughout: no kernel is b's for certain, but no call launches two.
    let mut events = Vec::new();
    for i in 1..40 {
        events.push(call("a", 1, 100 * i, i));
        events.push(call("b", 2, 100 * i + 20, i));
        events.push(kernel("k", 0, 100 * i + if i == 1 { 10 } else { 30 }, i));
        events.push(kernel("l", 0, 100 * i + 50, i));
    }
    let (found, counts) = links(&events);
    let of = |call: Option<&str>| found.iter().filter(|f| f.1.as_deref() == call).count();
    assert_eq!((of(Some("a")), of(Some("b")), of(None)), (1, 0, 77));
    assert_eq!(counts, [0, 77, 0]);
    // The kernels of a graph are all of its launch.
    let (found, counts) = links(&[
        call("a1", 1, 100, 1),
        call("b1", 2, 110, 1),
        kernel("k1", 0, 105, 1),
        kernel("l1", 1, 115, 1),
        call("cudaGraphLaunch", 1, 200, 2),
        call("b2", 2, 201, 2),
        kernel("k2", 0, 210, 2),
        kernel("k3", 0, 220, 2),
    ]);
    let expected = [
        ("k1", Some("a1")),
        ("k2", Some("cudaGraphLaunch")),
        ("k3", Some("cudaGraphLaunch")),
        ("l1", Some("b1")),
    ];
    assert_eq!(found, pairs(&expected));
    assert_eq!(counts, [1, 0, 0]);
}

#[test]
fn many_processes_with_one_id_take_no_longer_than_with_ids_of_their_own() {
    const PROCESSES: i64 = 20_000;
    let mut events = Vec::new();
    for i in 0..PROCESSES {
        events.push(call(&format!("call {i}"), 1_000_000 + i, 10 * i, 1));
        // Only the first can be known.
        events.push(kernel(&format!("kernel {i}"), 0, 10 * i + 1, 1));
    }
    let (found, counts) = links(&events);
    let linked: Vec<_> = found.iter().filter(|f| f.1.is_some()).collect();
    assert_eq!(
        linked,
        [&("kernel 0".to_owned(), Some("call 0".to_owned()))]
    );
    assert_eq!(counts, [0, 19_999, 0]);
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
    assert_eq!(counts, [0, 0, 0]);
}

#[test]
fn the_call_of_another_process_is_none() {
    // The call of k5 was not recorded; another process has its id.
    let mut events = vec![call("b5", 2, 90, 5), kernel("k5", 0, 95, 5)];
    for i in 10..40 {
        events.push(call("a", 1, 10 * i, i));
        events.push(kernel("k", 0, 10 * i + 5, i));
    }
    let (found, counts) = links(&events);
    assert!(found.iter().filter(|f| f.1.is_some()).all(|f| f.0 == "k"));
    assert_eq!(found.len(), 31);
    assert_eq!(counts, [0, 0, 1]);
}

#[test]
fn what_a_call_waited_for_is_told_by_the_row_of_its_own_gpu() {
    let sync = |device: i64, ts: i64, correlation: i64| {
        let args = format!("\"device\":{device},\"stream\":7,\"correlation\":{correlation}");
        row("cuda_sync", "Stream Sync", (device, 7), (ts, 1), &args)
    };
    let (t, _) = open_list(
        &[
            call("a1", 1, 100, 1),
            call("b1", 2, 200, 1),
            call("cudaStreamSynchronize", 1, 130, 2),
            call("sync of b", 2, 125, 2),
            call("only of b", 2, 140, 4),
            kernel("k0", 0, 120, 1),
            kernel("k3", 1, 230, 3),
            call("b3", 2, 205, 3),
            sync(0, 132, 2),
            sync(1, 133, 2),
            // The call of a that has this id was not recorded.
            sync(0, 145, 4),
        ]
        .join(","),
    );
    let stream = |device: u32| {
        let of_device = t.streams().iter().position(|s| s.device.0 == device);
        crate::model::StreamId(u32::try_from(of_device.expect("there")).expect("few"))
    };
    let scope = |name: &str| t.sync_scope(span(&t, name));
    let waits_for = |device| Some(crate::model::SyncScope::Stream(stream(device)));
    assert_eq!(scope("cudaStreamSynchronize"), waits_for(0));
    assert_eq!(scope("sync of b"), waits_for(1));
    assert_eq!(scope("only of b"), None);
}
