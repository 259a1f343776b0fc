//! The objects that the host is handed, which are never freed.

use std::thread::{self, ThreadId};

use parking_lot::Mutex;
use proctor_plugin_api::abi::{ProctorBackend, ProctorInstance, ProctorModel};

use crate::{manifest::Options, report::Findings, services::Services, state::State};

/// The kind of an object, stored in its first word, which distinguishes it from other memory that a host may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Mark(u64);

/// An object with a handle.
///
/// # Safety
/// The type is `#[repr(C)]`, its first field is a `Mark`, and that of each of its values is `MARK`.
pub(crate) unsafe trait Object: Sized + 'static {
    /// The type that its handles point to for the host.
    type Handle;
    /// The first word of its kind.
    const MARK: Mark;
    /// Name of the kind.
    const NAME: &'static str;

    /// Returns the backend that it belongs to.
    fn backend(&'static self) -> &'static Backend;

    /// Returns the instance that it is.
    fn instance(&'static self) -> Option<&'static Instance> {
        None
    }
}

/// An opened plugin.
#[repr(C)]
pub(crate) struct Backend {
    mark: Mark,
    /// The thread that called `open`.
    pub(crate) main_thread: ThreadId,
    pub(crate) services: Services,
    pub(crate) options: Options,
    pub(crate) findings: Findings,
    pub(crate) state: Mutex<State>,
}

/// A loaded model.
#[repr(C)]
pub(crate) struct Model {
    mark: Mark,
    pub(crate) backend: &'static Backend,
    pub(crate) number: u64,
}

/// An instance of a model.
#[repr(C)]
pub(crate) struct Instance {
    mark: Mark,
    pub(crate) model: &'static Model,
    /// Index of its placement.
    pub(crate) index: u32,
    pub(crate) number: u64,
}

// SAFETY: `repr(C)` with the mark first, which `new` sets.
unsafe impl Object for Backend {
    type Handle = ProctorBackend;
    const MARK: Mark = Mark(0x6261_636b_656e_6421);
    const NAME: &'static str = "ProctorBackend";

    fn backend(&'static self) -> &'static Backend {
        self
    }
}

// SAFETY: as above.
unsafe impl Object for Model {
    type Handle = ProctorModel;
    const MARK: Mark = Mark(0x6d6f_6465_6c21_2121);
    const NAME: &'static str = "ProctorModel";

    fn backend(&'static self) -> &'static Backend {
        self.backend
    }
}

// SAFETY: as above.
unsafe impl Object for Instance {
    type Handle = ProctorInstance;
    const MARK: Mark = Mark(0x696e_7374_616e_6365);
    const NAME: &'static str = "ProctorInstance";

    fn backend(&'static self) -> &'static Backend {
        self.model.backend
    }

    fn instance(&'static self) -> Option<&'static Instance> {
        Some(self)
    }
}

impl Backend {
    pub(crate) fn new(services: Services, options: Options) -> Self {
        let main_thread = thread::current().id();
        Self {
            mark: Self::MARK,
            main_thread,
            services,
            options,
            findings: Findings::default(),
            state: Mutex::default(),
        }
    }
}

impl Model {
    pub(crate) fn new(backend: &'static Backend, number: u64) -> Self {
        Self { mark: Self::MARK, backend, number }
    }
}

impl Instance {
    pub(crate) fn new(model: &'static Model, index: u32, number: u64) -> Self {
        Self { mark: Self::MARK, model, index, number }
    }
}

/// Returns the handle of a new object, which stays forever.
pub(crate) fn leak<T: Object>(object: T) -> *mut T::Handle {
    std::ptr::from_mut(Box::leak(Box::new(object))).cast()
}

/// Returns the object behind a handle.
///
/// # Errors
/// Returns a sentence if the handle is null or belongs to another kind of object.
///
/// # Safety
/// The host vouches that the handle is null or came from this plugin.
pub(crate) unsafe fn object<T: Object>(handle: *mut T::Handle) -> Result<&'static T, String> {
    let pointer = handle.cast::<T>();
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(format!("the {} is {pointer:p}, which was never handed out", T::NAME));
    }
    // SAFETY: all objects of this plugin begin with a mark and are never freed.
    let mark = unsafe { pointer.cast::<Mark>().read() };
    if mark != T::MARK {
        return Err(format!("the handle at {pointer:p} is none of a {}", T::NAME));
    }
    // SAFETY: the mark says that it is one, and only `leak` makes it; it is never freed, and shared from then on.
    Ok(unsafe { &*pointer })
}
