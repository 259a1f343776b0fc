//! The call that each thread has made into a plugin, readable from a signal handler.
//!
//! Each backend, model and instance owns one [`Activity`], kept forever, so that it can be read at any time, also by
//! the parent of the program after its end. The thread that makes a call points a thread-local at it for the duration
//! of the call. All activities form a list that only grows, so that a report can also include the other threads' calls.

use std::{
    cell::Cell,
    ptr,
    sync::atomic::{AtomicPtr, AtomicU64, Ordering},
};

use crate::{
    call::Call,
    guard::shared::{Slot, keep, keep_text, seen},
};

/// The call that a backend, model or instance is in. Written by the calling thread, read by any. Threads do not share
/// the lines of the processor's cache that they write to.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Activity {
    plugin: &'static str,
    /// Number of the instance; `None` for a backend or a model.
    instance: Option<u32>,
    /// Number of the latest call, shifted by [`CODE_BITS`], and its code; a code of 0 if it has returned.
    call: AtomicU64,
    /// Index of the first sample of the current batch, plus one; 0 for none.
    sample: AtomicU64,
    /// The activity that was made before this one, or null. Never changes after publication.
    next: AtomicPtr<Activity>,
}

/// Room for the code of a call.
const CODE_BITS: u32 = 8;
const CODE_MASK: u64 = (1 << CODE_BITS) - 1;

/// Most recently created activity.
// SAFETY: no other slot has this index.
static NEWEST: Slot<Activity> = unsafe { Slot::new(0) };

/// Number of times that plugins have said that a long call makes progress.
static PROGRESS_COUNT: AtomicU64 = AtomicU64::new(0);

/// Notes that a plugin has said that a long call makes progress.
pub(crate) fn note_progress() {
    PROGRESS_COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of times that plugins have said that a long call makes progress ([`ProctorHost::progress`]).
///
/// [`ProctorHost::progress`]: proctor_plugin_api::abi::ProctorHost::progress
pub fn progress_count() -> u64 {
    PROGRESS_COUNT.load(Ordering::Relaxed)
}

thread_local! {
    /// The activity of this thread, or null. Has a constant start value and no destructor, so that reading it in a
    /// signal handler neither allocates nor registers anything.
    static CURRENT: Cell<*const Activity> = const { Cell::new(ptr::null()) };
}

impl Activity {
    /// Creates an activity that lives forever. `plugin` is the name, or the path until the name is known.
    pub(crate) fn new(plugin: &str, instance: Option<u32>) -> &'static Self {
        let activity = keep(Self {
            plugin: keep_text(plugin),
            instance,
            call: AtomicU64::new(0),
            sample: AtomicU64::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        });
        NEWEST.push(activity, &activity.next);
        activity
    }

    pub(crate) fn plugin(&self) -> &'static str {
        self.plugin
    }

    /// Returns the number of the instance, if it is one.
    pub(crate) fn instance(&self) -> Option<u32> {
        self.instance
    }

    pub(crate) fn call(&self) -> Option<Call> {
        self.numbered_call().1
    }

    /// Returns the number of the latest call, and the call itself unless it has returned.
    fn numbered_call(&self) -> (u64, Option<Call>) {
        let packed = self.call.load(Ordering::Relaxed);
        // The mask leaves eight bits.
        (packed >> CODE_BITS, Call::from_code((packed & CODE_MASK) as u32))
    }

    pub(crate) fn first_sample(&self) -> Option<u64> {
        self.sample.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Notes the first sample of the batch that the next calls are about.
    pub(crate) fn set_first_sample(&self, index: u64) {
        self.sample.store(index.saturating_add(1), Ordering::Relaxed);
    }

    /// Notes that this thread begins the call.
    #[inline]
    pub(super) fn enter(&'static self, call: Call) {
        // Not one atomic step: an object has one call at a time. A flush, which overlaps other calls, has its own.
        let number = (self.call.load(Ordering::Relaxed) >> CODE_BITS) + 1;
        self.call.store(number << CODE_BITS | u64::from(call.code()), Ordering::Relaxed);
        CURRENT.set(self);
    }

    /// Notes that the call of this thread has returned.
    #[inline]
    pub(super) fn leave(&'static self) {
        CURRENT.set(ptr::null());
        let number = self.call.load(Ordering::Relaxed) & !CODE_MASK;
        self.call.store(number, Ordering::Relaxed);
    }

    /// Returns the activity of this thread. Safe in a signal handler.
    pub(crate) fn current() -> Option<&'static Self> {
        let current = CURRENT.get();
        // SAFETY: `CURRENT` is null or was set from a `&'static Activity` in `enter`.
        unsafe { current.as_ref() }
    }

    /// Returns whether there is one: a plugin has begun to load. Safe in a signal handler, and in the parent.
    pub(super) fn is_any() -> bool {
        NEWEST.is_filled()
    }

    /// Returns all activities, youngest first. Safe in a signal handler.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        std::iter::successors(NEWEST.get(), |activity: &&'static Self| {
            // SAFETY: `next` is null or an earlier activity, which lives for ever.
            unsafe { seen(activity.next.load(Ordering::Relaxed)) }
        })
    }
}

/// A call into a plugin that has not returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallUnderWay {
    /// Name of the plugin, or the path of its library until the name is known.
    pub plugin: &'static str,
    /// Call in progress.
    pub call: Call,
    /// Number of the instance; `None` for a backend or a model.
    pub instance: Option<u32>,
    /// Number of the call among the calls of its backend, model or instance: it distinguishes calls of one kind.
    pub number: u64,
}

/// Returns all calls into plugins that have not returned at this moment, the youngest objects first.
pub fn calls_under_way() -> impl Iterator<Item = CallUnderWay> {
    Activity::all().filter_map(|activity| {
        let (number, call) = activity.numbered_call();
        Some(CallUnderWay { plugin: activity.plugin(), call: call?, instance: activity.instance(), number })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_shows_while_it_lasts() {
        let activity = Activity::new("activity-test", Some(3));
        activity.set_first_sample(7);
        let mine = || calls_under_way().filter(|call| call.plugin == "activity-test").collect::<Vec<_>>();
        assert!(mine().is_empty());
        let expected =
            CallUnderWay { plugin: "activity-test", call: Call::Execute, instance: Some(3), number: 1 };
        activity.during(Call::Execute, || {
            assert_eq!(mine(), [expected]);
            assert_eq!(activity.first_sample(), Some(7));
            assert!(ptr::eq(Activity::current().unwrap(), activity));
        });
        assert!(mine().is_empty());
        assert!(Activity::current().is_none() && Activity::is_any());
        activity.during(Call::Execute, || assert_eq!(mine(), [CallUnderWay { number: 2, ..expected }]));
    }
}
