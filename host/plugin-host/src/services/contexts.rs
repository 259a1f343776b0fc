//! The contexts of all host tables. A plugin returns the one of its table with each call; only its address identifies
//! it, since memory at any other cannot be read.

use std::{
    ffi::c_void,
    iter, ptr,
    sync::{
        OnceLock,
        atomic::{AtomicPtr, Ordering},
    },
};

use crate::{
    guard::activity::Activity,
    services::{context::HostContext, faults::PluginFault},
};

/// A context, and the one that was made after it. For ever, as a plugin's threads may call to the end of the process.
struct Known {
    context: &'static HostContext,
    next: OnceLock<&'static Known>,
}

static FIRST: OnceLock<&'static Known> = OnceLock::new();
/// The context that was found last: nearly always the one that is looked for next. Null before.
static LAST_FOUND: AtomicPtr<HostContext> = AtomicPtr::new(ptr::null_mut());

/// Adds the context of a new table.
pub(super) fn add(context: &'static HostContext) {
    let added: &'static Known = Box::leak(Box::new(Known { context, next: OnceLock::new() }));
    let mut known: &'static Known = FIRST.get_or_init(|| added);
    while !ptr::eq(known, added) {
        known = known.next.get_or_init(|| added);
    }
}

/// Returns all contexts, in creation order. Takes no lock.
fn all() -> impl Iterator<Item = &'static HostContext> {
    let next = |known: &&'static Known| known.next.get().copied();
    iter::successors(FIRST.get().copied(), next).map(|known| known.context)
}

/// Returns the context that has this address.
#[inline]
pub(super) fn find(address: *const c_void) -> Option<&'static HostContext> {
    // Acquire: a thread that sees the pointer sees the context.
    let last = LAST_FOUND.load(Ordering::Acquire);
    if !last.is_null() && ptr::addr_eq(last, address) {
        // SAFETY: not null, so that `find_among_all` has set it from a `&'static HostContext`.
        return Some(unsafe { &*last });
    }
    find_among_all(address)
}

#[cold]
fn find_among_all(address: *const c_void) -> Option<&'static HostContext> {
    let found = all().find(|context| ptr::addr_eq(ptr::from_ref(*context), address))?;
    LAST_FOUND.store(ptr::from_ref(found).cast_mut(), Ordering::Release);
    Some(found)
}

/// Records that a service was called with an invalid context. That is a fault of the plugin whose call this thread is
/// in or, on a thread of a plugin's own, of the one that was opened first: others are for additional measurements.
#[cold]
pub(super) fn record_stray(service: &str, is_null: bool) {
    let current = Activity::current().map(Activity::plugin);
    let newest = all().filter(|context| Some(context.plugin) == current).last();
    let Some(blamed) = newest.or_else(|| all().next()) else { return };
    blamed.faults.record(|| PluginFault::Context {
        plugin: blamed.plugin.to_owned(),
        service: service.to_owned(),
        is_null,
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{call::Call, services::context::HostServices};

    #[test]
    fn a_context_is_known_by_its_address_and_a_stray_call_is_of_the_plugin_that_is_called() {
        let context = |plugin| {
            let services = HostServices { now_ns: Arc::new(|| 0), cache_folder: None };
            let context: &'static HostContext = Box::leak(Box::new(HostContext::new(plugin, services)));
            add(context);
            context
        };
        let (first, second) = (context("contexts-test-1"), context("contexts-test-2"));
        for context in [first, second] {
            let address = ptr::from_ref(context).cast();
            assert!(find(address).is_some_and(|found| ptr::eq(found, context)));
            assert!(find(address.wrapping_byte_add(1)).is_none());
        }
        assert!(find(ptr::null()).is_none());
        let activity = Activity::new("contexts-test-1", None);
        activity.during(Call::Execute, || record_stray("complete", true));
        let words: Vec<_> = first.faults.take().iter().map(ToString::to_string).collect();
        assert_eq!(
            words,
            [
                "plugin contexts-test-1: called complete with a context that is null, not that of its host's table"
            ]
        );
        assert!(second.faults.take().is_empty());
    }
}
