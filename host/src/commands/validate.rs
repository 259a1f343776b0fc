//! `host validate`: the conformance suite of plugins, and its report.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use proctor_conformance::{Case, Report, Request, Suite, SuiteError, cases};
use proctor_display::{Steps, print};
use proctor_words::{Conclusion, HostError, text::table};

use crate::values::duration_ms;

/// Flags of `host validate`.
#[derive(Debug, Args)]
pub(crate) struct ValidateFlags {
    /// Name of a plugin, or path to its library
    #[arg(required_unless_present = "list")]
    pub(super) plugin: Option<String>,
    /// Benchmark whose model the plugin runs [default: a small built-in one that the plugin declares]
    #[arg(long, value_name = "NAME|PATH")]
    benchmark: Option<String>,
    /// Precision to compute in [default: the plugin's first for the model]
    #[arg(long)]
    precision: Option<String>,
    /// Folder with the data sets and models
    #[arg(long, value_name = "FOLDER")]
    data_root: Option<PathBuf>,
    /// Set any setting, or a plugin option as PLUGIN.OPTION; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Run only the cases whose name contains this; may be repeated
    #[arg(long = "case", value_name = "PATTERN")]
    cases: Vec<String>,
    /// Time limit per case: 30 (seconds), 500ms, 2m
    #[arg(long, value_name = "TIME", value_parser = duration_ms, default_value = "30s")]
    limit: u64,
    /// Format of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// List the cases and run none
    #[arg(long)]
    list: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Readable text.
    Text,
    /// JSON.
    Json,
    /// JUnit XML, for CI systems.
    Junit,
}

impl ValidateFlags {
    /// Runs the cases, and prints the report.
    ///
    /// # Errors
    /// If there is no such plugin, benchmark or case, or a setting is wrong.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        let Some(plugin) = self.plugin.as_ref().filter(|_| !self.list) else {
            print(list());
            return Ok(Conclusion::Good);
        };
        let request = Request {
            plugin: plugin.clone(),
            benchmark: self.benchmark.clone(),
            precision: self.precision.clone(),
            data_root: self.data_root.clone(),
            set: self.set.clone(),
        };
        let report = self.validate(request).map_err(host_error)?;
        print(match self.format {
            Format::Text => report.text(),
            Format::Json => format!("{:#}\n", report.json()),
            Format::Junit => report.junit(),
        });
        Ok(if report.is_good() { Conclusion::Good } else { Conclusion::Bad })
    }

    fn validate(&self, request: Request) -> Result<Report, SuiteError> {
        let suite = Suite::new(request)?.only(self.cases.clone()).limit(Duration::from_millis(self.limit));
        let mut steps = None;
        let report = suite.run(&mut |case: &Case, _, count| {
            steps.get_or_insert_with(|| Steps::start(count)).next(case.name);
        });
        if let Some(steps) = steps {
            steps.stop();
        }
        report
    }
}

pub(super) const VALIDATE_HELP: &str = "\
Examples:
  host validate mock
  host validate ./libmine_sut.so --benchmark resnet50-generated
  host validate mock --case batches/ --set mock.in_flight=4
  host validate mock --format junit > junit.xml
  host validate --list

Each case runs in its own process: a plugin that crashes or hangs fails only that
case. A case ends in PASS, FAIL, SKIP (the plugin does not declare the feature) or
CRASH. Exit code 0 if nothing failed or crashed, else 1. Progress goes to stderr.
See docs/validate.md.";

/// Returns the cases with their subjects.
fn list() -> String {
    table(&cases().map(|case| vec![case.name.to_owned(), case.about.to_owned()]).collect::<Vec<_>>())
}

fn host_error(error: SuiteError) -> HostError {
    match error {
        SuiteError::Settings(errors) => HostError::Settings(errors),
        SuiteError::Plugin(error) => HostError::Plugin(error),
        other => HostError::usage(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_case_with_its_subject() {
        let list = list();
        assert_eq!(list.lines().count(), cases().count());
        assert!(list.contains("  lifecycle/open-and-close"), "{list}");
    }
}
