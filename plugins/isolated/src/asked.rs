//! System calls of the other process that this process must approve: those that name a thread or a process and read or
//! change its limits, priority, scheduler, processors or memory. Libraries use them on their own threads; a filter sees
//! a number and cannot tell whose it is.

use std::{
    ffi::{c_int, c_long},
    io,
    os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd},
    path::Path,
    ptr,
};

use libc::{seccomp_notif, seccomp_notif_resp, sock_filter, sock_fprog};

/// Calls that name a thread or a process, and the position of the argument that does. Number 0 is the caller's own.
pub const ASKED: [(c_long, usize); 11] = [
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_migrate_pages, 0),
    (libc::SYS_move_pages, 0),
    (libc::SYS_process_vm_readv, 0),
    (libc::SYS_process_vm_writev, 0),
    // Of a thread; a group or a user the filter refuses.
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];

/// Installs this filter for every system call of this thread, and of the threads and processes that it starts. With
/// `asks` the filter may pass a decision on, through the returned file.
///
/// # Errors
/// If the system cannot do that, or another filter already asks.
pub fn install_filter(program: &[sock_filter], asks: bool) -> io::Result<Option<OwnedFd>> {
    let len = u16::try_from(program.len()).map_err(io::Error::other)?;
    rustix::thread::set_no_new_privs(true)?;
    let whole = sock_fprog { len, filter: program.as_ptr().cast_mut() };
    let flags = if asks { libc::SECCOMP_FILTER_FLAG_NEW_LISTENER } else { 0 };
    let mode = c_long::from(libc::SECCOMP_SET_MODE_FILTER);
    // SAFETY: the system reads `whole` and the program that it names, with its length, and writes to neither; both live
    // for the call. It refuses what is no filter.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, ptr::from_ref(&whole)) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let listener = c_int::try_from(result).ok().filter(|_| asks);
    // SAFETY: with the flag the result is a file that was opened for this call, so nobody else owns it.
    Ok(listener.map(|file| unsafe { OwnedFd::from_raw_fd(file) }))
}

/// Answers a call that waits for that: one that names a thread of the process that makes it continues, any other one is
/// refused with EPERM.
pub(crate) fn answer(listener: &OwnedFd) {
    // SAFETY: a structure of numbers, for which zeros are a value; the system wants them there.
    let mut call: seccomp_notif = unsafe { std::mem::zeroed() };
    let received =
        // SAFETY: the file is a listener of a filter, for which the request wants room for this structure, which lives
        // for the call; any other file refuses it.
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) };
    // An error means that the calling thread has ended meanwhile.
    if received < 0 {
        return;
    }
    // Arguments are numbers in registers of the waiting thread, so they cannot change meanwhile.
    let named = ASKED.iter().find(|(number, _)| *number == c_long::from(call.data.nr));
    let named = named.map(|(_, position)| call.data.args[*position] as u32 as i32);
    let is_own = named.is_some_and(|named| named == 0 || is_thread_of(call.pid, named));
    let (error, flags) = if is_own {
        (0, u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(0))
    } else {
        (-libc::EPERM, 0)
    };
    let mut response = seccomp_notif_resp { id: call.id, val: 0, error, flags };
    // SAFETY: as above, for the structure of an answer. An error means that nobody waits for it any more.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut response) };
}

/// Tells if a thread is one of the process that this caller belongs to.
fn is_thread_of(caller: u32, thread: i32) -> bool {
    Path::new(&format!("/proc/{caller}/task/{thread}")).exists()
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use rustix::{
        event::{PollFd, PollFlags, poll},
        process::{Pid, Resource, getppid},
        thread::{gettid, sched_getaffinity, sched_setaffinity},
    };

    use super::*;

    fn statement(code: u32, k: u32) -> sock_filter {
        sock_filter { code: code as u16, jt: 0, jf: 0, k }
    }

    /// A filter that lets through every call but this one, about which it asks.
    fn asking_about(number: c_long) -> [sock_filter; 4] {
        let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        let number = u32::try_from(number).unwrap();
        [
            statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
            sock_filter { code: equal, jt: 0, jf: 1, k: number },
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_USER_NOTIF),
            statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
        ]
    }

    /// Runs `call` on a thread about whose calls of this number this one is asked, and returns what it returns and how
    /// often this one was asked.
    fn while_asked<R: Send + 'static>(
        number: c_long,
        call: impl FnOnce() -> R + Send + 'static,
    ) -> Option<(R, usize)> {
        let (sender, receiver) = mpsc::channel();
        let caller = thread::spawn(move || {
            let installed = install_filter(&asking_about(number), true);
            let is_installed = installed.is_ok();
            sender.send(installed).unwrap();
            is_installed.then(call)
        });
        let listener = match receiver.recv().unwrap() {
            Ok(listener) => listener.unwrap(),
            Err(error) => {
                // Some systems have no filters that ask, as within another one.
                assert!(matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EBUSY)), "{error}");
                return None;
            }
        };
        let mut count = 0;
        while !caller.is_finished() {
            let mut file = [PollFd::new(&listener, PollFlags::IN)];
            let limit = rustix::event::Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
            poll(&mut file, Some(&limit)).unwrap();
            if file[0].revents().contains(PollFlags::IN) {
                answer(&listener);
                count += 1;
            }
        }
        caller.join().unwrap().map(|result| (result, count))
    }

    #[test]
    fn a_thread_of_the_caller_may_be_named_and_no_other_process() {
        let calls = || {
            let own = gettid();
            let set = sched_getaffinity(None).unwrap();
            let named = sched_setaffinity(Some(own), &set);
            let parent = sched_setaffinity(getppid(), &set);
            let nobody = sched_setaffinity(Pid::from_raw(i32::MAX), &set);
            (named, parent, nobody)
        };
        let Some(((named, parent, nobody), count)) = while_asked(libc::SYS_sched_setaffinity, calls) else {
            return;
        };
        assert_eq!(named, Ok(()));
        assert_eq!((parent, nobody), (Err(rustix::io::Errno::PERM), Err(rustix::io::Errno::PERM)));
        assert_eq!(count, 3);
    }

    #[test]
    fn the_limits_of_another_process_are_not_read_or_set() {
        let calls = || {
            let whose = [Some(gettid()), getppid()];
            whose.map(|whose| {
                let limit = rustix::process::getrlimit(Resource::Core);
                rustix::process::prlimit(whose, Resource::Core, limit).map(drop)
            })
        };
        let Some((results, _)) = while_asked(libc::SYS_prlimit64, calls) else { return };
        assert_eq!(results, [Ok(()), Err(rustix::io::Errno::PERM)]);
    }
}
