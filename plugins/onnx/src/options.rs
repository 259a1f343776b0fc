//! The options of the plugin.

use std::path::PathBuf;

use ort::session::builder::GraphOptimizationLevel;
use proctor_plugin_api::{Manifest, OptionSpec, Options, PluginError, Threads};

use crate::provider::{Provider, library::ProviderOptions};

/// More than any graph has at a time.
const INTER_THREADS_MAX: i64 = 1024;

/// More than any machine has.
const DEVICES_MAX: i64 = 1024;

/// More than any memory has room for.
const WINDOWS_MAX: i64 = 1024;

/// The levels of graph optimisation, the default first.
const LEVELS: [(&str, GraphOptimizationLevel); 4] = [
    ("all", GraphOptimizationLevel::All),
    ("extended", GraphOptimizationLevel::Level2),
    ("basic", GraphOptimizationLevel::Level1),
    ("off", GraphOptimizationLevel::Disable),
];

/// The options, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The runtime library, or the folder that it is in.
    pub library: Option<PathBuf>,
    /// Provider that runs operators; `None` selects the device's namesake.
    pub provider: Option<Provider>,
    /// Library with an execution provider, and what is chosen of it.
    pub ep_library: Option<(PathBuf, ProviderOptions)>,
    /// Name of the level of graph optimisation, one of [`LEVELS`].
    pub level: String,
    /// Threads within an operator.
    pub threads: Threads,
    /// Number of operators that may run at a time.
    pub inter_threads: usize,
    /// Whether threads without work look for it for a while before they sleep.
    pub spin: bool,
    /// Whether memory comes from an arena that keeps it.
    pub arena: bool,
    /// Whether all instances share one session.
    pub shared: bool,
    /// Number of windows of a volume in a call.
    pub windows: usize,
}

pub(crate) fn declare(manifest: Manifest) -> Manifest {
    let providers: Vec<&str> = ["auto"].into_iter().chain(Provider::ALL.map(Provider::name)).collect();
    manifest
        .option(OptionSpec::path(
            "library",
            "The ONNX Runtime library (libonnxruntime.so), or its folder; without it that of ORT_DYLIB_PATH, beside the \
             plugin, or of cargo xtask setup.",
        ))
        .option(OptionSpec::choice(
            "provider",
            &providers,
            "Execution provider: auto is cpu or cuda, as the device is called; tensorrt needs device cuda, openvino cpu.",
        ))
        .option(OptionSpec::path(
            "ep_library",
            "A library with an execution provider for ONNX Runtime 1.22 or later, which computes what it can take.",
        ))
        .option(OptionSpec::text("ep_name", "Name of the provider in ep_library, if that has several."))
        .option(OptionSpec::integer(
            "ep_device",
            0,
            0..=DEVICES_MAX,
            "Number of the device among those that the provider of ep_library offers.",
        ))
        .option(OptionSpec::text(
            "ep_options",
            "Options for the provider of ep_library: KEY=VALUE, with semicolons between several.",
        ))
        .option(OptionSpec::choice(
            "graph_optimisation",
            &LEVELS.map(|(name, _)| name),
            "How far the runtime rewrites the graph at load.",
        ))
        .option(Threads::option())
        .option(OptionSpec::integer(
            "inter_threads",
            1,
            1..=INTER_THREADS_MAX,
            "Operators of a session that may run at a time, each on its own thread; 1 runs them one after the other.",
        ))
        .option(OptionSpec::boolean(
            "spin",
            true,
            "Whether threads without work look for it for a while before they sleep.",
        ))
        .option(OptionSpec::boolean("arena", true, "Whether a session keeps the memory of intermediate results."))
        .option(OptionSpec::choice(
            "session",
            &["each", "shared"],
            "Whether each instance has a session of its own, or all share one with its threads and weights.",
        ))
        .option(OptionSpec::integer(
            "windows",
            1,
            1..=WINDOWS_MAX,
            "Windows that go through the model in one call, where volumes are labelled in windows.",
        ))
}

impl Settings {
    /// Reads the options, which were checked against the manifest, and holds them against the machine.
    ///
    /// # Errors
    /// [`Threads::check`]'s, and options of a provider without a library, or that are no pairs.
    pub(crate) fn read(options: &Options) -> Result<Self, PluginError> {
        let inter_threads =
            options.integer("inter_threads").and_then(|count| usize::try_from(count).ok()).unwrap_or(1);
        let threads = Threads::read(options)?;
        threads.check("inter_threads", inter_threads)?;
        Ok(Self {
            library: options.path("library").map(PathBuf::from),
            provider: options.text("provider").and_then(Provider::from_name),
            ep_library: provider_library(options)?,
            level: options.text("graph_optimisation").unwrap_or(LEVELS[0].0).to_owned(),
            threads,
            inter_threads,
            spin: options.boolean("spin"),
            arena: options.boolean("arena"),
            shared: options.text("session") == Some("shared"),
            windows: options.integer("windows").and_then(|count| usize::try_from(count).ok()).unwrap_or(1),
        })
    }

    pub(crate) fn level(&self) -> GraphOptimizationLevel {
        let found = LEVELS.into_iter().find(|(name, _)| *name == self.level);
        found.map_or(GraphOptimizationLevel::All, |(_, level)| level)
    }

    /// Returns the number of threads within an operator, of each session, for a number of instances.
    pub(crate) fn threads(&self, instance_count: u32) -> usize {
        match self.threads.asked() {
            None if self.shared => of_shared(self.threads.cores(), instance_count),
            Some(threads) if self.shared => threads,
            _ => self.threads.of_each(instance_count),
        }
    }
}

/// Reads the options about a library with an execution provider.
fn provider_library(options: &Options) -> Result<Option<(PathBuf, ProviderOptions)>, PluginError> {
    let [name, pairs] =
        ["ep_name", "ep_options"].map(|option| options.text(option).filter(|it| !it.is_empty()));
    let device = options.integer("ep_device").and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    let Some(path) = options.path("ep_library") else {
        let set = [("ep_name", name.is_some()), ("ep_options", pairs.is_some()), ("ep_device", device > 0)];
        return match set.into_iter().find(|(_, is_set)| *is_set) {
            None => Ok(None),
            Some((option, _)) => Err(PluginError::invalid_argument(format!(
                "{option} is about the provider of a library: name it with --set onnx.ep_library=..."
            ))),
        };
    };
    let no_pair = |part: String| {
        PluginError::invalid_argument(format!(
            "ep_options: \"{part}\" is not KEY=VALUE; several have semicolons between them"
        ))
    };
    let pairs = ProviderOptions::parse_options(pairs.unwrap_or_default()).map_err(no_pair)?;
    Ok(Some((path.to_owned(), ProviderOptions { name: name.map(str::to_owned), device, options: pairs })))
}

/// Returns the number of threads of a session that all instances share, so that together they use each core once. The
/// thread that calls is one of them, and every instance brings its own.
fn of_shared(cores: usize, instance_count: u32) -> usize {
    let instance_count = usize::try_from(instance_count).unwrap_or(usize::MAX).max(1);
    (cores + 1).saturating_sub(instance_count).max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read(given: &[(&str, &str)]) -> Result<Settings, String> {
        let given: BTreeMap<String, String> =
            given.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let specs = declare(Manifest::new("onnx", "0", "")).options;
        let options = Options::resolve(&specs, &given).map_err(|error| error.to_string())?;
        Settings::read(&options).map_err(|error| error.to_string())
    }

    #[test]
    fn without_options_the_device_decides_and_each_instance_has_a_session() {
        let settings = read(&[]).unwrap();
        assert_eq!((settings.provider, settings.shared, settings.threads.asked()), (None, false, None));
        assert!(settings.spin && settings.arena);
        assert!(matches!(settings.level(), GraphOptimizationLevel::All));
    }

    #[test]
    fn more_threads_than_cores_are_refused_with_both_numbers() {
        let cores = read(&[]).unwrap().threads.cores();
        for option in ["threads", "inter_threads"] {
            let error = read(&[(option, &(cores + 1).to_string())]).unwrap_err();
            assert!(
                error.starts_with(&format!("{option} = {} are more threads than the cores", cores + 1)),
                "{error}"
            );
            assert!(read(&[(option, &cores.to_string())]).is_ok());
        }
    }

    #[test]
    fn what_is_said_of_a_provider_needs_its_library() {
        for (option, value) in [("ep_name", "A"), ("ep_options", "a=1"), ("ep_device", "1")] {
            let error = read(&[(option, value)]).unwrap_err();
            assert!(error.starts_with(&format!("{option} is about the provider of a library")), "{error}");
        }
        let error = read(&[("ep_library", "ep.so"), ("ep_options", "a=1;b")]).unwrap_err();
        assert!(error.starts_with("ep_options: \"b\" is not KEY=VALUE"), "{error}");
        let settings = read(&[("ep_library", "ep.so"), ("ep_options", "a=1;b=2"), ("ep_name", "A")]).unwrap();
        let (path, options) = settings.ep_library.unwrap();
        assert_eq!((path.file_name().unwrap(), options.options.len()), ("ep.so".as_ref(), 2));
    }

    #[test]
    fn of_a_shared_session_every_caller_counts_as_a_thread() {
        assert_eq!([of_shared(8, 1), of_shared(8, 3), of_shared(2, 8), of_shared(8, u32::MAX)], [8, 6, 1, 1]);
    }
}
