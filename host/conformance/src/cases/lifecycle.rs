//! The life of a plugin, call by call, repeated.

use std::{fs, sync::Arc};

use proctor_bed::Dispatch;
use proctor_plugin_host::{ModelDemand, PluginHostError};
use proctor_vocabulary::SampleIndex;

use crate::{
    bed::{Bed, Shape, all_good, batches_of},
    case::Case,
    subject::{Subject, close, judge_work},
    verdict::{Verdict, ensure, failed, skipped},
};

const OPENS: &str = "options/defaults-open";
const LOADS: &str = "lifecycle/load-and-unload";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "lifecycle/open-and-close",
        about: "the plugin is opened, and closed without having had a model",
        rule: "open writes a backend that is not null; close ends it, whatever it was used for",
        fix: "have close free what open has made, and return OK",
        needs: OPENS,
        run: open_and_close,
    },
    Case {
        name: "lifecycle/opens-repeat",
        about: "the plugin is opened and closed twenty times",
        rule: "open is called once for each run, and the library is never unloaded; after close nothing is left",
        fix: "keep the state of a run in the backend, not in variables that are filled in once",
        needs: "lifecycle/open-and-close",
        run: opens_repeat,
    },
    Case {
        name: LOADS,
        about: "a model is loaded, and unloaded without having had an instance",
        rule: "load_model writes a model that is not null, or says UNSUPPORTED with the reason; unload_model ends it",
        fix: "return OK and a model, or a status with a message; have unload_model free what load_model has made",
        needs: OPENS,
        run: load_and_unload,
    },
    Case {
        name: "lifecycle/models-repeat",
        about: "a model is loaded and unloaded ten times, with one open",
        rule: "a backend has one model at a time, one after the other",
        fix: "keep the state of a model in the model, and free it in unload_model",
        needs: LOADS,
        run: models_repeat,
    },
    Case {
        name: "lifecycle/refused-model",
        about: "a file that is not there, or is damaged, is refused with a reason, and a good one loads after it",
        rule: "a function that returns a status other than OK has made no object; its message says why",
        fix: "check the file in load_model, return a status with the path and the reason, and keep nothing",
        needs: LOADS,
        run: refused_model,
    },
    Case {
        name: "lifecycle/create-and-destroy",
        about: "instances are made and ended without having had a batch",
        rule: "create_instance writes an instance that is not null; destroy_instance ends it",
        fix: "have destroy_instance free what create_instance has made, and return OK",
        needs: LOADS,
        run: create_and_destroy,
    },
    Case {
        name: "lifecycle/prepare-and-release",
        about: "samples are announced and released without having been used: one, several, and some far apart",
        rule: "prepare_samples announces the samples that will be used, by ascending index, each once; release_samples ends that",
        fix: "look samples up by their index, which need not begin at 0 or be without gaps; step by sample_stride",
        needs: LOADS,
        run: prepare_and_release,
    },
    Case {
        name: "lifecycle/warm-up",
        about: "the plugin warms up, and completes nothing",
        rule: "warm_up runs a batch or a query whose outputs are thrown away, before start, and completes no sample",
        fix: "compute as execute or issue would, and complete none of the samples of a warm-up",
        needs: LOADS,
        run: warm_up,
    },
    Case {
        name: "lifecycle/start-and-stop",
        about: "the timed part begins and ends without any work",
        rule: "start begins the timed part, stop ends it; no sample need have come between them",
        fix: "have stop return OK, and promptly, where nothing was asked for",
        needs: LOADS,
        run: start_and_stop,
    },
    Case {
        name: "lifecycle/phases-repeat",
        about: "twenty phases follow each other with one model: prepare, start, work, stop, release",
        rule: "the part from prepare_samples to release_samples repeats",
        fix: "set back in start and stop what belongs to one phase",
        needs: "lifecycle/start-and-stop",
        run: phases_repeat,
    },
    Case {
        name: "lifecycle/tests-repeat",
        about: "instances are made, used and ended ten times with one model",
        rule: "the part from create_instance to destroy_instance repeats for each test of a run",
        fix: "keep the state of an instance in the instance, and free it in destroy_instance",
        needs: "lifecycle/create-and-destroy",
        run: tests_repeat,
    },
    Case {
        name: "lifecycle/ends-well",
        about: "stop, release_samples, destroy_instance, unload_model and close return OK after work",
        rule: "calls that end something have ended it also where they return a failure, which is reported",
        fix: "return OK from what ends something, unless it could not be ended in good order",
        needs: "lifecycle/start-and-stop",
        run: ends_well,
    },
];

/// Returns the ways of work that the plugin declares.
pub(super) fn dispatches(subject: &Subject) -> Verdict<Vec<Dispatch>> {
    let library = subject.load()?;
    let manifest = library.manifest();
    let both = [(manifest.execute, Dispatch::Batches), (manifest.issue, Dispatch::WholeQueries)];
    Ok(both.into_iter().filter(|(is_there, _)| *is_there).map(|(_, dispatch)| dispatch).collect())
}

/// Returns the shape of a bed for a way of work.
pub(super) fn shape(dispatch: Dispatch) -> Shape {
    match dispatch {
        Dispatch::Batches => Shape::batches(4),
        Dispatch::WholeQueries => Shape::queries(),
    }
}

/// Does a little work: warms up, and runs some batches, or some queries, in its own phase.
pub(super) fn work(bed: &Bed, dispatch: Dispatch) -> Verdict {
    let samples = bed.samples(8)?;
    let indices = samples.indices();
    let answers = match dispatch {
        Dispatch::Batches => {
            let mut instance = bed.instance(0)?;
            bed.warm_up(Some(&mut instance), &samples)?;
            bed.phase(&samples, || bed.execute(&mut instance, &batches_of(&indices, &[bed.batch_size(), 1])))?
        }
        Dispatch::WholeQueries => {
            bed.warm_up(None, &samples)?;
            bed.phase(&samples, || bed.issue_all(&batches_of(&indices, &[1, 3])))?
        }
    };
    all_good(&answers)
}

fn open_and_close(subject: &Subject) -> Verdict {
    let library = subject.load()?;
    close(subject.open(&library)?)
}

fn opens_repeat(subject: &Subject) -> Verdict {
    let library = subject.load()?;
    for time in 1..=20 {
        let opened = subject.open(&library).and_then(close);
        opened.map_err(|error| error.at(&format!("time number {time}")))?;
    }
    Ok(())
}

fn load_and_unload(subject: &Subject) -> Verdict {
    subject.need_model()?;
    for dispatch in dispatches(subject)? {
        subject.bed(shape(dispatch))?.end()?;
    }
    Ok(())
}

fn models_repeat(subject: &Subject) -> Verdict {
    let bed = subject.bed(shape(dispatches(subject)?[0]))?;
    let Bed { backend, fitted, .. } = bed.without_model();
    for time in 1..=10 {
        let loaded = backend.load_model(&fitted.demand).map(drop);
        loaded.map_err(|error| crate::verdict::Ended::from(error).at(&format!("time number {time}")))?;
        judge_work(&backend.host_side().take_faults())?;
    }
    close(backend)
}

fn refused_model(subject: &Subject) -> Verdict {
    let bed = subject.bed(shape(dispatches(subject)?[0]))?;
    let Bed { backend, fitted, .. } = bed.without_model();
    let demand = fitted.demand;
    if demand.files.is_empty() {
        return skipped("the model comes without a file");
    }
    let damaged = subject.folder.join("damaged");
    fs::write(&damaged, [0x5a; 4096]).map_err(|error| crate::verdict::Ended::Skipped(error.to_string()))?;
    for path in ["/no/such/file".into(), damaged] {
        let files = demand.files.iter().map(|(format, _)| (format.clone(), std::path::PathBuf::clone(&path)));
        let wrong = ModelDemand { files: files.collect(), ..demand.clone() };
        match backend.load_model(&wrong) {
            // It does not look at the file.
            Ok(model) => drop(model),
            Err(PluginHostError::CallFailed { message, .. }) => {
                ensure(!message.is_empty(), || format!("{} is refused without a message", path.display()))?;
            }
            Err(error) => return failed(error),
        }
    }
    drop(backend.load_model(&demand)?);
    close(backend)
}

fn create_and_destroy(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape { instances: 3, ..Shape::batches(2) })?;
    let instances = bed.instances()?;
    // Not in creation order.
    let mut instances = instances.into_iter();
    let (first, second, third) = (instances.next(), instances.next(), instances.next());
    drop((second, third, first));
    bed.end()
}

fn prepare_and_release(subject: &Subject) -> Verdict {
    let bed = subject.bed(shape(dispatches(subject)?[0]))?;
    let instances = bed.instances()?;
    let at = |pairs: &[(u64, u64)]| {
        let pairs: Vec<_> = pairs.iter().map(|(from, to)| (SampleIndex(*from), SampleIndex(*to))).collect();
        bed.samples_at(&pairs)
    };
    for samples in [at(&[(0, 0)])?, at(&[(0, 0), (1, 1), (2, 2)])?, at(&[(0, 7), (1, 8), (2, 400)])?] {
        bed.model().prepare(&samples.indices(), Arc::clone(&samples) as _)?;
        bed.model().release()?;
        bed.judge()?;
    }
    drop(instances);
    bed.end()
}

fn warm_up(subject: &Subject) -> Verdict {
    for dispatch in dispatches(subject)? {
        let bed = subject.bed(shape(dispatch))?;
        let samples = bed.samples(4)?;
        let mut instances = bed.instances()?;
        for _ in 0..3 {
            bed.warm_up(instances.first_mut(), &samples)?;
        }
        drop(instances);
        bed.end()?;
    }
    Ok(())
}

fn start_and_stop(subject: &Subject) -> Verdict {
    for dispatch in dispatches(subject)? {
        let bed = subject.bed(shape(dispatch))?;
        let instances = bed.instances()?;
        let samples = bed.samples(4)?;
        bed.phase(&samples, || Ok(()))?;
        bed.phase(&samples, || Ok(()))?;
        drop(instances);
        bed.end()?;
    }
    Ok(())
}

fn phases_repeat(subject: &Subject) -> Verdict {
    for dispatch in dispatches(subject)? {
        let bed = subject.bed(shape(dispatch))?;
        for time in 1..=20 {
            work(&bed, dispatch).map_err(|error| error.at(&format!("phase {time}")))?;
        }
        bed.end()?;
    }
    Ok(())
}

fn tests_repeat(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape { instances: 2, ..Shape::batches(2) })?;
    let samples = bed.samples(4)?;
    for time in 1..=10 {
        let mut instances = bed.instances()?;
        bed.phase(&samples, || {
            for instance in &mut instances {
                all_good(&bed.execute(instance, &batches_of(&samples.indices(), &[1]))?)?;
            }
            Ok(())
        })
        .map_err(|error| error.at(&format!("test {time}")))?;
    }
    bed.end()
}

fn ends_well(subject: &Subject) -> Verdict {
    for dispatch in dispatches(subject)? {
        let bed = subject.bed(shape(dispatch))?;
        work(&bed, dispatch)?;
        bed.end()?;
    }
    Ok(())
}
