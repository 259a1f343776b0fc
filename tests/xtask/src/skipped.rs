//! Which tests skipped themselves, and why.
//!
//! A test that lacks something (a device, a compiler) prints a line `skipped: <reason>` and returns. The runner hides
//! the output of passing tests, so the lines are taken from its JUnit report.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Returns a line `<test>: <reason>` for each test in the JUnit report at `path` that skipped itself.
///
/// # Errors
/// If the report cannot be read.
pub(crate) fn skipped_tests(path: &Path) -> Result<Vec<String>> {
    let report = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(skipped_in(&report))
}

fn skipped_in(report: &str) -> Vec<String> {
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
            if let Some(reason) = line.trim_start().strip_prefix("skipped: ") {
                let reason = reason.split('<').next().unwrap_or(reason);
                skipped.push(format!("{}: {}", unescape(name), unescape(reason.trim_end())));
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
skipped: no device</system-out>
        </testcase>
    </testsuite>
</testsuites>"#;

    #[test]
    fn tests_that_skipped_themselves_are_found_with_the_reason() {
        assert_eq!(
            skipped_in(REPORT),
            ["c_plugin::runs: no `cc`; a <compiler> &amp; linker", "gpu: no device"]
        );
    }

    #[test]
    fn a_report_without_tests_has_no_skipped_ones() {
        assert_eq!(skipped_in("<testsuites></testsuites>"), Vec::<String>::new());
    }
}
