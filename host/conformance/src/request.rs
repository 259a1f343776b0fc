//! The plugin to validate, and the settings to do it with: for a suite, and for the processes of its cases.

use std::path::PathBuf;

use proctor_config::{ConfigErrors, Loader, Settings};
use proctor_vocabulary::Scenario;
use serde::{Deserialize, Serialize};

/// Plugin to validate, and the model to run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Name of the plugin, or path of its library.
    pub plugin: String,
    /// Name of the benchmark whose model to run, or path of its definition; if `None`, the suite takes a
    /// small model of ours that the plugin declares.
    pub benchmark: Option<String>,
    /// Precision to compute in; if `None`, the plugin's first for the model.
    pub precision: Option<String>,
    /// Folder of the data sets and models; if `None`, the bundled one.
    pub data_root: Option<PathBuf>,
    /// Settings and options of the plugin, `key=value` each, as `host run --set` takes them.
    pub set: Vec<String>,
}

impl Request {
    /// Returns the settings of a run for this plugin, from the sources of `host run`.
    ///
    /// # Errors
    /// Returns everything that is wrong with them.
    pub(crate) fn settings(
        &self,
        benchmark: Option<&str>,
        scenario: Option<Scenario>,
    ) -> Result<Settings, ConfigErrors> {
        let data_root = self.data_root.as_ref().map(|folder| folder.display().to_string());
        let flags = [
            ("--benchmark", "benchmark", benchmark.or(self.benchmark.as_deref()).map(str::to_owned)),
            ("--precision", "precision", self.precision.clone()),
            ("--data-root", "data_root", data_root),
            ("--scenario", "scenario", scenario.map(|scenario| scenario.name().to_owned())),
        ];
        let loader = Loader::from_system().flag("PLUGIN", "plugin", &self.plugin);
        let loader = flags
            .into_iter()
            .fold(loader, |loader, (flag, key, value)| loader.optional_flag(flag, key, value));
        let mut settings = loader.set_all(&self.set).load()?;
        // None of them would say anything of the plugin.
        (settings.run.floor, settings.run.noise, settings.run.enable_trace) = (false, false, false);
        Ok(settings)
    }
}
