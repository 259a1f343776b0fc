//! Messages on stderr, which nothing depends on: a full disk, a reader that is gone or one that does not read neither
//! ends the program nor holds it up.

use std::{
    io::{self, Write},
    os::fd::AsFd,
    sync::{Mutex, TryLockError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// Longest wait for a reader, once; until it reads again, messages are dropped.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes that a pipe takes without waiting when it says that it has room.
const CHUNK: usize = 4096;

/// Whether stderr took nothing for as long as we waited.
static IS_STUCK: Mutex<bool> = Mutex::new(false);

/// Shows a message, a line or more without the end of the last one.
pub fn tell(message: impl AsRef<str>) {
    // It never fails.
    let _ = Stderr.write_all(format!("{}\n", message.as_ref()).as_bytes());
}

/// The way to stderr for everything of the program. Writing always succeeds.
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(mut is_stuck) = lock() {
            let patience = if *is_stuck { Duration::ZERO } else { PATIENCE };
            *is_stuck = !bytes.chunks(CHUNK).all(|chunk| write_chunk(chunk, patience));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The right to write, unless another thread has it for too long: foreign code may fill a pipe just before it writes.
fn lock() -> Option<std::sync::MutexGuard<'static, bool>> {
    let start = Instant::now();
    loop {
        match IS_STUCK.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if start.elapsed() > 2 * PATIENCE => return None,
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Writes what it can. Returns whether stderr takes anything: an error is not waited for a second time either way.
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
