//! The worker that runs a plugin: tests of LoadGen, over and over, with everything opened once, as `host run` opens it.

use std::{
    fs,
    io::{self, BufRead},
    path::Path,
    time::Instant,
};

use proctor_config::{Loader, Settings};
use proctor_loadgen::TestSettings;
use proctor_plugin_host::{LoadedPlugin, SearchPath};
use proctor_vocabulary::{QuerySample, ResponseId, SampleIndex, Scenario, TestMode};

use super::{
    flags::{EnginesWorkerFlags, owner},
    request::{Figures, Loaded, OUTPUT, Request},
    table::median,
};
use crate::{
    answers::answers,
    timing::Window,
    worker::{Hello, Refusal, say, write_times},
};
use proctor_bed::{BatchStages, Interrupt, TestBed};
use proctor_display::Terminal;
use proctor_words::{Conclusion, HostError, PluginError, output};

/// The options that are set if a plugin has them.
const THREADS: &str = "threads";
const LIBRARY: &str = "library";
/// Counter of a plugin that reports copies.
const INPUT_BYTES_COPIED: &str = "input_bytes_copied";
/// Expected latency of a query in ns: so little that LoadGen never runs out of queries.
const EXPECTED_LATENCY_NS: f64 = 100.0;
/// Duration from which a call is not repeated to find out how long it takes, in ms.
const LONG_CALL_MS: f64 = 3_000.0;
/// Number of batches per turn whose stages are kept without growing.
const STAGE_ROOM: usize = 1 << 20;

/// Answers all requests.
///
/// # Errors
/// If plugin, data or model cannot be opened; the other side has the reason then.
pub(crate) fn work(flags: &EnginesWorkerFlags) -> Result<Conclusion, HostError> {
    let served = serve(flags).inspect_err(|error| say(&Refusal { error: one_line(error) }));
    served.map(|()| Conclusion::Good)
}

/// Returns an error with its causes, on one line.
fn one_line(error: &HostError) -> String {
    let messages = error.messages();
    messages.iter().flat_map(|text| text.lines()).map(str::trim).collect::<Vec<_>>().join("; ")
}

fn serve(flags: &EnginesWorkerFlags) -> Result<(), HostError> {
    let mut settings = settings(flags)?;
    let location = SearchPath::standard(&settings.run.plugin_path).find(&settings.run.plugin)?;
    let plugin = LoadedPlugin::load(&location)?;
    let manifest = plugin.manifest();
    say(&Hello { version: format!("{} {}", manifest.name, manifest.version) });
    settings.plugin_options = plugin_options(flags, &plugin).collect();
    let mut requests = io::stdin().lock().lines().map_while(Result::ok);
    // The first one loads the model.
    if requests.next().is_none() {
        return Ok(());
    }
    let start = Instant::now();
    let served = Served {
        bed: TestBed::open_for_bench(&settings, &interrupt())?,
        settings: &settings,
        samples: flags.samples,
    };
    let load_ms = start.elapsed().as_secs_f64() * 1e3;
    let call_ms = served.first_batch(&flags.folder)?;
    say(&Loaded { load_ms, call_ms, plugin: Some(manifest.name.clone()), library: None });
    for line in requests {
        let Ok(Request::Measure { window, .. }) = serde_json::from_str(&line) else {
            say(&Refusal { error: format!("it cannot be asked for {line}") });
            continue;
        };
        match served.measure(&window, &flags.folder) {
            Ok(figures) => say(&figures),
            Err(error) => say(&Refusal { error: one_line(&error) }),
        }
    }
    Ok(())
}

/// Returns an interrupt without signals: the program that started the worker ends it.
fn interrupt() -> Interrupt {
    Interrupt::never(Terminal::observer())
}

/// Returns the settings of a run; the options of plugins are left out.
fn settings(flags: &EnginesWorkerFlags) -> Result<Settings, HostError> {
    let plain = flags.set.iter().filter(|text| owner(text).is_none());
    Ok(Loader::from_system().set_all(plain).load()?)
}

/// Returns the threads of the case and the library of the package, if the plugin has such options; the user's
/// options for this plugin prevail.
fn plugin_options(
    flags: &EnginesWorkerFlags,
    plugin: &LoadedPlugin,
) -> impl Iterator<Item = (String, String)> {
    let name = plugin.manifest().name.clone();
    let of_case = [(THREADS, Some(flags.threads.to_string())), (LIBRARY, flags.library.clone())];
    let has = |option: &str| plugin.manifest().options.iter().any(|spec| spec.name == option);
    let of_case: Vec<_> = of_case
        .into_iter()
        .filter(|(option, _)| has(option))
        .filter_map(|(option, value)| Some((format!("{name}.{option}"), value?)))
        .collect();
    let given = flags.set.iter().filter(move |text| owner(text) == Some(name.as_str()));
    let given = given.filter_map(|text| text.split_once('='));
    of_case.into_iter().chain(given.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())))
}

/// A model behind a plugin, ready for tests.
struct Served<'a> {
    bed: TestBed<'a>,
    settings: &'a Settings,
    /// Number of samples to draw from.
    samples: u64,
}

impl Served<'_> {
    /// Runs the first samples as one batch and writes the outputs to `folder`. Returns how long it took, in ms: the
    /// second time, unless the first time took long.
    fn first_batch(&self, folder: &Path) -> Result<f64, HostError> {
        let count = self.settings.run.batch_size as u64;
        let indices: Vec<_> = (0..count).map(SampleIndex).collect();
        let batch: Vec<_> =
            indices.iter().map(|&index| QuerySample { id: ResponseId(index.0), index }).collect();
        let mut instance = self.bed.model().create_instance(0)?;
        let (call_ms, answers) = self.bed.with_started(&indices, || {
            let mut call_ms = f64::INFINITY;
            instance.begin_thread();
            for _ in 0..2 {
                let start = Instant::now();
                instance.execute(&batch)?;
                call_ms = start.elapsed().as_secs_f64() * 1e3;
                if call_ms > LONG_CALL_MS {
                    break;
                }
            }
            let answers = answers(&mut instance, &batch);
            instance.end_thread();
            Ok((call_ms, answers))
        })?;
        drop(instance);
        if answers.len() < batch.len() {
            return Err(PluginError::Stated("a sample of the first batch failed").into());
        }
        let path = folder.join(OUTPUT);
        let bytes: Vec<u8> = answers.into_iter().flat_map(|(_, data)| data).collect();
        fs::write(&path, bytes).map_err(|source| output(&path, source))?;
        Ok(call_ms)
    }

    /// Runs a test, and writes the latencies of its queries to `folder`, except queries that begin during the
    /// warm-up.
    fn measure(&self, window: &Window, folder: &Path) -> Result<Figures, HostError> {
        drop(self.bed.take_stages(STAGE_ROOM));
        let outcome = self.bed.measure(self.test_settings(window), window.warm_up_s > 0.0)?;
        let phase = outcome.phases.last();
        let phase = phase.ok_or(PluginError::Stated("the test made no query"))?;
        if let Some(objection) = outcome.objections().next() {
            return Err(HostError::plugin(objection.what()));
        }
        let record = &phase.record;
        let latencies: Vec<u64> = match self.settings.run.scenario.loadgen() {
            Scenario::MultiStream => record.query_latencies_ns.clone(),
            _ => record.sample_latencies_ns.iter().collect(),
        };
        let stages = self.bed.take_stages(0);
        let warm_up = warm_up_count(&latencies, window.warm_up_s);
        // With more batches than queries, none belongs to a query alone.
        let stages = if stages.len() == latencies.len() { &stages[warm_up..] } else { &[] };
        let mut figures = figures(&latencies[warm_up..], stages);
        figures.input_bytes_copied = self.copied_per_query(latencies.len());
        write_times(folder, &latencies[warm_up..]).map_err(HostError::plugin)?;
        Ok(figures)
    }

    /// Returns one query after the other, as long as the window is.
    fn test_settings(&self, window: &Window) -> TestSettings {
        let ms = |seconds: f64| (seconds * 1e3).ceil() as u64;
        TestSettings {
            mode: TestMode::PerformanceOnly,
            min_duration_ms: ms(window.warm_up_s + window.least_s),
            max_duration_ms: ms(window.warm_up_s + window.most_s),
            // One more, which may be lost to the warm-up.
            min_query_count: window.least_calls as u64 + 1,
            max_query_count: 0,
            performance_sample_count_override: self.samples,
            single_stream_expected_latency_ns: EXPECTED_LATENCY_NS,
            multi_stream_expected_latency_ns: EXPECTED_LATENCY_NS,
            multi_stream_samples_per_query: self.settings.run.batch_size as u64,
            ..self.settings.test.clone()
        }
    }

    /// Returns the bytes that the plugin copied for each query, if it counts them.
    fn copied_per_query(&self, query_count: usize) -> Option<f64> {
        let copied = self.bed.plugin_metrics().get(INPUT_BYTES_COPIED)?.last;
        Some(copied / query_count as f64)
    }
}

/// Returns how many queries begin before the end of the warm-up: each begins when the previous one is complete.
fn warm_up_count(latencies_ns: &[u64], warm_up_s: f64) -> usize {
    let mut begin_s = 0.0;
    let is_early = |latency_ns: &&u64| {
        let is_early = begin_s < warm_up_s;
        begin_s += **latency_ns as f64 / 1e9;
        is_early
    };
    let count = latencies_ns.iter().take_while(is_early).count();
    // Something has to remain.
    count.min(latencies_ns.len().saturating_sub(1))
}

/// Returns medians over queries, each with the stages of its batch; nothing if the plugin does not report computation.
fn figures(latencies_ns: &[u64], stages: &[BatchStages]) -> Figures {
    let computed: Option<Vec<u64>> = stages.iter().map(|stages| stages.compute_ns).collect();
    let Some(computed) = computed.filter(|all| !all.is_empty()) else { return Figures::default() };
    let copied: Option<Vec<u64>> = stages.iter().map(|stages| stages.copy_in_ns).collect();
    let median_of = |times_ns: &[u64]| median(times_ns.iter().map(|time_ns| *time_ns as f64).collect());
    let outside =
        latencies_ns.iter().zip(&computed).map(|(latency, engine)| *latency as f64 - *engine as f64);
    Figures {
        engine_ns: median_of(&computed),
        outside_ns: median(outside.collect()),
        copy_ns: copied.and_then(|copied| median_of(&copied)),
        input_bytes_copied: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(folder: &Path, batch: usize, set: &[&str]) -> EnginesWorkerFlags {
        let scenario = if batch == 1 { "SingleStream" } else { "MultiStream" };
        let own = [
            "benchmark=digits-cnn".to_owned(),
            format!("scenario={scenario}"),
            format!("batch_size={batch}"),
        ];
        EnginesWorkerFlags {
            folder: folder.to_owned(),
            threads: 3,
            library: None,
            samples: 16,
            set: own.into_iter().chain(set.iter().map(|text| (*text).to_owned())).collect(),
        }
    }

    fn measured(batch: usize, set: &[&str]) -> (Figures, usize, usize) {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(&flags(folder.path(), batch, set)).unwrap();
        let served = Served {
            bed: TestBed::open_for_bench(&settings, &interrupt()).unwrap(),
            settings: &settings,
            samples: 16,
        };
        served.first_batch(folder.path()).unwrap();
        let output = fs::read(folder.path().join(OUTPUT)).unwrap().len();
        let window = Window { warm_up_s: 0.0, least_s: 0.0, least_calls: 20, most_s: 10.0 };
        let figures = served.measure(&window, folder.path()).unwrap();
        let times = fs::read(folder.path().join("times.u64")).unwrap().len() / 8;
        (figures, times, output)
    }

    #[test]
    fn latencies_are_those_of_queries_whatever_their_size() {
        for batch in [1, 8] {
            let (figures, times, output) = measured(batch, &["plugin=null"]);
            assert!(times >= 20, "{times}");
            // Ten values of f32 for each sample.
            assert_eq!(output, batch * 40);
            assert_eq!(figures, Figures::default());
        }
    }

    #[test]
    fn a_plugin_that_cannot_is_explained_on_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let error = settings(&flags(folder.path(), 1, &["plugin=null", "scenario=Sometimes"])).unwrap_err();
        assert!(
            !one_line(&error).contains('\n') && !one_line(&error).starts_with("error"),
            "{}",
            one_line(&error)
        );
        let set = settings(&flags(folder.path(), 1, &["plugin=cpu-rnn"])).unwrap();
        let error = TestBed::open_for_bench(&set, &interrupt()).err().map(|error| one_line(&error)).unwrap();
        assert!(error.contains("digits-cnn"), "{error}");
    }

    #[test]
    fn a_plugin_gets_the_threads_and_its_own_options() {
        let folder = tempfile::tempdir().unwrap();
        let flags = flags(folder.path(), 1, &["cpu-rnn.calibration_s=0", "onnx.level=all"]);
        let location = SearchPath::standard(&[]).find("cpu-rnn").unwrap();
        let options: Vec<_> = plugin_options(&flags, &LoadedPlugin::load(&location).unwrap()).collect();
        let expected = [("cpu-rnn.threads", "3"), ("cpu-rnn.calibration_s", "0")];
        assert_eq!(options, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    #[test]
    fn queries_of_the_warm_up_are_those_that_begin_in_it() {
        let latencies = [400_000_000, 300_000_000, 500_000_000, 1];
        assert_eq!(warm_up_count(&latencies, 0.0), 0);
        assert_eq!(warm_up_count(&latencies, 0.4), 1);
        assert_eq!(warm_up_count(&latencies, 0.5), 2);
        assert_eq!(warm_up_count(&latencies, 9.0), 3);
        assert_eq!(warm_up_count(&[], 9.0), 0);
    }

    #[test]
    fn time_outside_of_the_engine_is_taken_query_by_query() {
        let stages = |copy_in_ns, compute_ns| BatchStages {
            copy_in_ns: Some(copy_in_ns),
            compute_ns: Some(compute_ns),
        };
        let all = [stages(2, 100), stages(1, 100), stages(10, 20)];
        let found = figures(&[105, 107, 60], &all);
        let expected = Figures {
            engine_ns: Some(100.0),
            outside_ns: Some(7.0),
            copy_ns: Some(2.0),
            input_bytes_copied: None,
        };
        assert_eq!(found, expected);
        assert_eq!(figures(&[105], &[BatchStages::default()]), Figures::default());
        assert_eq!(figures(&[105], &[]), Figures::default());
    }
}
