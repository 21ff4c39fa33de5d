//! Archives, folders and mixed sets: what opens together, what is left out and why, cancelling.

use crate::common;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use stallscope::import::{ArgsReader, ErrorKind, Loaded, NoticeKind, OpenOptions, Progress, open};
use stallscope::model::{ArgsOrigin, SpanId};

fn folder(name: &str) -> PathBuf {
    common::scratch(&format!("containers_{name}"))
}

fn write(path: PathBuf, bytes: impl AsRef<[u8]>) -> PathBuf {
    std::fs::write(&path, bytes).expect("writable");
    path
}

fn load(path: &Path) -> Loaded {
    open(
        &[path.to_owned()],
        &OpenOptions::default(),
        &Progress::new(),
    )
    .expect("opens")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// A pfw file of one process with two events.
fn pfw(pid: u32) -> Vec<u8> {
    let line = |id: u32| {
        format!(
            "{{\"id\":{id},\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":{pid},\"tid\":{pid},\"ts\":{},\"dur\":5,\"ph\":1,\"args\":{{\"pid\":{pid},\"id\":{id}}}}}\n",
            1_795_965_000_000_000_u64 + u64::from(pid) * 100 + u64::from(id),
        )
    };
    (line(1) + &line(20)).into_bytes()
}

fn tar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, name, bytes.as_slice())
            .expect("memory");
    }
    builder.into_inner().expect("memory")
}

fn zip(members: &[(&str, Vec<u8>)], method: zip::CompressionMethod) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in members {
        writer.start_file(*name, options).expect("memory");
        writer.write_all(bytes).expect("memory");
    }
    writer.finish().expect("memory").into_inner()
}

/// Members in an order that is not that of their names, compressed and plain, and others that are no traces.
fn members() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("run/c.pfw", pfw(3)),
        ("run/a.pfw.gz", gzip(&pfw(1))),
        ("run/notes.txt", b"notes".to_vec()),
        ("run/b.pfw", pfw(2)),
        ("run/empty.pfw", Vec::new()),
        ("run/inner.tar", tar(&[("x.pfw", pfw(9))])),
    ]
}

fn check_members(archive: &Path) {
    let loaded = load(archive);
    let trace = &loaded.trace;
    let mut names: Vec<_> = trace
        .sources()
        .iter()
        .map(|s| {
            s.path
                .strip_prefix(archive)
                .expect("inside")
                .display()
                .to_string()
        })
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["run/a.pfw.gz", "run/b.pfw", "run/c.pfw"],
        "{}",
        archive.display()
    );
    assert_eq!(trace.spans().len(), 6);
    let noted = |code: &str| loaded.report.notices.iter().find(|n| n.code == code);
    assert!(noted("empty_file").is_some_and(|n| n.text.contains("empty.pfw")));
    assert!(noted("file_refused").is_some_and(|n| n.text.contains("archive inside an archive")));
    let mut reader = ArgsReader::new();
    // Forwards and backwards.
    for i in [0_u32, 5, 2, 4, 1, 3, 0] {
        let span = SpanId(i);
        let lane = trace.lane(trace.spans().lane(span));
        assert!(matches!(
            trace.source(lane.source).args,
            ArgsOrigin::Archive { .. }
        ));
        let args = reader.read(trace, span).expect("readable").expect("args");
        assert_eq!(format!("C{0}.{0}", args["pid"]), lane.key);
        assert_eq!(args["id"], if i % 2 == 0 { 1 } else { 20 });
    }
}

#[test]
fn archives_open_as_sets() {
    let dir = folder("sets");
    let plain = tar(&members());
    check_members(&write(dir.join("tar"), &plain));
    check_members(&write(dir.join("tar-gz"), gzip(&plain)));
    for method in [
        zip::CompressionMethod::Stored,
        zip::CompressionMethod::Deflated,
    ] {
        check_members(&write(dir.join("zip"), zip(&members(), method)));
    }
}

#[test]
fn archives_in_a_folder_are_looked_into() {
    let dir = folder("inside-folder");
    write(dir.join("a.tar.gz"), gzip(&tar(&[("x/1.pfw", pfw(1))])));
    write(dir.join("b.pfw"), pfw(2));
    assert_eq!(load(&dir).trace.sources().len(), 2);
}

#[test]
fn archives_without_traces_and_broken_ones_say_so() {
    let dir = folder("broken");
    let kind = |path: &Path| {
        let result = open(
            &[path.to_owned()],
            &OpenOptions::default(),
            &Progress::new(),
        );
        result.err().map(|e| e.kind)
    };
    let notes = write(
        dir.join("notes.tar"),
        tar(&[("notes.txt", b"notes".to_vec())]),
    );
    assert_eq!(kind(&notes), Some(ErrorKind::NothingInside));
    let cut = write(
        dir.join("cut.zip"),
        &zip(&members(), zip::CompressionMethod::Stored)[..300],
    );
    assert_eq!(kind(&cut), Some(ErrorKind::Corrupt));
    // A tar that ends inside a member gives the members before it.
    let whole = tar(&[
        ("a.pfw", pfw(1)),
        ("b.pfw", pfw(2)),
        ("c.pfw", vec![b' '; 4_000]),
    ]);
    let end = whole.len() - 4_000;
    let cut = write(dir.join("cut.tar.gz"), gzip(&whole[..end]));
    let loaded = load(&cut);
    assert!(loaded.trace.sources().len() >= 2);
    for cut in (0..whole.len()).step_by(499) {
        let path = write(dir.join("any.tar"), &whole[..cut]);
        let _ = open(&[path], &OpenOptions::default(), &Progress::new());
    }
    let packed = zip(&members(), zip::CompressionMethod::Deflated);
    for i in (0..packed.len()).step_by(61) {
        let mut bytes = packed.clone();
        bytes[i] ^= 0x55;
        let path = write(dir.join("any.zip"), bytes);
        let _ = open(&[path], &OpenOptions::default(), &Progress::new());
    }
}

#[test]
fn zip_members_are_checked_against_their_checksum() {
    let dir = folder("checksum");
    let event = |i: u32| {
        format!("{{\"ph\":\"X\",\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":{i},\"dur\":1}}")
    };
    // Longer than what is looked at to recognise it.
    let events: Vec<String> = (1..3_000).map(event).collect();
    let members = [("a.json", format!("[{}]", events.join(",")).into_bytes())];
    let whole = zip(&members, zip::CompressionMethod::Stored);
    let at = memchr::memmem::rfind(&whole, b"\"ts\":2999").expect("stored") + 8;
    let mut flipped = whole.clone();
    flipped[at] ^= 1;
    for (bytes, damaged) in [(&whole, false), (&flipped, true)] {
        let loaded = load(&write(dir.join("a.zip"), bytes));
        assert_eq!(loaded.trace.spans().len(), 2_999);
        let notice = loaded
            .report
            .notices
            .iter()
            .find(|n| n.code == "bad_checksum");
        assert_eq!(notice.is_some(), damaged);
        assert!(notice.is_none_or(|n| n.text.contains("does not match its checksum")));
    }
}

#[test]
fn a_member_that_inflates_to_nothing_is_left_alone() {
    // 64 MiB of blanks in a few hundred KiB.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..64 {
        encoder.write_all(&blanks).expect("memory");
    }
    let member = encoder.finish().expect("memory");
    let dir = folder("bomb");
    let path = write(
        dir.join("bomb.tar"),
        tar(&[("a.json.gz", member), ("b.pfw", pfw(1))]),
    );
    assert_eq!(load(&path).trace.sources().len(), 1);
}

const TORCH: &str = r#"{"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1795965000000200, "dur": 5, "args": {}}]}"#;
const RELATIVE: &str =
    r#"[{"ph": "X", "cat": "c", "name": "n", "pid": 1, "tid": 1, "ts": 5, "dur": 5}]"#;

/// A zip whose directory names the one member that it holds under so many names.
fn zip_of_one_place(names: u32, bytes: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    let size = u32::try_from(bytes.len()).expect("small");
    // What both headers of a member share: version, flags, method, time, date, checksum, sizes.
    let mut shared = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
    for number in [crc.sum(), size, size] {
        shared.extend(number.to_le_bytes());
    }
    let name = |i: u32| format!("{i:04}.pfw").into_bytes();
    let mut out = b"PK\x03\x04".to_vec();
    out.extend(&shared);
    out.extend([8, 0, 0, 0]);
    out.extend(name(0));
    out.extend(bytes);
    let at = u32::try_from(out.len()).expect("small");
    for i in 0..names {
        out.extend(b"PK\x01\x02\x14\x00");
        out.extend(&shared);
        // Lengths of name, extra field and comment; disk; attributes; where the member lies: at the beginning.
        out.extend([8, 0]);
        out.extend([0; 16]);
        out.extend(name(i));
    }
    let end = u32::try_from(out.len()).expect("small");
    out.extend(b"PK\x05\x06\x00\x00\x00\x00");
    let count = u16::try_from(names).expect("small").to_le_bytes();
    out.extend(count);
    out.extend(count);
    out.extend((end - at).to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0, 0]);
    out
}

#[test]
fn members_that_lie_in_one_place_are_read_once() {
    let dir = folder("one_place");
    // 400 MB of text by the directory, 200 kB in truth: each of them read would take minutes.
    let mut bytes = pfw(1);
    bytes.resize(200_000, b'\n');
    let path = write(dir.join("a.zip"), zip_of_one_place(2_000, &bytes));
    let begun = std::time::Instant::now();
    let Loaded { trace, report } = load(&path);
    assert_eq!((trace.sources().len(), trace.spans().len()), (1, 2));
    let told = report.notices.iter().filter(|n| n.code == "unreadable");
    let told: Vec<_> = told.collect();
    let count: u64 = told.iter().map(|n| n.count).sum();
    assert_eq!(count, 1_999, "{told:?}");
    assert!(told[0].text.contains("belong to another member"));
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

#[test]
fn files_whose_clocks_relate_open_together_and_others_are_named() {
    let dir = folder("clocks");
    let torch = write(dir.join("torch.json"), TORCH);
    let lines = write(dir.join("run.pfw"), pfw(1));
    let relative = write(dir.join("relative.json"), RELATIVE);
    let all = [torch.clone(), lines.clone(), relative.clone()];
    let loaded = open(&all, &OpenOptions::default(), &Progress::new()).expect("opens");
    assert_eq!(loaded.trace.sources().len(), 2);
    let notice = loaded
        .report
        .notices
        .iter()
        .find(|n| n.code == "clock_unrelated")
        .expect("named");
    assert!(
        notice
            .text
            .starts_with("relative.json was not opened with torch.json"),
        "{}",
        notice.text
    );
    assert_eq!(notice.path, Some(relative.clone()));
    // 99 µs from the first read to the torch op.
    assert_eq!(loaded.trace.unix_origin(), Some(1_795_965_000_000_101_000));
    // Two processes of two files have the same numbers.
    let keys: Vec<_> = loaded
        .trace
        .lanes()
        .iter()
        .map(|l| l.key.as_str())
        .collect();
    assert_eq!(keys, ["C1.1", "C1.1~2"]);
    // The first one decides.
    let turned = [relative.clone(), torch.clone()];
    let loaded = open(&turned, &OpenOptions::default(), &Progress::new()).expect("opens");
    assert_eq!(loaded.trace.sources()[0].path, relative);
    assert_eq!(loaded.trace.sources().len(), 1);
    // A shift by hand puts it in place.
    let options = OpenOptions {
        shifts: vec![(1, 50)],
        ..OpenOptions::default()
    };
    let loaded = open(&turned, &options, &Progress::new()).expect("opens");
    assert_eq!(loaded.trace.sources().len(), 2);
    assert!(loaded.report.has("shifted") && loaded.report.has("clock"));
}

#[test]
fn a_refused_file_among_others_is_named() {
    let dir = folder("refused");
    let good = write(dir.join("run.pfw"), pfw(1));
    let report = write(
        dir.join("r.nsys-rep"),
        "NVIDIA Tegra Profiler Report 2025@5@1@121-2v0.\n",
    );
    let loaded = open(
        &[report.clone(), good],
        &OpenOptions::default(),
        &Progress::new(),
    )
    .expect("opens");
    let notice = loaded
        .report
        .notices
        .iter()
        .find(|n| n.code == "file_refused")
        .expect("named");
    assert_eq!(
        (notice.kind, notice.path.as_ref()),
        (NoticeKind::Skipped, Some(&report))
    );
    // Beside a trace in a folder it is no news.
    let loaded = load(&dir);
    assert_eq!(loaded.report.warnings().count(), 0);
    assert!(open(&[], &OpenOptions::default(), &Progress::new()).is_err());
}

#[test]
fn a_cancel_ends_it() {
    let dir = folder("cancel");
    let path = write(dir.join("run.pfw"), pfw(1));
    let progress = Progress::new();
    progress.cancel();
    let error = open(&[path], &OpenOptions::default(), &progress)
        .err()
        .expect("cancelled");
    assert_eq!(error.kind, ErrorKind::Cancelled);
}

#[test]
fn members_of_one_name_are_told_and_the_last_one_is_read() {
    let dir = common::scratch("containers_same_name");
    let mut bytes = zip(
        &[("a.pfw", pfw(1)), ("b.pfw", pfw(2))],
        zip::CompressionMethod::Stored,
    );
    for at in 0..bytes.len() - 5 {
        if &bytes[at..at + 5] == b"b.pfw" {
            bytes[at] = b'a';
        }
    }
    let packed = tar(&[("a.pfw", pfw(1)), ("a.pfw", pfw(2))]);
    for path in [
        write(dir.join("same.zip"), bytes),
        write(dir.join("same.tar"), packed),
    ] {
        let loaded = load(&path);
        assert_eq!(loaded.trace.sources().len(), 1);
        assert_eq!(loaded.trace.processes()[0].pid, "2", "{}", path.display());
        let said: Vec<String> = loaded.report.warnings().map(ToString::to_string).collect();
        let expected = "skipped: A file lies in the archive that has the same name as a later one: of each name the \
                        last one was looked at, as when unpacking.";
        assert!(said.iter().any(|t| t == expected), "{said:?}");
    }
}

/// What `sh` does with the program and a path as `$0` and `$1`.
#[cfg(target_os = "linux")]
fn shell(script: &str, path: &Path) -> String {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_stallscope")]);
    let out = command.arg(path).output().expect("sh");
    assert!(out.status.success(), "{out:?}");
    String::from_utf8(out.stdout).expect("text")
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_may_have_more_files_than_can_be_open() {
    let dir = folder("open_files");
    let members: Vec<(String, Vec<u8>)> = (1..=200)
        .map(|i| (format!("{i}.pfw.gz"), gzip(&pfw(i))))
        .collect();
    let named: Vec<(&str, Vec<u8>)> = members
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.clone()))
        .collect();
    let run = common::scratch("containers_open_files/run");
    for (name, bytes) in &members {
        write(run.join(name), bytes);
    }
    let packed = write(dir.join("run.tar"), tar(&named));
    for path in [run, packed] {
        let said = shell("ulimit -n 128; exec \"$0\" info \"$1\"", &path);
        assert!(said.contains("Everything was read"), "{said}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn members_that_begin_alike_are_inflated_few_times() {
    // Too odd to compress well, so that what is read of the file says how often it was inflated.
    let lines = |member: u64| -> Vec<u8> {
        let line = |i: u64| {
            let odd = |k: u64| (i * 8 + k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let member = if i < 20_000 { 0 } else { member };
            format!(
                "{{\"id\":{i},\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":1,\"tid\":1,\"ts\":{},\"dur\":5,\"ph\":1,\
                 \"args\":{{\"a\":\"{:x}{:x}{:x}{:x}\",\"m\":{member}}}}}\n",
                1_795_965_000_000_000_u64 + i * 10,
                odd(0),
                odd(1),
                odd(2),
                odd(3)
            )
        };
        (0..20_010).flat_map(|i| line(i).into_bytes()).collect()
    };
    let names = ["a.pfw", "b.pfw", "c.pfw", "d.pfw"];
    let members: Vec<_> = names.into_iter().zip((1..).map(lines)).collect();
    let path = write(folder("alike").join("alike.tar.gz"), gzip(&tar(&members)));
    let size = path.metadata().expect("written").len();
    // Once its children are gone, what they read counts as read by the shell.
    let script = "RAYON_NUM_THREADS=2 \"$0\" info \"$1\"; while read line; do echo \"$line\"; done < /proc/$$/io";
    let said = shell(script, &path);
    assert!(said.contains("80,040"), "{said}");
    let read = said.lines().find_map(|l| l.strip_prefix("rchar: "));
    let read: u64 = read.expect("counted").parse().expect("a number");
    assert!(read < 5 * size, "{read} of {size}");
}
