//! How a plugin will run the model of a benchmark, in its own words.

use std::time::Duration;

use proctor_config::Settings;
use proctor_datasets::DataRoot;
use proctor_plugin_host::crash;

use crate::{
    bed::{
        call_watchdog::{Call, Watchdog},
        plugin::Plugin,
        test_bed::HostClock,
    },
    error::HostError,
    files::cache_folder::CacheFolder,
};

/// Opens the plugin, loads the model as a run with these settings would, and returns the plugin's explanation of it.
///
/// # Errors
/// As of a run, until the model is loaded; [`HostError::PluginCannot`] if the plugin does not say.
pub fn explain_model(settings: &Settings) -> Result<String, HostError> {
    // There is no run folder for the report.
    crash::install(&std::env::temp_dir().join(format!("proctor-crash-{}.txt", std::process::id())))?;
    let limit = Duration::from_millis(settings.run.watchdog_ms);
    let watchdog = Watchdog::start(limit, &settings.run.plugin, |_| {});
    let cache = CacheFolder::open(settings);
    let text = ask(settings, &watchdog, &cache);
    cache.close();
    text
}

fn ask(settings: &Settings, watchdog: &Watchdog, cache: &CacheFolder) -> Result<String, HostError> {
    let clock = HostClock::new(false, settings.run.wait_policy());
    let plugin = Plugin::open(settings, watchdog, clock.reader(), cache)?;
    let root = DataRoot::new(settings.run.data_root.as_deref());
    let model = plugin.load_model(settings, &root, watchdog)?;
    let explained = watchdog.during(Call::Explain, || model.explain())?;
    let title = plugin.title();
    let heading = format!(
        "{title}: {} ({}), batches of up to {}\n",
        settings.benchmark.model.id,
        model.precision(),
        settings.run.batch_size
    );
    watchdog.during(Call::Close, || drop((model, plugin)));
    match explained {
        Some(text) => Ok(format!("{heading}{}\n", text.trim_end())),
        None => Err(HostError::PluginCannot(format!(
            "{title} does not say how it runs a model: it has no explanation for model \"{}\"",
            settings.benchmark.model.id
        ))),
    }
}
