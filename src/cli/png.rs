//! `stallscope png` and `stallscope svg`: the timeline as a picture, without a display.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::analyse::{self, Analysed};
use super::args::{DPI, Lanes, Legend, Picture, Png, Scope, Width};
use super::messages::warn;
use super::table::printable;
use super::{CliError, EXIT_INCONCLUSIVE, load, why};
use crate::analysis::{Analysis, counted};
use crate::export::png::{self, POINTS_PER_INCH, PictureSize, PngError, PngOptions, Real, Sheet};
use crate::export::svg::render_svg;
use crate::model::{SpanId, Trace};
use crate::output;
use crate::session::{Look, Session};
use crate::time::TimeRange;
use crate::view::{Links, Lod, NodeId, RowState, RowTree, Rows, instants_out_of_view};

/// The chain below a wait has so much of its length on both sides, percent.
const MARGIN: u32 = 8;

/// Runs `png`. Says on stderr what was written; stdout stays empty, or is the picture (`-o -`).
pub fn run(args: &Png, out: &mut dyn Write) -> Result<u8, CliError> {
    let picture = &args.picture;
    not_named_as(&picture.output, "svg")?;
    let unused = match picture.width {
        Width::Points(_) => {
            (args.dpi != DPI).then_some("--dpi is for a width on paper, such as --width 17cm")
        }
        Width::Inches(_) => ((args.scale - 1.0).abs() > f32::EPSILON)
            .then_some("--scale is for a width in points; on paper --dpi tells the pixels"),
    };
    if let Some(unused) = unused {
        return Err(CliError::Usage(format!("{unused}.")));
    }
    let sheet = sheet(picture, args.scale, args.dpi)?;
    to_stdout(&picture.output)?;
    let Some(drawn) = Drawn::new(picture, &png::SIGNATURE)? else {
        return Ok(EXIT_INCONCLUSIVE);
    };
    let options = &sized(&drawn.options, &sheet);
    let trace = drawn.analysed.analysis.trace();
    let made = load::working("Drawing", || {
        png::render_png(trace, &drawn.analysed.analysis, &drawn.rows, options)
    });
    let made = made.map_err(failed)?;
    let size = made.layout;
    let text = format!("{} × {} pixels", size.width, size.height);
    drawn.write(picture, (&made.png, &text), size, out)
}

/// Refuses a name that says that the picture is of the other form.
fn not_named_as(output: &Path, other: &str) -> Result<(), CliError> {
    let ending = output.extension().and_then(|e| e.to_str());
    match ending.is_some_and(|e| e.eq_ignore_ascii_case(other)) {
        true => Err(CliError::Usage(format!(
            "{} is named as a picture of another form: `stallscope {other}` draws that.",
            printable(&output.display().to_string())
        ))),
        false => Ok(()),
    }
}

/// How large the picture is to be.
pub fn sheet(args: &Picture, scale: f32, dpi: u32) -> Result<Sheet, CliError> {
    let (width, real) = match args.width {
        Width::Points(points) => (points as u32, None),
        Width::Inches(inches) => {
            let real = Real { inches, dpi };
            (real.points(), Some(real))
        }
    };
    // On paper text is measured in 72nds of an inch.
    let unit = match real {
        Some(_) => (POINTS_PER_INCH / 72.0) as f32,
        None => 1.0,
    };
    let sheet = Sheet {
        width,
        scale,
        text: args.font_size.map_or(png::TEXT, |size| size * unit),
        margin: match args.margin {
            None => 0.0,
            Some(Width::Points(points)) => points,
            Some(Width::Inches(inches)) => (inches * POINTS_PER_INCH) as f32,
        },
        real,
    };
    sheet.check().map_err(failed)?;
    Ok(sheet)
}

/// Options with the size of a picture.
fn sized(options: &PngOptions, sheet: &Sheet) -> PngOptions {
    PngOptions {
        width: sheet.width,
        scale: sheet.scale,
        text: sheet.text,
        margin: sheet.margin,
        real: sheet.real,
        ..options.clone()
    }
}

/// Whether a picture goes to stdout; never to a terminal.
pub fn to_stdout(output: &Path) -> Result<bool, CliError> {
    let to_stdout = output.as_os_str() == "-";
    if to_stdout && std::io::stdout().is_terminal() {
        return Err(CliError::Usage(
            "A picture is nothing for a terminal: write it to a file with -o FILE, or send it on with `-o - | …`."
                .to_owned(),
        ));
    }
    Ok(to_stdout)
}

/// Runs `svg`, as [`run`].
pub fn run_svg(args: &Picture, out: &mut dyn Write) -> Result<u8, CliError> {
    not_named_as(&args.output, "png")?;
    let sheet = sheet(args, 1.0, POINTS_PER_INCH as u32)?;
    let Some(drawn) = Drawn::new(args, b"<svg xmlns=")? else {
        return Ok(EXIT_INCONCLUSIVE);
    };
    let analysis = &drawn.analysed.analysis;
    let options = &sized(&drawn.options, &sheet);
    let trace = analysis.trace();
    let made = load::working("Drawing", || {
        render_svg(trace, analysis, &drawn.rows, options)
    });
    let made = made.map_err(failed)?;
    let size = made.layout;
    let text = format!("{} × {} points", size.width, size.height);
    drawn.write(args, (made.svg.as_bytes(), &text), size, out)
}

/// A failure of drawing.
pub fn failed(error: PngError) -> CliError {
    match error {
        PngError::Encode(error) => CliError::Output(std::io::Error::other(error)),
        other => CliError::Usage(format!("{other}.")),
    }
}

/// What a picture is drawn from.
struct Drawn {
    analysed: Analysed,
    rows: Rows,
    options: PngOptions,
    /// Instants that lie where no picture reaches.
    hidden: u64,
    /// The exit code once it is drawn.
    code: u8,
}

impl Drawn {
    /// Opens and analyses; `begins` is what files of this kind begin with. `None` where the waits that were asked for are
    /// not there, which is said.
    fn new(args: &Picture, begins: &[u8]) -> Result<Option<Self>, CliError> {
        let to_stdout = args.output.as_os_str() == "-";
        if !to_stdout {
            let named = args.paths.iter().chain(&args.rules).chain(&args.session);
            spare(&args.output, begins, named.map(AsRef::as_ref))?;
        }
        let session = args.session.as_deref().map(session).transpose()?;
        let paths = match (&session, args.session.as_deref()) {
            (Some(session), Some(file)) if args.paths.is_empty() => found(session, file)?,
            _ => args.paths.clone(),
        };
        let own_loops = session.as_ref().filter(|_| args.loop_lanes.is_empty());
        let scope = Scope {
            range: args.range.clone(),
            rank: args.rank,
            rules: args.rules.clone(),
            loop_lanes: own_loops.map_or_else(|| args.loop_lanes.clone(), |s| s.loops.clone()),
            ..Scope::default()
        };
        let opened = load::open(&paths, &args.open)?;
        let of_waits = args.wait.is_some() || args.step.is_some();
        let analysed = analyse::analyse_as(opened, &scope, of_waits)?;
        let (waits, code) = match of_waits {
            true => waits(&analysed, args)?,
            false => (Vec::new(), 0),
        };
        if of_waits && waits.is_empty() {
            let all = analysed.ranks();
            let mut causes = all.iter().map(|&rank| analysed.analysis.causes(rank));
            warn(match causes.all(|c| c.waits.is_empty()) {
                true => "No waits of a training loop were found: nothing is drawn.",
                false => "No wait begins there: nothing is drawn.",
            });
            return Ok(None);
        }
        let analysis = &analysed.analysis;
        let trace = analysis.trace();
        if !to_stdout {
            // A folder that was named may lead to files elsewhere, and a session names others.
            let read = trace.sources().iter().map(|s| s.path.as_ref());
            spare(
                &args.output,
                begins,
                paths.iter().map(AsRef::as_ref).chain(read),
            )?;
        }
        let lod = Arc::new(Lod::build(trace, analysis));
        let hidden = match analysed.chosen {
            true => 0,
            false => instants_out_of_view(trace, &lod),
        };
        let tree = Arc::new(RowTree::new(trace, analysis, lod));
        let look = session.map(|s| s.look).unwrap_or_default();
        for gone in look.gone(&tree, trace.extent()) {
            warn(&format!("{gone}."));
        }
        let view = Look::range_of(look.view, trace.extent());
        let mut rows = look.rows(&tree);
        reveal(&mut rows, &tree, analysis, &waits);
        let reach = reach(analysis, &waits);
        let options = PngOptions {
            range: match analysed.chosen {
                true => Some(analysed.window),
                false => reach.or(view),
            },
            context: args.context.unwrap_or(match reach {
                Some(_) if !analysed.chosen => MARGIN,
                _ => 0,
            }),
            legend: args.legend != Legend::None,
            legend_used: args.legend == Legend::Used,
            theme: args.theme.clone(),
            lanes: match args.lanes {
                Lanes::Shown => png::Lanes::AsShown,
                Lanes::All => png::Lanes::All,
                Lanes::Dense => png::Lanes::Dense,
                Lanes::Band => png::Lanes::Band,
            },
            title: title(args, &paths),
            waits,
            notes: look.marks(trace.extent()).0,
            ..PngOptions::default()
        };
        Ok(Some(Self {
            rows: Rows::new(
                Arc::clone(&tree),
                &shown(trace, &tree, rows, &args.only_lanes)?,
            ),
            analysed,
            options,
            hidden,
            code,
        }))
    }

    /// Writes the file and says what it shows.
    fn write(
        &self,
        args: &Picture,
        (bytes, about): (&[u8], &str),
        size: PictureSize,
        out: &mut dyn Write,
    ) -> Result<u8, CliError> {
        let mut fits = size.notice().map_or(String::new(), |n| format!("; {n}"));
        if self.hidden > 0 {
            let instants = counted(self.hidden, "instant");
            fits += &format!("; {instants} before the first or after the last span not shown");
        }
        let unseen = self.unseen();
        if unseen > 0 {
            let spans = counted(unseen as u64, "span");
            fits += &format!("; {spans} of the chain in lanes or at times that are not shown");
        }
        let path = if args.output.as_os_str() == "-" {
            out.write_all(bytes)?;
            "Picture".to_owned()
        } else {
            output::write(&args.output, bytes).map_err(|error| CliError::File {
                what: "The picture cannot be written",
                error,
                path: args.output.clone(),
            })?;
            printable(&args.output.display().to_string())
        };
        let _ = writeln!(std::io::stderr().lock(), "{path}: {about}{fits}");
        Ok(self.code)
    }

    /// Spans of the chains below waits that no row shows, or that lie outside the range.
    fn unseen(&self) -> usize {
        let analysis = &self.analysed.analysis;
        let spans = chain_spans(analysis, &self.options.waits).into_iter();
        let shows = |span| match self.options.lanes {
            png::Lanes::AsShown => self.rows.of_span(analysis.trace(), span).is_some(),
            png::Lanes::All | png::Lanes::Dense => true,
            png::Lanes::Band => false,
        };
        let trace = analysis.trace();
        let range = self.options.range.unwrap_or(trace.extent());
        let beside = |span| !trace.spans().range(span).overlaps(range);
        spans.filter(|&span| beside(span) || !shows(span)).count()
    }
}

/// The waits that are asked for, as indices in [`Analysis::waits`], and the exit code: as `stallscope why` has it.
fn waits(a: &Analysed, args: &Picture) -> Result<(Vec<usize>, u8), CliError> {
    let named = why::named(a, args.wait, args.step.as_deref())?;
    let code = match why::any_told(a, &named) {
        true => 0,
        false => EXIT_INCONCLUSIVE,
    };
    let at = |(rank, places): (usize, Vec<usize>)| {
        let at = move |place| a.analysis.wait_at(rank, place);
        places.into_iter().filter_map(at)
    };
    Ok((named.into_iter().flat_map(at).collect(), code))
}

/// The spans of the chains below waits, theirs among them.
fn chain_spans(analysis: &Analysis, waits: &[usize]) -> Vec<SpanId> {
    let links = Links::of_waits(analysis, waits);
    let mut spans = links.ops;
    spans.extend(links.frames.iter().map(|f| f.span));
    spans.sort_unstable();
    spans.dedup();
    spans
}

/// The time of the chains below waits.
fn reach(analysis: &Analysis, waits: &[usize]) -> Option<TimeRange> {
    let of_chain = |&wait: &usize| {
        let links = analysis.chain(wait).into_iter().map(|l| l.range);
        links.chain([analysis.waits()[wait].range])
    };
    let all = waits.iter().flat_map(of_chain);
    all.reduce(|a, b| TimeRange::new(a.start.min(b.start), a.end.max(b.end)))
}

/// Opens what the chains below waits are in, hidden or not.
fn reveal(state: &mut RowState, tree: &RowTree, analysis: &Analysis, waits: &[usize]) {
    for span in chain_spans(analysis, waits) {
        let Some((leaf, _)) = tree.lod().place(analysis.trace(), span) else {
            continue;
        };
        let node = tree.of_leaf(leaf);
        state.reveal(tree, node);
        for at in std::iter::successors(Some(node), |&at| tree.node(at).parent) {
            state.hidden.remove(&tree.node(at).key);
        }
    }
}

/// Refuses to write a picture over what is read.
pub fn spare<'a>(
    output: &Path,
    begins: &[u8],
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), CliError> {
    super::spare::spare("The picture", output, begins, inputs)
}

/// The title line's name; none where the user wants no such line.
fn title(args: &Picture, paths: &[PathBuf]) -> Option<String> {
    let title = match &args.title {
        Some(title) => printable(title),
        None => name_of(paths),
    };
    Some(title).filter(|t| !t.is_empty())
}

/// The rows with nothing but what matches one of the patterns or has it as its key, and the groups around that.
fn shown(
    trace: &Trace,
    tree: &RowTree,
    mut state: RowState,
    patterns: &[String],
) -> Result<RowState, CliError> {
    if patterns.is_empty() {
        return Ok(state);
    }
    let patterns: Vec<String> = patterns.iter().map(|p| p.to_lowercase()).collect();
    let around = |id: NodeId| std::iter::successors(Some(id), |&at| tree.node(at).parent);
    let named = |id: NodeId| {
        let title = tree.node(id).title.to_lowercase();
        patterns.iter().any(|p| title.contains(p))
    };
    let has_key = |id: NodeId| {
        let key = tree
            .lane(id)
            .map(|(lane, _)| trace.lane(lane).key.to_lowercase());
        key.is_some_and(|key| patterns.contains(&key))
    };
    let lanes = tree.ids().filter(|&id| !tree.node(id).kind.is_group());
    let kept: BTreeSet<NodeId> = lanes
        .filter(|&lane| has_key(lane) || around(lane).any(named))
        .flat_map(around)
        .collect();
    if kept.is_empty() {
        let text = "--only-lanes: no lane has such a name or key; a picture without it shows the names, `stallscope report --json` the keys under `lanes`.";
        return Err(CliError::Usage(text.to_owned()));
    }
    for id in tree.ids().filter(|id| !kept.contains(id)) {
        state.hide(tree, id);
    }
    // What was asked for by name shows, whatever starts closed.
    state.expand_all = true;
    Ok(state)
}

/// Reads a session file.
fn session(file: &Path) -> Result<Session, CliError> {
    Session::read(file).map_err(|error| CliError::File {
        what: "The session cannot be read",
        error: std::io::Error::other(error),
        path: file.to_owned(),
    })
}

/// Where the traces of a session are. What they were compared with is not drawn; where it is nowhere, that is said.
fn found(session: &Session, file: &Path) -> Result<Vec<PathBuf>, CliError> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let found = session.find(folder);
    if let Err(lost) = found.before {
        let lost = printable(&lost.to_string());
        warn(&format!(
            "What the session compares with is not found: {lost}."
        ));
    }
    found.files.map_err(|lost| CliError::File {
        what: "A trace of the session is not found: name it, `… PATH --session FILE`",
        error: std::io::Error::other(lost),
        path: file.to_owned(),
    })
}

/// The name of the first of some paths, and how many more there are.
pub fn name_of(paths: &[PathBuf]) -> String {
    let Some(first) = paths.first() else {
        return String::new();
    };
    let name = first
        .file_name()
        .unwrap_or(first.as_os_str())
        .to_string_lossy();
    match paths.len() {
        1 => printable(&name),
        n => format!("{} + {}", printable(&name), n - 1),
    }
}
