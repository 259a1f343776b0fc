//! Handles that a plugin gave out, and texts that it is given.

use std::ptr::{self, NonNull};

use proctor_plugin_api::abi::ProctorString;

use crate::{call::Call, error::PluginHostError};

/// A handle from a plugin. The host never dereferences it.
#[derive(Debug)]
pub(crate) struct Handle<T>(NonNull<T>);

// SAFETY: the handle is only ever passed back to the plugin that made it. Which thread may do that with which function
// is part of the ABI. It is kept by the types where a function of an instance takes `&mut`, and by checks for a model:
// its functions of the main thread are refused on any other, and stop is refused while a thread issues.
unsafe impl<T> Send for Handle<T> {}
// SAFETY: a shared handle gives out its address and no more, which may be read from any thread.
unsafe impl<T> Sync for Handle<T> {}

impl<T> Handle<T> {
    /// Checks the output of a call.
    pub(crate) fn new(pointer: *mut T, plugin: &str, call: Call) -> Result<Self, PluginHostError> {
        let problem = || format!("plugin {plugin}: {call} returned OK and a null handle");
        NonNull::new(pointer).map(Self).ok_or_else(|| PluginHostError::Unusable(problem()))
    }

    pub(crate) fn get(&self) -> *mut T {
        self.0.as_ptr()
    }
}

/// No text.
pub(crate) const NO_TEXT: ProctorString = ProctorString { data: ptr::null(), length: 0 };

/// Returns a text of the host in the form of the ABI, valid as long as `text`.
pub(crate) fn borrowed(text: &str) -> ProctorString {
    ProctorString { data: text.as_ptr(), length: text.len() }
}
