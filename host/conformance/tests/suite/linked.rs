//! The suite from a test of a plugin that is linked in, as its author would run it.

use std::{env, time::Duration};

// The plugin registers itself; the linker keeps it only if it is referenced.
use proctor_conformance::{Outcome, Program, Request, Suite};
use proctor_null as _;
use proctor_test_needs::name_of;

/// The processes of the cases end in here: each is this test program, asked for this one test.
#[test]
fn serves() {
    proctor_conformance::serve();
}

fn suite(plugin: &str) -> Suite {
    let path = env::current_exe().expect("a running test has a path");
    let arguments = ["--exact", name_of(serves), "--nocapture"].map(Into::into).to_vec();
    let request = Request { plugin: plugin.to_owned(), ..Request::default() };
    Suite::new(request)
        .expect("the program has a path")
        .program(Program { path, arguments })
        .limit(Duration::from_secs(60))
}

#[test]
fn a_linked_in_plugin_passes() {
    let groups = ["load/", "manifest/", "negotiation/", "lifecycle/", "batches/", "queries/one-sample"];
    let mut heard = Vec::new();
    let report = suite("null")
        .only(groups.map(str::to_owned).to_vec())
        .run(&mut |case, number, count| heard.push((case.name, number, count)))
        .unwrap();
    assert!(report.is_good(), "{}", report.text());
    assert_eq!(report.plugin.as_ref().map(|plugin| plugin.name.as_str()), Some("null"));
    assert_eq!(report.results.len(), heard.len());
    assert_eq!(heard.last().map(|(_, number, count)| number == count), Some(true));
    let skipped: Vec<_> =
        report.results.iter().filter(|it| it.outcome == Outcome::Skip).map(|it| it.case.name).collect();
    assert_eq!(skipped, ["manifest/name-fits-file", "lifecycle/refused-model"]);
}

#[test]
fn a_plugin_that_is_not_there_is_no_report() {
    let error = suite("nul").run(&mut |_, _, _| ()).unwrap_err().to_string();
    assert!(error.contains("did you mean \"null\"?"), "{error}");
}
