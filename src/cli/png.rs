//! `stallscope png`: the timeline as a picture, without a display.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use super::analyse;
use super::args::{Lanes, Png, Scope};
use super::table::printable;
use super::{CliError, load};
use crate::analysis::counted;
use crate::export::png::{self, PngError, PngOptions};
use crate::output;
use crate::view::{Lod, RowState, RowTree, Rows, instants_out_of_view};

/// Runs the command. Says on stderr what was written; stdout stays empty, or is the picture (`-o -`).
pub fn run(args: &Png, out: &mut dyn Write) -> Result<u8, CliError> {
    let to_stdout = args.output.as_os_str() == "-";
    if to_stdout && std::io::stdout().is_terminal() {
        return Err(CliError::Usage(
            "A picture is nothing for a terminal: write it to a file with -o FILE, or send it on with `-o - | …`."
                .to_owned(),
        ));
    }
    if !to_stdout {
        let named = args.input.paths.iter().chain(&args.rules);
        spare(&args.output, named.map(AsRef::as_ref))?;
    }
    let scope = Scope {
        range: args.range.clone(),
        rank: None,
        rules: args.rules.clone(),
        ..Scope::default()
    };
    let opened = load::open(&args.input.paths, &args.input.open)?;
    let a = analyse::analyse(opened, &scope)?;
    let trace = a.analysis.trace();
    if !to_stdout {
        // A folder that was named may lead to files elsewhere.
        spare(
            &args.output,
            trace.sources().iter().map(|s| s.path.as_ref()),
        )?;
    }
    let lod = Arc::new(Lod::build(trace, &a.analysis));
    let hidden = if a.chosen {
        0
    } else {
        instants_out_of_view(trace, &lod)
    };
    let tree = Arc::new(RowTree::new(trace, &a.analysis, lod));
    let rows = Rows::new(tree, &RowState::default());
    let options = PngOptions {
        range: a.chosen.then_some(a.window),
        width: args.width,
        scale: args.scale,
        theme: args.theme.clone(),
        lanes: match args.lanes {
            Lanes::Shown => png::Lanes::AsShown,
            Lanes::All => png::Lanes::All,
            Lanes::Band => png::Lanes::Band,
        },
        title: Some(title(args)),
        ..PngOptions::default()
    };
    let picture = png::render_png(trace, &a.analysis, &rows, &options).map_err(|e| match e {
        PngError::Encode(error) => CliError::Output(std::io::Error::other(error)),
        other => CliError::Usage(format!("{other}.")),
    })?;
    if to_stdout {
        out.write_all(&picture.png)?;
    } else {
        output::write(&args.output, &picture.png).map_err(|error| CliError::File {
            what: "The picture cannot be written",
            error,
            path: args.output.clone(),
        })?;
    }
    let size = picture.layout;
    let mut fits = size.notice().map_or(String::new(), |n| format!("; {n}"));
    if hidden > 0 {
        let instants = counted(hidden, "instant");
        fits += &format!("; {instants} before the first or after the last span not shown");
    }
    let path = if to_stdout {
        "Picture".to_owned()
    } else {
        printable(&args.output.display().to_string())
    };
    let _ = writeln!(
        std::io::stderr().lock(),
        "{path}: {} × {} pixels{fits}",
        size.width,
        size.height
    );
    Ok(0)
}

/// Refuses to write a picture over what is read.
fn spare<'a>(output: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<(), CliError> {
    let Some(conflict) = output::conflict(output, &png::SIGNATURE, inputs) else {
        return Ok(());
    };
    Err(CliError::Usage(format!(
        "The picture is not written: {}. Choose another file for -o.",
        printable(&conflict.to_string())
    )))
}

/// The name of the first path, and how many more there are.
fn title(args: &Png) -> String {
    let first = &args.input.paths[0];
    let name = first
        .file_name()
        .unwrap_or(first.as_os_str())
        .to_string_lossy();
    match args.input.paths.len() {
        1 => printable(&name),
        n => format!("{} + {}", printable(&name), n - 1),
    }
}
