//! Room for a message of a plugin, with a guard behind it: a plugin that writes beyond the end crashes at once, in its
//! call, and damages nothing of the host's.

use std::{alloc::Layout, ffi::c_void, ptr, slice};

use proctor_plugin_api::abi::PROCTOR_MESSAGE_LENGTH_MAX;

/// The room, which begins with zeros.
pub(super) struct Room {
    start: *mut u8,
    /// Start and size of its pages and the guard; `None` if the system has no memory to give.
    pages: Option<(*mut c_void, usize)>,
}

const ROOM: Layout = Layout::new::<[u8; PROCTOR_MESSAGE_LENGTH_MAX]>();

impl Room {
    pub(super) fn new() -> Self {
        Self::guarded().unwrap_or_else(|| {
            // SAFETY: the layout is not empty.
            let start = unsafe { std::alloc::alloc_zeroed(ROOM) };
            if start.is_null() {
                std::alloc::handle_alloc_error(ROOM);
            }
            Self { start, pages: None }
        })
    }

    /// Allocates pages for the room, which ends where the guard begins.
    fn guarded() -> Option<Self> {
        // There is no protection of memory under Miri.
        if cfg!(miri) {
            return None;
        }
        // SAFETY: asks for a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        let usable = PROCTOR_MESSAGE_LENGTH_MAX.checked_next_multiple_of(page)?;
        let size = usable + page;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory at any address, of no file.
        let pages = unsafe { libc::mmap(ptr::null_mut(), size, access, kind, -1, 0) };
        if pages == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: both places are in the mapping that was just made.
        let (start, guard) =
            unsafe { (pages.byte_add(usable - PROCTOR_MESSAGE_LENGTH_MAX), pages.byte_add(usable)) };
        let room = Self { start: start.cast(), pages: Some((pages, size)) };
        // SAFETY: the last page of the mapping, which nobody uses.
        (unsafe { libc::mprotect(guard, page, libc::PROT_NONE) } == 0).then_some(room)
    }

    /// Returns its start, for a plugin to write to.
    pub(super) fn start(&mut self) -> *mut u8 {
        self.start
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: as many bytes, which were zeros before somebody wrote to them; they live as long as `self`.
        unsafe { slice::from_raw_parts(self.start, PROCTOR_MESSAGE_LENGTH_MAX) }
    }

    pub(super) fn clear(&mut self) {
        // SAFETY: as many bytes, which nobody else has.
        unsafe { self.start.write_bytes(0, PROCTOR_MESSAGE_LENGTH_MAX) };
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        match self.pages {
            // SAFETY: the mapping was made by `guarded`, and nothing refers to it any more.
            Some((pages, size)) => _ = unsafe { libc::munmap(pages, size) },
            // SAFETY: the memory was taken with this layout, and nothing refers to it any more.
            None => unsafe { std::alloc::dealloc(self.start, ROOM) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_written_to_its_end_and_cleared() {
        let mut room = Room::new();
        assert_eq!(room.bytes(), [0; PROCTOR_MESSAGE_LENGTH_MAX]);
        // SAFETY: as many bytes as there are.
        unsafe { room.start().write_bytes(7, PROCTOR_MESSAGE_LENGTH_MAX) };
        assert_eq!(room.bytes(), [7; PROCTOR_MESSAGE_LENGTH_MAX]);
        room.clear();
        assert_eq!(room.bytes(), [0; PROCTOR_MESSAGE_LENGTH_MAX]);
    }

    #[cfg(not(miri))]
    #[test]
    fn nothing_can_be_written_behind_it() {
        let mut room = Room::new();
        let end = room.start().wrapping_add(PROCTOR_MESSAGE_LENGTH_MAX);
        let zero = std::fs::File::open("/dev/zero").unwrap();
        let file = std::os::fd::AsRawFd::as_raw_fd(&zero);
        // The system finds out, and does not crash for it.
        // SAFETY: the byte before the end is in the room, the one behind it is what is tried.
        let written = [end.wrapping_sub(1), end].map(|to| unsafe { libc::read(file, to.cast(), 1) });
        assert_eq!(written, [1, -1]);
    }
}
