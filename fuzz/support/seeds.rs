//! Small inputs to begin with, made from the sample traces and from the tests' own makers.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use crate::entry::NEXT_FILE;
use crate::tiny::{GENERATIONS, Tiny};

/// Bytes of a seed cut from a sample.
const CUT: usize = 6_000;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn inflated(path: &Path) -> Vec<u8> {
    let file = std::fs::File::open(path).expect("a sample");
    let mut text = Vec::new();
    let mut reader = flate2::read::MultiGzDecoder::new(file);
    reader.read_to_end(&mut text).expect("a whole sample");
    text
}

/// The seeds of a target.
pub fn of(target: &str, folder: &Path) -> Vec<Vec<u8>> {
    match target {
        "chrome" => chrome(),
        "pfw" => pfw(),
        "nsight" => nsight(folder),
        "spans" => spans(),
        "container" => container(),
        "rules" => rules(),
        "view" => view(),
        "words" => words(),
        "session" => session(),
        other => panic!("no target {other}"),
    }
}

/// Events of all phases, in the array form.
const PHASES: &[u8] = br#"[
{"ph":"M","name":"process_name","pid":1,"tid":0,"ts":0,"args":{"name":"python"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{"sort_index":5}},
{"ph":"B","name":"a","cat":"user_annotation","pid":1,"tid":2,"ts":10.5},
{"ph":"i","name":"moment","pid":1,"tid":2,"ts":11,"s":"t"},
{"ph":"E","name":"a","pid":1,"tid":2,"ts":"20"},
{"ph":"b","cat":"async","id":"0x1f","name":"b","pid":1,"tid":2,"ts":12},
{"ph":"n","cat":"async","id":31,"name":"b","pid":1,"tid":2,"ts":13},
{"ph":"e","cat":"async","id":31,"name":"b","pid":1,"tid":2,"ts":14},
{"ph":"C","name":"memory","pid":1,"tid":2,"ts":15,"args":{"bytes":5,"peak":7.5}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":16,"dur":1,"args":{"correlation":7}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":18,"dur":3,"args":{"device":0,"stream":7,"correlation":7}},
{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":18,"dur":3,"args":{"stream":7,"correlation":7}},
{"ph":"s","cat":"fwdbwd","id":3,"name":"fwdbwd","pid":1,"tid":2,"ts":16},
{"ph":"f","cat":"fwdbwd","id":3,"name":"fwdbwd","pid":1,"tid":2,"ts":18,"bp":"e"},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":30,"dur":-1,"args":{"device":0,"stream":7,"bytes":4096}},
{"ph":"P","name":"sample"}, {}, 5
]"#;

/// A window of a trace as the program saves it.
const WINDOW: &[u8] = br#"{"stallscope":{"schema":1,"trim":[0,9000],"rules":"source","sources":[{"source":"nsight","from":"a.sqlite","producer":"p","capture":[0,9000],"host":null,"rank":0,"world":null,"zero":5,"quantum":0,"cut":false}],"processes":[{"source":0,"pid":"1","name":"python","space":null,"host":null,"rank":0,"role":null,"parent":null,"sort":0}],"devices":[{"source":0,"index":0,"space":null,"name":null,"counts":true}],"streams":[{"device":0,"process":0,"context":1,"number":7}],"lanes":[{"source":0,"kind":"Cpu","key":"C1.2","name":"t","process":0,"stream":null,"thread":"2","rank":null,"role":null,"autograd":null,"sort":0},{"source":0,"kind":"Gpu","key":"G0.7","name":"s","process":null,"stream":0,"thread":null,"rank":null,"role":null,"autograd":null,"sort":0}],"counters":[{"source":0,"process":0,"name":"c","series":"u","measure":"anything"}]},
"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}},
{"ph":"X","n":0,"lane":0,"pid":1,"tid":2,"ts":1.001,"dur":2.000,"name":"cudaLaunchKernel","cat":"cuda_api","args":{"a":[1]}},
{"ph":"X","n":1,"lane":0,"pid":1,"tid":2,"ts":4.000,"dur":2.500,"name":"cudaStreamSynchronize","cat":"cuda_api","sync":["event",0,1001],"open":true},
{"ph":"X","n":2,"lane":1,"pid":9,"tid":7,"ts":3.000,"dur":2.000,"name":"k","cat":"kernel","call":0,"backward":[1],"copy":[5,"h2d",1]},
{"ph":"i","s":"t","lane":0,"pid":1,"tid":2,"ts":1.5,"name":"m"},
{"ph":"C","counter":0,"pid":1,"ts":1.5,"name":"c","args":{"u":2.5}}
]}
"#;

fn chrome() -> Vec<Vec<u8>> {
    let mut seeds = vec![PHASES.to_vec(), WINDOW.to_vec()];
    for sample in ["torch_0_workers", "torch_4_workers", "torch_real_rank1"] {
        let text = inflated(&repository(&format!("sample_traces/{sample}.json.gz")));
        let head = &text[..CUT.min(text.len())];
        let end = head.iter().rposition(|&b| b == b'}').unwrap_or(0);
        seeds.push([&head[..=end], b"]}"].concat());
        // The end holds what stands behind the list; the middle begins inside an event.
        seeds.push(text[text.len().saturating_sub(CUT / 2)..].to_vec());
        seeds.push(text[text.len() / 2..][..CUT / 2].to_vec());
    }
    for case in ["event_scope", "own_layer", "two_loaders"] {
        let path = repository(&format!("tests/cases/{case}.json"));
        seeds.push(std::fs::read(path).expect("a case"));
    }
    seeds
}

fn pfw() -> Vec<Vec<u8>> {
    let folder = std::fs::read_dir(repository("sample_traces/dftracer_2_workers"));
    let mut paths: Vec<PathBuf> = folder
        .expect("a sample")
        .map(|entry| entry.expect("readable").path())
        .collect();
    paths.sort();
    let files: Vec<Vec<u8>> = paths.iter().map(|p| inflated(p)).collect();
    let head = |text: &[u8]| text[..2_500.min(text.len())].to_vec();
    let mut seeds: Vec<Vec<u8>> = files.iter().map(|f| head(f)).collect();
    let all: Vec<Vec<u8>> = files.iter().take(3).map(|f| head(f)).collect();
    seeds.push(all.join(NEXT_FILE));
    seeds.push(
        br#"[
{"id":"0","name":"start","cat":"dftracer","pid":"7","tid":"7","ts":"1679514253626630.2","dur":"0","ph":"X","args":{"hostname":"a","cwd":"/","ppid":"1","version":"1.0.3"}}
{"id":"1","name":"open","cat":"POSIX","pid":"7","tid":"8","ts":"1679514253626640","dur":"5.25","ph":"X","args":{"fname":"/x\u00e9","ret":3}}
{"name":"read","cat":"POSIX","pid":7,"tid":8,"ts":21825.790405273438,"dur":1e3,"ph":"X","args":{"a":[1,{"b":2}]}}
{"id":3,"name":"cpu","cat":"sys","pid":7,"tid":8,"ts":1679514253626650,"ph":"C","args":{"user_pct":12.5,"bad":"x"}}
{"id":4,"name":"FH","cat":"dftracer","pid":7,"tid":8,"ph":"M","args":{"name":"/data/x","value":"0a"}}
{"id":5,"name":"fork","cat":"POSIX","pid":7,"tid":7,"ts":1679514253626660,"dur":1,"ph":"X","args":{"ret":0}}
]"#
        .to_vec(),
    );
    seeds
}

fn nsight(folder: &Path) -> Vec<Vec<u8>> {
    let path = folder.join("seed.sqlite");
    let mut seeds = Vec::new();
    for generation in GENERATIONS {
        let tiny = Tiny::write(&path, generation);
        // Small pages: many of them in few bytes, and overflow chains.
        tiny.sql("PRAGMA page_size=512; VACUUM");
        drop(tiny);
        seeds.push(std::fs::read(&path).expect("just written"));
    }
    seeds
}

fn spans() -> Vec<Vec<u8>> {
    let tables = [
        "# own\nstart_us,end_us,name,lane,process,layer,value (W),args.file\n1.5,2e1,a,x,p,io.read,,\"b,\"\"c\"\"\nd\"\n\
         3,,power,x,,,250.5,\n4,,restart,,,,,\n5,4,back,,,,,\n6,7,\"open,,,,,\n7,8,a\n8,9,a,,,,,,,,x\n",
        "start;dur;name\n1789995000.000000001;0.5;a\n1789995001;;b\n1789995000000;1;far\n",
        "\u{feff}start\tend\tname\r\n2026-09-21T12:50:00.5Z\t2026-09-21 14:50:01+02:00\ta\r\n\
         2026/09/21 12:50:02,25\t2026-13-01T00:00:00Z\tb\r\n",
        "begin (ms),duration [s],step\r-1,0.1,12\r1e99,1,13\r",
    ];
    tables.map(|table| table.as_bytes().to_vec()).to_vec()
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(data).expect("memory");
    out.finish().expect("memory")
}

fn container() -> Vec<Vec<u8>> {
    let run = pfw();
    let members = [
        ("rank0.json", PHASES.to_vec()),
        ("rank1.json.gz", gzip(PHASES)),
        ("run/trace-1.pfw", run[0][..800].to_vec()),
        ("empty.json", Vec::new()),
    ];
    let mut tar = tar::Builder::new(Vec::new());
    for (name, data) in &members {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append_data(&mut header, name, data.as_slice())
            .expect("memory");
    }
    let tar = tar.into_inner().expect("memory");
    let mut seeds = vec![gzip(PHASES), gzip(&tar), tar];
    for method in [
        zip::CompressionMethod::Stored,
        zip::CompressionMethod::Deflated,
    ] {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, data) in &members {
            let options = zip::write::SimpleFileOptions::default().compression_method(method);
            zip.start_file(*name, options).expect("memory");
            zip.write_all(data).expect("memory");
        }
        seeds.push(zip.finish().expect("memory").into_inner());
    }
    let two = [gzip(&PHASES[..400]), gzip(&PHASES[400..])].concat();
    seeds.push(two);
    seeds
}

fn rules() -> Vec<Vec<u8>> {
    let builtin = std::fs::read(repository("src/analysis/layers/rules.toml")).expect("the rules");
    let part = builtin.len() / 6;
    let mut seeds: Vec<Vec<u8>> = builtin.chunks(part.max(1)).map(<[u8]>::to_vec).collect();
    seeds.push(
        br#"format = 1
[[rule]]
id = "mine"
source = ["torch", "nsight"]
lane = "cpu"
role = "worker"
cat = "cpu_op"
name = '''^aten::(?:linear|.*mm)$'''
norm = true
args = { "stream" = "7" }
layer = "compute"
set = { phase = "forward" }
[[role]]
id = "r"
thread = "pt_data_worker"
process = "python.*"
file = "x"
role = "worker"
"#
        .to_vec(),
    );
    seeds
}

/// Three steps of a loop that loads its own batches, with some of their GPU work.
pub const SMALL: &[u8] = include_bytes!("small.json");

/// The head of a view and its trace: the whole, a part of it, and any two times.
fn view() -> Vec<Vec<u8>> {
    let head = |whole: u8, look: u8, show: u8| {
        let mut head = vec![0; 20];
        (head[7], head[6], head[14]) = (9, 20, 90);
        (head[16], head[18], head[19]) = (whole, look, show);
        head
    };
    let heads = [head(0, 0, 0x0f), head(5, 3, 0x1f), head(2, 4, 0x07)];
    let traces = [SMALL, PHASES, WINDOW];
    let both = heads
        .iter()
        .flat_map(|h| traces.map(|t| [h.as_slice(), t].concat()));
    both.collect()
}

fn words() -> Vec<Vec<u8>> {
    let lines = [
        "report --only waits,names TRACE",
        "report TRACE --range 10ms..300ms --rank 0 --json",
        "report --windows 100ms --csv TRACE",
        "report --by name --layer op --top 3 TRACE --json",
        "check TRACE --max-exposed-wait 5% --max-step-time 120ms --expect INPUT_BOUND --min-overlap 7:20=5%",
        "check TRACE --against TRACE --max-slowdown 3% --allow-other-program",
        "compare TRACE TRACE --steps fetch --limit 3% --json",
        "whatif TRACE --workers 0..4 --cores 4 --cache 0.5 --no-sync --json",
        "why TRACE --wait 1 --json",
        "why TRACE --step ProfilerStep#4 --rules RULES",
        "export TRACE --steps -o",
        "export TRACE --trim 10ms..20ms -o",
        "export TRACE --spans --layers gpu --run x --raw -o",
        "info TRACE TRACE --shift 2=1ms --threads 2 --json",
        "svg TRACE -o --only-lanes main --title a --width 640 --theme dark",
        "ranks TRACE --memory 1GB --jobs 1 --json",
        "schema tables",
        "man report",
        "--rank 1 TRACE",
    ];
    let typed = |line: &&str| line.replace(' ', "\n").into_bytes();
    lines.iter().map(typed).collect()
}

fn session() -> Vec<Vec<u8>> {
    let text = r#"{"stallscope_session": 1, "files": [{"path": "trace.json", "key": "14342-0"}], "before": [],
"loops": ["C4200.4200"], "look": {"view": [0, 900000000], "range": [5, 100000], "tab": "Waits", "pinned": ["x"],
"hidden": ["y"], "toggled": []}}"#;
    let other = text.replace("C4200.4200", "G0.7");
    vec![text.as_bytes().to_vec(), other.into_bytes()]
}
