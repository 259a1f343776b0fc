//! Texts, arrays, sizes and messages of the ABI, read and written through raw pointers.

use std::{ptr, slice};

use super::error::PluginError;
use crate::{
    abi,
    versioned::{Elements, SaysSize, Versioned, read},
};

/// Returns a text for the ABI, borrowed from `text`.
pub(super) const fn text(text: &str) -> abi::ProctorString {
    abi::ProctorString { data: text.as_ptr(), length: text.len() }
}

/// Copies a structure of the host, as much of it as this plugin knows.
///
/// # Safety
/// `pointer` is null, or points to a structure that is valid for the call.
pub(super) unsafe fn structure<T: SaysSize>(pointer: *const T) -> Result<T, PluginError> {
    // SAFETY: `pointer` is null or the structure of a host, which says its size.
    unsafe { read(pointer) }.map_err(PluginError::invalid_argument)
}

/// Returns an array of the host.
pub(super) fn elements<'a, T: Versioned>(
    first: *const T,
    count: usize,
    stride: usize,
) -> Result<Elements<'a, T>, PluginError> {
    Elements::new(first, count, stride).map_err(PluginError::invalid_argument)
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

/// Writes a message, and the vendor's own code, to the room that the host has given.
///
/// # Safety
/// `error` is null or points to room for a message.
pub(super) unsafe fn write_error(error: *mut abi::ProctorError, message: &str, vendor_code: i64) {
    // SAFETY: `error` is null or a structure that the host keeps for the call.
    let Ok(room) = (unsafe { structure(error) }) else { return };
    let length = if room.message.is_null() { 0 } else { message.floor_char_boundary(room.capacity) };
    // SAFETY: `capacity` bytes fit, and `length` is at most that. The structure is as large as in ABI 1.0, which has
    // both fields, as `structure` checked.
    unsafe {
        ptr::copy_nonoverlapping(message.as_ptr(), room.message, length);
        (&raw mut (*error).length).write(length);
        (&raw mut (*error).vendor_code).write(vendor_code);
    }
}
