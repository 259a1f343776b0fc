//! `host list`: plugins, benchmarks, data sets, pipelines, metrics, policies; the benchmarks of a round; runs.

mod runs;
mod suites;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use proctor_accuracy::{MetricEntry, metric_entries};
use proctor_config::{Loader, SuiteBenchmark, benchmark_families, benchmarks};
use proctor_datasets::dataset_entries;
use proctor_plugin_host::{PluginLocation, SearchPath};
use proctor_preprocess::{Preprocessing, pipeline_names};
use proctor_scaling::POLICIES;
use proctor_scheduler::policies;
use proctor_vocabulary::did_you_mean;

use proctor_words::{HostError, UsageError, text};

/// Kinds of things that can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListKind {
    Plugins,
    Benchmarks,
    Datasets,
    Pipelines,
    Metrics,
    Policies,
    Runs,
}

/// Kinds that are listed if none is named: only kinds that do not depend on the current folder.
const OF_THE_HOST: &[ListKind] = &[
    ListKind::Plugins,
    ListKind::Benchmarks,
    ListKind::Datasets,
    ListKind::Pipelines,
    ListKind::Metrics,
    ListKind::Policies,
];

pub(super) const LIST_HELP: &str = "\
Examples:
  host list
  host list plugins
  host list pipelines                                 what a benchmark may name as its preprocessing
  host list benchmarks --rules v5.0 --suite edge      what the round requires, and what runs here
  host list benchmarks --rules v0.5                   the first round, which has no suites
  host list runs                                      the runs in runs/, with their verdicts
  host list runs results/nightly";

#[derive(Debug, Args)]
pub(crate) struct ListFlags {
    /// Kind to list: plugins, benchmarks, datasets, pipelines, metrics, policies or runs [default: all but runs]
    #[arg(value_parser = list_kind)]
    kind: Option<ListKind>,
    /// With runs: folder to search [default: runs]
    folder: Option<PathBuf>,
    /// With benchmarks: show a round of the MLPerf rules, with scenarios, constraints, targets and QSL sizes
    #[arg(long, value_name = "ROUND")]
    rules: Option<String>,
    /// With benchmarks: show one suite of the round, datacenter or edge [default: all suites]
    #[arg(long, value_name = "SUITE")]
    suite: Option<String>,
}

impl ListFlags {
    /// Returns the text of the list.
    pub(super) fn list(&self) -> Result<String, HostError> {
        if self.folder.is_some() && self.kind != Some(ListKind::Runs) {
            return Err(UsageError::Stated("a folder is that of runs: write host list runs FOLDER").into());
        }
        match (self.kind, &self.rules, &self.suite) {
            (Some(ListKind::Runs), None, None) => runs::list(self.folder.as_deref()),
            (kind, None, None) => list(kind),
            (Some(ListKind::Benchmarks), rules, suite) => suites::list(rules.as_deref(), suite.as_deref()),
            _ => {
                let problem =
                    "--rules and --suite choose benchmarks: write host list benchmarks --rules ROUND";
                Err(UsageError::Stated(problem).into())
            }
        }
    }
}

/// Returns the kind of this name. Another word may be the folder of runs.
fn list_kind(word: &str) -> Result<ListKind, String> {
    ListKind::from_str(word, false).map_err(|_| {
        let known = ListKind::value_variants().iter().filter_map(ListKind::to_possible_value);
        let known: Vec<_> = known.map(|kind| kind.get_name().to_owned()).collect();
        let hint = did_you_mean(word, known.iter().map(String::as_str));
        format!(
            "there are {}{hint}; the runs below a folder are listed by `host list runs {word}`",
            known.join(", ")
        )
    })
}

/// Returns the list of one kind, or of all.
fn list(kind: Option<ListKind>) -> Result<String, HostError> {
    let kinds = kind.as_ref().map_or(OF_THE_HOST, std::slice::from_ref);
    let mut lists = Vec::new();
    for wanted in kinds {
        let (title, rows) = match wanted {
            ListKind::Plugins => ("Plugins (--plugin)", plugin_rows()?),
            ListKind::Benchmarks => ("Benchmarks (--benchmark)", benchmark_rows(kind.is_some())),
            ListKind::Datasets => ("Data sets", dataset_rows()),
            ListKind::Pipelines => ("Pipelines (preprocessing of a benchmark)", pipeline_rows()),
            ListKind::Metrics => ("Metrics (metric of a benchmark)", metric_rows()),
            ListKind::Policies => ("Policies of the scheduler (--policy)", policy_rows()),
            // They have a table of their own.
            ListKind::Runs => continue,
        };
        lists.push(format!("{title}\n{}", text::table(&rows)));
    }
    Ok(lists.join("\n"))
}

/// Returns the rows of the plugins, without loading them: a broken one must not hide the others.
fn plugin_rows() -> Result<Vec<Vec<String>>, HostError> {
    let settings = Loader::from_system().load()?;
    let found = SearchPath::standard(&settings.run.plugin_path).list();
    Ok(found.iter().map(|location| vec![location.name(), place_of(location)]).collect())
}

fn place_of(location: &PluginLocation) -> String {
    match location {
        PluginLocation::Linked(_) => "linked in".to_owned(),
        file => file.to_string(),
    }
}

/// Returns the rows of the benchmarks; with `in_full` also the members that a family lists.
fn benchmark_rows(in_full: bool) -> Vec<Vec<String>> {
    let row = |benchmark: &proctor_config::Benchmark| {
        let scenarios: Vec<_> = benchmark.scenarios.keys().map(|scenario| scenario.name()).collect();
        vec![benchmark.id.clone(), benchmark.description.clone(), scenarios.join(", "), size(benchmark)]
    };
    let mut rows: Vec<_> = benchmarks().map(row).collect();
    let row = |name: String, about: &str| vec![name, about.to_owned(), String::new()];
    for family in benchmark_families() {
        rows.push(row(family.pattern.to_owned(), family.help));
        if in_full {
            rows.extend((family.members)().into_iter().map(|(name, about)| row(name, about)));
        }
    }
    rows
}

/// Returns the size of the model of a benchmark that is one of the official suites, if known.
fn size(benchmark: &proctor_config::Benchmark) -> String {
    benchmark.suite_benchmark().map(SuiteBenchmark::size).unwrap_or_default()
}

fn dataset_rows() -> Vec<Vec<String>> {
    dataset_entries().iter().map(|entry| vec![entry.name.to_owned(), entry.about.to_owned()]).collect()
}

/// Returns the rows of the pipelines, whose code other programs may have.
fn pipeline_rows() -> Vec<Vec<String>> {
    let own = (Preprocessing::IMAGE, "picture, by the steps of the definition's table [image], as f32 or u8");
    let named = pipeline_names().into_iter().map(|pipeline| (pipeline.name, pipeline.about));
    [own].into_iter().chain(named).map(|(name, about)| vec![name.to_owned(), about.to_owned()]).collect()
}

fn metric_rows() -> Vec<Vec<String>> {
    let row = |it: &MetricEntry| {
        vec![it.name.to_owned(), it.about.to_owned(), format!("{}; {}", it.outputs, it.answers)]
    };
    metric_entries().into_iter().map(row).collect()
}

fn policy_rows() -> Vec<Vec<String>> {
    let forming = policies().into_iter().map(|policy| (policy.name, policy.help));
    let scaling = POLICIES.iter().map(|policy| (policy.name, policy.help));
    forming.chain(scaling).map(|(name, help)| vec![name.to_owned(), help.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_the_place_of_a_kind_is_shown_the_way() {
        assert_eq!(list_kind("runs"), Ok(ListKind::Runs));
        let error = list_kind("results/nightly").unwrap_err();
        assert_eq!(
            error,
            "there are plugins, benchmarks, datasets, pipelines, metrics, policies, runs; the runs below a folder are listed by \
             `host list runs results/nightly`"
        );
        assert!(list_kind("plugin").unwrap_err().contains(", did you mean \"plugins\"?"));
    }

    #[test]
    fn one_kind_or_all() {
        let policies = list(Some(ListKind::Policies)).unwrap();
        assert!(policies.starts_with("Policies of the scheduler (--policy)\n  "), "{policies}");
        assert!(policies.contains("\n  fixed  "), "{policies}");
        let all = list(None).unwrap();
        for name in [
            "cpu-rnn",
            "digits-lstm",
            "gnmt",
            "rnn-<cell>-",
            "digits-calibration",
            "size-or-timeout",
            "imagenet-vgg",
            "top1",
        ] {
            assert!(all.contains(&format!("\n  {name}")), "{name}: {all}");
        }
        let benchmarks = list(Some(ListKind::Benchmarks)).unwrap();
        let line = |id: &str| benchmarks.lines().find(|line| line.starts_with(&format!("  {id} "))).unwrap();
        for (id, size) in [
            ("mobilenet", "  4.2 M parameters, 1.138 GOPS per sample"),
            ("ssd-resnet34", "  36.3 M parameters, 433 GOPS per sample"),
            ("gnmt", "  210 M parameters"),
        ] {
            assert!(line(id).ends_with(size), "{id}: {benchmarks}");
        }
        assert!(line("bert").ends_with("Offline"), "no source has it: {benchmarks}");
        let members = benchmarks
            .lines()
            .filter(|line| line.trim_start().starts_with("rnn-") && line.contains("Table 1"));
        assert_eq!(members.count(), 30, "{benchmarks}");
    }
}
