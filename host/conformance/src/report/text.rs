//! The report for people.

use proctor_vocabulary::printable;

use super::{CaseResult, Outcome, Report};

/// Maximum number of output lines shown for a case; the last ones.
const OUTPUT_LINES_MAX: usize = 12;

pub(super) fn text(report: &Report) -> String {
    let mut text = head(report);
    report.results.iter().for_each(|result| text.push_str(&of_case(result)));
    let counts = Outcome::ALL.map(|outcome| format!("{} {}", report.count(outcome), outcome.name()));
    let (count, counts, seconds) = (report.results.len(), counts.join(", "), report.seconds);
    text.push_str(&format!("{count} cases: {counts} in {seconds:.1} s\n"));
    text
}

fn head(report: &Report) -> String {
    let plugin = match &report.plugin {
        Some(plugin) => {
            format!("{} {} ({}), ABI {}\n", plugin.name, plugin.version, plugin.source, plugin.abi_version)
        }
        None => "the plugin cannot be loaded\n".to_owned(),
    };
    let model = match &report.model {
        Some(model) => format!("with the model of benchmark {} in {}\n", model.benchmark, model.precision),
        None if report.plugin.is_some() => {
            "without a model: it declares none of our small ones; name a benchmark with --benchmark\n"
                .to_owned()
        }
        None => String::new(),
    };
    plugin + &model
}

fn of_case(result: &CaseResult) -> String {
    let CaseResult { case, outcome, reason, output, .. } = result;
    let line = format!("{:<5}  {}", outcome.name(), case.name);
    match outcome {
        Outcome::Pass => format!("{line}\n"),
        Outcome::Skip => format!("{line}: {}\n", in_line(reason)),
        Outcome::Fail | Outcome::Crash => {
            let mut text = format!("{line}\n");
            for (name, value) in [("reason", reason.as_str()), ("rule", case.rule), ("fix", case.fix)] {
                text.push_str(&format!("       {name:<7} {}\n", in_line(value)));
            }
            let lines: Vec<_> = output.lines().filter(|line| !line.trim().is_empty()).collect();
            for line in &lines[lines.len().saturating_sub(OUTPUT_LINES_MAX)..] {
                text.push_str(&format!("       | {}\n", in_line(line)));
            }
            text
        }
    }
}

/// Returns a text of a plugin as part of a line.
fn in_line(text: &str) -> String {
    printable(text.trim().replace(['\n', '\r', '\t'], " "))
}

#[cfg(test)]
mod tests {
    use crate::report::tests::report;

    #[test]
    fn a_case_that_fails_has_its_reason_the_rule_and_the_fix() {
        let text = report().text();
        assert!(text.starts_with("the plugin cannot be loaded\nPASS   load/library-opens\n"), "{text}");
        assert!(text.contains("       reason  <so> & \"so\"\\u001b[2J\n       rule    "), "{text}");
        assert!(text.contains("       | one\n       | two ]]>\n"), "{text}");
        assert!(text.ends_with("4 cases: 1 PASS, 1 FAIL, 1 SKIP, 1 CRASH in 1.0 s\n"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }
}
