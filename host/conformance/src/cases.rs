//! The cases, a file for each group: its table, and a function for each.

mod batches;
mod cancel;
mod extensions;
mod lifecycle;
mod load;
mod manifest;
mod negotiation;
mod numerics;
mod options;
mod order;
mod process;
mod queries;
mod resources;
mod scenarios;
mod services;

use crate::case::Case;

/// Groups in execution order: prerequisites come first.
const GROUPS: [&[Case]; 15] = [
    load::CASES,
    manifest::CASES,
    negotiation::CASES,
    options::CASES,
    lifecycle::CASES,
    batches::CASES,
    queries::CASES,
    scenarios::CASES,
    numerics::CASES,
    extensions::CASES,
    services::CASES,
    cancel::CASES,
    order::CASES,
    process::CASES,
    resources::CASES,
];

/// Returns all cases of the suite, in execution order.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    GROUPS.iter().copied().flatten()
}

pub(crate) fn find_case(name: &str) -> Option<&'static Case> {
    cases().find(|case| case.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_case_has_a_name_of_its_own_and_all_its_words() {
        let names: BTreeSet<_> = cases().map(|case| case.name).collect();
        assert_eq!(names.len(), cases().count());
        for case in cases() {
            assert!(case.name.split('/').count() == 2, "{}", case.name);
            assert!(
                case.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/".contains(c))
            );
            for text in [case.about, case.rule, case.fix] {
                assert!(
                    text.len() > 20 && !text.contains('\n') && !text.contains("  "),
                    "{}: {text}",
                    case.name
                );
            }
        }
        assert!(names.len() >= 60, "{}", names.len());
    }

    #[test]
    fn what_a_case_needs_comes_before_it() {
        let mut before = BTreeSet::from([""]);
        for case in cases() {
            assert!(before.contains(case.needs), "{} needs {}", case.name, case.needs);
            before.insert(case.name);
        }
    }
}
