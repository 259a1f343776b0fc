//! Which tests skipped themselves, and why.
//!
//! A test that lacks something prints a line by `proctor_test_needs` and returns. The runner hides the output of
//! passing tests, so the lines are taken from its JUnit report.

use std::{fmt, fs, path::Path};

use anyhow::{Context, Result};
use proctor_test_needs::{HARDWARE, SKIPPED};

/// A test that skipped itself.
#[derive(Debug, PartialEq, Eq)]
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

/// Returns the tests in the JUnit report at `path` that skipped themselves.
///
/// # Errors
/// If the report cannot be read.
pub(crate) fn skipped_tests(path: &Path) -> Result<Vec<Skipped>> {
    let report = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(skipped_in(&report))
}

pub(crate) fn skipped_in(report: &str) -> Vec<Skipped> {
    let mut skipped = Vec::new();
    // What follows each opening tag up to the next one: the attributes of a test, then its output.
    for case in report.split("<testcase ").skip(1) {
        let name = case
            .split_once("name=\"")
            .and_then(|(_, rest)| rest.split_once('"'))
            .map_or("", |(name, _)| name);
        let output = case.split_once('>').map_or("", |(_, output)| output);
        for line in output.lines() {
            // The first line of an output stands on the line of its opening tag.
            let line = line
                .rsplit_once("<system-out>")
                .or(line.rsplit_once("<system-err>"))
                .map_or(line, |(_, l)| l);
            if let Some(reason) = line.trim_start().strip_prefix(SKIPPED) {
                let reason = unescape(reason.split('<').next().unwrap_or(reason).trim_end());
                let missing = reason.strip_prefix(HARDWARE);
                skipped.push(Skipped {
                    test: unescape(name),
                    is_without_hardware: missing.is_some(),
                    missing: missing.unwrap_or(&reason).to_owned(),
                });
            }
        }
    }
    skipped
}

fn unescape(text: &str) -> String {
    // The ampersand comes last, so that it does not make new escapes.
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (escape, character)| text.replace(escape, character))
}

#[cfg(test)]
mod tests {
    use super::skipped_in;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3">
    <testsuite name="proctor-tests::c_plugin" tests="3">
        <testcase name="c_plugin::runs" classname="proctor-tests::c_plugin" time="0.004">
            <system-out>running 1 test
test c_plugin::runs ... ok
</system-out>
            <system-err>skipped: no `cc`; a &lt;compiler&gt; &amp;amp; linker
</system-err>
        </testcase>
        <testcase name="passes" classname="proctor-tests::c_plugin" time="0.1">
            <system-out>nothing was skipped: all ran</system-out>
        </testcase>
        <testcase name="gpu" classname="proctor-tests::c_plugin" time="0.1">
            <system-out>
running 1 test
skipped: hardware: no device</system-out>
        </testcase>
    </testsuite>
</testsuites>"#;

    #[test]
    fn tests_that_skipped_themselves_are_found_with_the_reason() {
        let lines: Vec<_> = skipped_in(REPORT).iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "skipped: c_plugin::runs: no `cc`; a <compiler> &amp; linker",
                "skipped: gpu: hardware: no device"
            ]
        );
        let without_hardware: Vec<_> = skipped_in(REPORT).iter().map(|it| it.is_without_hardware).collect();
        assert_eq!(without_hardware, [false, true]);
    }

    #[test]
    fn a_report_without_tests_has_no_skipped_ones() {
        assert_eq!(skipped_in("<testsuites></testsuites>"), []);
    }
}
