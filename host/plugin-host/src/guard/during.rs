//! A call into a plugin, noted for as long as it lasts.

use crate::{
    call::Call,
    guard::{
        activity::Activity,
        crash, process,
        thread_state::{ThreadState, is_guarded},
    },
};

impl Activity {
    /// As [`during`](Self::during), but as a part of the call that this thread may be in: of a plugin that calls the
    /// host from there.
    pub(crate) fn within<R>(&'static self, call: Call, invoke: impl FnOnce() -> R) -> R {
        if Self::current().is_some() { invoke() } else { self.during(call, invoke) }
    }

    /// Makes the call, which is noted as going on until it returns. Then the calling thread is put back as it was.
    ///
    /// An exception of the plugin unwinds the host until something aborts, and the call stays noted. The first of the
    /// host's destructors that calls the plugin on the way ends the process. So does a copy of the process that comes
    /// back.
    #[inline]
    pub(crate) fn during<R>(&'static self, call: Call, invoke: impl FnOnce() -> R) -> R {
        // No call is made inside another one.
        if Self::current().is_some() {
            crash::end_by_exception();
        }
        let state = is_guarded(call).then(ThreadState::read);
        self.enter(call);
        let result = invoke();
        if process::is_fork() {
            process::end_fork(self);
        }
        if let Some(state) = state {
            state.put_back(self.plugin(), call);
        }
        self.leave();
        result
    }
}
