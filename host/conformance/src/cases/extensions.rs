//! Checks extensions, both the declared ones and the ones that are merely there.

use std::{
    iter,
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use proctor_plugin_api::abi::{
    PROCTOR_EXTENSION_DEVICES, PROCTOR_EXTENSION_ENERGY, PROCTOR_EXTENSION_EXPLAIN,
    PROCTOR_EXTENSION_INPUT_FORM, PROCTOR_EXTENSION_INSTANCE_THREAD, PROCTOR_EXTENSION_LIVE_INSTANCES,
    PROCTOR_EXTENSION_MEMORY, PROCTOR_EXTENSION_SUBMIT,
};
use proctor_plugin_host::{Lane, LoadStep, ModelDemand, PluginFault, PluginHostError};
use proctor_vocabulary::{QuerySample, SampleIndex};

use super::{
    lifecycle::{dispatches, shape, work},
    load::step,
};
use crate::{
    answers::Desk,
    bed::{Bed, Shape, all_good, batches_of},
    case::Case,
    samples::InMemory,
    subject::{Subject, close},
    verdict::{Verdict, ensure, failed, skipped},
};

const LOADS: &str = "lifecycle/load-and-unload";
const EXECUTES: &str = "batches/one-sample";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "extensions/promised-are-there",
        about: "each extension that a capability promises is there, whole, and so is each other that is offered",
        rule: "with PROCTOR_CAPABILITY_ISSUE the plugin has proctor.issue/1, with VIRTUAL_TIME proctor.virtual_time/0; their \
               functions are required unless they say optional",
        fix: "answer the id in ProctorPlugin.extension with a static structure, its size and functions filled in",
        needs: "load/functions-are-there",
        run: promised_are_there,
    },
    Case {
        name: "extensions/explain",
        about: "the plugin says in words how the model will run, the same each time",
        rule: "explain writes the text, lines ended by a newline, to the sink; nothing if there is nothing to say",
        fix: "write UTF-8 to sink->write with sink->context, during the call alone",
        needs: LOADS,
        run: explain,
    },
    Case {
        name: "extensions/devices",
        about: "the list of devices stays the same, and an instance runs at each",
        rule: "list writes each device to the sink, in an order that stays; ProctorPlacement.device_index is a position in it",
        fix: "list devices in a fixed order with a name each, and make the instance at placement->device_index",
        needs: LOADS,
        run: devices,
    },
    Case {
        name: "extensions/energy",
        about: "the counter of energy is finite and never decreases",
        rule: "read gives joules since any instant, finite and never decreasing; UNSUPPORTED if this model has none",
        fix: "add up what a counter of the driver loses when it wraps around",
        needs: LOADS,
        run: energy,
    },
    Case {
        name: "extensions/input-form",
        about: "the forms that are chosen for the inputs can be had, and are the same each time",
        rule: "choose writes one of the element types and layouts to `form`, or nothing",
        fix: "choose f16, bf16, i8 or u8 of f32 inputs alone, and channels last of inputs of three dimensions",
        needs: LOADS,
        run: input_form,
    },
    Case {
        name: "extensions/memory",
        about: "samples in memory of the plugin's own have the same answers as in the host's, and the memory is given back",
        rule: "allocate writes a range that is aligned, large enough, and meets no other in use; free takes it back once",
        fix: "align to allocation->alignment, keep a list of ranges, and copy to a device what copy is given",
        needs: EXECUTES,
        run: memory,
    },
    Case {
        name: "extensions/instance-thread",
        about: "the threads of instances begin and end, and batches run between",
        rule: "begin comes on the thread before its first batch of an instance, end after its last one",
        fix: "make the context of the device current in begin, and let go of it in end",
        needs: EXECUTES,
        run: instance_thread,
    },
    Case {
        name: "extensions/live-instances",
        about: "an instance is made and ended between start and stop, beside another that executes",
        rule: "create and destroy come on a thread of the host's own, one call at a time, beside execute of other instances",
        fix: "lock what instances share while one is made or ended",
        needs: EXECUTES,
        run: live_instances,
    },
    Case {
        name: "extensions/submit",
        about: "as many batches as an instance takes are in flight at a time, and each is done once, with the same answers",
        rule: "a batch that was taken is reported once by done, from any thread, in any order",
        fix: "report each batch by its id when its outputs are written, and keep what it points to until then",
        needs: EXECUTES,
        run: submit,
    },
    Case {
        name: "extensions/virtual-time",
        about: "in virtual time batches are answered as in real time, and take a time that can be",
        rule: "execute of ProctorVirtualTime returns at once and writes the service time in ns",
        fix: "write the outputs as execute does, and the time to *service_time_ns",
        needs: EXECUTES,
        run: virtual_time,
    },
    Case {
        name: "extensions/tokens",
        about: "tokens that are reported as they come are as many as the sample is completed with",
        rule: "a sample of which tokens were reported has to be completed with as many",
        fix: "report each token once, before the completion, and set token_count to their number",
        needs: LOADS,
        run: tokens,
    },
];

fn promised_are_there(subject: &Subject) -> Verdict {
    step(subject, LoadStep::Extensions)
}

/// Skips unless the plugin has an extension.
fn need(subject: &Subject, id: &'static str) -> Verdict {
    match subject.load()?.has_extension(id) {
        true => Ok(()),
        false => skipped(format!("the plugin does not have {id}")),
    }
}

fn explain(subject: &Subject) -> Verdict {
    need(subject, PROCTOR_EXTENSION_EXPLAIN)?;
    let bed = subject.bed(shape(dispatches(subject)?[0]))?;
    let first = bed.model().explain()?;
    let second = bed.model().explain()?;
    ensure(first == second, || "it explains itself otherwise the second time".to_owned())?;
    if let Some(text) = &first {
        ensure(text.ends_with('\n'), || "the last line does not end with a newline".to_owned())?;
    }
    bed.end()
}

fn devices(subject: &Subject) -> Verdict {
    need(subject, PROCTOR_EXTENSION_DEVICES)?;
    let bed = subject.bed(shape(dispatches(subject)?[0]))?;
    let Bed { backend, fitted, library, .. } = bed.without_model();
    let first = backend.devices()?;
    let second = backend.devices()?;
    ensure(first.devices == second.devices, || "it lists other devices the second time".to_owned())?;
    if library.manifest().execute {
        let placements = (0..).zip(&first.devices).map(|(device_index, _)| proctor_plugin_api::Placement {
            instance_index: device_index,
            instance_count: u32::try_from(first.devices.len()).unwrap_or(u32::MAX),
            cpus: Vec::new(),
            device_index,
        });
        let placements: Vec<_> = placements.collect();
        let instance_count = u32::try_from(placements.len()).unwrap_or(u32::MAX).max(1);
        let model = backend.load_model(&ModelDemand { placements, instance_count, ..fitted.demand })?;
        let instances = (0..instance_count).map(|index| model.create_instance(index));
        drop(instances.collect::<Result<Vec<_>, _>>()?);
        drop(model);
    }
    close(backend)
}

fn energy(subject: &Subject) -> Verdict {
    need(subject, PROCTOR_EXTENSION_ENERGY)?;
    let dispatch = dispatches(subject)?[0];
    let bed = subject.bed(shape(dispatch))?;
    let mut counted = false;
    for _ in 0..3 {
        work(&bed, dispatch)?;
        counted |= bed.backend.host_side().take_energy_joules().is_some();
    }
    let (ended, noticed) = bed.end_with_noticed();
    let wrong = noticed.iter().find(|fault| matches!(fault.first, PluginFault::Energy { .. }));
    match wrong {
        Some(wrong) => failed(wrong),
        None if !counted => skipped("the plugin counts no energy for this model"),
        None => ended,
    }
}

fn input_form(subject: &Subject) -> Verdict {
    need(subject, PROCTOR_EXTENSION_INPUT_FORM)?;
    let bed = subject.bed(shape(dispatches(subject)?[0]))?;
    let given = ModelDemand { inputs: bed.settings.benchmark.inputs.clone(), ..bed.fitted.demand.clone() };
    let Bed { backend, fitted, .. } = bed.without_model();
    let first = backend.input_forms(&given)?;
    let second = backend.input_forms(&given)?;
    ensure(first == second, || "it chooses other forms the second time".to_owned())?;
    drop(backend.load_model(&fitted.demand)?);
    close(backend)
}

fn memory(subject: &Subject) -> Verdict {
    need(subject, PROCTOR_EXTENSION_MEMORY)?;
    let bed = subject.bed(Shape::batches(4))?;
    let samples = bed.samples(16)?;
    let batches = batches_of(&samples.indices(), &[bed.batch_size()]);
    let mut instance = bed.instance(0)?;
    let expected = bed.phase(&samples, || bed.execute(&mut instance, &batches))?;
    all_good(&expected)?;
    for _ in 0..3 {
        let Some(own) = InMemory::new(bed.model(), &samples, bed.fitted.demand.inputs.len())? else {
            return skipped("the plugin leaves the memory of this model's samples to the host");
        };
        let own = Arc::new(own);
        let answers = bed.phase_with(&samples.indices(), own, || bed.execute(&mut instance, &batches))?;
        bed.same(&expected, &answers, "from samples in memory of the plugin")?;
    }
    drop(instance);
    bed.end()
}

fn instance_thread(subject: &Subject) -> Verdict {
    need(subject, PROCTOR_EXTENSION_INSTANCE_THREAD)?;
    let bed = subject.bed(Shape::batches(2))?;
    let samples = bed.samples(4)?;
    let mut instance = bed.instance(0)?;
    for _ in 0..3 {
        // A thread of its own in each phase.
        let batches = batches_of(&samples.indices(), &[1]);
        all_good(&bed.phase(&samples, || bed.execute(&mut instance, &batches))?)?;
    }
    drop(instance);
    bed.end()
}

fn live_instances(subject: &Subject) -> Verdict {
    need(subject, PROCTOR_EXTENSION_LIVE_INSTANCES)?;
    let bed = subject.bed(Shape { instances: 2, ..Shape::batches(2) })?;
    let samples = bed.samples(8)?;
    let indices: Vec<_> = samples.indices().into_iter().cycle().take(400).collect();
    let batches = batches_of(&indices, &[1]);
    let (mut steady, mut passing) = (bed.instance(0)?, bed.instance(1)?);
    bed.phase(&samples, || {
        thread::scope(|scope| {
            let beside = scope.spawn(|| bed.execute(&mut steady, &batches));
            for _ in 0..10 {
                passing.destroy()?;
                passing = bed.instance(1)?;
                all_good(&bed.execute(&mut passing, &batches[..2])?)?;
            }
            match beside.join() {
                Ok(answers) => all_good(&answers?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    })?;
    drop(steady);
    bed.end()
}

fn submit(subject: &Subject) -> Verdict {
    need(subject, PROCTOR_EXTENSION_SUBMIT)?;
    let bed = subject.bed(Shape::batches(2))?;
    let samples = bed.samples(8)?;
    let indices: Vec<SampleIndex> = samples.indices();
    let mut instance = bed.instance(0)?;
    if instance.in_flight_max() == 0 {
        return skipped("the instance takes batches by execute: in_flight_max is 0");
    }
    let expected = bed.phase(&samples, || bed.execute(&mut instance, &batches_of(&indices, &[1])))?;
    all_good(&expected)?;
    let lanes = instance.into_lanes()?;
    let answers = bed.phase(&samples, || {
        let (sender, done) = mpsc::channel();
        for lane in lanes {
            let (desk, indices, sender) = (Arc::clone(&bed.desk), indices.clone(), sender.clone());
            // Not scoped: a batch may never be done.
            thread::spawn(move || submit_all(lane, &desk, &indices, &sender));
        }
        drop(sender);
        let mut submitted = Vec::new();
        loop {
            match done.recv_timeout(bed.patience) {
                Ok(batch) => submitted.extend(batch?),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    return failed(format!(
                        "a batch that was taken was not reported as done, after {} s without any that was",
                        bed.patience.as_secs_f64()
                    ));
                }
            }
        }
        let missing = bed.desk.wait(Duration::ZERO);
        ensure(missing == 0, || format!("{missing} samples of batches that are done were not completed"))?;
        let answers = bed.desk.answers(&submitted);
        let place = |sample: &QuerySample| indices.iter().position(|index| *index == sample.index);
        let expected = submitted.iter().filter_map(place).map(|place| expected[place].clone());
        Ok((expected.collect::<Vec<_>>(), answers))
    })?;
    bed.same(&answers.0, &answers.1, "submitted instead of executed")?;
    bed.end()
}

/// Submits a batch of each sample repeatedly, and reports each completion, up to the first failure.
fn submit_all(
    mut lane: Lane,
    desk: &Desk,
    indices: &[SampleIndex],
    done: &mpsc::Sender<Result<Vec<QuerySample>, PluginHostError>>,
) {
    lane.begin_thread();
    for index in iter::repeat_n(indices, 20).flatten() {
        // The plugin's thread completes finished batches.
        let batch = desk.expect(&[*index]);
        let executed = lane.execute(&batch);
        let has_failed = executed.is_err();
        // If another lane has failed, the receiver is gone.
        if done.send(executed.map(|()| batch)).is_err() || has_failed {
            break;
        }
    }
    lane.end_thread();
}

fn virtual_time(subject: &Subject) -> Verdict {
    if !subject.load()?.manifest().virtual_time {
        return skipped("the plugin does not declare PROCTOR_CAPABILITY_VIRTUAL_TIME");
    }
    /// Maximum plausible service time: a day.
    const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;
    let bed = subject.bed(Shape::batches(4))?;
    let samples = bed.samples(8)?;
    let mut instance = bed.instance(0)?;
    let batch = samples.indices()[..bed.batch_size().min(samples.indices().len())].to_vec();
    let expected = bed.phase(&samples, || bed.execute(&mut instance, std::slice::from_ref(&batch)))?;
    let (answers, time_ns) = bed.phase(&samples, || bed.execute_virtual(&mut instance, &batch))?;
    bed.same(&expected, &answers, "in virtual time")?;
    ensure(time_ns <= DAY_NS, || format!("a batch takes {time_ns} ns"))?;
    drop(instance);
    bed.end()
}

fn tokens(subject: &Subject) -> Verdict {
    let mut reported = 0;
    for dispatch in dispatches(subject)? {
        let bed = subject.bed(shape(dispatch))?;
        work(&bed, dispatch)?;
        let completions = bed.completions();
        reported += completions.token_count;
        let differing = completions.differing_token_count;
        ensure(differing == 0, || {
            format!("{differing} samples were completed with another number of tokens than were reported")
        })?;
        bed.end()?;
    }
    if reported == 0 { skipped("the plugin reports no tokens of this model as they come") } else { Ok(()) }
}
