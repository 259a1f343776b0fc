//! `host describe`: what a plugin says of itself, its options, and how it will run a model.

use proctor_config::Loader;
use proctor_plugin_api::{Manifest, ModelSupport, OptionSpec};
use proctor_plugin_host::{LoadedPlugin, PluginIdentity, SearchPath, crash};

use crate::cli::run::RunFlags;
use proctor_display::Terminal;
use proctor_run::{HostError, Interrupt, explain_model, text};

/// The description of a plugin, given by name or path. It is loaded for it, but not opened.
pub(crate) fn describe(plugin: &str) -> Result<String, HostError> {
    let settings = Loader::from_system().load()?;
    let location = SearchPath::standard(&settings.run.plugin_path).find(plugin)?;
    // There is no run folder for the report.
    crash::install(&std::env::temp_dir().join(format!("proctor-crash-{}.txt", std::process::id())))?;
    let library = LoadedPlugin::load(&location)?;
    Ok(description(library.manifest(), library.identity()))
}

/// The plugin's own explanation of how it would run the model of a run with these flags.
///
/// # Errors
/// The errors of the settings and of [`explain_model`].
pub(crate) fn plan(flags: &RunFlags) -> Result<String, HostError> {
    explain_model(&flags.load()?, &Interrupt::never(Terminal::observer()))
}

fn description(manifest: &Manifest, identity: &PluginIdentity) -> String {
    let pair = |key: &str, value: String| vec![key.to_owned(), value];
    let yes_no = |value: bool| if value { "yes" } else { "no" }.to_owned();
    let about = [
        pair("vendor", manifest.vendor.clone()),
        pair("license", manifest.license.clone()),
        pair("source", identity.source.clone()),
        pair("sha256", identity.sha256.clone().unwrap_or_else(|| "-".to_owned())),
        pair("ABI version", format!("{}.{}", identity.abi_major, identity.abi_minor)),
        pair("whole queries", yes_no(manifest.issue)),
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
        let text = describe("cpu-rnn").unwrap();
        assert!(text.starts_with("cpu-rnn "), "{text}");
        assert!(text.contains("digits-lstm") || text.contains("  *  "), "{text}");
        assert!(text.contains("SingleStream, MultiStream, Server, Offline"), "{text}");
    }
}
