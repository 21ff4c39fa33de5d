//! Whether a trace fits into memory, before it is read.
//!
//! An estimate from its size, by its importer, against what the system leaves: only Linux tells.

use std::path::Path;

use super::candidate::Candidate;
use crate::import::contract::error::{ErrorKind, LoadError};

/// Text per byte of gzip, for traces: 12 to 25 were seen.
const INFLATION: u64 = 16;

/// Who sets the limit to which memory can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Limit {
    /// What the computer has.
    Machine,
    /// What this process may take (`ulimit -v`, `ulimit -d`).
    Process,
    /// What the control group around it may take, as of a container or a job.
    Group,
}

impl Limit {
    /// How much there is, as a sentence.
    fn leaves(self, bytes: u64) -> String {
        let bytes = gib(bytes);
        match self {
            Self::Machine => format!("{bytes} are free."),
            Self::Process => format!("the limit of this process (ulimit) leaves {bytes}."),
            Self::Group => {
                format!("the memory limit of this container or job (cgroup) leaves {bytes}.")
            }
        }
    }
}

/// Refuses what needs more memory than there is.
///
/// # Errors
/// [`ErrorKind::TooLarge`].
pub(crate) fn check(files: &[Candidate]) -> Result<(), LoadError> {
    let Some((free, limit)) = available() else {
        return Ok(());
    };
    let needed = files.iter().map(estimate).fold(0, u64::saturating_add);
    if needed <= free {
        return Ok(());
    }
    Err(too_large(&files[0].file.path, needed, free, limit))
}

/// The refusal of what needs so many bytes.
pub(crate) fn too_large(path: &Path, needed: u64, free: u64, limit: Limit) -> LoadError {
    LoadError::new(
        ErrorKind::TooLarge,
        path,
        format!(
            "This trace needs about {}; {}",
            gib(needed),
            limit.leaves(free)
        ),
        match limit {
            Limit::Machine => "Close other programs, open a part of the run, or open it anyway.",
            Limit::Process | Limit::Group => {
                "Raise that limit, open a part of the run, or open it anyway."
            }
        },
    )
}

/// Bytes that the model of a file takes at its largest.
pub(crate) fn estimate(candidate: &Candidate) -> u64 {
    let bytes = candidate.file.disk_bytes;
    candidate.importer.memory(if candidate.file.compressed {
        bytes.saturating_mul(INFLATION)
    } else {
        bytes
    })
}

fn gib(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10) >> 30;
    match tenths {
        100.. => format!("{} GiB", tenths / 10),
        10.. => format!("{}.{} GiB", tenths / 10, tenths % 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// Bytes of memory that can be used, and what limits them.
#[cfg(target_os = "linux")]
pub(crate) fn available() -> Option<(u64, Limit)> {
    System {
        proc: Path::new("/proc"),
        groups: Path::new("/sys/fs/cgroup"),
    }
    .available()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn available() -> Option<(u64, Limit)> {
    None
}

/// Where Linux tells of itself.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux only"))]
struct System<'a> {
    proc: &'a Path,
    groups: &'a Path,
}

/// Files of a control group: limits, what is in use, and the line of `memory.stat` that says how much of it is copies of
/// files that the system gives up first.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux only"))]
struct Group {
    limits: &'static [&'static str],
    used: &'static str,
    kept: &'static str,
}

const V1: Group = Group {
    limits: &["memory.limit_in_bytes"],
    used: "memory.usage_in_bytes",
    kept: "total_inactive_file",
};

const V2: Group = Group {
    // Above the lower one a process is slowed down until it all but stands.
    limits: &["memory.max", "memory.high"],
    used: "memory.current",
    kept: "inactive_file",
};

#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux only"))]
impl System<'_> {
    fn available(&self) -> Option<(u64, Limit)> {
        let machine = self.machine().map(|free| (free, Limit::Machine));
        let process = self.process().map(|free| (free, Limit::Process));
        let group = self.group().map(|free| (free, Limit::Group));
        machine.into_iter().chain(process).chain(group).min()
    }

    fn machine(&self) -> Option<u64> {
        let text = read(&self.proc.join("meminfo"))?;
        kib(&text, "MemAvailable:")
    }

    fn process(&self) -> Option<u64> {
        let limits = read(&self.proc.join("self/limits"))?;
        let status = read(&self.proc.join("self/status"))?;
        let both = [
            ("Max address space", "VmSize:"),
            ("Max data size", "VmData:"),
        ];
        let left = both.into_iter().filter_map(|(limit, used)| {
            let line = limits.lines().find_map(|l| l.strip_prefix(limit))?;
            let most: u64 = line.split_whitespace().next()?.parse().ok()?;
            Some(most.saturating_sub(kib(&status, used)?))
        });
        left.min()
    }

    fn group(&self) -> Option<u64> {
        let groups = read(&self.proc.join("self/cgroup"))?;
        let lines = groups.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((parts.next()?, parts.next()?))
        });
        let left = lines.filter_map(|(controllers, path)| match controllers {
            "" => V2.left(self.groups, path),
            _ if controllers.split(',').any(|c| c == "memory") => {
                V1.left(&self.groups.join("memory"), path)
            }
            _ => None,
        });
        left.min()
    }
}

#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux only"))]
impl Group {
    /// What the group and all around it leave. Inside a container paths may be those outside of it: then only the root is
    /// there, which is the container's own.
    fn left(&self, root: &Path, path: &str) -> Option<u64> {
        let own = Path::new(path.trim_start_matches('/'));
        let left = own.ancestors().filter_map(|group| {
            let group = root.join(group);
            let number = |name: &&str| read(&group.join(name))?.trim().parse::<u64>().ok();
            let most = self.limits.iter().filter_map(number).min()?;
            let used = number(&self.used)?;
            let stat = read(&group.join("memory.stat")).unwrap_or_default();
            let line = |l: &str| {
                l.split_once(' ')
                    .filter(|(key, _)| *key == self.kept)?
                    .1
                    .parse()
                    .ok()
            };
            let kept: u64 = stat.lines().find_map(line).unwrap_or(0);
            Some(most.saturating_sub(used.saturating_sub(kept)))
        });
        left.min()
    }
}

#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux only"))]
fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// The bytes on the line of a key whose number counts KiB.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux only"))]
fn kib(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(key))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a made-up system tells.
    fn told(name: &str, files: &[(&str, &str)]) -> Option<(u64, Limit)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("target/tmp/memory")
            .join(name);
        let _ = std::fs::remove_dir_all(&root);
        for (file, text) in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let system = System {
            proc: &root.join("proc"),
            groups: &root.join("cgroup"),
        };
        system.available()
    }

    const MEMINFO: (&str, &str) = (
        "proc/meminfo",
        "MemTotal:       24684084 kB\nMemAvailable:   2048 kB\n",
    );

    #[test]
    fn free_memory_is_read_from_the_kernel() {
        let free = told("machine", &[MEMINFO]);
        assert_eq!(free, Some((2 << 20, Limit::Machine)));
        assert_eq!(told("none", &[("proc/meminfo", "MemTotal: 1 kB")]), None);
        if cfg!(target_os = "linux") {
            assert!(available().is_some());
        }
        assert_eq!(gib(9_663_676_416), "9.0 GiB");
        assert_eq!(gib(12 << 30), "12 GiB");
        assert_eq!(gib(300 << 20), "300 MiB");
    }

    #[test]
    fn the_limits_of_the_process_count() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max data size             unlimited            unlimited            bytes     \n\
                      Max address space         1500000              unlimited            bytes     \n";
        let status = "VmPeak:\t   900 kB\nVmSize:\t     500 kB\nVmData:\t  100 kB\n";
        let files = [
            MEMINFO,
            ("proc/self/limits", limits),
            ("proc/self/status", status),
        ];
        assert_eq!(
            told("process", &files),
            Some((1_500_000 - 500 * 1024, Limit::Process))
        );
    }

    #[test]
    fn the_limits_of_all_groups_around_count() {
        let stat = "anon 1\ninactive_file 300\nactive_file 7\ntotal_inactive_file 400\n";
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "5:cpu:/x\n0::/job/step\n"),
            ("cgroup/job/step/memory.max", "max\n"),
            ("cgroup/job/step/memory.current", "900\n"),
            ("cgroup/job/memory.max", "5000\n"),
            ("cgroup/job/memory.high", "4000\n"),
            ("cgroup/job/memory.current", "1000\n"),
            ("cgroup/job/memory.stat", stat),
        ];
        assert_eq!(told("v2", &files), Some((4_000 - 700, Limit::Group)));
        let files = [
            MEMINFO,
            ("proc/self/cgroup", "4:cpu,memory:/host/name\n"),
            // As a container sees it: its own group is the root.
            ("cgroup/memory/memory.limit_in_bytes", "5000\n"),
            ("cgroup/memory/memory.usage_in_bytes", "1000\n"),
            ("cgroup/memory/memory.stat", stat),
        ];
        assert_eq!(told("v1", &files), Some((5_000 - 600, Limit::Group)));
    }

    #[test]
    fn what_limits_is_said() {
        let error = too_large(Path::new("a.json"), 5 << 30, 3 << 29, Limit::Group);
        assert_eq!(
            error.cause,
            "This trace needs about 5.0 GiB; the memory limit of this container or job (cgroup) leaves 1.5 GiB."
        );
        let error = too_large(Path::new("a.json"), 5 << 30, 100 << 20, Limit::Process);
        assert!(
            error
                .cause
                .ends_with("the limit of this process (ulimit) leaves 100 MiB.")
        );
    }
}
