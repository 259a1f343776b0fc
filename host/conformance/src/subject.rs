//! The plugin under test, as a case accesses it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, OnceLock},
    time::{Duration, Instant},
};

use proctor_bed::{Interrupt, options_of};
use proctor_config::Settings;
use proctor_plugin_api::Options;
use proctor_plugin_host::{Backend, HostServices, LoadedPlugin, PluginFault, PluginLocation, RepeatedFault};
use proctor_words::{HostError, Observer, lasting_folder};

use crate::verdict::{Verdict, failed, skipped};

/// The plugin under test, with its settings.
pub(crate) struct Subject {
    pub(crate) settings: Settings,
    pub(crate) location: PluginLocation,
    /// True if the settings name a benchmark whose model the plugin declares.
    pub(crate) has_model: bool,
    /// Folder of the case alone.
    pub(crate) folder: PathBuf,
    /// Maximum time without a completion while samples are outstanding; a part of the time that the case may take.
    pub(crate) patience: Duration,
    /// The plugin, once it was loaded.
    pub(crate) loaded: OnceLock<LoadedPlugin>,
}

/// Zero of the time that is reported to plugins.
static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Returns the time since the first look, in ns; never 0.
pub(crate) fn now_ns() -> u64 {
    1 + u64::try_from(BEGIN.elapsed().as_nanos()).unwrap_or(u64::MAX - 1)
}

impl Subject {
    /// Returns the plugin, loaded once in this process.
    pub(crate) fn load(&self) -> Verdict<LoadedPlugin> {
        match self.loaded.get() {
            Some(library) => Ok(library.clone()),
            None => {
                let library = self.load_again()?;
                Ok(self.loaded.get_or_init(|| library).clone())
            }
        }
    }

    /// Returns the plugin, loaded and described again.
    pub(crate) fn load_again(&self) -> Verdict<LoadedPlugin> {
        Ok(LoadedPlugin::load(&self.location)?)
    }

    /// Returns the same, with the plugin as it was loaded in another way.
    pub(crate) fn with_library(&self, library: LoadedPlugin) -> Self {
        Self {
            settings: self.settings.clone(),
            location: self.location.clone(),
            has_model: self.has_model,
            folder: self.folder.clone(),
            patience: self.patience,
            loaded: OnceLock::from(library),
        }
    }

    /// Returns the options that the user has given, and the defaults of the others.
    pub(crate) fn options(&self, library: &LoadedPlugin) -> Result<Options, HostError> {
        let given = options_of(&self.settings, &library.manifest().name)?;
        Ok(library.options(&given)?)
    }

    /// Returns the services of the host; plugins keep their cache from run to run.
    pub(crate) fn services(&self, library: &LoadedPlugin) -> HostServices {
        let cache = lasting_folder(&self.settings).join(&library.manifest().name);
        let cache_folder = std::fs::create_dir_all(&cache).is_ok().then_some(cache);
        HostServices { now_ns: Arc::new(now_ns), cache_folder }
    }

    pub(crate) fn open(&self, library: &LoadedPlugin) -> Verdict<Backend> {
        let options = self.options(library)?;
        Ok(library.open(&options, self.services(library))?)
    }

    /// Returns the time after which a run abandons a stalled plugin, in ms: before the case ends.
    pub(crate) fn watchdog_ms(&self) -> u64 {
        u64::try_from(2 * self.patience.as_millis()).unwrap_or(u64::MAX)
    }

    /// Skips the case unless there is a model to load.
    pub(crate) fn need_model(&self) -> Verdict {
        if self.has_model {
            return Ok(());
        }
        skipped("the plugin declares none of our small models: name one that it runs with --benchmark")
    }

    /// Returns a folder that plugins take for the one of temporary files.
    pub(crate) fn temporary_folder(&self) -> PathBuf {
        temporary_folder(&self.folder)
    }
}

/// Returns the folder for temporary files of a case.
pub(crate) fn temporary_folder(case: &Path) -> PathBuf {
    case.join("tmp")
}

/// Misbehaviour that the host has noticed.
pub(crate) type Noticed = Vec<RepeatedFault>;

/// Fails with misbehaviour in the plugin's work. That in the use of services has its own cases.
pub(crate) fn judge_work(noticed: &Noticed) -> Verdict {
    let faults = noticed.iter().filter(|fault| !is_of_service(&fault.first));
    let texts: Vec<_> = faults.map(ToString::to_string).collect();
    if texts.is_empty() { Ok(()) } else { failed(texts.join("; ")) }
}

/// Returns whether a fault is in the use of a service of the host that has its own case.
fn is_of_service(fault: &PluginFault) -> bool {
    matches!(
        fault,
        PluginFault::Metric { .. }
            | PluginFault::Progress { .. }
            | PluginFault::Stages { .. }
            | PluginFault::Energy { .. }
            | PluginFault::Tokens { .. }
            | PluginFault::NoTokens { .. }
            | PluginFault::FirstTokenSize { .. }
    )
}

/// Closes an opened plugin that has no models left, and judges how it does.
pub(crate) fn close(backend: Backend) -> Verdict {
    let host = backend.host_side();
    drop(backend);
    judge_work(&host.take_faults())
}

/// Observer that does nothing.
pub(crate) struct Nobody;

impl Observer for Nobody {
    fn end(&self, _error: &HostError) -> ! {
        // Nothing interrupts a case; the process of one that hangs is ended from outside.
        loop {
            std::thread::park();
        }
    }
}

/// Returns an interrupt without signals.
pub(crate) fn undisturbed() -> Interrupt {
    Interrupt::never(Arc::new(Nobody))
}
