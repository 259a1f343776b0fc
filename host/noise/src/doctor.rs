//! Checks of a machine before a campaign: causes of variation from run to run, and the command that mends each.
//!
//! Everything is read below a root folder, `/` except in tests, and nothing is changed. [`examine`] waits for
//! a second, in which it measures the time that the hypervisor and other processes take.

mod counters;
mod limits;
mod memory;
mod place;
mod processors;
mod time;

use std::{path::Path, time::Duration};

use serde::Serialize;

use self::place::Place;

/// Subject of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// The party that chooses the processor's frequency.
    Governor,
    /// The turbo of processors, which run faster while they are cool.
    Turbo,
    /// Processors that share a core.
    Smt,
    /// Processors that the scheduler leaves alone.
    IsolatedProcessors,
    /// The quota of processor time of this process's cgroups.
    CpuQuota,
    /// The limit of memory of this process's cgroups.
    MemoryLimit,
    /// Huge pages that the kernel makes on its own.
    TransparentHugePages,
    /// Huge pages that are set aside.
    ReservedHugePages,
    /// Pages that may go to a disk.
    Swap,
    /// Pages that the kernel moves between the nodes of a machine.
    NumaBalancing,
    /// Source of the time.
    ClockSource,
    /// Time that the hypervisor takes.
    Steal,
    /// Time that others take.
    ForeignLoad,
    /// Events that profilers may count.
    PerfEvents,
    /// Energy counters of the processor, if they can be read.
    Rapl,
}

/// State of a checked item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// Good.
    Fine,
    /// The machine could be better.
    Advice,
    /// The system does not say.
    Unknown,
}

/// A check of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Subject of the check.
    pub kind: CheckKind,
    /// Result of the check.
    pub state: Fitness,
    /// Finding, in words.
    pub found: String,
    /// Reason and remedy; only with [`Fitness::Advice`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<&'static str>,
    /// Command that does it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl CheckKind {
    /// Returns the name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Governor => "governor",
            Self::Turbo => "turbo",
            Self::Smt => "SMT",
            Self::IsolatedProcessors => "isolated processors",
            Self::CpuQuota => "CPU quota",
            Self::MemoryLimit => "memory limit",
            Self::TransparentHugePages => "transparent huge pages",
            Self::ReservedHugePages => "reserved huge pages",
            Self::Swap => "swap",
            Self::NumaBalancing => "NUMA balancing",
            Self::ClockSource => "clock source",
            Self::Steal => "steal",
            Self::ForeignLoad => "foreign load",
            Self::PerfEvents => "perf events",
            Self::Rapl => "RAPL",
        }
    }

    fn fine(self, found: impl Into<String>) -> Check {
        Check { kind: self, state: Fitness::Fine, found: found.into(), advice: None, command: None }
    }

    fn unknown(self, found: impl Into<String>) -> Check {
        Check { state: Fitness::Unknown, ..self.fine(found) }
    }

    fn advice(self, found: impl Into<String>, advice: &'static str, command: impl Into<String>) -> Check {
        let command = Some(command.into());
        Check { state: Fitness::Advice, advice: Some(advice), command, ..self.fine(found) }
    }
}

/// Examines this machine, for a second.
#[must_use]
pub fn examine() -> Vec<Check> {
    examine_below(Path::new("/"), Duration::from_secs(1))
}

/// Examines the machine described below a root, and the load of others for the length of `pause`.
fn examine_below(root: &Path, pause: Duration) -> Vec<Check> {
    let place = Place::new(root);
    let processors = place.processors();
    let [steal, foreign] = time::taken(root, &processors, pause);
    vec![
        processors::governor(&place, &processors),
        processors::turbo(&place),
        processors::smt(&place),
        processors::isolated(&place, &processors),
        limits::quota(&place),
        limits::memory(&place),
        memory::transparent_huge_pages(&place),
        memory::reserved_huge_pages(&place),
        memory::swap(&place),
        memory::numa_balancing(&place),
        time::clock_source(&place),
        steal,
        foreign,
        counters::perf_events(&place),
        counters::rapl(&place),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// Files of a machine, by path.
    pub(super) fn machine(files: &[(&str, &str)]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn all(files: &[(&str, &str)]) -> Vec<Check> {
        examine_below(machine(files).path(), Duration::ZERO)
    }

    /// A machine that somebody has prepared.
    const PREPARED: &[(&str, &str)] = &[
        ("proc/self/status", "Name:\thost\nCpus_allowed_list:\t2-3\n"),
        ("proc/self/stat", "1 (host) R 1 1 1 0 -1 0 10 0 0 0 7 3 0 0\n"),
        ("proc/stat", "cpu2 5 0 0 90 0 0 0 0\ncpu3 5 0 0 90 0 0 0 0\n"),
        ("proc/self/cgroup", "0::/user\n"),
        ("proc/loadavg", "0.01 0.02 0.03 1/99 42\n"),
        ("proc/meminfo", "MemTotal: 16000000 kB\nHugePages_Total:       0\nHugePages_Free:        0\n"),
        ("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n"),
        ("proc/sys/kernel/numa_balancing", "0\n"),
        ("proc/sys/kernel/perf_event_paranoid", "1\n"),
        ("sys/devices/system/node/online", "0-1\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/isolated", "2-3\n"),
        ("sys/devices/system/cpu/nohz_full", "2-3\n"),
        ("sys/devices/system/cpu/smt/active", "0\n"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ("sys/fs/cgroup/user/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/user/memory.max", "max\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ("sys/class/powercap/intel-rapl:0/energy_uj", "123\n"),
    ];

    #[test]
    fn a_prepared_machine_needs_no_advice() {
        for check in all(PREPARED) {
            assert_eq!(check.state, Fitness::Fine, "{check:?}");
            assert!(
                check.advice.is_none() && check.command.is_none() && !check.found.is_empty(),
                "{check:?}"
            );
        }
    }

    #[test]
    fn of_an_empty_root_nothing_is_known_and_nothing_is_advised() {
        for check in all(&[]) {
            assert_eq!(check.state, Fitness::Unknown, "{check:?}");
        }
    }

    #[test]
    fn nonsense_is_never_fine_by_mistake() {
        let nonsense: Vec<_> =
            PREPARED.iter().map(|(path, _)| (*path, "nonsense [ \u{fffd} 1e9\n")).collect();
        let fine = all(&nonsense).into_iter().filter(|check| check.state == Fitness::Fine);
        let kinds: Vec<_> = fine.map(|check| check.kind).collect();
        // A list without a line has no swap in it.
        assert_eq!(kinds, [CheckKind::Swap]);
    }

    #[test]
    fn each_check_has_a_name_of_its_own_and_this_machine_is_examined() {
        let checks = examine_below(Path::new("/"), Duration::from_millis(1));
        for (position, check) in checks.iter().enumerate() {
            assert!(checks[..position].iter().all(|other| other.kind != check.kind), "{check:?}");
            assert_eq!(check.state == Fitness::Advice, check.advice.is_some(), "{check:?}");
        }
    }

    #[test]
    fn what_could_be_better_comes_with_a_command() {
        let changed = |path: &str, text: &str| {
            let files =
                PREPARED.iter().map(|(known, old)| (*known, if *known == path { text } else { *old }));
            let checks = all(&files.collect::<Vec<_>>());
            let advised: Vec<_> = checks.into_iter().filter(|check| check.state != Fitness::Fine).collect();
            let [check] = &advised[..] else { panic!("{path}: {advised:?}") };
            (check.kind, check.state, check.command.clone().unwrap_or_default())
        };
        for (path, text, kind, command) in [
            (
                "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor",
                "powersave\n",
                CheckKind::Governor,
                "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            ),
            (
                "sys/devices/system/cpu/intel_pstate/no_turbo",
                "0\n",
                CheckKind::Turbo,
                "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
            ),
            (
                "sys/devices/system/cpu/smt/active",
                "1\n",
                CheckKind::Smt,
                "echo off | sudo tee /sys/devices/system/cpu/smt/control",
            ),
            (
                "sys/fs/cgroup/user/cpu.max",
                "150000 100000\n",
                CheckKind::CpuQuota,
                "echo max | sudo tee /sys/fs/cgroup/user/cpu.max",
            ),
            (
                "sys/fs/cgroup/user/memory.max",
                "1073741824\n",
                CheckKind::MemoryLimit,
                "echo max | sudo tee /sys/fs/cgroup/user/memory.max",
            ),
            (
                "sys/kernel/mm/transparent_hugepage/enabled",
                "[always] madvise never\n",
                CheckKind::TransparentHugePages,
                "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
            ),
            (
                "proc/meminfo",
                "MemTotal: 16000000 kB\nHugePages_Total: 512\nHugePages_Free: 512\nHugepagesize: 2048 kB\n",
                CheckKind::ReservedHugePages,
                "sudo sysctl vm.nr_hugepages=0",
            ),
            (
                "proc/swaps",
                "Filename Type Size Used Priority\n/swap file 2097148 0 -2\n",
                CheckKind::Swap,
                "sudo swapoff -a",
            ),
            (
                "proc/sys/kernel/numa_balancing",
                "1\n",
                CheckKind::NumaBalancing,
                "sudo sysctl kernel.numa_balancing=0",
            ),
            (
                "proc/sys/kernel/perf_event_paranoid",
                "4\n",
                CheckKind::PerfEvents,
                "sudo sysctl kernel.perf_event_paranoid=1",
            ),
            (
                "sys/devices/system/clocksource/clocksource0/current_clocksource",
                "hpet\n",
                CheckKind::ClockSource,
                "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
            ),
        ] {
            assert_eq!(changed(path, text), (kind, Fitness::Advice, command.to_owned()));
        }
    }
}
