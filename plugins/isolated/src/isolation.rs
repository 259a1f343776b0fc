//! A plugin in its own process, from the start of the process to the last one that took its place.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use proctor_plugin_api::{LinkedPlugin, PluginError, abi::PROCTOR_STATUS_DEVICE_LOST};

use crate::{
    channels::echo::Echo,
    channels::mailbox::PeerGone,
    launch::Launch,
    plugin::{StandIn, standing_in_for},
    protocol::{Code, Description, Fence, Request, Restrictions},
    state::State,
};

/// A plugin in its own process. Clones are the same one. When the process ends, another takes its place as soon as
/// instances are made or samples prepared again.
#[derive(Clone)]
pub struct Isolation(Arc<State>);

impl Isolation {
    /// Starts the process, without a plugin, within `fence`.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn start(launch: Launch, fence: Fence) -> io::Result<Self> {
        Ok(Self(Arc::new(State::start(launch, fence)?)))
    }

    /// Loads the plugin in the process, and describes it.
    ///
    /// # Errors
    /// Returns the reason why it cannot be loaded, in words that name the plugin or its file.
    pub fn load(&self) -> Result<&Description, String> {
        self.0.load().map_err(|error| match self.0.code() {
            // The message of the plugin host there already names the plugin.
            _ if error.status != PROCTOR_STATUS_DEVICE_LOST => error.message,
            Code::Library(path) => format!("{}: {}", path.display(), error.message),
            Code::Linked(name) => format!("plugin {name}: {}", error.message),
        })
    }

    /// Replaces the process, whose plugin is loaded but not open, by one with another fence.
    ///
    /// # Errors
    /// Returns the reason why it cannot load the plugin.
    pub fn restart_within(&self, fence: Fence) -> Result<(), PluginError> {
        self.0.restart_within(fence)
    }

    /// Returns the parts of the machine that the process may use.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.0.fence()
    }

    /// Returns the restrictions that hold for the process.
    #[must_use]
    pub fn restrictions(&self) -> Restrictions {
        self.0.restrictions()
    }

    /// Returns the stand-in for another process's plugin.
    #[must_use]
    pub fn stand_in() -> LinkedPlugin {
        LinkedPlugin::of::<StandIn>()
    }

    /// Runs `open`, which must open the stand-in plugin; that plugin then represents this process.
    pub fn while_opening<R>(&self, open: impl FnOnce() -> R) -> R {
        standing_in_for(&self.0, open)
    }

    /// Sets the hooks: `notes` receives the process's notes about the plugin, `end` the reason when a process ends by
    /// itself, and `over` is called once [`has_ended`](Self::has_ended) returns true. Only the first call counts.
    pub fn listen(
        &self,
        notes: impl Fn(&[u8]) + Send + Sync + 'static,
        end: impl Fn(&str) + Send + Sync + 'static,
        over: impl Fn() + Send + Sync + 'static,
    ) {
        self.0.listen(Box::new(notes), Box::new(end), Box::new(over));
    }

    /// Replaces a process that has ended by another one.
    ///
    /// # Errors
    /// If some of its instances are in use, or the new process cannot reach the same state.
    pub fn refresh(&self) -> Result<(), PluginError> {
        self.0.fresh_child().map(drop)
    }

    /// Turns the marking of rooms for outputs on or off, in the process and in each that takes its place: with it, they
    /// are filled before each batch with bytes that are not an answer. Its model is loaded.
    ///
    /// # Errors
    /// Returns how it has ended.
    pub fn mark_outputs(&self, are_marked: bool) -> Result<(), PluginError> {
        self.0.mark_outputs(are_marked)
    }

    /// Returns whether the process has ended, and none has taken its place.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.0.child().has_ended()
    }

    /// Returns the mean time of a bare round trip between both processes, over this many.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn round_trip(&self, count: u32) -> Result<Duration, PluginError> {
        let child = self.0.child();
        let mut echo = Echo::new(self.0.spin())?;
        child.ask(&Request::Echo, &[echo.file()])?;
        let mut call = || echo.call(|| !child.has_ended()).map_err(|PeerGone| child.end_with_batch_error());
        // The first takes until there is somebody to answer.
        call()?;
        let begin = Instant::now();
        for _ in 0..count {
            call()?;
        }
        Ok(begin.elapsed() / count)
    }

    /// Ends the process, which must be in no call of its main thread, for this reason, and waits until it has ended.
    /// First asks for its notes about the plugin, for a short time.
    pub fn end(&self, why: &str) {
        let child = self.0.child();
        child.fetch_notes();
        child.end(why);
    }

    /// Ends the process, for this reason.
    pub fn kill(&self, why: &str) {
        self.0.child().kill(why);
    }
}
