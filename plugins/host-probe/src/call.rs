//! The calls of a host, by name, and which of them may come at the same time.

macro_rules! calls {
    ($($call:ident $name:literal,)+) => {
        /// A call of the host.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Call {
            $(#[doc = concat!("`", $name, "`")] $call,)+
        }

        impl Call {
            /// Returns the name in the header.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$call => $name),+ }
            }
        }
    };
}

calls! {
    Open "open",
    LoadModel "load_model",
    CreateInstance "create_instance",
    InFlightMax "ProctorSubmit.in_flight_max",
    PrepareSamples "prepare_samples",
    ReleaseSamples "release_samples",
    WarmUp "warm_up",
    WarmUpQuery "ProctorIssue.warm_up",
    Start "start",
    Execute "execute",
    ExecuteVirtual "ProctorVirtualTime.execute",
    BeginThread "ProctorInstanceThread.begin",
    EndThread "ProctorInstanceThread.end",
    Submit "ProctorSubmit.submit",
    Issue "ProctorIssue.issue",
    Flush "flush",
    Stop "stop",
    DestroyInstance "destroy_instance",
    UnloadModel "unload_model",
    Close "close",
}

impl Call {
    /// Returns whether it comes on the main thread. `ProctorSubmit.in_flight_max` comes where its instance was created.
    pub(crate) fn is_of_main_thread(self) -> bool {
        !self.is_timed() && !matches!(self, Self::BeginThread | Self::EndThread | Self::Flush)
    }

    /// Returns whether it comes between the issue of a sample and its completion.
    pub(crate) fn is_timed(self) -> bool {
        matches!(self, Self::Execute | Self::ExecuteVirtual | Self::Submit | Self::Issue)
    }

    /// Returns whether it may come during another call for the same or another instance.
    pub(crate) fn may_meet(self, other: Self, is_same_instance: bool) -> bool {
        let is_of_thread = |call| matches!(call, Self::BeginThread | Self::EndThread);
        let takes_batch = |call| matches!(call, Self::Execute | Self::Submit);
        let both_take = takes_batch(self) && takes_batch(other);
        !is_same_instance && (is_of_thread(self) || is_of_thread(other) || both_take)
    }
}
