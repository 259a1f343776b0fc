//! Findings that invalidate all results of a campaign.

use std::fmt;

use proctor_loadgen::Finding;
use serde::{Deserialize, Serialize};

/// Random weights, answers within reach of the plugin, and changes of the host's process, each once, in words, since
/// they may come from a part of a resumed campaign. Displays as one text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Objections(Vec<String>);

impl Objections {
    /// Takes note of a finding. Returns whether it is a new one.
    pub(crate) fn add(&mut self, finding: &Finding) -> bool {
        let objection = finding.what();
        let is_new = !self.0.contains(&objection);
        self.0.extend(is_new.then_some(objection));
        is_new
    }

    /// Returns whether there is no objection to the result.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the objections that are not among these findings.
    pub(crate) fn besides(&self, findings: &[&Finding]) -> Vec<String> {
        let known: Vec<_> = findings.iter().map(|finding| finding.what()).collect();
        self.0.iter().filter(|objection| !known.contains(objection)).cloned().collect()
    }
}

impl fmt::Display for Objections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use proctor_bed::{Fault, HostPart};
    use serde_json::json;

    use super::*;

    #[test]
    fn an_objection_is_told_once_and_not_beside_the_same_finding_of_a_test() {
        let exposed = Finding::of_run(Fault::Exposed("it could read the answers".to_owned()));
        let change = Fault::HostChanged { plugin: "p".to_owned(), part: HostPart::Limits };
        let of_test = Finding::of_caller(change.clone(), Some("leave it as it is"));
        let mut objections = Objections::default();
        assert!(objections.add(&exposed) && objections.add(&of_test));
        assert!(!objections.add(&Finding::of_run(change)), "it is the same, of the run");
        assert_eq!(objections.to_string(), format!("{exposed}; {}", of_test.what()));
        assert_eq!(objections.besides(&[&of_test]), [exposed.what()]);
        let file = serde_json::to_value(&objections).unwrap();
        assert_eq!(file, json!([exposed.what(), of_test.what()]));
        assert_eq!(serde_json::from_value::<Objections>(file).unwrap(), objections);
    }
}
