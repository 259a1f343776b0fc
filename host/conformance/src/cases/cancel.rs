//! The host wants all work to end soon.

use proctor_plugin_host::PluginHostError;

use super::lifecycle::{dispatches, shape};
use crate::{
    bed::{Bed, Shape, batches_of, on_own_thread},
    case::Case,
    subject::{Subject, close},
    verdict::{Verdict, ensure, failed},
};

const RULE: &str =
    "is_cancelled is not 0 once the host wants all work to end soon; a call that it ends returns CANCELLED";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "cancel/before-load",
        about: "a plugin that is cancelled before its model is loaded loads it or returns a status, and closes",
        rule: RULE,
        fix: "look at is_cancelled in long loads, return PROCTOR_STATUS_CANCELLED, and free what was loaded so far",
        needs: "lifecycle/load-and-unload",
        run: before_load,
    },
    Case {
        name: "cancel/in-flight",
        about: "a plugin that is cancelled while queries are outstanding completes or fails them, and comes to its end",
        rule: RULE,
        fix: "complete what is in flight, with PROCTOR_STATUS_CANCELLED if it is not computed, each sample once",
        needs: "queries/one-sample",
        run: in_flight,
    },
    Case {
        name: "cancel/between-batches",
        about: "a plugin that is cancelled between two batches executes the next, or fails it, and comes to its end",
        rule: RULE,
        fix: "return PROCTOR_STATUS_CANCELLED from execute, or run the batch; do not wait for anything",
        needs: "batches/one-sample",
        run: between_batches,
    },
];

fn before_load(subject: &Subject) -> Verdict {
    let bed = subject.bed(shape(dispatches(subject)?[0]))?;
    let Bed { backend, fitted, .. } = bed.without_model();
    backend.host_side().cancel();
    match backend.load_model(&fitted.demand) {
        Ok(model) => drop(model),
        Err(PluginHostError::CallFailed { .. }) => {}
        Err(error) => return failed(error),
    }
    close(backend)
}

fn in_flight(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(8)?;
    let queries = batches_of(&samples.indices().into_iter().cycle().take(400).collect::<Vec<_>>(), &[1]);
    bed.phase(&samples, || {
        let issuers = bed.model().issuers(1)?;
        for (number, query) in queries.iter().enumerate() {
            let is_cancelled = number >= queries.len() / 2;
            if number == queries.len() / 2 {
                bed.backend.host_side().cancel();
            }
            match bed.issue(&issuers[0], query) {
                Ok(_) => {}
                // From here on it takes nothing.
                Err(_) if is_cancelled => break,
                Err(error) => return Err(error),
            }
        }
        match bed.flush_and_await_all()? {
            // A flush may be ended by it, too.
            Ok(()) | Err(PluginHostError::CallFailed { .. }) => Ok(()),
            Err(error) => failed(error),
        }
    })?;
    bed.end()
}

fn between_batches(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::batches(2))?;
    let samples = bed.samples(4)?;
    let mut instance = bed.instance(0)?;
    let batch = &samples.indices()[..1];
    bed.phase(&samples, || {
        on_own_thread(&mut instance, |instance| {
            let first = bed.execute_here(instance, batch)?;
            ensure(first.len() == 1, || "the batch before it was not answered".to_owned())?;
            bed.backend.host_side().cancel();
            // The plugin may choose whether it still works.
            let _ = bed.execute_here(instance, batch);
            Ok(())
        })
    })?;
    drop(instance);
    bed.end()
}
