//! Describes how a plugin will run the model of a benchmark, in its own words.

use proctor_config::Settings;
use proctor_datasets::DataRoot;
use proctor_results::DevicePart;
use proctor_words::{CacheFolder, HostError, PluginError, text::table};

use crate::{
    call_watchdog::{Watchdog, watched::watch_without_folder},
    clock::HostClock,
    interrupt::Interrupt,
    placement::{Placement, allowed_cores},
    plugin::Plugin,
};

/// Opens the plugin, loads the model as a run with these settings would, and returns the plugin's explanation of it.
/// A model that has to be made first is made in the folder of caches: nothing is put into a data root.
///
/// # Errors
/// Returns the errors of a run, until the model is loaded; [`HostError::PluginCannot`] if the plugin does not say.
pub fn explain_model(settings: &Settings, interrupt: &Interrupt) -> Result<String, HostError> {
    watch_without_folder(settings, interrupt)?;
    allowed_cores();
    let clock = HostClock::new(false, settings.run.wait_policy());
    let (cache, observer) = (CacheFolder::open(settings), interrupt.observer());
    let root = DataRoot::new(settings.run.data_root.as_deref()).read_only();
    let plugin = Plugin::open(settings, &root, &clock, cache, &Watchdog::default(), observer.as_ref())?;
    let placement = Placement::new(settings, plugin.dispatch);
    let model = plugin.load_model(settings, settings.benchmark.qsl, &placement, observer.as_ref())?;
    let title = plugin.title();
    match model.explain()? {
        Some(text) => Ok(format!(
            "{title}: {} ({}), batches of up to {}\n{}\n{}",
            settings.benchmark.model.id,
            model.precision(),
            settings.run.batch_size,
            text.trim_end(),
            devices_in_words(&plugin)
        )),
        None => Err(PluginError::NoExplanation { title, model: settings.benchmark.model.id.clone() }.into()),
    }
}

/// Returns the devices for the instances; nothing if the plugin lists none.
fn devices_in_words(plugin: &Plugin) -> String {
    let unknown = || "-".to_owned();
    let row = |device: DevicePart| {
        vec![
            device.index.to_string(),
            device.name,
            device.id.unwrap_or_else(unknown),
            device.memory_bytes.map_or_else(unknown, |bytes| format!("{bytes} bytes")),
            device.numa_node.map_or_else(unknown, |node| node.to_string()),
        ]
    };
    let rows: Vec<_> = plugin.devices.parts(usize::MAX).into_iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = ["device", "name", "id", "memory", "NUMA node"].map(str::to_owned).to_vec();
    format!("Devices (--set devices=0,...)\n{}", table(&[vec![head], rows].concat()))
}
