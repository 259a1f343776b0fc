//! Checks of the processors.
//!
//! Sources: Linux, Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst and kernel-parameters.txt.

use std::collections::BTreeSet;

use super::{Check, CheckKind, place::Place};

const CPU: &str = "/sys/devices/system/cpu";

/// Minimum number of processors at which some can be set apart, with one left for everything else.
const ISOLABLE_MIN: usize = 4;

pub(super) fn governor(place: &Place, processors: &[u32]) -> Check {
    let read = |cpu: &u32| place.read(&format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor")).ok();
    let names: BTreeSet<String> = processors.iter().filter_map(read).collect();
    let listed = names.iter().cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => {
            CheckKind::Governor.unknown("this system does not choose the frequency, as in a virtual machine")
        }
        1 if names.contains("performance") => CheckKind::Governor.fine(listed),
        _ if names.iter().any(|name| !is_word(name)) => {
            CheckKind::Governor.unknown("scaling_governor holds no name of a governor")
        }
        _ => CheckKind::Governor.advice(
            listed,
            "a processor that slows down while it has little to do makes the next query wait",
            format!("echo performance | sudo tee {CPU}/cpu*/cpufreq/scaling_governor"),
        ),
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

pub(super) fn turbo(place: &Place) -> Check {
    // The first says that it is off, the second that it is on.
    let switches = [(format!("{CPU}/intel_pstate/no_turbo"), 1), (format!("{CPU}/cpufreq/boost"), 0)];
    for (path, off) in switches {
        match place.number(&path) {
            Some(value) if value == off => return CheckKind::Turbo.fine("off"),
            Some(0 | 1) => {
                return CheckKind::Turbo.advice(
                    "on",
                    "frequencies above the nominal one depend on heat and on the neighbours: off for figures that \
                     repeat, on for the highest",
                    format!("echo {off} | sudo tee {path}"),
                );
            }
            _ => {}
        }
    }
    CheckKind::Turbo.unknown("neither intel_pstate/no_turbo nor cpufreq/boost is there")
}

pub(super) fn smt(place: &Place) -> Check {
    match place.number(&format!("{CPU}/smt/active")) {
        Some(0) => CheckKind::Smt.fine("off: each processor is a core"),
        Some(1) => CheckKind::Smt.advice(
            "on: two processors share a core",
            "the work on one takes from the other; the placement of instances keeps them apart where it can",
            format!("echo off | sudo tee {CPU}/smt/control"),
        ),
        _ => CheckKind::Smt.unknown("smt/active is not there"),
    }
}

pub(super) fn isolated(place: &Place, processors: &[u32]) -> Check {
    let kind = CheckKind::IsolatedProcessors;
    let online = place.list(&format!("{CPU}/online"));
    let (Some(online), Some(isolated)) = (online, place.list(&format!("{CPU}/isolated"))) else {
        return kind.unknown("cpu/online or cpu/isolated is not there, or no list");
    };
    // The file is empty, or says (null), if there are none.
    let tickless = place.list(&format!("{CPU}/nohz_full")).unwrap_or_default();
    if isolated.is_empty() {
        let count = online.len();
        if count < ISOLABLE_MIN {
            return kind.fine(format!("none, and {count} are too few to set any apart"));
        }
        let rest = format!("{}-{}", count / 2, count - 1);
        return kind.advice(
            "none",
            "on isolated processors nothing else runs: boot with these parameters, and start host there",
            format!("isolcpus=managed_irq,domain,{rest} nohz_full={rest} rcu_nocbs={rest}; taskset -c {rest} host run"),
        );
    }
    let list = joined(&isolated);
    if processors.iter().any(|cpu| !isolated.contains(cpu)) {
        return kind.advice(
            format!("{list}, and this process may run elsewhere"),
            "only a process that is put there has them to itself",
            format!("taskset -c {list} host run"),
        );
    }
    let without = isolated.iter().filter(|cpu| !tickless.contains(cpu)).count();
    match without {
        0 => kind.fine(format!("{list}, without ticks")),
        _ => kind.fine(format!("{list}, {without} of them with ticks (nohz_full)")),
    }
}

fn joined(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{Fitness, tests::machine};

    fn isolation(isolated: &str, online: &str, processors: &[u32]) -> Check {
        let root = machine(&[
            ("sys/devices/system/cpu/isolated", isolated),
            ("sys/devices/system/cpu/online", online),
        ]);
        super::isolated(&Place::new(root.path()), processors)
    }

    #[test]
    fn isolated_processors_are_of_use_to_a_process_that_runs_there() {
        assert_eq!(isolation("\n", "0-1\n", &[0, 1]).state, Fitness::Fine);
        let none = isolation("\n", "0-7\n", &[0, 1]);
        assert_eq!(none.state, Fitness::Advice);
        assert!(none.command.unwrap().contains("isolcpus=managed_irq,domain,4-7"));
        let elsewhere = isolation("6-7\n", "0-7\n", &[0, 6]);
        assert_eq!(elsewhere.command.as_deref(), Some("taskset -c 6,7 host run"));
        let there = isolation("6-7\n", "0-7\n", &[6, 7]);
        assert_eq!(
            (there.state, there.found.as_str()),
            (Fitness::Fine, "6,7, 2 of them with ticks (nohz_full)")
        );
    }

    #[test]
    fn boost_of_other_drivers_is_the_other_way_round() {
        let boost = |text| {
            let root = machine(&[("sys/devices/system/cpu/cpufreq/boost", text)]);
            turbo(&Place::new(root.path()))
        };
        assert_eq!(boost("0\n").state, Fitness::Fine);
        let on = boost("1\n");
        assert_eq!(on.command.as_deref(), Some("echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"));
        assert_eq!(boost("7\n").state, Fitness::Unknown);
    }
}
