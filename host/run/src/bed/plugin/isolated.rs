//! The plugin in a process of its own.

use std::{
    env,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, available_parallelism},
    time::Duration,
};

use proctor_config::{RunSettings, Settings};
use proctor_isolated::{Isolation, Launch, protocol::Code};
use proctor_loadgen::StopHandle;
use proctor_plugin_host::{Backend, Call, Described, LoadedPlugin, PluginIdentity, PluginLocation};
use serde::Serialize;

use crate::error::HostError;

/// Name of the program of the process, which lies beside this one.
const WORKER: &str = "proctor-worker";

/// Time for calls of a process that has ended to fail.
const GRACE: Duration = Duration::from_millis(500);

/// A plugin in a process of its own. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Isolated {
    isolation: Isolation,
    /// The test that runs.
    test: Arc<Mutex<Option<StopHandle>>>,
}

/// The process of the plugin, as a result has it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct IsolationPart {
    /// How the plugin is apart from the host: `process`.
    mode: &'static str,
}

impl Isolated {
    /// Starts the process.
    ///
    /// # Errors
    /// If its program is not there, or the settings ask for what cannot be had with it.
    pub(crate) fn start(settings: &Settings, location: &PluginLocation) -> Result<Self, HostError> {
        let RunSettings { virtual_time, instances, .. } = settings.run;
        if virtual_time {
            return Err(HostError::Usage(
                "in virtual time no plugin has a process of its own: leave out --isolate or --virtual-time"
                    .to_owned(),
            ));
        }
        let program = program();
        let code = match location {
            PluginLocation::Library(path) => Code::Library(path.clone()),
            PluginLocation::Linked(name) => Code::Linked((*name).to_owned()),
        };
        // A thread here and one there for each instance, and the one that issues.
        let spins = available_parallelism().is_ok_and(|cores| cores.get() > 2 * instances);
        let memory_max_bytes = settings.run.isolate_memory_mb.map(|mb| mb.saturating_mul(1 << 20));
        let launch = Launch { program: program.clone(), code, spins, memory_max_bytes };
        let isolation = Isolation::start(launch).map_err(|error| {
            HostError::PluginCannot(format!(
                "cannot start {}, which runs a plugin in a process of its own: {error}; build it with `cargo build -p \
                 {WORKER}`, or leave out --isolate",
                program.display()
            ))
        })?;
        Ok(Self { isolation, test: Arc::default() })
    }

    /// Has the process load the plugin.
    ///
    /// # Errors
    /// Why it cannot.
    pub(crate) fn load(&self, location: &PluginLocation) -> Result<LoadedPlugin, HostError> {
        let file = match location {
            PluginLocation::Library(path) => Some(path.clone()),
            PluginLocation::Linked(_) => Some(program()),
        };
        let load = || {
            let description = self.isolation.load()?;
            let (abi_major, abi_minor) = description.abi;
            let identity = PluginIdentity {
                abi_major,
                abi_minor,
                source: description.source.clone(),
                layout_checked: description.layout_checked,
            };
            let manifest = description.manifest.clone();
            Ok(Described { manifest, identity, has_warm_up: description.has_warm_up, file })
        };
        Ok(LoadedPlugin::elsewhere(Isolation::stand_in(), &location.to_string(), load)?)
    }

    /// Runs `open`, which opens the plugin, and has the host take note of what the process notices and of its end.
    ///
    /// # Errors
    /// Errors of `open`.
    pub(crate) fn open<E>(&self, open: impl FnOnce() -> Result<Backend, E>) -> Result<Backend, E> {
        let backend = self.isolation.while_opening(open)?;
        let host_side = backend.host_side();
        let test = Arc::clone(&self.test);
        let take_over = move |notes: &[u8]| match postcard::from_bytes(notes) {
            Ok(notes) => host_side.take_over(notes),
            Err(error) => tracing::warn!(%error, "cannot read what the process of the plugin has noticed"),
        };
        self.isolation.listen(take_over, move |how| {
            host_side.note_end(how);
            if let Some(stop) = lock(&test).clone() {
                end(stop);
            }
        });
        Ok(backend)
    }

    /// Whether the process has ended, and none has taken its place.
    pub(crate) fn has_ended(&self) -> bool {
        self.isolation.has_ended()
    }

    /// Has another process take the place of one that has ended, before a test.
    ///
    /// # Errors
    /// Why the other one cannot come as far.
    pub(crate) fn refresh(&self, plugin: &str) -> Result<(), HostError> {
        let refreshed = self.isolation.refresh();
        refreshed.map_err(|error| {
            HostError::PluginCannot(format!("plugin {plugin}: cannot go on in a fresh process: {error}"))
        })
    }

    /// Ends the test that begins now as soon as the process ends.
    pub(crate) fn follow(&self, stop: StopHandle) {
        *lock(&self.test) = Some(stop.clone());
        if self.has_ended() {
            end(stop);
        }
    }

    /// The test is over.
    pub(crate) fn unfollow(&self) {
        *lock(&self.test) = None;
    }

    /// Ends the process, in which this call did not return in time. Returns whether there was one to be ended.
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

    /// Ends the process, which has not completed samples.
    pub(crate) fn end_incomplete(&self) {
        if !self.has_ended() {
            self.isolation.kill(
                "its process was ended by SIGKILL, as it had not completed all samples when the test was given up",
            );
        }
    }

    /// The process as a result has it.
    pub(crate) fn part(&self) -> IsolationPart {
        IsolationPart { mode: "process" }
    }
}

/// Ends a test whose process has ended: no more queries are issued. Those that somebody waits for in a call fail at
/// once; all others will never be completed.
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

/// The limit of the load generator where a process is ended first that exceeds `limit`.
pub(crate) fn later(limit: Duration) -> Duration {
    limit + limit / 2 + Duration::from_secs(1)
}

fn program() -> PathBuf {
    env::current_exe().map_or_else(|_| WORKER.into(), |host| host.with_file_name(WORKER))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
