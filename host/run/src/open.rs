//! Everything that tests are made with, opened: the plugin, its model, the data, the clock.

use std::{cell::Cell, mem::ManuallyDrop, time::Duration};

use proctor_config::Settings;
use proctor_datasets::DataRoot;
use proctor_plugin_host::crash;

use crate::{
    accuracy,
    bed::{
        call_watchdog::{Call, Watchdog},
        plugin::Plugin,
        sample_library::{Data, Library},
        system::StampLog,
        test_bed::{HostClock, TestBed},
    },
    error::HostError,
    files::{cache_folder::CacheFolder, run_folder::RunFolder},
    interrupt::Interrupt,
    machine::Machine,
};

/// A test bed and what it stands on.
pub(crate) struct Opened<'a> {
    /// Not to be dropped unless the plugin has come to its end: what hangs must not be waited for.
    pub(crate) bed: ManuallyDrop<TestBed<'a>>,
    pub(crate) root: DataRoot,
    pub(crate) machine: Machine,
    cache: CacheFolder,
}

impl<'a> Opened<'a> {
    /// Opens the plugin and the data, and loads the model.
    ///
    /// # Errors
    /// If any of them is missing, damaged, or does not fit the others.
    pub(crate) fn open(
        folder: &RunFolder,
        settings: &'a Settings,
        audit_config: Option<String>,
        interrupt: &Interrupt,
    ) -> Result<Self, HostError> {
        // Whatever the plugin does from here on, there is a report of it.
        crash::install(&folder.path("crash.txt"))?;
        let limit = Duration::from_millis(settings.run.watchdog_ms);
        let last_words = folder.clone();
        let watchdog = Watchdog::start(limit, &settings.run.plugin, move |text| last_words.note(text));

        // The plugin.
        let cache = CacheFolder::open(settings);
        let clock = HostClock::new(settings.run.virtual_time, settings.run.wait_policy());
        let plugin = Plugin::open(settings, &watchdog, clock.reader(), &cache)?;
        let backend = plugin.backend.clone();
        interrupt.on_second(move || backend.cancel());

        // The data and the model.
        let machine = Machine::read();
        let root = DataRoot::new(settings.run.data_root.as_deref());
        accuracy::response_form(&settings.benchmark)?;
        let data = Data::open(settings, &root, &machine)?;
        let model = plugin.load_model(settings, &root, &watchdog)?;
        accuracy::check(settings, &root, model.precision())?;
        let library = Library::new(data, model.clone(), watchdog.clone());
        let bed = ManuallyDrop::new(TestBed {
            settings,
            clock,
            plugin,
            model,
            library,
            watchdog,
            interrupt: interrupt.clone(),
            audit_config,
            phase_count: Cell::new(0),
            stamps: None,
        });
        Ok(Self { bed, root, machine, cache })
    }

    /// Closes the plugin, unless it is left alone because it hangs.
    pub(crate) fn close(self, is_abandoned: bool) {
        if !is_abandoned {
            let watchdog = self.bed.watchdog.clone();
            watchdog.during(Call::Close, || drop(ManuallyDrop::into_inner(self.bed)));
        }
        self.cache.close();
    }
}

/// Opens plugin, data and model for tests that leave nothing on the disk. Instances note the stamps of their batches.
///
/// # Errors
/// If any of them is missing, damaged, or does not fit the others.
pub fn open_bed(settings: &Settings) -> Result<TestBed<'_>, HostError> {
    let watchdog = Watchdog::default();
    let cache = CacheFolder::open(settings);
    let clock = HostClock::new(false, settings.run.wait_policy());
    let plugin = Plugin::open(settings, &watchdog, clock.reader(), &cache)?;
    let root = DataRoot::new(settings.run.data_root.as_deref());
    let data = Data::open(settings, &root, &Machine::read())?;
    let model = plugin.load_model(settings, &root, &watchdog)?;
    let library = Library::new(data, model.clone(), watchdog.clone());
    Ok(TestBed {
        settings,
        clock,
        plugin,
        model,
        library,
        watchdog,
        interrupt: Interrupt::default(),
        audit_config: None,
        phase_count: Cell::new(0),
        stamps: Some(StampLog::default()),
    })
}
