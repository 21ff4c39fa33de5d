//! Arguments of `stallscope png` and `stallscope svg`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args, ValueEnum};

use super::{Open, check_range};
use crate::view::Theme;

/// Pixels per inch of a picture on paper, unless said otherwise.
pub const DPI: u32 = 300;

/// What `stallscope png` and `stallscope svg` draw.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("of_rank").args(["wait", "step", "before"]).multiple(true))]
pub struct Picture {
    /// Files and folders, opened as one trace where their clocks relate, - for stdin; with --session instead of those that
    /// it names.
    #[arg(value_name = "PATH", required_unless_present = "session")]
    pub paths: Vec<PathBuf>,
    /// Draw what this session file names as it was looked at: time, lanes that are pinned, hidden, open or closed.
    #[arg(long, value_name = "FILE")]
    pub session: Option<PathBuf>,
    #[command(flatten)]
    /// How to open.
    pub open: Open,
    /// Only this part: A..B, each a time since the start of the trace such as 1.2s or 450ms; either side may be empty.
    #[arg(long, value_name = "A..B", value_parser = check_range, allow_hyphen_values = true)]
    pub range: Option<String>,
    /// So much more time before and after it, as share of its length: 10%. With --wait or --step alone it is 8%.
    #[arg(long, value_name = "PCT", value_parser = parse_context)]
    pub context: Option<u32>,
    /// Layer rules to read before the built-in ones.
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// The file to write; - is stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Width: points (1920), or on paper with its unit (8.5cm, 85mm, 3.35in), of which a point is a 96th of an inch.
    #[arg(long, value_name = "WIDTH", default_value = "1920", value_parser = parse_width)]
    pub width: Width,
    /// Size of labels, with rows, lines and all other text in proportion: typographic points where the width is one on
    /// paper, else points of the picture, which are 11 at first.
    #[arg(long, value_name = "PT", value_parser = parse_text_size)]
    pub font_size: Option<f32>,
    /// Empty space around everything: 8, or with a unit as of the width: 2mm.
    #[arg(long, value_name = "WIDTH", value_parser = parse_margin)]
    pub margin: Option<Width>,
    /// Colours.
    #[arg(long, default_value = "light", value_parser = themes())]
    pub theme: Theme,
    /// What the colours mean: of all that is in the trace, of what is drawn, or nothing.
    #[arg(long, value_enum, default_value_t = Legend::All)]
    pub legend: Legend,
    /// Which lanes.
    #[arg(long, value_enum, default_value_t = Lanes::Shown)]
    pub lanes: Lanes,
    /// Only lanes whose name, or that of a group around them, contains this, in any case; or the lane of this key: G0.7,
    /// C5000.5000. May be repeated.
    #[arg(long, value_name = "PATTERN", conflicts_with = "lanes")]
    pub only_lanes: Vec<String>,
    /// What stands over the picture, instead of the name of the file; an empty one leaves the whole line out.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Lane of the training loop, where another one was taken for it: C500.500. May be repeated, once for each rank.
    #[arg(long = "loop", value_name = "LANE")]
    pub loop_lanes: Vec<String>,
    /// Draw why this wait of the loop happened: the wait, its batch on the worker that made it, the item and the read, all
    /// else faded. Numbers are those of `stallscope why`; without --range just that time is drawn. The exit code is 4
    /// where it cannot be told.
    #[arg(long, value_name = "N", conflicts_with = "step")]
    pub wait: Option<usize>,
    /// The same of the waits that begin in this step, as the step table names it.
    #[arg(long, value_name = "K")]
    pub step: Option<String>,
    /// Draw what changed since this recording: lanes of both, the mean step as parts, all steps.
    #[arg(long, value_name = "BEFORE", conflicts_with_all = ["range", "context", "only_lanes", "lanes", "legend", "title", "session", "wait", "step"])]
    pub before: Option<PathBuf>,
    /// With --wait, --step or --before: of this rank.
    #[arg(long, value_name = "N", requires = "of_rank")]
    pub rank: Option<u32>,
}

/// `stallscope png`.
#[derive(Args, Debug)]
pub struct Png {
    /// What to draw.
    #[command(flatten)]
    pub picture: Picture,
    /// Pixels per point, 1 to 3.
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = parse_scale)]
    pub scale: f32,
    /// Pixels per inch, where the width is one on paper, 50 to 1200.
    #[arg(long, value_name = "N", default_value_t = DPI, value_parser = clap::value_parser!(u32).range(50..=1200), conflicts_with = "scale")]
    pub dpi: u32,
}

/// A length of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Width {
    /// Points.
    Points(f32),
    /// On paper, inches.
    Inches(f64),
}

/// Lanes of a picture.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// As the window shows them at first.
    Shown,
    /// Every lane, nothing collapsed.
    All,
    /// Every lane, in rows of 4 to 8 points without names.
    Dense,
    /// Only the overlap band.
    Band,
}

/// Which entries the legend of a picture has.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legend {
    /// What is in the trace.
    All,
    /// What is drawn.
    Used,
    /// None.
    None,
}

/// The themes by their names.
pub fn themes() -> impl TypedValueParser<Value = Theme> {
    let names = Theme::ALL.map(|t| PossibleValue::new(t.name).help(t.about));
    PossibleValuesParser::new(names)
        .map(|name| Theme::named(&name).unwrap_or_else(|| Theme::of_system(false)))
}

fn parse_scale(text: &str) -> Result<f32, String> {
    match text.trim().parse::<f32>() {
        Ok(x) if (1.0..=3.0).contains(&x) => Ok(x),
        _ => Err(format!("`{text}` is not between 1 and 3")),
    }
}

/// A length of at least zero.
fn parse_length(text: &str) -> Result<Width, String> {
    let fail = || {
        format!(
            "`{text}` is no length: write points (1920), or a length on paper (8.5cm, 85mm, 3.35in)"
        )
    };
    let text = text.trim();
    let at = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let number: f64 = number.trim().parse().map_err(|_e| fail())?;
    if !(0.0..=1e6).contains(&number) {
        return Err(fail());
    }
    match unit {
        "" | "px" => Ok(Width::Points(number as f32)),
        "in" => Ok(Width::Inches(number)),
        "cm" => Ok(Width::Inches(number / 2.54)),
        "mm" => Ok(Width::Inches(number / 25.4)),
        _ => Err(fail()),
    }
}

fn parse_width(text: &str) -> Result<Width, String> {
    let fits = |points: f64| (320.0..=16_384.0).contains(&points);
    match parse_length(text)? {
        Width::Points(n) if n.fract() == 0.0 && fits(n.into()) => Ok(Width::Points(n)),
        Width::Points(_) => Err(format!(
            "`{text}` is not between 320 and 16384 whole points"
        )),
        Width::Inches(n) if fits((n * 96.0).round()) => Ok(Width::Inches(n)),
        Width::Inches(_) => Err(format!("`{text}` is not between 8.5cm and 433cm")),
    }
}

fn parse_margin(text: &str) -> Result<Width, String> {
    let length = parse_length(text)?;
    let points = match length {
        Width::Points(n) => n.into(),
        Width::Inches(n) => n * 96.0,
    };
    match points <= 1_000.0 {
        true => Ok(length),
        false => Err(format!("`{text}` is more than 1000 points (26cm)")),
    }
}

fn parse_text_size(text: &str) -> Result<f32, String> {
    match text.trim().trim_end_matches("pt").parse::<f32>() {
        Ok(x) if (3.0..=72.0).contains(&x) => Ok(x),
        _ => Err(format!("`{text}` is not between 3 and 72")),
    }
}

fn parse_context(text: &str) -> Result<u32, String> {
    let fail = || format!("`{text}` is not a share from 0% to 1000%: write 10%");
    let number = text.trim().strip_suffix('%').ok_or_else(fail)?;
    match number.trim().parse::<u32>() {
        Ok(n) if n <= 1_000 => Ok(n),
        _ => Err(fail()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_have_units() {
        assert_eq!(parse_width("1920"), Ok(Width::Points(1_920.0)));
        assert_eq!(parse_width("640px"), Ok(Width::Points(640.0)));
        assert_eq!(parse_width("2.54 cm").ok(), None, "too narrow");
        assert_eq!(parse_width("25.4cm"), Ok(Width::Inches(10.0)));
        assert_eq!(parse_width("254mm"), Ok(Width::Inches(10.0)));
        assert_eq!(parse_width("7in"), Ok(Width::Inches(7.0)));
        for wrong in ["", "cm", "-5cm", "1e9in", "nan", "12 parsec", "700.5"] {
            assert!(parse_width(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_margin("0"), Ok(Width::Points(0.0)));
        assert!(parse_margin("30cm").is_err());
        assert_eq!(parse_context("10%"), Ok(10));
        assert!(parse_context("10").is_err() && parse_context("2000%").is_err());
        assert_eq!(parse_text_size("7pt"), Ok(7.0));
        assert!(parse_text_size("nan").is_err());
    }
}
