//! Which files are of which rank, and which ranks are of one run.
//!
//! A file for itself is one rank, or several where it says so. Two of the same rank that overlap in time, or are of the
//! same process, are one rank; others are of another run, with the sets of other ranks that they overlap.
//!
//! ```text
//!  rank 0   ├─ set ─┤            ├─ set ─┤
//!  rank 1                         ├─ set ─┤      lost its first file
//!           run 0                run 1
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::open::{Opened, Piece, Stream};
use super::{RankFiles, Ranks, RanksNotice, RunOfRanks, Told, ToldLevel, Unread};
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
    match (when(a), when(b)) {
        (Some(a), Some(b)) => a.0 < b.1 && b.0 < a.1,
        _ => false,
    }
}

/// From when to when something was recorded, in Unix time; `None` where that is not known.
type When = Option<(i64, i64)>;

fn when(row: &RankRow) -> When {
    let shift = row.to_unix?;
    let at = |t: i64| t.saturating_add(shift);
    Some((at(row.extent.start), at(row.extent.end)))
}

/// Of a whole set, as far as known; never empty.
fn when_of(set: &[Piece]) -> When {
    let known = set.iter().filter_map(|p| when(&p.row));
    known
        .map(|(start, end)| (start, end.max(start.saturating_add(1))))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// The run of each set, by rank and place in its own sets; runs by their start. No run holds two sets of one rank.
///
/// A set is of the run that it overlaps most, else of a run for itself. Where its time is not known it is of the run at
/// its own place, or the next one that has no set of its rank. Where no rank was recorded twice, [`of_once`] decides.
fn runs_of(ranks: &[Vec<When>], one_job: &dyn Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    if ranks.iter().all(|own| own.len() < 2) {
        let whens: Vec<When> = ranks
            .iter()
            .map(|own| own.first().copied().flatten())
            .collect();
        let runs = of_once(&whens, one_job);
        return ranks
            .iter()
            .zip(runs)
            .map(|(own, run)| vec![run; own.len()])
            .collect();
    }
    // Ranks that lost nothing tell the runs apart.
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by_key(|&place| Reverse(ranks[place].iter().flatten().count()));
    let mut runs: Vec<(i64, i64)> = Vec::new();
    let mut of: Vec<Vec<Option<usize>>> = ranks.iter().map(|own| vec![None; own.len()]).collect();
    for place in order {
        overlapped(&ranks[place], &mut runs, &mut of[place]);
    }
    let mut by_start: Vec<usize> = (0..runs.len()).collect();
    by_start.sort_by_key(|&run| runs[run]);
    let mut number = vec![0; runs.len()];
    for (nth, &run) in by_start.iter().enumerate() {
        number[run] = nth;
    }
    let mut len = runs.len();
    let numbered = of.into_iter().map(|own| {
        let mut own: Vec<Option<usize>> = own
            .into_iter()
            .map(|run| run.map(|run| number[run]))
            .collect();
        for place in 0..own.len() {
            if own[place].is_none() {
                let mut free = (place..len).filter(|run| !own.contains(&Some(*run)));
                let run = free.next().unwrap_or(len);
                len = len.max(run + 1);
                own[place] = Some(run);
            }
        }
        own.into_iter().flatten().collect()
    });
    numbered.collect()
}

/// The runs of ranks that were recorded once each, by their start: what overlaps is of one run, and what left the same
/// collectives together, whatever the clocks of the hosts say. Where the time is not known: of the first.
fn of_once(ranks: &[When], one_job: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
    /// More runs than this are not compared each with each.
    const COMPARED: usize = 64;
    let mut order: Vec<(i64, i64, usize)> = ranks
        .iter()
        .enumerate()
        .filter_map(|(rank, when)| when.map(|(start, end)| (start, end, rank)))
        .collect();
    order.sort_unstable();
    let mut out = vec![0; ranks.len()];
    // The end of the last cluster; of each run its first rank.
    let (mut until, mut heads): (i64, Vec<usize>) = (i64::MIN, Vec::new());
    let mut run = 0;
    for (start, end, rank) in order {
        if start >= until || heads.is_empty() {
            let known = heads
                .iter()
                .take(COMPARED)
                .position(|&head| one_job(head, rank));
            run = known.unwrap_or_else(|| {
                heads.push(rank);
                heads.len() - 1
            });
        }
        until = until.max(end);
        out[rank] = run;
    }
    out
}

/// Gives the sets of one rank the runs that they overlap most, each run to one of them; others begin new ones. Runs grow
/// to hold their sets.
fn overlapped(own: &[When], runs: &mut Vec<(i64, i64)>, of: &mut [Option<usize>]) {
    let mut pairs = Vec::new();
    for (set, when) in own.iter().enumerate() {
        let Some((start, end)) = *when else {
            continue;
        };
        for (run, &(from, to)) in runs.iter().enumerate() {
            let both = end.min(to).saturating_sub(start.max(from));
            if both > 0 {
                pairs.push((Reverse(both), set, run));
            }
        }
    }
    pairs.sort_unstable();
    for (_, set, run) in pairs {
        if of[set].is_none() && !of.contains(&Some(run)) {
            of[set] = Some(run);
        }
    }
    for (when, of) in own.iter().zip(of) {
        let Some((start, end)) = *when else {
            continue;
        };
        match *of {
            Some(run) => {
                let (from, to) = runs[run];
                runs[run] = (from.min(start), to.max(end));
            }
            None => {
                *of = Some(runs.len());
                runs.push((start, end));
            }
        }
    }
}

/// What is said of a set of a rank that is not of the first run, or may not be; `again`: it is not the first of the rank.
fn said_of_run(rank: u32, again: bool, timed: bool, run: &str) -> String {
    match (again, timed) {
        (true, true) => {
            format!("Rank {rank} was recorded again, at another time: that is run {run}.")
        }
        (false, true) => format!(
            "Rank {rank} was recorded at another time than the ranks before, and no collectives that all count alike say that it is of their job: that is taken for run {run}."
        ),
        (true, false) => format!(
            "Rank {rank} was recorded again, and the files do not say when: that is taken for run {run}."
        ),
        (false, false) => format!(
            "The files of rank {rank} do not say when it was recorded: that is taken for run {run}."
        ),
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
    let of_ranks = by_rank.into_iter().map(|(rank, own)| (rank, sets(own)));
    let of_ranks: Vec<(u32, Vec<Vec<Piece>>)> = of_ranks.collect();
    let whens: Vec<Vec<When>> = of_ranks
        .iter()
        .map(|(_, own)| own.iter().map(|set| when_of(set)).collect())
        .collect();
    let one_job = |a: usize, b: usize| {
        let row = |at: usize| Some(&of_ranks[at].1.first()?.first()?.row);
        let both = row(a).zip(row(b));
        both.is_some_and(|(a, b)| a.is_of_one_job(b, stream.how.clocks))
    };
    let placed = runs_of(&whens, &one_job);
    let len = placed.iter().flatten().max().map_or(0, |last| last + 1);
    let mut runs: Vec<Vec<Piece>> = std::iter::repeat_with(Vec::new).take(len).collect();
    for ((rank, own), placed) in of_ranks.into_iter().zip(placed) {
        for (at, (set, run)) in own.into_iter().zip(placed).enumerate() {
            let timed = when_of(&set).is_some();
            let mut piece = joined(stream, set, rank, &mut unread)?;
            if run > 0 || (len > 1 && !timed) {
                let text = said_of_run(rank, at > 0, timed, &nth(name, run));
                piece.told.push(told("SECOND_RUN", 1, text));
            }
            runs[run].push(piece);
        }
    }
    let mut of_none = Vec::new();
    if !units.left_out.is_empty() {
        let text = "Files of a tracer that writes one for each process lie beside the ranks and were not read, as they tell of all ranks at once: steps, waits and causes are those of the ranks' own files. `report` reads both, and may therefore judge other steps: open them with chosen ranks.";
        of_none.push(told(
            "JOINS_RANKS",
            units.left_out.len() as u64,
            text.to_owned(),
        ));
    }
    notices.add(&of_none, false);
    let options = Options::default();
    let runs = runs.into_iter().enumerate().map(|(run, pieces)| {
        let mut files = Vec::with_capacity(pieces.len());
        let mut rows = Vec::with_capacity(pieces.len());
        for piece in pieces {
            notices.add(&piece.told, true);
            let (own, row) = of_files(stream.files, piece);
            files.push(own);
            rows.push(row);
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
        told: of_none,
    })
}

/// One piece of several: opened together once more. An error only on cancel.
fn joined(
    stream: &Stream<'_>,
    mut set: Vec<Piece>,
    rank: u32,
    unread: &mut Vec<Unread>,
) -> Result<Piece, LoadError> {
    let files: BTreeSet<usize> = set.iter().flat_map(|p| p.files.iter().copied()).collect();
    let files: Vec<usize> = files.into_iter().collect();
    let alone = set.len() == 1;
    let first = set.swap_remove(0);
    if alone {
        return Ok(first);
    }
    stream.check(&files)?;
    let together = stream.unit(&files);
    // What was cancelled is not refused.
    stream.check(&files)?;
    let why = match together {
        Ok(mut pieces) if pieces.len() == 1 => {
            let mut piece = pieces.remove(0);
            piece.row.rank = rank;
            return Ok(piece);
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
    Ok(first)
}

fn told(code: &str, count: u64, text: String) -> Told {
    Told {
        code: code.to_owned(),
        count,
        text,
        level: ToldLevel::Warning,
        file: None,
    }
}

/// `before`, `before#2`.
fn nth(name: &str, run: usize) -> String {
    match run {
        0 => name.to_owned(),
        n => format!("{name}#{}", n + 1),
    }
}

fn of_files(files: &Files, piece: Piece) -> (RankFiles, RankRow) {
    let all: Vec<_> = files.all().collect();
    let own = RankFiles {
        paths: piece
            .files
            .iter()
            .map(|&f| all[f].path.to_owned())
            .collect(),
        bytes: piece.files.iter().map(|&f| all[f].bytes).sum(),
        told: piece.told,
        seen: piece.seen,
        incomplete: piece.incomplete,
    };
    (own, piece.row)
}

/// Notices of all ranks, by reason.
#[derive(Default)]
struct Notices {
    rows: Vec<RanksNotice>,
}

impl Notices {
    /// Those of one rank, or of none.
    fn add(&mut self, told: &[Told], of_rank: bool) {
        let mut own: Vec<&str> = Vec::new();
        for one in told {
            let first = of_rank && !own.contains(&one.code.as_str());
            own.push(&one.code);
            match self.rows.iter_mut().find(|r| r.code == one.code) {
                Some(row) => {
                    row.ranks += usize::from(first);
                    row.count += one.count;
                }
                None => self.rows.push(RanksNotice {
                    code: one.code.clone(),
                    ranks: usize::from(first),
                    count: one.count,
                    text: one.text.clone(),
                }),
            }
        }
        self.rows.sort_by(|a, b| a.code.cmp(&b.code));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;

    /// An hour of the day, for half an hour.
    fn at(hour: i64) -> When {
        Some((hour * HOUR, hour * HOUR + HOUR / 2))
    }

    #[test]
    fn a_rank_that_lost_its_first_file_is_of_the_run_at_its_time() {
        let ranks = [vec![at(10), at(11)], vec![at(11)]];
        assert_eq!(runs_of(&ranks, &|_, _| false), [vec![0, 1], vec![1]]);
        // Also where it comes first, or only together they have all runs.
        let ranks = [vec![at(11)], vec![at(10), at(11)]];
        assert_eq!(runs_of(&ranks, &|_, _| false), [vec![1], vec![0, 1]]);
        let ranks = [vec![at(11), at(12)], vec![at(10), at(11)]];
        assert_eq!(runs_of(&ranks, &|_, _| false), [vec![1, 2], vec![0, 1]]);
        let ranks = [vec![at(10), at(12)], vec![at(11)]];
        assert_eq!(runs_of(&ranks, &|_, _| false), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn a_set_is_of_the_run_that_it_overlaps_most() {
        // It begins while another rank still ends the first run.
        let slow = Some((10 * HOUR, 11 * HOUR + HOUR / 10));
        let ranks = [vec![at(11)], vec![slow, at(12)], vec![at(10), at(11)]];
        assert_eq!(
            runs_of(&ranks, &|_, _| false),
            [vec![1], vec![0, 2], vec![0, 1]]
        );
    }

    #[test]
    fn without_times_the_order_counts_and_a_rank_is_in_no_run_twice() {
        let ranks: [Vec<When>; 2] = [vec![None, None], vec![None]];
        assert_eq!(runs_of(&ranks, &|_, _| false), [vec![0, 1], vec![0]]);
        let ranks = [vec![at(10), at(11)], vec![at(11), None], vec![at(10), None]];
        assert_eq!(
            runs_of(&ranks, &|_, _| false),
            [vec![0, 1], vec![1, 2], vec![0, 1]]
        );
    }

    #[test]
    fn ranks_that_were_recorded_once_are_of_the_runs_at_their_times() {
        let long = Some((9 * HOUR, 13 * HOUR));
        let ranks = [vec![at(10)], vec![at(12)], vec![None], vec![at(3)]];
        let runs = |ranks: &[Vec<When>], one: bool| -> Vec<usize> {
            let runs = runs_of(ranks, &|_, _| one);
            runs.into_iter().flatten().collect()
        };
        assert_eq!(runs(&ranks, false), [1, 2, 0, 0]);
        // Collectives tell more than clocks.
        assert_eq!(runs(&ranks, true), [0; 4]);
        let ranks = [vec![at(10)], vec![at(12)], vec![long]];
        assert_eq!(runs(&ranks, false), [0; 3]);
    }
}
