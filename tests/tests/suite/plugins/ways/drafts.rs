//! Ways to go astray in calls that only plugins with an extension have.

use super::row::{
    Dispatch::{self, Batches, Queries},
    Outcome, Row,
};

const ISOLATE: &str = "--isolate";

/// A call of an extension.
struct Call {
    /// Its name for the plugin.
    call: &'static str,
    /// Its name in the host's words.
    says: &'static str,
    dispatch: Dispatch,
    /// End of a run in which a process of its own ends there; `None` of a call that is not made then.
    isolated: Option<Outcome>,
}

const CALLS: [Call; 7] = [
    Call { call: "list", says: "list", dispatch: Batches, isolated: Some(Outcome::Refused) },
    Call { call: "choose", says: "choose", dispatch: Batches, isolated: Some(Outcome::Refused) },
    Call { call: "allocate", says: "allocate", dispatch: Batches, isolated: None },
    Call { call: "free", says: "free", dispatch: Queries, isolated: None },
    Call {
        call: "energy",
        says: "the reading of energy",
        dispatch: Batches,
        isolated: Some(Outcome::Untested),
    },
    Call {
        call: "begin_thread",
        says: "instance_thread.begin",
        dispatch: Batches,
        isolated: Some(Outcome::Untested),
    },
    Call {
        call: "end_thread",
        says: "instance_thread.end",
        dispatch: Batches,
        isolated: Some(Outcome::Untested),
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
    for (call, task) in [
        ("list", "list its devices"),
        ("choose", "choose the form of an input"),
        ("allocate", "allocate memory"),
    ] {
        let says = format!("hangs: it was asked to {task}");
        rows.push(Row::new(call, "hang", Batches, Outcome::Hangs, &[&says]));
    }
    rows
}

/// The process of the plugin ends, and the host is there to say in which call.
pub(super) fn isolated_ends() -> Vec<Row> {
    let mut rows = Vec::new();
    for Call { call, says, dispatch, isolated } in CALLS {
        let Some(outcome) = isolated else { continue };
        for (way, says) in [
            ("segv", format!("crashed with SIGSEGV in {says}")),
            ("_exit", format!("has ended by itself with exit code 0 in {says}")),
        ] {
            rows.push(Row::new(call, way, dispatch, outcome, &[&says]).with(ISOLATE));
        }
    }
    rows
}
