//! A proof of a benchmark: its data are looked at, one accuracy run is made on all of them, and one record is left.
//!
//! Random weights and generated samples are refused, for they prove nothing.

use std::fs;

use proctor_accuracy::five_figures;
use proctor_bed::{Interrupt, verify_dataset};
use proctor_config::{ModelFile, Settings};
use proctor_datasets::DataRoot;
use proctor_results::{
    AccuracyPart, ModelFilePart, Program, Proof, ProvenAccuracy, ProvenBenchmark, ProvenFile, ProvenPlugin,
    ResultFile, SCHEMA_VERSION, VerificationPart, file_names::PROOF,
};
use proctor_vocabulary::{TestMode, printable};
use proctor_words::{
    Conclusion, DataError, HostError, RenderedVerdict, UsageError,
    text::{counted, megabytes, table},
    write_json,
};
use serde_json::json;

use crate::{accuracy::text::in_words, run::run_in_folder};

/// Proves a benchmark, and writes the record into the run folder, beside the result. The record is the answer to the
/// user, after the verdict of the run.
///
/// # Errors
/// If the settings can prove nothing, the data cannot be looked at, or the run has no result.
pub fn prove(settings: Settings, interrupt: &Interrupt) -> Result<Conclusion, HostError> {
    check(&settings)?;
    let observer = interrupt.observer();
    let verified = verify_dataset(&settings, &DataRoot::new(settings.run.data_root.as_deref()));
    // A signal ends the program that looks, too.
    interrupt.check()?;
    let dataset = verified?;
    if dataset.generated {
        let (benchmark, dataset) = (settings.benchmark.id, dataset.name);
        return Err(UsageError::GeneratedSamples { benchmark, dataset }.into());
    }
    for defect in &dataset.defects {
        observer.message(&format!("warning: {}", printable(defect)));
    }
    let benchmark = ProvenBenchmark {
        id: settings.benchmark.id.clone(),
        definition_sha256: settings.benchmark.sha256.clone(),
        model: settings.benchmark.model.id.clone(),
    };
    let (result, folder) = run_in_folder(settings, interrupt)?;
    let conclusion = result.conclusion();
    let Some(accuracy) = result.file.accuracy.as_ref().filter(|_| conclusion != Conclusion::Interrupted)
    else {
        // The verdict says why there is nothing to record.
        return Ok(conclusion);
    };
    let passed = conclusion == Conclusion::Good && dataset.is_whole();
    let proof = record(benchmark, dataset, &result.file, accuracy, passed)?;
    write_json(&folder.whole_path(PROOF), &proof)?;
    let path = folder.name().join(PROOF).display().to_string();
    let text = text(&proof, &result.file, accuracy, &path);
    let line = json!({"event": "proof", "passed": passed, "proof": path}).to_string() + "\n";
    observer.conclude(&observer.verdict(RenderedVerdict { text, line }));
    Ok(if passed { Conclusion::Good } else { Conclusion::Bad })
}

/// Refuses settings by which nothing can be proven, before hours go into them.
fn check(settings: &Settings) -> Result<(), HostError> {
    if settings.run.mode != Some(TestMode::AccuracyOnly) {
        return Err(UsageError::Stated("host prove makes one accuracy run: leave out mode").into());
    }
    if settings.run.virtual_time {
        return Err(UsageError::Stated("virtual time proves nothing: leave out virtual_time").into());
    }
    if settings.run.model_file.is_some() {
        return Ok(());
    }
    let (benchmark, model) = (&settings.benchmark.id, &settings.benchmark.model);
    for (format, file) in model.files.iter().chain(model.precisions.values().flatten()) {
        let (benchmark, format) = (benchmark.clone(), format.clone());
        match file {
            ModelFile::Generated { recipe } | ModelFile::Supplied { stand_in: Some(recipe), .. } => {
                let recipe = recipe.clone();
                return Err(UsageError::RandomWeights { benchmark, format, recipe }.into());
            }
            ModelFile::Supplied { about, stand_in: None } => {
                return Err(DataError::NoModel { benchmark, format, about: about.clone() }.into());
            }
            ModelFile::Published { .. } | ModelFile::OfDataset { .. } => {}
        }
    }
    Ok(())
}

/// Returns the record of a run.
///
/// # Errors
/// If a file of the model has random weights, or is no longer there.
fn record(
    benchmark: ProvenBenchmark,
    dataset: VerificationPart,
    result: &ResultFile,
    accuracy: &AccuracyPart,
    passed: bool,
) -> Result<Proof, HostError> {
    let plugin = &result.plugin;
    let files = plugin.model_files.iter().map(|file| proven_file(&benchmark.id, file));
    Ok(Proof {
        schema_version: SCHEMA_VERSION,
        program: Program::this(),
        finished_at_utc: result.finished_at_utc.clone(),
        passed,
        rules: result.rules.clone(),
        model_files: files.collect::<Result<_, _>>()?,
        benchmark,
        dataset,
        samples: result.samples.clone(),
        accuracy: ProvenAccuracy {
            metric: accuracy.metric.clone(),
            judged_count: accuracy.judged_count,
            measured: accuracy.value,
            interval_95: accuracy.interval_95,
            expected: result.benchmark.accuracy_reference,
            target: accuracy.target,
            passed: accuracy.passed,
        },
        plugin: ProvenPlugin {
            name: plugin.name.clone(),
            version: plugin.version.clone(),
            sha256: plugin.sha256.clone(),
            precision: plugin.precision.clone(),
        },
    })
}

fn proven_file(benchmark: &str, file: &ModelFilePart) -> Result<ProvenFile, HostError> {
    let ModelFilePart { format, path, sha256, recipe, .. } = file;
    let (benchmark, format) = (benchmark.to_owned(), format.clone());
    if let Some(recipe) = recipe.clone() {
        return Err(UsageError::RandomWeights { benchmark, format, recipe }.into());
    }
    let bytes =
        fs::metadata(path).map_err(|error| DataError::CannotRead { path: path.clone(), error })?.len();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(ProvenFile { format, name, bytes, sha256: sha256.clone() })
}

/// Returns the record in a few lines, of which the last has its path.
fn text(proof: &Proof, result: &ResultFile, accuracy: &AccuracyPart, path: &str) -> String {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let VerificationPart { name, file_count, defect_count, checksums, .. } = &proof.dataset;
    let found = match defect_count {
        0 => "nothing missing or damaged".to_owned(),
        count => counted(*count, "defect"),
    };
    let checksums = checksums.as_deref().unwrap_or("no published checksums");
    let mut rows =
        vec![row("data set", format!("{name}: {}, {found}; {checksums}", counted(*file_count, "file")))];
    rows.extend(proof.samples.iter().map(|it| row("samples", format!("{}, sha256 {}", it.count, it.sha256))));
    rows.extend(proof.model_files.iter().map(|file| {
        row("model", format!("{}, {}, sha256 {}", file.name, megabytes(file.bytes), file.sha256))
    }));
    rows.push(row("measured", in_words(accuracy)));
    rows.push(row("expected", five_figures(proof.accuracy.expected)));
    rows.push(row("proof", path.to_owned()));
    format!("\n{}: {}\n{}", proof.benchmark.id, outcome(proof, result), table(&rows))
}

/// Returns whether the benchmark is proven, or the first reason why not.
fn outcome(proof: &Proof, result: &ResultFile) -> &'static str {
    if proof.passed {
        "proven"
    } else if !proof.dataset.is_whole() {
        "not proven: the data set is not whole"
    } else if !result.verdict.valid {
        "not proven: the run is INVALID"
    } else {
        "not proven: the accuracy is below its target"
    }
}
