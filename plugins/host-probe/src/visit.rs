//! One call of the host, from its begin to its return.

use std::thread;

use proctor_plugin_api::{abi::*, versioned::read};

use crate::{
    call::Call,
    objects::{Backend, Instance, Model, Object, object},
    report::Report,
    services::write_message,
    state::{LiveInstance, LoadedModel, State, UnderWay},
};

/// A call that continues.
pub(crate) struct Visit {
    backend: &'static Backend,
    call: Call,
    instance: Option<&'static Instance>,
    report: Report,
    error: *mut ProctorError,
}

/// Returns room for a message.
///
/// # Safety
/// The host vouches for it, for the call.
pub(crate) unsafe fn expect_room(error: *mut ProctorError, report: &mut Report) {
    // SAFETY: the caller's promise.
    let Some(room) = report.value(unsafe { read(error.cast_const()) }) else { return };
    report.expect(!room.message.is_null() && room.capacity > 0, || {
        format!("the room for a message has {} bytes at {:p}", room.capacity, room.message)
    });
    report.expect(room.length == 0, || format!("ProctorError.length is {}, not 0", room.length));
}

impl Visit {
    /// Begins a call for a backend: for its model, and for an instance if one is given.
    ///
    /// # Safety
    /// The host vouches for `error` until the call returns.
    unsafe fn enter(
        backend: &'static Backend,
        call: Call,
        instance: Option<&'static Instance>,
        error: *mut ProctorError,
    ) -> Self {
        let mut report = Report::new(call);
        if call != Call::InFlightMax {
            // SAFETY: the caller's promise.
            unsafe { expect_room(error, &mut report) };
        }
        backend.services.look(call, &mut report);
        let here = thread::current().id();
        report.expect(!call.is_of_main_thread() || here == backend.main_thread, || {
            "it comes on another thread than open, the main one".to_owned()
        });
        let mut state = backend.state.lock();
        report.expect(!state.is_closed, || "the backend is closed".to_owned());
        let index = instance.map(|instance| instance.index);
        for other in &state.under_way {
            let is_same = index.is_some() && other.instance == index;
            let other = other.call;
            report.expect(call.may_meet(other, is_same), || {
                format!("it comes while {} has not returned", other.name())
            });
        }
        state.under_way.push(UnderWay { call, instance: index, thread: here });
        drop(state);
        Self { backend, call, instance, report, error }
    }

    /// Returns a call for an object: a backend, a model or an instance.
    ///
    /// # Errors
    /// Returns the status of a call whose handle is invalid.
    ///
    /// # Safety
    /// The host vouches for the handle and for `error`.
    pub(crate) unsafe fn of<T: Object>(
        handle: *mut T::Handle,
        call: Call,
        error: *mut ProctorError,
    ) -> Result<(&'static T, Self), ProctorStatus> {
        // SAFETY: the caller's promise.
        let found = unsafe { object::<T>(handle) };
        // SAFETY: as above.
        let found = found.map_err(|why| unsafe { refuse(call, &why, error) })?;
        // SAFETY: as above.
        Ok((found, unsafe { Self::enter(found.backend(), call, found.instance(), error) }))
    }

    /// Checks a condition on the state of the backend.
    pub(crate) fn check<R>(&mut self, act: impl FnOnce(&mut State, &mut Report) -> R) -> R {
        act(&mut self.backend.state.lock(), &mut self.report)
    }

    /// Works as [`check`](Self::check), with the model, unless it was unloaded.
    pub(crate) fn check_model<R>(
        &mut self,
        model: &Model,
        act: impl FnOnce(&mut LoadedModel, &mut Report) -> R,
    ) -> Option<R> {
        self.check(|state, report| {
            let loaded = state.model.as_mut().filter(|loaded| loaded.number == model.number);
            report.expect(loaded.is_some(), || "the model is unloaded".to_owned());
            loaded.map(|loaded| act(loaded, report))
        })
    }

    /// Works as [`check_model`](Self::check_model), unless the instance is destroyed.
    pub(crate) fn check_instance<R>(
        &mut self,
        instance: &Instance,
        act: impl FnOnce(&mut LoadedModel, &mut Report) -> R,
    ) -> Option<R> {
        self.check_model(instance.model, |loaded, report| {
            let is_live = live(loaded, instance).is_some();
            report.expect(is_live, || format!("instance {} is destroyed", instance.index));
            is_live.then(|| act(loaded, report))
        })
        .flatten()
    }

    /// Returns whether every promise was kept so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.report.is_clean()
    }

    /// Ends the call: returns its status, with the first broken promise as its message.
    pub(crate) fn leave(self) -> ProctorStatus {
        let Self { backend, call, instance, report, error } = self;
        let (index, here) = (instance.map(|instance| instance.index), thread::current().id());
        let mut state = backend.state.lock();
        let is_this =
            |other: &UnderWay| other.call == call && other.instance == index && other.thread == here;
        if let Some(position) = state.under_way.iter().position(is_this) {
            state.under_way.swap_remove(position);
        }
        drop(state);
        let Some(first) = report.first() else { return PROCTOR_STATUS_OK };
        // SAFETY: the host vouches for its room until the call returns.
        unsafe { write_message(error, first) };
        backend.findings.add(report);
        PROCTOR_STATUS_FAILED
    }
}

/// Begins a call for the object behind a handle, which takes its name; the function returns if there is none.
macro_rules! enter {
    ($visit:ident, $handle:ident: $object:ident, $call:ident, $error:ident) => {
        // SAFETY: the host vouches for the handle and the room.
        let entered = unsafe {
            $crate::visit::Visit::of::<$crate::objects::$object>($handle, $crate::call::Call::$call, $error)
        };
        let ($handle, mut $visit) = match entered {
            Ok(found) => found,
            Err(status) => return status,
        };
    };
}
pub(crate) use enter;

/// Functions of the table, each a visit: the object behind its handle, its other arguments, the call, and the checks.
macro_rules! calls {
    ($(fn $name:ident($visit:ident, $handle:ident: $object:ident $(, $argument:ident: $type:ty)*) for $call:ident
        $body:block)*) => {$(
        unsafe extern "C" fn $name(
            $handle: *mut <$crate::objects::$object as $crate::objects::Object>::Handle,
            $($argument: $type,)*
            error: *mut ProctorError,
        ) -> ProctorStatus {
            $crate::visit::enter!($visit, $handle: $object, $call, error);
            $body
            $visit.leave()
        }
    )*};
}
pub(crate) use calls;

/// Returns a live instance.
pub(crate) fn live<'a>(loaded: &'a mut LoadedModel, instance: &Instance) -> Option<&'a mut LiveInstance> {
    loaded.instances.get_mut(&instance.index).filter(|live| live.number == instance.number)
}

/// Refuses a call whose object is not known.
///
/// # Safety
/// The host vouches for `error`.
unsafe fn refuse(call: Call, why: &str, error: *mut ProctorError) -> ProctorStatus {
    // SAFETY: the caller's promise.
    unsafe { write_message(error, &format!("{}: {why}", call.name())) };
    PROCTOR_STATUS_INVALID_ARGUMENT
}
