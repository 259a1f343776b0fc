//! The filter, run over a table of calls by a machine like the system's.

use std::{
    fs::{self, File, Permissions},
    io,
    net::UdpSocket,
    os::unix::{
        fs::PermissionsExt as _,
        net::{UnixDatagram, UnixStream},
    },
    process::Command,
    thread,
    time::SystemTime,
};

use libc::{
    AF_INET, AF_NETLINK, AF_UNIX, CLONE_NEWUSER, CLONE_THREAD, CLONE_VM, PR_SET_NAME, PR_SET_PDEATHSIG,
    SIGKILL, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_NONBLOCK, SOCK_SEQPACKET, SOCK_STREAM,
};

use proctor_isolated::install_filter;

use super::*;

/// Returns a filter's view of a call: its number, the kind of processor, and the arguments, with arbitrary
/// upper halves.
fn seen(number: u32, processor: u32, arguments: [i32; 2]) -> Vec<u32> {
    let mut words = vec![0; 16];
    (words[0], words[1]) = (number, processor);
    for (position, argument) in arguments.into_iter().enumerate() {
        words[4 + 2 * position] = argument.cast_unsigned();
        words[5 + 2 * position] = 0xdead_beef;
    }
    words
}

/// Runs a filter.
///
/// # Panics
/// If the system would not take it: an instruction that it does not know, or a jump beyond its end.
fn run(program: &[sock_filter], seen: &[u32]) -> u32 {
    let (mut value, mut position) = (0, 0);
    loop {
        let sock_filter { code, jt, jf, k } = program[position];
        position += 1;
        let code = u32::from(code);
        match code & 0x07 {
            libc::BPF_LD => value = seen[k as usize / 4],
            libc::BPF_ALU if code & 0xf0 == libc::BPF_AND => value &= k,
            libc::BPF_JMP => {
                let holds = match code & 0xf0 {
                    libc::BPF_JEQ => value == k,
                    libc::BPF_JGE => value >= k,
                    libc::BPF_JGT => value > k,
                    libc::BPF_JSET => value & k != 0,
                    other => panic!("jump {other:#x}"),
                };
                position += usize::from(if holds { jt } else { jf });
            }
            libc::BPF_RET => return k,
            other => panic!("instruction {other:#x}"),
        }
    }
}

/// Neither the network, nor anybody to ask.
const CLOSED: Choices = Choices { network: false, asks: false };
const NETWORK: Choices = Choices { network: true, asks: false };
const ASKS: Choices = Choices { network: false, asks: true };

fn verdict(choices: Choices, call: c_long, arguments: [i32; 2]) -> u32 {
    let seen = seen(u32::try_from(call).unwrap(), ARCHITECTURE.unwrap(), arguments);
    run(&program(choices).unwrap(), &seen)
}

const ALLOW: Verdict = Verdict::Allow;
const DENY: Verdict = Verdict::Refuse(libc::EACCES);

#[test]
fn each_call_has_its_verdict() {
    let thread = 4711;
    for (call, arguments, expected) in [
        (libc::SYS_read, [0, 0], ALLOW),
        (libc::SYS_openat, [-100, 0], ALLOW),
        (libc::SYS_futex, [1, 2], ALLOW),
        (libc::SYS_kill, [thread, 9], ALLOW),
        (libc::SYS_memfd_create, [0, 0], ALLOW),
        (libc::SYS_ioctl, [0, 0x5401], ALLOW),
        (libc::SYS_ioctl, [3, 0x4008_6602], REFUSE),
        (libc::SYS_ioctl, [3, 0x401c_5820], REFUSE),
        (libc::SYS_ioctl, [3, 0x4080_6685], REFUSE),
        (libc::SYS_userfaultfd, [0, 0], REFUSE),
        (libc::SYS_mq_unlink, [0, 0], REFUSE),
        (libc::SYS_clone, [libc::CLONE_THREAD | libc::CLONE_VM, 0], ALLOW),
        (libc::SYS_clone, [libc::CLONE_PARENT, 0], REFUSE),
        (libc::SYS_seccomp, [1, 0], ALLOW),
        // Its own limits, priority and processors, and those of anything with a number.
        (libc::SYS_prlimit64, [0, 7], ALLOW),
        (libc::SYS_prlimit64, [thread, 7], Verdict::Ask),
        (libc::SYS_prlimit64, [-1, 7], Verdict::Ask),
        (libc::SYS_sched_setaffinity, [0, 128], ALLOW),
        (libc::SYS_sched_setaffinity, [thread, 128], Verdict::Ask),
        (libc::SYS_sched_setscheduler, [0, 0], ALLOW),
        (libc::SYS_sched_setscheduler, [thread, 0], Verdict::Ask),
        (libc::SYS_sched_setparam, [thread, 0], Verdict::Ask),
        (libc::SYS_sched_setattr, [thread, 0], Verdict::Ask),
        (libc::SYS_sched_getaffinity, [thread, 0], ALLOW),
        (libc::SYS_migrate_pages, [thread, 0], Verdict::Ask),
        (libc::SYS_move_pages, [0, 0], ALLOW),
        (libc::SYS_move_pages, [thread, 0], Verdict::Ask),
        (libc::SYS_process_vm_readv, [thread, 0], Verdict::Ask),
        (libc::SYS_process_vm_writev, [thread, 0], Verdict::Ask),
        (SYS_setpriority, [0, 0], ALLOW),
        (SYS_setpriority, [0, thread], Verdict::Ask),
        (SYS_setpriority, [1, 0], REFUSE),
        (SYS_setpriority, [2, thread], REFUSE),
        (SYS_ioprio_set, [1, 0], ALLOW),
        (SYS_ioprio_set, [1, thread], Verdict::Ask),
        (SYS_ioprio_set, [0, thread], REFUSE),
        (SYS_ioprio_set, [3, 0], REFUSE),
        // New processes and threads.
        (libc::SYS_execve, [0, 0], ALLOW),
        (SYS_clone, [CLONE_VM | CLONE_THREAD, 0], ALLOW),
        (SYS_clone, [libc::SIGCHLD, 0], ALLOW),
        (SYS_clone, [CLONE_VM | CLONE_NEWUSER, 0], REFUSE),
        (SYS_clone, [libc::CLONE_NEWNS, 0], REFUSE),
        (SYS_clone3, [0, 0], Verdict::Refuse(libc::ENOSYS)),
        (SYS_unshare, [0, 0], REFUSE),
        (SYS_setsid, [0, 0], REFUSE),
        (SYS_setpgid, [0, 0], REFUSE),
        (SYS_prctl, [PR_SET_NAME, 0], ALLOW),
        (SYS_prctl, [PR_SET_PDEATHSIG, SIGKILL], ALLOW),
        (SYS_prctl, [PR_SET_PDEATHSIG, 0], REFUSE),
        // Sockets.
        (SYS_socket, [AF_UNIX, SOCK_STREAM], DENY),
        (SYS_socket, [AF_INET, SOCK_DGRAM], DENY),
        (SYS_socket, [AF_NETLINK, 3], DENY),
        (SYS_connect, [3, 0], DENY),
        (SYS_socketpair, [AF_UNIX, SOCK_STREAM], ALLOW),
        (SYS_socketpair, [AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK], ALLOW),
        (SYS_socketpair, [AF_UNIX, SOCK_DGRAM], DENY),
        (SYS_socketpair, [AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC], DENY),
        (SYS_socketpair, [AF_INET, SOCK_STREAM], DENY),
        (SYS_io_uring_setup, [8, 0], REFUSE),
    ] {
        let got = verdict(ASKS, call, arguments);
        assert_eq!(got, expected.code(), "call {call} {arguments:?}: {got:#x}, not {expected:?}");
        // If the host cannot be asked, they are let through.
        let expected = if expected == Verdict::Ask { ALLOW } else { expected };
        assert_eq!(verdict(CLOSED, call, arguments), expected.code(), "call {call} {arguments:?}");
        // A user who allows the network allows only the network.
        let expected = if expected == DENY { ALLOW } else { expected };
        assert_eq!(verdict(NETWORK, call, arguments), expected.code(), "call {call} {arguments:?}");
    }
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        assert_eq!(verdict(NETWORK, *call, [0, 0]), REFUSE.code(), "call {call}");
    }
}

#[test]
fn calls_by_another_name_are_none() {
    let filter = program(NETWORK).unwrap();
    // Those of programs of 32 bits would have numbers of their own.
    let other = if ARCHITECTURE == Some(0x4000_0003) { 0 } else { 0x4000_0003 };
    assert_eq!(run(&filter, &seen(0, other, [0, 0])), Verdict::End.code());
    #[cfg(target_arch = "x86_64")]
    for call in [X32, X32 | u32::try_from(SYS_socket).unwrap(), X32 | 521, 512, 521, 547] {
        let got = run(&filter, &seen(call, ARCHITECTURE.unwrap(), [0, 0]));
        assert_eq!(got, Verdict::Refuse(libc::ENOSYS).code(), "call {call}");
    }
    #[cfg(target_arch = "x86_64")]
    for call in [511, 548] {
        assert_eq!(run(&filter, &seen(call, ARCHITECTURE.unwrap(), [0, 0])), ALLOW.code(), "call {call}");
    }
}

/// The filter is of the thread that installs it, and of what that starts.
#[test]
fn a_thread_under_the_filter_works_and_reaches_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let work = move || {
        install_filter(&program(CLOSED).unwrap(), false).unwrap();
        fs::write(&path, "text").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
        UnixStream::pair().unwrap();
        // The C library goes back to the call that the filter knows.
        thread::spawn(|| ()).join().unwrap();
        assert!(Command::new("true").status().unwrap().success());
        let denied = io::ErrorKind::PermissionDenied;
        assert_eq!(UnixDatagram::pair().unwrap_err().kind(), denied);
        assert_eq!(UnixDatagram::unbound().unwrap_err().kind(), denied);
        assert_eq!(UdpSocket::bind("127.0.0.1:0").unwrap_err().kind(), denied);
        assert_eq!(fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap_err().kind(), denied);
        assert_eq!(File::open(&path).unwrap().set_modified(SystemTime::now()).unwrap_err().kind(), denied);
        assert_eq!(rustix::process::setsid(), Err(rustix::io::Errno::PERM));
        assert_eq!(
            rustix::process::setpriority_user(rustix::process::getuid(), 0),
            Err(rustix::io::Errno::PERM)
        );
    };
    thread::spawn(work).join().unwrap();
}

#[test]
fn every_filter_is_one_that_the_system_takes() {
    for choices in [CLOSED, ASKS, NETWORK, Choices { network: true, asks: true }] {
        let program = program(choices).unwrap();
        assert!(program.len() <= 4096, "{}", program.len());
        let is_ret = |filter: &sock_filter| u32::from(filter.code) & 0x07 == libc::BPF_RET;
        assert!(program.last().is_some_and(is_ret));
        for (position, filter) in program.iter().enumerate() {
            let furthest = position + 1 + usize::from(filter.jt.max(filter.jf));
            assert!(is_ret(filter) || furthest < program.len(), "{position}: {filter:?}");
        }
    }
}
