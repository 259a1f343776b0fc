//! `host describe`: shows a plugin's own description, its options, and how it will run a model.

use std::time::{Duration, Instant};

use clap::Args;
use proctor_plugin_api::{ModelSupport, OptionSpec};
use proctor_plugin_host::LoadedPlugin;

use super::run::RunFlags;
use crate::setting_flags::SettingFlags;
use proctor_bed::{Interrupt, explain_model, load_plugin};
use proctor_display::Terminal;
use proctor_words::{HostError, text};

/// Flags of `host describe`.
#[derive(Debug, Args)]
pub(crate) struct DescribeFlags {
    /// Name of a plugin, or path to its library
    pub(super) plugin: String,
    /// Load the model of this benchmark, as a run would, and show how the plugin would run it
    #[arg(long, value_name = "BENCHMARK")]
    plan: Option<String>,
    /// With --plan: scenario of the run [default: SingleStream]
    #[arg(long, requires = "plan")]
    scenario: Option<String>,
    /// With --plan: maximum number of samples in a batch [default: 1]
    #[arg(long, value_name = "SAMPLES", requires = "plan")]
    batch_size: Option<String>,
    /// With --plan: precision to compute in [default: the plugin's first for the model]
    #[arg(long, requires = "plan")]
    precision: Option<String>,
    /// With --plan: folder with the data sets and models
    #[arg(long, value_name = "FOLDER", requires = "plan")]
    data_root: Option<String>,
    /// With --plan: set any setting, or a plugin option as PLUGIN.OPTION; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "plan")]
    pub(super) set: Vec<String>,
}

impl DescribeFlags {
    /// Returns the plugin's description of itself; with `--plan`, its own explanation of how it would run a model.
    ///
    /// # Errors
    /// Returns the errors of the settings, and of loading the plugin or the model.
    pub(super) fn run(&self) -> Result<String, HostError> {
        let interrupt = Interrupt::never(Terminal::observer());
        let plugin = SettingFlags::default().with("plugin", Some(&self.plugin));
        let Some(benchmark) = &self.plan else {
            let settings = RunFlags { settings: plugin, ..RunFlags::default() }.load()?;
            let start = Instant::now();
            let library = load_plugin(&settings, &interrupt)?;
            return Ok(description(&library, start.elapsed()));
        };
        let settings = plugin
            .with("benchmark", Some(benchmark))
            .with("scenario", self.scenario.as_deref())
            .with("batch_size", self.batch_size.as_deref())
            .with("precision", self.precision.as_deref())
            .with("data_root", self.data_root.as_deref());
        let run = RunFlags { settings, set: self.set.clone(), ..RunFlags::default() };
        explain_model(&run.load()?, &interrupt)
    }
}

pub(super) const DESCRIBE_HELP: &str = "\
Examples:
  host describe cpu-rnn
  host describe cpu-rnn --plan digits-lstm --set cpu-rnn.threads=2
  host describe target/release/libmock_sut.so";

/// Returns the description of a plugin, which is loaded for it, but not opened.
fn description(library: &LoadedPlugin, load_time: Duration) -> String {
    let (manifest, identity) = (library.manifest(), library.identity());
    let pair = |key: &str, value: String| vec![key.to_owned(), value];
    let yes_no = |value: bool| if value { "yes" } else { "no" }.to_owned();
    let about = [
        pair("vendor", manifest.vendor.clone()),
        pair("license", manifest.license.clone()),
        pair("source", identity.source.clone()),
        pair("sha256", library.sha256().unwrap_or("-").to_owned()),
        pair("loaded in", text::duration(u64::try_from(load_time.as_nanos()).unwrap_or(u64::MAX))),
        pair("ABI version", format!("{}.{}", identity.abi_major, identity.abi_minor)),
        pair("whole queries", yes_no(manifest.issue)),
        pair("concurrent issue", yes_no(manifest.concurrent_issue)),
        pair("network", yes_no(manifest.network)),
        pair("virtual time", yes_no(manifest.virtual_time)),
    ];
    let models: Vec<_> =
        [head(MODEL_COLUMNS)].into_iter().chain(manifest.models.iter().map(model_row)).collect();
    let options: Vec<_> =
        [head(OPTION_COLUMNS)].into_iter().chain(manifest.options.iter().map(option_row)).collect();
    let mut description = format!(
        "{} {}: {}\n{}\nModels\n{}\n",
        manifest.name,
        manifest.version,
        manifest.description,
        text::table(&about),
        text::table(&models)
    );
    if manifest.options.is_empty() {
        description.push_str("It has no options.\n");
    } else {
        let name = &manifest.name;
        let options = text::table(&options);
        description.push_str(&format!("Options (--set {name}.OPTION=VALUE)\n{options}"));
    }
    description
}

const MODEL_COLUMNS: [&str; 7] =
    ["model", "format", "precision", "device", "largest batch", "memory", "scenarios"];
const OPTION_COLUMNS: [&str; 4] = ["option", "default", "takes", "what it does"];

fn head<const N: usize>(columns: [&str; N]) -> Vec<String> {
    columns.map(str::to_owned).to_vec()
}

fn model_row(model: &ModelSupport) -> Vec<String> {
    let scenarios: Vec<_> = model.scenarios.iter().map(|scenario| scenario.name()).collect();
    vec![
        model.model.clone(),
        model.format.clone(),
        model.precision.clone(),
        model.device.clone(),
        if model.batch_size_max == 0 { "any".to_owned() } else { model.batch_size_max.to_string() },
        if model.memory_bytes == 0 { "-".to_owned() } else { format!("{} bytes", model.memory_bytes) },
        scenarios.join(", "),
    ]
}

fn option_row(option: &OptionSpec) -> Vec<String> {
    vec![
        option.name.clone(),
        option.default.clone().unwrap_or_else(|| "-".to_owned()),
        option.kind.to_string(),
        option.help.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_plugin_is_described() {
        let settings = proctor_config::Loader::new().flag("", "plugin", "cpu-rnn").load().unwrap();
        let library = load_plugin(&settings, &Interrupt::never(Terminal::observer())).unwrap();
        let text = description(&library, Duration::from_micros(2500));
        assert!(text.starts_with("cpu-rnn "), "{text}");
        assert!(text.contains("\n  loaded in         2.500 ms\n"), "{text}");
        assert!(text.contains("digits-lstm") || text.contains("  *  "), "{text}");
        assert!(text.contains("SingleStream, MultiStream, Server, Offline"), "{text}");
    }
}
