//! Restricts this process to its own resources, by the system's means, before any code of a plugin runs.

use std::{fs, io, os::fd::OwnedFd, path::PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use proctor_isolated::{
    install_filter,
    protocol::{Fence, OF_SYSTEM, Restrictions},
};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
};

use crate::seccomp::{self, Choices};

/// Maximum version of landlock whose restrictions are requested. An older system applies the ones that it has.
const ABI_WANTED: ABI = ABI::V6;

/// First version of Linux, major and minor, in which a call filter can ask the host to let a call continue.
const ASKS_SINCE: (u32, u32) = (5, 5);

/// File with the version of the system.
const VERSION: &str = "/proc/sys/kernel/osrelease";

/// Restricts this process. Returns the restrictions that hold, and the file for questions to the host about calls.
pub(crate) fn raise(fence: &Fence) -> (Restrictions, Option<OwnedFd>) {
    let mut restrictions = Restrictions::default();
    let may_ask = fs::read_to_string(VERSION).is_ok_and(|version| can_ask(&version));
    match drop_capabilities() {
        Ok(()) => restrictions.capabilities = true,
        Err(error) => tracing::warn!(%error, "cannot give up the capabilities of the plugin's process"),
    }
    match restrict_files(fence) {
        Ok(abi) => {
            restrictions.landlock_abi = abi;
            // Earlier ones let files be emptied.
            restrictions.files = abi >= 3;
            restrictions.signals = abi >= 6;
        }
        Err(error) => tracing::warn!(%error, "cannot restrict the files that the plugin reads"),
    }
    let asking = match filter_calls(fence.network, may_ask) {
        Ok(asking) => {
            restrictions.calls = true;
            restrictions.network = !fence.network;
            restrictions.asks = asking.is_some();
            asking
        }
        Err(error) => {
            tracing::warn!(%error, "cannot filter the calls of the plugin's process");
            None
        }
    };
    (restrictions, asking)
}

/// Drops all capabilities permanently: root is one user among others then.
fn drop_capabilities() -> io::Result<()> {
    // A process without the right to do these has nothing that it could hand on in that way.
    let each = (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number));
    for capability in each {
        if remove_capability_from_bounding_set(capability).is_err() {
            break;
        }
    }
    let no_root = CapabilitiesSecureBits::NO_ROOT | CapabilitiesSecureBits::NO_ROOT_LOCKED;
    let _ = set_capabilities_secure_bits(no_root);
    // An older system has none of them.
    let _ = clear_ambient_capability_set();
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}

/// Restricts the process to reading and writing the named files and, with later versions, to sending no
/// signals to others. Returns the version that holds; 0 for none.
fn restrict_files(fence: &Fence) -> Result<u32, RulesetError> {
    let given = fence.read.iter().chain(&fence.model).cloned();
    let read: Vec<PathBuf> = OF_SYSTEM.iter().map(PathBuf::from).chain(given).collect();
    // In a folder of devices nothing is made.
    let device: BitFlags<AccessFs> = AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::IoctlDev;
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(ABI_WANTED))?;
    if !fence.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(ABI_WANTED))?;
    }
    let status = ruleset
        .scope(Scope::from_all(ABI_WANTED))?
        .create()?
        .add_rules(path_beneath_rules(read, AccessFs::from_read(ABI_WANTED)))?
        .add_rules(path_beneath_rules(&fence.list, AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(&fence.devices, device))?
        .add_rules(path_beneath_rules(fence.write.iter().chain(&fence.home), AccessFs::from_all(ABI_WANTED)))?
        .restrict_self()?;
    Ok(match status.landlock {
        LandlockStatus::Available { effective_abi, .. } if status.ruleset != RulesetStatus::NotEnforced => {
            effective_abi as u32
        }
        _ => 0,
    })
}

/// Installs the filter for the process's calls. Returns the file by which the host is asked, if it can be.
fn filter_calls(network: bool, may_ask: bool) -> io::Result<Option<OwnedFd>> {
    let program = |asks| {
        let program = seccomp::program(Choices { network, asks });
        program.ok_or_else(|| io::Error::from(io::ErrorKind::Unsupported))
    };
    if may_ask {
        match install_filter(&program(true)?, true) {
            Ok(asking) => return Ok(asking),
            Err(error) => tracing::warn!(%error, "cannot ask the host about calls of the plugin's process"),
        }
    }
    install_filter(&program(false)?, false)
}

/// Returns whether a system of this version can ask, and let a call continue.
fn can_ask(version: &str) -> bool {
    let mut numbers = version.trim().split(['.', '-', '+']).map_while(|part| part.parse().ok());
    let version: Option<(u32, u32)> = numbers.next().zip(numbers.next());
    version.is_some_and(|version| version >= ASKS_SINCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_that_is_too_old_is_not_asked_by() {
        for (version, asks) in [
            ("6.18.44-fc-v857\n", true),
            ("5.5.0", true),
            ("10.0-rc1", true),
            ("5.4.0-150-generic", false),
            ("4.18.0", false),
            ("", false),
        ] {
            assert_eq!(can_ask(version), asks, "{version}");
        }
    }
}
