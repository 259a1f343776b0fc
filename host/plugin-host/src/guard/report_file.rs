//! Files for reports: one that is made on demand, and one that is open all the time.

use std::{
    ffi::{CStr, c_int},
    fs::File,
    os::fd::IntoRawFd,
    sync::atomic::{AtomicI32, Ordering},
};

use crate::guard::{
    activity::Activity,
    report::Report,
    shared::{keep, keep_bytes},
};

/// Descriptor of a file that is open for reports, never closed, or -1.
static OPEN_FILE: AtomicI32 = AtomicI32::new(-1);

/// A file that is made for a report.
pub(super) struct ReportFile {
    /// Path, with the zero at the end.
    path: &'static [u8],
    /// Flags to open it with.
    flags: c_int,
}

impl ReportFile {
    /// Opens it and keeps it forever. This flag is added to the common flags: no link of another user is followed.
    pub(super) fn keep(path: &CStr, flag: c_int) -> &'static Self {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_CLOEXEC | flag;
        keep(Self { path: keep_bytes(path.to_bytes_with_nul()), flags })
    }

    pub(super) fn path(&self) -> &'static CStr {
        CStr::from_bytes_with_nul(self.path).unwrap_or_default()
    }

    /// Writes the report, and returns whether there is a file for it. Async-signal-safe.
    pub(super) fn write(&self, report: &Report) -> bool {
        // SAFETY: the path is a C string; `open` is async-signal-safe.
        let descriptor = unsafe { libc::open(self.path().as_ptr(), self.flags, 0o644) };
        if descriptor >= 0 {
            report.write_to(descriptor);
        }
        descriptor >= 0
    }
}

/// Sets the file that is open for reports.
pub(super) fn open_for_reports(file: File) {
    OPEN_FILE.store(file.into_raw_fd(), Ordering::Release);
}

/// Writes the report to the file that is open for it, if there is one, in place of the call that was noted there.
pub(super) fn write_to_open_file(report: &Report) {
    if let Some(open) = emptied_file() {
        report.write_to(open);
    }
}

/// Writes the call to the report's open file, if any: the holder of the other end finds it there, however the
/// process ends.
#[inline]
pub(super) fn note_call(activity: &Activity) {
    if let Some(open) = emptied_file() {
        let mut note = Report::new();
        note.text("plugin ").text(activity.plugin()).text(" was at work").place(activity).text("\n");
        note.write_to(open);
    }
}

/// Removes the note of a call that has returned.
#[inline]
pub(super) fn forget_call() {
    emptied_file();
}

/// Returns the file that is open for the report, if any, emptied.
fn emptied_file() -> Option<c_int> {
    let open = OPEN_FILE.load(Ordering::Acquire);
    if open < 0 {
        return None;
    }
    // SAFETY: a descriptor that is never closed; both are async-signal-safe.
    unsafe {
        libc::ftruncate(open, 0);
        libc::lseek(open, 0, libc::SEEK_SET);
    }
    Some(open)
}
