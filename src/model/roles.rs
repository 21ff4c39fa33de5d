//! What processes are for, by who started whom: the one place that says so, for importers and for the analysis.
//!
//! ```text
//! launcher ── runs another command ──▶ rank 0 ── works for it ──▶ worker    worker: a child that works for its parent
//!    │                                                                     main:   has workers, whoever started it
//!    └────────────────────────────────▶ rank 1 ── …                        open:   nothing is known
//! ```
//!
//! Whether a child works for its parent is told by the caller, as each knows something else of it: an importer how the
//! process was started, the analysis whether the parent trains.

use std::collections::BTreeMap;

use super::Role;

/// What a process's role depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kin<'a> {
    /// Key of the tracer that recorded it: parents are looked for among its processes.
    pub tracer: &'a str,
    /// Host, where known.
    pub host: Option<&'a str>,
    /// The process's number.
    pub pid: &'a str,
    /// That of its parent, where the file says it.
    pub parent: Option<&'a str>,
}

impl Kin<'_> {
    /// Equal, or not known of one.
    fn may_share_host(&self, other: &Self) -> bool {
        self.host.is_none() || other.host.is_none() || self.host == other.host
    }
}

/// The role of each process. `works` says whether one, by index, works for its parent, whose index it gets where it was
/// recorded. `None` where nothing is known: a process that neither works for another one nor has workers.
pub fn roles_by_parent(
    processes: &[Kin<'_>],
    mut works: impl FnMut(usize, Option<usize>) -> bool,
) -> Vec<Option<Role>> {
    let mut numbered: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (i, p) in processes.iter().enumerate() {
        numbered.entry((p.tracer, p.pid)).or_default().push(i);
    }
    let parent_of = |p: &Kin<'_>| {
        let pid = p.parent.filter(|&pid| pid != p.pid)?;
        let found = numbered.get(&(p.tracer, pid))?;
        found
            .iter()
            .copied()
            .find(|&i| p.may_share_host(&processes[i]))
    };
    let parents: Vec<Option<usize>> = processes.iter().map(parent_of).collect();
    let mut roles = vec![None; processes.len()];
    for (i, &parent) in parents.iter().enumerate() {
        if works(i, parent) {
            roles[i] = Some(Role::Worker);
        }
    }
    let parents_of_workers = parents
        .iter()
        .zip(&roles)
        .filter(|(_, role)| role.is_some());
    let parents_of_workers: Vec<usize> = parents_of_workers.filter_map(|(p, _)| *p).collect();
    for parent in parents_of_workers {
        roles[parent] = Some(Role::Main);
    }
    roles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kin<'a>(host: Option<&'a str>, pid: &'a str, parent: &'a str) -> Kin<'a> {
        Kin {
            tracer: "made",
            host,
            pid,
            parent: Some(parent),
        }
    }

    #[test]
    fn a_launcher_its_ranks_and_their_workers() {
        let all = [
            kin(None, "1", "0"),
            kin(None, "10", "1"),
            kin(None, "20", "1"),
            kin(None, "11", "10"),
            kin(None, "12", "10"),
        ];
        // Forked from the ranks.
        let roles = roles_by_parent(&all, |i, parent| i > 2 && parent.is_some());
        let worker = Some(Role::Worker);
        assert_eq!(roles, [None, Some(Role::Main), None, worker, worker]);
        // Nobody knows how they were started: whoever has workers trains, also where he himself seems to be one.
        let roles = roles_by_parent(&all, |_, parent| parent.is_some());
        let main = Some(Role::Main);
        assert_eq!(roles, [main, main, worker, worker, worker]);
    }

    #[test]
    fn parents_are_of_the_same_host_and_never_the_process_itself() {
        let found = |child: Kin<'_>, others: &[Kin<'_>]| {
            let mut all = others.to_vec();
            all.push(child);
            let parent = std::cell::Cell::new(None);
            roles_by_parent(&all, |i, p| {
                if i + 1 == all.len() {
                    parent.set(p);
                }
                false
            });
            parent.get()
        };
        let (a, b) = (kin(Some("a"), "1", "0"), kin(Some("b"), "1", "0"));
        let both = [a, b];
        assert_eq!(found(kin(Some("b"), "2", "1"), &both), Some(1));
        assert_eq!(found(kin(None, "2", "1"), &both), Some(0));
        assert_eq!(found(kin(Some("c"), "2", "1"), &both), None);
        assert_eq!(found(kin(None, "3", "3"), &both), None);
        let other = Kin {
            tracer: "other",
            ..kin(None, "2", "1")
        };
        assert_eq!(found(other, &both), None);
    }
}
