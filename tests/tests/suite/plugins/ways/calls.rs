//! Ways to go astray in any call: to end the process, not to return, to fail.

use super::row::{
    Dispatch::{self, Batches, Queries},
    Outcome, Row, Tests,
};

/// The calls of a run in their order, by both ways of dispatch.
pub(super) const CALLS: [(&str, Dispatch); 29] = [
    ("proctor_plugin_entry", Batches),
    ("describe", Batches),
    ("extension", Batches),
    ("open", Batches),
    ("load_model", Batches),
    ("create_instance", Batches),
    ("prepare_samples", Batches),
    ("warm_up", Batches),
    ("start", Batches),
    ("execute", Batches),
    ("stop", Batches),
    ("release_samples", Batches),
    ("destroy_instance", Batches),
    ("unload_model", Batches),
    ("close", Batches),
    ("proctor_plugin_entry", Queries),
    ("describe", Queries),
    ("extension", Queries),
    ("open", Queries),
    ("load_model", Queries),
    ("prepare_samples", Queries),
    ("warm_up", Queries),
    ("start", Queries),
    ("issue", Queries),
    ("flush", Queries),
    ("stop", Queries),
    ("release_samples", Queries),
    ("unload_model", Queries),
    ("close", Queries),
];

/// The call to go astray in: not the first one of the timed part.
pub(super) fn numbered(call: &str) -> String {
    if ["execute", "issue"].contains(&call) { format!("{call}:10") } else { call.to_owned() }
}

/// The process ends, by itself or by a signal.
pub(super) fn ends() -> Vec<Row> {
    let mut rows = Vec::new();
    for (call, dispatch) in CALLS {
        let mut down = |way: &str, says: &str| {
            rows.push(Row::new(&numbered(call), way, dispatch, Outcome::Down, &[says]))
        };
        down("exit", &format!("called exit in {call}"));
        down("quick_exit", &format!("called exit in {call}"));
        down("segv", &format!("crashed with SIGSEGV in {call}"));
        down("abort", &format!("crashed with SIGABRT in {call}"));
        down("throw", &format!(" in {call}"));
        down("_exit", &format!("ended the program with exit code 0, as by _exit, in {call}"));
    }
    for (call, dispatch) in [("execute", Batches), ("issue", Queries)] {
        for (way, signal) in [("fpe", "SIGFPE"), ("ill", "SIGILL"), ("bus", "SIGBUS")] {
            let says = format!("plugin wayward crashed with {signal} in {call}");
            rows.push(Row::new(&numbered(call), way, dispatch, Outcome::Down, &[&says]));
        }
        for (way, signal) in [("alarm", "SIGALRM"), ("usr1", "SIGUSR1"), ("prof", "SIGPROF")] {
            let says = format!("plugin wayward was ended by {signal} in {call}");
            rows.push(Row::new(&numbered(call), way, dispatch, Outcome::Down, &[&says]));
        }
        let says = format!("ended the program with exit code 0, as by _exit, in {call}");
        for way in ["exit_group", "_exit_thread"] {
            rows.push(Row::new(&numbered(call), way, dispatch, Outcome::Down, &[&says]));
        }
        let says = format!("meanwhile plugin wayward was at work in {call}");
        let says = ["called exit on a thread that is in no call", &says];
        rows.push(Row::new(&numbered(call), "exit_thread", dispatch, Outcome::Down, &says));
    }
    // Nothing is known of a library that is being loaded but the name of its file.
    for (way, says) in [
        ("exit", "called exit in loading"),
        ("abort", "crashed with SIGABRT in loading"),
        ("_exit", "ended the program with exit code 0, as by _exit, in loading"),
    ] {
        rows.push(Row::new("constructor", way, Batches, Outcome::Down, &["libwayward_sut.so", says]));
    }
    rows.extend(beyond_messages());
    rows
}

/// The task that a call is named by when it hangs.
pub(super) fn task(call: &str) -> &str {
    match call {
        "proctor_plugin_entry" => "show its table",
        "describe" => "describe itself",
        "extension" => "show an extension",
        "load_model" => "load the model",
        "create_instance" => "create an instance",
        "prepare_samples" => "prepare the samples",
        "warm_up" => "warm up",
        "issue" => "take a query (issue)",
        "release_samples" => "release the samples",
        "destroy_instance" => "destroy an instance",
        "unload_model" => "unload the model",
        "constructor" => "be loaded",
        call => call,
    }
}

fn hang(call: &str, dispatch: Dispatch) -> Row {
    if call == "execute" {
        // The load generator goes on without the instance.
        let says = ["1 sample was never completed: sample 9 ", "instance 0 did not return from a batch"];
        return Row::new(&numbered(call), "hang", dispatch, Outcome::Waits, &says);
    }
    Row::hang(&numbered(call), dispatch, task(call))
}

/// A call does not return.
pub(super) fn hangs() -> Vec<Row> {
    let mut rows: Vec<Row> = CALLS.iter().map(|(call, dispatch)| hang(call, *dispatch)).collect();
    rows.push(hang("constructor", Batches));
    rows
}

/// Statuses with the host's names for them.
const STATUSES: [(&str, &str); 13] = [
    ("status=1", "FAILED"),
    ("status=2", "INVALID_ARGUMENT"),
    ("status=3", "UNSUPPORTED"),
    ("status=4", "WRONG_STATE"),
    ("status=5", "OUT_OF_MEMORY"),
    ("status=6", "DEVICE_LOST"),
    ("status=7", "CANCELLED"),
    ("status=8", "PANICKED"),
    ("status=9", "BUSY"),
    ("status=10", "INTERNAL"),
    ("status=11", "INTERNAL"),
    ("status=-1", "INTERNAL"),
    ("status=0x7fffffff", "INTERNAL"),
];

/// Messages with what the host shows of them.
const MESSAGES: [(&str, &str); 6] = [
    ("message-beyond", "failed (FAILED), without a message"),
    ("message-wild", "failed (FAILED), without a message"),
    ("message-moved", "failed (FAILED)"),
    ("message-full", "failed (FAILED): xxxxx"),
    ("message-not-utf8", "failed (FAILED): \u{fffd}"),
    ("message-controls", "failed (FAILED): so   verdict     VALID [2J"),
];

/// A call writes behind the room for its message.
fn beyond_messages() -> Vec<Row> {
    let of = |(call, dispatch)| {
        let says = format!("plugin wayward crashed with SIGSEGV in {call}");
        Row::new(&numbered(call), "message-behind", dispatch, Outcome::Down, &[&says])
    };
    [("open", Batches), ("load_model", Queries), ("execute", Batches), ("issue", Queries)].map(of).into()
}

/// A call returns a status other than OK, or a message that cannot be.
pub(super) fn failures() -> Vec<Row> {
    let mut rows = Vec::new();
    for (call, dispatch) in CALLS {
        let outcome = match call {
            "proctor_plugin_entry" | "describe" | "extension" => continue,
            "open" | "load_model" | "create_instance" | "prepare_samples" | "start" => Outcome::Refused,
            _ => Outcome::Invalid,
        };
        let mut fail =
            |way: &str, says: &str| rows.push(Row::new(&numbered(call), way, dispatch, outcome, &[says]));
        let failed = |status: &str| format!("plugin wayward: {call} failed ({status}), without a message");
        if ["open", "execute", "issue"].contains(&call) {
            // A query that meets a full queue is issued again.
            let again = |way: &str| call == "issue" && way == "status=9";
            let statuses = STATUSES.iter().filter(|(way, _)| !again(way));
            statuses.for_each(|(way, status)| fail(way, &failed(status)));
            for (way, says) in MESSAGES {
                fail(way, &format!("plugin wayward: {call} {says}"));
            }
        } else {
            fail("status=6", &failed("DEVICE_LOST"));
            fail("message-controls", &format!("plugin wayward: {call} {}", MESSAGES[5].1));
        }
        if ["open", "load_model", "create_instance"].contains(&call) {
            fail("null-handle", &format!("plugin wayward: {call} returned OK and a null handle"));
        }
    }
    let says = ["plugin wayward: issue failed (BUSY)", "watchdog_ms = 1000, while no sample completed"];
    rows.push(Row::new("issue:10+", "status=9", Queries, Outcome::Waits, &says));
    let says = ["plugin wayward: issue failed (BUSY)", "was complete"];
    rows.push(Row::new("issue:10", "busy-when-answered", Queries, Outcome::Invalid, &says));
    rows
}

/// The accuracy run has finished when it happens, or all of its samples have completed.
pub(super) fn in_a_later_test() -> Vec<Row> {
    let mut rows = Vec::new();
    for (call, dispatch, is_refused) in [
        ("create_instance:2", Batches, true),
        ("prepare_samples:2", Batches, true),
        ("start:2", Batches, true),
        ("execute:610", Batches, false),
        ("stop:2", Batches, false),
        ("destroy_instance", Batches, false),
        ("prepare_samples:2", Queries, true),
        ("start:2", Queries, true),
        ("issue:610", Queries, false),
        ("flush", Queries, false),
        ("flush:2", Queries, false),
        ("stop", Queries, false),
        ("release_samples", Queries, false),
    ] {
        let name = call.split(':').next().unwrap_or_default();
        let row = |way: &str, outcome, says: &str| {
            Row::new(call, way, dispatch, outcome, &[says]).in_tests(Tests::Both)
        };
        rows.push(row("exit", Outcome::Down, &format!("plugin wayward called exit in {name}")));
        rows.push(row("segv", Outcome::Down, &format!("plugin wayward crashed with SIGSEGV in {name}")));
        let failed = if is_refused { Outcome::Refused } else { Outcome::Invalid };
        rows.push(row("status=6", failed, &format!("plugin wayward: {name} failed (DEVICE_LOST)")));
        if name != "execute" {
            rows.push(Row::hang(call, dispatch, task(name)).in_tests(Tests::Both));
        }
    }
    // A call of an extension, on a thread that the host ends before it scores the answers.
    let says = ["plugin wayward crashed with SIGSEGV in instance_thread.end"];
    rows.push(Row::new("end_thread", "segv", Batches, Outcome::Down, &says).in_tests(Tests::Both));
    rows
}
