//! Shares memory between the program and its parent that outlives the program.
//!
//! [`parent`](super::parent) makes it before it makes the program. Its contents lie at the same address in
//! both. Without a parent everything here is ordinary memory of the program.

use std::{
    alloc::Layout,
    ffi::c_int,
    io,
    marker::PhantomData,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering},
};

/// Size of its address space, in bytes; only used pages take memory. An activity, which each instance of each
/// test has, takes 128.
const SIZE: usize = 16 << 20;

/// Number of pointers in it.
const SLOTS: usize = 4;

/// The beginning of the memory.
struct Block {
    /// Id of the program's process, shifted by 32, and its exit code; 0 until it ends on its own.
    end: AtomicU64,
    /// True if the program has reported why it ends.
    has_reported: AtomicBool,
    slots: [AtomicPtr<()>; SLOTS],
    /// Bytes that are taken, the block among them.
    used: AtomicUsize,
}

impl Block {
    const fn new() -> Self {
        Self {
            end: AtomicU64::new(0),
            has_reported: AtomicBool::new(false),
            slots: [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS],
            used: AtomicUsize::new(size_of::<Self>()),
        }
    }
}

/// Block of a program without a parent.
static OWN: Block = Block::new();

/// Block of a program with a parent, or null.
static SHARED: AtomicPtr<Block> = AtomicPtr::new(ptr::null_mut());

/// True in the parent, which sees no other part of the program's memory.
static IS_PARENT: AtomicBool = AtomicBool::new(false);

fn block() -> &'static Block {
    shared().unwrap_or(&OWN)
}

fn shared() -> Option<&'static Block> {
    // SAFETY: null, or what `map` has made, which is never unmapped.
    unsafe { SHARED.load(Ordering::Acquire).as_ref() }
}

/// Allocates memory that a copy of the process will share. To be called by a process of one thread, once.
///
/// # Errors
/// If the system has no memory.
pub(super) fn map() -> io::Result<()> {
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: new memory at any address, of no file.
    let start = unsafe { libc::mmap(ptr::null_mut(), SIZE, access, kind, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let block = start.cast::<Block>();
    // SAFETY: the start of a page is aligned for it, there is room, and nobody else knows of it yet.
    unsafe { block.write(Block::new()) };
    SHARED.store(block, Ordering::Release);
    Ok(())
}

/// Records that this process is the parent.
pub(super) fn become_parent() {
    IS_PARENT.store(true, Ordering::Relaxed);
}

/// Returns whether this process is the parent.
pub(super) fn is_parent() -> bool {
    IS_PARENT.load(Ordering::Relaxed)
}

/// Records the exit code just before the program ends on its own. Async-signal-safe.
pub(super) fn note_end(code: c_int) {
    let Some(block) = shared() else { return };
    block.end.store(end_of(own_id(), code), Ordering::SeqCst);
}

/// Returns whether this process, and not a copy of it, has reported that it ends with this code.
pub(super) fn has_noted_end(process: libc::pid_t, code: c_int) -> bool {
    block().end.load(Ordering::SeqCst) == end_of(process, code)
}

fn end_of(process: libc::pid_t, code: c_int) -> u64 {
    // Only the lowest eight bits of a code reach anybody.
    u64::from(process.cast_unsigned()) << 32 | u64::from((code & 0xff).cast_unsigned())
}

/// Returns the id of this process. Async-signal-safe.
pub(super) fn own_id() -> libc::pid_t {
    // SAFETY: has no arguments and is async-signal-safe.
    unsafe { libc::getpid() }
}

/// Records that the program has reported why it ends. Async-signal-safe.
pub(super) fn note_report() {
    block().has_reported.store(true, Ordering::SeqCst);
}

/// Returns whether the program has reported why it ends.
pub(super) fn has_reported() -> bool {
    block().has_reported.load(Ordering::SeqCst)
}

/// A pointer in this memory, to a value that [`keep`] has made, or to none.
pub(super) struct Slot<T> {
    index: usize,
    of: PhantomData<fn() -> T>,
}

impl<T: Sync + 'static> Slot<T> {
    /// # Safety
    /// No other slot has this index.
    pub(super) const unsafe fn new(index: usize) -> Self {
        assert!(index < SLOTS, "there are no more");
        Self { index, of: PhantomData }
    }

    fn place(&self) -> &'static AtomicPtr<()> {
        &block().slots[self.index]
    }

    /// Returns the value. Async-signal-safe, as is all of this.
    pub(super) fn get(&self) -> Option<&'static T> {
        // SAFETY: only `set` and `push` fill this slot, with values of this type that live for ever.
        unsafe { seen(self.place().load(Ordering::Acquire).cast::<T>()) }
    }

    /// Returns whether there is a value, also one that the parent does not see.
    pub(super) fn is_filled(&self) -> bool {
        !self.place().load(Ordering::Acquire).is_null()
    }

    /// Puts a value in, or none. The old value lives on: another thread may be reading it.
    pub(super) fn set(&self, value: Option<&'static T>) {
        // Release: a thread that sees the pointer sees the value.
        self.place().store(address_of(value), Ordering::Release);
    }

    /// Removes the value.
    pub(super) fn take(&self) -> Option<&'static T> {
        // SAFETY: as in `get`.
        unsafe { seen(self.place().swap(ptr::null_mut(), Ordering::AcqRel).cast::<T>()) }
    }

    /// Puts a value in whose `next` is the previous one.
    pub(super) fn push(&self, value: &'static T, next: &AtomicPtr<T>) {
        let mut before = self.place().load(Ordering::Acquire);
        loop {
            next.store(before.cast(), Ordering::Relaxed);
            let pushed = self.place().compare_exchange(
                before,
                address_of(Some(value)),
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            match pushed {
                Ok(_) => return,
                Err(newer) => before = newer,
            }
        }
    }
}

fn address_of<T>(value: Option<&'static T>) -> *mut () {
    value.map_or(ptr::null_mut(), |value| ptr::from_ref(value).cast_mut().cast())
}

/// Returns the value at an address; `None` for null, and in the parent for memory that it does not see.
///
/// # Safety
/// The address is null, or of a value of this type that lives for ever.
pub(super) unsafe fn seen<T>(address: *const T) -> Option<&'static T> {
    let place = address.addr().wrapping_sub(SHARED.load(Ordering::Acquire).addr());
    if is_parent() && place.saturating_add(size_of::<T>()) > SIZE {
        return None;
    }
    // SAFETY: the caller's promise; in the parent the value lies in the memory that both have.
    unsafe { address.as_ref() }
}

/// Keeps a value forever, visible to the parent, if there is one and as long as there is room. Values that it refers to
/// are kept in the same way.
pub(super) fn keep<T: Sync + 'static>(value: T) -> &'static T {
    let Some(room) = room(Layout::new::<T>()) else { return Box::leak(Box::new(value)) };
    let room = room.cast::<T>();
    // SAFETY: aligned room of this size, which nobody else has and which is never unmapped.
    unsafe {
        room.write(value);
        &*room
    }
}

/// Keeps bytes in the same way.
pub(super) fn keep_bytes(bytes: &[u8]) -> &'static [u8] {
    let Some(room) = Layout::array::<u8>(bytes.len()).ok().and_then(room) else {
        return Box::leak(Box::from(bytes));
    };
    // SAFETY: room of this size, which nobody else has and which is never unmapped.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), room, bytes.len());
        std::slice::from_raw_parts(room, bytes.len())
    }
}

/// Keeps a text in the same way.
pub(super) fn keep_text(text: &str) -> &'static str {
    str::from_utf8(keep_bytes(text.as_bytes())).unwrap_or_default()
}

/// Returns room in the memory that both have.
fn room(layout: Layout) -> Option<*mut u8> {
    let start = SHARED.load(Ordering::Acquire).cast::<u8>();
    let place = |used: usize| used.checked_next_multiple_of(layout.align());
    let end = |used| place(used)?.checked_add(layout.size()).filter(|end| *end <= SIZE);
    let block = shared()?;
    let Ok(used) = block.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end) else {
        // Nothing that comes later may fit: it could refer to this, which the parent does not see.
        block.used.store(SIZE, Ordering::Relaxed);
        return None;
    };
    // SAFETY: the place and as many bytes behind it are within the mapping, as just checked.
    Some(unsafe { start.add(place(used)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_parent_what_is_kept_is_memory_of_the_program() {
        let number = keep(7_u64);
        assert_eq!((*number, keep_text("nine")), (7, "nine"));
        // SAFETY: the value was just kept.
        assert_eq!(unsafe { seen(number) }, Some(&7));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { seen::<u64>(ptr::null()) }, None);
    }

    #[test]
    fn the_end_of_another_process_is_not_that_of_the_program() {
        assert_ne!(end_of(7, 0), end_of(8, 0));
        assert_ne!(end_of(7, 0), end_of(7, 1));
        assert_eq!(end_of(7, 256 + 70), end_of(7, 70));
        assert_ne!(end_of(7, 0), 0, "it is told from no end");
    }
}
