//! What a shell and a build server ask for beside figures: completions, the manual page, short and partial reports.

use std::process::Command;

use crate::common::{repository, shared};

/// Exit code, stdout, stderr.
fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stallscope"));
    let out = command.args(args).output().expect("runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// What a command that succeeds prints.
fn printed(args: &[&str]) -> String {
    let (code, out, err) = run(args);
    assert_eq!(code, Some(0), "{args:?}: {err}");
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
    let (code, _, err) = run(&["man", "nothing"]);
    assert_eq!(code, Some(2), "{err}");
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
