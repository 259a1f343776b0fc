//! A file for a report, which is made when there is something to report.

use std::ffi::{CStr, c_int};

use crate::guard::{
    report::Report,
    shared::{keep, keep_bytes},
};

/// The file.
pub(super) struct ReportFile {
    /// Its path, with the zero at the end.
    path: &'static [u8],
    /// Flags to open it with.
    flags: c_int,
}

impl ReportFile {
    /// Keeps it for ever. It is opened with this flag beside those that all of them have: nobody's link is followed.
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
