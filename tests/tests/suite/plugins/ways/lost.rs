//! Answers that the host cannot take and that do not come again: the sample is missing, and the reason is reported,
//! even if the process of the plugin is ended for it.

use proctor_tests::PLACES;

use super::row::{Dispatch::Queries, Outcome, Row};

/// Ways to hand over an answer, and the reason.
const WAYS: [(&str, &str); 6] = [
    ("lost-unaligned", "responses that cannot be: ProctorResponses is not aligned"),
    ("lost-size=0", "responses that cannot be: ProctorResponses has 0 bytes"),
    ("lost-array-unaligned", "responses that cannot be: "),
    ("lost-count=0x10000001", "268435457 responses are more than 268435456"),
    ("lost-stride=0", "responses that cannot be: ProctorResponse has 0 bytes"),
    ("lost-stride=57", "responses that cannot be: ProctorResponse has 57 bytes"),
];

pub(super) fn rows() -> Vec<Row> {
    let row = |way, says, flags| {
        let says = [says, "1 sample was never completed: sample 9 "];
        Row::new("issue:10", way, Queries, Outcome::Waits, &says).with(flags)
    };
    PLACES.into_iter().flat_map(|flags| WAYS.map(move |(way, says)| row(way, says, flags))).collect()
}
