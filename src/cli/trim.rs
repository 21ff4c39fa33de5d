//! `stallscope export --trim`: a window of a trace as a trace of its own.

use std::io::Write;

use serde_json::{Map, Value};

use super::analyse::{self, Analysed};
use super::args::Export;
use super::spare::spare;
use super::table::{bytes, printable};
use super::{CliError, EXIT_INCONCLUSIVE, load};
use crate::export::trim::{self, Original, Part, Trimmed};
use crate::import::{LoadError, Progress, cut_text};
use crate::model::{Cut, SourceId, SpanId};
use crate::output;
use crate::time::{TimeRange, format_count, format_ns, parse_range};

/// Runs the command. Says on stderr what was written.
pub fn run(args: &Export, out: &mut dyn Write) -> Result<u8, CliError> {
    let to_stdout = args.output.as_os_str() == "-";
    if let Some(wrong) = trim::wrong_ending(&args.output).filter(|_| !to_stdout) {
        return Err(CliError::Usage(printable(&wrong)));
    }
    let named = args.input.paths.iter().chain(&args.scope.rules);
    if !to_stdout {
        // Of two traces in a folder that is read nobody can tell which one may be replaced.
        spare(
            "The trace",
            &args.output,
            b"",
            named.clone().map(AsRef::as_ref),
        )?;
    }
    let opened = load::open(&args.input.paths, &args.input.open)?;
    let a = analyse::analyse_as(opened, &args.scope, false)?;
    let trace = a.analysis.trace();
    let window = window(args, trace.extent())?;
    if let Some(ns) = trim::unrecorded(&a.analysis, window) {
        tell(&format!(
            "For {} of this window GPU work was launched and not recorded; a smaller trace would show the GPU idle there. Nothing is written.",
            format_ns(ns)
        ));
        return Ok(EXIT_INCONCLUSIVE);
    }
    let parts = parts(&a, to_stdout)?;
    let path_of = |part: &Part| trim::path_of(&args.output, part.rank);
    for part in parts.iter().filter(|_| !to_stdout) {
        // Of several ranks it has another name than was asked for, and a folder that was named may lead to files elsewhere.
        let read = trace.sources().iter().map(|s| s.path.as_ref());
        let read = named.clone().map(AsRef::as_ref).chain(read);
        spare("The trace", &path_of(part), b"", read)?;
    }
    let mut written = 0;
    for part in &parts {
        let made = trim::trim(&a.analysis, part, window, &mut Files(&a))?;
        let Some(made) = made else {
            let of = part.rank.map_or(String::new(), |r| format!(" of rank {r}"));
            tell(&format!(
                "No span{of} lies between {} and {}: nothing is written. The trace is {} long.",
                format_ns(window.start.saturating_sub(trace.extent().start)),
                format_ns(window.end.saturating_sub(trace.extent().start)),
                format_ns(trace.extent().len()),
            ));
            continue;
        };
        written += 1;
        let about = about(&made);
        if to_stdout {
            out.write_all(&made.text)?;
            tell(&format!("Trace: {about}"));
            continue;
        }
        let path = path_of(part);
        let packed = trim::packed(made.text, &path);
        output::write(&path, &packed).map_err(|error| CliError::File {
            what: "The trace cannot be written",
            error,
            path: path.clone(),
        })?;
        let (path, size) = (path.display().to_string(), bytes(packed.len() as u64));
        tell(&format!("{}: {size}, {about}", printable(&path)));
    }
    let whole = !a.losses.unread && !a.losses.incomplete;
    if !whole && written > 0 {
        tell(
            "Warning: what the recording lost is not told in the saved window: say it with it, or look at the recording itself.",
        );
    }
    match written == parts.len() && whole {
        true => Ok(0),
        false => Ok(EXIT_INCONCLUSIVE),
    }
}

/// The part of the trace that is asked for; it may lie where nothing is.
fn window(args: &Export, extent: TimeRange) -> Result<TimeRange, CliError> {
    let text = args.trim.as_deref().unwrap_or("..");
    let whole = TimeRange::new(0, extent.len().max(1));
    let asked = parse_range(text, whole).map_err(|e| CliError::Usage(e.to_string()))?;
    Ok(TimeRange {
        start: asked.start.saturating_add(extent.start),
        end: asked.end.saturating_add(extent.start),
    })
}

/// The files that become of the trace.
fn parts(a: &Analysed, to_stdout: bool) -> Result<Vec<Part>, CliError> {
    let mut parts = trim::parts(&a.analysis);
    if let Some(rank) = a.number() {
        if a.analysis.ranks().len() > 1 && parts.len() == 1 {
            let text = "--rank: one file holds several ranks, which can only be saved together.";
            return Err(CliError::Usage(text.to_owned()));
        }
        parts.retain(|part| part.rank.is_none_or(|r| r == rank));
    }
    if to_stdout && parts.len() > 1 {
        let text = "Several ranks become one file each: write them with -o FILE, or choose one with --rank.";
        return Err(CliError::Usage(text.to_owned()));
    }
    Ok(parts)
}

fn about(made: &Trimmed) -> String {
    let (kept, all) = made.spans;
    let how = match made.copied {
        true => "events as they were",
        false => "written anew",
    };
    format!(
        "{} of {} spans, {how}",
        format_count(kept),
        format_count(all)
    )
}

fn tell(text: &str) {
    // A closed stderr is nobody's problem.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// The files of the trace, to be read again.
struct Files<'a>(&'a Analysed);

impl Original for Files<'_> {
    type Error = LoadError;

    fn text(&mut self, source: SourceId, cut: &Cut) -> Result<Option<Vec<u8>>, LoadError> {
        cut_text(self.0.analysis.trace(), source, cut, &Progress::new())
    }

    fn args(&mut self, span: SpanId) -> Result<Option<Map<String, Value>>, LoadError> {
        self.0.args.read(span)
    }
}
