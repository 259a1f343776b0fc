//! Messages on stderr, which must not matter: a full disk, or a reader that is gone or does not read, neither ends the
//! program nor blocks it.

use std::{
    io::{self, Write},
    os::fd::AsFd,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use proctor_vocabulary::{printable, printable_lines};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    termios::tcgetwinsize,
};

/// Maximum wait for a reader, once; until it reads again, messages are dropped.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes that a pipe takes without waiting when it says that it has room.
const CHUNK: usize = 4096;

/// The state of stderr, for all threads.
static STATE: Mutex<State> = Mutex::new(State { is_stuck: false, view: Vec::new() });

struct State {
    /// True if it accepted nothing during the whole wait.
    is_stuck: bool,
    /// Lines at the bottom of the terminal that are rewritten. The cursor is at the end of the last one.
    view: Vec<String>,
}

/// Shows a message, a line or more without the final line break, with [`printable_lines`] of any text from
/// files and plugins.
pub fn tell(message: impl AsRef<str>) {
    // It never fails.
    let _ = Stderr.write_all(format!("{}\n", printable_lines(message.as_ref())).as_bytes());
}

/// Shows lines at the bottom of the terminal, replacing the previous ones; messages go above them. `lines`
/// formats them for a number of columns.
pub(crate) fn show_view(lines: impl FnOnce(u16) -> Vec<String>) {
    let (columns, rows) = terminal_size();
    let mut view: Vec<_> = lines(columns).iter().map(printable).collect();
    // Scrolled-away lines cannot be rewritten.
    view.truncate(usize::from(rows).saturating_sub(1).max(1));
    if let Some(mut state) = lock() {
        let text = format!("{}{}", erasure(&state.view), view.join("\n"));
        state.write(text.as_bytes());
        state.view = view;
    }
}

/// Removes the lines of the view.
pub(crate) fn clear_view() {
    if let Some(mut state) = lock() {
        let text = erasure(&state.view);
        state.write(text.as_bytes());
        state.view.clear();
    }
}

/// Returns the columns and rows of the terminal.
fn terminal_size() -> (u16, u16) {
    match tcgetwinsize(io::stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        _ => (80, 24),
    }
}

/// Moves the cursor to the start of the view, and clears from there to the end.
fn erasure(view: &[String]) -> String {
    match view.len() {
        0 => String::new(),
        1 => "\r\x1b[J".to_owned(),
        count => format!("\r\x1b[{}A\x1b[J", count - 1),
    }
}

/// Writer to stderr for the whole program. Writing always succeeds. Bytes go out unchanged: a caller that
/// writes text of files or plugins makes it [`printable`] first.
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(mut state) = lock() {
            if state.view.is_empty() {
                state.write(bytes);
            } else {
                let view = std::mem::take(&mut state.view);
                state.write(&[erasure(&view).as_bytes(), bytes].concat());
                // After a part of a line it comes back with the next look.
                if bytes.ends_with(b"\n") {
                    state.write(view.join("\n").as_bytes());
                    state.view = view;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl State {
    fn write(&mut self, bytes: &[u8]) {
        let patience = if self.is_stuck { Duration::ZERO } else { PATIENCE };
        self.is_stuck = !bytes.chunks(CHUNK).all(|chunk| write_chunk(chunk, patience));
    }
}

/// Returns the right to write, unless another thread holds it for too long: foreign code may fill a pipe just before it
/// writes.
fn lock() -> Option<MutexGuard<'static, State>> {
    STATE.try_lock_for(2 * PATIENCE)
}

/// Writes as much as possible. Returns whether stderr accepts anything: an error is not waited for twice.
fn write_chunk(mut bytes: &[u8], patience: Duration) -> bool {
    let stderr = io::stderr();
    let patience = Timespec { tv_sec: patience.as_secs().cast_signed(), tv_nsec: 0 };
    while !bytes.is_empty() {
        let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
        match poll(&mut ready, Some(&patience)) {
            Ok(0) => return false,
            Err(Errno::INTR) => continue,
            _ => {}
        }
        match rustix::io::write(stderr.as_fd(), bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(_) => return true,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_erased_from_its_first_line() {
        let view = |count| erasure(&vec![String::new(); count]);
        assert_eq!(view(0), "");
        assert_eq!(view(1), "\r\x1b[J");
        assert_eq!(view(5), "\r\x1b[4A\x1b[J");
    }
}
