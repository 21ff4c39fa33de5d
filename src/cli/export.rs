//! `stallscope export`: the rows of one table of a trace, for other programs.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::analyse::{self, Analysed};
use super::args::Export;
use super::spare::spare;
use super::table::{bytes, printable};
use super::{CliError, EXIT_INCONCLUSIVE, load};
use crate::analysis::{LayerId, LayerInfo, counted};
use crate::export::tables::CsvWriter;
#[cfg(feature = "parquet")]
use crate::export::tables::{BEGINS, ParquetWriter};
use crate::output::NewFile;
#[cfg(feature = "parquet")]
use crate::tables::Block;
use crate::tables::{self, Row, SpanTable, Whose};

/// Rows of spans that are made at once: a row group.
const AT_ONCE: usize = 65_536;

/// Runs the command. Says on stderr what was written.
pub fn run(args: &Export, out: &mut dyn Write) -> Result<u8, CliError> {
    let target = Target::of(args)?;
    let named = args.input.paths.iter().chain(&args.scope.rules);
    target.spare(named.map(AsRef::as_ref))?;
    let opened = load::open(&args.input.paths, &args.input.open)?;
    let a = analyse::analyse(opened, &args.scope)?;
    // A folder that was named may lead to files elsewhere.
    let read = a.analysis.trace().sources().iter();
    target.spare(read.map(|s| s.path.as_ref()))?;
    let table = Table {
        layers: layers(a.analysis.layers().infos(), &args.layers)?,
        name: args
            .run
            .clone()
            .unwrap_or_else(|| run_name(&args.input.paths)),
        a: &a,
        target: &target,
    };
    if args.steps {
        let none = "no steps of a training loop";
        table.of_ranks(out, none, |whose| {
            tables::steps(&a.analysis, whose, a.window)
        })
    } else if args.waits {
        let none = "no waits of a training loop for data";
        table.of_ranks(out, none, |whose| {
            tables::waits(&a.analysis, whose, a.window)
        })
    } else if args.kernels {
        let none = "no GPU operations in judged steps";
        table.of_ranks(out, none, |whose| {
            let mut rows = tables::kernels(&a.analysis, whose, a.window);
            let infos = a.analysis.layers().infos();
            let asked = |name: &str| {
                let mut asked = table.layers.iter();
                asked.any(|l| infos[l.index()].name == name)
            };
            rows.retain(|r| args.layers.is_empty() || asked(&r.layer));
            rows
        })
    } else if args.collectives {
        table.of_collectives(out)
    } else {
        table.of_spans(out)
    }
}

/// Where the rows go.
struct Target<'a> {
    path: &'a Path,
    form: Form,
}

/// In which form they are written.
#[derive(Clone, Copy)]
enum Form {
    Csv {
        raw: bool,
    },
    #[cfg(feature = "parquet")]
    Parquet,
}

impl<'a> Target<'a> {
    fn of(args: &'a Export) -> Result<Self, CliError> {
        let path = &args.output;
        let end = path.extension().unwrap_or_default().to_ascii_lowercase();
        let form = match end.to_str() {
            Some("csv") => Form::Csv { raw: args.raw },
            _ if path.as_os_str() == "-" => Form::Csv { raw: args.raw },
            #[cfg(feature = "parquet")]
            Some("parquet") if !args.raw => Form::Parquet,
            #[cfg(feature = "parquet")]
            Some("parquet") => {
                let text = "--raw is for CSV: in Parquet text always is as it was.";
                return Err(CliError::Usage(text.to_owned()));
            }
            #[cfg(not(feature = "parquet"))]
            Some("parquet") => {
                let text = "This program was built without Parquet: write a .csv, or build it with the feature `parquet`.";
                return Err(CliError::Usage(text.to_owned()));
            }
            _ => {
                return Err(CliError::Usage(format!(
                    "`{}` says no form: write -o FILE.parquet, -o FILE.csv, or -o - for CSV on stdout.",
                    printable(&path.display().to_string())
                )));
            }
        };
        Ok(Self { path, form })
    }

    fn is_stdout(&self) -> bool {
        self.path.as_os_str() == "-"
    }

    fn spare<'b>(&self, inputs: impl IntoIterator<Item = &'b Path>) -> Result<(), CliError> {
        let begins: &[u8] = match self.form {
            Form::Csv { .. } => b"run,rank,",
            #[cfg(feature = "parquet")]
            Form::Parquet => BEGINS,
        };
        match self.is_stdout() {
            true => Ok(()),
            false => spare("The table", self.path, begins, inputs),
        }
    }

    /// Writes rows; how many there were.
    fn write<R: Row + Send>(
        &self,
        #[cfg_attr(
            not(feature = "parquet"),
            expect(unused_variables, reason = "CSV has it in a column alone")
        )]
        run: &str,
        rows: impl Iterator<Item = Vec<R>>,
        out: &mut dyn Write,
    ) -> io::Result<u64> {
        let mut n = 0_u64;
        match self.form {
            Form::Csv { raw } if self.is_stdout() => {
                let mut csv = CsvWriter::new(out, raw)?;
                for rows in rows {
                    csv.add(&rows)?;
                    n += rows.len() as u64;
                }
                csv.finish()?;
            }
            Form::Csv { raw } => {
                let file = BufWriter::new(NewFile::begin(self.path)?);
                let mut csv = CsvWriter::new(file, raw)?;
                for rows in rows {
                    csv.add(&rows)?;
                    n += rows.len() as u64;
                }
                let file = csv.finish()?.into_inner().map_err(|e| e.into_error())?;
                file.finish()?;
            }
            #[cfg(feature = "parquet")]
            Form::Parquet => {
                let mut parquet = ParquetWriter::<R, _>::new(NewFile::begin(self.path)?, run)?;
                for rows in rows {
                    n += rows.len() as u64;
                    parquet.add(Block::of(&rows))?;
                }
                parquet.finish()?.finish()?;
            }
        }
        Ok(n)
    }
}

/// One table to be written.
struct Table<'a> {
    a: &'a Analysed,
    target: &'a Target<'a>,
    /// Of the run.
    name: String,
    /// Layers asked for; empty: all.
    layers: Vec<LayerId>,
}

impl Table<'_> {
    /// Rows that are made rank by rank; `none` says what is missing where the trace has none.
    fn of_ranks<R: Row + Send>(
        &self,
        out: &mut dyn Write,
        none: &str,
        rows: impl Fn(&Whose) -> Vec<R>,
    ) -> Result<u8, CliError> {
        let of_rank = |rank| rows(&self.whose(rank));
        let all: Vec<Vec<R>> = self.a.ranks().into_iter().map(of_rank).collect();
        // A part of a trace may hold nothing, which is an answer.
        if !self.a.chosen && all.iter().all(Vec::is_empty) {
            return Ok(self.nothing(none));
        }
        self.write(out, all.into_iter())
    }

    fn of_collectives(&self, out: &mut dyn Write) -> Result<u8, CliError> {
        let (analysis, args) = (&self.a.analysis, self.a.args());
        // Keys are those of all ranks, also where only one is asked for.
        let ranks = 0..analysis.ranks().len();
        let all: Vec<_> = ranks.map(|r| analysis.rank_collectives(r, &args)).collect();
        let named: Vec<_> = all.iter().enumerate().collect();
        let by_step = tables::keys_by_step(analysis, &named);
        self.of_ranks(out, "no collectives", |whose| {
            tables::collectives(analysis, whose, self.a.window, &all[whose.rank], &by_step)
        })
    }

    fn of_spans(&self, out: &mut dyn Write) -> Result<u8, CliError> {
        let args = self.a.args();
        let mut table = SpanTable::new(&self.a.analysis, &args);
        let mut ranks: Vec<Option<usize>> = self.a.ranks().into_iter().map(Some).collect();
        if self.a.rank.is_none() {
            ranks.push(None);
        }
        let mut parts = Vec::new();
        for rank in ranks {
            let run = rank.map_or_else(|| self.name.as_str().into(), |r| self.whose(r).run);
            let ids = table.of(rank, self.a.window, &self.layers);
            let chunks = ids.chunks(AT_ONCE);
            parts.extend(chunks.map(|c| (Arc::clone(&run), rank, c.to_vec())));
        }
        if !self.a.chosen && parts.is_empty() {
            return Ok(self.nothing("no spans of these layers"));
        }
        let rows = parts.into_iter();
        self.write(
            out,
            rows.map(|(run, rank, ids)| table.rows(&run, rank, &ids)),
        )
    }

    fn whose(&self, rank: usize) -> Whose {
        let who = self.a.analysis.identity();
        let number = self.a.analysis.ranks()[rank].rank;
        let run = who.training(number).map_or(0, |p| who.processes[p].run);
        let name = match run {
            0 => self.name.clone(),
            // Ranks of different runs are never mixed.
            later => format!("{}#{}", self.name, later + 1),
        };
        Whose {
            run: name.into(),
            rank,
        }
    }

    fn nothing(&self, none: &str) -> u8 {
        let of = self
            .a
            .number()
            .map_or_else(|| "The record has".to_owned(), |n| format!("Rank {n} has"));
        let _ = writeln!(io::stderr().lock(), "{of} {none}: no table was written.");
        EXIT_INCONCLUSIVE
    }

    fn write<R: Row + Send>(
        &self,
        out: &mut dyn Write,
        rows: impl Iterator<Item = Vec<R>>,
    ) -> Result<u8, CliError> {
        let path = self.target.path;
        let n = self.target.write(&self.name, rows, out);
        if self.target.is_stdout() {
            n?;
            return Ok(0);
        }
        let n = n.map_err(|error| CliError::File {
            what: "The table cannot be written",
            error,
            path: path.to_owned(),
        })?;
        let size = std::fs::metadata(path).map_or(0, |m| m.len());
        let _ = writeln!(
            io::stderr().lock(),
            "{}: {} of the table `{}`, {}",
            printable(&path.display().to_string()),
            counted(n, "row"),
            R::TABLE,
            bytes(size)
        );
        Ok(0)
    }
}

/// The layers of names: each of them itself, or those that it begins.
pub(super) fn layers(infos: &[LayerInfo], names: &[String]) -> Result<Vec<LayerId>, CliError> {
    let mut out = Vec::new();
    for name in names {
        let group = format!("{name}.");
        let own = (0_u16..).zip(infos);
        let own = own.filter(|(_, i)| i.name == *name || i.name.starts_with(&group));
        let found: Vec<LayerId> = own.map(|(i, _)| LayerId(i)).collect();
        if found.is_empty() {
            let known: Vec<&str> = infos.iter().map(|i| i.name.as_str()).collect();
            return Err(CliError::Usage(format!(
                "There is no layer `{}`; there are: {}.",
                printable(name),
                known.join(", ")
            )));
        }
        out.extend(found);
    }
    Ok(out)
}

/// The name of a run: that of the first path, without what says its form.
fn run_name(paths: &[PathBuf]) -> String {
    let first = paths
        .first()
        .map(|p| p.canonicalize().unwrap_or_else(|_| p.clone()));
    let name = first
        .as_deref()
        .and_then(Path::file_name)
        .unwrap_or_default();
    let name = name.to_string_lossy();
    let mut short = &*name;
    for end in [".gz", ".json", ".pfw", ".sqlite", ".csv", ".pt.trace"] {
        short = short
            .strip_suffix(end)
            .filter(|s| !s.is_empty())
            .unwrap_or(short);
    }
    short.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_after_files() {
        let name = |path: &str| run_name(&[PathBuf::from(path)]);
        assert_eq!(name("x/rank3.pt.trace.json.gz"), "rank3");
        assert_eq!(name("a.sqlite"), "a");
        assert_eq!(name(".json"), ".json");
        assert_eq!(name("x/run.1"), "run.1");
    }
}
