//! `stallscope report --html`: one file to send.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use super::super::analyse::{self, Analysed};
use super::super::args::{Report, Scope};
use super::super::both::Both;
use super::super::png::name_of;
use super::super::recordings::{self, Recorded};
use super::super::table::{bytes, printable};
use super::super::{CliError, EXIT_INCONCLUSIVE, load};
use super::{json, options};
use crate::analysis::Analysis;
use crate::analysis::compare::{Alike, CompareOptions, Comparison, Recording, compare};
use crate::export::html::{Before, HtmlInput, Privacy, html};
use crate::import::{Progress, sha256_of};
use crate::output;

/// What a report begins with.
const BEGINS: &[u8] = b"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>";

/// Writes the file. The exit code is 4 where the two recordings cannot be compared.
pub fn run(args: &Report, output: &Path, out: &mut dyn Write) -> Result<u8, CliError> {
    let to_stdout = output.as_os_str() == "-";
    let before = args.html.before.as_deref().map(recordings::files);
    let named = args.input.paths.iter().chain(before.iter().flatten());
    if !to_stdout {
        spare(output, named.chain(&args.scope.rules).map(AsRef::as_ref))?;
    }
    let (own, old) = open(args)?;
    let a = &own;
    let old_analysis = old.as_ref().and_then(|o| o.analysed.as_ref());
    let old_analysis = old_analysis.map(|o| &o.analysis);
    let sides: Vec<&Analysis> = old_analysis.into_iter().chain([&a.analysis]).collect();
    if !to_stdout {
        let sources = sides.iter().flat_map(|a| a.trace().sources());
        spare(output, sources.map(|s| s.path.as_ref()))?;
    }
    let runs = a.analysis.identity().runs.len();
    if runs > 1 && a.rank.is_none() {
        return Err(CliError::Usage(format!(
            "There are {runs} runs, and nothing holds for several runs together: open one of them, or one rank with --rank."
        )));
    }
    let privacy = match args.html.show_paths {
        true => Privacy::everything(),
        false => Privacy::of(&sides),
    };
    // As `report --json --brief` prints it.
    let report = json(a, &options(a, None, true)).into_value();
    let names = before
        .as_ref()
        .map(|b| [name_of(b), name_of(&args.input.paths)]);
    let compared = old.as_ref().zip(names.as_ref()).map(|(old, names)| Before {
        analysis: old_analysis,
        recordings: old.recordings.each_ref(),
        names: names.each_ref().map(String::as_str),
        found: &old.found,
    });
    let saved = before.iter().flatten().filter(|_| old_analysis.is_none());
    let read = sides.iter().flat_map(|a| a.trace().sources());
    let read = read.map(|source| source.path.as_path());
    let files = files(saved.map(PathBuf::as_path).chain(read), args.html.hash);
    let page = html(&HtmlInput {
        analysis: &a.analysis,
        window: a.window,
        chosen: a.chosen,
        rank: a.rank,
        title: &name_of(&args.input.paths),
        files: &files,
        command: &command(args, output, before.as_deref()),
        report: &report,
        before: compared,
        privacy: &privacy,
    });
    let path = if to_stdout {
        out.write_all(page.as_bytes())?;
        "Report".to_owned()
    } else {
        output::write(output, page.as_bytes()).map_err(|error| CliError::File {
            what: "The report cannot be written",
            error,
            path: output.to_owned(),
        })?;
        printable(&output.display().to_string())
    };
    let size = bytes(page.len() as u64);
    let headline = old
        .as_ref()
        .map_or(String::new(), |o| format!(". {}", o.found.headline()));
    let _ = writeln!(std::io::stderr().lock(), "{path}: {size}{headline}");
    let refused = old.is_some_and(|o| o.found.refused.is_some());
    Ok(if refused { EXIT_INCONCLUSIVE } else { 0 })
}

/// Refuses to write over what is read.
fn spare<'a>(output: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<(), CliError> {
    let Some(conflict) = output::conflict(output, BEGINS, inputs) else {
        return Ok(());
    };
    Err(CliError::Usage(format!(
        "The report is not written: {}. Choose another file for --html.",
        printable(&conflict.to_string())
    )))
}

/// The recording before the change.
struct Old {
    /// Its trace; none of a saved report.
    analysed: Option<Analysed>,
    /// What is compared: before, after.
    recordings: [Recording; 2],
    /// What may be said.
    found: Comparison,
}

/// Opens what the report is about, and what it is compared with.
fn open(args: &Report) -> Result<(Analysed, Option<Old>), CliError> {
    let read = |scope: &Scope| {
        let opened = load::open(&args.input.paths, &args.input.open)?;
        analyse::analyse(opened, scope)
    };
    let Some(before) = &args.html.before else {
        return Ok((read(&args.scope)?, None));
    };
    if recordings::is_report(before) {
        return beside_saved(args, before, &read);
    }
    let files = [recordings::files(before), args.input.paths.clone()];
    let Both { sides, found } = Both::open(&files, &args.input.open, &args.scope)?;
    let [(old, before), (own, after)] = sides;
    let old = Old {
        analysed: Some(old),
        recordings: [before, after],
        found,
    };
    Ok((own, Some(old)))
}

/// Beside a report that was saved: the trace is read again where its steps must be of the class of that one's.
fn beside_saved(
    args: &Report,
    before: &Path,
    read: &dyn Fn(&Scope) -> Result<Analysed, CliError>,
) -> Result<(Analysed, Option<Old>), CliError> {
    let old = Recorded::read(before, &args.input.open, &args.scope)?.recording;
    let recording = |a: &Analysed| Recorded::of(Path::new(""), a).recording;
    let mut own = read(&args.scope)?;
    let mut new = recording(&own);
    let alike = Alike::of(from_ref(&old), from_ref(&new), None);
    if alike.recomputed[1] {
        own = read(&Scope {
            steps: alike.class,
            ..args.scope.clone()
        })?;
        new = recording(&own);
    }
    let options = CompareOptions {
        alike,
        ..CompareOptions::default()
    };
    let found = compare(from_ref(&old), from_ref(&new), &options);
    let old = Old {
        analysed: None,
        recordings: [old, new],
        found,
    };
    Ok((own, Some(old)))
}

/// The files that were read, before first, with their digests where those are asked for.
fn files<'a>(paths: impl Iterator<Item = &'a Path>, hash: bool) -> Vec<String> {
    let one = |path: &Path| {
        let name = path.display().to_string();
        match hash.then(|| sha256_of(path, &Progress::new())) {
            None => name,
            Some(Ok(digest)) => format!("{name} · SHA-256 {digest}"),
            Some(Err(error)) => format!("{name} · no digest: {error}"),
        }
    };
    paths.map(one).collect()
}

/// The command that makes the page again, as a shell reads it.
fn command(args: &Report, output: &Path, before: Option<&[PathBuf]>) -> String {
    let mut words = vec!["stallscope".to_owned(), "report".to_owned()];
    let word = |path: &Path| match (args.html.show_paths, path.file_name()) {
        (false, Some(name)) => name.to_string_lossy().into_owned(),
        _ => path.display().to_string(),
    };
    words.extend(args.input.paths.iter().map(|p| word(p)));
    words.extend(["--html".to_owned(), word(output)]);
    if let Some(before) = before {
        let files: Vec<String> = before.iter().map(|p| word(p)).collect();
        words.extend(["--before".to_owned(), files.join("+")]);
    }
    let Scope {
        range,
        rank,
        rules,
        steps: _,
        loop_lanes,
        max_drift,
        trust_clocks,
    } = &args.scope;
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|v| [name.to_owned(), v]));
    };
    option("--range", range.clone());
    option("--rank", rank.map(|r| r.to_string()));
    option("--rules", rules.as_deref().map(word));
    for lane in loop_lanes {
        option("--loop", Some(lane.clone()));
    }
    option("--max-drift", max_drift.map(|ppm| ppm.to_string()));
    if *trust_clocks {
        words.push("--trust-clocks".to_owned());
    }
    if args.html.show_paths {
        words.push("--paths".to_owned());
    }
    if args.html.hash {
        words.push("--hash".to_owned());
    }
    let words: Vec<String> = words.into_iter().map(quoted).collect();
    words.join(" ")
}

/// A word as a shell takes it for one.
fn quoted(word: String) -> String {
    let safe = |c: char| c.is_alphanumeric() || "-_./+:=,@%~…".contains(c);
    match !word.is_empty() && word.chars().all(safe) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
