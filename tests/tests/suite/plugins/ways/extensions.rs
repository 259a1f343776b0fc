//! Ways to go astray in calls that only plugins with an extension have.

use super::row::{
    Dispatch::{self, Batches, Queries},
    Outcome, Row,
};

struct Call {
    /// Its name for the plugin.
    call: &'static str,
    /// Its name in the host's words.
    says: &'static str,
    /// The task that it is named by when it hangs.
    task: &'static str,
    dispatch: Dispatch,
    /// End of a run in which a process of its own ends there; `None` of a call that is not made then.
    isolated: Option<Outcome>,
}

const CALLS: [Call; 7] = [
    Call {
        call: "list",
        says: "list",
        task: "list its devices",
        dispatch: Batches,
        isolated: Some(Outcome::Refused),
    },
    Call {
        call: "choose",
        says: "choose",
        task: "choose the form of an input",
        dispatch: Batches,
        isolated: Some(Outcome::Refused),
    },
    Call {
        call: "allocate",
        says: "allocate",
        task: "allocate memory for samples",
        dispatch: Batches,
        isolated: None,
    },
    Call { call: "free", says: "free", task: "free memory of samples", dispatch: Queries, isolated: None },
    Call {
        call: "energy",
        says: "the reading of energy",
        task: "read its energy",
        dispatch: Batches,
        isolated: Some(Outcome::Untested),
    },
    Call {
        call: "begin_thread",
        says: "instance_thread.begin",
        task: "begin the thread of an instance",
        dispatch: Batches,
        isolated: Some(Outcome::Untested),
    },
    // After the last sample: the figures are kept.
    Call {
        call: "end_thread",
        says: "instance_thread.end",
        task: "end the thread of an instance",
        dispatch: Batches,
        isolated: Some(Outcome::Invalid),
    },
];

/// The process ends, by itself or by a signal.
pub(super) fn ends() -> Vec<Row> {
    let mut rows = Vec::new();
    for Call { call, says, dispatch, .. } in CALLS {
        let mut down = |way: &str, says: &str| {
            rows.push(Row::new(call, way, dispatch, Outcome::Down, &["plugin wayward ", says]));
        };
        down("exit", &format!("called exit in {says}"));
        down("segv", &format!("crashed with SIGSEGV in {says}"));
        down("throw", &format!(" in {says}"));
        down("_exit", &format!(" in {says}"));
    }
    // Its second reading is after the test.
    let says = "plugin wayward crashed with SIGSEGV in the reading of energy";
    rows.push(Row::new("energy:2", "segv", Batches, Outcome::Down, &[says]));
    rows
}

/// A call does not return.
pub(super) fn hangs() -> Vec<Row> {
    let hang = |Call { call, dispatch, task, .. }: Call| match call {
        // Not on the main thread, which goes on without it.
        "end_thread" => {
            let says = "did not return from instance_thread.end";
            Row::new(call, "hang", dispatch, Outcome::Waits, &[says])
        }
        _ => Row::hang(call, dispatch, task),
    };
    CALLS.into_iter().map(hang).collect()
}

/// The process of the plugin ends, and the host is there to say in which call.
pub(super) fn isolated_ends() -> Vec<Row> {
    let mut rows = Vec::new();
    for Call { call, says, dispatch, isolated, .. } in CALLS {
        let Some(outcome) = isolated else { continue };
        for (way, says) in [
            ("segv", format!("crashed with SIGSEGV in {says}")),
            ("_exit", format!("has ended by itself with exit code 0 in {says}")),
        ] {
            rows.push(Row::isolated(call, way, dispatch, outcome, &[&says]));
        }
    }
    let says = "crashed with SIGSEGV in the reading of energy";
    rows.push(Row::isolated("energy:2", "segv", Batches, Outcome::Invalid, &[says]));
    rows
}

/// A call does not return, and the process is ended.
pub(super) fn isolated_hangs() -> Vec<Row> {
    let hang = |Call { call, dispatch, isolated, task, .. }: Call| {
        Some(Row::isolated_hang(call, dispatch, isolated?, task))
    };
    CALLS.into_iter().filter_map(hang).collect()
}
