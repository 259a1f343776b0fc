//! The frame of a run and of a search: settings checked and warned of, a folder that stays only if something is in it,
//! the report of a crash or a hang, and a note of the error that ended it.

use std::time::Duration;

use proctor_config::Settings;
use proctor_plugin_host::crash;

use crate::{
    accuracy,
    bed::{
        call_watchdog::Watchdog,
        test_bed::{Equipment, TestBed, scheduler_config},
    },
    error::HostError,
    files::run_folder::RunFolder,
    interrupt::Interrupt,
    warnings,
};

/// Surroundings of the tests of a run or a search.
pub(crate) struct Frame {
    pub(crate) settings: Settings,
    pub(crate) folder: RunFolder,
    pub(crate) interrupt: Interrupt,
    /// Watches the calls into the plugin.
    pub(crate) watchdog: Watchdog,
}

impl Frame {
    /// Checks the settings, shows their warnings, and makes the folder.
    ///
    /// # Errors
    /// If the settings are wrong, or the folder cannot be made.
    pub(crate) fn set_up(
        mut settings: Settings,
        interrupt: &Interrupt,
        make_folder: impl FnOnce(&Settings) -> Result<RunFolder, HostError>,
    ) -> Result<Self, HostError> {
        warnings::check(&mut settings)?;
        for warning in &settings.warnings {
            interrupt.observer().message(&format!("warning: {warning}"));
        }
        scheduler_config(&settings.run)?;
        let folder = make_folder(&settings)?;
        let cleanup = folder.clone();
        interrupt.on_exit(move || _ = cleanup.remove_if_empty());
        Ok(Self { settings, folder, interrupt: interrupt.clone(), watchdog: Watchdog::default() })
    }

    /// Opens the test bed with the plugin under watch, and does the work on it. An error is noted in the folder, if
    /// anything is in it, and `hint` says to the user what the folder is good for.
    ///
    /// # Errors
    /// The errors of the work, and those of the plugin, the data and the model.
    pub(crate) fn run<T>(
        mut self,
        hint: &str,
        audit_config: Option<String>,
        work: impl FnOnce(&Self, &TestBed<'_>) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let worked = self.watch_plugin().and_then(|()| {
            let bed = self.open(audit_config)?;
            work(&self, &bed).inspect_err(|_| {
                // Closing the plugin may hang or crash, and what has gone wrong must be told.
                std::mem::forget(bed);
            })
        });
        worked.inspect_err(|error| {
            if !self.folder.remove_if_empty() {
                self.folder.note(&error.report());
                let partial = self.folder.partial().display();
                self.interrupt.observer().message(&format!("{hint} {partial}"));
            }
        })
    }

    /// Opens plugin, data and model, and checks that the answers can be scored.
    ///
    /// # Errors
    /// If any of them is missing, damaged, or does not fit the others.
    fn open(&self, audit_config: Option<String>) -> Result<TestBed<'_>, HostError> {
        let Self { settings, interrupt, watchdog, .. } = self;
        accuracy::response_form(&settings.benchmark)?;
        let equipment = Equipment { watchdog: watchdog.clone(), audit_config, ..Equipment::of(settings) };
        let bed = TestBed::open(settings, equipment, interrupt)?;
        let backend = bed.plugin.backend.clone();
        interrupt.on_second(move || backend.cancel());
        accuracy::check(settings, &bed.data_root, bed.model().precision(), interrupt.observer().as_ref())?;
        Ok(bed)
    }

    /// Has every crash and hang of the plugin reported from here on.
    fn watch_plugin(&mut self) -> Result<(), HostError> {
        crash::install(&self.folder.path("crash.txt"))?;
        let folder = self.folder.clone();
        self.watchdog = watchdog(&self.settings, &self.interrupt, move |report| folder.note(report));
        Ok(())
    }
}

/// Starts a watchdog that ends the program when the plugin hangs, after `note` has had the report.
pub(crate) fn watchdog(
    settings: &Settings,
    interrupt: &Interrupt,
    note: impl FnOnce(&str) + Send + 'static,
) -> Watchdog {
    let limit = Duration::from_millis(settings.run.watchdog_ms);
    let observer = interrupt.observer().clone();
    Watchdog::start(limit, &settings.run.plugin, move |message| {
        let error = HostError::PluginCannot(message);
        note(&error.report());
        observer.end(&error)
    })
}
