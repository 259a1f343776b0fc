//! Runs the parent of the program: a process that waits for its end, and reports what the program could not report
//! itself.
//!
//! Nothing in a process sees it end by `_exit`, by a system call or by SIGKILL. So [`start`] makes a copy of the
//! process, which is the program from there on. The process that was started, whose id the user and the shell know,
//! waits:
//!
//! | the program | the parent |
//! |---|---|
//! | ends by itself | ends with its exit code |
//! | was ended with an exit code by a plugin | reports the calls under way, and ends with [`EXIT_PLUGIN_CRASHED`] |
//! | was ended by a signal | reports it, if the program could not, and ends by the same signal |
//!
//! The parent passes its signals on; a terminal sends to both, which `interrupts` knows. SIGKILL of the
//! parent ends the program, too.
//!
//! # Limits
//! SIGSTOP and SIGTSTP of the parent alone stop it alone: to stop the program, stop the group, as Ctrl-Z
//! does.

use std::{
    ffi::c_int,
    fs, io, mem, ptr,
    time::{Duration, Instant},
};

use proctor_vocabulary::proc_value;

use crate::guard::{
    activity::Activity,
    crash,
    handlers::{self, handler_of, sender},
    process::{self, EXIT_PLUGIN_CRASHED},
    report::Report,
    shared,
};

/// Signals that stop a process and have it continue, or that it mostly ignores. The parent leaves them as they are.
const NOT_TAKEN: [c_int; 6] =
    [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGCONT, libc::SIGWINCH, libc::SIGURG];

/// Time within which the same signal of the same process is the same request: `timeout` sends to its child,
/// and then to the group that the child is in.
const ONCE: Duration = Duration::from_millis(20);

/// Starts the program: returns in a copy of this process, for which this one waits. To be called before anything else,
/// and before there is a second thread. A process under a debugger continues as it is: the debugger looks at the
/// program.
///
/// # Errors
/// If the process has several threads, or the system refuses. Then it goes on as it is.
pub fn start() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    if proc_value(&status, "TracerPid") != Some("0") {
        return Ok(());
    }
    if proc_value(&status, "Threads") != Some("1") {
        return Err(io::Error::other("it has several threads already"));
    }
    shared::map()?;
    let before = block(&taken());
    // SAFETY: a valid signal, and its default action: an ignored end of a child has no status.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    let parent = shared::own_id();
    // SAFETY: this is the only thread, so the copy has all locks as it finds them.
    match unsafe { libc::fork() } {
        ..0 => {
            let error = io::Error::last_os_error();
            block_only(&before);
            Err(error)
        }
        0 => {
            end_with(parent);
            process::set_parent(parent);
            block_only(&before);
            Ok(())
        }
        program => {
            shared::become_parent();
            wait_for(program)
        }
    }
}

/// Ends the program when its parent ends.
fn end_with(parent: libc::pid_t) {
    // SAFETY: asks for a valid signal.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // SAFETY: has no arguments.
    if unsafe { libc::getppid() } != parent {
        // It has ended before it was asked for.
        end_by(libc::SIGKILL);
    }
}

/// Returns the signals that the parent handles one after another.
fn taken() -> libc::sigset_t {
    // SAFETY: all-zero bytes are a valid set.
    let mut set: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: fills a live set, and takes valid signals out.
    unsafe {
        libc::sigfillset(&raw mut set);
        NOT_TAKEN.iter().for_each(|signal| _ = libc::sigdelset(&raw mut set, *signal));
    }
    set
}

/// Blocks signals, and returns the previously blocked ones.
fn block(set: &libc::sigset_t) -> libc::sigset_t {
    // SAFETY: all-zero bytes are a valid set.
    let mut before: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: reads a live set and writes another one.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set, &raw mut before) };
    before
}

fn block_only(set: &libc::sigset_t) {
    // SAFETY: reads a live set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set, ptr::null_mut()) };
}

/// A signal sent to the parent, and its sender.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Request {
    signal: c_int,
    sender: Option<libc::pid_t>,
}

/// Passes signals on to the program until it has ended.
fn wait_for(program: libc::pid_t) -> ! {
    let taken = taken();
    let mut last: Option<(Request, Instant)> = None;
    loop {
        // SAFETY: all-zero bytes are a valid structure.
        let mut info: libc::siginfo_t = unsafe { mem::zeroed() };
        // SAFETY: reads a live set and writes a live structure.
        let signal = unsafe { libc::sigwaitinfo(&raw const taken, &raw mut info) };
        if signal < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            // A sandbox may refuse it: then nothing is passed on.
            wait_alone_for(program);
        }
        if signal == libc::SIGCHLD {
            if let Some(status) = end_of(program) {
                end_as(program, status, last.map(|(request, _)| request.signal));
            }
            continue;
        }
        let request = Request { signal, sender: sender(&info) };
        let is_again = last.is_some_and(|(before, at)| before == request && at.elapsed() < ONCE);
        // An interruption, such as a stop of the parent, is not a signal.
        if signal > 0 && handler_of(signal) != libc::SIG_IGN && !(is_again && request.sender.is_some()) {
            last = Some((request, Instant::now()));
            // SAFETY: the program was not waited for yet, so that the id is its own.
            unsafe { libc::kill(program, signal) };
        }
    }
}

/// Waits only for the end of the program.
fn wait_alone_for(program: libc::pid_t) -> ! {
    loop {
        let mut status = 0;
        // SAFETY: waits for a child of this process, and writes a live number.
        if unsafe { libc::waitpid(program, &raw mut status, 0) } == program {
            end_as(program, status, None);
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            end(EXIT_PLUGIN_CRASHED);
        }
    }
}

/// Returns the status of the program, if it has ended.
fn end_of(program: libc::pid_t) -> Option<c_int> {
    let mut status = 0;
    // SAFETY: asks for a child of this process, and writes a live number.
    let ended = unsafe { libc::waitpid(program, &raw mut status, libc::WNOHANG) };
    (ended == program).then_some(status)
}

/// Ends as the program has, and reports what it could not report itself. `passed_on` is the last signal that this
/// process sent it.
fn end_as(program: libc::pid_t, status: c_int, passed_on: Option<c_int>) -> ! {
    let has_plugin = Activity::is_any();
    if libc::WIFEXITED(status) {
        let code = libc::WEXITSTATUS(status);
        if !has_plugin || shared::has_noted_end(program, code) {
            end(code);
        }
        let done = ["ended the program with exit code ", &code.to_string(), ", as by _exit,"];
        process::report_end(&Report::after_the_end(&done));
        end(EXIT_PLUGIN_CRASHED)
    }
    let signal = libc::WTERMSIG(status);
    if let Some(name) = crash::name_of_crash(signal)
        && has_plugin
        && !shared::has_reported()
        && passed_on != Some(signal)
    {
        crash::write(match signal {
            libc::SIGKILL => Report::of_the_program(&[
                "the program was ended by SIGKILL, which the system sends where memory runs out, or somebody has sent",
            ]),
            _ => Report::after_the_end(&["was ended by ", name]),
        });
    }
    end_by(signal)
}

/// Ends this process by a signal, and leaves no core, which is the program's to leave.
fn end_by(signal: c_int) -> ! {
    // SAFETY: sets a flag of this process.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    handlers::raise_default(signal);
    // The first process of a container does not end by its own signals.
    end(128 + signal)
}

fn end(code: c_int) -> ! {
    // SAFETY: ends the process without running anything of it.
    unsafe { libc::_exit(code) }
}
