//! Checks of the limits of this process's cgroups.
//!
//! Sources: Linux, Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst, and
//! Documentation/scheduler/sched-bwc.rst.

use super::{
    Check, CheckKind,
    place::{GroupFile, Place},
};
use crate::proc_text::number;

pub(super) fn quota(place: &Place) -> Check {
    let kind = CheckKind::CpuQuota;
    let Some(files) = place.group_files("cpu", "cpu.max", "cpu.cfs_quota_us") else {
        return kind.unknown("/proc/self/cgroup is not there, or names no group");
    };
    let mut tightest: Option<(f64, &GroupFile, &str)> = None;
    for file in &files {
        let (processors, unlimited) = if file.path.ends_with("cpu.max") {
            let Some((quota, period)) = file.text.split_once(' ') else { return unread(kind, file) };
            match (quota, number::<f64>(quota), number::<f64>(period)) {
                ("max", _, Some(_)) => continue,
                (_, Some(quota), Some(period)) if period > 0.0 => (quota / period, "max"),
                _ => return unread(kind, file),
            }
        } else {
            let period = place.number(&file.path.replace("cfs_quota_us", "cfs_period_us"));
            match (number::<i64>(&file.text), period) {
                (Some(-1), _) => continue,
                (Some(quota), Some(period)) if period > 0 => (quota as f64 / period as f64, "-1"),
                _ => return unread(kind, file),
            }
        };
        if tightest.is_none_or(|(least, ..)| processors < least) {
            tightest = Some((processors, file, unlimited));
        }
    }
    match tightest {
        None => kind.fine("none"),
        Some((processors, file, unlimited)) => kind.advice(
            format!("{processors:.2} processors"),
            "threads that have used up their share stand still, all of them, for up to a tenth of a second",
            format!("echo {unlimited} | sudo tee {}", file.path),
        ),
    }
}

pub(super) fn memory(place: &Place) -> Check {
    let kind = CheckKind::MemoryLimit;
    let Some(files) = place.group_files("memory", "memory.max", "memory.limit_in_bytes") else {
        return kind.unknown("/proc/self/cgroup is not there, or names no group");
    };
    let Some(machine_bytes) = place.memory_figure("MemTotal:").map(|kib| kib.saturating_mul(1024)) else {
        return kind.unknown("/proc/meminfo does not tell the memory of the machine");
    };
    let mut tightest: Option<(u64, &GroupFile)> = None;
    for file in files.iter().filter(|file| file.text != "max") {
        let Some(bytes) = number::<u64>(&file.text) else { return unread(kind, file) };
        // The first version has a number that no machine reaches if there is no limit.
        if bytes < machine_bytes && tightest.is_none_or(|(least, _)| bytes < least) {
            tightest = Some((bytes, file));
        }
    }
    match tightest {
        None => kind.fine("none"),
        Some((bytes, file)) => {
            let unlimited = if file.path.ends_with("memory.max") { "max" } else { "-1" };
            kind.advice(
                format!("{:.1} of {:.1} GB", bytes as f64 / 1e9, machine_bytes as f64 / 1e9),
                "near the limit the kernel takes pages of files away, which are read again during a test",
                format!("echo {unlimited} | sudo tee {}", file.path),
            )
        }
    }
}

fn unread(kind: CheckKind, file: &GroupFile) -> Check {
    kind.unknown(format!("{} holds \"{}\"", file.path, file.text.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{Fitness, tests::machine};

    #[test]
    fn the_first_version_has_limits_of_its_own() {
        let root = machine(&[
            ("proc/self/cgroup", "4:memory:/a\n2:cpu,cpuacct:/a\n"),
            ("proc/meminfo", "MemTotal: 4000000 kB\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000000000\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        let place = Place::new(root.path());
        let cpu = quota(&place);
        assert_eq!((cpu.state, cpu.found.as_str()), (Fitness::Advice, "0.50 processors"));
        assert_eq!(cpu.command.as_deref(), Some("echo -1 | sudo tee /sys/fs/cgroup/cpu/a/cpu.cfs_quota_us"));
        let limit = memory(&place);
        assert_eq!((limit.state, limit.found.as_str()), (Fitness::Advice, "1.0 of 4.1 GB"));
    }

    #[test]
    fn the_tightest_limit_of_all_groups_counts_and_nonsense_is_named() {
        let with = |own: &'static str, above: &'static str| {
            let root = machine(&[
                ("proc/self/cgroup", "0::/a/b\n"),
                ("sys/fs/cgroup/a/b/cpu.max", own),
                ("sys/fs/cgroup/a/cpu.max", above),
            ]);
            quota(&Place::new(root.path()))
        };
        assert_eq!(with("200000 100000", "150000 100000").found, "1.50 processors");
        assert_eq!(with("max 100000", "max 100000").state, Fitness::Fine);
        let nonsense = with("max 100000", "many\u{7}");
        assert_eq!(nonsense.state, Fitness::Unknown);
        assert!(nonsense.found.ends_with(r#"/a/cpu.max holds "many\u{7}""#), "{}", nonsense.found);
    }
}
