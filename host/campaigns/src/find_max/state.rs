//! Reads and writes `probes.json`: the state of a search, saved after each probe and full run, for resuming.

use std::{collections::BTreeMap, io};

use proctor_config::Settings;
use proctor_results::{CurvePoint, FullRun, SCHEMA_VERSION, file_names::PROBES};
use proctor_search::{Search, SearchEnd};
use proctor_vocabulary::open_regular;
use proctor_words::{FolderError, HostError, RunFolder, SearchError, write_json};
use serde::{Deserialize, Serialize};

use super::plan::SearchPlan;

/// A search, with its presentation for people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    schema_version: u32,
    /// Every setting that a probe depends on.
    settings: BTreeMap<String, String>,
    pub(crate) search: Search,
    /// A point for each probe and full run, in execution order.
    pub(crate) curve: Vec<CurvePoint>,
    /// The full runs, without whether they met the constraints: `search` has that.
    pub(crate) full_runs: Vec<FullRun>,
    /// Ends of processes of the plugin, in words.
    #[serde(default)]
    pub(crate) ends: Vec<String>,
    /// Findings for which no load counts.
    #[serde(default)]
    pub(crate) objections: Vec<String>,
    /// Reasons of the first probe whose samples failed or lacked their tokens, in words.
    #[serde(default)]
    pub(crate) causes: Vec<String>,
}

impl State {
    /// Creates a search before its first probe.
    pub(crate) fn new(plan: &SearchPlan, settings: &Settings) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            settings: deciding(plan, settings),
            search: Search::new(plan.search.clone()),
            curve: Vec::new(),
            full_runs: Vec::new(),
            ends: Vec::new(),
            objections: Vec::new(),
            causes: Vec::new(),
        }
    }

    /// Reads the state that an interrupted search with the same settings has left in a folder.
    ///
    /// # Errors
    /// [`HostError::Folder`] if there is no such file, [`HostError::Search`] if the settings differ.
    pub(crate) fn resume(
        folder: &RunFolder,
        plan: &SearchPlan,
        settings: &Settings,
    ) -> Result<Self, HostError> {
        let path = folder.path(PROBES);
        let unreadable = |cause| FolderError::Unreadable { path: path.clone(), cause };
        let text = open_regular(&path).and_then(io::read_to_string);
        let text = text.map_err(|error| unreadable(error.into()))?;
        let state: Self = serde_json::from_str(&text).map_err(|error| unreadable(error.into()))?;
        if state.schema_version != SCHEMA_VERSION {
            let (version, known) = (state.schema_version, SCHEMA_VERSION);
            return Err(FolderError::OtherVersion { path, version, known }.into());
        }
        let wanted = deciding(plan, settings);
        let keys = state.settings.keys().chain(wanted.keys());
        let unset = "unset".to_owned();
        for key in keys {
            let (before, now) =
                (state.settings.get(key).unwrap_or(&unset), wanted.get(key).unwrap_or(&unset));
            if before != now {
                let (folder, key) = (folder.partial().to_owned(), key.clone());
                let (before, now) = (before.clone(), now.clone());
                return Err(SearchError::Resumed { folder, key, before, now }.into());
            }
        }
        Ok(state)
    }

    /// Returns the full runs, each with whether it met the constraints of the search.
    pub(crate) fn judged_full_runs(&self) -> impl Iterator<Item = (&FullRun, bool)> {
        let met = self.search.confirmations.iter().map(|confirmation| confirmation.is_valid);
        self.full_runs.iter().zip(met)
    }

    /// Returns the effective end of the search: with objections, no load is found.
    pub(crate) fn judged(&self, end: SearchEnd) -> SearchEnd {
        match end {
            SearchEnd::Found { load, .. } if !self.objections.is_empty() => SearchEnd::NotConfirmed { load },
            end => end,
        }
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// [`HostError::Output`].
    pub(crate) fn save(&self, folder: &RunFolder) -> Result<(), HostError> {
        write_json(&folder.path(PROBES), self)
    }
}

/// Returns the settings on which the probes depend, including the search's own.
fn deciding(plan: &SearchPlan, settings: &Settings) -> BTreeMap<String, String> {
    // The place of the results and their display make no difference here.
    let without =
        ["output_folder", "cache_folder", "mode", "copy_summary_to_stdout", "copy_detail_to_stdout"];
    let of_run = settings.effective.iter().filter(|(key, _)| !without.contains(&key.as_str()));
    let search = &plan.search;
    let bounds: Vec<_> =
        plan.bounds.iter().map(|bound| format!("{} {} ns", bound.what.name(), bound.bound_ns)).collect();
    let resolution = match search.axis {
        proctor_search::Axis::Rate { resolution } => resolution.to_string(),
        proctor_search::Axis::Count => "1 sample".to_owned(),
    };
    let of_search = [
        ("--resolution", resolution),
        ("--from", search.from.to_string()),
        ("--to", search.to.to_string()),
        ("--confirm-runs", search.confirm_runs.to_string()),
        ("--max-error-share", plan.error_share.to_string()),
        ("bounds", bounds.join(", ")),
    ];
    let of_search = of_search.map(|(key, value)| (key.to_owned(), value));
    of_run.map(|(key, effective)| (key.clone(), effective.value.to_string())).chain(of_search).collect()
}
