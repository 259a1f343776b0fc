//! Suggestions for misspelled names.

/// Returns the candidate that `name` most likely misspells, if any is close enough.
///
/// Close is a Damerau-Levenshtein distance of at most a third of the longer name (and at least 1), without regard to
/// case; a name that is the last dotted part of a candidate counts as close, too. Ties go to the first candidate. The
/// name of a version, such as `v4.1`, misspells no other one.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    if is_version(&wanted) {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let other = candidate.to_lowercase();
        let distance = if other.rsplit('.').next() == Some(&wanted) {
            0
        } else {
            strsim::damerau_levenshtein(&wanted, &other)
        };
        let limit = (wanted.chars().count().max(other.chars().count()) / 3).max(1);
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns whether a name is a `v` with two whole numbers, which a point separates.
fn is_version(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = name.strip_prefix('v').and_then(|numbers| numbers.split_once('.'));
    numbers.is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// Returns `, did you mean "<candidate>"?`, or an empty string if nothing is near.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, candidates).map_or_else(String::new, |near| format!(", did you mean \"{near}\"?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_swapped_missing_and_extra_letters() {
        let names = ["min_duration_ms", "min_query_count", "server_target_qps"];
        assert_eq!(nearest("min_duraton_ms", names), Some("min_duration_ms"));
        assert_eq!(nearest("min_qurey_count", names), Some("min_query_count"));
        assert_eq!(nearest("SERVER_TARGET_QPSS", names), Some("server_target_qps"));
    }

    #[test]
    fn does_not_suggest_something_far() {
        assert_eq!(nearest("colour", ["min_duration_ms", "mode"]), None);
    }

    #[test]
    fn a_version_misspells_no_other_one() {
        let rounds = ["v6.1", "v5.1", "v0.5"];
        assert_eq!(nearest("v4.1", rounds), None);
        assert_eq!(nearest("V0.6", rounds), None);
        assert_eq!(nearest("6.1", rounds), Some("v6.1"));
        assert_eq!(nearest("v5,1", rounds), Some("v5.1"));
    }
}
