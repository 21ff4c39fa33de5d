//! The timeline as a PNG: the same draw list and the same shapes as in the window, without display or GPU. Equal
//! trace, rows and options give equal bytes.

use std::io;
use std::sync::Arc;

use egui::epaint::ClippedPrimitive;
use egui::{Context, LayerId, Painter, Pos2, RawInput, Vec2};

use super::raster::Raster;
use crate::analysis::{Analysis, Rank, Union};
use crate::model::Trace;
use crate::paint::{color, egui_theme, fonts, paint};
use crate::time::{TimeRange, Unit, format_ns};
use crate::view::{DrawList, Note, Point, Rows, Theme};

mod list;
mod plan;
mod sheet;

pub(super) use list::comparison_list;
pub use list::{render_comparison, render_ranks};
pub(super) use plan::Plan;
pub use sheet::{POINTS_PER_INCH, Real, Sheet};

/// What a PNG file begins with.
pub const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// Widths that can be chosen, points.
pub const WIDTHS: std::ops::RangeInclusive<u32> = 320..=16_384;
/// Resolutions that can be chosen, dots per inch.
pub const RESOLUTIONS: std::ops::RangeInclusive<u32> = 50..=1_200;
/// Usual size of labels, points.
pub const TEXT: f32 = 11.0;
/// Scales that can be chosen, pixels per point.
pub const SCALES: std::ops::RangeInclusive<f32> = 1.0..=3.0;
/// Most pixels along either side.
pub const MAX_PIXELS: u32 = 16_384;
/// Pixel rows that are drawn and written at a time.
const STRIP: usize = 256;

/// Which lanes a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// As in the window: collapsed groups stay so, hidden lanes are left out.
    AsShown,
    /// All lanes, all groups open.
    All,
    /// All lanes, all groups open, in rows of few points.
    Dense,
    /// No lane, only the overlap band.
    Band,
}

/// What a picture shows.
#[derive(Clone, Debug, PartialEq)]
pub struct PngOptions {
    /// The time; `None` for the whole trace.
    pub range: Option<TimeRange>,
    /// So much more time on both sides of it, percent of its length, as far as the trace goes.
    pub context: u32,
    /// Width, points, one of [`WIDTHS`].
    pub width: u32,
    /// Pixels per point, one of [`SCALES`].
    pub scale: f32,
    /// Size of labels, points: all texts, rows and lines are larger or smaller with it than [`TEXT`] has them.
    pub text: f32,
    /// Empty space around everything, points.
    pub margin: f32,
    /// How wide it is on paper; `width` is then that at 96 points an inch, and `scale` means nothing.
    pub real: Option<Real>,
    /// Colours.
    pub theme: Theme,
    /// Which lanes.
    pub lanes: Lanes,
    /// Time ruler and step strip.
    pub ruler: bool,
    /// Names left of the lanes.
    pub lane_names: bool,
    /// The overlap band.
    pub band: bool,
    /// What the colours mean.
    pub legend: bool,
    /// Of that only what is drawn.
    pub legend_used: bool,
    /// The title line: this name, the range and the exposed share. `None` leaves it out.
    pub title: Option<String>,
    /// Waits whose chains are drawn, all else faded, and told below the title: indices in [`Analysis::waits`].
    pub waits: Vec<usize>,
    /// Marks on the axis, by start.
    pub notes: Arc<[Note]>,
}

impl Default for PngOptions {
    fn default() -> Self {
        Self {
            range: None,
            context: 0,
            width: 1_920,
            scale: 1.0,
            text: TEXT,
            margin: 0.0,
            real: None,
            theme: Theme::light(),
            lanes: Lanes::AsShown,
            ruler: true,
            lane_names: true,
            band: true,
            legend: true,
            legend_used: false,
            title: Some(String::new()),
            waits: Vec::new(),
            notes: Arc::default(),
        }
    }
}

impl PngOptions {
    /// How large it is.
    #[must_use]
    pub fn sheet(&self) -> Sheet {
        Sheet {
            width: self.width,
            scale: self.scale,
            text: self.text,
            margin: self.margin,
            real: self.real,
        }
    }
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The width is outside [`WIDTHS`].
    #[error("a width of {0} is not possible: choose 320 to 16384")]
    Width(u32),
    /// The scale is outside [`SCALES`].
    #[error("a scale of {0} is not possible: choose 1 to 3")]
    Scale(f32),
    /// The resolution is outside [`RESOLUTIONS`].
    #[error("{0} dots per inch are not possible: choose 50 to 1200")]
    Resolution(u32),
    /// Margins and large text leave too little room.
    #[error(
        "beside its margins, and with text of this size, the picture has {0} points of the 320 that it needs: make it wider, its text smaller or its margins narrower"
    )]
    Room(u32),
    /// Width times scale is more than [`MAX_PIXELS`].
    #[error("{0} pixels are too wide: width times scale is at most 16384")]
    TooWide(u32),
    /// The range has no time in it.
    #[error("the range is empty")]
    EmptyRange,
    /// Nothing is to be shown.
    #[error("nothing is left to draw: switch band, lanes or ruler on")]
    Nothing,
    /// The encoder failed.
    #[error("the picture could not be encoded")]
    Encode(#[from] png::EncodingError),
}

/// A finished picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The file's content.
    pub png: Vec<u8>,
    /// What was laid out.
    pub layout: PictureSize,
}

/// How large a picture is and what fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureSize {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Lanes that fit; a collapsed group counts as one.
    pub lanes_shown: usize,
    /// Lanes that should be shown.
    pub lanes_total: usize,
    /// Rows of the overlap band that fit.
    pub bands_shown: usize,
    /// Rows of the overlap band that should be shown.
    pub bands_total: usize,
}

impl PictureSize {
    /// Of a picture that leaves no lane out.
    #[must_use]
    pub(super) fn whole(width: u32, height: u32) -> Self {
        Self {
            width,
            height,
            lanes_shown: 0,
            lanes_total: 0,
            bands_shown: 0,
            bands_total: 0,
        }
    }

    /// "41 of 96 lanes fit" where not all do.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        let parts = [
            (self.bands_shown, self.bands_total, "rows of the band"),
            (self.lanes_shown, self.lanes_total, "lanes"),
        ];
        let cut = parts.iter().filter(|(shown, total, _)| shown < total);
        let said: Vec<String> = cut
            .map(|(shown, total, what)| format!("{shown} of {total} {what} fit"))
            .collect();
        (!said.is_empty()).then(|| said.join(", "))
    }
}

/// A name for the file: `trace_0.205s-0.565s.png`.
#[must_use]
pub fn suggested_name(trace_name: &str, range: TimeRange) -> String {
    let stem = trace_name.rsplit(['/', '\\']).next().unwrap_or(trace_name);
    let mut stem = stem;
    for ending in [".gz", ".json", ".sqlite", ".pfw", ".zip", ".tar"] {
        stem = stem.strip_suffix(ending).unwrap_or(stem);
    }
    let stem = if stem.is_empty() { "trace" } else { stem };
    let s = |ns: i64| Unit::S.format(ns, 3).replace(',', "");
    format!("{stem}_{}s-{}s.png", s(range.start), s(range.end))
}

/// The size that [`render_png`] would give, without drawing anything.
///
/// # Errors
/// Options outside of what is possible.
pub fn picture_size(
    trace: &Trace,
    analysis: &Analysis,
    rows: &Rows,
    options: &PngOptions,
) -> Result<PictureSize, PngError> {
    Ok(Plan::new(trace, analysis, rows, options)?.layout())
}

/// Draws a picture.
///
/// # Errors
/// Options outside of what is possible, and a failing encoder.
pub fn render_png(
    trace: &Trace,
    analysis: &Analysis,
    rows: &Rows,
    options: &PngOptions,
) -> Result<Picture, PngError> {
    let plan = Plan::new(trace, analysis, rows, options)?;
    let lists = plan.lists(trace, analysis);
    let size = plan.layout();
    let pixels = [size.width, size.height];
    Ok(Picture {
        png: encode(&lists, pixels, &options.sheet(), &options.theme)?,
        layout: size,
    })
}

/// Draw lists as the content of a file of some pixels, each with where it is, points.
fn encode(
    lists: &[(Point, DrawList)],
    [width, height]: [u32; 2],
    sheet: &Sheet,
    theme: &Theme,
) -> Result<Vec<u8>, PngError> {
    let scale = sheet.pixels_per_point();
    let size = [width as usize, height as usize];
    let (raster, primitives) = tessellate(lists, [width, height], scale, theme);
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    encoder.set_pixel_dims(sheet.real.map(|real| png::PixelDimensions {
        xppu: real.per_meter(),
        yppu: real.per_meter(),
        unit: png::Unit::Meter,
    }));
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer()?;
    let back = color(theme.panel);
    let mut y = 0;
    while y < size[1] {
        let end = (y + STRIP).min(size[1]);
        let rgba = raster.render_rows(&primitives, size, scale, back, y..end);
        let rgb: Vec<u8> = rgba
            .chunks_exact(4)
            .flat_map(|p| [p[0], p[1], p[2]])
            .collect();
        io::Write::write_all(&mut stream, &rgb).map_err(png::EncodingError::from)?;
        y = end;
    }
    stream.finish()?;
    writer.finish()?;
    Ok(out)
}

fn pixels(points: f32, scale: f32) -> u32 {
    (f64::from(points) * f64::from(scale)).ceil().max(0.0) as u32
}

/// For the title line: range, its length, exposed wait, all wait and GPU busy time; of several ranks the means.
#[must_use]
pub fn about(analysis: &Analysis, range: TimeRange) -> Vec<String> {
    let ends = format!("{} – {}", format_ns(range.start), format_ns(range.end));
    let mut parts = vec![ends, format_ns(range.len())];
    let ranks = analysis.ranks().iter().filter(|r| r.gpu.is_some());
    let ranks: Vec<_> = ranks.collect();
    if ranks.is_empty() {
        parts.push("exposed: unknown (no GPU events)".to_owned());
        return parts;
    }
    let divide = |sum: i128, n: i128| (sum + n / 2) / n.max(1);
    let mean = |sum: i128, n: usize| divide(sum, n as i128);
    let with_share = |ns: i128| {
        let tenths = divide(ns * 1_000, range.len().into());
        let ns = i64::try_from(ns).unwrap_or(i64::MAX);
        format!("{} ({}.{} %)", format_ns(ns), tenths / 10, tenths % 10)
    };
    let mean_of_waits = |part: fn(&Rank) -> &Union| {
        let parts = ranks.iter().map(|r| i128::from(part(r).measure_in(range)));
        mean(parts.sum(), ranks.len())
    };
    let of = if ranks.len() > 1 {
        format!(", mean of {} ranks", ranks.len())
    } else {
        String::new()
    };
    let wait = mean_of_waits(|r| &r.wait);
    if wait > 0 {
        let exposed = mean_of_waits(|r| &r.wait_exposed);
        // With work that was launched and not recorded the figure is only what is certain.
        let lost = ranks.iter().any(|r| r.wait_lost > 0);
        let least = if lost { "at least " } else { "" };
        parts.push(format!("exposed wait {least}{}{of}", with_share(exposed)));
        let wait = i64::try_from(wait).unwrap_or(i64::MAX);
        parts.push(format!("batch wait {}", format_ns(wait)));
    } else if ranks.iter().any(|r| r.n_fetch() > 0) {
        parts.push("no batch wait".to_owned());
    } else {
        parts.push("no batch waits recorded".to_owned());
    }
    let gpus = analysis.gpus();
    let busy = gpus.iter().map(|g| i128::from(g.busy.measure_in(range)));
    let busy = mean(busy.sum(), gpus.len());
    let lost = gpus.iter().any(|g| !g.not_recorded.is_empty());
    let least = if lost { "at least " } else { "" };
    parts.push(format!("GPU busy {least}{}", with_share(busy)));
    parts
}

/// Shapes of a private egui context as triangles, and the textures they need.
fn tessellate(
    lists: &[(Point, DrawList)],
    [width, height]: [u32; 2],
    scale: f32,
    theme: &Theme,
) -> (Raster, Vec<ClippedPrimitive>) {
    let context = Context::default();
    context.set_fonts(fonts());
    context.set_theme(egui_theme(theme));
    let size = Vec2::new(width as f32 / scale, height as f32 / scale);
    let screen = egui::Rect::from_min_size(Pos2::ZERO, size);
    let mut raster = Raster::new();
    let mut primitives = Vec::new();
    // The first pass fills the font atlas, which may move what is in it; the second draws with the final one.
    for _ in 0..2 {
        let mut input = RawInput {
            screen_rect: Some(screen),
            max_texture_side: Some(4_096),
            time: Some(0.0),
            ..RawInput::default()
        };
        if let Some(viewport) = input.viewports.get_mut(&egui::ViewportId::ROOT) {
            viewport.native_pixels_per_point = Some(scale);
        }
        let mut output = context.run_ui(input, |ui| {
            let painter = Painter::new(ui.ctx().clone(), LayerId::background(), screen);
            for (at, list) in lists {
                paint(list, &painter, Pos2::new(at.x, at.y));
            }
        });
        raster.apply(&mut output.textures_delta);
        primitives = context.tessellate(output.shapes, output.pixels_per_point);
    }
    (raster, primitives)
}
