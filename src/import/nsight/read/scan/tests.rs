//! Plans, damage and texts.

use super::*;
use crate::import::nsight::read::small::each_row;
use crate::import::nsight::read::unread::Small;

#[test]
fn plans_cover_every_row_number_once() {
    for (min, max) in [
        (1, 1),
        (1, 16_384),
        (1, 16_385),
        (-5, 100_000),
        (0, i64::MAX),
        (i64::MIN, i64::MAX),
    ] {
        let plan = Plan::between(min, max, MAX_RANGES);
        assert_eq!(plan.ranges.first().map(|r| r.0), Some(min));
        assert_eq!(plan.ranges.last().map(|r| r.1), Some(max));
        assert!(
            plan.ranges
                .windows(2)
                .all(|w| w[0].1.checked_add(1) == Some(w[1].0))
        );
        assert!(plan.ranges.iter().all(|r| r.0 <= r.1));
        assert!(plan.ranges.len() as u64 <= MAX_RANGES);
    }
    assert_eq!(Plan::between(2, 1, MAX_RANGES), Plan::default());
    assert_eq!(Plan::between(1, 50, MAX_RANGES).rows_at_most(), 50);
}

/// A place for a file of this test.
fn scratch(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tmp");
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).expect("writable");
    folder.join("export.sqlite")
}

/// A new database with what `sql` makes.
fn write(path: &std::path::Path, sql: &str) {
    let _ = std::fs::remove_file(path);
    let conn = Connection::open(path).expect("writable");
    conn.execute_batch(sql).expect("SQL");
}

#[test]
fn plans_of_small_files_have_no_more_ranges_than_pages() {
    let path = scratch("sparse-rows");
    write(
        &path,
        "CREATE TABLE t (n INTEGER); INSERT INTO t (rowid, n) VALUES (1, 7), (1 << 62, 8);",
    );
    let db = Database::open(&path).expect("opens");
    let plan = Plan::new(&db, "t");
    assert_eq!(plan.ranges.len(), 8_192 / 512 + 1, "of 65,536");
    assert_eq!(plan.ranges[0].0, 1);
    assert_eq!(plan.ranges.last().map(|r| r.1), Some(1 << 62));
}

#[test]
fn plans_go_around_damaged_edges() {
    // Rows 1 to 100,000, of which those below `first` and above `last` cannot be read.
    let next = |first: i64, last: i64| move |x: i64| (x >= first && x <= last).then_some(x);
    let plan = Plan::around_damage(None, Some(100_000), MAX_RANGES, next(41, 100_000));
    assert_eq!(plan, Plan::between(1, 100_000, MAX_RANGES));
    let plan = Plan::around_damage(Some(1), None, MAX_RANGES, next(1, 99_900));
    assert_eq!(plan.ranges[0].0, 1);
    assert_eq!(plan.ranges.last(), Some(&(65_538, i64::MAX)));
    assert_eq!(plan.rows_at_most(), 65_537);
    let plan = Plan::around_damage(None, None, MAX_RANGES, next(41, 99_900));
    assert_eq!(plan.ranges.last(), Some(&(65_538, i64::MAX)));
    assert_eq!(plan.ranges[0].0, 1);
    // Numbers below 1 that are readable, and nothing that is.
    let plan = Plan::around_damage(None, Some(10), MAX_RANGES, |x| (x >= -100).then_some(x));
    assert_eq!(plan, Plan::between(-63, 10, MAX_RANGES));
    let plan = Plan::around_damage(None, None, MAX_RANGES, |_| None);
    assert_eq!(plan.ranges, [(1, 1), (2, i64::MAX)]);
}

/// Makes a table of 300 rows in pages of 512 bytes; `long` has the row numbers whose texts fill a block.
fn table(path: &std::path::Path, long: &[i64]) {
    let long: Vec<String> = long.iter().map(i64::to_string).collect();
    write(
        path,
        &format!(
            "PRAGMA page_size = 512; CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, value TEXT);
             WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 300)
             INSERT INTO t SELECT i, 7 * i, iif(i IN ({}), zeroblob({BLOCK_TEXT}), 'text ' || i) FROM i;",
            long.join(","),
        ),
    );
}

/// Puts the cells of a leaf of [`table`] at its last byte: the first one that `wanted` takes, which is asked about
/// its first row and its last one.
fn damage(path: &std::path::Path, wanted: impl Fn(i64, i64) -> bool) -> Option<(i64, i64)> {
    let mut bytes = std::fs::read(path).expect("readable");
    let number = |at: usize| usize::from(bytes[at]) << 8 | usize::from(bytes[at + 1]);
    // The root is the second page: a cell is the page of a leaf (4 bytes) and the last row of it (7 bits a byte).
    assert_eq!(bytes[512], 5, "a page of pointers to others");
    let cell = |i: usize| 512 + number(512 + 12 + 2 * i);
    let last = |i: usize| match number(cell(i) + 4) {
        two if two >= 0x8000 => (two & 0x7f00) >> 1 | two & 0x7f,
        one => one >> 8,
    };
    let row = |n: usize| i64::try_from(n).expect("small");
    let mut leaves = (1..number(512 + 3)).map(|i| (number(cell(i) + 2), last(i - 1) + 1, last(i)));
    let (leaf, from, to) = leaves.find(|&(_, from, to)| wanted(row(from), row(to)))?;
    let page = (leaf - 1) * 512;
    assert_eq!(bytes[page], 13, "a leaf");
    let cells = number(page + 3);
    assert_eq!(cells, to + 1 - from);
    bytes[page + 8..page + 8 + 2 * cells].fill(0xff);
    std::fs::write(path, bytes).expect("writable");
    Some((row(from), row(to)))
}

#[test]
fn a_page_whose_cells_reach_over_its_end_costs_its_rows_each_time_it_is_read() {
    let path = scratch("damaged-leaf");
    table(&path, &[]);
    let (from, to) = damage(&path, |_, _| true).expect("such a leaf");
    let whole: Vec<_> = (1..=300).filter(|i| !(from..=to).contains(i)).collect();
    // Each range meets the page anew.
    let ranges = (1..=300).map(|i| (i, i)).collect();
    let plan = Plan { ranges };
    let damage: Vec<_> = (from..=to).collect();
    let (progress, unread) = (Progress::new(), Unread::default());
    for text in [None, Some("value")] {
        for threads in [1, 3] {
            let db = Database::open(&path).expect("opens");
            let reader = Reader {
                db: &db,
                progress: &progress,
                unread: &unread,
            };
            let spec = Spec {
                table: "t",
                columns: ["n"],
                text,
                required: 1,
            };
            let (mut rows, mut damaged) = (Vec::new(), Vec::<i64>::new());
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().expect("threads").install(|| {
                let scanned = reader.scan(&spec, &plan, |block| {
                    rows.extend(block.rows().iter().map(|r| (r.rowid, r.get(0))));
                    damaged.extend(&block.damage);
                    Ok(())
                });
                scanned.expect("goes on behind damage");
            });
            let right: Vec<_> = whole.iter().map(|&i| (i, Some(7 * i))).collect();
            assert_eq!(rows, right, "{threads} threads, {text:?}");
            assert_eq!(damaged, damage, "{threads} threads, {text:?}");
        }
    }
}

#[test]
fn damage_right_behind_a_full_block_is_met_once() {
    let path = scratch("damaged-behind-full");
    // Full by the row before the damage: the first block of a range, and a later one.
    for earlier in [None, Some(20)] {
        let leaf = (130..300).find_map(|full| {
            let long: Vec<i64> = earlier.into_iter().chain([full]).collect();
            table(&path, &long);
            damage(&path, |from, to| from == full + 1 && to >= full + 9)
        });
        let (from, to) = leaf.expect("such a leaf");
        let db = Database::open(&path).expect("opens");
        let (progress, unread) = (Progress::new(), Unread::default());
        let reader = Reader {
            db: &db,
            progress: &progress,
            unread: &unread,
        };
        let spec = Spec {
            table: "t",
            columns: ["n"],
            text: Some("value"),
            required: 1,
        };
        let (mut rows, mut damaged) = (Vec::new(), Vec::<i64>::new());
        let scanned = reader.scan(&spec, &Plan::between(1, 300, MAX_RANGES), |block| {
            rows.extend(block.rows().iter().map(|r| r.rowid));
            damaged.extend(&block.damage);
            Ok(())
        });
        scanned.expect("goes on behind damage");
        let (mut behind, mut skip) = (from - 1 + FIRST_SKIP, FIRST_SKIP);
        while behind <= to {
            skip *= 2;
            behind += skip - 1;
        }
        assert!(
            rows.into_iter().eq((1..from).chain(behind..=300)),
            "{earlier:?}"
        );
        assert_eq!(damaged, [from], "{earlier:?}");
    }
}

#[test]
fn texts_that_share_pages_end_the_table_before_they_fill_the_memory() {
    let path = scratch("shared-texts");
    let number = |n: u32| {
        [
            (n >> 14 | 0x80) as u8,
            (n >> 7 | 0x80) as u8,
            n as u8 & 0x7f,
        ]
    };
    // Rows of one length and a longer one, of which as much lies in the leaf: 39 bytes, 6 of which say what follows.
    let (usual, long) = (39 + 508 * 33_u32, 39 + 508 * 1_770_u32);
    write(
        &path,
        &format!(
            "PRAGMA page_size = 512; CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, value TEXT);
             WITH RECURSIVE i(i) AS (SELECT 200 UNION ALL SELECT i + 1 FROM i WHERE i < 500)
             INSERT INTO t SELECT i, NULL, zeroblob(iif(i = 200, {long}, {usual}) - 6) FROM i;"
        ),
    );
    let mut bytes = std::fs::read(&path).expect("readable");
    // A cell: length, row number (2 bytes), then what the columns are: none, none, bytes.
    let is_cell = |at: &[u8], of: u32| {
        at[..3] == number(of) && at[5..8] == [6, 0, 0] && at[8..11] == number(2 * (of - 6) + 12)
    };
    let cells = |bytes: &[u8], of: u32| -> Vec<usize> {
        let cells = bytes.windows(48).enumerate();
        cells
            .filter(|(_, at)| is_cell(at, of))
            .map(|(i, _)| i)
            .collect()
    };
    let first = cells(&bytes, long)[0];
    let others = cells(&bytes, usual);
    assert!(others.len() >= 300, "and some that were moved");
    for at in others {
        for part in [0..3, 5..48] {
            bytes.copy_within(first + part.start..first + part.end, at + part.start);
        }
    }
    std::fs::write(&path, &bytes).expect("writable");
    let db = Database::open(&path).expect("opens");
    let (progress, unread) = (Progress::new(), Unread::default());
    let reader = Reader {
        db: &db,
        progress: &progress,
        unread: &unread,
    };
    let spec = Spec {
        table: "t",
        columns: ["n"],
        text: Some("value"),
        required: 1,
    };
    let mut read = 0;
    let scanned = reader.scan(&spec, &Plan::new(&db, "t"), |block| {
        read += block.text_bytes();
        Ok(())
    });
    assert!(matches!(scanned, Err(Failure::Texts)), "{scanned:?}");
    let room = bytes.len()..=4 * bytes.len();
    assert!(room.contains(&read), "{read} of 270 million");
    let mut read = 0;
    let small = Small {
        table: "t",
        columns: &["n", "value"],
        required: 2,
        without: "texts are missing",
    };
    let done = each_row(&reader, &small, |_, row| {
        read += row.get_ref(2)?.as_bytes()?.len();
        Ok(())
    });
    done.expect("not cancelled");
    assert!(unread.has("t"));
    assert!(room.contains(&read), "{read} of 270 million");
}
