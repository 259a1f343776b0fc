//! Filters the system calls of the plugin's process: a table of rules, and the program that the system runs
//! on each call. Calls not in the table are allowed; files are the business of landlock.

use libc::{
    SYS_acct, SYS_add_key, SYS_adjtimex, SYS_bpf, SYS_chroot, SYS_clock_adjtime, SYS_clock_settime,
    SYS_clone, SYS_clone3, SYS_connect, SYS_delete_module, SYS_fanotify_init, SYS_fchmod, SYS_fchmodat,
    SYS_fchown, SYS_fchownat, SYS_finit_module, SYS_fremovexattr, SYS_fsconfig, SYS_fsetxattr, SYS_fsmount,
    SYS_fsopen, SYS_fspick, SYS_init_module, SYS_io_uring_setup, SYS_ioctl, SYS_ioprio_set,
    SYS_kexec_file_load, SYS_kexec_load, SYS_keyctl, SYS_lremovexattr, SYS_lsetxattr, SYS_mount,
    SYS_mount_setattr, SYS_move_mount, SYS_mq_open, SYS_mq_unlink, SYS_msgctl, SYS_msgget, SYS_msgrcv,
    SYS_msgsnd, SYS_open_by_handle_at, SYS_open_tree, SYS_perf_event_open, SYS_pidfd_getfd, SYS_pivot_root,
    SYS_prctl, SYS_process_madvise, SYS_ptrace, SYS_quotactl, SYS_quotactl_fd, SYS_reboot, SYS_removexattr,
    SYS_request_key, SYS_semctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_setdomainname, SYS_sethostname,
    SYS_setns, SYS_setpgid, SYS_setpriority, SYS_setsid, SYS_settimeofday, SYS_setxattr, SYS_shmat,
    SYS_shmctl, SYS_shmget, SYS_socket, SYS_socketpair, SYS_swapoff, SYS_swapon, SYS_syslog, SYS_umount2,
    SYS_unshare, SYS_userfaultfd, SYS_utimensat, c_long, sock_filter,
};
use proctor_isolated::ASKED;

/// Calls that are refused with EPERM for any arguments. Calls without a name are newer than the library's
/// list, and have one number everywhere.
const REFUSED: &[c_long] = &[
    // Other processes: nothing of them, and no way out of the group that ends with the plugin's process.
    SYS_ptrace,
    SYS_pidfd_getfd,
    SYS_process_madvise,
    SYS_setsid,
    SYS_setpgid,
    // Rights, owners, times and attributes of files, which landlock does not cover.
    SYS_fchmod,
    SYS_fchmodat,
    452, // fchmodat2
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    463, // setxattrat
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    466, // removexattrat
    469, // file_setattr
    // Memory, semaphores and queues that processes share by a name or a number. Shared files are not included.
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_mq_open,
    SYS_mq_unlink,
    // The user's keys.
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // Namespaces of one's own, in which more is allowed.
    SYS_unshare,
    SYS_setns,
    SYS_chroot,
    SYS_pivot_root,
    SYS_mount,
    SYS_umount2,
    SYS_move_mount,
    SYS_open_tree,
    467, // open_tree_attr
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_open_by_handle_at,
    // Administration of the system, most of which needs a capability anyway, and calls that inspect all of it.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_syslog,
    SYS_fanotify_init,
    SYS_userfaultfd,
    SYS_acct,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    // It makes calls that no filter sees.
    SYS_io_uring_setup,
];

/// The same, for calls that only this kind of processor still has.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_iopl,
    libc::SYS_ioperm,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

/// Flags with which a process makes another in its own world, or a sibling.
const OF_NEW_WORLDS: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    // A child of the host's process that is never waited for.
    | libc::CLONE_PARENT;

/// Requests that set attributes of any open file: `FS_IOC_SETFLAGS`, `FS_IOC_FSSETXATTR` and `FS_IOC_ENABLE_VERITY`,
/// which makes it permanently read-only.
const FILE_REQUESTS: [i32; 3] = [0x4008_6602, 0x401c_5820, 0x4080_6685];

/// `IOPRIO_WHO_PROCESS` of the system.
const IO_PRIORITY_OF_PROCESS: i32 = 1;

/// Bit of the numbers of calls for programs of 32-bit addresses, which are the same calls once more.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Calls for those programs alone, which systems before Linux 5.4 have without that bit, too.
#[cfg(target_arch = "x86_64")]
const X32_ALONE: std::ops::RangeInclusive<u32> = 512..=547;

/// The system's name of this kind of processor: the number in its ELF files, of 64 bits, the least significant first.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xc000_00f3)
} else {
    None
};

/// Position of a call's number in the filter's view.
const NUMBER: u32 = 0;
/// Position of the kind of processor.
const PROCESSOR: u32 = 4;
/// Position of the first argument, of 64 bits.
const ARGUMENTS: u32 = 16;

/// Verdict on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allow,
    /// The host decides whether to allow it.
    Ask,
    /// The call fails with this error.
    Refuse(i32),
    /// The process ends by SIGSYS.
    End,
}

impl Verdict {
    fn code(self) -> u32 {
        match self {
            Self::Allow => libc::SECCOMP_RET_ALLOW,
            Self::Ask => libc::SECCOMP_RET_USER_NOTIF,
            Self::Refuse(error) => libc::SECCOMP_RET_ERRNO | error.unsigned_abs(),
            Self::End => libc::SECCOMP_RET_KILL_PROCESS,
        }
    }
}

/// A condition on the lower 32 bits of an argument, which suffice for the calls of the table.
#[derive(Debug, Clone, Copy)]
struct Condition {
    argument: usize,
    /// Bits of the argument that count.
    mask: u32,
    value: u32,
    /// True if it must have the value, false if it must differ.
    has: bool,
}

/// Creates a condition that the argument equals `value`.
fn is(argument: usize, value: i32) -> Condition {
    Condition { argument, mask: u32::MAX, value: value.cast_unsigned(), has: true }
}

/// Creates a condition that the argument differs from `value`.
fn is_not(argument: usize, value: i32) -> Condition {
    Condition { has: false, ..is(argument, value) }
}

/// A call with this verdict if all conditions hold.
#[derive(Debug)]
struct Rule {
    call: c_long,
    conditions: Vec<Condition>,
    verdict: Verdict,
}

const REFUSE: Verdict = Verdict::Refuse(libc::EPERM);

/// The variable parts of a filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choices {
    /// True if the process may reach the network.
    pub(crate) network: bool,
    /// True if the host decides on calls that name a thread or a process. Otherwise they are let through.
    pub(crate) asks: bool,
}

/// Returns the rules; the first that holds counts.
fn rules(choices: Choices) -> Vec<Rule> {
    let rule =
        |call, conditions: &[Condition], verdict| Rule { call, conditions: conditions.to_vec(), verdict };
    let mut rules = vec![
        // Of groups and users; of threads below.
        rule(SYS_setpriority, &[is_not(0, libc::PRIO_PROCESS.cast_signed())], REFUSE),
        rule(SYS_ioprio_set, &[is_not(0, IO_PRIORITY_OF_PROCESS)], REFUSE),
        // It ends with the host.
        rule(SYS_prctl, &[is(0, libc::PR_SET_PDEATHSIG), is_not(1, libc::SIGKILL)], REFUSE),
        rule(
            SYS_clone,
            &[Condition { argument: 0, mask: OF_NEW_WORLDS.cast_unsigned(), value: 0, has: false }],
            REFUSE,
        ),
        // Its flags are in memory, where a filter cannot look. Without it the C library takes the older call.
        rule(SYS_clone3, &[], Verdict::Refuse(libc::ENOSYS)),
    ];
    rules.extend(FILE_REQUESTS.map(|request| rule(SYS_ioctl, &[is(1, request)], REFUSE)));
    if choices.asks {
        let named = ASKED.iter().map(|(call, argument)| rule(*call, &[is_not(*argument, 0)], Verdict::Ask));
        rules.extend(named);
    }
    rules.extend(REFUSED.iter().chain(REFUSED_HERE).map(|call| rule(*call, &[], REFUSE)));
    if !choices.network {
        let denied = Verdict::Refuse(libc::EACCES);
        let kind = !(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK).cast_unsigned();
        let stream = libc::SOCK_STREAM.cast_unsigned();
        rules.extend([
            rule(SYS_socket, &[], denied),
            rule(SYS_connect, &[], denied),
            // One to talk to a thread or a process of its own. All others may be sent somewhere else.
            rule(SYS_socketpair, &[is_not(0, libc::AF_UNIX)], denied),
            rule(SYS_socketpair, &[Condition { argument: 1, mask: kind, value: stream, has: false }], denied),
        ]);
    }
    rules
}

/// Returns the program that the system runs on each call; `None` for a kind of processor that it is not made for.
pub(crate) fn program(choices: Choices) -> Option<Vec<sock_filter>> {
    let mut program =
        vec![load(PROCESSOR), jump(libc::BPF_JEQ, ARCHITECTURE?, 1, 0), end(Verdict::End), load(NUMBER)];
    #[cfg(target_arch = "x86_64")]
    program.extend([
        jump(libc::BPF_JSET, X32, 2, 0),
        jump(libc::BPF_JGE, *X32_ALONE.start(), 0, 2),
        jump(libc::BPF_JGT, *X32_ALONE.end(), 1, 0),
        end(Verdict::Refuse(libc::ENOSYS)),
    ]);
    for rule in rules(choices) {
        program.extend(compiled(&rule)?);
    }
    program.push(end(Verdict::Allow));
    Some(program)
}

/// Returns a rule, after which the number of the call is loaded as it was before.
fn compiled(rule: &Rule) -> Option<Vec<sock_filter>> {
    // From its end on, as jumps lead forward.
    let mut body = vec![end(rule.verdict)];
    for condition in rule.conditions.iter().rev() {
        let past = u8::try_from(body.len()).ok()?;
        let (equal, other) = if condition.has { (0, past) } else { (past, 0) };
        body.insert(0, jump(libc::BPF_JEQ, condition.value, equal, other));
        if condition.mask != u32::MAX {
            body.insert(0, statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, condition.mask));
        }
        body.insert(0, load(ARGUMENTS + 8 * u32::try_from(condition.argument).ok()?));
    }
    if !rule.conditions.is_empty() {
        body.push(load(NUMBER));
    }
    let past = u8::try_from(body.len()).ok()?;
    body.insert(0, jump(libc::BPF_JEQ, u32::try_from(rule.call).ok()?, 0, past));
    Some(body)
}

fn load(position: u32) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, position)
}

fn end(verdict: Verdict) -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, verdict.code())
}

fn jump(test: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { jt, jf, ..statement(libc::BPF_JMP | test | libc::BPF_K, k) }
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

#[cfg(test)]
mod tests;
