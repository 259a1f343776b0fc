//! Answers that are wrong, and services of the host that are called as they may not be.

use super::row::{
    Dispatch::{Batches, Queries},
    Outcome, Row, Tests,
};

/// Ways to answer a sample, in batches and in queries alike, and the reason.
const SAMPLES: [(&str, &str); 11] = [
    ("sample-fails", "1 sample failed: sample 9 (status 1)"),
    ("sample-message-null", "1 sample failed: sample 9 (status 1)"),
    ("sample-message-controls", "failed (FAILED): so   verdict     VALID [2J"),
    ("sample-message-not-utf8", "failed (FAILED): \u{fffd}"),
    ("sample-message-long", "1 sample failed: sample 9 (status 1)"),
    ("sample-status=2", "1 sample failed: sample 9 (status 2)"),
    ("sample-status=9", "1 sample failed: sample 9 (status 9)"),
    ("sample-status=99", "1 sample failed: sample 9 (status 10)"),
    ("sample-status=-1", "1 sample failed: sample 9 (status 10)"),
    ("keep", "plugin wayward: answered samples while no test was running"),
    ("complete-unknown", "1 sample completed with an unknown response id: response id 0x7"),
];

/// Sizes in bytes that an answer of 40 bytes may not have.
const SIZES: [(&str, &str); 4] =
    [("short", "36"), ("long", "44"), ("wild", "18446744073709551615"), ("nothing", "0")];

/// Further ways to answer a batch.
const BATCHES: [(&str, Outcome, &str); 7] = [
    ("lent-short", Outcome::Invalid, "of sample 53 has 4 bytes instead of 40"),
    ("complete-own", Outcome::Invalid, "1 sample completed more than once: sample 9 "),
    (
        "lent-nowhere",
        Outcome::Down,
        "plugin wayward crashed with SIGSEGV in the copy of a lent output, instance 0",
    ),
    ("release-exits", Outcome::Down, "plugin wayward called exit in release of a lent output, instance 0"),
    ("release-crashes", Outcome::Down, "plugin wayward crashed with SIGSEGV in release of a lent output"),
    (
        "release-_exits",
        Outcome::Down,
        "ended the program with exit code 0, as by _exit, in release of a lent output",
    ),
    ("release-hangs", Outcome::Waits, "instance 0 did not return from a batch of 1 sample"),
];

/// Further ways to answer a query.
const QUERIES: [(&str, Outcome, &str); 36] = [
    ("data-null", Outcome::Invalid, "has null with 40 bytes instead of 40"),
    ("id-zero", Outcome::Invalid, "1 sample completed with an unknown response id: response id 0x0"),
    (
        "id-unknown",
        Outcome::Invalid,
        "1 sample completed with an unknown response id: response id 0xffffffffffffffff",
    ),
    ("id-next", Outcome::Invalid, "1 sample completed without having been issued: sample 10 "),
    ("answer-twice", Outcome::Invalid, "1 sample completed more than once: sample 9 "),
    ("never", Outcome::Waits, "1 sample was never completed: sample 9 "),
    ("count=0", Outcome::Waits, "1 sample was never completed: sample 9 "),
    ("context-null", Outcome::Waits, "plugin wayward: called complete with a context that is null, "),
    (
        "context-foreign",
        Outcome::Waits,
        "plugin wayward: called complete with a context that is not that of ",
    ),
    ("null", Outcome::Invalid, "responses that cannot be: ProctorResponses is null"),
    ("unaligned", Outcome::Invalid, "responses that cannot be: ProctorResponses is not aligned"),
    ("size=0", Outcome::Invalid, "responses that cannot be: ProctorResponses has 0 bytes"),
    ("size=9", Outcome::Invalid, "responses that cannot be: ProctorResponses has 9 bytes"),
    ("size=0x10000000000", Outcome::Invalid, "ProctorResponses has 1099511627776 bytes"),
    ("array-null", Outcome::Invalid, "responses that cannot be: "),
    ("array-unaligned", Outcome::Invalid, "responses that cannot be: "),
    ("count=-1", Outcome::Invalid, "18446744073709551615 responses are more than 268435456"),
    ("count=0x10000001", Outcome::Invalid, "268435457 responses are more than 268435456"),
    ("stride=0", Outcome::Invalid, "responses that cannot be: ProctorResponse has 0 bytes"),
    ("stride=8", Outcome::Invalid, "responses that cannot be: ProctorResponse has 8 bytes"),
    ("stride=57", Outcome::Invalid, "responses that cannot be: ProctorResponse has 57 bytes"),
    ("stride=0x10000000000", Outcome::Invalid, "ProctorResponse has 1099511627776 bytes"),
    ("token-long", Outcome::Invalid, "has 41 bytes instead of at most 40"),
    ("token-null", Outcome::Invalid, "has null with 4 bytes instead of at most 40"),
    ("token-unknown", Outcome::Invalid, "1 sample given a first token without being outstanding"),
    ("token-late", Outcome::Invalid, "1 sample given a first token after their completion: sample 9 "),
    ("report-none", Outcome::Invalid, "plugin wayward: reported 0 tokens of 0x"),
    ("report-next", Outcome::Invalid, "1 sample given tokens without being outstanding: sample 10 "),
    ("report-unknown", Outcome::Invalid, "1 sample given tokens without being outstanding: response id 0xff"),
    ("report-late", Outcome::Invalid, "2 samples given tokens after their completion: sample 9 "),
    (
        "report-null",
        Outcome::Invalid,
        "plugin wayward: reported tokens that cannot be: ProctorTokens is null",
    ),
    ("report-size=0", Outcome::Invalid, "reported tokens that cannot be: ProctorTokens has 0 bytes"),
    ("report-array-null", Outcome::Invalid, "reported tokens that cannot be: ProctorTokenReport is null"),
    ("report-count=0x10000001", Outcome::Invalid, "268435457 reports are more than 268435456"),
    ("report-stride=8", Outcome::Invalid, "ProctorTokenReport has 8 bytes"),
    ("complete-null", Outcome::Invalid, "responses that cannot be: ProctorResponses is null"),
];

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (call, dispatch) in [("execute:10", Batches), ("issue:10", Queries)] {
        for (way, says) in SAMPLES {
            rows.push(Row::new(call, way, dispatch, Outcome::Invalid, &[says]));
        }
        for (way, size) in SIZES {
            let says = [
                "1 sample failed: sample 9 (status 1)",
                &format!("has {size} bytes instead of 40"),
                if dispatch == Batches {
                    "plugin wayward: output \"logits\""
                } else {
                    "plugin wayward: response 0x"
                },
            ];
            rows.push(Row::new(call, way, dispatch, Outcome::Invalid, &says));
        }
    }
    rows.extend(BATCHES.map(|(way, outcome, says)| Row::new("execute:10", way, Batches, outcome, &[says])));
    rows.extend(QUERIES.map(|(way, outcome, says)| Row::new("issue:10", way, Queries, outcome, &[says])));
    // The outputs of a performance run are not looked at.
    let nowhere = ["plugin wayward crashed with SIGSEGV in issue"];
    let row = Row::new("issue:10", "data-nowhere", Queries, Outcome::Down, &nowhere);
    rows.push(row.in_tests(Tests::Accuracy));
    let twice = ["1 sample given a first token more than once: sample 9 "];
    let row = Row::new("issue:10", "token-twice", Queries, Outcome::Invalid, &twice);
    rows.push(row.with("--set use_token_latencies=true"));
    let differs = ["1 sample completed with another number of tokens than were reported: sample 9 "];
    let row = Row::new("issue:10", "report-more", Queries, Outcome::Invalid, &differs);
    rows.push(row.with("--set use_token_latencies=true"));
    // The next sample of the query waits for its batch in the host.
    let next = ["1 sample given tokens without being outstanding: sample 10 "];
    let row = Row::new("execute:10", "report-next", Batches, Outcome::Invalid, &next);
    rows.push(row.with("--set use_token_latencies=true --scenario MultiStream"));
    rows
}

/// Ways to misuse a service, and the reason.
const SERVICES: [(&str, &str); 22] = [
    ("40-metrics", "of at most 128 bytes; and 39 more of this kind"),
    ("metric-no-name", "metric \"\" = 1 is not taken: it has no name"),
    ("metric-two-words", "metric \"two words\" = 1 is not taken: name and unit are printable ASCII"),
    ("metric-not-ascii", "metric \"énergie\" = 1 is not taken: name and unit are printable ASCII"),
    ("metric-not-utf8", "= 1 is not taken: name and unit are printable ASCII"),
    ("metric-controls", "metric \"power\\u{1b}[2J\" = 1 is not taken: name and unit are printable ASCII"),
    ("metric-unit-controls", "metric \"power\" = 1 is not taken: name and unit are printable ASCII"),
    ("metric-nan", "metric \"power\" = NaN is not taken: the value is not finite"),
    ("metric-infinite", "metric \"power\" = inf is not taken: the value is not finite"),
    (
        "metric-future",
        "metric \"power\" = 1 is not taken: its instant, 18446744073709551615 ns, is yet to come",
    ),
    ("metric-other-unit", "metric \"power\" = 1000 is not taken: its unit was \"W\" before"),
    ("metric-too-many", "metric \"m4096\" = 1 is not taken: there are 4096 metrics already"),
    (
        "metric-long",
        "= 1 is not taken: name and unit are printable ASCII without spaces of at most 128 bytes",
    ),
    ("metric-null", "is not taken: ProctorMetric "),
    ("metric-unaligned", "is not taken: ProctorMetric "),
    ("metric-size=0", "is not taken: ProctorMetric "),
    ("metric-size=0x10000000000", "is not taken: ProctorMetric "),
    ("metric-context-null", "plugin wayward: called metric with a context that is null"),
    ("progress-context-null", "plugin wayward: called progress with a context that is null"),
    ("log-context-null", "plugin wayward: called log with a context that is null"),
    ("progress-null", "reported progress that cannot be: ProctorProgress is null"),
    ("progress-size=0", "reported progress that cannot be: ProctorProgress has 0 bytes"),
];

/// Samples that are answered where none is asked for, and services that are misused, in calls of all parts of a run.
pub(super) fn services() -> Vec<Row> {
    let row = |call: &str, way: &str, dispatch, says: &str| {
        Row::new(call, way, dispatch, Outcome::Invalid, &[says])
    };
    let mut rows: Vec<Row> = Vec::new();
    for (way, says) in SERVICES {
        rows.push(row("start", way, Batches, says));
        rows.push(row("issue:10", way, Queries, says));
    }
    // A process of its own notices, and the host learns of each service that it has.
    for (way, says) in [
        ("complete-null", "responses that cannot be: ProctorResponses is null"),
        ("metric-nan", "the value is not finite"),
        ("progress-null", "reported progress that cannot be: ProctorProgress is null"),
        ("log-context-null", "plugin wayward: called log with a context that is null"),
    ] {
        rows.push(Row::isolated("start", way, Batches, Outcome::Invalid, &[says]));
    }
    let (none, unknown) =
        ("answered samples while no test was running", "an unknown response id: response id 0x7");
    for (call, dispatch, says) in [
        ("open", Batches, none),
        ("load_model", Queries, none),
        ("create_instance", Batches, none),
        ("prepare_samples", Queries, unknown),
        ("start", Queries, unknown),
        ("stop", Queries, none),
        ("release_samples", Batches, none),
        ("unload_model", Queries, none),
        ("close", Batches, none),
    ] {
        rows.push(row(call, "complete-unknown", dispatch, says));
        rows.push(row(call, "complete-later", dispatch, says));
        rows.push(row(call, "metric-nan", dispatch, "the value is not finite"));
    }
    rows
}
