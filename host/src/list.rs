//! `host list`: plugins, benchmarks, data sets, policies.

use proctor_config::{Loader, benchmarks};
use proctor_datasets::dataset_entries;
use proctor_plugin_host::{PluginLocation, SearchPath};
use proctor_scheduler::policies;

use crate::{cli::ListKind, exit::HostError, text};

/// The list of one kind, or of all.
pub(crate) fn list(kind: Option<ListKind>) -> Result<String, HostError> {
    const ALL: [ListKind; 4] =
        [ListKind::Plugins, ListKind::Benchmarks, ListKind::Datasets, ListKind::Policies];
    let kinds = kind.map_or(ALL.to_vec(), |kind| vec![kind]);
    let mut lists = Vec::new();
    for kind in kinds {
        let (title, rows) = match kind {
            ListKind::Plugins => ("Plugins (--plugin)", plugin_rows()?),
            ListKind::Benchmarks => ("Benchmarks (--benchmark)", benchmark_rows()),
            ListKind::Datasets => ("Data sets", dataset_rows()),
            ListKind::Policies => ("Policies of the scheduler (--policy)", policy_rows()),
        };
        lists.push(format!("{title}\n{}", text::table(&rows)));
    }
    Ok(lists.join("\n"))
}

/// Plugins are not loaded for it: one that is broken shall not keep the others from being listed.
fn plugin_rows() -> Result<Vec<Vec<String>>, HostError> {
    let settings = Loader::from_system().load()?;
    let found = SearchPath::standard(&settings.run.plugin_path).list();
    Ok(found.iter().map(|location| vec![location.name(), place_of(location)]).collect())
}

fn place_of(location: &PluginLocation) -> String {
    match location {
        PluginLocation::Linked(_) => "linked in".to_owned(),
        PluginLocation::Library(path) => path.display().to_string(),
    }
}

fn benchmark_rows() -> Vec<Vec<String>> {
    let row = |benchmark: &proctor_config::Benchmark| {
        let scenarios: Vec<_> = benchmark.scenarios.keys().map(|scenario| scenario.name()).collect();
        vec![benchmark.id.clone(), benchmark.description.clone(), scenarios.join(", ")]
    };
    benchmarks().iter().map(row).collect()
}

fn dataset_rows() -> Vec<Vec<String>> {
    dataset_entries().iter().map(|entry| vec![entry.name.to_owned()]).collect()
}

fn policy_rows() -> Vec<Vec<String>> {
    policies().iter().map(|policy| vec![policy.name.to_owned(), policy.help.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_kind_or_all() {
        let policies = list(Some(ListKind::Policies)).unwrap();
        assert!(policies.starts_with("Policies of the scheduler (--policy)\n  fixed  "), "{policies}");
        let all = list(None).unwrap();
        for name in ["cpu-rnn", "digits-lstm", "digits-calibration", "size-or-timeout"] {
            assert!(all.contains(&format!("\n  {name}")), "{name}: {all}");
        }
    }
}
