//! Files that a process has been given by the one that started it.

use std::{fs, io, os::fd::RawFd};

/// Folder in which the system shows the files that this process has open.
const FILES: &str = "/proc/self/fd";

/// Closes every file but standard input, output and error: the plugin could read the open files of the user's shell or
/// the host. To be called before the program opens anything.
///
/// # Errors
/// If the system does not say which there are.
pub fn close_inherited_files() -> io::Result<()> {
    let entries = fs::read_dir(FILES)?.flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    let numbers: Vec<_> = numbers.filter(|number| *number > 2).collect();
    // The folder itself was open for that.
    let is_open = |number: &RawFd| fs::symlink_metadata(format!("{FILES}/{number}")).is_ok();
    for number in numbers.into_iter().filter(is_open) {
        // SAFETY: nothing of this program has opened the file, as it is called first of all, so nobody owns it.
        unsafe { rustix::io::close(number) };
    }
    Ok(())
}
