//! The last words of a process that a plugin has brought down by a signal.
//!
//! Native code can end the process with a signal, and nothing can be saved then. The remaining option is to report
//! which plugin, which call, which instance and which sample it was, in a file and on stderr, and to exit with its own
//! code. The handler uses only what POSIX calls async-signal-safe, and a buffer on its own stack.
//!
//! # Limits
//! A stack that overflows on a thread of the plugin's own leaves no room for a handler: only threads of Rust's standard
//! library have a second stack. The kernel ends the process with SIGSEGV then. SIGKILL is the same, and so is a plugin
//! that replaces this handler by its own, which `handlers` warns of. Then the parent of the program, if it has one,
//! reports what it can: the calls that were under way, but not which of them it was.

use std::{
    ffi::{CString, c_int, c_long, c_void},
    fs::File,
    io, mem,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};

use crate::{
    error::PluginHostError,
    guard::{
        activity::Activity,
        handlers::{self, CRASHES, sender},
        last_words::write_last_words,
        process::{self, EXIT_PLUGIN_CRASHED},
        report::Report,
        report_file::{self, ReportFile},
        shared::{self, Slot, keep, own_id},
    },
};

/// Signals that silently end a process unless they are handled: signals of timers, profilers and files.
const ENDINGS: [(c_int, &str); 7] = [
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGVTALRM, "SIGVTALRM"),
    (libc::SIGPROF, "SIGPROF"),
    (libc::SIGUSR1, "SIGUSR1"),
    (libc::SIGUSR2, "SIGUSR2"),
    (libc::SIGIO, "SIGIO"),
    (libc::SIGSTKFLT, "SIGSTKFLT"),
];

const SIGNAL_COUNT: usize = CRASHES.len() + ENDINGS.len();

/// Path of the report.
// SAFETY: no other slot has this index.
static REPORT_FILE: Slot<ReportFile> = unsafe { Slot::new(2) };

/// The actions that were in place before, in the order of [`signals`]; null while none is replaced.
static PREVIOUS: AtomicPtr<Actions> = AtomicPtr::new(ptr::null_mut());

/// An action for each of the signals.
type Actions = [libc::sigaction; SIGNAL_COUNT];

/// Returns the actions that were in place before, if they are replaced. Safe in a signal handler.
fn previous() -> Option<&'static Actions> {
    // SAFETY: null, or actions that `install_handlers` keeps for ever.
    unsafe { PREVIOUS.load(Ordering::Acquire).as_ref() }
}

/// Set by the first thread that crashes.
static CRASHED: AtomicBool = AtomicBool::new(false);

fn signals() -> impl Iterator<Item = (c_int, &'static str)> {
    CRASHES.into_iter().chain(ENDINGS)
}

/// Installs the handler for crash signals, and for signals that would silently end the process; later calls
/// only change the path.
///
/// The report is created when a crash happens, so that its presence means a crash. Until a plugin is loaded,
/// a signal does what it did before. `report_path` is in a folder that no other program writes to.
///
/// # Errors
/// [`PluginHostError::CrashReport`] if the folder of `report_path` does not exist or the handler cannot be installed.
pub fn install(report_path: &Path) -> Result<(), PluginHostError> {
    install_with(report_path, libc::O_APPEND)
}

/// Does the same as [`install`], for a program without its own folder: the report is `proctor-crash-PID.txt` in the
/// folder for temporary files. An existing file or link there is left alone.
///
/// # Errors
/// Same as [`install`].
pub fn install_without_folder() -> Result<(), PluginHostError> {
    let name = format!("proctor-crash-{}.txt", process::program_id());
    install_with(&std::env::temp_dir().join(name), libc::O_EXCL)
}

/// Does the same as [`install`], with a report that goes to an open file: for a process that may open none.
/// If a plugin ends the process by itself, that report goes there, too.
///
/// # Errors
/// [`PluginHostError::CrashReport`] if the handler cannot be installed.
pub fn install_with_file(report: File) -> Result<(), PluginHostError> {
    report_file::open_for_reports(report);
    if previous().is_none() {
        install_handlers()
            .map_err(|cause| PluginHostError::CrashReport(format!("to an open file: {cause}")))?;
    }
    Ok(())
}

fn install_with(report_path: &Path, flag: c_int) -> Result<(), PluginHostError> {
    let error = |reason: String| PluginHostError::CrashReport(format!("{}: {reason}", report_path.display()));
    let path = std::path::absolute(report_path).map_err(|cause| error(cause.to_string()))?;
    if !path.parent().is_some_and(Path::is_dir) {
        return Err(error("its folder does not exist".into()));
    }
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|cause| error(cause.to_string()))?;
    REPORT_FILE.set(Some(ReportFile::keep(&path, flag)));
    if previous().is_none() {
        install_handlers().map_err(|cause| error(cause.to_string()))?;
    }
    Ok(())
}

/// Restores the actions that [`install`] has replaced, except where someone has replaced the handler since: for a
/// process that outlives the run, such as an interpreter. No plugin is in a call.
pub fn uninstall() {
    let Some(previous) = previous() else { return };
    for ((signal, _), previous) in signals().zip(previous) {
        if handlers::handler_of(signal) == on_signal as *const () as usize {
            // SAFETY: `previous` is what `sigaction` itself returned for this signal.
            unsafe { libc::sigaction(signal, previous, ptr::null_mut()) };
        }
    }
    REPORT_FILE.set(None);
    PREVIOUS.store(ptr::null_mut(), Ordering::Release);
}

fn install_handlers() -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid `sigaction`: an empty mask, no flags, the default action.
    let mut previous: Actions = unsafe { mem::zeroed() };
    for (action, (signal, _)) in previous.iter_mut().zip(signals()) {
        // SAFETY: asks for the action of a valid signal and writes it to a live structure.
        check(unsafe { libc::sigaction(signal, ptr::null(), action) })?;
    }
    let none = ptr::null_mut();
    let kept = ptr::from_ref(keep(previous)).cast_mut();
    if PREVIOUS.compare_exchange(none, kept, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // Another thread was faster and installs them.
        return Ok(());
    }
    // SAFETY: all-zero bytes are a valid `sigaction`, of which handler and flags are set below.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_signal;
    action.sa_sigaction = handler as usize;
    // The alternate stack, which std gives to each of its threads, lets the handler run after a stack overflow. It has
    // room for one signal, so that all others wait. The kernel ends a process whose handler faults while they do.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: fills a live structure.
    unsafe { libc::sigfillset(&raw mut action.sa_mask) };
    for ((signal, _), previous) in signals().zip(previous) {
        let is_ending = ENDINGS.iter().any(|(number, _)| *number == signal);
        if is_ending && previous.sa_sigaction != libc::SIG_DFL {
            continue;
        }
        // SAFETY: `on_signal` has the signature that SA_SIGINFO asks for and is async-signal-safe; `action` is live.
        check(unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) })?;
    }
    Ok(())
}

fn check(result: c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel hands in a structure that lives for the handler.
    let info = unsafe { info.as_ref() };
    let is_sent = info.is_none_or(|info| info.si_code <= 0);
    let is_from_outside = info.and_then(sender).is_some_and(|sender| sender != own_id());
    let is_of_plugin = Activity::is_any() && !process::is_fork();
    // The sender of a signal wants its effect on any program.
    if !is_of_plugin || is_from_outside {
        die_of(signal, is_sent);
        return;
    }
    if CRASHED.swap(true, Ordering::Relaxed) {
        // Another thread is writing the report and will end the process.
        process::wait_for_end();
    }
    let name = signals().find(|(number, _)| *number == signal).map_or("a signal", |(_, name)| name);
    if is_crash(signal) && thread_id() == own_id() && Activity::current().is_none() {
        report_host(name);
        die_of(signal, is_sent);
        return;
    }
    let done = if is_crash(signal) { "crashed with " } else { "was ended by " };
    write(Report::of(&[done, name]));
    dump_core(signal);
    process::end_here(EXIT_PLUGIN_CRASHED)
}

/// Returns the name of a signal if it ends a program after an error.
pub(super) fn name_of_crash(signal: c_int) -> Option<&'static str> {
    const KILL: [(c_int, &str); 1] = [(libc::SIGKILL, "SIGKILL")];
    CRASHES.into_iter().chain(KILL).find(|(number, _)| *number == signal).map(|(_, name)| name)
}

fn is_crash(signal: c_int) -> bool {
    CRASHES.iter().any(|(number, _)| *number == signal)
}

/// Asks the kernel itself: glibc has the function only since 2.30.
fn thread_id() -> libc::pid_t {
    // SAFETY: the call takes no arguments, never fails, and does nothing in this process, so a handler may make it.
    let id = unsafe { libc::syscall(libc::SYS_gettid) };
    // Ids are ints, which come as a long.
    libc::pid_t::try_from(id).unwrap_or_default()
}

/// Ends the process because an exception has left the plugin's call on this thread. The call is still noted.
#[cold]
pub(super) fn end_by_exception() -> ! {
    write(Report::of(&["let an exception escape"]));
    dump_core(libc::SIGABRT);
    process::end_here(EXIT_PLUGIN_CRASHED)
}

/// Reports a crash of the host's main thread while it is in no call.
#[cold]
fn report_host(name: &str) {
    let mut report = Report::new();
    report
        .text("the host crashed with ")
        .text(name)
        .text(" on its main thread, which is in no call into a plugin: it is ");
    report.text("out of memory, has a defect, or a plugin has damaged its memory\n");
    report.others(None);
    write(report);
}

/// Writes the report to the file, then to stderr, which may have no reader, and the answer that waits, if any does.
pub(super) fn write(mut report: Report) {
    shared::note_report();
    report_file::write_to_open_file(&report);
    if let Some(file) = REPORT_FILE.get().filter(|file| file.write(&report)) {
        report.text("the report is in ").raw(file.path().to_bytes()).text("\n");
    }
    report.write_to_stderr();
    write_last_words();
}

/// Restores the previous handler, so that the faulting instruction, run again, has its usual effect. A signal that
/// was sent is sent again, and then has its default effect: Rust's own handler waits for the instruction.
fn die_of(signal: c_int, is_sent: bool) {
    let previous = previous().and_then(|previous| {
        let mut actions = previous.iter().zip(signals());
        actions.find_map(|(action, (number, _))| (number == signal).then_some(action))
    });
    let Some(previous) = previous else { return };
    if !is_sent || previous.sa_sigaction == libc::SIG_IGN {
        // SAFETY: `previous` is what `sigaction` itself returned for this signal.
        unsafe { libc::sigaction(signal, previous, ptr::null_mut()) };
        return;
    }
    // SAFETY: a valid signal gets its default action, and is sent to this thread; both are async-signal-safe.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Leaves the core dump that the user asks for with a limit above 0, and with it the exit code: it is a copy of the
/// process with this thread alone that dies of the signal.
fn dump_core(signal: c_int) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes to a live structure; a system call and nothing more.
    let asked = unsafe { libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit) } == 0 && limit.rlim_cur > 0;
    if !asked {
        return;
    }
    const HERE: c_long = 0;
    // Not `fork`, which runs handlers and takes locks that this thread may hold.
    // SAFETY: a copy of the process without shared memory; null stacks and places mean "as here".
    let copy = unsafe { libc::syscall(libc::SYS_clone, c_long::from(libc::SIGCHLD), HERE, HERE, HERE, HERE) };
    match libc::pid_t::try_from(copy) {
        Ok(0) => {
            handlers::raise_default(signal);
            process::end_here(EXIT_PLUGIN_CRASHED)
        }
        Ok(copy) if copy > 0 => {
            // SAFETY: waits for the child just made, whose status nobody wants; async-signal-safe.
            unsafe { libc::waitpid(copy, ptr::null_mut(), libc::__WALL) };
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let message = install(Path::new("/no/such/folder/crash.txt")).unwrap_err().to_string();
        assert!(message.ends_with("/crash.txt: its folder does not exist"), "{message}");
    }
}
