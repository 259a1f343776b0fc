//! A text for the user that is written if a plugin ends the process.
//!
//! A flush may end it while the last samples are being completed, or before any of them is written, and so
//! may the end of an instance's thread. The host makes these calls on other threads than the one that writes,
//! so that such a thread can wait, crashed as it is, until the measurements are written.

use std::{
    ffi::c_int,
    os::fd::{IntoRawFd, OwnedFd},
    ptr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::{
    call::Call,
    guard::{
        activity::Activity,
        shared::{Slot, is_parent, keep, keep_text},
    },
};

/// The text. Never freed: a handler of a signal may be reading it.
// SAFETY: no other slot has this index.
static WORDS: Slot<Words> = unsafe { Slot::new(1) };

/// Calls that end while results may still be unwritten, on a thread that can wait.
const WAITING_CALLS: [Call; 2] = [Call::Flush, Call::EndThread];

/// True if the host is about to set words.
static ARE_EXPECTED: AtomicBool = AtomicBool::new(false);

/// True if a thread that has brought the process down waits for them.
static ARE_AWAITED: AtomicBool = AtomicBool::new(false);

/// Time between two looks for words that are expected.
static LOOK: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// Maximum number of looks: the cause of the crash may keep the host from writing, such as by a lock.
const LOOKS_MAX: u32 = 3000;

struct Words {
    text: &'static str,
    /// Descriptor of the file, which is never closed.
    file: c_int,
}

/// Adds this text to the report of a crash, which writes it to this file, until [`drop_last_words`]. The program's
/// parent writes it to its standard output. Does not return if a crash has waited for words: it ends the process.
pub fn set_last_words(text: &str, file: OwnedFd) {
    WORDS.set(Some(keep(Words { text: keep_text(text), file: file.into_raw_fd() })));
    expect_no_last_words();
}

/// Cancels the pending text. A write in progress is completed.
pub fn drop_last_words() {
    WORDS.set(None);
    ARE_EXPECTED.store(false, Ordering::SeqCst);
}

/// Makes a crash in a flush, or at the end of an instance's thread, wait until words are set or
/// [`expect_no_last_words`] is called.
pub fn expect_last_words() {
    ARE_EXPECTED.store(true, Ordering::SeqCst);
}

/// Ends that wait without words. Does not return if a crash has waited: it ends the process.
pub fn expect_no_last_words() {
    ARE_EXPECTED.store(false, Ordering::SeqCst);
    // All in one order: either this sees that the crash waits, or the crash that nothing is expected.
    if last_words_are_awaited() {
        loop {
            thread::park();
        }
    }
}

/// Returns whether a crash waits for words.
#[must_use]
pub fn last_words_are_awaited() -> bool {
    ARE_AWAITED.load(Ordering::SeqCst)
}

/// Waits for expected words, in one of [`WAITING_CALLS`]. Async-signal-safe.
fn await_last_words() {
    let call = Activity::current().and_then(Activity::call);
    if !call.is_some_and(|call| WAITING_CALLS.contains(&call)) {
        return;
    }
    ARE_AWAITED.store(true, Ordering::SeqCst);
    for _ in 0..LOOKS_MAX {
        if !ARE_EXPECTED.load(Ordering::SeqCst) {
            return;
        }
        // SAFETY: the first structure lives for ever, and null says that nobody wants the time that is left;
        // `nanosleep` is async-signal-safe.
        unsafe { libc::nanosleep(&raw const LOOK, ptr::null_mut()) };
    }
}

/// Writes the text, once; in one of [`WAITING_CALLS`], the text of a run whose results are still to be
/// written. Async-signal-safe.
pub(super) fn write_last_words() {
    await_last_words();
    let Some(Words { text, file }) = WORDS.take() else { return };
    let file = if is_parent() { libc::STDOUT_FILENO } else { *file };
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the bytes are a live slice; `write` is async-signal-safe.
        let count = unsafe { libc::write(file, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(count) {
            Ok(count) if count > 0 => rest = rest.get(count..).unwrap_or_default(),
            // An error cannot be helped here.
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        thread,
        time::Duration,
    };

    use super::*;

    #[test]
    fn they_are_written_once_and_not_after_they_were_dropped() {
        let path = std::env::temp_dir().join(format!("proctor-last-words-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        let text = || fs::read_to_string(&path).unwrap();
        set_last_words("the verdict\n", file.try_clone().unwrap().into());
        write_last_words();
        write_last_words();
        assert_eq!(text(), "the verdict\n");
        set_last_words("another\n", file.try_clone().unwrap().into());
        drop_last_words();
        write_last_words();
        assert_eq!(text(), "the verdict\n");

        // Two calls wait for coming words, and no other does.
        expect_last_words();
        let activity = Activity::new("last-words-test", None);
        activity.during(Call::Stop, write_last_words);
        assert_eq!(text(), "the verdict\n");
        let words = file.try_clone().unwrap().into();
        thread::scope(|scope| {
            scope.spawn(|| activity.during(Call::Flush, write_last_words));
            while !last_words_are_awaited() {
                thread::sleep(Duration::from_millis(1));
            }
            // The thread that sets them does not continue.
            thread::spawn(|| set_last_words("kept\n", words));
        });
        assert_eq!(text(), "the verdict\nkept\n");
        // No text is expected from here on.
        activity.during(Call::Flush, write_last_words);
        fs::remove_file(&path).unwrap();
    }
}
