//! Command lines and session files: whatever is typed on a small trace, and whatever stands in a file of keys.

use std::path::Path;

use stallscope::cli::command_line;
use stallscope::session::Session;

/// What a word is that stands for the trace.
pub const TRACE: &str = "TRACE";
/// What a word is that stands for a file of rules.
pub const RULES: &str = "RULES";
/// Words of a command line.
const WORDS: usize = 24;

/// A command line, a word per line. Nothing is written but to memory, and nothing is read but what lies in the folder.
pub fn words(folder: &Path, data: &[u8], trace: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (trace_path, rules_path) = (folder.join("trace.json"), folder.join("rules.toml"));
    std::fs::write(&trace_path, trace).expect("a writable folder");
    let rule = "format = 1\n[[rule]]\nid = \"a\"\nname = \"a\"\nlayer = \"op\"\n";
    std::fs::write(&rules_path, rule).expect("a writable folder");
    let mut typed = vec!["stallscope"];
    for word in text.split('\n').take(WORDS) {
        match word {
            TRACE => typed.push(trace_path.to_str().expect("a plain path")),
            RULES => typed.push(rules_path.to_str().expect("a plain path")),
            "-o" => typed.extend(["-o", "-"]),
            word if is_harmless(word) => typed.push(word),
            _ => {}
        }
    }
    run(&typed);
}

/// Neither the name of a file nor an option that takes one.
fn is_harmless(word: &str) -> bool {
    let writes = ["--output", "--html", "--png"];
    let short = word.starts_with('-') && !word.starts_with("--");
    !(word.contains(['/', '\\', '\0'])
        || writes.iter().any(|w| word.starts_with(w))
        || short && word.contains('o')
        || word == "demo"
        || Path::new(word).exists())
}

/// A session file: what is understood of it is written as it was read; what it says is drawn, or refused.
pub fn session(folder: &Path, data: &[u8], trace: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(session) = Session::parse(&text) {
        let again = Session::parse(&session.text()).expect("its own text");
        assert_eq!(session, again);
    }
    let (trace_path, file) = (folder.join("trace.json"), folder.join("a.session.json"));
    std::fs::write(&trace_path, trace).expect("a writable folder");
    std::fs::write(&file, data).expect("a writable folder");
    let [trace, file] = [&trace_path, &file].map(|p| p.to_str().expect("a plain path"));
    run(&["stallscope", "svg", trace, "--session", file, "-o", "-"]);
    run(&["stallscope", "svg", "--session", file, "-o", "-"]);
}

fn run(words: &[&str]) {
    let mut out = Vec::new();
    let code = command_line(words, &mut out);
    assert!(code <= 4, "{words:?}: {code}");
    if code == 0 && words.contains(&"--json") {
        let text = String::from_utf8(out).expect("JSON is text");
        let json: Result<serde_json::Value, _> = serde_json::from_str(&text);
        assert!(json.is_ok() || text.contains("Usage:"), "{words:?}");
    }
}
