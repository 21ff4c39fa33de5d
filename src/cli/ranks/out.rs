//! `stallscope ranks --out`: tables of all ranks in one folder.
//!
//! Rows are made while the files of a rank are open and wait on disk; when all ranks are judged they are read again in the
//! order of the ranks, get what only the others could tell, and are written as Parquet.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value as Json, json};

use super::super::CliError;
use super::super::args::Ranks as Args;
use super::super::export::layers;
use super::super::messages::note;
use super::super::spare::spare;
use super::super::table::{bytes, printable};
use super::parts::{Parts, is_part, stem};
use crate::analysis::{LayerId, Rules, counted};
use crate::export::tables::BEGINS;
use crate::import::{Progress, sha256_of};
use crate::output::{Batch, Scratch, Waiting};
use crate::ranks::{Onlooker, OpenRank, Ranks, RunOfRanks, Told};
use crate::tables::{
    self, ArrivalsRow, Beside, Block, CollectivesRow, KernelsRow, MatchedCells, NoticesRow, Origin,
    RanksRow, Row, SCHEMA, SpanTable, SpansRow, StepsRow, Value, WaitsRow, Whose,
};
use crate::time::TimeRange;

/// What names all that is in the folder.
const INDEX: &str = "_stallscope.json";
/// Rows of spans that are made at once: a row group.
const AT_ONCE: usize = 65_536;

/// Where the tables go, and what was made of ranks so far.
pub(super) struct Out<'a> {
    folder: &'a Path,
    args: &'a Args,
    name: &'a str,
    batch: Batch,
    scratch: Scratch,
    /// Layers of the spans that are asked for; empty: all.
    layers: Vec<LayerId>,
    progress: &'a Progress,
    /// By the number of a rank.
    seen: Mutex<Vec<Seen>>,
    digests: Mutex<HashMap<PathBuf, Arc<str>>>,
    failed: Mutex<Option<io::Error>>,
}

/// What was made of one rank.
struct Seen {
    row: RanksRow,
    steps: Vec<Waiting>,
    collectives: Vec<Waiting>,
    waits: Vec<Waiting>,
    kernels: Vec<Waiting>,
    spans: Vec<Waiting>,
}

impl<'a> Out<'a> {
    /// Looks at the folder before anything is read.
    pub fn begin(
        args: &'a Args,
        folder: &'a Path,
        name: &'a str,
        rules: &Rules,
        progress: &'a Progress,
    ) -> Result<Self, CliError> {
        let asked: &[String] = match args.spans.iter().any(|s| s == "all") {
            true => &[],
            false => &args.spans,
        };
        let layers = layers(rules.layers(), asked)?;
        if !Batch::is_free(folder, INDEX) {
            let what = match folder.is_file() {
                true => "is a file: name a folder",
                false => "holds other files: name a folder that is new, empty or of such tables",
            };
            return Err(usage(folder, what));
        }
        let begun = Batch::begin(folder, INDEX).and_then(|b| Ok((b.scratch()?, b)));
        let (scratch, batch) = begun.map_err(|error| not_written(folder, error))?;
        let out = Self {
            folder,
            args,
            name,
            batch,
            scratch,
            layers,
            progress,
            seen: Mutex::default(),
            digests: Mutex::default(),
            failed: Mutex::default(),
        };
        out.index(&[name.to_owned()])?;
        Ok(out)
    }

    /// The runs that the folder has, without those that are replaced. An error where that was not asked for.
    fn index(&self, new: &[String]) -> Result<Map<String, Json>, CliError> {
        let text = self.batch.old_index();
        let Some(text) = text.map_err(|e| not_written(self.folder, e))? else {
            return Ok(Map::new());
        };
        let json: Json = serde_json::from_slice(&text).unwrap_or_default();
        let (schema, runs) = (&json["schema"], json["runs"].as_object());
        let (Some(runs), Some(schema)) = (runs, schema.as_u64()) else {
            return Err(usage(
                self.folder,
                &format!("has an {INDEX} that is not of such tables: name another folder"),
            ));
        };
        if schema != u64::from(SCHEMA) {
            return Err(usage(
                self.folder,
                &format!(
                    "has tables of schema {schema}, and this program writes schema {SCHEMA}: name another folder"
                ),
            ));
        }
        let mut runs = runs.clone();
        if let Some(there) = new.iter().find(|n| runs.contains_key(*n))
            && !self.args.replace
        {
            let there = first_line(there);
            return Err(usage(
                self.folder,
                &format!("has a run `{there}` already: name another with --run, or --replace it"),
            ));
        }
        // With the run go recordings of the same job that were told apart then.
        let again = self.args.replace && runs.contains_key(self.name);
        runs.retain(|run, _| !(new.contains(run) || again && is_nth(run, self.name)));
        Ok(runs)
    }

    /// The error of what was seen, if there was one: then the opening was cancelled.
    pub fn failure(&self) -> Option<CliError> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        Some(not_written(self.folder, failed.take()?))
    }

    /// Writes all tables.
    pub fn finish(mut self, all: &Ranks) -> Result<(), CliError> {
        let names: Vec<String> = all.runs.iter().map(|r| r.name.clone()).collect();
        let mut runs = self.index(&names)?;
        let folder = self.folder;
        let there = self.batch.old_index().map_err(|e| not_written(folder, e))?;
        let between = there.map(|_| text_of(&runs));
        let old = self.old_files(&runs).map_err(|e| not_written(folder, e))?;
        let mut told = Vec::new();
        for (nth, run) in all.runs.iter().enumerate() {
            let rows = self.run(run, (nth == 0).then_some(all));
            let rows = rows.map_err(|e| not_written(folder, e))?;
            told.push(rows.values().sum::<u64>());
            let files: usize = run.files.iter().map(|f| f.paths.len()).sum();
            let entry = json!({
                "ranks": run.files.len(),
                "files": files,
                "rows": rows,
                "complete": all.unread.is_empty() && run.files.iter().all(|f| !f.incomplete),
            });
            runs.insert(run.name.clone(), entry);
        }
        // A folder that was named may lead to files elsewhere.
        let read = all
            .runs
            .iter()
            .flat_map(|r| &r.files)
            .flat_map(|f| &f.paths);
        let read: Vec<&Path> = read.chain(&self.args.paths).map(PathBuf::as_path).collect();
        let made: Vec<PathBuf> = self.batch.made().iter().map(|m| folder.join(m)).collect();
        for file in &made {
            spare("The table", file, BEGINS, read.iter().copied())?;
        }
        let index = text_of(&runs);
        let done = self.batch.finish(&old, between.as_deref(), &index);
        done.map_err(|e| not_written(folder, e))?;
        let size: u64 = made
            .iter()
            .filter_map(|f| f.metadata().ok())
            .map(|m| m.len())
            .sum();
        for (run, rows) in all.runs.iter().zip(told) {
            let rows = counted(rows, "row");
            note(&format!(
                "{}: {rows} of run {}",
                folder.display(),
                first_line(&run.name)
            ));
        }
        note(&format!(
            "{}: {}, {}",
            folder.display(),
            counted(made.len() as u64, "file"),
            bytes(size)
        ));
        Ok(())
    }

    /// Files in the folder of runs that are not to stay, by their paths in it.
    fn old_files(&self, stay: &Map<String, Json>) -> io::Result<Vec<String>> {
        let json: Json = self
            .batch
            .old_index()?
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let gone = json["runs"].as_object().into_iter().flat_map(Map::keys);
        let stems: Vec<String> = gone
            .filter(|run| !stay.contains_key(*run))
            .map(|r| stem(r))
            .collect();
        let mut out = Vec::new();
        for table in tables::TableInfo::all() {
            let Ok(entries) = std::fs::read_dir(self.folder.join(table.name)) else {
                continue;
            };
            for entry in entries {
                let name = entry?.file_name().to_string_lossy().into_owned();
                if stems.iter().any(|stem| is_part(&name, stem)) {
                    out.push(format!("{}/{name}", table.name));
                }
            }
        }
        out.sort();
        Ok(out)
    }

    /// Writes the tables of one run; the rows of each. `all` is there for the first one, of which what belongs to no rank is
    /// told.
    fn run(
        &mut self,
        run: &RunOfRanks,
        all: Option<&Ranks>,
    ) -> io::Result<BTreeMap<&'static str, u64>> {
        let name: Arc<str> = run.name.as_str().into();
        let mut rows = BTreeMap::new();
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        let ranks = run.files.iter().zip(&run.across.rows).enumerate();
        let ranks = ranks.filter_map(|(place, (files, row))| {
            Some((place, files, row.rank, seen.get(files.seen?)?))
        });
        let beside = Beside::new(&run.across);

        let mut table = Parts::<RanksRow>::begin(&name);
        for (place, files, rank, own) in ranks.clone() {
            let mut row = own.row.clone();
            let late = run
                .across
                .job
                .late
                .get(place)
                .filter(|_| run.across.job.matched > 0);
            row.judge(run.across.verdict(place), late);
            row.rank = i32::try_from(rank).unwrap_or(i32::MAX);
            row.origin.run = Arc::clone(&name);
            row.origin.bytes = i64::try_from(files.bytes).unwrap_or(i64::MAX);
            row.origin.notices = i32::try_from(files.told.len()).unwrap_or(i32::MAX);
            row.origin.unread = files.incomplete;
            table.add(&mut self.batch, Block::of(&[row]))?;
        }
        rows.insert(RanksRow::TABLE, table.finish(&mut self.batch)?);

        let mut table = Parts::<StepsRow>::begin(&name);
        for (_, _, rank, own) in ranks.clone() {
            table.take(&mut self.batch, &self.scratch, rank, &own.steps)?;
        }
        rows.insert(StepsRow::TABLE, table.finish(&mut self.batch)?);

        let mut table = Parts::<CollectivesRow>::begin(&name);
        for (place, _, rank, own) in ranks.clone() {
            let cells = beside.of(place);
            for waiting in &own.collectives {
                let mut block = table.read(&self.scratch, rank, *waiting)?;
                if block.len() == cells.len() {
                    put_matched(&mut block, &cells);
                }
                table.add(&mut self.batch, block)?;
            }
        }
        rows.insert(CollectivesRow::TABLE, table.finish(&mut self.batch)?);

        let mut table = Parts::<ArrivalsRow>::begin(&name);
        beside.arrivals(&name, &mut |rows| {
            table.add(&mut self.batch, Block::of(&rows))
        })?;
        rows.insert(ArrivalsRow::TABLE, table.finish(&mut self.batch)?);

        let mut table = Parts::<WaitsRow>::begin(&name);
        for (_, _, rank, own) in ranks.clone() {
            table.take(&mut self.batch, &self.scratch, rank, &own.waits)?;
        }
        rows.insert(WaitsRow::TABLE, table.finish(&mut self.batch)?);

        let mut table = Parts::<KernelsRow>::begin(&name);
        for (_, _, rank, own) in ranks.clone() {
            table.take(&mut self.batch, &self.scratch, rank, &own.kernels)?;
        }
        rows.insert(KernelsRow::TABLE, table.finish(&mut self.batch)?);

        if !self.args.spans.is_empty() {
            let mut table = Parts::<SpansRow>::begin(&name);
            for (_, _, rank, own) in ranks.clone() {
                table.take(&mut self.batch, &self.scratch, rank, &own.spans)?;
            }
            rows.insert(SpansRow::TABLE, table.finish(&mut self.batch)?);
        }

        let mut table = Parts::<NoticesRow>::begin(&name);
        for (_, files, rank, _) in ranks.clone() {
            let told = files.told.iter().map(|t| notice(&name, Some(rank), t));
            table.add(&mut self.batch, Block::of(&told.collect::<Vec<_>>()))?;
        }
        if let Some(all) = all {
            let told = all.told.iter().map(|t| notice(&name, None, t));
            let unread = all.unread.iter().map(|u| NoticesRow {
                run: Arc::clone(&name),
                rank: None,
                file: Some(u.file.to_string_lossy().into()),
                level: "error",
                code: "unread".into(),
                count: 1,
                text: u.why.as_str().into(),
            });
            let told: Vec<NoticesRow> = told.chain(unread).collect();
            table.add(&mut self.batch, Block::of(&told))?;
        }
        rows.insert(NoticesRow::TABLE, table.finish(&mut self.batch)?);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        Ok(rows)
    }

    /// Makes the rows of a rank.
    fn rows_of(&self, open: &OpenRank<'_>) -> io::Result<Seen> {
        let (analysis, place) = (open.analysis, open.place);
        let all = TimeRange::new(i64::MIN / 2, i64::MAX / 2);
        let whose = Whose {
            run: "".into(),
            rank: place,
        };
        let collectives = open.row.collectives();
        let none = rustc_hash::FxHashMap::default();
        let mut spans = Vec::new();
        if !self.args.spans.is_empty() {
            let mut table = SpanTable::new(analysis, open.args);
            // Those of no rank beside those of the last.
            let last = place + 1 == analysis.ranks().len();
            let of_none = last.then_some(None);
            for rank in std::iter::once(Some(place)).chain(of_none) {
                let ids = table.of(rank, all, &self.layers);
                for ids in ids.chunks(AT_ONCE) {
                    spans.extend(self.keep(&table.rows(&whose.run, rank, ids))?);
                }
            }
        }
        let origin = Origin {
            file: open.file.to_string_lossy().into(),
            sha256: self.digest(open.file)?,
            ..Origin::default()
        };
        Ok(Seen {
            row: RanksRow::new(analysis, place, origin),
            steps: self.keep(&tables::steps(analysis, &whose, all))?,
            collectives: self.keep(&tables::collectives(
                analysis,
                &whose,
                all,
                &collectives,
                &none,
            ))?,
            waits: self.keep(&tables::waits(analysis, &whose, all))?,
            kernels: self.keep(&tables::kernels(analysis, &whose, all))?,
            spans,
        })
    }

    /// Lets rows wait on disk; nothing where there are none.
    fn keep<R: Row>(&self, rows: &[R]) -> io::Result<Vec<Waiting>> {
        match rows.is_empty() {
            true => Ok(Vec::new()),
            false => Ok(vec![self.scratch.put(&Block::of(rows).bytes())?]),
        }
    }

    /// The digest of a file, or of the archive that it lies in.
    fn digest(&self, path: &Path) -> io::Result<Option<Arc<str>>> {
        let file = path.ancestors().find(|p| p.is_file());
        let Some(file) = file.filter(|_| self.args.hash) else {
            return Ok(None);
        };
        let known = || self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = known().get(file) {
            return Ok(Some(Arc::clone(digest)));
        }
        let digest: Arc<str> = sha256_of(file, self.progress)?.into();
        known().insert(file.to_owned(), Arc::clone(&digest));
        Ok(Some(digest))
    }
}

impl Onlooker for Out<'_> {
    fn see(&self, rank: &OpenRank<'_>) -> usize {
        let made = self.rows_of(rank);
        match made {
            Ok(made) => {
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.push(made);
                seen.len() - 1
            }
            Err(error) => {
                // Whatever else is opened would be lost as well.
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(error);
                self.progress.cancel();
                usize::MAX
            }
        }
    }
}

/// Puts what matching tells into the collectives of a rank.
fn put_matched(block: &mut Block, cells: &[Option<MatchedCells>]) {
    let part = |cell: &Option<MatchedCells>| cell.as_ref().map(|c| c.part);
    let parts: Vec<_> = cells.iter().map(part).collect();
    let ns = |ns: Option<i64>| ns.map_or(Value::Null, Value::I64);
    block.put::<CollectivesRow>("wait", parts.iter().map(|p| ns(p.map(|p| p.wait))));
    block.put::<CollectivesRow>("cost", parts.iter().map(|p| ns(p.map(|p| p.cost))));
    let late = parts
        .iter()
        .map(|p| p.map_or(Value::Null, |p| Value::Bool(p.late)));
    block.put::<CollectivesRow>("late", late);
    let other = |cell: &Option<MatchedCells>| cell.as_ref().and_then(|c| c.key.clone());
    let others: Vec<Option<Arc<str>>> = cells.iter().map(other).collect();
    if others.iter().any(Option::is_some) {
        let at = CollectivesRow::COLUMNS.iter().position(|c| c.name == "key");
        let Some(old) = at.map(|at| block.columns()[at].clone()) else {
            return;
        };
        let own = old
            .values
            .iter()
            .map(|&at| usize::try_from(at).unwrap_or(0));
        let keys = own
            .zip(&others)
            .map(|(own, other)| other.as_ref().unwrap_or(&old.texts[own]));
        block.put::<CollectivesRow>("key", keys.map(|key| Value::Text(key)));
    }
}

fn notice(run: &Arc<str>, rank: Option<u32>, told: &Told) -> NoticesRow {
    NoticesRow {
        run: Arc::clone(run),
        rank: rank.map(|r| i32::try_from(r).unwrap_or(i32::MAX)),
        file: told.file.as_ref().map(|f| f.to_string_lossy().into()),
        level: told.level.key(),
        code: told.code.as_str().into(),
        count: i64::try_from(told.count).unwrap_or(i64::MAX),
        text: told.text.as_str().into(),
    }
}

fn text_of(runs: &Map<String, Json>) -> Vec<u8> {
    let json = json!({"schema": SCHEMA, "version": env!("CARGO_PKG_VERSION"), "runs": runs});
    let mut text = format!("{json:#}").into_bytes();
    text.push(b'\n');
    text
}

/// Whether a run is a later recording of one: `before#2`.
fn is_nth(run: &str, first: &str) -> bool {
    let number = run.strip_prefix(first).and_then(|n| n.strip_prefix('#'));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn first_line(text: &str) -> String {
    printable(text.lines().next().unwrap_or(""))
}

fn usage(folder: &Path, what: &str) -> CliError {
    let folder = printable(&folder.display().to_string());
    CliError::Usage(format!("No tables are written: `{folder}` {what}."))
}

fn not_written(folder: &Path, error: io::Error) -> CliError {
    CliError::File {
        what: "The tables cannot be written",
        error,
        path: folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_recordings_are_known_by_their_names() {
        assert!(is_nth("before#12", "before") && !is_nth("before", "before"));
        assert!(!is_nth("before#x", "before") && !is_nth("after#2", "before"));
    }
}
