//! The call that each thread has made into a plugin, readable from a signal handler.
//!
//! Each backend, model and instance owns one [`Activity`], leaked, so that it can be read at any time. The thread
//! that makes a call points a thread-local at it for the duration of the call. All activities form a list that only
//! grows, so that a report can also say what the other threads were doing.

use std::{
    cell::Cell,
    ptr,
    sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering},
};

use crate::call::Call;

/// The call that a backend, model or instance is in. Written by the calling thread, read by any.
#[derive(Debug)]
pub(crate) struct Activity {
    plugin: &'static str,
    /// Number of the instance; `None` for a backend or a model.
    instance: Option<u32>,
    /// Code of the current call; 0 for none.
    call: AtomicU32,
    /// Index of the first sample of the current batch, plus one; 0 for none.
    sample: AtomicU64,
    /// The activity that was made before this one, or null. Never changes after publication.
    next: AtomicPtr<Activity>,
}

/// The youngest activity, or null.
static NEWEST: AtomicPtr<Activity> = AtomicPtr::new(ptr::null_mut());

thread_local! {
    /// The activity of this thread, or null. Has a constant start value and no destructor, so that reading it in a
    /// signal handler neither allocates nor registers anything.
    static CURRENT: Cell<*const Activity> = const { Cell::new(ptr::null()) };
}

impl Activity {
    /// Makes an activity that lives for ever. `plugin` is the name, or the path until the name is known.
    pub(crate) fn new(plugin: &str, instance: Option<u32>) -> &'static Self {
        let activity: &'static Self = Box::leak(Box::new(Self {
            plugin: Box::leak(plugin.to_owned().into_boxed_str()),
            instance,
            call: AtomicU32::new(0),
            sample: AtomicU64::new(0),
            next: AtomicPtr::new(NEWEST.load(Ordering::Acquire)),
        }));
        let this = ptr::from_ref(activity).cast_mut();
        // Release: a thread that sees the pointer sees the fields. On failure the newest one becomes our successor.
        while let Err(newest) = NEWEST.compare_exchange(
            activity.next.load(Ordering::Relaxed),
            this,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            activity.next.store(newest, Ordering::Relaxed);
        }
        activity
    }

    /// Name of the plugin.
    pub(crate) fn plugin(&self) -> &'static str {
        self.plugin
    }

    /// Number of the instance, if it is one.
    pub(crate) fn instance(&self) -> Option<u32> {
        self.instance
    }

    /// The current call.
    pub(crate) fn call(&self) -> Option<Call> {
        Call::from_code(self.call.load(Ordering::Relaxed))
    }

    /// Index of the first sample of the current batch.
    pub(crate) fn first_sample(&self) -> Option<u64> {
        self.sample.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Notes the first sample of the batch that the next calls are about.
    pub(crate) fn set_first_sample(&self, index: u64) {
        self.sample.store(index.saturating_add(1), Ordering::Relaxed);
    }

    /// Marks the call as going on until the scope is dropped.
    pub(crate) fn enter(&'static self, call: Call) -> Scope {
        self.call.store(call.code(), Ordering::Relaxed);
        Scope { activity: self, before: CURRENT.replace(self) }
    }

    /// The activity of this thread. Safe in a signal handler.
    pub(crate) fn current() -> Option<&'static Self> {
        let current = CURRENT.get();
        // SAFETY: `CURRENT` is null or was set from a `&'static Activity` in `enter`.
        unsafe { current.as_ref() }
    }

    /// All activities, youngest first. Safe in a signal handler.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        // SAFETY: `NEWEST` is null or was set from a `&'static Activity` in `new`.
        let newest = unsafe { NEWEST.load(Ordering::Acquire).as_ref() };
        std::iter::successors(newest, |activity: &&'static Self| {
            // SAFETY: `next` is null or an earlier value of `NEWEST`, which is a `&'static Activity`.
            unsafe { activity.next.load(Ordering::Relaxed).as_ref() }
        })
    }
}

/// The duration of one call.
pub(crate) struct Scope {
    activity: &'static Activity,
    before: *const Activity,
}

impl Drop for Scope {
    fn drop(&mut self) {
        CURRENT.set(self.before);
        self.activity.call.store(0, Ordering::Relaxed);
    }
}

/// Says what the host is doing inside plugins at this moment, one line for each call that has not returned.
///
/// For the report of a hang: which plugin, call, instance and sample.
#[must_use]
pub fn activities() -> Vec<String> {
    let describe = |activity: &'static Activity| {
        let mut line = format!("plugin {}: in {}", activity.plugin(), activity.call()?);
        if let Some(instance) = activity.instance() {
            line += &format!(", instance {instance}");
            if let Some(sample) = activity.first_sample() {
                line += &format!(", batch that starts with sample {sample}");
            }
        }
        Some(line)
    };
    Activity::all().filter_map(describe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_shows_while_it_lasts() {
        let activity = Activity::new("activity-test", Some(3));
        activity.set_first_sample(7);
        let mine =
            || activities().into_iter().filter(|line| line.contains("activity-test")).collect::<Vec<_>>();
        assert!(mine().is_empty());
        let scope = activity.enter(Call::Execute);
        assert_eq!(mine(), ["plugin activity-test: in execute, instance 3, batch that starts with sample 7"]);
        assert!(ptr::eq(Activity::current().unwrap(), activity));
        drop(scope);
        assert!(mine().is_empty());
        assert!(Activity::current().is_none());
    }
}
