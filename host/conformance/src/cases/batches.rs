//! Batches that the host forms.

use std::{sync::Arc, thread};

use proctor_vocabulary::SampleIndex;

use crate::{
    answers::Answer,
    bed::{Bed, Shape, all_good, batches_of},
    case::Case,
    samples::Samples,
    subject::Subject,
    verdict::{Verdict, ensure},
};

const NEEDS: &str = "batches/one-sample";
const SAME_RULE: &str = "execute writes the outputs of each sample of the batch, computed from its inputs";

pub(super) const CASES: &[Case] = &[
    Case {
        name: NEEDS,
        about: "a batch of one sample is answered",
        rule: "execute runs a batch to its end: it writes each output and its size, and the status of each sample that fails",
        fix: "write each output up to capacity_bytes, set size_bytes to it, and return OK",
        needs: "lifecycle/start-and-stop",
        run: one_sample,
    },
    Case {
        name: "batches/every-size",
        about: "batches of every size up to the largest, or 17, are answered sample by sample",
        rule: "sample_count samples are in a batch, at least 1 and at most batch_size_max of the request",
        fix: "run as many samples as the batch has, not as many as it may have",
        needs: NEEDS,
        run: every_size,
    },
    Case {
        name: "batches/many",
        about: "a thousand batches follow each other, and each sample is answered once, with its size, by the host",
        rule: "the host completes the samples of a batch when execute returns; an output has the size of its shape",
        fix: "do not call ProctorHost.complete for samples of a batch; set size_bytes of every output in every batch",
        needs: NEEDS,
        run: many,
    },
    Case {
        name: "batches/repeated-sample",
        about: "a sample that is in a batch more than once is answered each time",
        rule: "the samples of a batch are identified by id; several may have the same index",
        fix: "write each output where its sample says, and do not sort or merge samples by index",
        needs: NEEDS,
        run: repeated_sample,
    },
    Case {
        name: "batches/inputs-unchanged",
        about: "the inputs of the samples are the same after the work as before",
        rule: "the samples are the host's, which the plugin only reads; set and samples stay until release_samples",
        fix: "copy a sample before changing it in place",
        needs: NEEDS,
        run: inputs_unchanged,
    },
    Case {
        name: "batches/same-answers-again",
        about: "the same batches give the same answers in the same phase, and in the next one",
        rule: SAME_RULE,
        fix: "set back the state of a model, such as that of a recurrent layer, for each sample",
        needs: NEEDS,
        run: same_again,
    },
    Case {
        name: "batches/same-answers-any-size",
        about: "the size of a batch changes no answer beyond rounding",
        rule: SAME_RULE,
        fix: "mask what pads a batch, and have no sample see its neighbours",
        needs: NEEDS,
        run: same_any_size,
    },
    Case {
        name: "batches/same-answers-any-order",
        about: "the order of the samples, and their neighbours in a batch, change no answer beyond rounding",
        rule: SAME_RULE,
        fix: "write each answer to the outputs of its own sample, and carry no state from one to the next",
        needs: NEEDS,
        run: same_any_order,
    },
    Case {
        name: "batches/same-answers-any-index",
        about: "the index of a sample in the library changes no answer",
        rule: "index is the position in the query sample library, by which prepared samples are found again",
        fix: "find a prepared sample by its index, or read the inputs that the batch points to",
        needs: NEEDS,
        run: same_any_index,
    },
    Case {
        name: "batches/same-answers-any-instance",
        about: "two instances give the same answers, one after the other",
        rule: "create_instance makes one copy of the model",
        fix: "give each instance the same weights and options, and room of its own for what it computes",
        needs: NEEDS,
        run: same_any_instance,
    },
    Case {
        name: "batches/instances-at-once",
        about: "three instances execute at the same time, each on a thread of its own, with the same answers as one",
        rule: "execute of one instance may run beside execute of others, each instance on its own thread",
        fix: "share nothing that execute writes to between instances, or lock it",
        needs: NEEDS,
        run: instances_at_once,
    },
];

/// Number of samples with distinguishable answers.
const SAMPLE_COUNT: usize = 24;
/// Maximum batch size up to which every size is tried.
const SIZE_MAX: usize = 17;

fn one_sample(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::batches(1))?;
    let answers = answered(&bed, &bed.samples(1)?, &[1])?;
    ensure(answers.len() == 1, || format!("{} answers to one sample", answers.len()))?;
    all_good(&answers)?;
    bed.end()
}

/// Returns the answers of a new instance to all samples, in batches of these sizes, in its own phase.
fn answered(bed: &Bed, samples: &Arc<Samples>, sizes: &[usize]) -> Verdict<Vec<Answer>> {
    let mut instance = bed.instance(0)?;
    let sizes: Vec<_> = sizes.iter().map(|size| (*size).min(bed.batch_size())).collect();
    bed.phase(samples, || bed.execute(&mut instance, &batches_of(&samples.indices(), &sizes)))
}

fn every_size(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::batches(SIZE_MAX))?;
    let samples = bed.samples(SIZE_MAX)?;
    let indices = samples.indices();
    let mut instance = bed.instance(0)?;
    let answers = bed.phase(&samples, || {
        let sizes = 1..=bed.batch_size().min(indices.len());
        let batches: Vec<_> = sizes.map(|size| indices[..size].to_vec()).collect();
        let count: usize = batches.iter().map(Vec::len).sum();
        let answers = bed.execute(&mut instance, &batches)?;
        ensure(answers.len() == count, || format!("{} answers to {count} samples", answers.len()))?;
        Ok(answers)
    })?;
    all_good(&answers)?;
    drop(instance);
    bed.end()
}

fn many(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::batches(4))?;
    let samples = bed.samples(16)?;
    let indices: Vec<_> = samples.indices().into_iter().cycle().take(2000).collect();
    let mut instance = bed.instance(0)?;
    let batches = batches_of(&indices, &[1, bed.batch_size().min(3)]);
    let answers = bed.phase(&samples, || bed.execute(&mut instance, &batches))?;
    all_good(&answers)?;
    drop(instance);
    bed.end()
}

fn repeated_sample(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::batches(6))?;
    let samples = bed.samples(2)?;
    let once = answered(&bed, &samples, &[1])?;
    let mut instance = bed.instance(0)?;
    let indices = samples.indices();
    let turn: Vec<_> = [0, 0, 1, 0, 1, 1].iter().map(|position| position % indices.len()).collect();
    let batch: Vec<_> = turn.iter().map(|position| indices[*position]).collect();
    let answers =
        bed.phase(&samples, || bed.execute(&mut instance, &batches_of(&batch, &[bed.batch_size()])))?;
    let expected: Vec<_> = turn.iter().map(|position| once[*position].clone()).collect();
    bed.same(&expected, &answers, "a sample that is in a batch more than once")?;
    drop(instance);
    bed.end()
}

fn inputs_unchanged(subject: &Subject) -> Verdict {
    for dispatch in super::lifecycle::dispatches(subject)? {
        let bed = subject.bed(super::lifecycle::shape(dispatch))?;
        let samples = bed.samples(8)?;
        let indices = samples.indices();
        match dispatch {
            proctor_bed::Dispatch::Batches => {
                let mut instance = bed.instance(0)?;
                bed.warm_up(Some(&mut instance), &samples)?;
                bed.phase(&samples, || {
                    bed.execute(&mut instance, &batches_of(&indices, &[bed.batch_size()]))
                })?;
            }
            proctor_bed::Dispatch::WholeQueries => {
                bed.phase(&samples, || bed.issue_all(&batches_of(&indices, &[1, 3])))?;
            }
        }
        ensure(!samples.are_overwritten(), || "the inputs of samples were overwritten".to_owned())?;
        bed.end()?;
    }
    Ok(())
}

fn same_again(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::batches(4))?;
    let samples = bed.samples(SAMPLE_COUNT)?;
    let mut instance = bed.instance(0)?;
    let batches = batches_of(&samples.indices(), &[bed.batch_size()]);
    let twice = [&batches[..], &batches[..]].concat();
    let both = bed.phase(&samples, || bed.execute(&mut instance, &twice))?;
    let (first, second) = both.split_at(both.len() / 2);
    let third = bed.phase(&samples, || bed.execute(&mut instance, &batches))?;
    all_good(first)?;
    bed.same(first, second, "once more in the same phase")?;
    bed.same(first, &third, "once more in the next phase")?;
    drop(instance);
    bed.end()
}

fn same_any_size(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::batches(8))?;
    let samples = bed.samples(SAMPLE_COUNT)?;
    let alone = answered(&bed, &samples, &[1])?;
    all_good(&alone)?;
    for sizes in [&[2][..], &[3], &[8], &[1, 7, 2]] {
        let together = answered(&bed, &samples, sizes)?;
        bed.same(&alone, &together, &format!("in batches of {sizes:?} instead of one by one"))?;
    }
    bed.end()
}

fn same_any_order(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::batches(4))?;
    let samples = bed.samples(SAMPLE_COUNT)?;
    let mut instance = bed.instance(0)?;
    let forwards = samples.indices();
    let orders: [Vec<SampleIndex>; 2] = [
        forwards.iter().rev().copied().collect(),
        // Samples that were far apart become neighbours.
        forwards.iter().step_by(2).chain(forwards.iter().skip(1).step_by(2)).copied().collect(),
    ];
    let sizes = [bed.batch_size()];
    let expected = bed.phase(&samples, || bed.execute(&mut instance, &batches_of(&forwards, &sizes)))?;
    all_good(&expected)?;
    for order in &orders {
        let answers = bed.phase(&samples, || bed.execute(&mut instance, &batches_of(order, &sizes)))?;
        let place = |index: &SampleIndex| forwards.iter().position(|other| other == index).unwrap_or(0);
        let expected: Vec<_> = order.iter().map(|index| expected[place(index)].clone()).collect();
        bed.same(&expected, &answers, "in another order")?;
    }
    drop(instance);
    bed.end()
}

fn same_any_index(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::batches(4))?;
    let samples = bed.samples(6)?;
    let expected = answered(&bed, &samples, &[4])?;
    all_good(&expected)?;
    let pairs = samples.indices();
    // In another order than in the library, so that an index is not taken for a position.
    let pairs: Vec<_> = pairs
        .iter()
        .zip((0..).map(|position| SampleIndex(11 + position * 3)))
        .map(|(from, to)| (*from, to))
        .collect();
    let elsewhere = bed.samples_at(&pairs)?;
    let answers = answered(&bed, &elsewhere, &[4])?;
    bed.same(&expected, &answers, "under other indices")?;
    bed.end()
}

fn same_any_instance(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape { instances: 2, ..Shape::batches(4) })?;
    let samples = bed.samples(SAMPLE_COUNT)?;
    let mut instances = bed.instances()?;
    let batches = batches_of(&samples.indices(), &[bed.batch_size()]);
    let answers = bed.phase(&samples, || {
        instances.iter_mut().map(|instance| bed.execute(instance, &batches)).collect::<Verdict<Vec<_>>>()
    })?;
    all_good(&answers[0])?;
    bed.same(&answers[0], &answers[1], "on the other instance")?;
    drop(instances);
    bed.end()
}

fn instances_at_once(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape { instances: 3, ..Shape::batches(4) })?;
    let samples = bed.samples(SAMPLE_COUNT)?;
    let mut instances = bed.instances()?;
    let indices: Vec<_> = samples.indices().into_iter().cycle().take(SAMPLE_COUNT * 10).collect();
    let batches = batches_of(&indices, &[bed.batch_size(), 1, 2]);
    let alone = bed.phase(&samples, || bed.execute(&mut instances[0], &batches))?;
    all_good(&alone)?;
    let answers = bed.phase(&samples, || {
        thread::scope(|scope| {
            let running: Vec<_> = instances
                .iter_mut()
                .map(|instance| scope.spawn(|| bed.execute(instance, &batches)))
                .collect();
            let joined = running.into_iter().map(|thread| match thread.join() {
                Ok(answers) => answers,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect::<Verdict<Vec<_>>>()
        })
    })?;
    for (number, together) in answers.iter().enumerate() {
        bed.same(&alone, together, &format!("instance {number} beside others"))?;
    }
    drop(instances);
    bed.end()
}
