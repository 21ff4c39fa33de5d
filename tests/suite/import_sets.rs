//! Several files opened together, where they strain what one trace holds: named twice, centuries apart, with more
//! categories than there are numbers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use stallscope::import::{Loaded, Notice, OpenOptions, Progress, open};

use crate::common;
use common::scratch;

fn write(path: PathBuf, text: &str) -> PathBuf {
    std::fs::write(&path, text).expect("writable");
    path
}

fn load(paths: &[PathBuf], shifts: &[(usize, i64)]) -> Loaded {
    let options = OpenOptions {
        shifts: shifts.to_vec(),
        ..OpenOptions::default()
    };
    open(paths, &options, &Progress::new()).expect("opens")
}

fn notice<'a>(loaded: &'a Loaded, code: &str) -> &'a Notice {
    let found = loaded.report.notices.iter().find(|n| n.code == code);
    found.unwrap_or_else(|| panic!("no notice {code}"))
}

/// A file of torch.profiler with one span of 5 µs for each category.
fn torch(base: i64, categories: impl Iterator<Item = String>) -> String {
    let mut text = format!(r#"{{"baseTimeNanoseconds":{base},"traceEvents":["#);
    for (i, cat) in categories.enumerate() {
        let comma = if i > 0 { "," } else { "" };
        write!(
            text,
            r#"{comma}{{"ph":"X","cat":"{cat}","name":"n","pid":1,"tid":1,"ts":{},"dur":5}}"#,
            10 + 10 * i
        )
        .expect("memory");
    }
    text + "]}"
}

fn one(base: i64) -> String {
    torch(base, std::iter::once("cpu_op".to_owned()))
}

#[test]
fn shared_threads_are_free_while_files_open() {
    // Long enough that nobody reads it to its end before the answer of a free thread comes.
    let text = torch(0, (0..200_000).map(|_| "cpu_op".to_owned()));
    let path = write(scratch("sets-free").join("a.json"), &text);
    let progress = Progress::new();
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| {
            let paths = std::slice::from_ref(&path);
            open(paths, &OpenOptions::default(), &progress).map(drop)
        });
        while progress.done() == 0 && !opening.is_finished() {
            std::thread::yield_now();
        }
        rayon::scope(|all| (0..rayon::current_num_threads()).for_each(|_| all.spawn(|_| {})));
        let done = progress.done();
        progress.cancel();
        assert!(done < text.len() as u64, "the answer came after the file");
        assert!(opening.join().expect("no panic").is_err(), "cancelled");
    });
}

#[test]
fn a_file_that_is_named_twice_counts_once() {
    let dir = scratch("sets-twice");
    let file = write(dir.join("a.json"), &one(0));
    let detour = dir.join("..").join("sets-twice").join("a.json");
    let mut paths = vec![file.clone(), detour, dir.clone()];
    #[cfg(unix)]
    {
        let link = dir.join("link.json");
        std::os::unix::fs::symlink(&file, &link).expect("writable");
        paths.push(link);
    }
    let loaded = load(&paths, &[]);
    assert_eq!(loaded.trace.sources().len(), 1);
    assert_eq!(loaded.trace.sources()[0].path, file);
    assert_eq!(loaded.trace.spans().len(), 1);
    let notice = notice(&loaded, "named_twice");
    assert!(notice.count >= 2, "{notice}");
    assert!(
        notice.text.starts_with("a.json was named more than once"),
        "{notice}"
    );
}

/// They once stood side by side as processes of their own, and each sum was twice what it is.
#[test]
fn copies_of_a_recording_count_once() {
    let dir = scratch("sets-copies");
    let text = one(0);
    write(dir.join("a.json"), &text);
    write(dir.join("b.json"), &text);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).expect("memory");
    std::fs::write(dir.join("c.json.gz"), gzip.finish().expect("memory")).expect("writable");
    // Alike but for the last byte, and behind it.
    write(
        dir.join("d.json"),
        &(text.trim_end_matches('}').to_owned() + " }"),
    );
    write(dir.join("e.json"), &one(1));
    let loaded = load(std::slice::from_ref(&dir), &[]);
    let names: Vec<_> = loaded
        .trace
        .sources()
        .iter()
        .map(|s| s.path.file_name())
        .collect();
    assert_eq!(
        names,
        ["a.json", "d.json", "e.json"].map(|n| Some(n.as_ref()))
    );
    let copies = notice(&loaded, "copies");
    assert_eq!(copies.count, 2);
    assert_eq!(
        copies.text,
        "The same recording under another name was read once: byte for byte, b.json is a.json. Left out: b.json, c.json.gz."
    );
    let two = [dir.join("c.json.gz"), dir.join("a.json")];
    let loaded = load(&two, &[]);
    assert_eq!(loaded.trace.spans().len(), 1);
    assert_eq!(
        loaded.trace.sources()[0].path,
        two[0],
        "the one named first"
    );
}

#[test]
fn members_of_archives_of_one_name_are_not_the_same_file() {
    let dir = scratch("sets-archives");
    let tar = |path: &Path, base: i64| {
        let text = one(base);
        let mut builder = tar::Builder::new(std::fs::File::create(path).expect("writable"));
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, "x/a.json", text.as_bytes())
            .expect("writable");
        builder.finish().expect("writable");
    };
    let (a, b) = (dir.join("a.tar"), dir.join("b.tar"));
    tar(&a, 0);
    tar(&b, 1);
    let loaded = load(&[a.clone(), b], &[]);
    assert_eq!(loaded.trace.sources().len(), 2);
    let loaded = load(
        &[a, dir.join("..").join("sets-archives").join("a.tar")],
        &[],
    );
    assert_eq!(loaded.trace.sources().len(), 1);
    assert_eq!(notice(&loaded, "named_twice").count, 1);
}

#[test]
fn files_centuries_apart_open_and_keep_their_lengths() {
    let dir = scratch("sets-far");
    let here = write(dir.join("here.json"), &one(0));
    let far = write(dir.join("far.json"), &one(9_000_000_000_000_000_000));
    for (paths, shift) in [
        ([&here, &far], None),
        ([&far, &here], None),
        ([&here, &here], Some(9_223_372_036_000_000_000)),
        ([&here, &here], Some(i64::MIN)),
    ] {
        let copy = write(
            dir.join("second.json"),
            &std::fs::read_to_string(paths[1]).expect("just written"),
        );
        let shifts: Vec<(usize, i64)> = shift.map(|s| (1, s)).into_iter().collect();
        let loaded = load(&[paths[0].clone(), copy], &shifts);
        assert_eq!(loaded.trace.spans().durs(), [5_000, 5_000]);
        assert_eq!(notice(&loaded, "far_source").count, 1);
        assert!(loaded.report.has("files_far_apart"));
    }
}

#[test]
fn categories_of_all_files_share_their_numbers() {
    let dir = scratch("sets-categories");
    let names = |file: u32, n: u32| (0..n).map(move |i| format!("f{file}c{i}"));
    let mut paths: Vec<PathBuf> = (0..4)
        .map(|f| write(dir.join(format!("{f}.json")), &torch(0, names(f, 17_000))))
        .collect();
    let loaded = load(&paths, &[]);
    assert_eq!(loaded.trace.spans().len(), 68_000);
    // 65,534 have a number; `cpu_op` and the category of nothing may be among them.
    let count = notice(&loaded, "many_categories").count;
    assert!(
        (68_000 - 65_534..=68_000 - 65_534 + 2).contains(&count),
        "{count}"
    );
    let other = loaded.trace.spans().ids().filter(|&id| {
        let cat = loaded.trace.spans().cat(id);
        loaded.trace.category(cat).name == "(other categories)"
    });
    assert!(count.abs_diff(other.count() as u64) <= 2);

    // Lines of DFTracer first, then JSON.
    let mut lines = String::new();
    for (i, cat) in names(9, 64_000).enumerate() {
        let ts = 1_795_965_000_000_000_usize + 10 * i;
        writeln!(
            lines,
            r#"{{"id":{i},"name":"read","cat":"{cat}","pid":1,"tid":1,"ts":{ts},"dur":5,"ph":1,"args":{{}}}}"#
        )
        .expect("memory");
    }
    let base = 1_795_965_000_000_000_000;
    paths = vec![
        write(dir.join("run.pfw"), &lines),
        write(dir.join("torch.json"), &torch(base, names(0, 17_000))),
    ];
    let loaded = load(&paths, &[]);
    assert_eq!(loaded.trace.sources().len(), 2);
    assert_eq!(loaded.trace.spans().len(), 81_000);
    assert!(notice(&loaded, "many_categories").count >= 81_000 - 65_534);
}

/// Records of names: many for one hash, and as many threads as names of threads.
#[test]
fn names_of_one_hash_and_of_many_threads_are_read_in_one_go() {
    let dir = scratch("sets-names");
    let mut lines = String::new();
    let n = 100_000;
    for i in 0..n {
        writeln!(
            lines,
            r#"{{"id":{i},"name":"FH","cat":"dftracer","pid":1,"tid":1,"ph":"M","args":{{"name":"/data/{i}","value":"aa"}}}}"#
        )
        .expect("memory");
    }
    let threads = 20_000;
    for i in 0..threads {
        writeln!(
            lines,
            r#"{{"id":{i},"name":"thread_name","cat":"dftracer","pid":1,"tid":{i},"ph":"M","args":{{"name":"worker {i}","value":"thread_name"}}}}
{{"id":{i},"name":"read","cat":"POSIX","pid":1,"tid":{i},"ts":{},"dur":5,"ph":"X","args":{{"fhash":"aa"}}}}"#,
            1_795_965_000_000_000_i64 + i
        )
        .expect("memory");
    }
    let loaded = load(&[write(dir.join("run.pfw"), &lines)], &[]);
    let trace = &loaded.trace;
    assert_eq!(
        trace.lanes().len(),
        usize::try_from(threads).expect("small")
    );
    assert!(trace.lanes().iter().all(|l| l.name.starts_with("worker ")));
    let source = stallscope::model::SourceId(0);
    let text = trace.alias(source, "aa").expect("declared");
    assert!(text.starts_with("/data/0 or /data/1 or "), "{text}");
    assert!(text.ends_with("/data/63 or others"), "{text}");
}
