//! `stallscope png AFTER --before BEFORE`: what changed, as a picture.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::args::{Png, Scope};
use super::both::Both;
use super::messages::warn;
use super::table::printable;
use super::{CliError, EXIT_INCONCLUSIVE, png, recordings};
use crate::export::png::{SIGNATURE, WIDTHS, render_comparison};
use crate::output;
use crate::view::{CompareInput, CompareSide, Lod, RowTree};

/// Runs the command. The exit code is 4 where the two cannot be compared.
pub fn run(args: &Png, before: &Path, out: &mut dyn Write) -> Result<u8, CliError> {
    let picture = &args.picture;
    let to_stdout = png::to_stdout(&picture.output)?;
    let files = [recordings::files(before), picture.paths.clone()];
    if !to_stdout {
        let named = files.iter().flatten().chain(&picture.rules);
        png::spare(&picture.output, &SIGNATURE, named.map(AsRef::as_ref))?;
    }
    let scope = Scope {
        rules: picture.rules.clone(),
        loop_lanes: picture.loop_lanes.clone(),
        ..Scope::default()
    };
    let Both { sides, found } = Both::open(&files, &picture.open, &scope)?;
    if !to_stdout {
        let sources = sides.iter().flat_map(|s| s.0.analysis.trace().sources());
        png::spare(
            &picture.output,
            &SIGNATURE,
            sources.map(|s| s.path.as_ref()),
        )?;
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
        rank: 0,
        steps: [None, None],
        window: None,
        theme: &picture.theme,
        width: picture.width.clamp(*WIDTHS.start(), *WIDTHS.end()) as f32,
        header_width: 232.0,
        pixels_per_point: args.scale,
    };
    let drawn = match found.refused {
        Some(_) => None,
        None => Some(render_comparison(&input, args.scale)),
    };
    let Some(drawn) = drawn else {
        warn(&found.headline());
        return Ok(EXIT_INCONCLUSIVE);
    };
    let drawn = match drawn {
        // Neither side has a judged step in common.
        Err(crate::export::png::PngError::Nothing) => {
            warn(&found.headline());
            return Ok(EXIT_INCONCLUSIVE);
        }
        drawn => drawn.map_err(png::failed)?,
    };
    let path = if to_stdout {
        out.write_all(&drawn.png)?;
        "Picture".to_owned()
    } else {
        output::write(&picture.output, &drawn.png).map_err(|error| CliError::File {
            what: "The picture cannot be written",
            error,
            path: picture.output.clone(),
        })?;
        printable(&picture.output.display().to_string())
    };
    let size = drawn.layout;
    let _ = writeln!(
        std::io::stderr().lock(),
        "{path}: {} × {} pixels. {}",
        size.width,
        size.height,
        found.headline()
    );
    Ok(0)
}
