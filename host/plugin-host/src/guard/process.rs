//! The process that a plugin shares with the host: its end, the copies that are made of it, and its standard output.
//!
//! The exit code of the program is the host's to give. The program ends by [`end`] and in no other way, so that neither
//! the handlers nor the destructors of a plugin run concurrently with its own threads, where they would hang, crash or
//! change the code. A plugin that calls `exit` or `quick_exit` is reported, and the program ends with
//! [`EXIT_PLUGIN_CRASHED`].
//!
//! # Limits
//! `_exit`, `exec` and raw system calls of a plugin end the process silently: nothing in the process can see
//! them. The parent of the program, if it has one, distinguishes them from its own end.

use std::{
    ffi::{CString, c_int},
    fs::File,
    io,
    os::{fd::AsFd, unix::ffi::OsStrExt},
    path::Path,
    process::id,
    ptr,
    sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering},
};

use crate::guard::{
    activity::Activity,
    last_words::write_last_words,
    report::Report,
    report_file::{self, ReportFile},
    shared::{self, Slot, keep, keep_text},
};

/// Exit code of a process that a plugin has crashed or ended: `EX_SOFTWARE` of `sysexits.h`.
pub const EXIT_PLUGIN_CRASHED: i32 = 70;

/// Set when the host ends the process.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Set in a copy of the process that a plugin has forked.
static IS_FORK: AtomicBool = AtomicBool::new(false);

/// Number of copies of the process that were forked.
static FORK_COUNT: AtomicU64 = AtomicU64::new(0);

/// Path of the report of a plugin that ends the process.
// SAFETY: no other slot has this index.
static END_REPORT: Slot<EndReport> = unsafe { Slot::new(3) };

struct EndReport {
    file: &'static ReportFile,
    /// Text before the report.
    beginning: &'static str,
}

/// Id of the parent of the program, or 0.
static PARENT: AtomicI32 = AtomicI32::new(0);

unsafe extern "C" {
    /// The stream of C's `printf`.
    static stdout: *mut libc::FILE;

    fn at_quick_exit(handler: extern "C" fn()) -> c_int;
    fn pthread_atfork(
        before: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
}

/// Distinguishes the process's own end by [`end`] from one that a plugin makes, and the process itself from a
/// copy that a plugin makes. A file that reaches the limit of the system is an error of the write, not the
/// end. To be called once, before a plugin is loaded.
///
/// # Errors
/// If the system has no room for another handler.
pub fn notice_ends() -> io::Result<()> {
    // SAFETY: the functions live as long as the program and have the type that is asked for.
    let refused = unsafe {
        [libc::atexit(on_exit), at_quick_exit(on_exit), pthread_atfork(None, Some(after_fork), Some(on_fork))]
    };
    if refused.iter().any(|code| *code != 0) {
        return Err(io::Error::from(io::ErrorKind::OutOfMemory));
    }
    // SAFETY: a valid signal, and an action that runs nothing.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    Ok(())
}

/// Sets the file that gets this text and the report if a plugin ends the process. The program's parent writes
/// it if the program itself cannot. No other program writes to the folder of the file. If a file was open for
/// the report of a crash, that gets this one, too.
pub fn report_end_in(path: &Path, beginning: &str) {
    // A path with a zero in it is no file.
    if let Ok(path) = CString::new(path.as_os_str().as_bytes()) {
        let file = ReportFile::keep(&path, libc::O_TRUNC);
        END_REPORT.set(Some(keep(EndReport { file, beginning: keep_text(beginning) })));
    }
}

/// Reports that a plugin has ended the process.
pub(super) fn report_end(report: &Report) {
    report_file::write_to_open_file(report);
    if let Some(EndReport { file, beginning }) = END_REPORT.get() {
        let mut text = Report::new();
        text.text(beginning).raw(report.bytes());
        // If it cannot be written, the user sees it anyway.
        file.write(&text);
    }
    report.write_to_stderr();
    write_last_words();
}

/// Notes the parent of the program.
pub(super) fn set_parent(parent: libc::pid_t) {
    PARENT.store(parent, Ordering::Relaxed);
}

/// Returns whether this process is the parent of the program. Safe in a signal handler.
pub(super) fn is_id_of_parent(process: libc::pid_t) -> bool {
    process != 0 && PARENT.load(Ordering::Relaxed) == process
}

/// Returns the id of the program, as the user knows it: of its parent, if it has one.
pub(super) fn program_id() -> u32 {
    match PARENT.load(Ordering::Relaxed) {
        0 => id(),
        parent => parent.cast_unsigned(),
    }
}

/// Ends the process at once with this exit code. Plugin code no longer runs, and nothing is flushed: the host buffers
/// none of its output.
pub fn end(code: i32) -> ! {
    IS_ENDING.store(true, Ordering::SeqCst);
    end_here(code)
}

/// Ends the process. Safe in a signal handler.
pub(super) fn end_here(code: i32) -> ! {
    if !is_fork() {
        shared::note_end(code);
    }
    // SAFETY: ends the process without running anything of it; async-signal-safe.
    unsafe { libc::_exit(code) }
}

/// Waits until another thread ends the process. Safe in a signal handler.
pub(super) fn wait_for_end() -> ! {
    loop {
        // SAFETY: `pause` has no arguments and is async-signal-safe.
        unsafe { libc::pause() };
    }
}

/// Called by the system if code calls `exit` or `quick_exit`, or returns from `main`.
extern "C" fn on_exit() {
    if is_fork() || !Activity::is_any() {
        return;
    }
    if IS_ENDING.load(Ordering::SeqCst) {
        wait_for_end();
    }
    report_end(&Report::of(&["called exit"]));
    end_here(EXIT_PLUGIN_CRASHED)
}

extern "C" fn after_fork() {
    FORK_COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of times that the process was copied by `fork` since [`notice_ends`]; to start another program
/// takes none.
#[must_use]
pub fn fork_count() -> u64 {
    FORK_COUNT.load(Ordering::Relaxed)
}

extern "C" fn on_fork() {
    IS_FORK.store(true, Ordering::Relaxed);
}

/// Returns whether this process is a copy that a plugin has forked. Safe in a signal handler.
#[inline]
pub(super) fn is_fork() -> bool {
    IS_FORK.load(Ordering::Relaxed)
}

/// Ends a copy that has come back from the call in which it was made: it must not continue as a second host.
#[cold]
pub(super) fn end_fork(activity: &Activity) -> ! {
    let mut report = Report::new();
    report
        .text("a copy of the program that plugin ")
        .text(activity.plugin())
        .text(" has forked returned from its call");
    report.place(activity).text("; the copy ends here\n");
    report.write_to_stderr();
    end_here(EXIT_PLUGIN_CRASHED)
}

/// Set if the program was started without a standard output.
static STDOUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before `main`, and before Rust opens `/dev/null` in place of closed descriptors.
#[used]
// SAFETY: the section holds pointers to functions of this type, which run in a process of one thread; this one makes a
// system call and sets a flag.
#[unsafe(link_section = ".init_array")]
static LOOK_AT_STDOUT: extern "C" fn() = look_at_stdout;

extern "C" fn look_at_stdout() {
    // SAFETY: asks for the flags of a descriptor, open or not.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_IS_CLOSED.store(flags < 0, Ordering::Relaxed);
}

/// Takes the standard output for the host alone: anything else that writes there writes to stderr from here
/// on, so that nothing mixes with the answer. To be called before a plugin is loaded.
///
/// # Errors
/// If the program was started without stdout, or the system refuses another descriptor.
pub fn take_stdout() -> io::Result<File> {
    let own = io::stdout().as_fd().try_clone_to_owned();
    // SAFETY: two descriptors, which Rust has open from the start.
    if unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // The lines of a plugin in C go out as they come: nothing is flushed at the end.
    // SAFETY: the stream of the C library, which nobody else uses before a plugin is loaded; it takes its own buffer.
    unsafe { libc::setvbuf(stdout, ptr::null_mut(), libc::_IOLBF, 0) };
    if STDOUT_IS_CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    Ok(File::from(own?))
}

/// Makes each print of a plugin in C go out at once, not only whole lines: so that everything printed before
/// a crash is seen, down to the last character. To be called before a plugin is loaded.
pub fn print_at_once() {
    // SAFETY: the stream of the C library, which nobody else uses before a plugin is loaded; it needs no buffer.
    unsafe { libc::setvbuf(stdout, ptr::null_mut(), libc::_IONBF, 0) };
}
