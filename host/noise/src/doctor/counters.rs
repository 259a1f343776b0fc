//! Checks of counters that tools read.
//!
//! Sources: Linux, Documentation/admin-guide/perf-security.rst and power/powercap/powercap.rst.

use std::io::ErrorKind;

use super::{Check, CheckKind, place::Place};
use crate::proc_text::number;

/// Maximum level at which a user may count events of the processor.
const PARANOID_MAX: i64 = 1;

pub(super) fn perf_events(place: &Place) -> Check {
    let kind = CheckKind::PerfEvents;
    match place.number("/proc/sys/kernel/perf_event_paranoid") {
        Some(level) if level <= PARANOID_MAX => kind.fine(format!("open to users (level {level})")),
        Some(level) => kind.advice(
            format!("closed to users (level {level})"),
            "profilers such as perf see nothing; runs do not need it",
            format!("sudo sysctl kernel.perf_event_paranoid={PARANOID_MAX}"),
        ),
        None => kind.unknown("kernel.perf_event_paranoid is not there"),
    }
}

pub(super) fn rapl(place: &Place) -> Check {
    let kind = CheckKind::Rapl;
    match place.read("/sys/class/powercap/intel-rapl:0/energy_uj") {
        Ok(text) if number::<u64>(&text).is_some() => kind.fine("the counters of the packages can be read"),
        Ok(_) => kind.unknown("intel-rapl:0/energy_uj holds no count"),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => kind.advice(
            "only root may read the counters",
            "results have the energy of the processor where they can be read",
            "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj",
        ),
        Err(_) => kind.unknown("there is no package in /sys/class/powercap"),
    }
}
