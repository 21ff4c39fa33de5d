//! `stallscope png AFTER --before BEFORE` and the same of `svg`: what changed, as a picture.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::args::{Picture, Scope};
use super::both::Both;
use super::messages::warn;
use super::table::printable;
use super::{CliError, EXIT_INCONCLUSIVE, png, recordings};
use crate::analysis::compare::Comparison;
use crate::export::png::{POINTS_PER_INCH, SIGNATURE, render_comparison};
use crate::export::svg::render_comparison_svg;
use crate::output;
use crate::view::{CompareInput, CompareSide, Lod, RowTree};

/// Runs the command: as pixels, so many per point and per inch, else as a drawing. The exit code is 4 where the two cannot
/// be compared.
pub fn run(
    picture: &Picture,
    before: &Path,
    pixels: Option<(f32, u32)>,
    out: &mut dyn Write,
) -> Result<u8, CliError> {
    let begins: &[u8] = match pixels {
        Some(_) => &SIGNATURE,
        None => b"<svg xmlns=",
    };
    let (scale, dpi) = pixels.unwrap_or((1.0, POINTS_PER_INCH as u32));
    let sheet = &png::sheet(picture, scale, dpi)?;
    let to_stdout = png::to_stdout(&picture.output)?;
    let files = [recordings::files(before), picture.paths.clone()];
    if !to_stdout {
        let named = files.iter().flatten().chain(&picture.rules);
        png::spare(&picture.output, begins, named.map(AsRef::as_ref))?;
    }
    let scope = Scope {
        rules: picture.rules.clone(),
        loop_lanes: picture.loop_lanes.clone(),
        ..Scope::default()
    };
    let Both { sides, found } = Both::open(&files, &picture.open, &scope)?;
    if !to_stdout {
        let sources = sides.iter().flat_map(|s| s.0.analysis.trace().sources());
        png::spare(&picture.output, begins, sources.map(|s| s.path.as_ref()))?;
    }
    let trees = sides.each_ref().map(|(a, _)| {
        let trace = a.analysis.trace();
        let lod = Arc::new(Lod::build(trace, &a.analysis));
        Arc::new(RowTree::new(trace, &a.analysis, lod))
    });
    let names = files.each_ref().map(|f| png::name_of(f));
    let side = |i: usize| CompareSide {
        trace: sides[i].0.analysis.trace(),
        analysis: &sides[i].0.analysis,
        tree: &trees[i],
        recording: &sides[i].1,
        name: &names[i],
    };
    let input = CompareInput {
        sides: [side(0), side(1)],
        found: &found,
        rank: rank(&found, picture.rank)?,
        steps: [None, None],
        window: None,
        theme: &picture.theme,
        width: sheet.inner_width(),
        header_width: 232.0_f32.min(sheet.inner_width() * 0.32),
        pixels_per_point: sheet.pixels_per_point(),
    };
    if found.refused.is_some() {
        warn(&found.headline());
        return Ok(EXIT_INCONCLUSIVE);
    }
    let drawn = match pixels {
        Some(_) => render_comparison(&input, sheet).map(|made| (made.png, made.layout)),
        None => {
            let title = format!("{} → {}", names[0], names[1]);
            let made = render_comparison_svg(&input, sheet, (&title, &found.headline()));
            made.map(|made| (made.svg.into_bytes(), made.layout))
        }
    };
    let (bytes, size) = match drawn {
        // Neither side has a judged step in common.
        Err(crate::export::png::PngError::Nothing) => {
            warn(&found.headline());
            return Ok(EXIT_INCONCLUSIVE);
        }
        drawn => drawn.map_err(png::failed)?,
    };
    let path = if to_stdout {
        out.write_all(&bytes)?;
        "Picture".to_owned()
    } else {
        output::write(&picture.output, &bytes).map_err(|error| CliError::File {
            what: "The picture cannot be written",
            error,
            path: picture.output.clone(),
        })?;
        printable(&picture.output.display().to_string())
    };
    let unit = match pixels {
        Some(_) => "pixels",
        None => "points",
    };
    let _ = writeln!(
        std::io::stderr().lock(),
        "{path}: {} × {} {unit}. {}",
        size.width,
        size.height,
        found.headline()
    );
    Ok(0)
}

/// The place of a rank among those that are compared; without a number the first.
fn rank(found: &Comparison, number: Option<u32>) -> Result<usize, CliError> {
    let Some(number) = number.filter(|_| found.refused.is_none()) else {
        return Ok(0);
    };
    let place = found.ranks.iter().position(|r| r.rank == number);
    place.ok_or_else(|| {
        let known: Vec<String> = found.ranks.iter().map(|r| r.rank.to_string()).collect();
        CliError::Usage(format!(
            "Rank {number} is not compared: it is not on both sides. Compared are: {}.",
            known.join(", ")
        ))
    })
}
