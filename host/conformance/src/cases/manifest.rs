//! The manifest: sound, true, and available without a device.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use proctor_bed::{FittedModel, row_for};
use proctor_datasets::DataRoot;
use proctor_plugin_api::abi::{PROCTOR_STATUS_DEVICE_LOST, PROCTOR_STATUS_UNSUPPORTED};
use proctor_plugin_host::{
    CHECKSUM_THREAD, LoadStep, LoadedPlugin, PluginHostError, PluginLocation, is_declared,
};
use proctor_vocabulary::Scenario;

use super::load::step;
use crate::{
    bed::{Shape, all_good, batches_of, in_scenario, largest_batch},
    case::Case,
    resources::{descriptors, threads, waiting_ns},
    subject::{Nobody, Subject, close},
    verdict::{Verdict, ensure, failed, skipped},
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "manifest/is-sound",
        about: "the manifest has all that it must have, within its limits",
        rule: "texts are lines without control characters, required and not empty unless they may be null; names are short; \
               there is a model, and each has a scenario; options have a known kind, a range and a default within it",
        fix: "correct the field that is named",
        needs: "load/functions-are-there",
        run: is_sound,
    },
    Case {
        name: "manifest/readable-without-device",
        about: "the plugin is loaded and described within 100 ms, and opens no device and starts no thread meanwhile",
        rule: "describe says what the plugin is and can run, without touching a device",
        fix: "leave drivers, devices, threads and files to open; load heavy libraries there, too, by dlopen",
        needs: "manifest/is-sound",
        run: readable_without_device,
    },
    Case {
        name: "manifest/same-each-time",
        about: "the manifest is the same from every thread and after the plugin was opened and closed",
        rule: "describe is called as often as the host likes, from any thread, always with the same answer",
        fix: "return one static manifest, and do not fill it in from what open finds",
        needs: "manifest/is-sound",
        run: same_each_time,
    },
    Case {
        name: "manifest/name-fits-file",
        about: "the file is called as the plugin is",
        rule: "the file of the plugin my-chip is called libmy_chip_sut.so",
        fix: "rename the file or the plugin, so that --plugin NAME finds it",
        needs: "manifest/is-sound",
        run: name_fits_file,
    },
    Case {
        name: "manifest/models-load",
        about: "each row of the manifest that fits the benchmark's model loads it",
        rule: "the rows say what the plugin can run: model, format, precision, device",
        fix: "declare only what load_model takes; a file that cannot be run as declared is UNSUPPORTED, with the reason",
        needs: "manifest/is-sound",
        run: models_load,
    },
    Case {
        name: "manifest/scenarios-load",
        about: "the model loads for each scenario that is declared for it",
        rule: "scenarios: the set of scenarios that the model can be run in",
        fix: "declare only the scenarios that load_model takes",
        needs: "manifest/is-sound",
        run: scenarios_load,
    },
    Case {
        name: "manifest/largest-batch-is-true",
        about: "a batch as large as is declared, or of 256 samples where there is no limit, runs",
        rule: "batch_size_max: largest batch in samples; 0 means no limit",
        fix: "declare the largest batch that execute takes",
        needs: "manifest/is-sound",
        run: largest_batch_is_true,
    },
];

/// Time in which a plugin must be identified.
const LIMIT: Duration = Duration::from_millis(100);

/// A large batch, for plugins that declare no limit.
const LARGE: usize = 256;

fn is_sound(subject: &Subject) -> Verdict {
    step(subject, LoadStep::Manifest)
}

fn readable_without_device(subject: &Subject) -> Verdict {
    let (before, threads_before) = (descriptors(), threads());
    let (begin, waited) = (Instant::now(), waiting_ns());
    let library = subject.load_again()?;
    // Time in which other threads had the processor is not the plugin's.
    let waited = Duration::from_nanos(waiting_ns() - waited);
    let took = begin.elapsed().saturating_sub(waited);
    let is_device = |target: &&String| {
        target.starts_with("/dev/") && !["/dev/null", "/dev/pts"].iter().any(|it| target.starts_with(it))
    };
    let opened = descriptors();
    let opened: Vec<_> = opened
        .iter()
        .filter(|(descriptor, _)| !before.contains_key(*descriptor))
        .map(|(_, target)| target)
        .filter(is_device)
        .cloned()
        .collect();
    ensure(opened.is_empty(), || format!("{} was opened while the plugin was loaded", opened.join(", ")))?;
    if subject.location.needs_interpreter() {
        // A file in Python is run to know its manifest, and imports what it needs: NumPy alone starts threads.
        return Ok(());
    }
    // The host's own thread has done its work then, though the system may still list it.
    let _ = library.sha256();
    let is_of_plugin =
        |(id, name): &(&String, &String)| !threads_before.contains_key(*id) && *name != CHECKSUM_THREAD;
    let started = threads().iter().filter(is_of_plugin).count();
    ensure(started == 0, || format!("{started} threads were started while the plugin was loaded"))?;
    ensure(took <= LIMIT, || {
        format!(
            "it took {} ms to load and describe the plugin, more than {}",
            took.as_millis(),
            LIMIT.as_millis()
        )
    })
}

fn same_each_time(subject: &Subject) -> Verdict {
    let library = subject.load()?;
    let elsewhere = thread::scope(|scope| scope.spawn(|| subject.load_again()).join());
    let elsewhere = elsewhere.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    ensure(elsewhere.manifest() == library.manifest(), || "it is another one on another thread".to_owned())?;
    let Ok(backend) = subject.open(&library) else { return skipped("the plugin does not open") };
    let opened = subject.load_again()?;
    ensure(opened.manifest() == library.manifest(), || "it is another one after open".to_owned())?;
    drop(backend);
    let closed = subject.load_again()?;
    ensure(closed.manifest() == library.manifest(), || "it is another one after close".to_owned())
}

fn name_fits_file(subject: &Subject) -> Verdict {
    let library = subject.load()?;
    let PluginLocation::Library(path) = &subject.location else { return skipped("the plugin is no library") };
    let name = &library.manifest().name;
    let expected = format!("lib{}_sut.so", name.replace('-', "_"));
    let file = path.file_name().map(Path::new).unwrap_or(path).display().to_string();
    ensure(file == expected, || format!("the file of plugin {name} is called {file} instead of {expected}"))
}

fn models_load(subject: &Subject) -> Verdict {
    subject.need_model()?;
    let library = subject.load()?;
    let id = subject.settings.benchmark.model.id.clone();
    let rows = library.manifest().models.iter().filter(|row| is_declared(&row.model, &id));
    let root = DataRoot::new(subject.settings.run.data_root.as_deref());
    let mut loaded_count = 0;
    for row in rows {
        let mut settings = in_scenario(&subject.settings, row.scenarios[0]);
        settings.run.precision = Some(row.precision.clone());
        settings.run.device = Some(row.device.clone());
        let backend = subject.open(&library)?;
        let plugin = (library.manifest(), &backend);
        let (counts, dispatch) = (settings.benchmark.qsl, shape_for(&library).dispatch);
        // The benchmark may not come in the format of the row.
        let Ok(fitted) = FittedModel::new(&settings, counts, &root, plugin, dispatch, Vec::new(), &Nobody)
        else {
            continue;
        };
        match backend.load_model(&fitted.demand) {
            Ok(model) => {
                loaded_count += 1;
                drop(model);
            }
            // Not every file, and not every machine, has the subject of a row.
            Err(PluginHostError::CallFailed {
                status: PROCTOR_STATUS_UNSUPPORTED | PROCTOR_STATUS_DEVICE_LOST,
                message,
                ..
            }) if !message.is_empty() => {}
            Err(error) => return failed(format!("{id} in {} on {}: {error}", row.precision, row.device)),
        }
        close(backend)?;
    }
    ensure(loaded_count > 0, || format!("no row loads {id}"))
}

fn shape_for(library: &LoadedPlugin) -> Shape {
    if library.manifest().execute { Shape::batches(1) } else { Shape::queries() }
}

fn scenarios_load(subject: &Subject) -> Verdict {
    subject.need_model()?;
    let library = subject.load()?;
    let shape = shape_for(&library);
    for scenario in Scenario::ALL {
        let settings = in_scenario(&subject.settings, *scenario);
        if row_for(&settings, library.manifest(), shape.dispatch).is_err() {
            continue;
        }
        let bed = subject.bed_in(shape, &settings).map_err(|error| error.at(scenario.name()))?;
        bed.end().map_err(|error| error.at(scenario.name()))?;
    }
    Ok(())
}

fn largest_batch_is_true(subject: &Subject) -> Verdict {
    let library = subject.load()?;
    let size = largest_batch(&subject.settings, &library).unwrap_or(LARGE);
    let bed = subject.bed(Shape::batches(size))?;
    let mut instance = bed.instance(0)?;
    let samples = bed.samples(size)?;
    // A batch may have a sample more than once.
    let batch: Vec<_> = samples.indices().into_iter().cycle().take(size).collect();
    let answers = bed.phase(&samples, || bed.execute(&mut instance, &batches_of(&batch, &[size])))?;
    if answers.len() != size {
        return failed(format!("{} answers to a batch of {size}", answers.len()));
    }
    all_good(&answers)?;
    drop(instance);
    bed.end()
}
