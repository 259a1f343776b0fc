//! The entry of a loaded plugin, asked as hosts of other versions would ask it.

use proctor_plugin_api::abi::{self, PROCTOR_MESSAGE_LENGTH_MAX, ProctorError, ProctorVersionRange};

use crate::{
    call::Call,
    error::PluginHostError,
    foreign::Reader,
    guard::{activity::Activity, checked::readable},
    load::loaded_plugin::LoadedPlugin,
};

/// A host of other versions than this one.
#[derive(Debug, Clone, Copy)]
pub struct OtherHost {
    /// Lowest major version that it speaks.
    pub major_min: u32,
    /// Highest major version that it speaks.
    pub major_max: u32,
    /// Highest minor version of `major_max`.
    pub minor_max: u32,
    /// Bytes that it has room for in the reason of a refusal; at most [`PROCTOR_MESSAGE_LENGTH_MAX`].
    pub refusal_room: usize,
}

/// A plugin's answer to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryAnswer {
    /// A table that says to follow this version.
    Table {
        /// Major version.
        major: u32,
        /// Minor version.
        minor: u32,
    },
    /// No table, and the reason, which may be empty.
    Refusal(String),
}

/// Fields that a later version may append, unknown today: not zero, so that a plugin that reads them is found out.
const LATER: [u64; 8] = [0x5a5a_5a5a_5a5a_5a5a; 8];

/// A structure as a later version may have it.
#[repr(C)]
pub(crate) struct Grown<T> {
    pub(crate) known: T,
    later: [u64; LATER.len()],
}

impl<T> Grown<T> {
    pub(crate) fn new(known: T) -> Self {
        Self { known, later: LATER }
    }
}

/// Written behind the room for a reason.
const BEYOND: u8 = 0xa5;

impl LoadedPlugin {
    /// Asks the entry once more, as another host. All structures are longer than ABI 1.0 has them.
    ///
    /// # Errors
    /// Fails for a table that cannot be, or a reason that is written beyond the room for it.
    pub fn answer_to(&self, host: OtherHost) -> Result<EntryAnswer, PluginHostError> {
        let plugin = &self.manifest().name;
        let reader = Reader { source_name: plugin };
        let activity = Activity::new(plugin, None);
        let speaks = Grown {
            known: ProctorVersionRange {
                size: size_of::<Grown<ProctorVersionRange>>(),
                major_min: host.major_min,
                major_max: host.major_max,
                minor_max: host.minor_max,
                reserved: 0,
            },
            later: LATER,
        };
        let mut message = [BEYOND; 2 * PROCTOR_MESSAGE_LENGTH_MAX];
        let room = host.refusal_room.min(PROCTOR_MESSAGE_LENGTH_MAX);
        let mut refusal = Grown {
            known: ProctorError {
                size: size_of::<Grown<ProctorError>>(),
                message: message.as_mut_ptr(),
                capacity: room,
                length: 0,
                vendor_code: 0,
            },
            later: LATER,
        };
        let entry = self.entry();
        let (asked, reason) = (&raw const speaks, &raw mut refusal);
        let table = activity.during(Call::Entry, || {
            // SAFETY: the entry has the type that the ABI gives it; both structures begin with the fields of ABI 1.0,
            // say their own sizes and are live for the call, as is the room for the reason.
            unsafe { entry(asked.cast(), reason.cast()) }
        });
        if message[room..].iter().any(|byte| *byte != BEYOND) || refusal.later != LATER {
            let what =
                format!("plugin {plugin}: the entry writes beyond the {room} bytes of room for a refusal");
            return Err(PluginHostError::Unusable(what));
        }
        if table.is_null() {
            return Ok(EntryAnswer::Refusal(readable(&message[..refusal.known.length.min(room)])));
        }
        // SAFETY: the plugin vouches for the table that it returns.
        let table: abi::ProctorPlugin =
            activity.during(Call::Entry, || unsafe { reader.structure(table) })?;
        Ok(EntryAnswer::Table { major: table.abi_major, minor: table.abi_minor })
    }
}
