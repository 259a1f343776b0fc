//! Memory, threads, files and processes that grow or are left behind.

use std::{collections::BTreeMap, fs};

use super::{
    lifecycle::{dispatches, shape, work},
    process::life,
};
use crate::{
    bed::{Bed, Shape, all_good, batches_of, on_own_thread},
    case::Case,
    resources::{children, descriptors, memory_bytes, threads},
    subject::{Subject, close},
    verdict::{Verdict, ensure, failed, skipped},
};

const OPENS: &str = "lifecycle/opens-repeat";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "resources/memory-of-batches",
        about: "the memory of the process does not grow with the number of batches",
        rule: "what the plugin lends or makes for a batch belongs to the batch",
        fix: "free what execute allocates, or allocate it once in create_instance",
        needs: "batches/one-sample",
        run: memory_of_batches,
    },
    Case {
        name: "resources/memory-of-queries",
        about: "the memory of the process does not grow with the number of queries",
        rule: "what the plugin keeps of a query it needs until the query is complete",
        fix: "free what issue allocates when the sample is complete, or use a bounded queue",
        needs: "queries/one-sample",
        run: memory_of_queries,
    },
    Case {
        name: "resources/memory-of-phases",
        about: "the memory of the process does not grow with the number of phases",
        rule: "after release_samples nothing of the samples is in use",
        fix: "free in stop and release_samples what start and prepare_samples have made",
        needs: "lifecycle/phases-repeat",
        run: memory_of_phases,
    },
    Case {
        name: "resources/memory-of-models",
        about: "the memory of the process does not grow with the number of models that were loaded and unloaded",
        rule: "unload_model ends the model",
        fix: "free in unload_model and destroy_instance what load_model and create_instance have made",
        needs: "lifecycle/models-repeat",
        run: memory_of_models,
    },
    Case {
        name: "resources/memory-of-opens",
        about: "the memory of the process does not grow with the number of times that the plugin was opened",
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
        about: "no child processes are left behind",
        rule: "close is the last call; what the plugin has started ends with it",
        fix: "end and wait for child processes in close",
        needs: OPENS,
        run: processes_left,
    },
];

/// Rounds that are measured, and how much each may add: less is noise of the allocator.
const ROUNDS: usize = 4;
const ROUND_BYTES_MAX: u64 = 512 << 10;

/// Repeats something in rounds, and fails if each round but the first takes more memory.
fn steady(mut round: impl FnMut() -> Verdict) -> Verdict {
    // What is made once is made now.
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
    let is_steady = grown[1..].iter().any(|bytes| *bytes <= ROUND_BYTES_MAX);
    ensure(is_steady, || {
        let grown: Vec<_> = grown.iter().map(|bytes| format!("{} KiB", bytes >> 10)).collect();
        format!("each of {ROUNDS} equal rounds leaves more memory in use: {}", grown.join(", "))
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
            steady(|| batches.iter().try_for_each(|batch| all_good(&bed.execute_here(instance, batch)?)))
        })
    })?;
    drop(instance);
    bed.end()
}

fn memory_of_queries(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(8)?;
    let indices: Vec<_> = samples.indices().into_iter().cycle().take(500).collect();
    steady(|| {
        bed.desk.forget();
        bed.phase(&samples, || bed.issue_all(&batches_of(&indices, &[1])).map(drop))
    })?;
    bed.end()
}

fn memory_of_phases(subject: &Subject) -> Verdict {
    for dispatch in dispatches(subject)? {
        let bed = subject.bed(shape(dispatch))?;
        steady(|| {
            bed.desk.forget();
            (0..10).try_for_each(|_| work(&bed, dispatch))
        })?;
        bed.end()?;
    }
    Ok(())
}

fn memory_of_models(subject: &Subject) -> Verdict {
    let bed = subject.bed(shape(dispatches(subject)?[0]))?;
    let Bed { backend, fitted, .. } = bed.without_model();
    steady(|| (0..5).try_for_each(|_| Ok(backend.load_model(&fitted.demand).map(drop)?)))?;
    close(backend)
}

fn memory_of_opens(subject: &Subject) -> Verdict {
    let library = subject.load()?;
    steady(|| (0..20).try_for_each(|_| close(subject.open(&library)?)))
}

/// Lives of the plugin after which what is left is compared: after the first all that is made once is there.
const LIVES: usize = 4;

/// Fails if each life leaves more behind.
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
    // Fewer than one for each life may be what is made now and then.
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
    let left = children();
    ensure(left.is_empty(), || format!("{} child processes are left behind: {}", left.len(), left.join(", ")))
}
