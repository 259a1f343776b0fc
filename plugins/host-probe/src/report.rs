//! Promises that the host has broken.

use parking_lot::Mutex;

use crate::call::Call;

/// Maximum number of texts kept for a call and for a backend; further ones are only counted.
const KEPT: usize = 16;

/// The promises that one call shows to be broken.
#[derive(Debug)]
pub(crate) struct Report {
    call: Call,
    broken: Broken,
}

/// The first few texts, and the count of all.
#[derive(Debug, Default)]
struct Broken {
    texts: Vec<String>,
    count: u64,
}

impl Broken {
    fn add(&mut self, text: String, count: u64) {
        if self.texts.len() < KEPT {
            self.texts.push(text);
        }
        self.count += count;
    }
}

impl Report {
    /// Creates a report without a broken promise.
    pub(crate) fn new(call: Call) -> Self {
        Self { call, broken: Broken::default() }
    }

    /// Notes a broken promise, unless it holds. The sentence names the fact and the expectation.
    pub(crate) fn expect(&mut self, holds: bool, sentence: impl FnOnce() -> String) {
        if holds {
            return;
        }
        // A host that is wrong about every sample of a million does not get a million messages.
        let is_kept = self.broken.texts.len() < KEPT;
        let text = if is_kept { format!("{}: {}", self.call.name(), sentence()) } else { String::new() };
        self.broken.add(text, 1);
    }

    /// Returns the value, or a broken promise where it cannot be read.
    pub(crate) fn value<T>(&mut self, read: Result<T, String>) -> Option<T> {
        read.map_err(|sentence| self.expect(false, || sentence)).ok()
    }

    /// Returns whether every promise was kept so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.broken.count == 0
    }

    /// Returns the first broken promise.
    pub(crate) fn first(&self) -> Option<&str> {
        self.broken.texts.first().map(String::as_str)
    }
}

/// The promises that the host has broken since a backend was opened.
#[derive(Debug, Default)]
pub(crate) struct Findings(Mutex<Broken>);

impl Findings {
    /// Adds the findings of a call.
    pub(crate) fn add(&self, report: Report) {
        let mut all = self.0.lock();
        let Broken { texts, count } = report.broken;
        let rest = count - texts.len() as u64;
        texts.into_iter().for_each(|text| all.add(text, 1));
        all.count += rest;
    }

    /// Returns all of it in words; `None` if the host has kept its promises.
    pub(crate) fn summary(&self) -> Option<String> {
        let all = self.0.lock();
        let more = all.count - all.texts.len() as u64;
        let more = if more == 0 { String::new() } else { format!("; and {more} more") };
        let promises = if all.count == 1 { "promise" } else { "promises" };
        let texts = all.texts.join("; ");
        (all.count > 0).then(|| format!("the host has broken {} {promises}: {texts}{more}", all.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_few_are_kept_and_all_are_counted() {
        let findings = Findings::default();
        assert_eq!(findings.summary(), None);
        for call in [Call::Start, Call::Stop] {
            let mut report = Report::new(call);
            report.expect(true, || unreachable!());
            assert!(report.is_clean());
            for number in 0..10 {
                report.expect(false, || format!("number {number}"));
            }
            assert_eq!(report.first().unwrap(), format!("{}: number 0", call.name()));
            findings.add(report);
        }
        let summary = findings.summary().unwrap();
        assert!(summary.starts_with("the host has broken 20 promises: start: number 0; "), "{summary}");
        assert!(summary.ends_with("stop: number 5; and 4 more"), "{summary}");
    }
}
