//! Calls that are not due: a host does not make them, and a plugin refuses or survives them.

use std::{sync::Arc, time::Duration};

use proctor_plugin_host::{Call, OutOfTurn, PluginFault, PluginHostError};

use super::lifecycle::{dispatches, shape, work};
use crate::{
    bed::{Bed, Shape, batches_of},
    case::Case,
    subject::{Subject, judge_work},
    verdict::{Verdict, ensure, failed},
};

const NEEDS: &str = "lifecycle/start-and-stop";
const RULE: &str =
    "WRONG_STATE: the call does not fit the state of the object, see the life cycle in ProctorPlugin";
const FIX: &str =
    "return WRONG_STATE and a message, or do nothing and return OK; do not crash, and stay fit for use";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "order/stop-before-start",
        about: "stop comes for a model that was not started, which works well afterwards",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: stop_before_start,
    },
    Case {
        name: "order/start-before-prepare",
        about: "start comes before samples were prepared, and stop after it",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: start_before_prepare,
    },
    Case {
        name: "order/start-twice",
        about: "start comes a second time in a phase, before the work",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: start_twice,
    },
    Case {
        name: "order/stop-twice",
        about: "stop comes a second time after the work",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: stop_twice,
    },
    Case {
        name: "order/flush-before-start",
        about: "flush comes for a model that was not started",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: flush_before_start,
    },
    Case {
        name: "order/release-before-prepare",
        about: "release_samples comes where none were prepared",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: release_before_prepare,
    },
    Case {
        name: "order/release-twice",
        about: "release_samples comes a second time after a phase",
        rule: RULE,
        fix: FIX,
        needs: NEEDS,
        run: release_twice,
    },
    Case {
        name: "order/stop-with-work-in-flight",
        about: "stop comes while samples that were issued are outstanding; each completes once or never",
        rule: "stop: no sample is outstanding. A host that is interrupted leaves the plugin alone instead",
        fix: "wait in stop for what is in flight, or drop it; do not complete a sample twice",
        needs: "queries/one-sample",
        run: stop_with_work_in_flight,
    },
    Case {
        name: "order/ends-early",
        about: "everything is ended in the middle of a phase, as at an interrupt: stop, release, destroy, unload, close",
        rule: "calls that end something end it in whichever state it is",
        fix: "free in destroy_instance, unload_model and close what is there, whatever was called before",
        needs: NEEDS,
        run: ends_early,
    },
];

/// Checks a call that is not due: the plugin may refuse it, with any status.
fn refused_or_survived(called: Result<(), PluginHostError>) -> Verdict {
    match called {
        Ok(()) | Err(PluginHostError::CallFailed { .. }) => Ok(()),
        Err(error) => failed(error),
    }
}

/// Makes calls that are not due by each way of work, and does some due work afterwards.
fn astray(subject: &Subject, calls: impl Fn(&Bed) -> Verdict) -> Verdict {
    for dispatch in dispatches(subject)? {
        let bed = subject.bed(shape(dispatch))?;
        let instances = bed.instances()?;
        calls(&bed)?;
        drop(instances);
        work(&bed, dispatch).map_err(|error| error.at("the work that is due after it"))?;
        end_astray(bed)?;
    }
    Ok(())
}

/// Ends everything. A plugin that counts its host's errors may report them when it is closed.
fn end_astray(bed: Bed) -> Verdict {
    let (_, mut noticed) = bed.end_with_noticed();
    noticed.retain(|fault| !is_failed_close(&fault.first));
    judge_work(&noticed)
}

fn is_failed_close(fault: &PluginFault) -> bool {
    let PluginFault::Call(error) = fault else { return false };
    matches!(**error, PluginHostError::CallFailed { call: Call::Close, .. })
}

fn out_of_turn(bed: &Bed, call: OutOfTurn) -> Verdict {
    refused_or_survived(bed.model().call_out_of_turn(call))
}

fn stop_before_start(subject: &Subject) -> Verdict {
    astray(subject, |bed| out_of_turn(bed, OutOfTurn::Stop))
}

fn start_before_prepare(subject: &Subject) -> Verdict {
    astray(subject, |bed| {
        out_of_turn(bed, OutOfTurn::Start)?;
        out_of_turn(bed, OutOfTurn::Stop)
    })
}

fn start_twice(subject: &Subject) -> Verdict {
    astray(subject, |bed| bed.phase(&bed.samples(4)?, || out_of_turn(bed, OutOfTurn::Start)))
}

fn stop_twice(subject: &Subject) -> Verdict {
    astray(subject, |bed| {
        bed.phase(&bed.samples(4)?, || Ok(()))?;
        out_of_turn(bed, OutOfTurn::Stop)
    })
}

fn flush_before_start(subject: &Subject) -> Verdict {
    astray(subject, |bed| out_of_turn(bed, OutOfTurn::Flush))
}

fn release_before_prepare(subject: &Subject) -> Verdict {
    astray(subject, |bed| out_of_turn(bed, OutOfTurn::Release))
}

fn release_twice(subject: &Subject) -> Verdict {
    astray(subject, |bed| {
        bed.phase(&bed.samples(4)?, || Ok(()))?;
        out_of_turn(bed, OutOfTurn::Release)
    })
}

fn stop_with_work_in_flight(subject: &Subject) -> Verdict {
    let bed = subject.bed(Shape::queries())?;
    let samples = bed.samples(8)?;
    let indices: Vec<_> = samples.indices().into_iter().cycle().take(400).collect();
    bed.model().prepare(&samples.indices(), Arc::clone(&samples) as _)?;
    bed.model().start()?;
    bed.backend.set_sink(Some(Arc::clone(&bed.desk) as _));
    let issuers = bed.model().issuers(1)?;
    for query in batches_of(&indices, &[1]) {
        bed.issue(&issuers[0], &query)?;
    }
    out_of_turn(&bed, OutOfTurn::Stop)?;
    // What completes now is of no use, but it must not be twice.
    std::thread::sleep(Duration::from_millis(200));
    let wrong = bed.desk.take_wrong();
    bed.model().abandon();
    ensure(wrong.is_empty(), || wrong.join("; "))?;
    bed.judge()
}

fn ends_early(subject: &Subject) -> Verdict {
    for dispatch in dispatches(subject)? {
        let bed = subject.bed(shape(dispatch))?;
        let samples = bed.samples(4)?;
        let instances = bed.instances()?;
        bed.model().prepare(&samples.indices(), Arc::clone(&samples) as _)?;
        bed.model().start()?;
        // The host ends each of them in due order.
        drop(instances);
        bed.end()?;
    }
    Ok(())
}
