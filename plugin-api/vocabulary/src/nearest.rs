//! Suggestions for misspelled names.

/// Returns the candidate that `name` most likely misspells, if any is close enough.
///
/// Close is a Damerau-Levenshtein distance of at most a third of the longer name (and at least 1), without regard to
/// case; a name that is the last dotted part of a candidate counts as close, too. Ties go to the first candidate.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
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
}
