//! Roles of lanes: what files say, then who started whom, then the role rules.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::layers::ids::LayerId;
use crate::analysis::layers::rules::{LaneGroup, Rules};
use crate::model::{Kin, LaneId, LaneKind, Process, Role, Trace, roles_by_parent};

/// The role of every lane: what the file says of the thread, then of the process, then the role rules, then what its
/// parent does, else main.
#[must_use]
pub fn lane_roles(trace: &Trace, rules: &Rules) -> Vec<Role> {
    let by_parent = by_parent(trace, rules);
    let role = |id: LaneId| {
        let lane = trace.lane(id);
        let process = lane.process.map(|p| (p, trace.process(p)));
        if let Some(role) = lane.role.or(process.and_then(|(_, p)| p.role)) {
            return role;
        }
        // A file's name tells the role only where no parent is known.
        let path = &trace.source(lane.source).path;
        let file = path.file_name().map(|f| f.to_string_lossy());
        let file = file.filter(|_| process.is_none_or(|(_, p)| p.parent.is_none()));
        let name = process.and_then(|(_, p)| p.name.as_deref());
        rules
            .role_of(&lane.name, name, file.as_deref())
            .or_else(|| by_parent[process?.0.index()])
            .unwrap_or(Role::Main)
    };
    trace.lane_ids().map(role).collect()
}

/// Of processes whose role the file leaves open: one whose parent trains, or loads for one that does, works for it. The
/// child of any other process, a launcher say, is no worker.
fn by_parent(trace: &Trace, rules: &Rules) -> Vec<Option<Role>> {
    let all = trace.processes();
    let is_open = |p: &Process| p.role.is_none() && p.parent.is_some();
    if !all.iter().any(is_open) {
        return vec![None; all.len()];
    }
    let kin: Vec<Kin<'_>> = all.iter().map(|p| kin(trace, p)).collect();
    let mut trains_too = BTreeMap::new();
    roles_by_parent(&kin, |child, parent| {
        let Some(parent) = parent.filter(|_| is_open(&all[child])) else {
            return all[child].role == Some(Role::Worker);
        };
        let found = trains_too.entry(parent);
        all[parent].role.is_some() || *found.or_insert_with(|| trains(trace, rules, &kin, parent))
    })
}

fn kin<'a>(trace: &Trace, process: &'a Process) -> Kin<'a> {
    Kin {
        tracer: trace.source(process.source).tracer.key,
        host: process.host.as_deref(),
        pid: &process.pid,
        parent: process.parent.as_deref(),
    }
}

/// Whether a process has a step, a launch or a phase of a training loop, in any file of its tracer. Rules that ask for
/// args are not asked.
fn trains(trace: &Trace, rules: &Rules, kin: &[Kin<'_>], process: usize) -> bool {
    let own = &kin[process];
    let is_own = |k: &Kin<'_>| (k.tracer, k.host, k.pid) == (own.tracer, own.host, own.pid);
    let group = LaneGroup {
        tracer: trace.source(trace.processes()[process].source).tracer.key,
        gpu: false,
        role: Role::Main,
    };
    let spans = trace.spans();
    let mut seen = BTreeSet::new();
    let lanes = trace.lane_ids().filter(|&id| {
        let lane = trace.lane(id);
        lane.kind == LaneKind::Cpu && lane.process.is_some_and(|p| is_own(&kin[p.index()]))
    });
    lanes.flat_map(|lane| trace.lane_spans(lane)).any(|span| {
        let key = (spans.cat(span), spans.name(span));
        if !seen.insert(key) {
            return false;
        }
        let candidates = rules.candidates(group, &trace.category(key.0).name);
        let rule = rules.outcome(&candidates, trace.name(key.1)).last;
        let layer = rule.map_or(LayerId::OTHER, |r| rules.rules[r].layer);
        layer.is_phase() || layer == LayerId::STEP || layer == LayerId::LAUNCH
    })
}
