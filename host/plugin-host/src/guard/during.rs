//! A call into a plugin, noted for as long as it lasts, which no exception leaves.

use std::{hint::black_box, mem, thread};

use crate::{
    call::Call,
    guard::{
        activity::Activity,
        crash, process, report_file,
        thread_state::{ThreadState, is_guarded},
    },
};

impl Activity {
    /// Does the same as [`during`](Self::during), but as a part of the call that this thread may be in: of a
    /// plugin that calls the host from there.
    pub(crate) fn within<R>(&'static self, call: Call, invoke: impl FnOnce() -> R) -> R {
        if Self::current().is_some() { invoke() } else { self.during(call, invoke) }
    }

    /// Makes the call, which counts as in progress until it returns. Then the calling thread is restored.
    ///
    /// An exception of the plugin ends the process, and so does a copy of the process that comes back.
    #[inline]
    pub(crate) fn during<R>(&'static self, call: Call, invoke: impl FnOnce() -> R) -> R {
        // No call is made inside another one, unless by a destructor on the way of an exception of a timed call.
        if Self::current().is_some() {
            crash::end_by_exception();
        }
        let state = is_guarded(call).then(ThreadState::read);
        self.enter(call);
        if state.is_some() {
            report_file::note_call(self);
        }
        // Nothing of a plugin runs where an output is lent.
        let is_bare = call.is_timed() || call == Call::LendOutput;
        let result = if is_bare { invoke() } else { end_at_exception(invoke) };
        if process::is_fork() {
            process::end_fork(self);
        }
        if let Some(state) = state {
            state.put_back(self.plugin(), call);
            report_file::forget_call();
        }
        self.leave();
        result
    }
}

/// Ends the process if an exception of the plugin leaves `invoke`, before anything of the host unwinds.
///
/// The functions of the ABI may not unwind, so a call of one has no landing pad that an exception would find; the
/// exception continues to the caller's caller. That is here, through a pointer that the compiler cannot see through.
fn end_at_exception<R, F: FnOnce() -> R>(invoke: F) -> R {
    let call: fn(F) -> R = black_box(call_once::<R, F>);
    let end = EndAtException;
    let result = call(invoke);
    mem::forget(end);
    result
}

fn call_once<R, F: FnOnce() -> R>(invoke: F) -> R {
    invoke()
}

struct EndAtException;

impl Drop for EndAtException {
    fn drop(&mut self) {
        // A panic of the host's own is no exception of the plugin.
        if !thread::panicking() {
            crash::end_by_exception();
        }
    }
}
