//! A row of the table: a call, a way, a dispatch, and what comes of it.

use std::fs;

use proctor_tests::Run;

use crate::plugins::wayward::Wayward;

/// Who forms the batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dispatch {
    /// The host, for `execute`.
    Batches,
    /// The plugin, from whole queries.
    Queries,
}

/// How the host ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The host says why it cannot use the plugin.
    Refused,
    /// The watchdog names the call.
    Hangs,
    /// The report names the call.
    Down,
    /// The run is whole, and INVALID for the reason.
    Invalid,
    /// As `Invalid`, after a wait for a sample that is not completed.
    Waits,
    /// The run has no test, or one without a query, and is INVALID for the reason.
    Untested,
    /// The host has undone it, and says so.
    PutRight,
}

/// The tests of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tests {
    Performance,
    Accuracy,
    /// It goes astray when all samples of the accuracy run have completed.
    Both,
}

/// A way in which a plugin goes astray, and what the host makes of it.
#[derive(Debug, Clone)]
pub(super) struct Row {
    call: String,
    way: String,
    dispatch: Dispatch,
    outcome: Outcome,
    /// Texts that the host says.
    says: Vec<String>,
    /// Further flags of the run.
    flags: &'static str,
    tests: Tests,
}

/// The host's limit of a call that hangs, in ms: far more than the plugin takes for all of its calls.
const WATCHDOG_MS: u32 = 1000;

/// Calls after the last sample that may come before anything is written, which is waited for.
const EARLY: [&str; 2] = ["flush", "end_thread"];

/// Calls that come when what was measured is written.
const LATE: [&str; 5] = ["stop", "release_samples", "destroy_instance", "unload_model", "close"];

/// Calls at the end of the accuracy run, for which its result is kept; later ones have a number.
const WITH_SCORE: [&str; 4] = ["end_thread", "flush", "stop", "release_samples"];

impl Row {
    pub(super) fn new(call: &str, way: &str, dispatch: Dispatch, outcome: Outcome, says: &[&str]) -> Self {
        Self {
            call: call.to_owned(),
            way: way.to_owned(),
            dispatch,
            outcome,
            says: says.iter().map(|text| (*text).to_owned()).collect(),
            flags: "",
            tests: Tests::Performance,
        }
    }

    /// A call that does not return, by its number, for which the watchdog ends the program. `task` is what it was asked
    /// to do.
    pub(super) fn hang(call: &str, dispatch: Dispatch, task: &str) -> Self {
        let says =
            format!("hangs: it was asked to {task}, and did not return within watchdog_ms = {WATCHDOG_MS}");
        Self::new(call, "hang", dispatch, Outcome::Hangs, &[&says])
    }

    /// As [`new`](Self::new), of a plugin that has a process of its own.
    pub(super) fn isolated(
        call: &str,
        way: &str,
        dispatch: Dispatch,
        outcome: Outcome,
        says: &[&str],
    ) -> Self {
        Self::new(call, way, dispatch, outcome, says).with("--isolate")
    }

    /// As [`hang`](Self::hang), of a plugin that has a process of its own, which is ended.
    pub(super) fn isolated_hang(call: &str, dispatch: Dispatch, outcome: Outcome, task: &str) -> Self {
        let says = Self::hang(call, dispatch, task).says;
        let says = ["its process was ended by SIGKILL", &says[0]];
        Self::isolated(call, "hang", dispatch, outcome, &says)
    }

    pub(super) fn with(self, flags: &'static str) -> Self {
        Self { flags, ..self }
    }

    /// In a run of these tests.
    pub(super) fn in_tests(self, tests: Tests) -> Self {
        Self { tests, ..self }
    }

    /// The row in words; no other has the same.
    pub(super) fn title(&self) -> String {
        let Self { call, way, dispatch, flags, tests, .. } = self;
        format!("{call} {way} ({dispatch:?}, {tests:?}) {flags}")
    }

    /// Its call with its dispatch and its outcome, and its way.
    pub(super) fn kinds(&self) -> Vec<String> {
        let Self { way, dispatch, outcome, .. } = self;
        vec![format!("{} {dispatch:?} {outcome:?}", self.name_of_call()), format!("way {way}")]
    }

    pub(super) fn is_put_right(&self) -> bool {
        self.outcome == Outcome::PutRight
    }

    pub(super) fn is_of(&self, call: &str, dispatch: Dispatch) -> bool {
        self.name_of_call() == call && self.dispatch == dispatch
    }

    /// The call without its number.
    fn name_of_call(&self) -> &str {
        self.call.split(':').next().unwrap_or_default()
    }

    /// Whether all samples have completed when it happens, so that there is a result to keep.
    fn is_after_the_test(&self) -> bool {
        // The first reading is before the test.
        if self.call == "energy:2" {
            return true;
        }
        if EARLY.contains(&self.name_of_call()) {
            // After an end without a message, no process is left to write.
            return !self.way.starts_with("_exit");
        }
        LATE.contains(&self.name_of_call())
    }

    /// Whether the accuracy run is scored when it happens.
    fn must_have_score(&self) -> bool {
        self.outcome == Outcome::Down && WITH_SCORE.contains(&self.call.as_str())
    }

    /// Runs it; the error says what does not hold.
    pub(super) fn check(&self, wayward: &Wayward) -> Result<(), String> {
        let (astray, flags) = (format!("{} {}", self.call, self.way), self.flags());
        let run = match self.tests {
            Tests::Performance => wayward.run(&astray, &flags),
            Tests::Accuracy => wayward.run_accuracy(&astray, &flags),
            Tests::Both => wayward.run_both(&astray, &flags),
        };
        let problem = self.problem(&run);
        problem.map_or(Ok(()), |problem| Err(format!("*** {}: {problem}: {}", self.title(), run.finished)))
    }

    fn flags(&self) -> String {
        let issue = self.dispatch == Dispatch::Queries;
        let mut flags = format!("--set issue={issue} {}", self.flags);
        if self.way == "hang" || matches!(self.outcome, Outcome::Hangs | Outcome::Waits) {
            flags += &format!(" --set watchdog_ms={WATCHDOG_MS}");
        }
        if self.call != "warm_up" {
            // So that a call has the same number in both ways of dispatch.
            flags += " --set warm_up_batches=0";
        }
        flags
    }

    /// The first thing that does not hold.
    fn problem(&self, run: &Run) -> Option<String> {
        let code = match self.outcome {
            Outcome::Refused | Outcome::Hangs => 3,
            Outcome::Down => 70,
            Outcome::Invalid | Outcome::Waits | Outcome::Untested => 1,
            Outcome::PutRight => 0,
        };
        if run.finished.code() != code {
            return Some(format!("exit code {} instead of {code}", run.finished.code()));
        }
        let said = run.find_result().map_or_else(String::new, |_| run.reasons()) + &run.finished.stderr;
        if let Some(text) = self.says.iter().find(|text| !said.contains(text.as_str())) {
            return Some(format!("it does not say \"{text}\""));
        }
        // An exception of the plugin ends at the boundary, and does not unwind through the host.
        if run.finished.stderr.contains("panicked at") {
            return Some("the host has panicked".to_owned());
        }
        if !said.contains("wayward") && !run.finished.stdout.contains("wayward") {
            return Some("it does not name the plugin".to_owned());
        }
        if self.outcome == Outcome::Refused && self.flags.contains("--isolate") && run.folder().exists() {
            return Some("a folder without anything is left".to_owned());
        }
        if self.outcome == Outcome::Down && said.contains("did not return") {
            return Some("it takes the end of the program for a hang".to_owned());
        }
        if self.way.contains("hang") && said.contains("after the end of their phase") {
            return Some("it takes what the host gave up for a late answer".to_owned());
        }
        if self.is_put_right() {
            let is_valid = run.find_result().is_some_and(|result| result["verdict"]["valid"] == true);
            return (!is_valid || run.finished.stdout.contains("says the plugin"))
                .then(|| "not put right".to_owned());
        }
        self.something_valid(run).or_else(|| self.something_lost(run))
    }

    /// Where something is called VALID.
    fn something_valid(&self, run: &Run) -> Option<String> {
        let is_verdict = |line: &str| line.trim_start().starts_with("verdict");
        if run.finished.stdout.lines().any(|line| is_verdict(line) && !line.contains("INVALID")) {
            return Some("VALID on stdout".to_owned());
        }
        if run.find_result().is_some_and(|result| result["verdict"]["valid"] != false) {
            return Some("VALID in result.json".to_owned());
        }
        let summary = run.find_text("mlperf_log_summary.txt").unwrap_or_default();
        // The fault of an accuracy run is no fault of the performance run after it.
        let is_wrong = summary.contains("Result is : VALID") && self.tests != Tests::Both;
        is_wrong.then(|| format!("VALID in {summary}"))
    }

    /// The loss of what was measured in a test that had finished.
    fn something_lost(&self, run: &Run) -> Option<String> {
        if self.tests == Tests::Both {
            return self.accuracy_lost(run);
        }
        if self.outcome == Outcome::Untested {
            return run.find_result().is_none().then(|| "result.json is lost".to_owned());
        }
        let is_kept = matches!(self.outcome, Outcome::Invalid | Outcome::Waits) || self.is_after_the_test();
        if !is_kept {
            return None;
        }
        let Some(result) = run.find_result() else { return Some("result.json is lost".to_owned()) };
        let has_samples = fs::metadata(run.folder().join("samples.bin")).is_ok_and(|file| file.len() > 0);
        // The metric is withheld where samples were not answered.
        if !result["performance_run"]["figures"]["query_latency"]["count"].is_number() || !has_samples {
            return Some("the figures are lost".to_owned());
        }
        let text = |name| run.find_text(name).unwrap_or_default();
        if !text("mlperf_log_summary.txt").contains("Result is : INVALID")
            || text("mlperf_log_detail.txt").is_empty()
        {
            return Some("the logs are lost".to_owned());
        }
        shown_otherwise_than_once(run)
    }

    /// The loss of what was measured in an accuracy run that had finished.
    fn accuracy_lost(&self, run: &Run) -> Option<String> {
        let log = run.find_text("accuracy/mlperf_log_accuracy.json").unwrap_or_default();
        if !log.ends_with("]\n") || log.matches("\"seq_id\"").count() != 600 {
            return Some("the log of the accuracy run is lost".to_owned());
        }
        if !self.must_have_score() {
            return None;
        }
        let has_score = run.find_result().is_some_and(|result| result["accuracy"]["value"].is_number());
        if !has_score {
            return Some("the accuracy is lost".to_owned());
        }
        shown_otherwise_than_once(run)
    }
}

/// Says how often the verdict is shown, unless it is once.
fn shown_otherwise_than_once(run: &Run) -> Option<String> {
    let shown = run.finished.stdout.matches("  verdict     INVALID").count();
    (shown != 1).then(|| format!("the verdict is shown {shown} times"))
}
