//! Memory that two processes share.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    ptr::{self, NonNull},
    slice,
    sync::atomic::{AtomicU32, AtomicU64},
};

use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create},
    mm::{MapFlags, ProtFlags, mmap, munmap},
};

/// Size of a page, to which memory is aligned and rounded up.
pub const PAGE: usize = 4096;

/// Memory that both processes read and write. The other one may write at any time, so it is read and written through
/// copies and atomics alone.
#[derive(Debug)]
pub struct SharedMemory {
    map: Map,
    file: OwnedFd,
}

/// Memory of samples that the other process has filled and sealed against writes.
#[derive(Debug)]
pub struct SealedMemory(Map);

/// A mapping, unmapped when it is dropped.
#[derive(Debug)]
struct Map {
    start: NonNull<u8>,
    size_bytes: usize,
}

// SAFETY: addresses of memory that stays mapped until the value is dropped, on whichever thread.
unsafe impl Send for Map {}
// SAFETY: what it gives out are an address and a size; whoever looks behind them says how.
unsafe impl Sync for Map {}

impl Map {
    fn new(file: BorrowedFd<'_>, size_bytes: usize, access: ProtFlags) -> io::Result<Self> {
        // SAFETY: a new mapping at an address that the system chooses, which meets no other memory.
        let start = unsafe { mmap(ptr::null_mut(), size_bytes, access, MapFlags::SHARED, file, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, size_bytes })
    }

    /// Returns the address of `size` bytes at `offset`.
    ///
    /// # Panics
    /// If they lie outside the memory, or if `offset` is not aligned for a number of this size.
    fn place(&self, offset: usize, size: usize) -> *mut u8 {
        let fits = offset.checked_add(size).is_some_and(|end| end <= self.size_bytes);
        assert!(fits, "{size} bytes at {offset} lie beyond {} bytes of shared memory", self.size_bytes);
        // SAFETY: within the mapping, as was just checked.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this size, and this value alone gives out what lies in it, for no longer
        // than it lives. An error would leave it mapped.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.size_bytes) };
    }
}

impl SharedMemory {
    /// Creates new memory of zeros, of at least `size_bytes`, in whole pages.
    ///
    /// # Errors
    /// If there is not as much.
    pub fn new(size_bytes: usize) -> io::Result<Self> {
        let whole = size_bytes.max(1).checked_next_multiple_of(PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let file = memfd_create("proctor", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, u64::try_from(whole).map_err(io::Error::other)?)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)?;
        let map = Map::new(file.as_fd(), whole, ProtFlags::READ | ProtFlags::WRITE)?;
        Ok(Self { map, file })
    }

    /// Opens the shared memory behind a descriptor that the other process has sent.
    ///
    /// # Errors
    /// If the descriptor is not shared memory, or could shrink.
    pub fn open(file: OwnedFd) -> io::Result<Self> {
        let size_bytes = checked_size(&file, SealFlags::SHRINK)?;
        let map = Map::new(file.as_fd(), size_bytes, ProtFlags::READ | ProtFlags::WRITE)?;
        Ok(Self { map, file })
    }

    /// Prevents new writable mappings; existing ones stay writable.
    ///
    /// # Errors
    /// If the system does not support it: it is older than Linux 5.1.
    pub fn seal(&self) -> io::Result<()> {
        let is_sealed = fcntl_get_seals(&self.file)?.contains(SealFlags::FUTURE_WRITE);
        let seal = SealFlags::FUTURE_WRITE | SealFlags::SEAL;
        if !is_sealed {
            fcntl_add_seals(&self.file, seal)?;
        }
        Ok(())
    }

    /// Returns the descriptor, to be sent to the other process.
    #[must_use]
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.map.size_bytes
    }

    /// Returns the first byte, for memory that this process alone writes.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.map.start.as_ptr()
    }

    /// Copies bytes out of it.
    ///
    /// # Panics
    /// If they lie beyond it.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        let from = self.map.place(offset, into.len());
        let whole = into.len() / 8 * 8;
        if from.addr().is_multiple_of(8) {
            for (word, place) in into[..whole].chunks_exact_mut(8).enumerate() {
                // SAFETY: within the memory, as `place` has checked, and aligned as was just checked. The other process
                // may be writing: that is what volatile reads are for, and any bits are a number.
                let value = unsafe { from.cast::<u64>().add(word).read_volatile() };
                place.copy_from_slice(&value.to_ne_bytes());
            }
        }
        let rest = if from.addr().is_multiple_of(8) { whole } else { 0 };
        for (position, place) in into.iter_mut().enumerate().skip(rest) {
            // SAFETY: as above, for single bytes.
            *place = unsafe { from.add(position).read_volatile() };
        }
    }

    /// Copies bytes into it.
    ///
    /// # Panics
    /// If there is no room for them.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let to = self.map.place(offset, bytes.len());
        // SAFETY: within the memory, as `place` has checked; no reference to it exists in this process, and `bytes` is
        // not in it. What the other process sees while it reads at the same time is its own affair.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// Returns a number of it that both processes use.
    ///
    /// # Panics
    /// If it lies beyond the memory or is not aligned.
    #[must_use]
    pub fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4), "a number at {offset} is not aligned");
        // SAFETY: within the memory as `place` checks, aligned as was just checked, and mapped as long as `self` lives.
        // Both processes use it as an atomic.
        unsafe { AtomicU32::from_ptr(self.map.place(offset, 4).cast()) }
    }

    /// Returns a number of 64 bits that both processes use.
    ///
    /// # Panics
    /// If it lies beyond the memory or is not aligned.
    #[must_use]
    pub fn word64(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8), "a number at {offset} is not aligned");
        // SAFETY: within the memory as `place` checks, aligned as was just checked, and mapped as long as `self` lives.
        // Both processes use it as an atomic.
        unsafe { AtomicU64::from_ptr(self.map.place(offset, 8).cast()) }
    }
}

impl SealedMemory {
    /// Opens the shared memory behind a descriptor that the other process has sent, for reading.
    ///
    /// # Errors
    /// If the descriptor is not shared memory, or is not sealed.
    pub fn open(file: OwnedFd) -> io::Result<Self> {
        let size_bytes = checked_size(&file, SealFlags::SHRINK | SealFlags::FUTURE_WRITE)?;
        Ok(Self(Map::new(file.as_fd(), size_bytes, ProtFlags::READ)?))
    }

    /// Returns the bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for as long as `self` lives. It is sealed against new writers and becomes no smaller, as
        // `open` has checked, and the host, which made it, does not write to it after it has sent it.
        unsafe { slice::from_raw_parts(self.0.start.as_ptr(), self.0.size_bytes) }
    }
}

/// Returns the size of a memory file that has these seals.
fn checked_size(file: &OwnedFd, seals: SealFlags) -> io::Result<usize> {
    if !fcntl_get_seals(file)?.contains(seals) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "shared memory is not sealed as it should be",
        ));
    }
    usize::try_from(fstat(file)?.st_size).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    fn second(memory: &SharedMemory) -> OwnedFd {
        memory.file().try_clone_to_owned().unwrap()
    }

    #[test]
    fn what_one_side_writes_the_other_reads() {
        let one = SharedMemory::new(5000).unwrap();
        let other = SharedMemory::open(second(&one)).unwrap();
        assert_eq!((one.size_bytes(), other.size_bytes()), (8192, 8192));
        let bytes: Vec<u8> = (0..=200).collect();
        for offset in [0, 8, 4090, 8192 - 201] {
            one.write(offset, &bytes);
            let mut read = vec![0; bytes.len()];
            other.read(offset, &mut read);
            assert_eq!(read, bytes);
        }
        other.word(16).store(7, Relaxed);
        assert_eq!((one.word(16).load(Relaxed), one.word64(16).load(Relaxed) as u32), (7, 7));
    }

    #[test]
    fn sealed_memory_is_read_and_cannot_be_mapped_for_writing() {
        let samples = SharedMemory::new(1).unwrap();
        samples.write(0, b"inputs");
        assert!(SealedMemory::open(second(&samples)).is_err(), "it is not sealed yet");
        samples.seal().unwrap();
        samples.seal().unwrap();
        let sealed = SealedMemory::open(second(&samples)).unwrap();
        assert_eq!(&sealed.bytes()[..6], b"inputs");
        assert!(SharedMemory::open(second(&samples)).is_err(), "a plugin could write to it");
    }

    #[test]
    #[should_panic(expected = "8 bytes at 4092 lie beyond 4096 bytes of shared memory")]
    fn nothing_beyond_it_is_read() {
        SharedMemory::new(1).unwrap().read(4092, &mut [0; 8]);
    }
}
