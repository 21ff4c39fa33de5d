//! The recorder's own records: hashes of hosts, files and commands, names, unit of time, start and end.

use std::collections::BTreeMap;

use super::scan::{Record, for_each_member};
use super::table::Table;
use super::token::Token;
use crate::import::text::decimal;

/// The start record of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Start {
    pub pid: String,
    pub ppid: Option<String>,
    pub version: Option<String>,
    pub date: Option<String>,
    /// Hashes, or the texts themselves.
    pub command: Option<String>,
    pub executable: Option<String>,
    pub folder: Option<String>,
}

/// The end record of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct End {
    pub events: Option<i64>,
    pub time_metric: Option<String>,
}

/// What metadata says.
#[derive(Default)]
pub(crate) struct Meta {
    /// Records by name.
    pub counts: BTreeMap<String, u64>,
    /// Hash → texts, for files (FH), hosts (HH) and strings (SH).
    pub files: Table,
    pub hosts: Table,
    pub strings: Table,
    /// (pid, tid, name) of threads.
    pub threads: Vec<(String, String, String)>,
    /// (pid, name) of processes.
    pub processes: Vec<(String, String)>,
    /// (pid, key, value): `rank`, `core_affinity`.
    pub facts: Vec<(String, String, String)>,
    /// Custom values that name no time: `time_metric` and others.
    pub custom: Vec<(String, String)>,
    pub start: Option<Start>,
    pub end: Option<End>,
}

impl Meta {
    /// Takes a metadata record.
    pub fn add(&mut self, record: &Record<'_>) {
        let (mut name, mut value) = (Token::default(), Token::default());
        for_each_member(record.args.unwrap_or(b"{}"), |key, token| match key {
            b"name" => name = token,
            b"value" => value = token,
            _ => {}
        });
        let (name, value) = (name.text(), value.text());
        let kind = record.name.text();
        match self.counts.get_mut(kind.as_ref()) {
            Some(count) => *count += 1,
            None => _ = self.counts.insert(kind.into_owned(), 1),
        }
        let pid = || record.pid.number_text();
        match record.name.bytes {
            b"FH" => self.files.declare(&value, &name),
            b"HH" => self.hosts.declare(&value, &name),
            b"SH" => self.strings.declare(&value, &name),
            // Name and value are swapped by the recorder.
            b"thread_name" => {
                let thread = record.tid.number_text();
                self.threads.push((pid(), thread, name.into_owned()));
            }
            b"process_name" => self.processes.push((pid(), name.into_owned())),
            b"PR" => self
                .facts
                .push((pid(), name.into_owned(), value.into_owned())),
            b"CM" => self.custom.push((name.into_owned(), value.into_owned())),
            _ => {}
        }
    }

    /// Takes a complete record of the recorder's own category.
    pub fn own_event(&mut self, record: &Record<'_>) {
        match record.name.bytes {
            b"start" if self.start.is_none() => {
                let mut start = Start {
                    pid: record.pid.number_text(),
                    ..Start::default()
                };
                for_each_member(record.args.unwrap_or(b"{}"), |key, value| {
                    let slot = match key {
                        b"ppid" => {
                            start.ppid = (!value.is_missing()).then(|| value.number_text());
                            return;
                        }
                        b"version" => &mut start.version,
                        b"date" => &mut start.date,
                        b"cmd_hash" => &mut start.command,
                        b"exec_hash" => &mut start.executable,
                        b"cwd" => &mut start.folder,
                        _ => return,
                    };
                    *slot = (!value.is_missing()).then(|| value.text().into_owned());
                });
                self.start = Some(start);
            }
            b"end" => self.end = Some(end_of(record)),
            _ => {}
        }
    }

    /// Adds what a later stretch of the same file says.
    pub fn absorb(&mut self, other: Self) {
        for (name, n) in other.counts {
            *self.counts.entry(name).or_default() += n;
        }
        self.files.absorb(&other.files);
        self.hosts.absorb(&other.hosts);
        self.strings.absorb(&other.strings);
        self.threads.extend(other.threads);
        self.processes.extend(other.processes);
        self.facts.extend(other.facts);
        self.custom.extend(other.custom);
        if self.start.is_none() {
            self.start = other.start;
        }
        if other.end.is_some() {
            self.end = other.end;
        }
    }

    /// The unit of time, as texts: the custom records, else the configuration in the end record.
    fn units(&self) -> impl Iterator<Item = &str> {
        let custom = self.custom.iter().filter(|(k, _)| k == "time_metric");
        let ended = self.end.as_ref().and_then(|e| e.time_metric.as_deref());
        custom.map(|(_, v)| v.as_str()).chain(ended)
    }

    /// Nanoseconds per tick, by the first statement that is known. `None` where there is none.
    pub fn unit(&self) -> Option<i64> {
        self.units().find_map(unit_of)
    }

    /// The first statement that says something else, or nothing that is known.
    pub fn odd_unit(&self) -> Option<&str> {
        let unit = self.unit();
        self.units()
            .find(|text| unit_of(text) != unit || unit.is_none())
    }
}

fn unit_of(text: &str) -> Option<i64> {
    match text.trim().to_ascii_uppercase().as_str() {
        "NS" => Some(1),
        "US" => Some(1_000),
        "MS" => Some(1_000_000),
        "SEC" | "S" => Some(1_000_000_000),
        _ => None,
    }
}

fn end_of(record: &Record<'_>) -> End {
    let mut end = End::default();
    for_each_member(record.args.unwrap_or(b"{}"), |key, value| {
        if key == b"num_events" {
            end.events = decimal::whole(value.bytes);
        }
    });
    // `cfg` is an object inside.
    let config = record
        .args
        .and_then(|args| serde_json::from_slice::<serde_json::Value>(args).ok());
    end.time_metric = config
        .as_ref()
        .and_then(|args| args.get("cfg")?.get("time_metric")?.as_str())
        .map(str::to_owned);
    end
}
