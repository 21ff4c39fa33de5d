//! `stallscope ranks --png`: what ranks cost the others, step by step, as a picture.

use std::path::PathBuf;

use super::args::{Ranks as Args, Sort};
use super::messages::{note, warn};
use super::png::failed;
use super::table::printable;
use super::{CliError, spare};
use crate::export::png::{SIGNATURE, render_ranks};
use crate::output;
use crate::ranks::Ranks;
use crate::view::{RankOrder, RanksInput, fitting_row_height};

/// Height that the rows take, if they can, points.
const ROWS: f32 = 1_200.0;

/// Refuses to draw over what is read, and between what is printed.
pub fn spare<'a>(args: &Args, inputs: impl Iterator<Item = &'a PathBuf>) -> Result<(), CliError> {
    match &args.png {
        Some(png) if png.as_os_str() == "-" => Err(CliError::Usage(
            "The picture cannot go to stdout, where the ranks are printed: name a file for --png."
                .to_owned(),
        )),
        Some(png) => spare::spare("The picture", png, &SIGNATURE, inputs.map(AsRef::as_ref)),
        None => Ok(()),
    }
}

/// Draws the first run, where that was asked for; says on stderr what was written. Where nobody can be told to be late
/// nothing is drawn: it would look as if nobody was.
pub fn draw(args: &Args, all: &Ranks) -> Result<(), CliError> {
    let Some((png, run)) = args.png.as_ref().zip(all.runs.first()) else {
        return Ok(());
    };
    if run.untold() {
        warn(&format!(
            "{}: no picture was drawn: no collectives of the ranks could be matched, so who is late cannot be told.",
            png.display()
        ));
        return Ok(());
    }
    // A folder that was named may lead to files elsewhere.
    let files = all.runs.iter().flat_map(|r| &r.files);
    spare(args, files.flat_map(|f| &f.paths))?;
    let input = RanksInput {
        across: &run.across,
        name: &printable(&run.name),
        order: match args.sort {
            Sort::Cost => RankOrder::Cost,
            Sort::Number => RankOrder::Number,
        },
        theme: &args.theme,
        width: args.width as f32,
        row_height: fitting_row_height(run.across.rows.len(), ROWS),
        shows: None,
        marked: None,
    };
    let drawn = render_ranks(&input).map_err(failed)?;
    output::write(png, &drawn.png).map_err(|error| CliError::File {
        what: "The picture cannot be written",
        error,
        path: png.clone(),
    })?;
    let others = match all.runs.len() {
        0 | 1 => String::new(),
        n => format!("; the first of {n} runs"),
    };
    let size = drawn.layout;
    note(&format!(
        "{}: {} × {} pixels{others}",
        png.display(),
        size.width,
        size.height
    ));
    Ok(())
}
