//! Restrictions of this process to what is its own, by the system's means, taken before anything of a plugin runs.

use std::{collections::BTreeMap, path::PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use proctor_isolated::protocol::{DEVICES, Fence, OF_SYSTEM, Restrictions};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

/// Highest version of landlock whose restrictions are asked for. A system that has fewer takes those that it has.
const ABI_WANTED: ABI = ABI::V6;

/// Restricts this process, and says what holds from here on.
pub(crate) fn raise(fence: &Fence) -> Restrictions {
    let mut restrictions = Restrictions::default();
    match restrict_files(fence) {
        Ok((is_restricted, abi)) => {
            restrictions.landlock_abi = abi;
            // Earlier ones let files be emptied.
            restrictions.files = is_restricted && abi >= 3;
            restrictions.signals = is_restricted && abi >= 6;
        }
        Err(error) => tracing::warn!(%error, "cannot restrict the files that the plugin reads"),
    }
    if !fence.network {
        restrictions.network = deny_network().is_some();
    }
    restrictions
}

/// Has the process read and write nothing but what is named, and, with later versions, send no signals to others.
/// Returns whether files are restricted, and the version that holds.
fn restrict_files(fence: &Fence) -> Result<(bool, u32), RulesetError> {
    let given = fence.read.iter().chain(&fence.model).cloned();
    let read: Vec<PathBuf> = OF_SYSTEM.iter().map(PathBuf::from).chain(given).collect();
    let write: Vec<PathBuf> = fence.write.iter().cloned().chain([PathBuf::from(DEVICES)]).collect();
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(ABI_WANTED))?;
    if !fence.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(ABI_WANTED))?;
    }
    let status = ruleset
        .scope(Scope::from_all(ABI_WANTED))?
        .create()?
        .add_rules(path_beneath_rules(read, AccessFs::from_read(ABI_WANTED)))?
        .add_rules(path_beneath_rules(&fence.list, AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(write, AccessFs::from_all(ABI_WANTED)))?
        .restrict_self()?;
    let abi = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
        _ => 0,
    };
    Ok((status.ruleset != RulesetStatus::NotEnforced, abi))
}

/// Has the process make no sockets but those between processes of this machine; `None` where that cannot be had.
fn deny_network() -> Option<()> {
    let differs = |domain: i32| {
        let domain = u64::try_from(domain).ok()?;
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, domain).ok()
    };
    let other = SeccompRule::new(vec![differs(libc::AF_UNIX)?, differs(libc::AF_NETLINK)?]).ok()?;
    let rules = BTreeMap::from([
        (libc::SYS_socket, vec![other]),
        // It makes sockets without that call.
        (libc::SYS_io_uring_setup, Vec::new()),
    ]);
    let denied = SeccompAction::Errno(u32::try_from(libc::EACCES).ok()?);
    let architecture = std::env::consts::ARCH.try_into().ok()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, architecture).ok()?;
    let program: BpfProgram = filter.try_into().ok()?;
    apply_filter(&program).inspect_err(|error| tracing::warn!(%error, "cannot deny the network")).ok()
}
