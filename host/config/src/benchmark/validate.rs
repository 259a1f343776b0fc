//! Turns the form of a definition into one that makes sense.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use proctor_datasets::sha256_hex;
use proctor_vocabulary::{ElementType, TensorSpec, did_you_mean};

use super::{
    AnswerKind, BENCHMARK_SCHEMA_VERSION, Benchmark, Model, ModelFile, QslCounts, Quality,
    definition::{self, Definition},
};
use crate::{
    check::{Form, Raw, check_value},
    error::ConfigError,
    form::{Checker, MAX_COUNT},
    keys,
    origin::Origin,
    suite::{choice::RoundScenario, library, round::UntimedStep},
    value::Value,
};

/// The largest tensor of one sample, in bytes: far above any real one, far below where sizes overflow.
const MAX_TENSOR_BYTES: i64 = 1 << 31;
/// Sources of answers, by their names in definitions.
const ANSWERS: [(&str, AnswerKind); 3] =
    [("labels", AnswerKind::Labels), ("shipped", AnswerKind::Shipped), ("computed", AnswerKind::Computed)];
/// Settings of the scheduler that a definition may have, since some benchmarks define their batches.
const SCHEDULER_SETTINGS: [&str; 3] = ["batch_size", "batch_timeout_us", "policy"];

/// Checks a definition with this text; every problem is reported.
pub(super) fn validate(raw: Definition, text: &str, file: &Path) -> Result<Benchmark, Vec<ConfigError>> {
    let mut check = Checker::new(file);
    check.version(raw.schema_version, BENCHMARK_SCHEMA_VERSION);
    let names = [
        ("id", &raw.id),
        ("model.id", &raw.model.id),
        ("dataset", &raw.dataset),
        ("preprocessing", &raw.preprocessing),
        ("quality.metric", &raw.quality.metric),
    ];
    names.into_iter().for_each(|(key, name)| check.name(key, name));
    let last_output_varies = check.varying(&raw.outputs);
    let inputs_vary = raw.inputs.iter().any(|input| input.varies);
    let inputs = check.tensors("inputs", raw.inputs);
    let benchmark = Benchmark {
        model: check.model(raw.model),
        preprocessing: check.preprocessing(raw.preprocessing, raw.image, &inputs),
        inputs,
        outputs: check.tensors("outputs", raw.outputs),
        untimed_steps: check.own_steps(raw.suite.is_some(), raw.untimed_steps),
        suite: check.suite_id(raw.suite),
        last_output_varies,
        inputs_vary,
        refused: check.refused(raw.refused, &raw.scenarios),
        quality: check.required_quality(raw.quality),
        qsl: check.qsl(&raw.qsl),
        scenarios: check.settings_by_scenario(&raw.id, raw.scenarios),
        id: raw.id,
        task: raw.task,
        description: raw.description,
        dataset: raw.dataset,
        file: file.to_owned(),
        sha256: sha256_hex(text.as_bytes()),
    };
    check.end(benchmark)
}

impl Checker<'_> {
    fn suite_id(&mut self, id: Option<String>) -> Option<String> {
        if let Some(id) = &id {
            self.one_of("suite", id, &library::suite_ids().collect::<Vec<_>>(), |id| id);
        }
        id
    }

    /// Returns the untimed steps, which a benchmark of a suite must name: rounds allow some of them only.
    fn own_steps(&mut self, is_of_suite: bool, names: Option<Vec<String>>) -> Vec<UntimedStep> {
        if is_of_suite && names.is_none() {
            let problem = "missing key: one with suite says what its preprocessing does, [] if nothing";
            self.report("untimed_steps", problem);
        }
        self.untimed_steps(&names.unwrap_or_default())
    }

    fn model(&mut self, raw: definition::Model) -> Model {
        if raw.files.is_empty() && raw.precisions.is_empty() {
            self.report("model.files", "empty: give at least one file");
        }
        let files = self.files("model.files", raw.files);
        let mut precisions = BTreeMap::new();
        for (precision, definition::ModelPrecision { files: own }) in raw.precisions {
            let key = format!("model.precisions.{precision}");
            self.name(&key, &precision);
            let table = format!("{key}.files");
            if own.is_empty() {
                self.report(&table, "empty: give at least one file");
            }
            let own = self.files(&table, own);
            for format in own.keys().filter(|format| files.get(*format) == own.get(*format)) {
                let problem =
                    format!("the file of model.files.{format}, which is for any precision: leave it out");
                self.report(&format!("{key}.files.{format}"), problem);
            }
            precisions.insert(precision, own);
        }
        let model = Model { id: raw.id, files, precisions, generation: raw.generation };
        self.generation(&model);
        model
    }

    /// Checks how the model comes to tokens against its files.
    fn generation(&mut self, model: &Model) {
        let Some(generation) = &model.generation else { return };
        let formats = || model.formats().map(|(format, _)| format);
        let pieces = generation.pieces.as_ref();
        let files = [("encoder.file", &generation.encoder.file), ("decoder.file", &generation.decoder.file)];
        for (key, format) in files.into_iter().chain(pieces.map(|format| ("pieces", format))) {
            if !formats().any(|known| known == format) {
                let hint = did_you_mean(format, formats());
                self.report(
                    &format!("model.generation.{key}"),
                    format!("\"{format}\": the model has no such file{hint}"),
                );
            }
        }
        if generation.sample_rate == 0 {
            self.report("model.generation.sample_rate", "0: give a number from 1");
        }
        let per_second = generation.tokens_per_second;
        if !(0.0..=MAX_COUNT as f64).contains(&per_second) {
            self.report("model.generation.tokens_per_second", format!("{per_second}: give a number from 0"));
        }
        for (position, cache) in generation.decoder.caches.iter().enumerate() {
            for (name, field) in [("past", &cache.past), ("present", &cache.present)] {
                if field.matches('*').count() != 1 {
                    let key = format!("model.generation.decoder.caches.{position}.{name}");
                    self.report(
                        &key,
                        format!("\"{field}\": give a name with one * for the number of the layer"),
                    );
                }
            }
        }
    }

    fn files(
        &mut self,
        table: &str,
        raw: BTreeMap<String, definition::ModelFile>,
    ) -> BTreeMap<String, ModelFile> {
        let mut files = BTreeMap::new();
        for (format, file) in raw {
            let key = format!("{table}.{format}");
            self.name(&key, &format);
            let definition::ModelFile { path, sha256, generated, supplied, dataset_file } = file;
            if let Some(recipe) = &generated {
                self.name(&format!("{key}.generated"), recipe);
            }
            let file = match (path, sha256, generated, supplied, dataset_file) {
                (Some(path), Some(sha256), None, None, None) => self.published(&key, &path, sha256),
                (None, None, Some(recipe), None, None) => ModelFile::Generated { recipe },
                (None, None, stand_in, Some(about), None) if !about.trim().is_empty() => {
                    ModelFile::Supplied { about, stand_in }
                }
                (None, None, None, None, Some(path)) => {
                    let path =
                        self.path_below(&format!("{key}.dataset_file"), &path, "the data set's folder");
                    ModelFile::OfDataset { path }
                }
                _ => {
                    let problem = "give path and sha256, or generated, or supplied with or without generated, or \
                                   dataset_file";
                    self.report(&key, problem);
                    continue;
                }
            };
            files.insert(format, file);
        }
        files
    }

    fn published(&mut self, key: &str, text: &str, sha256: String) -> ModelFile {
        let path = self.path_below(&format!("{key}.path"), text, "the data root");
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if sha256.len() != 64 || !sha256.bytes().all(hex) {
            self.report(
                &format!("{key}.sha256"),
                format!("\"{sha256}\": give 64 hexadecimal digits in lower case"),
            );
        }
        ModelFile::Published { path, sha256 }
    }

    /// Returns a path that does not leave its folder, which `folder` says in words.
    fn path_below(&mut self, key: &str, text: &str, folder: &str) -> PathBuf {
        let path = PathBuf::from(text);
        if text.is_empty() || !path.components().all(|part| matches!(part, Component::Normal(_))) {
            self.report(key, format!("\"{text}\": give a path below {folder}"));
        }
        path
    }

    /// Returns whether the last output varies. No other one can: it could not be located in a response.
    fn varying(&mut self, outputs: &[definition::Tensor]) -> bool {
        let before_last = outputs.len().saturating_sub(1);
        for position in (0..before_last).filter(|it| outputs[*it].varies) {
            self.report(
                &format!("outputs.{position}.varies"),
                "true: of the outputs only the last may vary".to_owned(),
            );
        }
        outputs.last().is_some_and(|output| output.varies)
    }

    fn refused(
        &mut self,
        raw: BTreeMap<String, String>,
        scenarios: &BTreeMap<String, BTreeMap<String, toml::Value>>,
    ) -> BTreeMap<RoundScenario, String> {
        let mut refused = BTreeMap::new();
        for (name, reason) in raw {
            let key = format!("refused.{name}");
            match RoundScenario::ALL.into_iter().find(|scenario| scenario.name() == name) {
                Some(_) if scenarios.contains_key(&name) => {
                    self.report(&key, "the benchmark has this scenario");
                }
                Some(_) if reason.trim().is_empty() => self.report(&key, "empty: give the reason"),
                Some(scenario) => _ = refused.insert(scenario, reason),
                None => self.report(&key, unknown_scenario(&name)),
            }
        }
        refused
    }

    fn tensors(&mut self, list: &str, raw: Vec<definition::Tensor>) -> Vec<TensorSpec> {
        if raw.is_empty() {
            self.report(list, "empty: give at least one tensor");
        }
        let mut seen = BTreeSet::new();
        let mut tensors = Vec::new();
        for (position, tensor) in raw.into_iter().enumerate() {
            let key = |field| format!("{list}.{position}.{field}");
            if tensor.name.is_empty() || !seen.insert(tensor.name.clone()) {
                self.report(&key("name"), format!("\"{}\": give each tensor a name of its own", tensor.name));
            }
            let (field, named) = (key("element_type"), &tensor.element_type);
            let element_type = self.one_of(&field, named, ElementType::ALL, ElementType::name);
            let element_type = element_type.unwrap_or(ElementType::F32);
            let shape = self.shape(&key("shape"), &tensor.shape, element_type);
            tensors.push(TensorSpec { name: tensor.name, element_type, shape });
        }
        tensors
    }

    fn shape(&mut self, key: &str, raw: &[i64], element_type: ElementType) -> Vec<usize> {
        let width = i64::try_from(element_type.bits()).unwrap_or(i64::MAX);
        let bits = raw.iter().try_fold(width, |size, extent| size.checked_mul((*extent).max(0)));
        if raw.iter().any(|extent| *extent < 1) || bits.is_none_or(|bits| bits > MAX_TENSOR_BYTES * 8) {
            let limit = MAX_TENSOR_BYTES;
            self.report(key, format!("{raw:?}: give extents from 1, together at most {limit} bytes"));
        } else if width < 8 && raw.last().is_none_or(|extent| extent % 2 == 1) {
            let problem = format!("{raw:?}: two {element_type} share a byte; give an even last extent");
            self.report(key, problem);
        }
        raw.iter().map(|extent| usize::try_from(*extent).unwrap_or(1)).collect()
    }

    fn required_quality(&mut self, raw: definition::Quality) -> Quality {
        self.above_zero("quality.reference", raw.reference);
        if !(raw.target_ratio > 0.0 && raw.target_ratio <= 1.0) {
            self.report(
                "quality.target_ratio",
                format!("{}: give a number above 0, at most 1", raw.target_ratio),
            );
        }
        let source = raw.answers.as_deref().unwrap_or("labels");
        let answers = self.one_of("quality.answers", source, &ANSWERS, |(name, _)| name);
        for (precision, tolerance) in &raw.tolerance {
            self.above_zero(&format!("quality.tolerance.{precision}"), *tolerance);
        }
        Quality {
            metric: raw.metric,
            reference: raw.reference,
            target_ratio: raw.target_ratio,
            answers: answers.map_or(AnswerKind::Labels, |(_, answers)| answers),
            tolerance: raw.tolerance,
        }
    }

    fn qsl(&mut self, raw: &definition::Qsl) -> QslCounts {
        let total = self.count("qsl.total_sample_count", raw.total_sample_count);
        // Unlike the official load generator's, a performance set larger than the library makes no sense here.
        let most = raw.total_sample_count.clamp(1, MAX_COUNT);
        let performance = self.count_to("qsl.performance_sample_count", raw.performance_sample_count, most);
        QslCounts { total_sample_count: total, performance_sample_count: performance }
    }

    fn settings_by_scenario(
        &mut self,
        id: &str,
        raw: BTreeMap<String, BTreeMap<String, toml::Value>>,
    ) -> BTreeMap<RoundScenario, BTreeMap<String, Value>> {
        if raw.is_empty() {
            self.report("scenarios", "empty: give at least one scenario");
        }
        let mut scenarios = BTreeMap::new();
        for (name, settings) in raw {
            let table = format!("scenarios.{name}");
            // Exact case, because the table's name is a key.
            match RoundScenario::ALL.into_iter().find(|scenario| scenario.name() == name) {
                Some(scenario) => {
                    let settings = settings.into_iter();
                    let checked = settings.filter_map(|(key, value)| {
                        Some((key.clone(), self.setting(id, &format!("{table}.{key}"), &key, &value)?))
                    });
                    let checked = checked.collect();
                    scenarios.insert(scenario, checked);
                }
                None => self.report(&table, unknown_scenario(&name)),
            }
        }
        scenarios
    }

    /// Returns a setting of the load generator, or of how batches are formed; the rest is not the benchmark's business.
    fn setting(&mut self, id: &str, path: &str, name: &str, value: &toml::Value) -> Option<Value> {
        let known = || keys::test_fields().map(|field| field.name).chain(SCHEDULER_SETTINGS);
        let Some(key) = known().find(|known| *known == name).and_then(keys::find) else {
            let known = known();
            self.report(path, format!("unknown setting{}", did_you_mean(name, known)));
            return None;
        };
        let (text, form) = match value {
            toml::Value::String(text) => (text.clone(), Form::String),
            toml::Value::Boolean(value) => (value.to_string(), Form::Bool),
            toml::Value::Integer(integer) => (integer.to_string(), Form::Number),
            toml::Value::Float(float) => (float.to_string(), Form::Number),
            _ => (value.to_string(), Form::Other),
        };
        let origin = Origin::Benchmark { name: id.to_owned(), file: self.file.to_owned() };
        let raw = Raw { key: path.to_owned(), text, form, origin };
        check_value(key, &raw).map_err(|error| self.errors.push(*error)).ok()
    }
}

fn unknown_scenario(name: &str) -> String {
    format!("unknown scenario{}", did_you_mean(name, RoundScenario::names()))
}
