//! Runs of a size, in which one thing grows: files in the form of torch.profiler and of DFTracer.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Unix time of the start of all runs, µs.
const ZERO: u64 = 1_790_000_000_000_000;

/// What grows, its smallest number, what writes a run of a size into a folder, and whether the report has that many
/// windows.
pub struct Shape {
    pub what: &'static str,
    pub least: u64,
    pub make: fn(&Path, u64) -> Vec<PathBuf>,
    pub windows: bool,
}

const fn shape(what: &'static str, least: u64, make: fn(&Path, u64) -> Vec<PathBuf>) -> Shape {
    Shape {
        what,
        least,
        make,
        windows: false,
    }
}

/// All of them.
pub const SHAPES: [Shape; 12] = [
    shape("ranks", 16, ranks),
    shape("processes", 32, processes),
    shape("threads", 32, threads),
    shape("steps", 1_500, steps),
    shape("devices", 64, devices),
    shape("lanes", 1_000, lanes),
    shape("async", 4_000, asynchronous),
    shape("counters", 10_000, counters),
    shape("flows", 10_000, flows),
    shape("names", 10_000, names),
    shape("overlaps", 8_000, overlaps),
    Shape {
        windows: true,
        ..shape("windows", 250, |folder, _| steps(folder, 1_000))
    },
];

/// The text of a torch file that is being made.
struct Torch(String);

impl Torch {
    fn new(pid: u64, (rank, world): (u64, u64)) -> Self {
        Self(format!(
            "{{\"schemaVersion\":1,\"baseTimeNanoseconds\":{},\"distributedInfo\":{{\"backend\":\"nccl\",\"rank\":{rank},\"world_size\":{world}}},\"traceEvents\":[\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"args\":{{\"name\":\"python\"}}}}",
            ZERO * 1_000
        ))
    }

    fn event(&mut self, ph: char, name: &str, (pid, tid): (u64, u64), at: u64, rest: &str) {
        let _ = write!(
            self.0,
            ",\n{{\"ph\":\"{ph}\",\"name\":\"{name}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{at}.000{rest}}}"
        );
    }

    fn span(
        &mut self,
        cat: &str,
        name: &str,
        place: (u64, u64),
        (at, dur): (u64, u64),
        args: &str,
    ) {
        let rest = format!(",\"cat\":\"{cat}\",\"dur\":{dur}.000,\"args\":{{{args}}}");
        self.event('X', name, place, at, &rest);
    }

    fn write(mut self, path: PathBuf) -> PathBuf {
        self.0.push_str("\n]}\n");
        std::fs::write(&path, self.0).unwrap();
        path
    }
}

/// torch's file of one process: `threads` that ask for a batch in each step, of which the first works with it.
fn torch(path: PathBuf, (rank, world): (u64, u64), threads: u64, steps: u64) -> PathBuf {
    let pid = 1_000 + rank;
    let mut file = Torch::new(pid, (rank, world));
    for k in 0..steps {
        let at = 100 + k * 10_000;
        let main = (pid, pid);
        let jitter = (k * 7_919 + rank * 104_729) % 900;
        let step = format!("ProfilerStep#{k}");
        file.span("user_annotation", &step, main, (at, 9_990), "");
        for thread in 0..threads {
            let next = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
            let place = (pid, pid + thread * 100_000);
            let time = (at + 5 + thread % 7, 1_500 + jitter);
            file.span("user_annotation", next, place, time, "");
        }
        for n in 0..4 {
            let call = k * 8 + n;
            let from = at + 2_600 + n * 300;
            let launch = format!("\"correlation\":{call}");
            file.span("cuda_runtime", "cudaLaunchKernel", main, (from, 8), &launch);
            let mut work = format!("\"device\":{rank},\"stream\":7,\"correlation\":{call}");
            let last = n == 3 && world > 1;
            if last {
                let _ = write!(
                    work,
                    ",\"Collective name\":\"allreduce\",\"Process Group Name\":\"0\",\"Group size\":{world},\"In msg nelems\":1000,\"dtype\":\"Float\",\"Seq\":{k}"
                );
            }
            let (name, length) = match last {
                true => ("ncclDevKernel_AllReduce", 2_000 - jitter),
                false => ("gemm", 1_200),
            };
            let from = at + 2_700 + n * 1_300 + if last { jitter } else { 0 };
            file.span("kernel", name, (rank, 7), (from, length), &work);
        }
    }
    file.write(path)
}

/// DFTracer's file of one process of a folder, with a loop of its own.
fn dftracer(folder: &Path, process: u64, steps: u64) {
    let pid = 2_000 + process;
    let mut text = String::new();
    let mut line = |id: u64, name: &str, cat: &str, at: u64, dur: u64, args: &str| {
        let _ = writeln!(
            text,
            "{{\"id\":{id},\"name\":\"{name}\",\"cat\":\"{cat}\",\"pid\":{pid},\"tid\":{pid},\"ts\":{},\"dur\":{dur},\"ph\":1,\"args\":{{\"hhash\":\"aa\"{args}}}}}",
            ZERO + at
        );
    };
    line(1, "start", "dftracer", 0, 0, ",\"ppid\":1");
    for k in 0..steps {
        let at = 100 + k * 10_000 + process % 97;
        line(3 * k + 2, "fetch.iter", "dataloader", at, 2_000, "");
        line(3 * k + 3, "forward", "compute", at + 2_050, 3_000, "");
        line(3 * k + 4, "backward", "compute", at + 5_100, 4_000, "");
    }
    let name = format!("trace-{process:016x}-app.pfw");
    std::fs::write(folder.join(name), text).unwrap();
}

fn ranks(folder: &Path, n: u64) -> Vec<PathBuf> {
    let file = |rank: u64| torch(folder.join(format!("rank{rank}.json")), (rank, n), 1, 60);
    (0..n).map(file).collect()
}

fn processes(folder: &Path, n: u64) -> Vec<PathBuf> {
    (0..n).for_each(|p| dftracer(folder, p, 100));
    vec![folder.to_owned()]
}

fn threads(folder: &Path, n: u64) -> Vec<PathBuf> {
    vec![torch(folder.join("torch.json"), (0, 1), n, 400)]
}

fn steps(folder: &Path, n: u64) -> Vec<PathBuf> {
    vec![torch(folder.join("torch.json"), (0, 1), 1, n)]
}

/// A file of one process, filled event by event.
fn one(folder: &Path, n: u64, mut each: impl FnMut(&mut Torch, u64)) -> Vec<PathBuf> {
    let mut file = Torch::new(1, (0, 1));
    (0..n).for_each(|i| each(&mut file, i));
    vec![file.write(folder.join("torch.json"))]
}

/// GPUs with a stream each, launched by one thread.
fn devices(folder: &Path, n: u64) -> Vec<PathBuf> {
    one(folder, n * 40, |file, i| {
        let launch = format!("\"correlation\":{}", i + 1);
        let at = 10 * i;
        file.span("cuda_runtime", "cudaLaunchKernel", (1, 1), (at, 5), &launch);
        let work = format!(
            "\"device\":{},\"stream\":7,\"correlation\":{}",
            i % n,
            i + 1
        );
        file.span("kernel", "gemm", (i % n, 7), (at + 7, 6 * n), &work);
    })
}

/// Threads with a few spans each.
fn lanes(folder: &Path, n: u64) -> Vec<PathBuf> {
    one(folder, n * 10, |file, i| {
        file.span("cpu_op", "aten::add", (1, i % n + 1), (5 * i, 4), "");
    })
}

/// An id of its own for each asynchronous span.
fn asynchronous(folder: &Path, n: u64) -> Vec<PathBuf> {
    one(folder, n, |file, i| {
        let rest = format!(",\"cat\":\"net\",\"id\":{i}");
        file.event('b', "get", (1, 1), 10 * i, &rest);
        file.event('e', "get", (1, 1), 10 * i + 25, &rest);
    })
}

/// Samples of counters, a track for each hundred.
fn counters(folder: &Path, n: u64) -> Vec<PathBuf> {
    one(folder, n, |file, i| {
        let rest = format!(",\"args\":{{\"used\":{},\"free\":{}}}", i % 977, i % 31);
        file.event(
            'C',
            &format!("track {}", i % (n / 100)),
            (1, 1),
            10 * i,
            &rest,
        );
    })
}

/// Flows between spans of two threads.
fn flows(folder: &Path, n: u64) -> Vec<PathBuf> {
    one(folder, n, |file, i| {
        let rest = format!(",\"cat\":\"fwdbwd\",\"id\":{i}");
        file.span("cpu_op", "aten::add", (1, 1), (10 * i, 8), "");
        file.event('s', "fwdbwd", (1, 1), 10 * i + 1, &rest);
        file.span("cpu_op", "AddBackward0", (1, 2), (10 * i + 5, 8), "");
        file.event(
            'f',
            "fwdbwd",
            (1, 2),
            10 * i + 6,
            &format!("{rest},\"bp\":\"e\""),
        );
    })
}

/// A name of its own for each span.
fn names(folder: &Path, n: u64) -> Vec<PathBuf> {
    one(folder, n, |file, i| {
        let name = format!("operation number {i}");
        file.span("cpu_op", &name, (1, 1), (10 * i, 8), "");
    })
}

/// Spans of one thread that all are open at once.
fn overlaps(folder: &Path, n: u64) -> Vec<PathBuf> {
    one(folder, n, |file, i| {
        file.span("cpu_op", "aten::add", (1, 1), (10 * i, 10 * n + i), "");
    })
}
