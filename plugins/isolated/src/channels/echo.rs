//! A bare round trip between both processes, to hold the calls of a plugin against.

use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
    time::Duration,
};

use crate::{
    channels::mailbox::PeerGone,
    channels::memory::SharedMemory,
    channels::signal::{LOOK, SIGNAL_BYTES, Signal},
};

/// Offsets of the numbers.
const CALL: usize = 0;
const ANSWER: usize = CALL + SIGNAL_BYTES;

/// Call number that ends the calls.
const END: u32 = u32::MAX;

/// A number to the other process, and the same number back.
#[derive(Debug)]
pub(crate) struct Echo {
    memory: SharedMemory,
    number: u32,
    spin: Duration,
}

impl Echo {
    pub(crate) fn new(spin: Duration) -> io::Result<Self> {
        Ok(Self { memory: SharedMemory::new(ANSWER + SIGNAL_BYTES)?, number: 0, spin })
    }

    /// Returns the descriptor, to be sent to the other process.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.memory.file()
    }

    /// Calls, and waits for the answer.
    ///
    /// # Errors
    /// If the other process has gone, as `is_there` reports.
    pub(crate) fn call(&mut self, is_there: impl Fn() -> bool) -> Result<(), PeerGone> {
        let seen = self.number;
        self.number += 1;
        Signal::at(&self.memory, CALL).set(self.number);
        while Signal::at(&self.memory, ANSWER).wait(seen, self.spin, LOOK).is_none() {
            if !is_there() {
                return Err(PeerGone);
            }
        }
        Ok(())
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        Signal::at(&self.memory, CALL).set(END);
    }
}

/// Answers the host's calls in the shared memory that it has sent, until the host ends them.
///
/// # Errors
/// If the descriptor is no such memory.
pub fn echo(file: OwnedFd, spin: Duration) -> io::Result<()> {
    let memory = SharedMemory::open(file)?;
    let mut number = 0;
    while number != END {
        let Some(next) = Signal::at(&memory, CALL).wait(number, spin, LOOK) else { continue };
        number = next;
        Signal::at(&memory, ANSWER).set(number);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_call_comes_back_until_the_end() {
        let mut host = Echo::new(Duration::from_micros(50)).unwrap();
        let file = host.file().try_clone_to_owned().unwrap();
        let other = thread::spawn(|| echo(file, Duration::ZERO));
        for _ in 0..100 {
            assert_eq!(host.call(|| true), Ok(()));
        }
        drop(host);
        other.join().unwrap().unwrap();
    }

    #[test]
    fn who_is_gone_is_not_waited_for() {
        assert_eq!(Echo::new(Duration::ZERO).unwrap().call(|| false), Err(PeerGone));
    }
}
