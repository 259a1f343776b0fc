//! Texts, arrays, sizes and messages of the ABI, read and written through raw pointers.

use std::{ptr, slice};

use super::error::PluginError;
use crate::abi;

/// A text for the ABI, borrowed from `text`.
pub(super) fn text(text: &str) -> abi::ProctorString {
    abi::ProctorString { data: text.as_ptr(), length: text.len() }
}

/// # Safety
/// `items` is null with a `count` of 0, or points to `count` items that are valid for `'a`.
pub(super) unsafe fn slice_of<'a, T>(items: *const T, count: usize) -> Result<&'a [T], PluginError> {
    if count == 0 {
        return Ok(&[]);
    }
    if items.is_null() {
        return Err(PluginError::invalid_argument(format!("an array of {count} elements is null")));
    }
    // SAFETY: `items` is not null as just checked, so it points to `count` items that live for `'a`.
    Ok(unsafe { slice::from_raw_parts(items, count) })
}

/// # Safety
/// `text` is null or valid for `'a`.
pub(super) unsafe fn str_of<'a>(text: abi::ProctorString) -> Result<&'a str, PluginError> {
    if text.data.is_null() {
        return Ok("");
    }
    // SAFETY: `data` is not null as just checked, so `length` bytes are there for `'a`.
    let bytes = unsafe { slice::from_raw_parts(text.data, text.length) };
    std::str::from_utf8(bytes).map_err(|_| PluginError::invalid_argument("a text is not UTF-8"))
}

/// # Safety
/// `text` is null or valid for the call.
pub(super) unsafe fn string_of(text: abi::ProctorString) -> Result<String, PluginError> {
    // SAFETY: `text` is null or valid for the call, which is as long as the borrow lasts.
    unsafe { str_of(text) }.map(str::to_owned)
}

/// # Safety
/// `error` is null or points to room for a message.
pub(super) unsafe fn write_message(error: *mut abi::ProctorError, message: &str) {
    // SAFETY: `error` is null or points to a structure that the host keeps for the call.
    let Some(error) = (unsafe { error.as_mut() }) else { return };
    if error.message.is_null() {
        return;
    }
    let length = message.floor_char_boundary(error.capacity);
    // SAFETY: `capacity` bytes fit, and `length` is at most that.
    unsafe { ptr::copy_nonoverlapping(message.as_ptr(), error.message, length) };
    error.length = length;
}

/// A structure that may grow is at least as large as this plugin knows it.
pub(super) fn check_size(what: &str, got: usize, needed: usize) -> Result<(), PluginError> {
    if got >= needed {
        return Ok(());
    }
    let message = format!("{what} has {got} bytes, fewer than the {needed} of ABI 1.0: the host is broken");
    Err(PluginError::invalid_argument(message))
}
