//! Layer rules: which layer a span belongs to, by source, lane kind, role, category, name and args; which role a
//! thread has. Read from TOML; the built-in file always works, a user's file is asked first.

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::BTreeMap;

use crate::analysis::layers::ids::{LayerClass, LayerId, LayerInfo, known};
use crate::analysis::layers::names::{Forms, Norm};
use crate::model::Role;

/// The built-in rule file.
const BUILTIN: &str = include_str!("rules.toml");
/// The only version of rule files.
const FORMAT: i64 = 1;
/// In place of a layer: the one that is named as the category.
const OF_CATEGORY: &str = "$cat";
/// A compiled expression may take this many bytes; a longer one is refused, not run.
const REGEX_LIMIT: usize = 1 << 22;

/// What is wrong in a rule file. The rest of the file and the built-in rules are used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct RuleProblem {
    /// The file, as the caller named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

/// One layer rule.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Rule {
    pub id: String,
    /// Keys of tracers; all of them if empty.
    sources: Vec<String>,
    gpu: Option<bool>,
    role: Option<Role>,
    cat: Option<Regex>,
    name: Option<Regex>,
    not: Option<Regex>,
    norm: Norm,
    pub args: Vec<(String, Regex)>,
    pub layer: LayerId,
    set: Vec<(String, String)>,
}

/// One role rule: all expressions that it has must match.
#[derive(Clone, Debug)]
struct RoleRule {
    id: String,
    thread: Option<Regex>,
    process: Option<Regex>,
    file: Option<Regex>,
    role: Role,
}

/// What selects the rules that can apply to a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneGroup {
    /// Key of the tracer that wrote the source.
    pub tracer: &'static str,
    /// Whether the lane belongs to a GPU stream.
    pub gpu: bool,
    /// The thread's role.
    pub role: Role,
}

/// The rules that match a span as far as its args do not matter: `conditional` ask for args, in order; `last` is the
/// first that does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::analysis) struct Outcome {
    pub conditional: Vec<usize>,
    pub last: Option<usize>,
}

/// Layer and role rules, in the order in which they are asked.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(in crate::analysis) rules: Vec<Rule>,
    roles: Vec<RoleRule>,
    layers: Vec<LayerInfo>,
    /// Keys of tracers that rules may name.
    sources: Vec<String>,
}

/// What only the built-in file says.
#[derive(Deserialize)]
struct Known {
    sources: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    format: Option<i64>,
    #[serde(default)]
    rule: Vec<toml::Spanned<toml::Table>>,
    #[serde(default)]
    role: Vec<toml::Spanned<toml::Table>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleSpec {
    id: String,
    #[serde(default)]
    source: Vec<String>,
    lane: Option<String>,
    role: Option<String>,
    cat: Option<String>,
    name: Option<String>,
    not: Option<String>,
    #[serde(default)]
    norm: bool,
    #[serde(default)]
    norm2: bool,
    #[serde(default)]
    args: BTreeMap<String, String>,
    layer: String,
    #[serde(default)]
    set: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleSpec {
    id: String,
    thread: Option<String>,
    process: Option<String>,
    file: Option<String>,
    role: String,
}

/// The categories that a rule is for, and the layer that it gives them.
type Target = (Option<Regex>, LayerId);
/// A problem inside one rule: the key that it is about, and the message.
type KeyProblem = (&'static str, String);

impl Rules {
    /// The rules that come with the program.
    #[must_use]
    pub fn builtin() -> Self {
        let mut rules = Self::without_rules();
        let problems = rules.append(BUILTIN, "built-in rules", true);
        debug_assert!(problems.is_empty(), "{problems:?}");
        rules
    }

    /// A user's rules, asked before the built-in ones. What is wrong in them is left out and said.
    #[must_use]
    pub fn parse(text: &str, file: &str) -> (Self, Vec<RuleProblem>) {
        let mut rules = Self::without_rules();
        let problems = rules.append(text, file, false);
        rules.append(BUILTIN, "built-in rules", true);
        (rules, problems)
    }

    fn without_rules() -> Self {
        let known_sources = toml::from_str(BUILTIN).map(|known: Known| known.sources);
        debug_assert!(known_sources.is_ok(), "{known_sources:?}");
        Self {
            rules: Vec::new(),
            roles: Vec::new(),
            layers: known(),
            sources: known_sources.unwrap_or_default(),
        }
    }

    /// Adds the rules of a file. The built-in file is `tested`: a unit test reads it as a user's would be.
    fn append(&mut self, text: &str, file: &str, tested: bool) -> Vec<RuleProblem> {
        let problem = |at: usize, message: String| RuleProblem {
            file: file.to_owned(),
            line: line_of(text, at),
            message,
        };
        let parsed: File = match toml::from_str(text) {
            Ok(parsed) => parsed,
            Err(e) => {
                let at = e.span().map_or(0, |s| s.start);
                return vec![problem(at, first_line(e.message()))];
            }
        };
        let mut problems = Vec::new();
        if parsed.format.is_some_and(|f| f != FORMAT) {
            let at = text.find("format").unwrap_or(0);
            return vec![problem(at, format!("`format` must be {FORMAT}"))];
        }
        let mut ids = std::collections::BTreeSet::new();
        for table in parsed.rule {
            let span = table.span();
            let result = self.rule(table.into_inner(), &mut ids, tested);
            if let Err((key, message)) = result {
                problems.push(problem(key_at(text, span, key), message));
            }
        }
        for table in parsed.role {
            let span = table.span();
            if let Err((key, message)) = self.role(table.into_inner(), &mut ids, tested) {
                problems.push(problem(key_at(text, span, key), message));
            }
        }
        problems
    }

    fn rule(
        &mut self,
        table: toml::Table,
        ids: &mut std::collections::BTreeSet<String>,
        tested: bool,
    ) -> Result<(), KeyProblem> {
        let spec: RuleSpec = table
            .try_into()
            .map_err(|e: toml::de::Error| ("", first_line(e.message())))?;
        unique(&spec.id, ids)?;
        if let Some(name) = spec.source.iter().find(|s| !self.sources.contains(s)) {
            let message = format!("source `{name}` is none of {}", self.sources.join(", "));
            return Err(("source", message));
        }
        let gpu = match spec.lane.as_deref() {
            None | Some("any") => None,
            Some("cpu") => Some(false),
            Some("gpu") => Some(true),
            Some(other) => {
                return Err(("lane", format!("lane `{other}` is none of cpu, gpu, any")));
            }
        };
        let role = match spec.role.as_deref() {
            None | Some("any") => None,
            Some(text) => Some(parse_role(text)?),
        };
        let args = spec.args.iter();
        let args = args
            .map(|(k, v)| Ok((k.clone(), whole(v, "args", false, tested)?)))
            .collect::<Result<_, KeyProblem>>()?;
        let cat = spec.cat.map(|c| whole(&c, "cat", true, tested));
        let cat = cat.transpose()?;
        let targets = match spec.layer.as_str() {
            OF_CATEGORY => self.by_category(cat.as_ref())?,
            name => vec![(cat, self.layer(name)?)],
        };
        let rule = Rule {
            sources: spec.source,
            gpu,
            role,
            cat: None,
            name: spec
                .name
                .map(|n| whole(&n, "name", true, tested))
                .transpose()?,
            not: spec
                .not
                .map(|n| whole(&n, "not", true, tested))
                .transpose()?,
            norm: match (spec.norm, spec.norm2) {
                (_, true) => Norm::Spelled,
                (true, false) => Norm::Bare,
                (false, false) => Norm::Written,
            },
            args,
            layer: LayerId::OTHER,
            set: spec.set.into_iter().collect(),
            id: spec.id,
        };
        let rules = targets.into_iter().map(|(cat, layer)| Rule {
            cat,
            layer,
            ..rule.clone()
        });
        self.rules.extend(rules);
        Ok(())
    }

    /// For each layer so far the category of the same name, where `wanted` lets it be.
    fn by_category(&self, wanted: Option<&Regex>) -> Result<Vec<Target>, KeyProblem> {
        let layers = (0..).map(LayerId).zip(&self.layers);
        let layers = layers.filter(|(_, l)| wanted.is_none_or(|w| w.is_match(&l.name)));
        let target = |(id, layer): (LayerId, &LayerInfo)| {
            let name = whole(&regex::escape(&layer.name), "layer", true, true)?;
            Ok((Some(name), id))
        };
        layers.map(target).collect()
    }

    fn role(
        &mut self,
        table: toml::Table,
        ids: &mut std::collections::BTreeSet<String>,
        tested: bool,
    ) -> Result<(), KeyProblem> {
        let spec: RoleSpec = table
            .try_into()
            .map_err(|e: toml::de::Error| ("", first_line(e.message())))?;
        unique(&spec.id, ids)?;
        if spec.thread.is_none() && spec.process.is_none() && spec.file.is_none() {
            let message = "a role rule needs `thread`, `process` or `file`".to_owned();
            return Err(("id", message));
        }
        let part =
            |text: Option<String>, key| text.map(|t| whole(&t, key, false, tested)).transpose();
        self.roles.push(RoleRule {
            id: spec.id,
            thread: part(spec.thread, "thread")?,
            process: part(spec.process, "process")?,
            file: part(spec.file, "file")?,
            role: parse_role(&spec.role)?,
        });
        Ok(())
    }

    fn layer(&mut self, name: &str) -> Result<LayerId, KeyProblem> {
        if name.is_empty() {
            return Err(("layer", "`layer` is empty".to_owned()));
        }
        if let Some(id) = self.layer_id(name) {
            return Ok(id);
        }
        let id = u16::try_from(self.layers.len())
            .map_err(|_e| ("layer", "too many layers".to_owned()))?;
        self.layers.push(LayerInfo {
            name: name.to_owned(),
            title: name.to_owned(),
            class: LayerClass::Api,
        });
        Ok(LayerId(id))
    }

    /// The id of a layer by name.
    #[must_use]
    pub fn layer_id(&self, name: &str) -> Option<LayerId> {
        let i = self.layers.iter().position(|l| l.name == name)?;
        Some(LayerId(u16::try_from(i).ok()?))
    }

    /// All layers that these rules can give.
    #[must_use]
    pub fn layers(&self) -> &[LayerInfo] {
        &self.layers
    }

    /// Number of layer rules.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// True without layer rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Layer and rule id for one span; `arg` gives the text of an arg. Layer `other` without a rule.
    #[must_use]
    pub fn classify(
        &self,
        group: LaneGroup,
        cat: &str,
        name: &str,
        arg: &dyn Fn(&str) -> Option<String>,
    ) -> (&str, Option<&str>) {
        let outcome = self.outcome(&self.candidates(group, cat), name);
        match self.decide(&outcome, arg) {
            Some(i) => {
                let rule = &self.rules[i];
                (&self.layers[rule.layer.index()].name, Some(&rule.id))
            }
            None => ("other", None),
        }
    }

    /// The rules that can apply to spans of one category on lanes of one group, in order.
    pub(in crate::analysis) fn candidates(&self, group: LaneGroup, cat: &str) -> Vec<usize> {
        let fits = |r: &Rule| {
            (r.sources.is_empty() || r.sources.iter().any(|s| s == group.tracer))
                && r.gpu.is_none_or(|g| g == group.gpu)
                && r.role.is_none_or(|x| x == group.role)
                && r.cat.as_ref().is_none_or(|c| c.is_match(cat))
        };
        (0..self.rules.len())
            .filter(|&i| fits(&self.rules[i]))
            .collect()
    }

    /// Of `candidates`, those that match a name.
    pub(in crate::analysis) fn outcome(&self, candidates: &[usize], name: &str) -> Outcome {
        let mut outcome = Outcome::default();
        let forms = Forms::new(name);
        for &i in candidates {
            let rule = &self.rules[i];
            let text = forms.get(rule.norm);
            let fits = rule.name.as_ref().is_none_or(|n| n.is_match(text));
            if !fits || rule.not.as_ref().is_some_and(|n| n.is_match(text)) {
                continue;
            }
            if rule.args.is_empty() {
                outcome.last = Some(i);
                break;
            }
            outcome.conditional.push(i);
        }
        outcome
    }

    /// The rule that applies, given the args.
    pub(in crate::analysis) fn decide(
        &self,
        outcome: &Outcome,
        arg: &dyn Fn(&str) -> Option<String>,
    ) -> Option<usize> {
        let holds = |&&i: &&usize| {
            let args = &self.rules[i].args;
            args.iter()
                .all(|(key, re)| re.is_match(&arg(key).unwrap_or_default()))
        };
        outcome
            .conditional
            .iter()
            .find(holds)
            .copied()
            .or(outcome.last)
    }

    /// The value that a rule puts into `key` for a name: `set = { step = "$1" }`.
    pub(in crate::analysis) fn captured(
        &self,
        rule: usize,
        key: &str,
        name: &str,
    ) -> Option<String> {
        let rule = &self.rules[rule];
        let (_, template) = rule.set.iter().find(|(k, _)| k == key)?;
        let forms = Forms::new(name);
        let captures = rule.name.as_ref()?.captures(forms.get(rule.norm))?;
        let mut out = String::new();
        captures.expand(template, &mut out);
        Some(out)
    }

    /// The role of a thread by the role rules: first match wins.
    #[must_use]
    pub fn role_of(&self, thread: &str, process: Option<&str>, file: Option<&str>) -> Option<Role> {
        let hit = |re: &Option<Regex>, text: Option<&str>| {
            re.as_ref()
                .is_none_or(|re| text.is_some_and(|t| re.is_match(t)))
        };
        let found = self.roles.iter().find(|r| {
            hit(&r.thread, Some(thread)) && hit(&r.process, process) && hit(&r.file, file)
        });
        found.map(|r| r.role)
    }

    /// Ids of the role rules, in order.
    pub fn role_ids(&self) -> impl Iterator<Item = &str> {
        self.roles.iter().map(|r| r.id.as_str())
    }
}

fn unique(id: &str, ids: &mut std::collections::BTreeSet<String>) -> Result<(), KeyProblem> {
    if ids.insert(id.to_owned()) {
        Ok(())
    } else {
        Err(("id", format!("id `{id}` is used twice")))
    }
}

fn parse_role(text: &str) -> Result<Role, KeyProblem> {
    let all = [
        Role::Main,
        Role::Worker,
        Role::Pin,
        Role::Autograd,
        Role::Other,
    ];
    all.into_iter().find(|r| r.key() == text).ok_or_else(|| {
        let message = format!("role `{text}` is none of main, worker, pin, autograd, other");
        ("role", message)
    })
}

/// An expression for whole texts; `layer` rules ignore case and let `.` match line ends.
fn whole(pattern: &str, key: &'static str, layer: bool, tested: bool) -> Result<Regex, KeyProblem> {
    let build = |p: &str| {
        RegexBuilder::new(p)
            .case_insensitive(layer)
            .dot_matches_new_line(layer)
            .size_limit(REGEX_LIMIT)
            .build()
            .map_err(|e| (key, last_line(&e.to_string())))
    };
    // Alone first, so that an unbalanced `)` cannot close the group around it.
    if !tested {
        build(pattern)?;
    }
    build(&format!(r"\A(?:{pattern})\z"))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().to_owned()
}

/// The line of a place, from 1; the end of the text is on its last line.
fn line_of(text: &str, at: usize) -> usize {
    let breaks = text.bytes().take(at).filter(|&b| b == b'\n').count();
    (1 + breaks).min(text.lines().count().max(1))
}

/// Where `key` is written inside the table at `span`; the table's start if it is not found.
fn key_at(text: &str, span: std::ops::Range<usize>, key: &str) -> usize {
    let mut at = span.start;
    if key.is_empty() {
        return at;
    }
    for (i, line) in text[span.start..].split_inclusive('\n').enumerate() {
        let trimmed = line.trim_start();
        if i > 0 && trimmed.starts_with("[[") {
            break;
        }
        let rest = trimmed.strip_prefix(key).map(str::trim_start);
        if rest.is_some_and(|r| r.starts_with(['=', '.'])) {
            return at;
        }
        at += line.len();
    }
    span.start
}

#[cfg(test)]
mod tests;
