//! Tests of rule files.

use super::*;
use crate::analysis::layers::names::norm_name;

fn nothing(_key: &str) -> Option<String> {
    None
}

const CPU: LaneGroup = LaneGroup {
    tracer: "torch",
    gpu: false,
    role: Role::Main,
};

#[test]
fn the_builtin_file_is_sound() {
    let mut rules = Rules::without_rules();
    assert_eq!(rules.append(BUILTIN, "rules.toml", false), []);
    assert!(rules.len() >= 75);
    assert_eq!(rules.role_ids().count(), 6);
}

#[test]
fn a_users_rules_come_first_and_may_name_new_layers() {
    let text = "format = 1\n[[rule]]\nid = \"my\"\nsource = [\"torch\"]\nname = '(?i)forward|x(\\d)'\n\
                layer = \"my.layer\"\nset = { step = \"$1\" }\n";
    let (rules, problems) = Rules::parse(text, "my.toml");
    assert_eq!(problems, []);
    let got = rules.classify(CPU, "user_annotation", "forward", &nothing);
    assert_eq!(got, ("my.layer", Some("my")));
    assert_eq!(rules.captured(0, "step", "x7").as_deref(), Some("7"));
    let got = rules.classify(CPU, "user_annotation", "## backward ##", &nothing);
    assert_eq!(got, ("backward", Some("any.bwd")));
}

#[test]
fn a_category_may_name_the_layer() {
    let text = "[[rule]]\nid = \"own\"\nname = 'x'\nlayer = \"my.layer\"\n\
                [[rule]]\nid = \"cat\"\nlayer = \"$cat\"\n";
    let (rules, problems) = Rules::parse(text, "my.toml");
    assert_eq!(problems, []);
    let of = |cat| rules.classify(CPU, cat, "something", &nothing);
    assert_eq!(of("io.read"), ("io.read", Some("cat")));
    assert_eq!(of("My.Layer"), ("my.layer", Some("cat")));
    assert_eq!(of("ioxread").1, Some("any.other"));
    let some = "[[rule]]\nid = \"io\"\nlayer = \"$cat\"\ncat = 'io\\..*'\n";
    let (rules, _) = Rules::parse(some, "my.toml");
    assert_eq!(rules.classify(CPU, "io.read", "", &nothing).1, Some("io"));
    assert_eq!(
        rules.classify(CPU, "load", "", &nothing).1,
        Some("any.other")
    );
}

#[test]
fn problems_name_file_and_line_and_leave_the_rest_working() {
    let text = "format = 1\n[[rule]]\nid = \"a\"\nsource = [\"torch\"]\nname = 'x('\nlayer = \"fetch\"\n\
                [[rule]]\nid = \"b\"\nsource = [\"torch\"]\nname = 'good'\nlayer = \"fetch\"\n\
                [[rule]]\nid = \"b\"\nsource = [\"perf\"]\nlayer = \"fetch\"\n\
                [[role]]\nid = \"r\"\nthread = 't'\nrole = \"boss\"\n";
    let (rules, problems) = Rules::parse(text, "u.toml");
    let lines: Vec<usize> = problems.iter().map(|p| p.line).collect();
    assert_eq!(lines, [5, 13, 19], "{problems:#?}");
    assert!(problems[0].to_string().starts_with("u.toml:5: "));
    // A text that ends inside a string.
    let (_, problems) = Rules::parse("format = 1\n[[rule]]\nid = \'\'\'a\n", "u.toml");
    assert_eq!(problems[0].line, 3, "{problems:?}");
    assert_eq!(rules.classify(CPU, "", "good", &nothing).1, Some("b"));
    let (rules, problems) = Rules::parse("format = 1\n[[rule]\n", "u.toml");
    assert_eq!((problems.len(), problems[0].line), (1, 2));
    assert_eq!(rules.len(), Rules::builtin().len());
    let (_, problems) = Rules::parse("format = 2\n", "u.toml");
    assert_eq!(problems.len(), 1);
    let unknown = "[[rule]]\nid = \"a\"\nsource = [\"torch\"]\nlayer = \"x\"\ncolour = 1\n";
    assert_eq!(Rules::parse(unknown, "u").1.len(), 1);
}

#[test]
fn args_are_matched_whole() {
    let gpu = LaneGroup {
        tracer: "nsight",
        gpu: true,
        role: Role::Main,
    };
    let rules = Rules::builtin();
    let kind = |k: &'static str| move |_key: &str| Some(k.to_owned());
    assert_eq!(rules.classify(gpu, "memcpy", "x", &kind("1")).0, "gpu.h2d");
    assert_eq!(rules.classify(gpu, "memcpy", "x", &kind("10")).0, "gpu.p2p");
    assert_eq!(rules.classify(gpu, "memcpy", "x", &nothing).0, "gpu.d2d");
}

#[test]
fn names_lose_their_dress() {
    assert_eq!(norm_name("## forward ##"), "forward");
    assert_eq!(norm_name("=== a-b :"), "a-b");
    assert_eq!(norm_name("###"), "");
}

#[test]
fn names_have_the_layer_that_people_mean() {
    let rules = Rules::builtin();
    for line in include_str!("names.tsv").lines().skip(1) {
        let parts: Vec<&str> = line.split('\t').collect();
        let [tracer, cat, name, layer] = parts[..] else {
            panic!("{line}");
        };
        let tracer = match tracer {
            "nsight" => "nsight",
            _ => "torch",
        };
        let group = LaneGroup { tracer, ..CPU };
        let (got, rule) = rules.classify(group, cat, name, &nothing);
        assert_eq!(got, layer, "{name} by {rule:?}");
    }
}

#[test]
fn what_must_not_match_is_asked_in_the_same_form() {
    let text = "[[rule]]\nid = \"a\"\nname = '.*batch.*'\nnot = '.*_to_gpu'\nnorm2 = true\nlayer = \"fetch\"\n";
    let (rules, problems) = Rules::parse(text, "u");
    assert_eq!(problems, []);
    let of = |name| rules.classify(CPU, "user_annotation", name, &nothing).1;
    assert_eq!(of("Next Batch 7"), Some("a"));
    assert_ne!(of("Batch-to GPU 7"), Some("a"));
}
