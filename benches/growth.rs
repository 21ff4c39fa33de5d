//! How CPU time grows with the size of a run: doubling numbers of ranks, of processes with loops, of threads that wait, of
//! steps. Prints the time of opening and of analysing each, and the exponent between the smallest and the largest.
//!
//! ```text
//! cargo bench --no-default-features --features png --bench growth
//! cargo bench --no-default-features --features png --bench growth -- threads 5
//! ```
//!
//! The first argument chooses what grows (all by default), the second how often it doubles (4). An exponent of 1 is
//! linear growth. Times are those of all threads of the process, as the kernel counts them; without `/proc` the wall clock.

#![expect(clippy::print_stdout, reason = "the figures are what the run is for")]
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use stallscope::analysis::{Analysis, Found, GoOn, Options, Rules, placed};
use stallscope::import::{OpenOptions, Progress, SharedArgs, open};
use stallscope::model::SpanId;

/// CPU time of this process so far, s.
fn cpu(began: Instant) -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").ok();
    let ticks = stat.as_deref().and_then(|text| {
        // User and system time stand 12 and 13 fields behind the name, in hundredths of a second.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
        let user: u64 = fields.next()?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        Some((user + system) as f64 / 100.0)
    });
    ticks.unwrap_or_else(|| began.elapsed().as_secs_f64())
}

/// Opens and analyses, with the verdict of each run; CPU seconds of both.
fn measure(paths: &[PathBuf]) -> [f64; 2] {
    let began = Instant::now();
    let rules = Rules::builtin();
    let start = cpu(began);
    let loaded = open(paths, &OpenOptions::default(), &Progress::new()).unwrap();
    let opened = cpu(began);
    let trace = Arc::new(loaded.trace);
    let reader = SharedArgs::new(Arc::clone(&trace));
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        reader.each(spans, go_on, found);
    };
    let trace = placed(trace, &rules, &args, &|| true);
    let reader = SharedArgs::new(Arc::clone(&trace));
    let args = |spans: &[SpanId], go_on: &GoOn<'_>, found: &mut Found<'_>| {
        reader.each(spans, go_on, found);
    };
    let analysis =
        Analysis::with_args(trace, &rules, &Options::default(), &args, &|_| true).unwrap();
    let jobs = analysis.jobs(analysis.trace().extent());
    assert!(!jobs.is_empty());
    [opened - start, cpu(began) - opened]
}

/// Unix time of the start of all runs, µs.
const ZERO: u64 = 1_790_000_000_000_000;

/// torch's file of one process: `threads` that ask for a batch in each step, of which the first works with it.
fn torch(path: &Path, (rank, world): (u64, u64), threads: u64, steps: u64) {
    let pid = 1_000 + rank;
    let mut text = format!(
        "{{\"schemaVersion\":1,\"baseTimeNanoseconds\":{},\"distributedInfo\":{{\"backend\":\"nccl\",\"rank\":{rank},\"world_size\":{world}}},\"traceEvents\":[\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"args\":{{\"name\":\"python\"}}}}",
        ZERO * 1_000
    );
    let mut span = |cat: &str, name: &str, place: (u64, u64), at: u64, dur: u64, args: &str| {
        let (pid, tid) = place;
        let _ = write!(
            text,
            ",\n{{\"ph\":\"X\",\"cat\":\"{cat}\",\"name\":\"{name}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{at}.000,\"dur\":{dur}.000,\"args\":{{{args}}}}}"
        );
    };
    for k in 0..steps {
        let at = 100 + k * 10_000;
        let main = (pid, pid);
        let jitter = (k * 7_919 + rank * 104_729) % 900;
        span(
            "user_annotation",
            &format!("ProfilerStep#{k}"),
            main,
            at,
            9_990,
            "",
        );
        for thread in 0..threads {
            let next = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
            let place = (pid, pid + thread * 100_000);
            span(
                "user_annotation",
                next,
                place,
                at + 5 + thread % 7,
                1_500 + jitter,
                "",
            );
        }
        for n in 0..4 {
            let call = k * 8 + n;
            let from = at + 2_600 + n * 300;
            let launch = format!("\"correlation\":{call}");
            span("cuda_runtime", "cudaLaunchKernel", main, from, 8, &launch);
            let mut work = format!("\"device\":{rank},\"stream\":7,\"correlation\":{call}");
            let last = n == 3 && world > 1;
            if last {
                let _ = write!(
                    work,
                    ",\"Collective name\":\"allreduce\",\"Process Group Name\":\"0\",\"Group size\":{world},\"In msg nelems\":1000,\"dtype\":\"Float\",\"Seq\":{k}"
                );
            }
            let name = if last {
                "ncclDevKernel_AllReduce"
            } else {
                "gemm"
            };
            let length = if last { 2_000 - jitter } else { 1_200 };
            let from = at + 2_700 + n * 1_300 + if last { jitter } else { 0 };
            span("kernel", name, (rank, 7), from, length, &work);
        }
    }
    text.push_str("\n]}\n");
    std::fs::write(path, text).unwrap();
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

/// Writes a run of a size into a folder.
type Make = fn(&Path, u64) -> Vec<PathBuf>;

fn ranks(folder: &Path, n: u64) -> Vec<PathBuf> {
    let file = |rank: u64| {
        let path = folder.join(format!("rank{rank}.json"));
        torch(&path, (rank, n), 1, 60);
        path
    };
    (0..n).map(file).collect()
}

fn processes(folder: &Path, n: u64) -> Vec<PathBuf> {
    (0..n).for_each(|p| dftracer(folder, p, 100));
    vec![folder.to_owned()]
}

fn threads(folder: &Path, n: u64) -> Vec<PathBuf> {
    let path = folder.join("torch.json");
    torch(&path, (0, 1), n, 400);
    vec![path]
}

fn steps(folder: &Path, n: u64) -> Vec<PathBuf> {
    let path = folder.join("torch.json");
    torch(&path, (0, 1), 1, n);
    vec![path]
}

/// What grows, and its smallest number.
const GROWING: [(&str, u64, Make); 4] = [
    ("ranks", 16, ranks),
    ("processes", 32, processes),
    ("threads", 32, threads),
    ("steps", 1_500, steps),
];

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let chosen = args.first().map(String::as_str);
    let doublings: u32 = args.get(1).and_then(|n| n.parse().ok()).unwrap_or(4);
    for (what, least, make) in GROWING {
        if chosen.is_some_and(|c| c != what) {
            continue;
        }
        println!("{what:12} opening  analysing   CPU s");
        let mut all: Vec<[f64; 2]> = Vec::new();
        for i in 0..=doublings {
            let folder = tempfile::tempdir().unwrap();
            let paths = make(folder.path(), least << i);
            // The best of three: what other programs take of the caches is not ours.
            let rounds = (0..3).map(|_| measure(&paths));
            let best = rounds.fold([f64::MAX; 2], |best, t| {
                [best[0].min(t[0]), best[1].min(t[1])]
            });
            println!("{:12} {:8.2}  {:9.2}", least << i, best[0], best[1]);
            all.push(best);
        }
        // Between the half and the whole: small sizes hold what every run costs.
        let half = all.len() / 2;
        let exponent = |part: usize| {
            let (from, to) = (
                all[half][part].max(0.005),
                all[all.len() - 1][part].max(0.005),
            );
            (to / from).log2() / (all.len() - 1 - half) as f64
        };
        println!(
            "{:12} {:8.2}  {:9.2}\n",
            "exponent",
            exponent(0),
            exponent(1)
        );
    }
}
