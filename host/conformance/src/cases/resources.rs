//! Checks for memory, threads, files and processes that grow or are left behind.

use std::{collections::BTreeMap, fs};

use super::{
    lifecycle::{dispatches, shape, work},
    process::life,
};
use crate::{
    bed::{Bed, Shape, all_good, batches_of, on_own_thread},
    case::Case,
    resources::{descriptors, memory_bytes, processes_of_group, threads},
    subject::{Subject, close},
    verdict::{Verdict, ensure, failed, skipped},
};

const OPENS: &str = "lifecycle/opens-repeat";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "resources/memory-of-batches",
        about: "the memory of the process does not grow by more than 256 bytes with each batch",
        rule: "what the plugin lends or makes for a batch belongs to the batch",
        fix: "free what execute allocates, or allocate it once in create_instance",
        needs: "batches/one-sample",
        run: memory_of_batches,
    },
    Case {
        name: "resources/memory-of-queries",
        about: "the memory of the process does not grow by more than 256 bytes with each query",
        rule: "what the plugin keeps of a query it needs until the query is complete",
        fix: "free what issue allocates when the sample is complete, or use a bounded queue",
        needs: "queries/one-sample",
        run: memory_of_queries,
    },
    Case {
        name: "resources/memory-of-phases",
        about: "the memory of the process does not grow by more than 16 KiB with each phase",
        rule: "after release_samples nothing of the samples is in use",
        fix: "free in stop and release_samples what start and prepare_samples have made",
        needs: "lifecycle/phases-repeat",
        run: memory_of_phases,
    },
    Case {
        name: "resources/memory-of-models",
        about: "the memory of the process does not grow by more than 64 KiB with each model that is loaded and unloaded",
        rule: "unload_model ends the model",
        fix: "free in unload_model and destroy_instance what load_model and create_instance have made",
        needs: "lifecycle/models-repeat",
        run: memory_of_models,
    },
    Case {
        name: "resources/memory-of-opens",
        about: "the memory of the process does not grow by more than 16 KiB with each time that the plugin is opened and closed",
        rule: "close ends the backend",
        fix: "free in close what open has made",
        needs: OPENS,
        run: memory_of_opens,
    },
    Case {
        name: "resources/threads",
        about: "no threads are left behind by each open and close",
        rule: "threads of the plugin have ended when close returns, or call nothing of the host any more",
        fix: "end and join the plugin's threads in stop, unload_model or close",
        needs: OPENS,
        run: threads_left,
    },
    Case {
        name: "resources/descriptors",
        about: "no open files, sockets or devices are left behind by each open and close",
        rule: "open opens the device or the library below; close closes it",
        fix: "close descriptors in the call that ends what they belong to, also where a call has failed",
        needs: OPENS,
        run: descriptors_left,
    },
    Case {
        name: "resources/temporary-files",
        about: "no temporary files are left behind by each open and close",
        rule: "what is to outlive the run goes to the folder of ProctorHost.cache_folder",
        fix: "remove temporary files in close, or unlink them as soon as they are open",
        needs: OPENS,
        run: temporary_files,
    },
    Case {
        name: "resources/processes",
        about: "no processes are left behind, nor those that these have started",
        rule: "close is the last call; what the plugin has started ends with it",
        fix: "end and wait for child processes in close",
        needs: OPENS,
        run: processes_left,
    },
];

/// Rounds that are measured.
const ROUNDS: usize = 4;

/// Repeats an action in rounds of `times`, and fails if each round but the first leaves more than `bytes_each` in use
/// per repetition: allocator noise is less, and not in every round.
fn steady(times: usize, bytes_each: usize, mut round: impl FnMut() -> Verdict) -> Verdict {
    let bytes_max = (times * bytes_each) as u64;
    // Anything made once is made now.
    round()?;
    let Some(mut before) = memory_bytes() else {
        return skipped("the system does not tell the memory of a process");
    };
    let mut grown = Vec::new();
    for _ in 0..ROUNDS {
        round()?;
        let now = memory_bytes().unwrap_or(before);
        grown.push(now.saturating_sub(before));
        before = now;
    }
    let is_steady = grown[1..].iter().any(|bytes| *bytes <= bytes_max);
    ensure(is_steady, || {
        let grown: Vec<_> = grown.iter().map(|bytes| format!("{} KiB", bytes >> 10)).collect();
        format!(
            "each of {ROUNDS} rounds of {times} leaves more memory in use: {}; {bytes_each} bytes for each are noise",
            grown.join(", ")
        )
    })
}

fn memory_of_batches(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::batches(4))?;
    let samples = bed.samples(8)?;
    let mut instance = bed.instance(0)?;
    let indices: Vec<_> = samples.indices().into_iter().cycle().take(2000).collect();
    let batches = batches_of(&indices, &[bed.batch_size()]);
    bed.phase(&samples, || {
        on_own_thread(&mut instance, |instance| {
            // No answer is kept.
            steady(batches.len(), 256, || {
                bed.desk.forget();
                batches.iter().try_for_each(|batch| all_good(&bed.execute_here(instance, batch)?))
            })
        })
    })?;
    drop(instance);
    bed.end()
}

fn memory_of_queries(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(8)?;
    let indices: Vec<_> = samples.indices().into_iter().cycle().take(500).collect();
    steady(indices.len(), 256, || {
        bed.desk.forget();
        bed.phase(&samples, || bed.issue_all(&batches_of(&indices, &[1])).map(drop))
    })?;
    bed.end()
}

fn memory_of_phases(subject: &Subject) -> Verdict {
    const PHASES: usize = 10;
    for dispatch in dispatches(subject)? {
        let bed = subject.bed(shape(dispatch))?;
        steady(PHASES, 16 << 10, || {
            bed.desk.forget();
            (0..PHASES).try_for_each(|_| work(&bed, dispatch))
        })?;
        bed.end()?;
    }
    Ok(())
}

fn memory_of_models(subject: &Subject) -> Verdict {
    const MODELS: usize = 5;
    let bed = subject.bed(shape(dispatches(subject)?[0]))?;
    let Bed { backend, fitted, .. } = bed.without_model();
    steady(MODELS, 64 << 10, || {
        (0..MODELS).try_for_each(|_| Ok(backend.load_model(&fitted.demand).map(drop)?))
    })?;
    close(backend)
}

fn memory_of_opens(subject: &Subject) -> Verdict {
    const OPENS: usize = 20;
    let library = subject.load()?;
    // Half of it is the host's own: the table of its services stays for ever.
    steady(OPENS, 16 << 10, || (0..OPENS).try_for_each(|_| close(subject.open(&library)?)))
}

/// Lives of the plugin after which leftovers are compared: the first creates everything that is made once.
const LIVES: usize = 4;

/// Fails if each life leaves more of it.
fn nothing_left(subject: &Subject, what: &str, left: impl Fn() -> BTreeMap<String, String>) -> Verdict {
    // The host's own work on the file is over then.
    let _ = subject.load()?.sha256();
    life(subject)?;
    let before = left();
    for _ in 1..LIVES {
        life(subject)?;
    }
    let after = left();
    let more: Vec<_> =
        after.iter().filter(|(key, _)| !before.contains_key(*key)).map(|(_, name)| name.clone()).collect();
    let grown = after.len().saturating_sub(before.len());
    // Fewer than one for each life may be made occasionally.
    if grown >= LIVES - 1 {
        failed(format!("{grown} {what} are left behind: {}", more.join(", ")))
    } else {
        Ok(())
    }
}

fn threads_left(subject: &Subject) -> Verdict {
    nothing_left(subject, "threads", threads)
}

fn descriptors_left(subject: &Subject) -> Verdict {
    nothing_left(subject, "descriptors", descriptors)
}

fn temporary_files(subject: &Subject) -> Verdict {
    nothing_left(subject, "temporary files", || {
        let files = fs::read_dir(subject.temporary_folder()).into_iter().flatten().flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        names.map(|name| (name.clone(), name)).collect()
    })
}

fn processes_left(subject: &Subject) -> Verdict {
    life(subject)?;
    let left = processes_of_group();
    ensure(left.is_empty(), || format!("{} processes are left behind: {}", left.len(), left.join(", ")))
}
