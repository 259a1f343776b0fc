//! A benchmark without a model: each sample's tensors are its response, scored by the benchmark's metric.
//!
//! `mini_run BENCHMARK DATA_ROOT POLICY SETTING ROUND` prints the accuracy, and that policy, setting and round are
//! known. The test `extensions` runs it in a workspace that has been extended.

use std::{env, error::Error, fmt::Write, fs, path::Path};

use proctor_accuracy::{AccuracyCheck, AnswerSource, metric};
use proctor_config::{Loader, keys};
use proctor_datasets::{DataRoot, open_dataset};
use proctor_scheduler::SchedulerConfig;
use proctor_vocabulary::SampleIndex;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [benchmark, data_root, policy, setting, round] = &arguments[..] else {
        return Err("give BENCHMARK DATA_ROOT POLICY SETTING ROUND".into());
    };
    let loader = Loader::new().benchmark(benchmark).set(&format!("policy={policy}"));
    let settings = loader.set(&format!("{setting}=given")).set(&format!("rules={round}")).load()?;
    println!("accuracy {}", accuracy(&settings.benchmark, &DataRoot::new(Some(Path::new(data_root))))?);

    SchedulerConfig { policy: settings.run.policy.clone(), ..SchedulerConfig::default() }.validate()?;
    println!("policy {}", settings.run.policy);
    let server = Loader::new().set("scenario=Server").set("preset=official");
    let official = server.set(&format!("rules={round}")).load()?.run;
    println!("round {}: {} runs of Server", official.rules, official.server_run_count);

    let rows = settings.explain();
    let row = rows.iter().find(|row| row.key == *setting).ok_or("no such setting")?;
    println!("setting {} = {} ({})", row.key, row.effective.value, row.effective.origin);
    let flag =
        keys().iter().find(|key| key.name == setting).and_then(|key| Some((key.flag?, key.flag_help())));
    let (flag, help) = flag.ok_or("the setting has no flag")?;
    println!("flag --{} {}: {help}", flag.long, flag.value_name);
    Ok(())
}

fn accuracy(benchmark: &proctor_config::Benchmark, root: &DataRoot) -> Result<f64, Box<dyn Error>> {
    let dataset = open_dataset(&benchmark.dataset, root)?;
    let pipeline = benchmark.preprocessing.build(&benchmark.inputs)?;
    let mut records = Vec::new();
    for index in 0..dataset.sample_count() {
        let mut tensors: Vec<_> = benchmark.inputs.iter().map(|input| vec![0; input.size_bytes()]).collect();
        let mut slices: Vec<_> = tensors.iter_mut().map(Vec::as_mut_slice).collect();
        pipeline.run(&dataset.read(SampleIndex(index))?, &mut slices)?;
        let mut data = String::new();
        for byte in tensors.concat() {
            write!(data, "{byte:02X}")?;
        }
        records.push(format!("{{ \"seq_id\" : {index}, \"qsl_idx\" : {index}, \"data\" : \"{data}\" }}"));
    }
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("mlperf_log_accuracy.json");
    fs::write(&log, format!("[\n{}\n]\n", records.join(",\n")))?;
    let check = AccuracyCheck {
        answers: AnswerSource::Labels { dataset: benchmark.dataset.clone(), published: None },
        metric: benchmark.quality.metric.clone(),
        response: (metric(&benchmark.quality.metric)?.form)(&benchmark.outputs)
            .ok_or("the metric does not fit")?,
        tolerance: None,
        reference_value: benchmark.quality.reference,
        target_ratio: benchmark.quality.target_ratio,
        padding_record_count: 0,
        performance_seq_id: None,
    };
    let result = check.run(&log, root)?;
    if result.passed { Ok(result.value) } else { Err(result.reasons.join("; ").into()) }
}
