//! The calls that a host makes into a plugin, by name.

use std::fmt;

macro_rules! calls {
    ($($variant:ident $name:literal,)+) => {
        /// A call from the host into a plugin.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Call {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl Call {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name, as the ABI has it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

calls! {
    Load "loading the library",
    Entry "proctor_plugin_entry",
    Extension "extension",
    Describe "describe",
    Open "open",
    LoadModel "load_model",
    CreateInstance "create_instance",
    PrepareSamples "prepare_samples",
    ReleaseSamples "release_samples",
    WarmUp "warm_up",
    Start "start",
    Execute "execute",
    ExecuteVirtual "execute in virtual time",
    ReleaseOutput "release of a lent output",
    Issue "issue",
    Explain "explain",
    Flush "flush",
    Stop "stop",
    DestroyInstance "destroy_instance",
    UnloadModel "unload_model",
    Close "close",
}

impl Call {
    /// The call with this number, as an activity keeps it; numbers start at 1.
    pub(crate) fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?.checked_sub(1)?).copied()
    }

    /// The number of the call.
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
