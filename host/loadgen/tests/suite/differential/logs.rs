//! Reads the log files of one test, either LoadGen's, into a comparable form.

use std::path::Path;

use serde_json::Value;

use crate::differential::official::text;

/// Keys whose values depend on the program, the machine or the day.
const OF_THE_MACHINE: &[&str] =
    &["loadgen_", "test_datetime", "get_sut_name_duration_ns", "logger_", "power_begin", "power_end"];

#[derive(Debug)]
pub struct Logs {
    pub detail: Vec<Entry>,
    pub summary: String,
    /// Records without the comma at their end, by the number of the sample.
    pub accuracy: Vec<String>,
}

/// One line of the detail log. Machine-specific values are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    pub value: String,
    pub is_error: bool,
    pub is_warning: bool,
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = if self.is_error { " (error)" } else { "" };
        let value: String = self.value.chars().take(200).collect();
        write!(f, "{} = {value}{mark}", self.key)
    }
}

impl Logs {
    pub fn read(folder: &Path) -> Result<Self, String> {
        let mut logs = Self {
            detail: Vec::new(),
            summary: text(folder, "mlperf_log_summary.txt")?,
            accuracy: accuracy(&text(folder, "mlperf_log_accuracy.json")?)?,
        };
        // The official log does not escape a line break inside of a value.
        for text in text(folder, "mlperf_log_detail.txt")?.split(":::MLLOG ").skip(1) {
            logs.detail.push(entry(text).ok_or_else(|| format!("not a detail entry: {text}"))?);
        }
        Ok(logs)
    }

    /// The first entry with this key.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.detail.iter().find(|entry| entry.key == key).map(|entry| &*entry.value)
    }

    /// Removes the entries for which `is_unwanted` holds, and the errors and warnings among them from all counts.
    pub fn remove(&mut self, is_unwanted: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let (removed, kept): (Vec<_>, _) = self.detail.drain(..).partition(|entry| is_unwanted(entry));
        self.detail = kept;
        self.uncount(&removed);
        removed
    }

    /// Takes out the first entries, and the errors and warnings among them out of all counts.
    pub fn remove_first(&mut self, count: usize) {
        let removed: Vec<_> = self.detail.drain(..count).collect();
        self.uncount(&removed);
    }

    /// Returns the number of entries before the ones that open the log.
    pub fn count_before_the_test(&self) -> usize {
        self.detail.iter().take_while(|entry| entry.key != "loadgen_version").count()
    }

    fn uncount(&mut self, removed: &[Entry]) {
        let error_count = removed.iter().filter(|entry| entry.is_error).count();
        let warning_count = removed.iter().filter(|entry| entry.is_warning).count();
        for entry in self.detail.iter_mut().filter(|entry| entry.key == "num_errors") {
            let count: usize = entry.value.parse().unwrap_or(0);
            entry.value = count.saturating_sub(error_count).to_string();
        }
        let lines = self.summary.lines().map(|line| {
            let reduced = [
                ("warning", "warnings", "No warnings", warning_count),
                ("ERROR", "ERRORS", "No errors", error_count),
            ]
            .into_iter()
            .find_map(|(one, many, none, removed)| reduced(line, one, many, none, removed));
            reduced.unwrap_or_else(|| line.to_owned())
        });
        let ending = if self.summary.ends_with('\n') { "\n" } else { "" };
        self.summary = lines.collect::<Vec<_>>().join("\n") + ending;
    }
}

/// The line of the summary that counts errors or warnings, with fewer of them.
fn reduced(line: &str, one: &str, many: &str, none: &str, removed: usize) -> Option<String> {
    let (count, noun) = line.strip_suffix(" encountered. See detailed log.")?.split_once(' ')?;
    let count = count.parse::<usize>().ok().filter(|_| noun == one || noun == many)?;
    Some(match count.saturating_sub(removed) {
        0 => format!("{none} encountered during test."),
        1 => format!("1 {one} encountered. See detailed log."),
        count => format!("{count} {many} encountered. See detailed log."),
    })
}

/// An entry of the detail log behind its mark. Strings are not escaped in the official one, and numbers that JSON does
/// not have are bare.
fn entry(text: &str) -> Option<Entry> {
    let text = text.strip_prefix("{\"key\": \"")?;
    let (key, rest) = text.split_once("\", \"value\": ")?;
    let (value, rest) = rest.rsplit_once(", \"time_ms\": ")?;
    let (_time_ms, rest) =
        rest.split_once(", \"namespace\": \"mlperf::logging\", \"event_type\": \"POINT_IN_TIME\", ")?;
    let metadata: Value = serde_json::from_str(&format!("{{{rest}")).ok()?;
    let metadata = &metadata["metadata"];
    let is_ours = metadata["file"] == "proctor-loadgen";
    let value = match value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
        Some(_) if is_ours => serde_json::from_str(value).ok()?,
        Some(text) => text.to_owned(),
        None => value.to_owned(),
    };
    let is_of_the_machine = OF_THE_MACHINE.iter().any(|start| key.starts_with(start));
    Some(Entry {
        key: key.to_owned(),
        value: if is_of_the_machine { String::new() } else { value },
        is_error: metadata["is_error"].as_bool()?,
        is_warning: metadata["is_warning"].as_bool()?,
    })
}

fn accuracy(text: &str) -> Result<Vec<String>, String> {
    let records = text
        .strip_prefix("[\n")
        .or(text.strip_prefix('['))
        .and_then(|text| text.strip_suffix("\n]\n").or(text.strip_suffix("]\n")));
    let records = records.ok_or_else(|| format!("not an accuracy log: {text}"))?;
    let mut lines: Vec<_> = records
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.trim_end_matches(',').to_owned())
        .collect();
    let sequence = |line: &String| {
        let digits: String =
            line.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().unwrap_or(u64::MAX)
    };
    lines.sort_by_key(sequence);
    Ok(lines)
}

#[test]
fn counts_can_be_reduced() {
    let lines = [
        ("2 warnings encountered. See detailed log.", 1, "1 warning encountered. See detailed log."),
        ("1 warning encountered. See detailed log.", 1, "No warnings encountered during test."),
        ("3 ERRORS encountered. See detailed log.", 1, "2 ERRORS encountered. See detailed log."),
    ];
    for (line, removed, expected) in lines {
        let noun = if line.contains("ERR") {
            ("ERROR", "ERRORS", "No errors")
        } else {
            ("warning", "warnings", "No warnings")
        };
        assert_eq!(reduced(line, noun.0, noun.1, noun.2, removed).as_deref(), Some(expected));
    }
    assert_eq!(reduced("Result is : VALID", "ERROR", "ERRORS", "No errors", 1), None);
}
