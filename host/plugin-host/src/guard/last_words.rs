//! A text for the user that is written if a plugin ends the process.

use std::{
    os::fd::{AsRawFd, OwnedFd},
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

/// The text, or null. Never freed: a handler of a signal may be reading it.
static WORDS: AtomicPtr<Words> = AtomicPtr::new(ptr::null_mut());

struct Words {
    text: String,
    file: OwnedFd,
}

/// Has the report of a crash write this text to this file, too, until [`drop_last_words`].
pub fn set_last_words(text: String, file: OwnedFd) {
    // Release: a handler that sees the pointer sees the text.
    WORDS.store(Box::into_raw(Box::new(Words { text, file })), Ordering::Release);
}

/// Says that there is nothing to be written any more. What is being written is written to its end.
pub fn drop_last_words() {
    WORDS.store(ptr::null_mut(), Ordering::Relaxed);
}

/// Writes the text, once. Async-signal-safe.
pub(super) fn write_last_words() {
    // SAFETY: null, or what `set_last_words` leaked.
    let Some(words) = (unsafe { WORDS.swap(ptr::null_mut(), Ordering::Acquire).as_ref() }) else { return };
    let mut rest = words.text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the bytes are a live slice, and the file is open for ever; `write` is async-signal-safe.
        let count = unsafe { libc::write(words.file.as_raw_fd(), rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(count) {
            Ok(count) if count > 0 => rest = rest.get(count..).unwrap_or_default(),
            // An error cannot be helped here.
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn they_are_written_once_and_not_after_they_were_dropped() {
        let path = std::env::temp_dir().join(format!("proctor-last-words-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        let text = || fs::read_to_string(&path).unwrap();
        set_last_words("the verdict\n".to_owned(), file.try_clone().unwrap().into());
        write_last_words();
        write_last_words();
        assert_eq!(text(), "the verdict\n");
        set_last_words("another\n".to_owned(), file.try_clone().unwrap().into());
        drop_last_words();
        write_last_words();
        assert_eq!(text(), "the verdict\n");
        fs::remove_file(&path).unwrap();
    }
}
