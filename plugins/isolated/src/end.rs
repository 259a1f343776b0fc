//! The end of a process, in words.

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};

/// Names of the signals that end a process.
const SIGNALS: [(i32, &str); 14] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (31, "SIGSYS"),
];

/// Exit code with which the other process ends after it has reported a crash.
const REPORTED: i32 = 70;

/// Describes the end of a process, its calls, and its own report.
pub(crate) fn describe(status: ExitStatus, calls: &[String], report: &str) -> String {
    let calls = match calls {
        [] => " while it was in no call".to_owned(),
        calls => format!(" in {}", calls.join(" and in ")),
    };
    let report = report.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    if status.code() == Some(REPORTED) && !report.is_empty() {
        return format!("its process has ended: {report}");
    }
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("its process has ended by itself with exit code {code}{calls}"),
        (None, Some(9)) => {
            format!("its process was ended by SIGKILL{calls}, as the system does where memory runs out")
        }
        (None, Some(signal)) => {
            let name = SIGNALS.iter().find(|(number, _)| *number == signal);
            let name = name.map_or_else(|| format!("signal {signal}"), |(_, name)| (*name).to_owned());
            format!("its process was ended by {name}{calls}")
        }
        (None, None) => format!("its process has ended{calls}"),
    };
    if report.is_empty() { how } else { format!("{how}: {report}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_names_the_signal_and_the_call() {
        let execute = ["execute, instance 0".to_owned()];
        for (raw, report, text) in [
            (11, "", "its process was ended by SIGSEGV in execute, instance 0"),
            (64, "", "its process was ended by signal 64 in execute, instance 0"),
            (0, "", "its process has ended by itself with exit code 0 in execute, instance 0"),
            (70 << 8, "", "its process has ended by itself with exit code 70 in execute, instance 0"),
            (
                70 << 8,
                "plugin p crashed with SIGSEGV in execute\nmeanwhile plugin p was at work in issue\n",
                "its process has ended: plugin p crashed with SIGSEGV in execute; meanwhile plugin p was at work in \
                 issue",
            ),
        ] {
            assert_eq!(describe(ExitStatus::from_raw(raw), &execute, report), text);
        }
        let killed = describe(ExitStatus::from_raw(9), &[], "");
        assert_eq!(
            killed,
            "its process was ended by SIGKILL while it was in no call, as the system does where memory runs out"
        );
    }
}
