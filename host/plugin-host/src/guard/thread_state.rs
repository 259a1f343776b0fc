//! Saves the state of the calling thread that a plugin may change in a call: its processors, its
//! floating-point arithmetic, the signals that it blocks, and the working folder and the permissions of new
//! files, which belong to the whole process.
//!
//! A vendor's library may pin the first thread that it sees to one processor, or have small numbers flushed
//! to zero; but the host's later work on the same thread is about other things: percentiles, the placement of
//! instances, the files of a run. So the state is restored after each untimed call, and after the last query,
//! and the user is warned.

use std::{
    env, mem,
    path::PathBuf,
    ptr,
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, ThreadId},
};

use parking_lot::Mutex;

use crate::{
    call::Call,
    guard::changes::{ProcessPart, note},
};

/// Returns whether the state is examined around this call: not in the timed part, nor on a thread that ends with the
/// call; nor under Miri, which has no such state.
pub(super) fn is_guarded(call: Call) -> bool {
    // The thread of an instance is the plugin's to set.
    let is_hook = matches!(call, Call::BeginThread | Call::EndThread);
    !call.is_timed()
        && !is_hook
        && !matches!(call, Call::LendOutput | Call::ReleaseOutput | Call::Flush)
        && !cfg!(miri)
}

/// State of the calling thread before a call. State that the system does not report is `None`, and is not restored.
pub(super) struct ThreadState {
    processors: Option<libc::cpu_set_t>,
    arithmetic: Option<u64>,
    signals: Option<libc::sigset_t>,
    folder: Option<PathBuf>,
}

/// Number of callers that have several threads call plugins at the same time. One of them may see another's change of
/// the working folder for as long as a call lasts; so the folder is checked before and after all of them.
static FOLDER_SHARERS: AtomicUsize = AtomicUsize::new(0);

/// One of the callers, for as long as this lives.
struct FolderShared;

impl FolderShared {
    fn begin() -> Self {
        FOLDER_SHARERS.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for FolderShared {
    fn drop(&mut self) {
        FOLDER_SHARERS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Lets several threads make calls of this kind at the same time. Then the calling thread, and with it the
/// working folder, is restored.
pub(crate) fn at_the_same_time<R>(plugin: &'static str, call: Call, make: impl FnOnce() -> R) -> R {
    let state = is_guarded(call).then(ThreadState::read);
    let shared = FolderShared::begin();
    let made = make();
    drop(shared);
    if let Some(state) = state {
        state.put_back(plugin, call);
    }
    made
}

impl ThreadState {
    #[cold]
    pub(super) fn read() -> Box<Self> {
        let is_folder_shared = FOLDER_SHARERS.load(Ordering::SeqCst) > 0;
        if put_mask_back() {
            tracing::warn!(
                "a plugin changed {} in the timed part; the host has put it back",
                ProcessPart::Mask
            );
        }
        Box::new(Self {
            processors: processors(),
            arithmetic: arithmetic(),
            signals: signals(),
            folder: if is_folder_shared { None } else { env::current_dir().ok() },
        })
    }

    /// Restores changed state, and warns the user once that the plugin changed it in this call.
    #[cold]
    pub(super) fn put_back(&self, plugin: &'static str, call: Call) {
        for part in self.restore() {
            if note(plugin, call, part) {
                tracing::warn!("plugin {plugin} changed {part} in {call}; the host has put it back");
            }
        }
    }

    /// Restores changed state, and returns the changed parts.
    fn restore(&self) -> Vec<ProcessPart> {
        let mut changed = Vec::new();
        if let (Some(before), Some(now)) = (&self.processors, processors())
            // SAFETY: compares two live sets.
            && !unsafe { libc::CPU_EQUAL(before, &now) }
        {
            // SAFETY: reads a live set of this size; 0 is the calling thread.
            unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), before) };
            changed.push(ProcessPart::Processors);
        }
        if let Some(before) = self.arithmetic.filter(|before| arithmetic() != Some(*before)) {
            set_arithmetic(before);
            changed.push(ProcessPart::Arithmetic);
        }
        if let (Some(before), Some(now)) = (&self.signals, signals())
            && !are_equal(before, &now)
        {
            // SAFETY: reads a live set.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
            changed.push(ProcessPart::Signals);
        }
        if let Some(before) = &self.folder
            && env::current_dir().ok().as_ref() != Some(before)
            // A folder that is gone cannot be gone back to, and nothing depends on it.
            && env::set_current_dir(before).is_ok()
        {
            changed.push(ProcessPart::Folder);
        }
        if put_mask_back() {
            changed.push(ProcessPart::Mask);
        }
        changed
    }
}

/// The state of the thread that starts the timed part. If it issues the queries itself, a plugin may change it in
/// [`Call::Issue`], and the figures of the test include the consequences.
#[derive(Default)]
pub(crate) struct StateAtStart(Mutex<Option<(ThreadId, Box<ThreadState>)>>);

impl StateAtStart {
    /// Notes the state of the calling thread.
    pub(crate) fn note(&self) {
        if !cfg!(miri) {
            *self.0.lock() = Some((thread::current().id(), ThreadState::read()));
        }
    }

    /// Restores the calling thread, if it is the saved one: the others end after issuing.
    pub(crate) fn put_back(&self, plugin: &'static str) {
        if let Some((thread, state)) = &*self.0.lock()
            && *thread == thread::current().id()
        {
            state.put_back(plugin, Call::Issue);
        }
    }
}

/// The permissions that new files of the process do not get. Read before a plugin is loaded; the host changes it never.
static MASK: LazyLock<libc::mode_t> = LazyLock::new(|| {
    // It can be read only by setting another one: a mask with which no other user may read a file created meanwhile.
    // SAFETY: sets a number that cannot be wrong.
    let mask = unsafe { libc::umask(0o077) };
    // SAFETY: as above.
    unsafe { libc::umask(mask) };
    mask
});

/// Restores the mask of new files, and returns whether it had changed.
fn put_mask_back() -> bool {
    let mask = *MASK;
    // SAFETY: sets a number that cannot be wrong.
    unsafe { libc::umask(mask) != mask }
}

/// `None` also if there are more processors than a set has room for.
fn processors() -> Option<libc::cpu_set_t> {
    // SAFETY: all-zero bytes are the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: writes a live set of this size; 0 is the calling thread.
    let read = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    (read == 0).then_some(set)
}

fn signals() -> Option<libc::sigset_t> {
    // SAFETY: all-zero bytes are the empty set.
    let mut set: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: changes nothing, as there is no new set, and writes a live one.
    let read = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut set) };
    (read == 0).then_some(set)
}

fn are_equal(one: &libc::sigset_t, other: &libc::sigset_t) -> bool {
    // SAFETY: reads live sets; a number that is no signal is an error, which is the same for both.
    (1..=64).all(|signal| unsafe { libc::sigismember(one, signal) == libc::sigismember(other, signal) })
}

/// The control bits of MXCSR: rounding, flushing and masks, without the flags that any computation sets.
#[cfg(target_arch = "x86_64")]
const MXCSR_CONTROL: u32 = 0xffc0;

#[cfg(target_arch = "x86_64")]
fn mxcsr() -> u32 {
    let mut value = 0_u32;
    // SAFETY: writes the register's 32 bits to `value`.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
    value
}

#[cfg(target_arch = "x86_64")]
fn arithmetic() -> Option<u64> {
    Some(u64::from(mxcsr() & MXCSR_CONTROL))
}

#[cfg(target_arch = "x86_64")]
fn set_arithmetic(control: u64) {
    let value = u32::try_from(control).map_or(MXCSR_CONTROL, |control| control & MXCSR_CONTROL);
    // SAFETY: reads the 32 bits of `value`, whose control bits were read from the register before, so that they are
    // allowed; the bits above are zero as they have to be.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
fn arithmetic() -> Option<u64> {
    let value: u64;
    // SAFETY: reads a register that every thread may read.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
    Some(value)
}

#[cfg(target_arch = "aarch64")]
fn set_arithmetic(control: u64) {
    // SAFETY: writes what was read from the register before.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) control, options(nomem, nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn arithmetic() -> Option<u64> {
    None
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn set_arithmetic(_control: u64) {}

#[cfg(all(test, not(miri)))]
mod tests {
    use proctor_test_needs::skip_without_hardware;

    use super::*;

    /// On a thread of its own, whose state may be changed.
    fn changed_by(change: impl FnOnce() + Send + 'static) -> Vec<ProcessPart> {
        let thread = thread::spawn(move || {
            let state = ThreadState::read();
            change();
            let changed = state.restore();
            assert_eq!(state.restore(), [], "it was put back");
            changed
        });
        thread.join().expect("the thread does not panic")
    }

    #[test]
    fn what_is_left_as_it_was_is_not_told() {
        assert_eq!(changed_by(|| ()), []);
        // Flags of the last computation are no setting.
        assert_eq!(changed_by(|| _ = std::hint::black_box(1.0_f32) / std::hint::black_box(3.0)), []);
    }

    #[test]
    fn signals_that_are_blocked_are_let_through_again() {
        let block = || {
            let mut set = signals().unwrap();
            // SAFETY: live sets and a valid signal.
            unsafe {
                libc::sigaddset(&raw mut set, libc::SIGUSR2);
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, ptr::null_mut());
            }
        };
        assert_eq!(changed_by(block), [ProcessPart::Signals]);
    }

    #[test]
    fn files_get_their_permissions_again() {
        // SAFETY: sets a number; no other test of this program makes files that need more permissions.
        assert_eq!(changed_by(|| _ = unsafe { libc::umask(0o277) }), [ProcessPart::Mask]);
    }

    #[test]
    fn a_thread_that_is_held_to_a_processor_is_let_go() {
        if thread::available_parallelism().unwrap().get() < 2 {
            return skip_without_hardware("a second processor");
        }
        let hold = || {
            let allowed = processors().unwrap();
            // SAFETY: all-zero bytes are the empty set; the sets are live.
            unsafe {
                let mut one: libc::cpu_set_t = mem::zeroed();
                let first = (0..1024).find(|cpu| libc::CPU_ISSET(*cpu, &allowed)).unwrap();
                libc::CPU_SET(first, &mut one);
                libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one);
            }
        };
        assert_eq!(changed_by(hold), [ProcessPart::Processors]);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn numbers_are_rounded_as_before() {
        // Flush to zero, and rounding towards zero.
        assert_eq!(changed_by(|| set_arithmetic(0x1f80 | 0x8000 | 0x6000)), [ProcessPart::Arithmetic]);
    }
}
