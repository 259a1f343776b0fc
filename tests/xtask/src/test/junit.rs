//! The report that nextest writes of a run, as far as this program reads it.

use std::{fs, path::PathBuf};

use anyhow::{Context, Result};

use crate::command::workspace_root;

/// A test of a report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    /// Program and its name: `proctor-tests::suite runs::scale`.
    pub(crate) name: String,
    /// Duration of the test, in seconds.
    pub(crate) seconds: f64,
    pub(crate) has_failed: bool,
    /// Output, with XML's escapes.
    pub(crate) output: String,
}

/// Returns where nextest writes its report of a profile, as `.config/nextest.toml` asks; under the workspace for any
/// target folder.
pub(crate) fn path(profile: &str) -> PathBuf {
    workspace_root().join("target/nextest").join(profile).join("junit.xml")
}

/// Returns the tests in the report of a profile.
///
/// # Errors
/// If the report cannot be read.
pub(crate) fn read(profile: &str) -> Result<Vec<Case>> {
    let path = path(profile);
    let report = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(cases(&report))
}

/// Returns the tests in a report.
pub(crate) fn cases(report: &str) -> Vec<Case> {
    // The text between an opening tag and the next one: the attributes of a test, then its output.
    let cases = report.split("<testcase ").skip(1).map(|case| {
        let (attributes, output) = case.split_once('>').unwrap_or((case, ""));
        let program = attribute(attributes, "classname");
        let name = attribute(attributes, "name");
        Case {
            name: format!("{program} {name}").trim_start().to_owned(),
            seconds: attribute(attributes, "time").parse().unwrap_or(0.0),
            has_failed: output.contains("<failure") || output.contains("<error"),
            output: output.to_owned(),
        }
    });
    cases.collect()
}

/// Returns the value of an attribute, or an empty text.
fn attribute(attributes: &str, key: &str) -> String {
    // With the space before it, so that `name` is not found in `classname`.
    let attributes = format!(" {attributes}");
    let after = attributes.split_once(&format!(" {key}=\"")).map(|(_, after)| after);
    unescaped(after.and_then(|after| after.split('"').next()).unwrap_or_default())
}

/// Returns `text` without XML's escapes.
pub(crate) fn unescaped(text: &str) -> String {
    // The ampersand comes last, so that it does not make new escapes.
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (escape, character)| text.replace(escape, character))
}

#[cfg(test)]
mod tests {
    use super::{Case, cases};

    #[test]
    fn a_report_tells_names_times_and_failures() {
        let report = r#"<testsuite name="host">
        <testcase name="a::passes" classname="host" timestamp="2026-01-01" time="0.25"/>
        <testcase name="b" classname="proctor-tests::suite" time="61.000">
            <failure type="test failure">thread &apos;b&apos; panicked</failure>
        </testcase>"#;
        let [passed, failed]: [Case; 2] = cases(report).try_into().unwrap();
        assert_eq!(
            (passed.name.as_str(), passed.seconds, passed.has_failed),
            ("host a::passes", 0.25, false)
        );
        assert_eq!(
            (failed.name.as_str(), failed.seconds, failed.has_failed),
            ("proctor-tests::suite b", 61.0, true)
        );
    }
}
