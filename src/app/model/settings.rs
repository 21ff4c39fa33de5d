//! What the window remembers between runs: one versioned JSON file in the platform's configuration folder.
//!
//! Nothing is written beside a trace. A file of an unknown version is left alone: neither read nor overwritten.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::merged::{MAX_RECENT, MAX_TRACES, merged};
use crate::export::png::TEXT;
use crate::output;
use crate::session::Look;
use crate::view::{RowState, RowTree, Theme};

/// Version of the file.
const VERSION: u32 = 1;
/// Height of the details panel until somebody changes it, points.
pub const DETAILS_HEIGHT: f32 = 278.0;

/// A theme, remembered by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ThemeName(&'static str);

/// How a theme is written in the file.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredTheme {
    Name(String),
    /// Version 0.1 wrote whether it was the dark one.
    Dark(bool),
}

impl<'de> Deserialize<'de> for ThemeName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let theme = match StoredTheme::deserialize(from)? {
            StoredTheme::Name(name) => Theme::named(&name),
            StoredTheme::Dark(dark) => Some(Theme::of_system(dark)),
        };
        Ok(Self::of(&theme.unwrap_or(Theme::light())))
    }
}

impl ThemeName {
    /// The name of a theme.
    #[must_use]
    pub fn of(theme: &Theme) -> Self {
        Self(theme.name)
    }

    /// The theme.
    #[must_use]
    pub fn theme(self) -> Theme {
        Theme::named(self.0).unwrap_or(Theme::light())
    }
}

/// A theme, or as the system has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "&'static str")]
pub enum ThemeChoice {
    /// As the system has it; dark where it does not say.
    #[default]
    System,
    /// This one.
    Named(ThemeName),
}

impl From<String> for ThemeChoice {
    fn from(name: String) -> Self {
        let theme = Theme::named(&name);
        theme.map_or(Self::System, |t| Self::Named(ThemeName::of(&t)))
    }
}

impl From<ThemeChoice> for &'static str {
    fn from(choice: ThemeChoice) -> Self {
        match choice {
            ThemeChoice::System => "system",
            ThemeChoice::Named(name) => name.0,
        }
    }
}

/// Options of the last PNG export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExportChoice {
    /// Width in points.
    pub width: u32,
    /// Pixels per point, 1–3.
    pub scale: u32,
    /// What the width is given in.
    pub unit: LengthUnit,
    /// Width on paper, in that unit.
    pub paper: f64,
    /// Pixels per inch of paper.
    pub dpi: u32,
    /// Size of labels: points of the picture, on paper typographic ones.
    pub text: f32,
    /// Empty space around everything, points.
    pub margin: u32,
    /// More time on both sides, percent.
    pub context: u32,
    /// Colours.
    #[serde(alias = "dark")]
    pub theme: ThemeName,
    /// Time ruler and steps.
    pub ruler: bool,
    /// Lane names.
    pub names: bool,
    /// Overlap band.
    pub band: bool,
    /// Legend.
    pub legend: bool,
    /// Of the legend only what is drawn.
    pub legend_used: bool,
    /// Title line.
    pub title: bool,
}

impl Default for ExportChoice {
    fn default() -> Self {
        Self {
            width: 1920,
            scale: 1,
            unit: LengthUnit::Points,
            paper: 17.0,
            dpi: 300,
            text: TEXT,
            margin: 0,
            context: 0,
            theme: ThemeName::of(&Theme::light()),
            ruler: true,
            names: true,
            band: true,
            legend: true,
            legend_used: false,
            title: true,
        }
    }
}

/// What the width of a picture is given in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LengthUnit {
    /// Points of the picture.
    #[default]
    Points,
    /// Centimetres of paper.
    Cm,
    /// Inches of paper.
    In,
}

impl LengthUnit {
    /// All of them with what they are called.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Points, "px"), (Self::Cm, "cm"), (Self::In, "in")];
}

/// Which lanes are pinned and hidden in a trace that is opened for the first time: by parts of their names, in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LanePreset {
    /// Lanes that are pinned.
    pub pin: Vec<String>,
    /// Lanes and groups that are hidden.
    pub hide: Vec<String>,
}

impl LanePreset {
    /// Does it to the rows of a trace.
    pub fn apply(&self, rows: &mut RowState, tree: &RowTree) {
        let lower = |all: &[String]| -> Vec<String> {
            let all = all.iter().map(|p| p.trim().to_lowercase());
            all.filter(|p| !p.is_empty()).collect()
        };
        let (pin, hide) = (lower(&self.pin), lower(&self.hide));
        for id in tree.ids() {
            let node = tree.node(id);
            let title = node.title.to_lowercase();
            let any = |patterns: &[String]| patterns.iter().any(|p| title.contains(p));
            if any(&hide) {
                rows.hide(tree, id);
            }
            if any(&pin) && !node.kind.is_group() && !rows.pinned.contains(&node.key) {
                rows.toggle_pin(tree, id);
            }
        }
    }
}

/// What is remembered of one trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TraceMemory {
    /// Size and hash of its content.
    pub key: String,
    /// How it was looked at.
    #[serde(flatten)]
    pub look: Look,
}

/// The remembered state of the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Version of the file.
    pub version: u32,
    /// Theme.
    pub theme: ThemeChoice,
    /// Scale of the window in percent.
    pub ui_percent: u32,
    /// Size of the window, points.
    pub window: Option<(f32, f32)>,
    /// Width of the lane tree, points.
    pub tree_width: f32,
    /// Height of the details panel, points.
    pub details_height: f32,
    /// Whether the details panel shows.
    pub details_open: bool,
    /// No animated moves.
    pub reduce_motion: bool,
    /// Shade spans of a layer by name.
    pub colour_by_name: bool,
    /// Rows of few points without names.
    pub dense_lanes: bool,
    /// Columns behind exposed waits.
    pub exposed_columns: bool,
    /// Newest first. One entry may be several files opened together.
    pub recent: Vec<Vec<PathBuf>>,
    /// Lanes of traces that are opened first.
    pub lanes: LanePreset,
    /// Last PNG options.
    pub export: ExportChoice,
    /// Folder of the last export.
    pub export_folder: Option<PathBuf>,
    /// Hints that need not be shown again.
    pub hints_seen: Vec<String>,
    /// Newest first.
    pub traces: Vec<TraceMemory>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: VERSION,
            theme: ThemeChoice::System,
            ui_percent: 100,
            window: None,
            tree_width: 232.0,
            details_height: DETAILS_HEIGHT,
            details_open: true,
            reduce_motion: false,
            colour_by_name: false,
            dense_lanes: false,
            exposed_columns: true,
            recent: Vec::new(),
            lanes: LanePreset::default(),
            export: ExportChoice::default(),
            export_folder: None,
            hints_seen: Vec::new(),
            traces: Vec::new(),
        }
    }
}

impl Settings {
    /// Puts files on top of the recent list.
    pub fn add_recent(&mut self, paths: &[PathBuf]) {
        self.recent.retain(|p| p != paths);
        self.recent.insert(0, paths.to_vec());
        self.recent.truncate(MAX_RECENT);
    }

    /// What is remembered of a trace.
    #[must_use]
    pub fn trace(&self, key: &str) -> Option<&TraceMemory> {
        self.traces.iter().find(|t| t.key == key)
    }

    /// Remembers a trace as the newest.
    pub fn remember(&mut self, memory: TraceMemory) {
        self.traces.retain(|t| t.key != memory.key);
        self.traces.insert(0, memory);
        self.traces.truncate(MAX_TRACES);
    }

    /// Scales the window by a percentage.
    pub fn scale_ui(&mut self, percent: u32) {
        let scaled = (self.ui_percent * percent + 50) / 100;
        self.ui_percent = scaled.clamp(50, 300);
        // Rounding must not keep it from reaching the size that looks best.
        if scaled.abs_diff(100) < 5 {
            self.ui_percent = 100;
        }
    }

    /// True until a hint was marked as seen.
    #[must_use]
    pub fn wants_hint(&self, hint: &str) -> bool {
        !self.hints_seen.iter().any(|h| h == hint)
    }

    /// Marks a hint as seen.
    pub fn saw_hint(&mut self, hint: &str) {
        if self.wants_hint(hint) {
            self.hints_seen.push(hint.to_owned());
        }
    }

    /// Sizes and scales that a hand-edited file may have out of range.
    fn clamp(&mut self) {
        let or = |v: f32, default: f32| if v.is_finite() { v } else { default };
        self.ui_percent = self.ui_percent.clamp(50, 300);
        self.window = self.window.map(|(w, h)| {
            let (w, h) = (or(w, 1_400.0), or(h, 900.0));
            (w.clamp(640.0, 16_000.0), h.clamp(420.0, 16_000.0))
        });
        self.tree_width = or(self.tree_width, 232.0).clamp(140.0, 420.0);
        self.details_height = or(self.details_height, DETAILS_HEIGHT).clamp(80.0, 2_000.0);
        self.export.width = self.export.width.clamp(640, 16_384);
        self.export.scale = self.export.scale.clamp(1, 3);
        self.recent.retain(|p| !p.is_empty());
        self.recent.truncate(MAX_RECENT);
        self.traces.truncate(MAX_TRACES);
    }
}

/// Name and folder of an entry of the Recent list.
#[must_use]
pub fn recent_text(paths: &[PathBuf]) -> (String, String) {
    let Some(first) = paths.first() else {
        return (String::new(), String::new());
    };
    let name = first.file_name().unwrap_or(first.as_os_str());
    let name = name.to_string_lossy().into_owned();
    let name = match paths.len() {
        1 => name,
        n => format!("{n} files: {name}, …"),
    };
    let place = first
        .parent()
        .map_or(String::new(), |p| p.display().to_string());
    (name, place)
}

/// Where settings are kept.
#[derive(Clone, Debug, Default)]
pub struct Store {
    /// `None` keeps nothing: no folder is known, or the file belongs to another version.
    file: Option<PathBuf>,
}

impl Store {
    /// The platform's place, or the folder in `STALLSCOPE_CONFIG_DIR`.
    #[must_use]
    pub fn platform() -> Self {
        config_dir().map_or_else(Self::default, |dir| Self::in_dir(&dir))
    }

    /// A store in a given folder.
    #[must_use]
    pub fn in_dir(dir: &Path) -> Self {
        Self {
            file: Some(dir.join("window.json")),
        }
    }

    /// A store that keeps nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads the settings; defaults where there are none, or none that can be understood.
    pub fn load(&mut self) -> Settings {
        let Some(file) = &self.file else {
            return Settings::default();
        };
        match read(file) {
            Stored::Own(stored) => {
                let mut settings: Settings =
                    serde_json::from_value(Value::Object(stored)).unwrap_or_default();
                settings.clamp();
                settings
            }
            Stored::Other => {
                self.file = None;
                Settings::default()
            }
            Stored::Nothing => Settings::default(),
        }
    }

    /// Writes what differs from `base`, what this window wrote or read before, in a thread of its own: what other windows
    /// wrote meanwhile stays. The thread says whether it is written.
    pub fn save(&self, settings: &Settings, base: &Settings) -> Option<JoinHandle<bool>> {
        let file = self.file.clone()?;
        let (own, base) = (settings.clone(), base.clone());
        let thread = std::thread::Builder::new().name("stallscope-settings".to_owned());
        // Settings that cannot be written are lost, which is no reason to disturb anybody.
        thread.spawn(move || write(&file, &own, &base).is_ok()).ok()
    }
}

/// What is in the file.
enum Stored {
    /// Settings of this version, as they are written.
    Own(Map<String, Value>),
    /// Those of another version.
    Other,
    /// Nothing that can be understood.
    Nothing,
}

fn read(file: &Path) -> Stored {
    let text = crate::import::read_small(file).unwrap_or_default();
    let Ok(Value::Object(stored)) = serde_json::from_str(&text) else {
        return Stored::Nothing;
    };
    match stored.get("version").and_then(Value::as_u64) {
        Some(v) if v == u64::from(VERSION) => Stored::Own(stored),
        Some(_) => Stored::Other,
        None => Stored::Nothing,
    }
}

/// How long a window waits for another one to write its settings.
const PATIENCE: Duration = Duration::from_secs(2);

fn write(file: &Path, own: &Settings, base: &Settings) -> io::Result<()> {
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    // One that stopped while it writes must not keep this one from closing.
    let _lock = output::lock(&file.with_extension("lock"), PATIENCE);
    let value = serde_json::to_value(own).map_err(io::Error::from)?;
    let value = match (read(file), value) {
        (Stored::Own(there), Value::Object(own)) => merged(
            own,
            &serde_json::to_value(base).map_err(io::Error::from)?,
            there,
        ),
        (Stored::Other, _) => return Ok(()),
        (_, value) => value,
    };
    let text = serde_json::to_vec_pretty(&value).map_err(io::Error::from)?;
    output::write(file, &text)
}

/// `$STALLSCOPE_CONFIG_DIR`, or the platform's folder for configuration plus `stallscope`.
fn config_dir() -> Option<PathBuf> {
    let var = |name: &str| {
        let value = std::env::var_os(name).filter(|v| !v.is_empty())?;
        Some(PathBuf::from(value))
    };
    if let Some(own) = var("STALLSCOPE_CONFIG_DIR") {
        return Some(own);
    }
    let base = if cfg!(target_os = "windows") {
        var("APPDATA")?
    } else if cfg!(target_os = "macos") {
        var("HOME")?.join("Library/Application Support")
    } else {
        var("XDG_CONFIG_HOME").or_else(|| Some(var("HOME")?.join(".config")))?
    };
    Some(base.join("stallscope"))
}

/// Where the user's own layer rules are, if there are any.
#[must_use]
pub fn rules_file() -> Option<PathBuf> {
    Some(config_dir()?.join("rules.toml"))
}

/// The user's own layer rules: `rules.toml` beside the settings, read before the built-in ones. `None` where there is
/// no such file.
#[must_use]
pub fn user_rules() -> Option<(PathBuf, io::Result<String>)> {
    let file = rules_file()?;
    match crate::import::read_small(&file) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        text => Some((file, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temp(name: &str) -> PathBuf {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("target/tmp/settings")
            .join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("a folder");
        dir
    }

    #[test]
    fn settings_survive_and_stay_in_range() {
        let dir = temp("survive");
        let mut store = Store::in_dir(&dir);
        let mut settings = store.load();
        assert_eq!(settings, Settings::default());
        settings.add_recent(&[PathBuf::from("a.json")]);
        settings.add_recent(&[PathBuf::from("b.json")]);
        settings.add_recent(&[PathBuf::from("a.json")]);
        settings.ui_percent = 100_000;
        settings.saw_hint("zoom");
        settings.remember(TraceMemory {
            key: "k".to_owned(),
            look: Look {
                view: Some((1, i64::MAX)),
                ..Look::default()
            },
        });
        store
            .save(&settings, &Settings::default())
            .expect("a thread")
            .join()
            .expect("no panic");
        let read = store.load();
        assert_eq!(read.ui_percent, 300);
        assert_eq!(
            read.recent,
            [[PathBuf::from("a.json")], [PathBuf::from("b.json")]]
        );
        assert_eq!(
            read.trace("k").and_then(|t| t.look.view),
            Some((1, i64::MAX))
        );
        assert!(!read.wants_hint("zoom"));
    }

    #[test]
    fn themes_are_remembered_by_name_and_read_as_version_0_1_wrote_them() {
        let dir = temp("theme");
        let file = dir.join("window.json");
        let read = |text: &str| {
            fs::write(&file, text).expect("written");
            let settings = Store::in_dir(&dir).load();
            (settings.theme, settings.export.theme.theme().name)
        };
        let light = ThemeChoice::from("light".to_owned());
        let old = r#"{"version":1,"theme":"light","export":{"dark":true}}"#;
        assert_eq!(read(old), (light, "dark"));
        let written = serde_json::to_string(&Store::in_dir(&dir).load()).expect("JSON");
        assert!(written.contains(r#""theme":"light""#) && written.contains(r#""theme":"dark""#));
        assert_eq!(read(&written), (light, "dark"));
        let unknown = r#"{"version":1,"theme":"pink","export":{"theme":"pink"}}"#;
        assert_eq!(read(unknown), (ThemeChoice::System, "light"));
    }

    #[test]
    fn unknown_versions_are_neither_read_nor_overwritten() {
        let dir = temp("version");
        let file = dir.join("window.json");
        fs::write(&file, r#"{"version":99,"ui_percent":200,"new":[]}"#).expect("written");
        let mut store = Store::in_dir(&dir);
        assert_eq!(store.load(), Settings::default());
        assert!(
            store
                .save(&Settings::default(), &Settings::default())
                .is_none()
        );
        let text = fs::read_to_string(&file).expect("still there");
        assert!(text.contains("99"));
        fs::write(&file, b"\xff{not json").expect("written");
        assert_eq!(Store::in_dir(&dir).load(), Settings::default());
    }

    #[test]
    fn only_the_newest_traces_are_remembered() {
        let mut settings = Settings::default();
        for i in 0..60 {
            settings.remember(TraceMemory {
                key: i.to_string(),
                ..TraceMemory::default()
            });
        }
        assert_eq!(settings.traces.len(), MAX_TRACES);
        assert!(settings.trace("59").is_some() && settings.trace("9").is_none());
    }
}
