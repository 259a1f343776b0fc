//! The report in the format of JUnit: a suite for the plugin, a class for each group of cases.

use proctor_vocabulary::xml_text;

use super::{CaseResult, Outcome, Report};

/// Returns the whole report as a JUnit file.
pub(super) fn junit(report: &Report) -> String {
    let name = report.plugin.as_ref().map_or("plugin", |plugin| plugin.name.as_str());
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        report.results.len(),
        report.count(Outcome::Fail),
        report.count(Outcome::Crash),
        report.count(Outcome::Skip),
        report.seconds
    );
    let cases: String = report.results.iter().map(case).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"{}\" {counts}>\n{cases}  \
         </testsuite>\n</testsuites>\n",
        xml_text(name)
    )
}

fn case(result: &CaseResult) -> String {
    let CaseResult { case, outcome, reason, output, seconds } = result;
    let (group, name) = case.name.split_once('/').unwrap_or(("", case.name));
    let head = format!("    <testcase classname=\"{group}\" name=\"{name}\" time=\"{seconds:.3}\"");
    let why = format!("reason: {reason}\nrule: {}\nfix: {}\n", case.rule, case.fix);
    let (reason, why, output) = (xml_text(reason), xml_text(&why), xml_text(output));
    let output = match output.is_empty() {
        true => String::new(),
        false => format!("      <system-err>{output}</system-err>\n"),
    };
    let inner = match outcome {
        Outcome::Pass => return format!("{head}/>\n"),
        Outcome::Skip => format!("      <skipped message=\"{reason}\"/>\n"),
        Outcome::Fail => format!("      <failure message=\"{reason}\">{why}</failure>\n"),
        Outcome::Crash => format!("      <error message=\"{reason}\">{why}</error>\n"),
    };
    format!("{head}>\n{inner}{output}    </testcase>\n")
}

#[cfg(test)]
mod tests {
    use crate::report::tests::report;

    /// Checks that elements are closed in the order in which they were opened, and attributes are quoted.
    fn check_form(xml: &str) {
        let mut open = Vec::new();
        let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").unwrap();
        while let Some((text, after)) = rest.split_once('<') {
            assert!(!text.contains('>'), "{text}");
            let (tag, after) = after.split_once('>').unwrap();
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "{xml}");
            } else if !tag.ends_with('/') {
                open.push(tag.split_whitespace().next().unwrap().to_owned());
            }
            rest = after;
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn the_file_is_well_formed_and_counts_its_cases() {
        let xml = report().junit();
        check_form(&xml);
        assert!(xml.contains("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""), "{xml}");
        assert!(
            xml.contains("<testcase classname=\"load\" name=\"library-opens\" time=\"0.250\"/>"),
            "{xml}"
        );
        assert!(xml.contains("message=\"&lt;so&gt; &amp; &quot;so&quot; [2J\""), "{xml}");
        assert!(xml.contains("<system-err>one&#10;two ]]&gt;&#10;</system-err>"), "{xml}");
        assert!(!xml.contains('\u{1b}'));
    }
}
