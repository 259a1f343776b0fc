//! The entry asked by hosts of other versions.

use std::thread;

use proctor_plugin_api::abi::{PROCTOR_ABI_MAJOR, PROCTOR_ABI_MINOR, PROCTOR_MESSAGE_LENGTH_MAX};
use proctor_plugin_host::{EntryAnswer, OtherHost};

use super::lifecycle::{dispatches, shape};
use crate::{
    answers::Answer,
    bed::batches_of,
    case::Case,
    subject::Subject,
    verdict::{Verdict, ensure, failed, skipped},
};

const NEEDS: &str = "manifest/is-sound";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "negotiation/newer-minor",
        about: "a host of a later minor version gets the table, too",
        rule: "a plugin built from this header runs on every host of the same major version; a structure of a newer host is \
               longer",
        fix: "compare the major version alone, and ask of each size of the host's only that it is large enough",
        needs: NEEDS,
        run: newer_minor,
    },
    Case {
        name: "negotiation/newer-major-too",
        about: "a host that speaks a later major version besides gets a table that it knows",
        rule: "the entry returns a table of one of the major versions in `speaks`",
        fix: "look whether the plugin's major version lies from major_min to major_max, not whether it is equal to one of them",
        needs: NEEDS,
        run: newer_major_too,
    },
    Case {
        name: "negotiation/older-minor",
        about: "the first host of this major version gets the table",
        rule: "minor_max: highest minor version within major_max; lower minors are always spoken",
        fix: "do without what a later minor version has where the host is older, instead of refusing it",
        needs: NEEDS,
        run: older_minor,
    },
    Case {
        name: "negotiation/other-major-only",
        about: "a host of other major versions is refused with a reason, or told the true version",
        rule: "the entry returns a table of one of the major versions in `speaks`, or null and the reason in `refusal`",
        fix: "return null and write why to refusal->message, at most refusal->capacity bytes, and their number to length",
        needs: NEEDS,
        run: other_major_only,
    },
    Case {
        name: "negotiation/little-room",
        about: "nothing is written beyond the room for a refusal, however little there is",
        rule: "the plugin writes at most `capacity` bytes of UTF-8 to `message`, and their number to `length`",
        fix: "cut the reason off at refusal->capacity",
        needs: NEEDS,
        run: little_room,
    },
    Case {
        name: "negotiation/any-thread",
        about: "the entry may be asked on several threads at the same time",
        rule: "the entry is called on any thread",
        fix: "make the table static and constant, instead of filling it in when it is asked for",
        needs: NEEDS,
        run: any_thread,
    },
    Case {
        name: "negotiation/unknown-extensions",
        about: "an extension that nobody knows is answered with null",
        rule: "a side that does not know an id answers null; ids are compared by length and bytes",
        fix: "compare the whole id with its length, and return null for any other",
        needs: NEEDS,
        run: unknown_extensions,
    },
    Case {
        name: "negotiation/newer-structures",
        about: "a later host, whose structures are longer and whose arrays have larger elements, gets the same answers",
        rule: "an array has its stride in the structure that carries it: step by that, not by sizeof; read no field beyond \
               what the plugin knows",
        fix: "take element i at (char *)first + i * stride, for samples, tensors, outputs, options, files and placements",
        needs: NEEDS,
        run: newer_structures,
    },
];

const THIS: OtherHost = OtherHost {
    major_min: PROCTOR_ABI_MAJOR,
    major_max: PROCTOR_ABI_MAJOR,
    minor_max: PROCTOR_ABI_MINOR,
    refusal_room: PROCTOR_MESSAGE_LENGTH_MAX,
};

/// Asks as a host that the plugin has to serve.
fn served(subject: &Subject, host: OtherHost) -> Verdict {
    match subject.load()?.answer_to(host)? {
        EntryAnswer::Table { major, .. } => {
            ensure((host.major_min..=host.major_max).contains(&major), || {
                format!(
                    "the table is of major version {major}, the host speaks {} to {}",
                    host.major_min, host.major_max
                )
            })
        }
        EntryAnswer::Refusal(reason) => failed(format!(
            "it refuses a host that speaks ABI {} to {}.{}: {reason}",
            host.major_min, host.major_max, host.minor_max
        )),
    }
}

fn newer_minor(subject: &Subject) -> Verdict {
    served(subject, OtherHost { minor_max: PROCTOR_ABI_MINOR + 7, ..THIS })
}

fn newer_major_too(subject: &Subject) -> Verdict {
    served(subject, OtherHost { major_max: PROCTOR_ABI_MAJOR + 1, minor_max: 3, ..THIS })
}

fn older_minor(subject: &Subject) -> Verdict {
    served(subject, OtherHost { minor_max: 0, ..THIS })
}

fn other_major_only(subject: &Subject) -> Verdict {
    let other = OtherHost { major_min: PROCTOR_ABI_MAJOR + 1, major_max: PROCTOR_ABI_MAJOR + 2, ..THIS };
    match subject.load()?.answer_to(other)? {
        // A host looks at the version, too, so it is enough that this is true.
        EntryAnswer::Table { major, .. } => ensure(major == PROCTOR_ABI_MAJOR, || {
            format!(
                "it claims major version {major} to a host of that version, and {PROCTOR_ABI_MAJOR} to this one"
            )
        }),
        EntryAnswer::Refusal(reason) => {
            ensure(!reason.is_empty(), || "it refuses the host without a reason".to_owned())
        }
    }
}

fn little_room(subject: &Subject) -> Verdict {
    let library = subject.load()?;
    for refusal_room in [0, 1, 8] {
        library.answer_to(OtherHost {
            major_min: PROCTOR_ABI_MAJOR + 1,
            major_max: PROCTOR_ABI_MAJOR + 1,
            minor_max: 0,
            refusal_room,
        })?;
        library.answer_to(OtherHost { refusal_room, ..THIS })?;
    }
    Ok(())
}

fn any_thread(subject: &Subject) -> Verdict {
    let ask = || (0..50).try_for_each(|_| served(subject, THIS));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(asked) => asked,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

fn unknown_extensions(subject: &Subject) -> Verdict {
    let library = subject.load()?;
    for id in
        ["vendor.unknown/1", "proctor.unknown/0", "proctor.issue/99", "proctor.issue", "", "proctor.issue/1 "]
    {
        ensure(!library.has_extension(id), || format!("it answers the id {id:?}, which names nothing"))?;
    }
    Ok(())
}

/// Returns the answers to some samples by each way of work that the plugin declares.
fn answers(subject: &Subject) -> Verdict<Vec<Vec<Answer>>> {
    let mut answers = Vec::new();
    for dispatch in dispatches(subject)? {
        let bed = subject.bed(shape(dispatch))?;
        let samples = bed.samples(12)?;
        let indices = samples.indices();
        let mut instances = bed.instances()?;
        bed.warm_up(instances.first_mut(), &samples)?;
        answers.push(match instances.first_mut() {
            Some(instance) => {
                bed.phase(&samples, || bed.execute(instance, &batches_of(&indices, &[bed.batch_size()])))?
            }
            None => bed.phase(&samples, || bed.issue_all(&batches_of(&indices, &[3])))?,
        });
        drop(instances);
        bed.end()?;
    }
    Ok(answers)
}

fn newer_structures(subject: &Subject) -> Verdict {
    let library = subject.load()?;
    let Ok(expected) = answers(subject) else {
        subject.need_model()?;
        return skipped("the plugin does not get through its work with this host");
    };
    let newer = subject.with_library(library.under_newer_host());
    let got = answers(&newer)?;
    let bed = subject.bed(shape(dispatches(subject)?[0]))?;
    for (expected, got) in expected.iter().zip(&got) {
        bed.same(expected, got, "to a later host")?;
    }
    bed.end()
}
