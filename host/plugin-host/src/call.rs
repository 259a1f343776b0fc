//! The calls that a host makes into a plugin, by name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Functions of a table, each of which has room for a message last and returns a status.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),*; $error:ident) $body:block)*) => {$(
        unsafe extern "C" fn $name(
            $($argument: $type,)*
            $error: *mut ::proctor_plugin_api::abi::ProctorError,
        ) -> ::proctor_plugin_api::abi::ProctorStatus {
            $body
        }
    )*};
}
pub(crate) use functions;

macro_rules! calls {
    ($($variant:ident $name:literal $task:literal,)+) => {
        /// A call from the host into a plugin.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Call {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl Call {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Returns the name, in the form of the ABI.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns the task of the plugin in this call, to follow "it was asked to".
            #[must_use]
            pub fn task(self) -> &'static str {
                match self { $(Self::$variant => $task),+ }
            }
        }
    };
}

calls! {
    Load "loading the library" "be loaded",
    Entry "proctor_plugin_entry" "show its table",
    Extension "extension" "show an extension",
    Describe "describe" "describe itself",
    Open "open" "open",
    ListDevices "list" "list its devices",
    ChooseInputForm "choose" "choose the form of an input",
    LoadModel "load_model" "load the model",
    CreateInstance "create_instance" "create an instance",
    Allocate "allocate" "allocate memory for samples",
    Copy "copy" "copy samples to a device",
    Free "free" "free memory of samples",
    PrepareSamples "prepare_samples" "prepare the samples",
    ReleaseSamples "release_samples" "release the samples",
    WarmUp "warm_up" "warm up",
    Start "start" "start",
    Execute "execute" "execute a batch",
    ExecuteVirtual "execute in virtual time" "execute a batch in virtual time",
    LendOutput "the copy of a lent output" "lend an output",
    ReleaseOutput "release of a lent output" "release an output that it lent",
    BeginThread "instance_thread.begin" "begin the thread of an instance",
    EndThread "instance_thread.end" "end the thread of an instance",
    AskInFlight "submit.in_flight_max" "say how many batches it takes at a time",
    Submit "submit" "take a batch (submit)",
    Done "a submitted batch" "complete a submitted batch",
    Issue "issue" "take a query (issue)",
    Explain "explain" "explain the model",
    Flush "flush" "flush",
    ReadEnergy "the reading of energy" "read its energy",
    Stop "stop" "stop",
    DestroyInstance "destroy_instance" "destroy an instance",
    UnloadModel "unload_model" "unload the model",
    Close "close" "close",
}

impl Call {
    /// Returns whether the header promises the plugin that this call for a model comes on the main thread.
    pub(crate) fn is_of_main_thread(self) -> bool {
        matches!(
            self,
            Self::Allocate
                | Self::PrepareSamples
                | Self::ReleaseSamples
                | Self::WarmUp
                | Self::Start
                | Self::Stop
        )
    }

    /// Returns whether it is made for each batch or query of the timed part.
    #[must_use]
    pub fn is_timed(self) -> bool {
        matches!(self, Self::Issue | Self::Execute | Self::Submit | Self::ExecuteVirtual)
    }

    /// Returns the call with this number, as an activity keeps it; numbers start at 1.
    pub(crate) fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?.checked_sub(1)?).copied()
    }

    pub(crate) fn code(self) -> u32 {
        self as u32 + 1
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_calls_round_trip() {
        for &call in Call::ALL {
            assert_eq!(Call::from_code(call.code()), Some(call));
        }
        assert_eq!(Call::from_code(0), None);
        assert_eq!(Call::from_code(99), None);
    }
}
