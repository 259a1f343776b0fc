//! Findings that invalidate all results of a campaign: random weights, answers within reach of the plugin, and changes
//! of the host's process. Each is kept once, in words, since it may come from a part of a resumed campaign.

use proctor_loadgen::Finding;

/// Takes note of a finding. Returns whether it is a new one.
pub(crate) fn add(objections: &mut Vec<String>, finding: &Finding) -> bool {
    let objection = finding.what();
    let is_new = !objections.contains(&objection);
    objections.extend(is_new.then_some(objection));
    is_new
}

/// Returns the objections that are not among these findings.
pub(crate) fn besides(objections: &[String], findings: &[&Finding]) -> Vec<String> {
    let known: Vec<_> = findings.iter().map(|finding| finding.what()).collect();
    objections.iter().filter(|objection| !known.contains(objection)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use proctor_bed::{Fault, HostPart};

    use super::*;

    #[test]
    fn an_objection_is_told_once_and_not_beside_the_same_finding_of_a_test() {
        let exposed = Finding::of_run(Fault::Exposed("it could read the answers".to_owned()));
        let change = Fault::HostChanged { plugin: "p".to_owned(), part: HostPart::Limits };
        let of_test = Finding::of_caller(change.clone(), Some("leave it as it is"));
        let mut objections = Vec::new();
        assert!(add(&mut objections, &exposed) && add(&mut objections, &of_test));
        assert!(!add(&mut objections, &Finding::of_run(change)), "it is the same, of the run");
        assert_eq!(objections, [exposed.what(), of_test.what()]);
        assert_eq!(besides(&objections, &[&of_test]), [exposed.what()]);
    }
}
