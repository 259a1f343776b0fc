//! One call into a plugin, noted while it lasts, with the status and the message that come back.

use std::cell::RefCell;

use proctor_plugin_api::abi::{self, PROCTOR_MESSAGE_LENGTH_MAX, ProctorError, ProctorStatus};
use proctor_vocabulary::steers;

use crate::{
    call::Call,
    error::{PluginHostError, known_status},
    guard::{activity::Activity, room::Room},
};

/// Room for the message of one call.
pub(crate) struct Message(Room);

thread_local! {
    /// The room of the calls of this thread: clearing one for each call would take longer than a short call itself.
    static ROOM: RefCell<Message> = RefCell::new(Message::new());
}

/// Allocates the room for this thread's calls, which the first one would otherwise have to wait for.
pub(crate) fn make_room() {
    ROOM.with_borrow(|_| ());
}

impl Message {
    pub(crate) fn new() -> Self {
        Self(Room::new())
    }

    /// Runs `call` with this buffer, and returns its result, with the message, cut off if the plugin claims
    /// to have written more than fits, and the vendor's code.
    pub(crate) fn collect<R>(&mut self, call: impl FnOnce(*mut ProctorError) -> R) -> (R, &[u8], i64) {
        let mut error = ProctorError {
            size: size_of::<ProctorError>(),
            message: self.0.start(),
            capacity: PROCTOR_MESSAGE_LENGTH_MAX,
            length: 0,
            vendor_code: 0,
        };
        let result = call(&raw mut error);
        (result, &self.0.bytes()[..error.length.min(PROCTOR_MESSAGE_LENGTH_MAX)], error.vendor_code)
    }
}

/// Makes one call that returns a status, and records `activity` for crash reports meanwhile. Allocates
/// nothing unless the call fails.
#[inline]
pub(crate) fn checked(
    activity: &'static Activity,
    call: Call,
    invoke: impl FnOnce(*mut ProctorError) -> ProctorStatus,
) -> Result<(), PluginHostError> {
    ROOM.with_borrow_mut(|room| checked_with(room, activity, call, invoke))
}

#[inline]
fn checked_with(
    room: &mut Message,
    activity: &'static Activity,
    call: Call,
    invoke: impl FnOnce(*mut ProctorError) -> ProctorStatus,
) -> Result<(), PluginHostError> {
    let (status, message, vendor_code) = activity.during(call, || room.collect(invoke));
    if status == abi::PROCTOR_STATUS_OK {
        return Ok(());
    }
    let message = readable(message);
    // So that a plugin which claims a message and writes none is not given this one.
    room.0.clear();
    Err(PluginHostError::CallFailed {
        plugin: activity.plugin().to_owned(),
        call,
        status: known_status(status),
        vendor_code,
        message,
    })
}

/// Returns a plugin's message as the end of a line: lossy UTF-8 without white space around it. A character that steers
/// a terminal, which could forge a line of a log or on the screen, becomes a space.
pub(crate) fn readable(message: &[u8]) -> String {
    String::from_utf8_lossy(message).replace(steers, " ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_longer_than_its_room_is_cut_off() {
        let mut buffer = Message::new();
        // SAFETY: the structure and its buffer live for this call.
        let (_, message, _) = buffer.collect(|error| unsafe {
            (*error).message.write_bytes(b'x', (*error).capacity);
            (*error).length = usize::MAX;
        });
        assert_eq!(message, [b'x'; PROCTOR_MESSAGE_LENGTH_MAX]);
    }

    #[test]
    fn nothing_of_an_earlier_message_is_shown() {
        let activity = Activity::new("p", None);
        let said = checked(activity, Call::Stop, |error| {
            // SAFETY: the structure and its buffer of 4096 bytes live for this call.
            unsafe {
                (*error).message.copy_from_nonoverlapping(b"outer".as_ptr(), 5);
                (*error).length = 5;
            }
            99
        });
        assert!(said.unwrap_err().to_string().ends_with("outer"));
        // SAFETY: the structure lives for this call.
        let silent = checked(activity, Call::Stop, |error| unsafe {
            (*error).length = 5;
            99
        });
        assert!(!silent.unwrap_err().to_string().contains("outer"));
    }

    #[test]
    fn a_failed_call_has_the_name_the_status_and_the_message() {
        let activity = Activity::new("p", None);
        let write = |error: *mut ProctorError| {
            // SAFETY: the structure and its buffer of 4096 bytes live for this call.
            unsafe {
                (*error).message.copy_from_nonoverlapping(b"no \xff room\n".as_ptr(), 10);
                (*error).length = 10;
                (*error).vendor_code = -7;
            }
            99
        };
        let error = checked(activity, Call::Open, write).unwrap_err();
        assert_eq!(error.to_string(), "plugin p: open failed (INTERNAL, code -7): no \u{fffd} room");
        let error = checked(activity, Call::Stop, |_| abi::PROCTOR_STATUS_BUSY).unwrap_err();
        assert_eq!(error.to_string(), "plugin p: stop failed (BUSY), without a message");
    }
}
