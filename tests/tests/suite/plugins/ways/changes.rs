//! Changes of what is the host's: memory, the thread that it calls on, the process.

use proctor_test_needs::skip_without_hardware;

use super::{
    calls::CALLS,
    row::{
        Dispatch::{Batches, Queries},
        Outcome, Row,
    },
};

/// Parts of the calling thread and of the process, and the host's words for them.
const PARTS: [(&str, &str); 5] = [
    ("pin", "the processors that the calling thread may use"),
    ("round", "the rounding or flushing of floating-point numbers on the calling thread"),
    ("block", "the signals that the calling thread blocks"),
    ("chdir", "the working folder"),
    ("umask", "the permissions of new files (umask)"),
];

/// Whether this machine has what the part is about.
fn can_change(part: &str) -> bool {
    let has_processors =
        part != "pin" || std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    if !has_processors {
        skip_without_hardware("a second processor");
    }
    has_processors && (part != "round" || cfg!(target_arch = "x86_64"))
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let parts: Vec<_> = PARTS.into_iter().filter(|(part, _)| can_change(part)).collect();
    for (way, part) in &parts {
        for (call, dispatch) in [
            ("open", Batches),
            ("load_model", Queries),
            ("create_instance", Batches),
            ("prepare_samples", Queries),
            ("start", Queries),
            ("issue:10", Queries),
            ("stop", Queries),
            ("unload_model", Batches),
            ("close", Queries),
        ] {
            let name = call.split(':').next().unwrap_or_default();
            let says = format!("plugin wayward changed {part} in {name}; the host has put it back");
            rows.push(Row::new(call, way, dispatch, Outcome::PutRight, &[&says]));
        }
    }
    for (call, dispatch) in CALLS {
        // Stdout is the answer's.
        rows.push(Row::new(call, "print", dispatch, Outcome::PutRight, &["VALID says the plugin"]));
        let says = format!("has forked returned from its call in {call}");
        rows.push(Row::new(call, "fork", dispatch, Outcome::PutRight, &[&says]));
    }
    for call in ["constructor", "open", "load_model", "create_instance"] {
        let says = format!(
            "has replaced the handler of SIGSEGV, SIGINT in {}",
            call.replace("constructor", "loading")
        );
        rows.push(Row::new(call, "handlers", Batches, Outcome::PutRight, &[&says]));
    }
    // The samples are the host's to write.
    for (call, dispatch) in [
        ("prepare_samples", Batches),
        ("execute:5", Batches),
        ("stop", Batches),
        ("issue:5", Queries),
        ("flush", Queries),
    ] {
        let says = ["the plugin overwrote the inputs of 1 sample, the first of library index 3"];
        rows.push(Row::new(call, "overwrite", dispatch, Outcome::Invalid, &says));
    }
    rows
}
