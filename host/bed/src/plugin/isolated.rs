//! The plugin in its own process.

mod environment;
mod fence;
pub(crate) mod host_state;
mod part;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use proctor_config::Settings;
use proctor_isolated::{Isolation, Launch, protocol::Code};
use proctor_loadgen::StopHandle;
use proctor_plugin_api::{Manifest, Options};
use proctor_plugin_host::{Backend, Call, Described, LoadedPlugin, PluginIdentity, PluginLocation};
use proctor_results::{IsolationPart, ModelFilePart};
use proctor_vocabulary::program;
use proctor_words::{HostError, Observer, PluginError, UsageError};

use self::{
    host_state::{HostAtStart, HostPart, HostState},
    part::isolation_part,
};
use crate::fault::Fault;

/// Name of the worker program, which lies next to this one.
const WORKER: &str = "proctor-worker";

/// Time for the calls of a process that has ended to fail.
const GRACE: Duration = Duration::from_millis(500);

/// A plugin in its own process. Clones are the same one.
#[derive(Clone)]
pub struct Isolated {
    isolation: Isolation,
    /// The test that runs.
    test: Arc<Mutex<Option<StopHandle>>>,
    /// The host's process before it started another one.
    before: Arc<HostAtStart>,
}

impl Isolated {
    /// Starts the process.
    ///
    /// # Errors
    /// If its program is not there, or the settings ask for what cannot be had with it.
    pub(crate) fn start(settings: &Settings, location: &PluginLocation) -> Result<Self, HostError> {
        if settings.run.virtual_time {
            let text =
                "in virtual time no plugin has a process of its own: leave out --isolate or --virtual-time";
            return Err(UsageError::Stated(text).into());
        }
        if location.needs_interpreter() {
            let text = "a plugin in Python runs in the interpreter that the host runs in, and has no process of its \
                        own: leave out --isolate";
            return Err(UsageError::Stated(text).into());
        }
        let program = worker();
        let code = match location {
            PluginLocation::Library(path) | PluginLocation::Script(path, _) => Code::Library(path.clone()),
            PluginLocation::Linked(name) => Code::Linked((*name).to_owned()),
        };
        let spin = Duration::from_micros(settings.run.isolate_spin_us);
        let memory_max_bytes = settings.run.isolate_memory_mib.map(|mib| mib.saturating_mul(1 << 20));
        let environment = environment::environment(&settings.run.isolate_env);
        let launch = Launch { program: program.clone(), code, environment, spin, memory_max_bytes };
        let before = Arc::new(HostAtStart::read());
        let fence = fence::to_load(settings, location);
        let isolation = Isolation::start(launch, fence);
        let isolation =
            isolation.map_err(|error| PluginError::NoWorker { program, worker: WORKER, error })?;
        Ok(Self { isolation, test: Arc::default(), before })
    }

    /// Loads the plugin in its process.
    ///
    /// # Errors
    /// If the process cannot load it.
    pub(crate) fn load(&self, location: &PluginLocation) -> Result<LoadedPlugin, HostError> {
        let (file, source) = match location {
            PluginLocation::Library(path) | PluginLocation::Script(path, _) => {
                (path.clone(), path.display().to_string())
            }
            PluginLocation::Linked(_) => (worker(), "linked in".to_owned()),
        };
        let load = || {
            let description = self.isolation.load()?;
            let (abi_major, abi_minor) = description.abi;
            let identity =
                PluginIdentity { abi_major, abi_minor, source, layout_checked: description.layout_checked };
            let manifest = description.manifest.clone();
            Ok(Described { manifest, identity, has_warm_up: description.has_warm_up, file: Some(file) })
        };
        Ok(LoadedPlugin::elsewhere(Isolation::stand_in(), &location.to_string(), load)?)
    }

    /// Restricts the process to the resources that the plugin needs to run. `set` are the options that the user has
    /// set.
    ///
    /// # Errors
    /// If it cannot load the plugin.
    pub(crate) fn restart_within(
        &self,
        manifest: &Manifest,
        files: &[ModelFilePart],
        set: &Options,
        cache_folder: Option<&Path>,
    ) -> Result<(), HostError> {
        let fence = fence::to_run(self.isolation.fence(), files, set, cache_folder);
        let fenced = self.isolation.restart_within(fence);
        fenced.map_err(|error| PluginError::of(&manifest.name, error).into())
    }

    /// Runs `open`, which opens the plugin, and makes the host record the observations of the process, and its end.
    ///
    /// # Errors
    /// Returns the errors of `open`.
    pub(crate) fn open<E>(&self, open: impl FnOnce() -> Result<Backend, E>) -> Result<Backend, E> {
        let backend = self.isolation.while_opening(open)?;
        let host_side = backend.host_side();
        let test = Arc::clone(&self.test);
        let take_over = move |notes: &[u8]| match postcard::from_bytes(notes) {
            Ok(notes) => host_side.take_over(notes),
            Err(error) => tracing::warn!(%error, "cannot read what the process of the plugin has noticed"),
        };
        let over = move || {
            if let Some(stop) = test.lock().clone() {
                end(stop);
            }
        };
        self.isolation.listen(take_over, move |how| host_side.note_end(how), over);
        Ok(backend)
    }

    /// Warns the user, after a call of the plugin has failed, that files may have been out of its reach.
    pub(crate) fn note_restricted_files(&self, observer: &dyn Observer) {
        if self.isolation.restrictions().files {
            observer.message(
                "note: with --isolate a plugin reads only the system's files and its own; --set isolate_read=FOLDER:FILE \
                 adds others",
            );
        }
    }

    /// Warns the user of a plugin that wants the network, which it has only if the user allows it.
    pub(crate) fn note_denied_network(&self, manifest: &Manifest, observer: &dyn Observer) {
        if manifest.network && !self.isolation.fence().network {
            observer.message(&format!(
                "note: plugin {} says that it reaches its system by a network, which it cannot with --isolate; --set \
                 isolate_network=true allows it",
                manifest.name
            ));
        }
    }

    /// Returns whether the process has ended, and none has taken its place.
    pub(crate) fn has_ended(&self) -> bool {
        self.isolation.has_ended()
    }

    /// Replaces a process that has ended by another one, before a test.
    ///
    /// # Errors
    /// If the other process does not get as far.
    pub(crate) fn refresh(&self, plugin: &str) -> Result<(), HostError> {
        let refreshed = self.isolation.refresh();
        refreshed.map_err(|error| {
            PluginError::FreshProcess { plugin: plugin.to_owned(), cause: error.into() }.into()
        })
    }

    /// Turns the marking of rooms for outputs in the process on or off.
    ///
    /// # Errors
    /// Returns the way in which it has ended.
    pub(crate) fn mark_outputs(&self, are_marked: bool, plugin: &str) -> Result<(), HostError> {
        let marked = self.isolation.mark_outputs(are_marked);
        marked.map_err(|error| PluginError::of(plugin, error).into())
    }

    /// Ends the test that begins now as soon as the process ends.
    pub(crate) fn begin_test(&self, stop: StopHandle) {
        *self.test.lock() = Some(stop.clone());
        if self.has_ended() {
            end(stop);
        }
    }

    /// Notes that the test is over.
    pub(crate) fn end_test(&self) {
        *self.test.lock() = None;
    }

    /// Returns a change to the host's own process since there is another one, if the system does not protect
    /// it. The host may hold threads that it makes to the processors `held`.
    pub(crate) fn change_of_host(&self, plugin: &str, held: &[u32]) -> Option<Fault> {
        self.changed(plugin, || self.before.change(held))
    }

    /// Runs `act`, and returns also a change of the host's own process meanwhile. The calling thread may be held to
    /// some processors.
    pub(crate) fn watch_host<T>(&self, plugin: &str, act: impl FnOnce() -> T) -> (T, Option<Fault>) {
        let state = HostState::read();
        let done = act();
        (done, self.changed(plugin, || self.before.change_during(&state)))
    }

    fn changed(&self, plugin: &str, change: impl FnOnce() -> Option<HostPart>) -> Option<Fault> {
        if self.isolation.restrictions().asks {
            return None;
        }
        change().map(|part| Fault::HostChanged { plugin: plugin.to_owned(), part })
    }

    /// Kills the process because this call did not return in time. Returns whether there was a process.
    pub(crate) fn end_hung(&self, call: Call, limit: Duration) -> bool {
        if self.has_ended() {
            return false;
        }
        let (task, limit_ms) = (call.task(), limit.as_millis());
        self.isolation.kill(&format!(
            "its process was ended by SIGKILL, as it hangs: it was asked to {task}, and did not return within \
             watchdog_ms = {limit_ms}"
        ));
        true
    }

    /// Kills the process, which the user no longer waits for. Returns whether there was a process.
    pub(crate) fn end_unawaited(&self) -> bool {
        let is_there = !self.has_ended();
        if is_there {
            self.isolation.kill("its process was ended by SIGKILL, as the user did not wait for it");
        }
        is_there
    }

    /// Ends the process, which has not completed samples.
    pub(crate) fn end_incomplete(&self) {
        if !self.has_ended() {
            self.isolation.end(
                "its process was ended by SIGKILL, as it had not completed all samples when the test was given up",
            );
        }
    }

    /// Returns the mean time of a bare round trip, over this many, in us.
    ///
    /// # Errors
    /// If the process has ended.
    pub(crate) fn round_trip_us(&self, count: u32) -> Result<f64, HostError> {
        let time = self.isolation.round_trip(count);
        let time = time.map_err(HostError::plugin)?;
        Ok(time.as_secs_f64() * 1e6)
    }

    /// Returns the process in the form of a result.
    pub fn part(&self, settings: &Settings) -> IsolationPart {
        let fence = self.isolation.fence();
        let exposure = fence::exposure(settings, &fence);
        isolation_part(self.isolation.restrictions(), &fence, exposure)
    }
}

/// Ends a test whose process has ended: no more queries are issued. Queries that a thread waits for in a call
/// fail at once; all others will never be completed.
fn end(stop: StopHandle) {
    stop.end_issue();
    let late = stop.clone();
    let give_up = move || {
        thread::sleep(GRACE);
        late.give_up();
    };
    if thread::Builder::new().name("give-up".to_owned()).spawn(give_up).is_err() {
        stop.give_up();
    }
}

/// Returns the limit of the load generator, longer than the watchdog's: the process is ended first.
pub(crate) fn loadgen_limit(limit: Duration) -> Duration {
    limit + limit / 2 + Duration::from_secs(1)
}

fn worker() -> PathBuf {
    program().map_or_else(|_| WORKER.into(), |host| host.with_file_name(WORKER))
}
