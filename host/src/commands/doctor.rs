//! `host doctor`: causes of variation on this machine, and the command that mends each.

use clap::Args;
use proctor_display::print;
use proctor_noise::doctor::{Check, Fitness, examine};
use proctor_words::{Conclusion, HostError, read_machine, text::table};
use serde_json::json;

/// Flags of `host doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorFlags {
    /// Print the checks as JSON
    #[arg(long)]
    json: bool,
}

impl DoctorFlags {
    /// Examines the machine for a second, and prints the findings.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        let checks = examine();
        if self.json {
            let report = json!({ "schema_version": 1, "machine": read_machine(), "checks": checks });
            print(format!("{report:#}\n"));
        } else {
            print(text(&checks));
        }
        let is_good = checks.iter().all(|check| check.state != Fitness::Advice);
        Ok(if is_good { Conclusion::Good } else { Conclusion::Bad })
    }
}

pub(super) const DOCTOR_HELP: &str = "\
Examples:
  host doctor                         run it before a series of measurements
  host doctor --json | jq -r '.checks[].command // empty'

The command changes nothing. Each check reports fine, unknown (the system does not
expose the information, as is common on virtual machines), or advice: what to do,
why, and the command. Exit code 0 if there is no advice, else 1. See docs/noise.md.";

/// Returns the checks for people: a line each, with advice and command below.
fn text(checks: &[Check]) -> String {
    let rows = checks
        .iter()
        .map(|check| vec![word(check.state).to_owned(), check.kind.name().to_owned(), check.found.clone()]);
    let lines = table(&rows.collect::<Vec<_>>());
    let mut text = String::new();
    for (line, check) in lines.lines().zip(checks) {
        text.push_str(line);
        text.push('\n');
        for more in check.advice.into_iter().chain(check.command.as_deref()) {
            text.push_str(&format!("           {more}\n"));
        }
    }
    let advised = checks.iter().filter(|check| check.state == Fitness::Advice).count();
    text.push_str(&match advised {
        0 => "nothing to mend\n".to_owned(),
        count => format!("advice on {count} of {} checks\n", checks.len()),
    });
    text
}

fn word(state: Fitness) -> &'static str {
    match state {
        Fitness::Fine => "fine",
        Fitness::Advice => "advice",
        Fitness::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use proctor_noise::doctor::CheckKind;

    use super::*;

    #[test]
    fn advice_stands_below_its_check() {
        let check = |kind, state| Check { kind, state, found: "so".to_owned(), advice: None, command: None };
        let swap = Check {
            advice: Some("because"),
            command: Some("sudo swapoff -a".to_owned()),
            ..check(CheckKind::Swap, Fitness::Advice)
        };
        let checks =
            [check(CheckKind::Governor, Fitness::Unknown), swap, check(CheckKind::Rapl, Fitness::Fine)];
        let expected = "  unknown  governor  so
  advice   swap      so
           because
           sudo swapoff -a
  fine     RAPL      so
advice on 1 of 3 checks
";
        assert_eq!(text(&checks), expected);
        assert!(text(&checks[2..]).ends_with("nothing to mend\n"));
    }
}
