//! Turns the sources of settings into [`Settings`].

use std::{
    collections::{BTreeMap, HashSet},
    io,
    path::{Path, PathBuf},
};

use proctor_loadgen::{
    Rules, TestSettings,
    config_file::{self, ConfigFileKind, ConfigFileReport, OtherModel},
};
use proctor_vocabulary::{Scenario, did_you_mean};

use crate::{
    arrivals,
    benchmark::{
        Benchmark,
        library::{benchmarks, find},
    },
    check::{Form, Raw, check_source, check_value},
    engine::OfficialEngine,
    error::{ConfigError, ConfigErrors},
    file,
    file::text::{read_bytes, read_text},
    key::DefaultValue,
    keys,
    layers::{Layer, Layers},
    origin::Origin,
    preset,
    run_settings::PRESETS,
    settings::{self, Settings},
    suite::{
        self,
        choice::{RoundScenario, Suite},
        interactive::RoundsWithInteractive,
    },
    value::Value,
};

/// Name of the configuration file.
pub const CONFIG_FILE: &str = "proctor.toml";
/// Start of the names of environment variables that are settings.
const VARIABLE_PREFIX: &str = "PROCTOR_";
/// The variable with that prefix that is not a setting: the filter of the log.
const LOG_VARIABLE: &str = "PROCTOR_LOG";

/// Collects the sources of settings and makes [`Settings`] of them.
///
/// The weakest first: defaults, seeds of the round, preset, benchmark definition, row of its round, the rate of a trace
/// of arrivals, configuration file, `mlperf.conf`, `user.conf`, environment, records of an earlier run, flags. A later
/// flag goes before an earlier one.
#[derive(Debug, Clone, Default)]
pub struct Loader {
    config_file: Option<PathBuf>,
    /// The text of a configuration file, with the name for its origins.
    config_text: Option<(PathBuf, String)>,
    search_folder: Option<PathBuf>,
    mlperf_conf: Option<PathBuf>,
    user_conf: Option<PathBuf>,
    environment: Vec<(String, String)>,
    /// Settings of an earlier run, from its result or log.
    recorded: Vec<Raw>,
    flags: Vec<Raw>,
    /// Arguments of `--set` that are not assignments.
    malformed: Vec<String>,
}

impl Loader {
    /// Creates a loader without any source but the defaults. It reads neither the environment nor the current folder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a loader with the environment of the process and the `proctor.toml` of the current folder, if there is
    /// one.
    #[must_use]
    pub fn from_system() -> Self {
        // A variable that is not UTF-8 can be no setting, since all names are.
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        Self::new()
            .search_folder(".")
            .environment(std::env::vars_os().map(|(name, value)| (text(name), text(value))))
    }

    /// Reads this configuration file, which has to exist, instead of searching for one.
    #[must_use]
    pub fn config_file(self, path: impl Into<PathBuf>) -> Self {
        Self { config_file: Some(path.into()), ..self }
    }

    /// Takes this text for the configuration file instead of reading one. `name` is for origins and errors.
    #[must_use]
    pub fn config_text(self, name: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self { config_text: Some((name.into(), text.into())), ..self }
    }

    /// Reads the `proctor.toml` of this folder if there is one.
    #[must_use]
    pub fn search_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { search_folder: Some(folder.into()), ..self }
    }

    /// Applies an `mlperf.conf`, which may also set the seeds.
    #[must_use]
    pub fn mlperf_conf(self, path: impl Into<PathBuf>) -> Self {
        Self { mlperf_conf: Some(path.into()), ..self }
    }

    /// Applies a `user.conf`.
    #[must_use]
    pub fn user_conf(self, path: impl Into<PathBuf>) -> Self {
        Self { user_conf: Some(path.into()), ..self }
    }

    /// Reads these environment variables, name and value. Skips variables that do not start with `PROCTOR_`.
    #[must_use]
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(variables);
        self
    }

    /// Takes a setting from the record of an earlier run, which is this file. Flags go before it without a warning.
    #[must_use]
    pub fn recorded(mut self, file: &Path, key: impl Into<String>, value: impl Into<String>) -> Self {
        let origin = Origin::Recorded { path: file.to_owned() };
        self.recorded.push(Raw { key: key.into(), text: value.into(), form: Form::Plain, origin });
        self
    }

    /// Chooses the benchmark by name, or by the path of its definition.
    #[must_use]
    pub fn benchmark(self, name: impl Into<String>) -> Self {
        self.flag("--benchmark", "benchmark", name)
    }

    /// Sets a setting from the command line. `flag` is how the user wrote it, for the origin and for errors.
    #[must_use]
    pub fn flag(mut self, flag: impl Into<String>, key: impl Into<String>, value: impl Into<String>) -> Self {
        let origin = Origin::Flag { flag: flag.into() };
        self.flags.push(Raw { key: key.into(), text: value.into(), form: Form::Plain, origin });
        self
    }

    /// Sets a setting from the command line if there is a value: the form that optional flags want.
    #[must_use]
    pub fn optional_flag(self, flag: &str, key: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.flag(flag, key, value.to_string()),
            None => self,
        }
    }

    /// Makes these assignments, each as [`set`](Self::set) does.
    #[must_use]
    pub fn set_all<T: AsRef<str>>(self, assignments: impl IntoIterator<Item = T>) -> Self {
        assignments.into_iter().fold(self, |loader, assignment| loader.set(assignment.as_ref()))
    }

    /// Sets a setting or a plugin option by an assignment, the argument of `--set`.
    #[must_use]
    pub fn set(mut self, assignment: &str) -> Self {
        match assignment.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                let key = key.trim();
                self.flag(format!("--set {key}"), key, value.trim())
            }
            _ => {
                self.malformed.push(assignment.to_owned());
                self
            }
        }
    }

    /// Reads all sources, checks everything, and merges it.
    ///
    /// # Errors
    /// Returns everything that is wrong, as far as one problem does not hide another.
    pub fn load(self) -> Result<Settings, ConfigErrors> {
        let malformed = self.malformed.iter().cloned();
        let mut errors: Vec<_> = malformed
            .map(|text| ConfigError::MalformedAssignment { flag: "--set".to_owned(), text })
            .collect();
        let file = self.read_config_file(&mut errors);
        let environment = self.read_environment();
        let raws = [&file, &environment, &self.recorded, &self.flags];

        // These four decide the lower layers, so they are looked up before there are layers.
        let of_round: RoundScenario =
            selected(&raws, "scenario").1.parse().unwrap_or(Scenario::SingleStream.into());
        let scenario = of_round.loadgen();
        let preset_name = selected(&raws, "preset").1;
        let known_preset = PRESETS.iter().find(|name| name.eq_ignore_ascii_case(&preset_name));
        let engine = OfficialEngine::chosen(&selected(&raws, "engine").1);
        let (rules, rules_of_engine) = choose_rules(&raws, engine);
        let mut benchmark = choose_benchmark(&raws, of_round, rules, &mut errors);

        let mut lower = lower_layers(known_preset.unwrap_or(&"quick"), rules, &benchmark, of_round);
        lower.extend(rules_of_engine);
        // Keep the user's values apart until it is known whether there is a trace below them.
        let mut upper = Layers::default();
        let mut warnings = Vec::new();
        upper.extend(layers_of(&file, scenario, &mut warnings, &mut errors));
        let confs = [(&self.mlperf_conf, ConfigFileKind::Builtin), (&self.user_conf, ConfigFileKind::User)];
        for (path, kind) in confs {
            let Some(path) = path else { continue };
            let below = settings::test_settings(&lower.clone().under(&upper).effective());
            upper.extend(read_conf(path, kind, &benchmark, of_round, below, &mut warnings, &mut errors));
        }
        upper.extend(layers_of(&environment, scenario, &mut warnings, &mut errors));
        upper.extend(layers_of(&self.recorded, scenario, &mut warnings, &mut errors));
        upper.extend(layers_of(&self.flags, scenario, &mut warnings, &mut errors));
        let mut effective = lower.clone().under(&upper).effective();
        if let Some(layer) = engine.and_then(|engine| engine.expected_latency(&effective, scenario)) {
            lower.put(layer);
            effective = lower.clone().under(&upper).effective();
        }
        let mut run = settings::run_settings(&effective);
        let trace = arrivals::read_trace(&run).unwrap_or_else(|error| {
            errors.push(*error);
            None
        });
        match trace.as_ref().map(|trace| arrivals::rate_of_trace(&run, trace)) {
            Some(Ok(rate)) => {
                lower.put(rate);
                effective = lower.under(&upper).effective();
            }
            Some(Err(error)) => errors.push(*error),
            None => {}
        }
        let suite_origin = &effective["suite"].origin;
        warnings.extend(settle_suite(&mut run.suite, &benchmark, rules, suite_origin, &mut errors));
        let target = &effective["quality_target"];
        let (quality_origin, warning) =
            suite::link::follow_quality(&mut benchmark, rules, run.suite, target, &mut errors);
        warnings.extend(warning);
        if !errors.is_empty() {
            return Err(ConfigErrors(errors));
        }
        let options = effective.iter().filter(|(name, _)| name.contains('.'));
        let plugin_options = options.map(|(name, option)| (name.clone(), option.value.to_string())).collect();
        let mut test = settings::test_settings(&effective);
        test.arrivals = arrivals::process(&run, trace);
        let audited = None;
        let loadgen_files = [self.mlperf_conf, self.user_conf].into_iter().flatten().collect();
        Ok(Settings {
            run,
            test,
            audited,
            benchmark,
            quality_origin,
            plugin_options,
            effective,
            loadgen_files,
            warnings,
        })
    }

    /// Returns some settings of the host as the sources give them, unchecked, or their defaults; a source in error
    /// gives none. For a program that becomes another one before it loads everything.
    #[must_use]
    pub fn glance<const N: usize>(&self, keys: [&str; N]) -> [Option<String>; N] {
        let file = self.read_config_file(&mut Vec::new());
        let environment = self.read_environment();
        let is_unset =
            |key: &str| matches!(keys::find(key).map(|key| key.default), None | Some(DefaultValue::Unset(_)));
        keys.map(|key| {
            let (origin, text) = selected(&[&file, &environment, &self.recorded, &self.flags], key);
            (origin != Origin::Default || !is_unset(key)).then_some(text)
        })
    }

    fn read_config_file(&self, errors: &mut Vec<ConfigError>) -> Vec<Raw> {
        if let Some((name, text)) = &self.config_text {
            return file::read(text, name, errors);
        }
        let found = self.search_folder.as_ref().map(|folder| folder.join(CONFIG_FILE));
        let Some(path) = self.config_file.clone().or(found) else { return Vec::new() };
        // The name leaves out the current folder, as users do.
        let path = path.strip_prefix(".").unwrap_or(&path);
        match read_text(path) {
            Ok(text) => file::read(&text, path, errors),
            Err(error) => {
                if self.config_file.is_some() || !is_absent(&error) {
                    errors.push(*error);
                }
                Vec::new()
            }
        }
    }

    fn read_environment(&self) -> Vec<Raw> {
        let settings = self.environment.iter().filter(|(name, _)| name != LOG_VARIABLE);
        let raws = settings.filter_map(|(name, value)| {
            let key = name.strip_prefix(VARIABLE_PREFIX)?.to_ascii_lowercase();
            let origin = Origin::Environment { variable: name.clone() };
            Some(Raw { key, text: value.clone(), form: Form::Plain, origin })
        });
        raws.collect()
    }
}

fn is_absent(error: &ConfigError) -> bool {
    matches!(error, ConfigError::CannotRead { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// Returns the layers of one source: a file, the environment, or the flags. Where it gives a setting two values, a
/// warning says which one wins.
fn layers_of(
    raws: &[Raw],
    scenario: Scenario,
    warnings: &mut Vec<String>,
    errors: &mut Vec<ConfigError>,
) -> Vec<Layer> {
    let layers = check_source(raws, scenario, errors);
    warnings.extend(set_twice(&layers));
    layers
}

/// Returns a warning for each layer whose setting a later layer overrides in another way. Repeating the same
/// flag is allowed, and so is one seed in addition to a seed for all: that is how exceptions are made.
fn set_twice(layers: &[Layer]) -> Vec<String> {
    let mut winners = BTreeMap::new();
    for layer in layers {
        for (key, value) in &layer.values {
            winners.insert(key.as_str(), (layer, value));
        }
    }
    let mut warnings = Vec::new();
    for layer in layers {
        let Some((key, value)) = layer.values.first() else { continue };
        let (winner, in_effect) = winners[key.as_str()];
        let is_exception = layer.values.len() > winner.values.len();
        if in_effect != value && winner.origin != layer.origin && !is_exception {
            let (stronger, weaker) = (&winner.origin, &layer.origin);
            warnings
                .push(format!("{key} is set twice: {in_effect} ({stronger}) wins over {value} ({weaker})"));
        }
    }
    warnings
}

/// Returns the value of a setting in the topmost of these layers, unchecked, or the default.
fn selected(layers: &[&Vec<Raw>], key: &str) -> (Origin, String) {
    let found = layers.iter().rev().find_map(|layer| layer.iter().rfind(|raw| raw.key == key));
    match found {
        Some(raw) => (raw.origin.clone(), raw.text.trim().to_owned()),
        None => {
            let default = keys::find(key).and_then(|key| key.default.value());
            (Origin::Default, default.map(|value| value.to_string()).unwrap_or_default())
        }
    }
}

/// Returns the round, and the layer that it comes from if the load generator decides.
fn choose_rules(raws: &[&Vec<Raw>], engine: Option<OfficialEngine>) -> (Rules, Option<Layer>) {
    let (origin, text) = selected(raws, "rules");
    match engine.filter(|_| origin == Origin::Default).map(OfficialEngine::rules) {
        Some((rules, layer)) => (rules, Some(layer)),
        None => (text.parse().unwrap_or_default(), None),
    }
}

/// Checks the setting `suite`, and drops it with a warning if it has no effect.
fn settle_suite(
    suite: &mut Option<Suite>,
    benchmark: &Benchmark,
    rules: Rules,
    origin: &Origin,
    errors: &mut Vec<ConfigError>,
) -> Option<String> {
    match suite::link::check_suite(benchmark, rules, *suite, origin) {
        Ok(without_effect) => without_effect.inspect(|_| *suite = None),
        Err(error) => {
            errors.push(*error);
            None
        }
    }
}

/// Returns the layers that nobody has given: defaults, seeds of the round, preset, benchmark, row of its round.
fn lower_layers(preset: &str, rules: Rules, benchmark: &Benchmark, of_round: RoundScenario) -> Layers {
    let mut lower = Layers::of_defaults_but(preset::defaults(), suite::link::seeds(rules));
    lower.put(preset::preset(preset, rules, benchmark, of_round));
    lower.put(benchmark.layer(of_round));
    lower.extend(suite::link::layer(benchmark, rules, of_round, preset == preset::OFFICIAL));
    lower
}

/// Returns the chosen benchmark. After an error the first built-in one replaces it, so that the rest can be checked.
fn choose_benchmark(
    upper: &[&Vec<Raw>],
    scenario: RoundScenario,
    rules: Rules,
    errors: &mut Vec<ConfigError>,
) -> Benchmark {
    let (origin, name) = selected(upper, "benchmark");
    let benchmark = match find(&name, &origin) {
        Ok(benchmark) => benchmark,
        Err(problems) => {
            errors.extend(problems);
            return benchmarks().next().expect("there are built-in ones").clone();
        }
    };
    let (scenario_origin, scenario_text) = selected(upper, "scenario");
    // A scenario that does not exist at all is reported with its layer.
    if scenario_text.parse() != Ok(scenario) {
        return benchmark;
    }
    if !benchmark.scenarios.contains_key(&scenario) {
        let known: Vec<_> = benchmark.scenarios.keys().map(|scenario| scenario.name()).collect();
        let is_interactive = scenario == RoundScenario::Interactive;
        errors.push(ConfigError::NoSuchScenario {
            origin: scenario_origin,
            benchmark: benchmark.id.clone(),
            scenario,
            reason: benchmark.refused.get(&scenario).cloned().unwrap_or_default(),
            known: known.join(", "),
            having: match is_interactive {
                true => RoundsWithInteractive::of(&benchmark).to_string(),
                false => String::new(),
            },
        });
    } else if let Err(error) = suite::interactive::check(&benchmark, rules, scenario, &scenario_origin) {
        errors.push(*error);
    }
    benchmark
}

/// Returns the layers of a file in LoadGen's format, one for each setting that it gives a value. It is applied to the
/// test that the layers below make, for the scenario that is run, which a layer above may choose.
fn read_conf(
    path: &Path,
    kind: ConfigFileKind,
    benchmark: &Benchmark,
    of_round: RoundScenario,
    below: TestSettings,
    warnings: &mut Vec<String>,
    errors: &mut Vec<ConfigError>,
) -> Vec<Layer> {
    let bytes = match read_bytes(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            errors.push(*error);
            return Vec::new();
        }
    };
    let scenario = of_round.loadgen();
    let mut test = TestSettings { scenario, ..below };
    let text = String::from_utf8_lossy(&bytes);
    let model = &benchmark.loadgen_model(of_round);
    let report = match config_file::apply(&text, kind, model, scenario, &mut test) {
        Ok(report) => report,
        Err(lines) => {
            let path = || path.to_owned();
            errors.extend(lines.into_iter().map(|error| ConfigError::LoadGenSyntax { path: path(), error }));
            return Vec::new();
        }
    };
    warnings.extend(report.ignored.iter().map(|ignored| format!("{}: {ignored}", path.display())));
    if kind == ConfigFileKind::User {
        warnings.extend(unknown_models(path, model, &report));
    }
    // Some keys are read for their own scenario whichever is run.
    if report.has_entries && !report.applied.iter().any(|applied| applied.is_for(scenario)) {
        let path = path.display();
        warnings.push(format!("{path}: no line of it is read for the model {model} in {scenario}"));
    }
    let mut layers = Vec::new();
    for applied in report.applied {
        let is_of_run = applied.is_for(scenario);
        let value: Value = test.get(applied.setting).expect("files set fields of the settings").into();
        let origin = Origin::LoadGenConf { path: path.to_owned(), line: applied.line, key: applied.key };
        // LoadGen turns -1 into 2^64 - 1 and computes on; here a value has to make sense wherever it stands.
        let raw = Raw { key: applied.setting.to_owned(), text: value.to_string(), form: Form::Plain, origin };
        let key = keys::find(applied.setting).expect("every field is a setting");
        match check_value(key, &raw) {
            Ok(value) => layers.push(Layer::new(raw.origin, [(key.name, value)])),
            Err(error) if is_of_run => errors.push(*error),
            // No run of this scenario uses it.
            Err(_) => {}
        }
    }
    layers
}

/// Maximum number of unknown models of a file that are reported, with a warning for each.
const UNKNOWN_MODELS_TOLD: usize = 10;

/// Returns a warning for each of the first models that neither LoadGen's file nor a benchmark has, and one for the
/// others: a line for such a model is never read.
fn unknown_models(path: &Path, model: &str, report: &ConfigFileReport) -> Vec<String> {
    if report.other_models.is_empty() {
        return Vec::new();
    }
    let mut known: Vec<String> = preset::builtin_models();
    known.extend(suite::library::suite_benchmarks().map(|suite| suite.loadgen_model.clone()));
    let of_server = RoundScenario::from(Scenario::Server);
    known.extend(benchmarks().map(|benchmark| benchmark.loadgen_model(of_server).into_owned()));
    let names: HashSet<&str> = known.iter().map(String::as_str).collect();
    let mut unknown = report.other_models.iter().filter(|other| !names.contains(other.name.as_str()));
    let warning = |other: &OtherModel| {
        let near = std::iter::once(model).chain(known.iter().map(String::as_str));
        let hint = did_you_mean(&other.name, near);
        let (path, line, name) = (path.display(), other.line, &other.name);
        format!("{path}: line {line}: there is no model {name}{hint}; the model of this run is {model}")
    };
    let mut warnings: Vec<_> = unknown.by_ref().take(UNKNOWN_MODELS_TOLD).map(warning).collect();
    let more = unknown.count();
    if more > 0 {
        let path = path.display();
        warnings.push(format!("{path}: there are no models of {more} more names that it has lines for"));
    }
    warnings
}
