//! Parses lines of the texts in which the system describes processes and the machine.

/// Finds the value of the first line `NAME: VALUE` in a text such as `/proc/self/status`, trimmed.
#[must_use]
pub fn proc_value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_whole_name() {
        let status = "Name:\ta: b\nSeccomp_filters:\t1\nSeccomp:\t2\nGroups:\t\nSeccomp:\t3\n";
        assert_eq!(proc_value(status, "Seccomp"), Some("2"));
        assert_eq!(proc_value(status, "Name"), Some("a: b"));
        assert_eq!(proc_value(status, "Groups"), Some(""));
        assert_eq!([proc_value(status, "Sec"), proc_value("", "Name")], [None; 2]);
        assert_eq!(proc_value("model\t\t: 7\nmodel name\t: A CPU\n", "model name"), Some("A CPU"));
    }
}
