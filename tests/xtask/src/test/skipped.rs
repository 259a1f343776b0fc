//! Skipped tests, with their reasons.
//!
//! A test that lacks something prints a line by `proctor_test_needs` and returns. The runner hides the output of
//! passing tests, so the lines are taken from its report.

use std::fmt;

use proctor_test_needs::{HARDWARE, SKIPPED};

use super::junit::{Case, unescaped};

/// A test that skipped itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skipped {
    test: String,
    /// Whether this machine lacks hardware; anything else could be installed.
    pub(crate) is_without_hardware: bool,
    missing: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_without_hardware { HARDWARE } else { "" };
        write!(f, "{SKIPPED}{}: {kind}{}", self.test, self.missing)
    }
}

/// Returns the tests that skipped themselves.
pub(crate) fn skipped(cases: &[Case]) -> Vec<Skipped> {
    cases.iter().flat_map(of_test).collect()
}

fn of_test(case: &Case) -> Vec<Skipped> {
    let reasons = case.output.lines().filter_map(|line| {
        // The first line of an output stands on the line of its opening tag.
        let line = line
            .rsplit_once("<system-out>")
            .or(line.rsplit_once("<system-err>"))
            .map_or(line, |(_, line)| line);
        let reason = line.trim_start().strip_prefix(SKIPPED)?;
        Some(unescaped(reason.split('<').next().unwrap_or(reason).trim_end()))
    });
    let skipped = reasons.map(|reason| {
        let missing = reason.strip_prefix(HARDWARE);
        Skipped {
            test: case.name.clone(),
            is_without_hardware: missing.is_some(),
            missing: missing.unwrap_or(&reason).to_owned(),
        }
    });
    skipped.collect()
}

#[cfg(test)]
mod tests {
    use super::{super::junit::cases, skipped};

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3">
    <testsuite name="proctor-tests::suite" tests="3">
        <testcase name="c_plugin::runs" classname="proctor-tests::suite" time="0.004">
            <system-out>running 1 test
test c_plugin::runs ... ok
</system-out>
            <system-err>skipped: no `cc`; a &lt;compiler&gt; &amp;amp; linker
</system-err>
        </testcase>
        <testcase name="passes" classname="proctor-tests::suite" time="0.1">
            <system-out>nothing was skipped: all ran</system-out>
        </testcase>
        <testcase name="gpu" classname="proctor-tests::suite" time="0.1">
            <system-out>
running 1 test
skipped: hardware: no device</system-out>
        </testcase>
    </testsuite>
</testsuites>"#;

    #[test]
    fn tests_that_skipped_themselves_are_found_with_the_reason() {
        let found = skipped(&cases(REPORT));
        let lines: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "skipped: proctor-tests::suite c_plugin::runs: no `cc`; a <compiler> &amp; linker",
                "skipped: proctor-tests::suite gpu: hardware: no device"
            ]
        );
        let without_hardware: Vec<_> = found.iter().map(|it| it.is_without_hardware).collect();
        assert_eq!(without_hardware, [false, true]);
    }

    #[test]
    fn a_report_without_tests_has_no_skipped_ones() {
        assert_eq!(skipped(&cases("<testsuites></testsuites>")), []);
    }
}
