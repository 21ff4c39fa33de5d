//! The importers, and who reads what. Another one is its folder and its line in this table.

use std::sync::LazyLock;

use super::bytes::head::Head;
use super::contract::importer::{Claim, Importer};
use super::recognise::sniff::Content;
use super::{chrome, dftracer, nsight, spans, trimmed};
use crate::model::{Source, TracerFacts};

/// All importers. Where several claim a file, the first one that is sure of it gets it.
pub(crate) const IMPORTERS: &[&dyn Importer] = &[
    &chrome::Chrome,
    &nsight::Nsight,
    &dftracer::Dftracer,
    &spans::Spans,
    &trimmed::Trimmed,
];

/// The tracers whose files can be read.
pub static TRACERS: LazyLock<Vec<&'static TracerFacts>> = LazyLock::new(|| {
    let mut all: Vec<&'static TracerFacts> = Vec::new();
    for facts in IMPORTERS.iter().map(|i| i.facts()) {
        // Windows of traces have the tracer of what they were cut from.
        if all.iter().all(|f| f.key != facts.key) {
            all.push(facts);
        }
    }
    all
});

/// Who reads a file, and how sure he is of it.
pub(crate) fn claim(content: &Content, head: &Head) -> Option<(&'static dyn Importer, Claim)> {
    let claims = || {
        let all = IMPORTERS.iter();
        all.filter_map(|&i| Some((i, i.claims(content, head)?)))
    };
    claims()
        .find(|(_, claim)| *claim == Claim::Sure)
        .or_else(|| claims().next())
}

/// Who has read a source; nobody where it was made otherwise.
pub(crate) fn of_source(source: &Source) -> Option<&'static dyn Importer> {
    if source.from.is_some() {
        return Some(&trimmed::Trimmed);
    }
    let mut all = IMPORTERS.iter().copied();
    all.find(|i| i.facts().key == source.tracer.key)
}

/// What can be opened, for the end of a refusal.
pub(crate) fn supported() -> String {
    let files: Vec<&str> = IMPORTERS.iter().map(|i| i.files()).collect();
    format!("Supported: {}.", files.join(", "))
}

/// True for a name that ends as files of one of the importers do, compressed or not: what is called so and is none may be a
/// trace that is lost.
pub(crate) fn is_named_as_a_trace(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let mut endings = IMPORTERS.iter().flat_map(|i| i.endings());
    endings.any(|ending| name.ends_with(ending))
}

/// True for a name that files of one of the importers usually have, compressed or not.
pub(crate) fn names_a_trace(name: &str) -> bool {
    let name = name.to_lowercase();
    let mut endings = IMPORTERS.iter().flat_map(|i| i.endings());
    name.contains(".gz") || endings.any(|ending| name.contains(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_traces_are_known_compressed_or_not() {
        for (name, is) in [
            ("rank3.json", true),
            ("Rank3.pt.trace.JSON.gz", true),
            (".trace-0-of-4.pfw", true),
            ("losses.csv", false),
            ("train.log.gz", false),
            ("rank3.jsonl", false),
        ] {
            assert_eq!(is_named_as_a_trace(name), is, "{name}");
        }
    }
}
