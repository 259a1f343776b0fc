//! A plugin whose crashes and hangs are reported.

use std::{mem, time::Duration};

use proctor_config::Settings;
use proctor_plugin_host::{LoadedPlugin, SearchPath, crash};
use proctor_words::HostError;

use crate::{call_watchdog::Watchdog, fault::Fault, interrupt::Interrupt};

/// Finds and loads the plugin that the settings name, for a program without a run folder: every crash and hang is
/// reported from here on.
///
/// # Errors
/// If there is no such plugin, or it cannot be loaded.
pub fn load_plugin(settings: &Settings, interrupt: &Interrupt) -> Result<LoadedPlugin, HostError> {
    watch_without_folder(settings, interrupt)?;
    let location = SearchPath::standard(&settings.run.plugin_path).find(&settings.run.plugin)?;
    Ok(LoadedPlugin::load(&location)?)
}

/// Starts reporting every crash and hang of the plugin, even though there is no run folder for it.
///
/// # Errors
/// If the report of a crash cannot be set up.
pub fn watch_without_folder(settings: &Settings, interrupt: &Interrupt) -> Result<(), HostError> {
    crash::install_without_folder()?;
    // The program is watched to its end.
    mem::forget(watchdog(settings, interrupt, |_, _| ()));
    Ok(())
}

/// Starts a watchdog that ends the program when the plugin hangs, after passing the fault to `note`, also as an error.
/// It watches until it is dropped.
pub fn watchdog(
    settings: &Settings,
    interrupt: &Interrupt,
    note: impl FnOnce(Fault, &HostError) + Send + 'static,
) -> Watchdog {
    let limit = Duration::from_millis(settings.run.watchdog_ms);
    let observer = interrupt.observer().clone();
    Watchdog::start(limit, &settings.run.plugin, move |hang| {
        let error = HostError::plugin(hang.to_string());
        note(hang, &error);
        observer.end(&error)
    })
}
