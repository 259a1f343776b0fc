//! Whole queries, which the plugin completes itself.

use std::{
    thread,
    time::{Duration, Instant},
};

use proctor_vocabulary::{QueryPart, SampleIndex};

use crate::{
    bed::{Shape, all_good, batches_of},
    case::Case,
    subject::Subject,
    verdict::{Verdict, ensure, skipped},
};

const NEEDS: &str = "queries/one-sample";
const ONCE_RULE: &str =
    "ProctorHost.complete completes issued samples, each exactly once, with the id that it was issued with";
const ONCE_FIX: &str = "complete each sample once, with the id of its ProctorQuerySample and the bytes of all outputs; take \
                        it from the queue before that";

pub(super) const CASES: &[Case] = &[
    Case {
        name: NEEDS,
        about: "a query of one sample is completed",
        rule: ONCE_RULE,
        fix: ONCE_FIX,
        needs: "lifecycle/start-and-stop",
        run: one_sample,
    },
    Case {
        name: "queries/many-samples",
        about: "queries of 2 to 64 samples are completed sample by sample",
        rule: "a query has at least 1 sample; the array is stepped by sample_stride",
        fix: "take every sample of the query",
        needs: NEEDS,
        run: many_samples,
    },
    Case {
        name: "queries/exactly-once",
        about: "two thousand queries that are outstanding together are completed, each sample once, in whichever order",
        rule: ONCE_RULE,
        fix: ONCE_FIX,
        needs: NEEDS,
        run: exactly_once,
    },
    Case {
        name: "queries/in-parts",
        about: "one query of 4096 samples that comes in eight parts is completed whole",
        rule: "a query may come in parts, one after the other: sample_offset and total_sample_count say which",
        fix: "take each part as it comes, and complete it without waiting for the last one if that is simpler",
        needs: NEEDS,
        run: in_parts,
    },
    Case {
        name: "queries/from-several-threads",
        about: "queries that four threads issue are completed",
        rule: "issue comes on issuing threads, of which there may be several: in turns, or at the same time with \
               PROCTOR_CAPABILITY_CONCURRENT_ISSUE",
        fix: "do not rely on one issuing thread; lock the queue if CONCURRENT_ISSUE is declared, or do not declare it",
        needs: NEEDS,
        run: from_several_threads,
    },
    Case {
        name: "queries/at-a-high-rate",
        about: "for two tenths of a second queries come as if at 100,000 a second, and all are completed",
        rule: "issue returns without waiting for the completion of the query; a full queue is BUSY",
        fix: "keep issue short: put the query into a queue and return, or BUSY if it has no room",
        needs: NEEDS,
        run: at_a_high_rate,
    },
    Case {
        name: "queries/flush",
        about: "what waits for more samples, to fill a batch, is completed once the host flushes",
        rule: "flush: no more queries will be issued in this phase; complete what waits",
        fix: "run what is in the queue when flush comes, however little it is",
        needs: NEEDS,
        run: flush,
    },
    Case {
        name: "queries/nothing-late",
        about: "nothing is completed after the phase is over, nor before the next one begins",
        rule: "stop: the timed part is over; no sample is outstanding",
        fix: "complete only what was issued, and have the threads of a phase idle in stop",
        needs: NEEDS,
        run: nothing_late,
    },
    Case {
        name: "queries/same-answers",
        about: "the same samples have the same answers, alone, in queries of several, and once more",
        rule: "an answer is the outputs of its sample, one after the other, computed from its inputs",
        fix: "read the inputs of the sample with the index that was issued, and carry no state from one to the next",
        needs: NEEDS,
        run: same_answers,
    },
    Case {
        name: "queries/as-in-batches",
        about: "a plugin that takes both gives the same answers to queries as to batches",
        rule: "a response has the output tensors one after the other, as execute writes them",
        fix: "compute both ways by the same code, and put the outputs side by side in the order of the request",
        needs: NEEDS,
        run: as_in_batches,
    },
];

fn one_sample(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(1)?;
    let answers = bed.phase(&samples, || bed.issue_all(&[samples.indices()]))?;
    all_good(&answers)?;
    bed.end()
}

/// Returns some samples, repeated.
fn cycled(indices: &[SampleIndex], count: usize) -> Vec<SampleIndex> {
    indices.iter().copied().cycle().take(count).collect()
}

fn many_samples(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(16)?;
    let indices = samples.indices();
    let queries: Vec<_> = [2, 3, 8, 64].iter().map(|count| cycled(&indices, *count)).collect();
    let answers = bed.phase(&samples, || bed.issue_all(&queries))?;
    all_good(&answers)?;
    bed.end()
}

fn exactly_once(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(16)?;
    let queries = batches_of(&cycled(&samples.indices(), 2000), &[1]);
    let answers = bed.phase(&samples, || bed.issue_all(&queries))?;
    all_good(&answers)?;
    let mut order = bed.completions().order;
    order.sort_unstable();
    ensure(order.iter().copied().eq(0..2000), || "not every sample was completed once".to_owned())?;
    bed.end()
}

fn in_parts(subject: &Subject) -> Verdict {
    const PARTS: usize = 8;
    const COUNT: usize = 4096;
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(16)?;
    let answers = bed.phase(&samples, || {
        let issued = bed.desk.expect(&cycled(&samples.indices(), COUNT));
        let issuers = bed.model().issuers(1)?;
        for (number, part) in issued.chunks(COUNT / PARTS).enumerate() {
            let offset = (number * COUNT / PARTS) as u64;
            bed.issue_part(&issuers[0], QueryPart { samples: part, issuer: 0, offset, total: COUNT as u64 })?;
        }
        bed.flush_and_wait()?;
        Ok(bed.desk.answers(&issued))
    })?;
    all_good(&answers)?;
    bed.end()
}

fn from_several_threads(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(16)?;
    let indices = samples.indices();
    bed.phase(&samples, || {
        let issuers = bed.model().issuers(4)?;
        thread::scope(|scope| {
            let issue = |issuer| {
                batches_of(&cycled(&indices, 200), &[1, 2])
                    .iter()
                    .try_for_each(|query| bed.issue(issuer, query).map(drop))
            };
            let threads: Vec<_> = issuers.iter().map(|issuer| scope.spawn(move || issue(issuer))).collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(issued) => issued,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        bed.flush_and_wait()
    })?;
    bed.end()
}

fn at_a_high_rate(subject: &Subject) -> Verdict {
    /// Rate and duration of the queries.
    const RATE: f64 = 100_000.0;
    const SECONDS: f64 = 0.2;
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(16)?;
    let indices = samples.indices();
    bed.phase(&samples, || {
        let issuers = bed.model().issuers(1)?;
        let begin = Instant::now();
        for (number, index) in indices.iter().cycle().take((RATE * SECONDS) as usize).enumerate() {
            let due = Duration::from_secs_f64(number as f64 / RATE);
            while begin.elapsed() < due {
                std::hint::spin_loop();
            }
            bed.issue(&issuers[0], &[*index])?;
            // Leave out samples that a slow `issue` has not taken by now.
            if begin.elapsed() > Duration::from_secs_f64(SECONDS) {
                break;
            }
        }
        // However long the queue has become, it need only get shorter.
        bed.flush_and_wait()
    })?;
    bed.end()
}

fn flush(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(4)?;
    for count in 1..=3 {
        // Fewer than any batch that a plugin may wait for.
        let query = samples.indices()[..count.min(samples.indices().len())].to_vec();
        bed.phase(&samples, || bed.issue_all(&[query]).map(drop))?;
    }
    bed.end()
}

fn nothing_late(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(8)?;
    for _ in 0..3 {
        bed.phase(&samples, || bed.issue_all(&batches_of(&cycled(&samples.indices(), 100), &[1])).map(drop))?;
        // Later completions are a fault that the next phase finds.
        thread::sleep(Duration::from_millis(50));
    }
    bed.end()
}

fn same_answers(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(24)?;
    let indices = samples.indices();
    let ask = |sizes: &[usize]| bed.phase(&samples, || bed.issue_all(&batches_of(&indices, sizes)));
    let alone = ask(&[1])?;
    all_good(&alone)?;
    bed.same(&alone, &ask(&[8])?, "in queries of 8 instead of one by one")?;
    bed.same(&alone, &ask(&[1])?, "once more")?;
    bed.end()
}

fn as_in_batches(subject: &Subject) -> Verdict {
    let library = subject.load()?;
    if !library.manifest().execute {
        return skipped("the plugin takes whole queries alone");
    }
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(24)?;
    let queries = bed.phase(&samples, || bed.issue_all(&batches_of(&samples.indices(), &[1])))?;
    all_good(&queries)?;
    bed.end()?;
    let bed = subject.bed(Shape::batches(1))?;
    let samples = bed.samples(24)?;
    let mut instance = bed.instance(0)?;
    let batches =
        bed.phase(&samples, || bed.execute(&mut instance, &batches_of(&samples.indices(), &[1])))?;
    bed.same(&queries, &batches, "in batches instead of queries")?;
    drop(instance);
    bed.end()
}
