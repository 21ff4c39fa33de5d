//! What a shell and a build server ask for beside figures: completions, the manual page, short and partial reports.

use crate::common::program::run;
use crate::common::{repository, shared};

/// What a command that succeeds prints.
fn printed(args: &[&str]) -> String {
    let (code, out, err) = run(args);
    assert_eq!(code, 0, "{args:?}: {err}");
    out
}

fn sample(name: &str) -> String {
    let path = repository("sample_traces").join(name);
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn completions_and_manual_follow_from_the_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = printed(&["completions", shell]);
        assert!(text.contains("max-exposed-wait"), "{shell}");
    }
    let page = printed(&["man"]);
    assert!(page.contains(".TH stallscope"), "{page}");
    let page = printed(&["man", "report"]);
    assert!(
        page.contains("stallscope\\-report") && page.contains("\\-\\-brief"),
        "{page}"
    );
    for usage in [
        "[\\-\\-range A..B]",
        "[\\-\\-json]",
        "PATH…",
        "[\\-\\-color WHEN]",
    ] {
        assert!(page.contains(usage), "`{usage}` is missing in:\n{page}");
    }
    let (code, _, err) = run(&["man", "nothing"]);
    assert_eq!(code, 2, "{err}");
}

#[test]
fn a_short_report_has_verdict_and_numbers() {
    let path = sample("torch_0_workers.json.gz");
    let text = printed(&["report", "--brief", &path]);
    for part in [
        "Input-bound",
        "Raise num_workers",
        "exposed wait",
        "78.0 %",
        "21.7 %",
    ] {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
    assert!(!text.contains("Layers"), "{text}");
    let text = printed(&["report", "--markdown", &path]);
    for part in [
        "### torch\\_0\\_workers.json.gz",
        "**Verdict**",
        "- Input-bound: in 77.4 % of",
        "- Based on 11 of 12 steps",
        "| rank | step | exposed wait | GPU busy |",
        "3,385.420 ms, 78.0 % | 21.7 % |",
    ] {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}

#[test]
fn what_was_not_recorded_is_never_zero_in_short_reports() {
    let Some(path) = shared("cases/public/01d_lost_kernel_records.json") else {
        return;
    };
    let path = path.to_str().expect("UTF-8");
    for form in ["--brief", "--markdown"] {
        let text = printed(&["report", form, path]);
        assert!(!text.contains("0.000 ms"), "{text}");
        assert!(
            text.contains("unknown") && text.contains("not recorded"),
            "{text}"
        );
        assert!(!text.contains("No waits for data found"), "{text}");
    }
}

#[test]
fn figures_that_nothing_tells_are_unknown_in_short_reports_too() {
    let path = sample("dftracer_2_workers");
    let text = printed(&["report", "--markdown", &path]);
    assert!(text.contains("| unknown | unknown |"), "{text}");
}

#[test]
fn parts_of_a_report_stand_alone_in_the_order_asked_for() {
    let path = sample("torch_0_workers.json.gz");
    let text = printed(&["report", "--only", "layers,waits", &path]);
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(place("\nLayers") < place("\nWaiting for data"));
    assert!(
        !text.contains("\nVerdict") && !text.contains("\nGPU 0"),
        "{text}"
    );
    let all = printed(&["report", &path]);
    let parts = ["Verdict", "Waiting for data", "GPU 0", "Layers", "Steps"];
    let places: Vec<Option<usize>> = parts.iter().map(|p| all.find(&format!("\n{p}"))).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{places:?}"
    );
}

#[test]
fn the_list_of_samples_is_whole() {
    let text = printed(&["demo", "--list"]);
    assert!(!text.contains('…'), "{text}");
    assert!(
        text.contains("torch_0_workers.json.gz: torch.profiler, 0 workers"),
        "{text}"
    );
}

#[test]
fn names_are_a_part_only_where_they_are_asked_for() {
    let path = sample("torch_0_workers.json.gz");
    let text = printed(&["report", "--only", "waits,names", &path]);
    assert!(text.contains("\nWaiting for data"), "{text}");
    assert!(text.contains("ProfilerStep#"), "{text}");
    assert!(text.contains("self: total without"), "{text}");
    let all = printed(&["report", &path]);
    assert!(!all.contains("self: total without"), "{all}");
}

#[test]
fn threads_and_streams_have_names_in_text_and_keys_in_json() {
    let path = sample("torch_0_workers.json.gz");
    let text = printed(&["report", &path]);
    assert!(text.contains("of the loop on main thread (4200)"), "{text}");
    assert!(text.contains("\n  stream 7 "), "{text}");
    assert!(!text.contains("C4200") && !text.contains("G0.7"), "{text}");
    let json = printed(&["report", "--json", &path]);
    assert!(json.contains("\"C4200.4200\"") && json.contains("\"G0.7\""));
}

#[test]
fn colours_are_few_and_only_where_they_are_asked_for() {
    let path = sample("torch_0_workers.json.gz");
    let plain = printed(&["report", &path]);
    assert!(!plain.contains('\u{1b}'), "a pipe is no terminal");
    assert_eq!(printed(&["report", "--color", "never", &path]), plain);
    let coloured = printed(&["report", "--color", "always", &path]);
    assert!(coloured.contains("\u{1b}[1m  Input-bound: "), "{coloured}");
    // Nothing but colours is added.
    let bare = ["1", "31", "33", "0"].iter().fold(coloured, |t, code| {
        t.replace(&format!("\u{1b}[{code}m"), "")
    });
    assert_eq!(bare, plain);
    for form in ["--markdown", "--json", "--csv"] {
        let text = printed(&["report", "--color", "always", form, &path]);
        assert!(!text.contains('\u{1b}'), "{form}");
    }
    let limit = ["check", &path, "--max-exposed-wait", "5%"];
    let (code, out, _) = run(&[&limit[..], &["--color", "always"]].concat());
    assert_eq!(code, 3);
    assert!(
        out.lines()
            .any(|l| l.starts_with("\u{1b}[31m") && l.ends_with("\u{1b}[0m")),
        "{out}"
    );
    let (_, out, _) = run(&limit);
    assert!(!out.contains('\u{1b}'), "{out}");
}

#[test]
fn options_before_a_command_are_told_where_they_belong() {
    let (code, _, err) = run(&["--color", "never", "report", "x.json"]);
    assert_eq!(code, 2);
    assert!(
        err.contains("behind the command: `stallscope report …`"),
        "{err}"
    );
}

#[test]
fn wrong_arguments_are_repeated_without_control_characters() {
    let (code, _, err) = run(&["report", "--range", "\u{1b}[1m", "x.json"]);
    assert_eq!(code, 2);
    assert!(
        err.contains("`\\u{1b}[1m`") && !err.contains('\u{1b}'),
        "{err}"
    );
}
