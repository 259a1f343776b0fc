//! The last words of a process that a plugin has brought down.
//!
//! Native code can end the process with a signal, and nothing can be saved then. What can be done is to say which
//! plugin, which call, which instance and which sample it was, on stderr and in a file, and to exit with a code of
//! its own. The handler uses only what POSIX calls async-signal-safe: `write`, `open`, `sigaction`, `_exit`, atomics,
//! and a buffer on its own stack.

use std::{
    ffi::{CString, c_char, c_int, c_void},
    mem,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicPtr, Ordering},
    },
};

use crate::{
    error::PluginHostError,
    guard::{activity::Activity, last_words::write_last_words},
};

/// Exit code of a process that a plugin has crashed: `EX_SOFTWARE` of `sysexits.h`.
pub const EXIT_PLUGIN_CRASHED: i32 = 70;

const SIGNALS: [(c_int, &str); 5] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGABRT, "SIGABRT"),
];

/// Path of the report as a C string that is never freed, or null.
static REPORT_PATH: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

/// The actions that were in place before, in the order of `SIGNALS`.
static PREVIOUS: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

/// Set by the first thread that crashes.
static CRASHED: AtomicBool = AtomicBool::new(false);

/// Installs the handler for SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT; later calls only change the path.
///
/// The report is created when a crash happens, so that its presence means a crash. As long as no plugin was loaded, a
/// signal does what it did before.
///
/// # Errors
/// [`PluginHostError::CrashReport`] if the folder of `report_path` does not exist or the handler cannot be installed.
pub fn install(report_path: &Path) -> Result<(), PluginHostError> {
    let error = |reason: String| PluginHostError::CrashReport(format!("{}: {reason}", report_path.display()));
    let path = std::path::absolute(report_path).map_err(|cause| error(cause.to_string()))?;
    if !path.parent().is_some_and(Path::is_dir) {
        return Err(error("its folder does not exist".into()));
    }
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|cause| error(cause.to_string()))?;
    // Release: a handler that sees the pointer sees the text. An earlier path is leaked, a handler may be reading it.
    REPORT_PATH.store(path.into_raw(), Ordering::Release);
    if PREVIOUS.get().is_none() {
        install_handlers().map_err(|cause| error(cause.to_string()))?;
    }
    Ok(())
}

fn install_handlers() -> std::io::Result<()> {
    // SAFETY: all-zero bytes are a valid `sigaction`: an empty mask, no flags, the default action.
    let mut previous: [libc::sigaction; SIGNALS.len()] = unsafe { mem::zeroed() };
    for (action, (signal, _)) in previous.iter_mut().zip(SIGNALS) {
        // SAFETY: asks for the action of a valid signal and writes it to a live structure.
        check(unsafe { libc::sigaction(signal, ptr::null(), action) })?;
    }
    if PREVIOUS.set(previous).is_err() {
        // Another thread was faster and installs them.
        return Ok(());
    }
    // SAFETY: all-zero bytes are a valid `sigaction`, of which handler and flags are set below.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_crash;
    action.sa_sigaction = handler as usize;
    // The alternate stack, which std gives to each of its threads, lets the handler run after a stack overflow.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    for (signal, _) in SIGNALS {
        // SAFETY: `on_crash` has the signature that SA_SIGINFO asks for and is async-signal-safe; `action` is live.
        check(unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) })?;
    }
    Ok(())
}

fn check(result: c_int) -> std::io::Result<()> {
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

extern "C" fn on_crash(signal: c_int, _info: *mut libc::siginfo_t, _context: *mut c_void) {
    if Activity::all().next().is_none() {
        restore(signal);
        return;
    }
    if CRASHED.swap(true, Ordering::Relaxed) {
        // Another thread is writing the report and will end the process.
        loop {
            // SAFETY: `pause` has no arguments and is async-signal-safe.
            unsafe { libc::pause() };
        }
    }
    let mut report = Report::new();
    report.describe(signal);
    report.write_to(libc::STDERR_FILENO);
    let path = REPORT_PATH.load(Ordering::Acquire);
    if !path.is_null() {
        // SAFETY: `path` is a C string that `install` leaked; `open` is async-signal-safe.
        let file = unsafe {
            libc::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC, 0o644)
        };
        if file >= 0 {
            report.write_to(file);
        }
    }
    write_last_words();
    // SAFETY: ends the process without running anything of it; async-signal-safe.
    unsafe { libc::_exit(EXIT_PLUGIN_CRASHED) }
}

/// Puts back what was there before, so that the faulting instruction, run again, has its usual effect.
fn restore(signal: c_int) {
    let Some(previous) = PREVIOUS.get() else { return };
    for (action, (number, _)) in previous.iter().zip(SIGNALS) {
        if number == signal {
            // SAFETY: `action` is what `sigaction` itself returned for this signal.
            unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
        }
    }
}

/// A text of bounded length, made without allocation.
struct Report {
    bytes: [u8; 1024],
    length: usize,
}

impl Report {
    fn new() -> Self {
        Self { bytes: [0; 1024], length: 0 }
    }

    fn describe(&mut self, signal: c_int) {
        let name = SIGNALS.iter().find(|(number, _)| *number == signal).map_or("a signal", |(_, name)| name);
        let current = Activity::current();
        match current {
            Some(activity) => {
                self.text("plugin ").text(activity.plugin()).text(" crashed with ").text(name);
                self.place(activity);
            }
            None => {
                self.text("crashed with ").text(name);
                self.text(" on a thread that is in no call into a plugin; it may be a plugin's own thread");
            }
        }
        self.text("\n");
        let others = Activity::all().filter(|other| !current.is_some_and(|own| ptr::eq(own, *other)));
        for other in others.filter(|other| other.call().is_some()) {
            self.text("meanwhile plugin ").text(other.plugin()).text(" was at work");
            self.place(other);
            self.text("\n");
        }
    }

    fn place(&mut self, activity: &Activity) {
        if let Some(call) = activity.call() {
            self.text(" in ").text(call.name());
        }
        if let Some(instance) = activity.instance() {
            self.text(", instance ").number(instance.into());
            if let Some(sample) = activity.first_sample() {
                self.text(", batch that starts with sample ").number(sample);
            }
        }
    }

    /// Appends as much as fits.
    fn text(&mut self, text: &str) -> &mut Self {
        for &byte in text.as_bytes() {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = byte;
                self.length += 1;
            }
        }
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        if number >= 10 {
            self.number(number / 10);
        }
        let digit = usize::try_from(number % 10).unwrap_or(0);
        self.text("0123456789".get(digit..=digit).unwrap_or_default())
    }

    fn write_to(&self, file: c_int) {
        // SAFETY: the first `length` bytes are initialised; `write` is async-signal-safe. A short write or an error
        // cannot be helped here.
        unsafe { libc::write(file, self.bytes.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_cut_off_at_its_end() {
        let mut report = Report::new();
        report.text("at ").number(0).text(" ").number(u64::MAX);
        assert_eq!(&report.bytes[..report.length], b"at 0 18446744073709551615");
        report.text(&"x".repeat(2000));
        assert_eq!(report.length, 1024);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let message = install(Path::new("/no/such/folder/crash.txt")).unwrap_err().to_string();
        assert!(message.ends_with("/crash.txt: its folder does not exist"), "{message}");
    }
}
