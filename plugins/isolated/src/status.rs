//! A process as the system shows it: the restrictions that can be seen from outside.

use std::{fs, io};

use proctor_plugin_api::vocabulary::proc_value;
use rustix::process::{Pid, getsid};

use crate::protocol::Restrictions;

/// A process of the system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// True if the process can gain no further rights.
    no_new_privileges: bool,
    /// Calls go through a filter.
    is_filtered: bool,
    /// Whether it has no capability, and cannot pass one on.
    no_capabilities: bool,
}

impl Status {
    /// Reads the status of the process with this number, which cannot be reused until the process is waited for.
    ///
    /// # Errors
    /// If the system does not show it.
    pub(crate) fn of(process: Pid) -> io::Result<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/status"))?;
        let own = fs::read_to_string("/proc/self/status")?;
        let status = Self::parse(&text);
        Ok(Self { is_filtered: status.is_filtered && has_more_filters(&text, &own), ..status })
    }

    fn parse(text: &str) -> Self {
        let value = |name: &str| proc_value(text, name).unwrap_or_default();
        let is_none = |name: &&str| u64::from_str_radix(value(name), 16) == Ok(0);
        Self {
            no_new_privileges: value("NoNewPrivs") == "1",
            is_filtered: value("Seccomp") == "2",
            no_capabilities: ["CapInh", "CapPrm", "CapEff", "CapAmb"].iter().all(is_none),
        }
    }

    /// Returns the restrictions that the process claims, as far as they can be confirmed. Of landlock only one thing is
    /// visible: the process gains no rights.
    pub(crate) fn confirmed(&self, claimed: Restrictions) -> Restrictions {
        if !self.no_new_privileges {
            return Restrictions::default();
        }
        // Lists each restriction by name, so that one added later is not trusted until it is handled here.
        let Restrictions { landlock_abi, files, signals, calls, network, capabilities, asks } = claimed;
        Restrictions {
            landlock_abi,
            files,
            signals,
            calls: calls && self.is_filtered,
            network: network && self.is_filtered,
            capabilities: capabilities && self.no_capabilities,
            asks: asks && self.is_filtered,
        }
    }
}

/// Returns whether a process has a filter that it has not inherited from this one, as in a container; true if the
/// system does not count them (before Linux 5.9).
fn has_more_filters(process: &str, own: &str) -> bool {
    let count = |text| proc_value(text, "Seccomp_filters")?.parse::<u64>().ok();
    count(process).zip(count(own)).is_none_or(|(process, own)| process > own)
}

/// Returns whether a process leads a session: it has no terminal, and processes that it starts are in its group.
pub(crate) fn leads_session(process: Pid) -> bool {
    getsid(Some(process)) == Ok(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Name:\tproctor-worker\nNoNewPrivs:\t1\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n\
                        CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000000\nSeccomp:\t2\n\
                        Seccomp_filters:\t1\n";

    #[test]
    fn a_claim_counts_as_far_as_the_system_shows_it() {
        let confirmed = |text: &str| Status::parse(text).confirmed(Restrictions::ALL);
        assert_eq!(confirmed(TEXT), Restrictions::ALL);
        assert_eq!(Status::parse(TEXT).confirmed(Restrictions::default()), Restrictions::default());
        let unfiltered = Restrictions { calls: false, network: false, asks: false, ..Restrictions::ALL };
        assert_eq!(confirmed(&TEXT.replace("Seccomp:\t2", "Seccomp:\t0")), unfiltered);
        assert_eq!(confirmed(&TEXT.replace("NoNewPrivs:\t1", "NoNewPrivs:\t0")), Restrictions::default());
        let capable = Restrictions { capabilities: false, ..Restrictions::ALL };
        for name in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            let text = TEXT.replace(&format!("{name}:\t00"), &format!("{name}:\t10"));
            assert_eq!(confirmed(&text), capable, "{name}");
        }
        assert_eq!(confirmed(""), Restrictions::default());
    }

    #[test]
    fn a_filter_of_the_host_is_none_of_the_process() {
        let filters = |count: u32| TEXT.replace("Seccomp_filters:\t1", &format!("Seccomp_filters:\t{count}"));
        assert!(has_more_filters(&filters(2), &filters(1)) && has_more_filters("", &filters(1)));
        assert!(!has_more_filters(&filters(1), &filters(1)));
    }

    #[test]
    fn a_process_that_is_shown_is_read() {
        let own = rustix::process::getpid();
        assert!(Status::of(own).is_ok());
        assert!(Status::of(Pid::from_raw(i32::MAX).unwrap()).is_err());
    }
}
