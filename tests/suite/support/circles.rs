//! Which files of the source use which others, and where they do so in a circle.

use std::collections::{BTreeMap, BTreeSet};

/// A file as a module: `["analysis", "base", "lanes"]`.
type Module = Vec<String>;

/// What each file of the crate uses of the others.
pub struct Uses {
    files: BTreeMap<Module, String>,
    /// By module and name: the path that a `use` of the module leads the name to.
    exported: BTreeMap<(Module, String), Module>,
}

/// The module of a file: `a/b/mod.rs` is `a::b`, as is `a/b.rs`.
fn module_of(file: &str) -> Module {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// The code without comments and without tests.
fn code_of(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Every path that begins with one of these words, with lists in braces written out: `a::{b, c::d}` is `a::b`, `a::c::d`.
fn paths(code: &str, words: &[&str]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for word in words {
        let begin = format!("{word}::");
        for (at, _) in code.match_indices(&begin) {
            let joined = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            if !code[..at].ends_with(joined) {
                tree(&code[at..], &mut Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Reads one branch of a tree of paths; returns what stands behind it.
fn tree<'a>(mut text: &'a str, before: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let depth = before.len();
    loop {
        text = text.trim_start();
        if let Some(mut list) = text.strip_prefix('{') {
            loop {
                list = list.trim_start();
                if let Some(rest) = list.strip_prefix('}') {
                    text = rest;
                    break;
                }
                let rest = tree(list, before, found).trim_start();
                list = rest.strip_prefix(',').unwrap_or(rest);
                // Not a list of paths after all, such as a block.
                if !list
                    .trim_start()
                    .starts_with(|c: char| c.is_alphanumeric() || "_{}".contains(c))
                {
                    before.truncate(depth);
                    return list;
                }
            }
            break;
        }
        let end = text
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(text.len());
        if end == 0 {
            found.push(before.clone());
            break;
        }
        before.push(text[..end].to_owned());
        text = &text[end..];
        match text.strip_prefix("::") {
            Some(rest) => text = rest,
            None => {
                found.push(before.clone());
                // `a as b`
                if let Some(rest) = text.strip_prefix(" as ") {
                    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                    text = &rest[end.unwrap_or(rest.len())..];
                }
                break;
            }
        }
    }
    before.truncate(depth);
    text
}

impl Uses {
    /// Of these files: path below `src/`, text.
    pub fn of(files: &[(String, String)]) -> Self {
        let files: BTreeMap<Module, String> = files
            .iter()
            .map(|(name, text)| (module_of(name), code_of(text)))
            .collect();
        let mut uses = Self {
            files,
            exported: BTreeMap::new(),
        };
        for (module, code) in &uses.files {
            for (at, _) in code.match_indices("use ") {
                let line = code[..at].rsplit('\n').next().unwrap_or_default();
                if !line.trim_start().starts_with("pub") {
                    continue;
                }
                let mut found = Vec::new();
                tree(&code[at + 4..], &mut Vec::new(), &mut found);
                for path in found {
                    let Some(name) = path.last().cloned() else {
                        continue;
                    };
                    let target = uses.absolute(module, &path);
                    uses.exported.insert((module.clone(), name), target);
                }
            }
        }
        uses
    }

    /// The path from the root of the crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Module {
        let mut out = module.clone();
        let mut rest = path;
        match path.first().map(String::as_str) {
            Some("crate") => {
                out.clear();
                rest = &path[1..];
            }
            Some("self") => rest = &path[1..],
            _ => {
                while rest.first().is_some_and(|word| word == "super") {
                    out.pop();
                    rest = &rest[1..];
                }
            }
        }
        out.extend(rest.iter().cloned());
        out
    }

    /// The file that a path leads to, through what modules on the way pass on.
    fn file(&self, path: &Module) -> Option<Module> {
        let mut path = path.clone();
        for _ in 0..8 {
            let known = (1..=path.len())
                .rev()
                .find(|&n| self.files.contains_key(&path[..n]))?;
            let (module, rest) = (path[..known].to_vec(), path[known..].to_vec());
            let passed = rest
                .first()
                .and_then(|n| self.exported.get(&(module.clone(), n.clone())));
            match passed {
                Some(target) if *target != path => {
                    path = [&target[..], &rest[1..]].concat();
                }
                _ => return Some(module),
            }
        }
        None
    }

    /// Files of the same room that a file uses, without those above and below it.
    fn of_file(&self, module: &Module) -> BTreeSet<Module> {
        let code = &self.files[module];
        let mut out = BTreeSet::new();
        for path in paths(code, &["crate", "super", "self"]) {
            let Some(file) = self.file(&self.absolute(module, &path)) else {
                continue;
            };
            let related = file.starts_with(module) || module.starts_with(&file);
            if file[0] == module[0] && !related {
                out.insert(file);
            }
        }
        out
    }

    /// Groups of files that use each other in a circle, each with the files in order.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let edges: BTreeMap<&Module, BTreeSet<Module>> =
            self.files.keys().map(|m| (m, self.of_file(m))).collect();
        let reach = |from: &Module| {
            let mut seen: BTreeSet<&Module> = BTreeSet::new();
            let mut next: Vec<&Module> = edges[from].iter().collect();
            while let Some(module) = next.pop() {
                if seen.insert(module) {
                    next.extend(&edges[module]);
                }
            }
            seen
        };
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            self.files.keys().map(|m| (m, reach(m))).collect();
        let mut out: BTreeSet<Vec<String>> = BTreeSet::new();
        for (module, there) in &reached {
            if there.contains(*module) {
                let both = there.iter().filter(|m| reached[*m].contains(*module));
                out.insert(both.map(|m| m.join("/")).collect());
            }
        }
        out.into_iter().collect()
    }
}
