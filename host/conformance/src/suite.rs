//! The suite: runs the cases one after another, and collects their results.

use std::{
    io,
    time::{Duration, Instant},
};

use proctor_config::ConfigErrors;
use proctor_plugin_host::{PluginHostError, SearchPath};
use proctor_vocabulary::did_you_mean;

use crate::{
    case::Case,
    cases::cases,
    messages::{Assignment, FoundModel, PluginFacts, Reply, Task},
    process::{self, Program},
    report::{CaseResult, Outcome, Report},
    request::Request,
};

/// Time limit of a case unless the caller sets another; a plugin that reports progress may take longer.
const LIMIT: Duration = Duration::from_secs(30);

/// A suite for a plugin.
#[derive(Debug, Clone)]
pub struct Suite {
    request: Request,
    patterns: Vec<String>,
    limit: Duration,
    program: Program,
}

/// Reason why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// Settings are wrong.
    #[error(transparent)]
    Settings(#[from] ConfigErrors),
    /// The plugin does not exist.
    #[error(transparent)]
    Plugin(#[from] PluginHostError),
    /// The request makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A process cannot be started, or its folder not be made.
    #[error("cannot start a case in a process of its own")]
    Process(#[from] io::Error),
}

impl Suite {
    /// Returns all cases for a plugin, in processes of the running program, which has to call [`serve`](crate::serve())
    /// first.
    ///
    /// # Errors
    /// If the system does not report where the program is.
    pub fn new(request: Request) -> Result<Self, SuiteError> {
        Ok(Self { request, patterns: Vec::new(), limit: LIMIT, program: Program::this()? })
    }

    /// Selects the cases whose name contains one of these texts; all cases if there are no texts.
    #[must_use]
    pub fn only(self, patterns: Vec<String>) -> Self {
        Self { patterns, ..self }
    }

    /// Sets another limit for the time of a case than 30 s.
    #[must_use]
    pub fn limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Sets the program for the processes, which calls [`serve`](crate::serve()).
    #[must_use]
    pub fn program(self, program: Program) -> Self {
        Self { program, ..self }
    }

    /// Runs the cases. Calls `begins` with each, its number from 1 and the number of cases.
    ///
    /// # Errors
    /// If there is no report; a plugin that cannot be loaded still has one.
    pub fn run(&self, begins: &mut dyn FnMut(&Case, usize, usize)) -> Result<Report, SuiteError> {
        let chosen = self.chosen()?;
        let request = self.absolute_request()?;
        let folder = tempfile::Builder::new().prefix("proctor-validate-").tempdir()?;
        let begin = Instant::now();
        let assignment = |task, name: &str| {
            let folder = folder.path().join(name.replace('/', "-"));
            let limit_ms = u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX);
            Assignment { task, request: request.clone(), folder, limit_ms }
        };
        let (plugin, model) = match process::run(&self.program, &assignment(Task::Look, "look"))?.reply {
            Ok(Reply::Looked { usage: Some(usage), .. }) => return Err(SuiteError::Usage(usage)),
            Ok(Reply::Looked { plugin, model, .. }) => (Some(plugin), model),
            // A case says why.
            _ => (None, None),
        };
        self.check_benchmark(plugin.as_ref(), model.as_ref())?;
        let mut report = Report { plugin, model, results: Vec::new(), seconds: 0.0 };
        for (position, case) in chosen.iter().enumerate() {
            begins(case, position + 1, chosen.len());
            let result = match unmet_need(case, &report.results) {
                Some(reason) => {
                    CaseResult { case, outcome: Outcome::Skip, reason, output: String::new(), seconds: 0.0 }
                }
                None => {
                    let task = Task::Case { name: case.name.to_owned(), model: report.model.clone() };
                    let begin = Instant::now();
                    let finished = process::run(&self.program, &assignment(task, case.name))?;
                    result_of(case, finished, begin.elapsed())
                }
            };
            report.results.push(result);
        }
        report.seconds = begin.elapsed().as_secs_f64();
        Ok(report)
    }

    fn chosen(&self) -> Result<Vec<&'static Case>, SuiteError> {
        for pattern in &self.patterns {
            if !cases().any(|case| case.name.contains(pattern)) {
                let hint = did_you_mean(pattern, cases().map(|case| case.name));
                return Err(SuiteError::Usage(format!(
                    "no case has {pattern:?} in its name{hint}; see --list"
                )));
            }
        }
        let is_chosen = |case: &&Case| {
            self.patterns.is_empty() || self.patterns.iter().any(|pattern| case.name.contains(pattern))
        };
        Ok(cases().filter(is_chosen).collect())
    }

    /// Returns the request with absolute paths: the settings are read again by each process.
    fn absolute_request(&self) -> Result<Request, SuiteError> {
        let settings = self.request.settings(None, None)?;
        let location = SearchPath::standard(&settings.run.plugin_path).find(&settings.run.plugin)?;
        let plugin = match location {
            proctor_plugin_host::PluginLocation::Linked(name) => name.to_owned(),
            file => file.to_string(),
        };
        Ok(Request { plugin, ..self.request.clone() })
    }

    /// Refuses a benchmark that the user has named and the plugin does not declare.
    fn check_benchmark(
        &self,
        plugin: Option<&PluginFacts>,
        model: Option<&FoundModel>,
    ) -> Result<(), SuiteError> {
        match (plugin, &self.request.benchmark, model) {
            (Some(plugin), Some(benchmark), None) => Err(SuiteError::Usage(format!(
                "plugin {} declares no model, format and precision that benchmark {benchmark} comes in; `host describe` \
                 shows what it declares",
                plugin.name
            ))),
            _ => Ok(()),
        }
    }
}

/// Returns why a case is inconclusive, if a prerequisite has not passed.
fn unmet_need(case: &Case, results: &[CaseResult]) -> Option<String> {
    let needed = results.iter().find(|result| result.case.name == case.needs)?;
    match needed.outcome {
        Outcome::Pass => None,
        Outcome::Skip => Some(needed.reason.clone()),
        Outcome::Fail | Outcome::Crash => Some(format!("{} did not pass", needed.case.name)),
    }
}

fn result_of(case: &'static Case, finished: process::Finished, time: Duration) -> CaseResult {
    let seconds = time.as_secs_f64();
    let (outcome, reason) = match finished.reply {
        Ok(Reply::Passed) => (Outcome::Pass, String::new()),
        Ok(Reply::Skipped { reason }) => (Outcome::Skip, reason),
        Ok(Reply::Failed { reason }) => (Outcome::Fail, reason),
        Ok(Reply::Looked { .. }) => (Outcome::Crash, "the process of the case made none".to_owned()),
        Err(end) => (Outcome::Crash, end),
    };
    let is_shown = matches!(outcome, Outcome::Fail | Outcome::Crash);
    let output = if is_shown { finished.output } else { String::new() };
    CaseResult { case, outcome, reason, output, seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(patterns: &[&str]) -> Suite {
        let request = Request { plugin: "mock".to_owned(), ..Request::default() };
        Suite::new(request).unwrap().only(patterns.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn patterns_choose_by_a_part_of_the_name() {
        assert_eq!(suite(&[]).chosen().unwrap().len(), cases().count());
        let chosen = suite(&["manifest/", "open-and"]).chosen().unwrap();
        assert!(chosen.len() > 3 && chosen.iter().any(|case| case.name == "lifecycle/open-and-close"));
        let error = suite(&["manifest/is-sonud"]).chosen().unwrap_err().to_string();
        assert!(error.contains("did you mean \"manifest/is-sound\"?"), "{error}");
    }

    #[test]
    fn a_case_is_left_out_where_one_that_it_needs_has_not_passed() {
        let case = cases().find(|case| !case.needs.is_empty()).unwrap();
        let needed = cases().find(|other| other.name == case.needs).unwrap();
        let result = |outcome, reason: &str| CaseResult {
            case: needed,
            outcome,
            reason: reason.to_owned(),
            output: String::new(),
            seconds: 0.0,
        };
        assert_eq!(unmet_need(case, &[]), None);
        assert_eq!(unmet_need(case, &[result(Outcome::Pass, "")]), None);
        assert_eq!(unmet_need(case, &[result(Outcome::Skip, "no device")]).as_deref(), Some("no device"));
        let crashed = unmet_need(case, &[result(Outcome::Crash, "boom")]);
        assert_eq!(crashed, Some(format!("{} did not pass", needed.name)));
    }
}
