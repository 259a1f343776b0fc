//! Ways to end or to hang a process, of a plugin that has one of its own: the host is alive, and has all its files.

use super::{
    calls::{CALLS, numbered, task},
    row::{
        Dispatch::{Batches, Queries},
        Outcome, Row,
    },
};

/// Outcome of a run whose plugin ends in this call: without a model there is nothing to run.
fn outcome(call: &str) -> Outcome {
    match call {
        "create_instance" | "prepare_samples" | "start" => Outcome::Untested,
        "proctor_plugin_entry" | "describe" | "extension" | "open" | "load_model" | "constructor" => {
            Outcome::Refused
        }
        _ => Outcome::Invalid,
    }
}

/// The process ends, by itself or by a signal.
pub(super) fn ends() -> Vec<Row> {
    let mut rows = Vec::new();
    for (call, dispatch) in CALLS {
        let mut end = |way: &str, says: &str| {
            rows.push(Row::isolated(&numbered(call), way, dispatch, outcome(call), &[says]));
        };
        end("segv", &format!("crashed with SIGSEGV in {call}"));
        end("throw", &format!(" in {call}"));
        // Of a library that is being loaded the host knows no more.
        let place = match call {
            "proctor_plugin_entry" | "describe" | "extension" => "loading the library",
            call => call,
        };
        end("_exit", &format!("its process has ended by itself with exit code 0 in {place}"));
        if place != call {
            end("exit_group", &format!(" was at work in {call}"));
        }
        if !["execute", "issue"].contains(&call) {
            continue;
        }
        end("exit", &format!("called exit in {call}"));
        end("quick_exit", &format!("called exit in {call}"));
        end("exit_group", &format!("its process has ended by itself with exit code 0 in {call}"));
        end("abort", &format!("crashed with SIGABRT in {call}"));
        end("leave-copy", &format!("crashed with SIGABRT in {call}"));
        end("hide", "its process was ended by SIGKILL, as it does not say what it should");
        end("overflow", &format!("its process was ended by SIGSEGV in {call}"));
        end("kill", &format!("its process was ended by SIGKILL in {call}"));
        end("fpe", &format!("crashed with SIGFPE in {call}"));
        end("usr1", &format!("was ended by SIGUSR1 in {call}"));
        // It can only read the inputs.
        end("overwrite", "crashed with SIG");
    }
    for (call, dispatch) in [("execute", Batches), ("issue", Queries)] {
        let says = format!("crashed with SIGABRT in {call}");
        let row = Row::new(&numbered(call), "memory", dispatch, Outcome::Invalid, &[&says]);
        rows.push(row.with("--isolate --set isolate_memory_mib=1000"));
    }
    for (way, says) in [
        ("lent-nowhere", "crashed with SIGSEGV in the copy of a lent output"),
        ("release-exits", "called exit in release of a lent output"),
        ("release-crashes", "crashed with SIGSEGV in release of a lent output"),
        ("release-_exits", "its process has ended by itself with exit code 0 in execute"),
    ] {
        rows.push(Row::isolated("execute:10", way, Batches, Outcome::Invalid, &[says]));
    }
    for (call, dispatch) in
        [("open", Batches), ("load_model", Queries), ("execute", Batches), ("issue", Queries)]
    {
        let says = format!("crashed with SIGSEGV in {call}");
        rows.push(Row::isolated(&numbered(call), "message-behind", dispatch, outcome(call), &[&says]));
    }
    let says = ["create_instance failed", "its process can be given no more files"];
    rows.push(Row::isolated("open", "no-files", Batches, Outcome::Refused, &says));
    let says = ["libwayward_sut.so", "exit code 0"];
    rows.push(Row::isolated("constructor", "_exit", Batches, Outcome::Refused, &says));
    rows
}

/// A call does not return, and the process is ended.
pub(super) fn hangs() -> Vec<Row> {
    let hang = |call: &str, dispatch| {
        let task = match call {
            "proctor_plugin_entry" | "describe" | "extension" | "constructor" => "be loaded",
            "execute" => "execute a batch",
            call => task(call),
        };
        Row::isolated_hang(&numbered(call), dispatch, outcome(call), task)
    };
    let mut rows: Vec<_> = CALLS.iter().map(|(call, dispatch)| hang(call, *dispatch)).collect();
    rows.push(hang("constructor", Batches));
    rows
}

/// The process is ended as samples are missing, and what it has noticed of that is known.
pub(super) fn misses() -> Vec<Row> {
    [("context-null", "a context that is null"), ("context-foreign", "a context that is not that of")]
        .map(|(way, context)| {
            let called = format!("plugin wayward: called complete with {context}");
            let says = [called.as_str(), "1 sample was never completed: sample 9 "];
            Row::isolated("issue:10", way, Queries, Outcome::Waits, &says)
        })
        .to_vec()
}
