//! Pictures of the timeline: preview and file are made on threads, by the exporter that the command line uses.

use std::path::Path;
use std::sync::Arc;

use egui::{Color32, ColorImage};

use crate::analysis::Analysis;
use crate::app::model::chain;
use crate::app::model::document::Document;
use crate::app::model::settings::{ExportChoice, LengthUnit};
use crate::export::png::{
    Lanes, POINTS_PER_INCH, PictureSize, PngOptions, Real, Sheet, TEXT, render_png, suggested_name,
};
use crate::export::svg::render_svg;
use crate::model::Trace;
use crate::time::TimeRange;
use crate::view::Rows;

/// Largest side of a preview, pixels.
const PREVIEW: usize = 2_000;

/// Which time a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// What the window shows.
    Visible,
    /// The selected range.
    Selection,
    /// The whole trace.
    All,
}

/// What is drawn from; cheap to hand to a thread.
#[derive(Clone)]
pub struct Source {
    trace: Arc<Trace>,
    analysis: Arc<Analysis>,
    rows: Rows,
}

impl Source {
    /// What is open.
    #[must_use]
    pub fn of(doc: &Document) -> Self {
        Self {
            trace: Arc::clone(&doc.trace),
            analysis: Arc::clone(&doc.analysis),
            rows: doc.rows.clone(),
        }
    }

    /// The picture as a file, SVG where its name says so, else PNG; or why there is none. Takes its time: for a thread.
    ///
    /// # Errors
    /// When the picture would be too large.
    pub fn file(&self, path: &Path, options: &PngOptions) -> Result<Vec<u8>, String> {
        let (trace, analysis) = (&self.trace, &self.analysis);
        let file = match is_svg(path) {
            true => render_svg(trace, analysis, &self.rows, options).map(|d| d.svg.into_bytes()),
            false => render_png(trace, analysis, &self.rows, options).map(|p| p.png),
        };
        file.map_err(|e| e.to_string())
    }
}

/// Whether a file of this name is to be an SVG.
#[must_use]
pub fn is_svg(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("svg"))
}

/// A small copy of a picture.
pub struct Preview {
    /// The pixels, or why there is no picture.
    pub image: Result<ColorImage, String>,
    /// The size of the real picture.
    pub size: Option<PictureSize>,
    /// Bytes of the real picture.
    pub bytes: usize,
}

/// The options of the exporter.
#[must_use]
pub fn options(doc: &Document, choice: &ExportChoice, span: Span, lanes: Lanes) -> PngOptions {
    let sheet = sheet(choice);
    PngOptions {
        range: Some(range(doc, span)),
        context: choice.context,
        width: sheet.width,
        scale: sheet.scale,
        text: sheet.text,
        margin: sheet.margin,
        real: sheet.real,
        theme: choice.theme.theme(),
        lanes,
        ruler: choice.ruler,
        lane_names: choice.names,
        band: choice.band,
        legend: choice.legend,
        legend_used: choice.legend_used,
        title: choice.title.then(|| title(doc)),
        waits: selected_wait(doc).into_iter().collect(),
        notes: Arc::clone(&doc.notes),
    }
}

/// How large the picture is.
fn sheet(choice: &ExportChoice) -> Sheet {
    let inches = match choice.unit {
        LengthUnit::Points => None,
        LengthUnit::Cm => Some(choice.paper / 2.54),
        LengthUnit::In => Some(choice.paper),
    };
    let real = inches.map(|inches| Real {
        inches,
        dpi: choice.dpi,
    });
    let unit = match real {
        Some(_) => (POINTS_PER_INCH / 72.0) as f32,
        None => 1.0,
    };
    Sheet {
        width: real.map_or(choice.width, Real::points),
        scale: choice.scale as f32,
        text: choice.text * unit,
        margin: choice.margin as f32,
        real,
    }
}

/// The wait that is selected, or in whose chain the selected span is, once causes are known: index in
/// [`Analysis::waits`].
fn selected_wait(doc: &Document) -> Option<usize> {
    let place = chain::place(doc).filter(|_| doc.analysis.causes_known());
    place.map(|(wait, ..)| wait)
}

/// The name of the first file.
#[must_use]
pub fn first_name(doc: &Document) -> String {
    let first = doc.paths.first();
    let name = first.map(|p| p.file_name().unwrap_or(p.as_os_str()));
    name.map_or(String::new(), |n| n.to_string_lossy().into_owned())
}

/// The name that the picture's title begins with, as the command line writes it.
fn title(doc: &Document) -> String {
    let first = doc
        .paths
        .first()
        .map_or("".as_ref(), |p| p.file_name().unwrap_or(p.as_os_str()));
    match doc.paths.len() {
        0 | 1 => first.to_string_lossy().into_owned(),
        n => format!("{} + {}", first.to_string_lossy(), n - 1),
    }
}

/// The time that a picture shows.
#[must_use]
pub fn range(doc: &Document, span: Span) -> TimeRange {
    let all = doc.trace.extent();
    match span {
        Span::Visible => doc.viewport.range().clip(all),
        Span::Selection => doc.range.unwrap_or(all),
        Span::All => all,
    }
}

/// The name of a picture or table of what is selected, else of what shows.
#[must_use]
pub fn file_stem(doc: &Document) -> String {
    let shown = if doc.range.is_some() {
        Span::Selection
    } else {
        Span::Visible
    };
    let name = suggested_name(&first_name(doc), range(doc, shown));
    name.trim_end_matches(".png").to_owned()
}

/// Draws a picture and shrinks it. Takes its time: for a thread.
#[must_use]
pub fn preview(source: &Source, options: &PngOptions) -> Preview {
    match render_png(&source.trace, &source.analysis, &source.rows, options) {
        Err(e) => Preview {
            image: Err(e.to_string()),
            size: None,
            bytes: 0,
        },
        Ok(picture) => Preview {
            image: shrink(&picture.png).map_err(|e| e.to_string()),
            size: Some(picture.layout),
            bytes: picture.png.len(),
        },
    }
}

/// Reads a PNG row by row and averages blocks of pixels, so that large pictures need little memory.
fn shrink(bytes: &[u8]) -> Result<ColorImage, png::DecodingError> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info()?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let block = width.max(height).div_ceil(PREVIEW).max(1);
    let (w, h) = (width.div_ceil(block), height.div_ceil(block));
    let mut pixels = Vec::with_capacity(w * h);
    let mut sums = vec![[0_u32; 4]; w];
    let mut y = 0;
    while let Some(row) = reader.next_row()? {
        for (x, rgb) in row.data().chunks_exact(3).enumerate() {
            let sum = &mut sums[x / block];
            for (s, c) in sum.iter_mut().zip(rgb) {
                *s += u32::from(*c);
            }
            sum[3] += 1;
        }
        y += 1;
        if y % block == 0 || y == height {
            for sum in &mut sums {
                let n = sum[3].max(1);
                let mean = |s: u32| u8::try_from((s + n / 2) / n).unwrap_or(u8::MAX);
                pixels.push(Color32::from_rgb(mean(sum[0]), mean(sum[1]), mean(sum[2])));
                *sum = [0; 4];
            }
        }
    }
    Ok(ColorImage::new([w, h], pixels))
}

/// The command line that draws what the window shows.
#[must_use]
pub fn command_line(doc: &Document, choice: &ExportChoice) -> String {
    let shown = range(doc, Span::Visible);
    let name = suggested_name(&first_name(doc), shown);
    let mut words = vec!["stallscope".to_owned(), "png".to_owned()];
    words.extend(doc.paths.iter().map(|p| quoted(&p.display().to_string())));
    words.extend(["-o".to_owned(), quoted(&name)]);
    words.extend(doc.loops.iter().map(|l| format!("--loop {}", quoted(l))));
    words.push(format!("--range {}ns..{}ns", shown.start, shown.end));
    if let Some(wait) = selected_wait(doc) {
        let wait = &doc.analysis.waits()[wait];
        words.push(format!("--wait {}", wait.place));
        if doc.analysis.ranks().len() > 1 {
            words.push(format!("--rank {}", doc.analysis.ranks()[wait.rank].rank));
        }
    }
    words.push(match choice.unit {
        LengthUnit::Points => format!("--width {} --scale {}", choice.width, choice.scale),
        LengthUnit::Cm => format!("--width {}cm --dpi {}", choice.paper, choice.dpi),
        LengthUnit::In => format!("--width {}in --dpi {}", choice.paper, choice.dpi),
    });
    let usual = choice.unit == LengthUnit::Points && (choice.text - TEXT).abs() < 0.01;
    if !usual {
        words.push(format!("--font-size {}", choice.text));
    }
    if choice.margin > 0 {
        words.push(format!("--margin {}", choice.margin));
    }
    if choice.context > 0 {
        words.push(format!("--context {}%", choice.context));
    }
    match (choice.legend, choice.legend_used) {
        (false, _) => words.push("--legend none".to_owned()),
        (true, true) => words.push("--legend used".to_owned()),
        (true, false) => {}
    }
    words.push(format!("--theme {}", choice.theme.theme().name));
    words.join(" ")
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("/a/b-1.json.gz"), "/a/b-1.json.gz");
        assert_eq!(quoted("my trace.json"), "'my trace.json'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
