//! Which files are of which rank, and which ranks are of one run.
//!
//! A file for itself is one rank, or several where it says so. Two of the same rank that overlap in time, or are of the
//! same process, are one rank; others are of a run that came later.

use std::collections::{BTreeMap, BTreeSet};

use super::open::{Opened, Piece, Stream, Told};
use super::{RankFiles, Ranks, RanksNotice, RunOfRanks, Unread};
use crate::analysis::{Across, Options, RankRow};
use crate::import::{Files, LoadError};

/// What is opened at once.
pub(super) struct Units {
    /// Files by place.
    pub open: Vec<Vec<usize>>,
    /// Files that are left out beside others.
    left_out: Vec<usize>,
}

/// Each file for itself; those that say little without each other together. Beside files that state their ranks the
/// latter are left out: they tell of the same processes again.
pub(super) fn units(files: &Files) -> Units {
    let (mut open, mut left_out) = (Vec::new(), Vec::new());
    let mut together: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, file) in files.all().enumerate() {
        match file.together {
            true => together.entry(file.tracer.key).or_default().push(i),
            false => open.push(vec![i]),
        }
    }
    match open.is_empty() {
        true => open.extend(together.into_values()),
        false => left_out.extend(together.into_values().flatten()),
    }
    Units { open, left_out }
}

/// Gives ranks that do not state their numbers those of the file names, where these tell them apart, else by order.
fn number(files: &Files, pieces: &mut [Piece]) {
    if pieces.len() < 2 {
        return;
    }
    let names: Vec<Option<u32>> = files.all().map(|f| f.rank_of_name).collect();
    let name = |p: &Piece| names[*p.files.first()?];
    let silent = pieces.iter().filter(|p| !p.stated);
    let mut named: BTreeSet<u32> = silent.filter_map(name).collect();
    if named.len() < 2 {
        named.clear();
    }
    let stated = pieces.iter().filter(|p| p.stated);
    let mut taken: BTreeSet<u32> = stated.map(|p| p.row.rank).chain(named.clone()).collect();
    let mut next = 0;
    for piece in pieces.iter_mut().filter(|p| !p.stated) {
        piece.row.rank = name(piece)
            .filter(|n| named.contains(n))
            .unwrap_or_else(|| {
                while !taken.insert(next) {
                    next += 1;
                }
                next
            });
    }
}

/// Whether two pieces of the same number are of one rank: one process, or at the same time.
fn same(a: &RankRow, b: &RankRow) -> bool {
    let process = |r: &RankRow| Some((r.host.clone()?, r.pid.clone()?));
    if process(a).is_some() && process(a) == process(b) {
        return true;
    }
    let when = |r: &RankRow| {
        let shift = r.to_unix?;
        let range = r.extent;
        Some((
            range.start.saturating_add(shift),
            range.end.saturating_add(shift),
        ))
    };
    match (when(a), when(b)) {
        (Some(a), Some(b)) => a.0 < b.1 && b.0 < a.1,
        _ => false,
    }
}

/// Pieces of one number, those of one rank together, by time.
fn sets(mut pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let begins = |p: &Piece| {
        p.row
            .to_unix
            .map(|shift| p.row.extent.start.saturating_add(shift))
    };
    pieces.sort_by_key(|p| (begins(p).is_none(), begins(p), p.run, p.files.clone()));
    let mut out: Vec<Vec<Piece>> = Vec::new();
    for piece in pieces {
        let own = |set: &&mut Vec<Piece>| {
            set.iter()
                .any(|p| p.files != piece.files && same(&p.row, &piece.row))
        };
        match out.iter_mut().find(own) {
            Some(set) => set.push(piece),
            None => out.push(vec![piece]),
        }
    }
    out
}

/// Puts what was opened together as runs.
pub(super) fn runs(
    stream: &Stream<'_>,
    units: Units,
    opened: Vec<Opened>,
    name: &str,
) -> Result<Ranks, LoadError> {
    let mut unread: Vec<Unread> = stream
        .files
        .refused()
        .into_iter()
        .map(|(file, why)| Unread { file, why })
        .collect();
    let mut pieces = Vec::new();
    let mut failed = None;
    for unit in opened {
        match unit {
            Ok(own) => pieces.extend(own),
            Err(why) => {
                failed.get_or_insert_with(|| why.error());
                unread.push(Unread {
                    file: why.file,
                    why: why.why,
                });
            }
        }
    }
    if let Some(error) = failed.filter(|_| pieces.is_empty()) {
        return Err(error);
    }
    number(stream.files, &mut pieces);
    let mut by_rank: BTreeMap<u32, Vec<Piece>> = BTreeMap::new();
    for piece in pieces {
        by_rank.entry(piece.row.rank).or_default().push(piece);
    }
    let mut notices = Notices::default();
    let mut runs: Vec<Vec<Piece>> = Vec::new();
    for (rank, own) in by_rank {
        for (run, set) in sets(own).into_iter().enumerate() {
            if runs.len() == run {
                runs.push(Vec::new());
            }
            if run > 0 {
                let when = match set.iter().all(|p| p.row.to_unix.is_some()) {
                    true => "at another time",
                    false => "and the files do not say when",
                };
                let run = nth(name, run);
                let text = format!("Rank {rank} was recorded again, {when}: that is run {run}.");
                notices.add(&[told("SECOND_RUN", text)]);
            }
            runs[run].push(joined(stream, set, rank, &mut unread));
        }
    }
    if !units.left_out.is_empty() {
        notices.add(&[Told {
            code: "JOINS_RANKS".to_owned(),
            count: units.left_out.len() as u64,
            text: "Files of a tracer that writes one for each process lie beside the ranks and were not read: open them with chosen ranks."
                .to_owned(),
        }]);
    }
    let options = Options::default();
    let runs = runs.into_iter().enumerate().map(|(run, pieces)| {
        let mut files = Vec::with_capacity(pieces.len());
        let mut rows = Vec::with_capacity(pieces.len());
        for piece in pieces {
            notices.add(&piece.told);
            files.push(of_files(stream.files, &piece));
            rows.push(piece.row);
        }
        RunOfRanks {
            name: nth(name, run),
            across: Across::of(rows, &options),
            files,
        }
    });
    let runs = runs.collect();
    unread.sort();
    Ok(Ranks {
        runs,
        unread,
        notices: notices.rows,
    })
}

/// One piece of several: opened together once more.
fn joined(stream: &Stream<'_>, mut set: Vec<Piece>, rank: u32, unread: &mut Vec<Unread>) -> Piece {
    let files: BTreeSet<usize> = set.iter().flat_map(|p| p.files.iter().copied()).collect();
    let files: Vec<usize> = files.into_iter().collect();
    let alone = set.len() == 1;
    let first = set.swap_remove(0);
    if alone {
        return first;
    }
    let why = match stream.unit(&files) {
        Ok(mut pieces) if pieces.len() == 1 => {
            let mut piece = pieces.remove(0);
            piece.row.rank = rank;
            return piece;
        }
        Ok(_) => "It cannot be put together with the other files of its rank.".to_owned(),
        Err(refused) => refused.why,
    };
    let names: Vec<_> = stream.files.all().map(|f| f.path.to_owned()).collect();
    for file in files.iter().filter(|f| !first.files.contains(f)) {
        unread.push(Unread {
            file: names[*file].clone(),
            why: why.clone(),
        });
    }
    first
}

fn told(code: &str, text: String) -> Told {
    Told {
        code: code.to_owned(),
        count: 1,
        text,
    }
}

/// `before`, `before#2`.
fn nth(name: &str, run: usize) -> String {
    match run {
        0 => name.to_owned(),
        n => format!("{name}#{}", n + 1),
    }
}

fn of_files(files: &Files, piece: &Piece) -> RankFiles {
    let all: Vec<_> = files.all().collect();
    RankFiles {
        paths: piece
            .files
            .iter()
            .map(|&f| all[f].path.to_owned())
            .collect(),
        bytes: piece.files.iter().map(|&f| all[f].bytes).sum(),
        notices: piece.told.len(),
        incomplete: piece.incomplete,
    }
}

/// Notices of all ranks, by reason.
#[derive(Default)]
struct Notices {
    rows: Vec<RanksNotice>,
}

impl Notices {
    /// Those of one rank.
    fn add(&mut self, told: &[Told]) {
        let mut own: Vec<&str> = Vec::new();
        for one in told {
            let first = !own.contains(&one.code.as_str());
            own.push(&one.code);
            match self.rows.iter_mut().find(|r| r.code == one.code) {
                Some(row) => {
                    row.ranks += usize::from(first);
                    row.count += one.count;
                }
                None => self.rows.push(RanksNotice {
                    code: one.code.clone(),
                    ranks: 1,
                    count: one.count,
                    text: one.text.clone(),
                }),
            }
        }
        self.rows.sort_by(|a, b| a.code.cmp(&b.code));
    }
}
