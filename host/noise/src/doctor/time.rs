//! Checks of the clock, and of the time that others take.

use std::{path::Path, thread, time::Duration, time::Instant};

use rustix::{param::clock_ticks_per_second, thread::gettid};

use super::{Check, CheckKind, place::Place};
use crate::{
    interval::Interval,
    judgement::{CauseKind, Scale, causes},
    sources::{Issuers, Sources},
};

/// Sources that are read without a call of the kernel.
const FAST: &[&str] =
    &["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource"];

const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

pub(super) fn clock_source(place: &Place) -> Check {
    let kind = CheckKind::ClockSource;
    let name = place.read(SOURCE).unwrap_or_default();
    if FAST.contains(&name.as_str()) {
        return kind.fine(name);
    }
    if name.is_empty() || name.contains(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c)) {
        return kind.unknown("current_clocksource is not there, or holds no name");
    }
    kind.advice(
        name,
        "each reading of the time is a call of the kernel, of about a microsecond; if the system refuses, boot it with \
         tsc=reliable",
        format!("echo tsc | sudo tee {SOURCE}"),
    )
}

/// Looks for a while at the time of these processors that the hypervisor and others take.
pub(super) fn taken(root: &Path, processors: &[u32], pause: Duration) -> [Check; 2] {
    let mut sources = Sources::open(root, processors.to_vec(), Issuers { count: 1, name: "" });
    sources.begin(gettid().as_raw_pid().unsigned_abs());
    let (begin, start) = (sources.read(0), Instant::now());
    thread::sleep(pause);
    let lasted_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let end = sources.read(lasted_ns);
    let tick_ns = 1_000_000_000 / clock_ticks_per_second().max(1);
    judged(&Interval::between(&begin, &end, processors.len(), tick_ns), processors.len())
}

/// Returns the two checks, by the limits of the noise guard.
fn judged(interval: &Interval, processor_count: usize) -> [Check; 2] {
    let scale = Scale { processor_count: processor_count as u64, issuing_thread_count: 1, usual_khz: None };
    let found = causes(interval, scale);
    let is_too_much = |kind| found.iter().any(|cause| cause.kind == kind);
    let share = |ns: Option<u64>| {
        let ns = ns.filter(|_| processor_count > 0)?;
        let percent = ns as f64 * 100.0 / interval.lasted_ns().max(1) as f64;
        Some(format!("{percent:.0} % of a processor, of {processor_count}"))
    };
    let no_times = "/proc/stat does not tell the times of the processors";
    let steal = match share(interval.values.steal_ns) {
        None => CheckKind::Steal.unknown(no_times),
        Some(share) if is_too_much(CauseKind::Steal) => Check {
            command: None,
            ..CheckKind::Steal.advice(
                share,
                "the hypervisor gives the processors to others: only a machine with processors of its own helps",
                "",
            )
        },
        Some(share) => CheckKind::Steal.fine(share),
    };
    let foreign = match share(interval.values.foreign_ns) {
        None => CheckKind::ForeignLoad.unknown(no_times),
        Some(share) if is_too_much(CauseKind::ForeignLoad) => CheckKind::ForeignLoad.advice(
            share,
            "other processes have the processors; this shows which",
            "ps -eo pcpu,pid,args --sort=-pcpu | head",
        ),
        Some(share) => CheckKind::ForeignLoad.fine(share),
    };
    [steal, foreign]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{doctor::Fitness, quantity::Values};

    #[test]
    fn what_others_take_is_judged_as_the_guard_does() {
        let check = |steal_ms: Option<u64>, foreign_ms: Option<u64>| {
            let ns = |ms: Option<u64>| ms.map(|ms| ms * 1_000_000);
            let values = Values { steal_ns: ns(steal_ms), foreign_ns: ns(foreign_ms), ..Values::default() };
            judged(&Interval { begin_ns: 0, end_ns: 1_000_000_000, values }, 2)
        };
        let states = |checks: [Check; 2]| checks.map(|check| check.state);
        assert_eq!(states(check(Some(10), Some(40))), [Fitness::Fine; 2]);
        assert_eq!(states(check(Some(20), Some(50))), [Fitness::Advice; 2]);
        assert_eq!(states(check(None, None)), [Fitness::Unknown; 2]);
        let [steal, foreign] = check(Some(30), Some(120));
        assert_eq!((steal.found.as_str(), steal.command), ("3 % of a processor, of 2", None));
        assert_eq!(foreign.found, "12 % of a processor, of 2");
    }
}
