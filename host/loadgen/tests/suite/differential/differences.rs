//! The differences that are meant: a list as data, and how often each was met.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::differential::case::{Case, Script};

#[derive(Debug, Deserialize)]
pub struct Differences {
    difference: Vec<Difference>,
    refusal: Vec<Refusal>,
    #[serde(skip)]
    seen: BTreeMap<String, u64>,
    #[serde(skip)]
    not_compared_count: u32,
}

/// Both run, and their output differs.
#[derive(Debug, Deserialize)]
struct Difference {
    id: String,
    #[expect(dead_code, reason = "for people")]
    what: String,
    #[expect(dead_code, reason = "for people")]
    reason: String,
}

/// Ours refuses settings that the official one takes.
#[derive(Debug, Deserialize)]
struct Refusal {
    id: String,
    /// Part of our error.
    error: String,
    /// Behaviour of the official one: `ran`, `crash` or `hang`.
    official: Vec<String>,
    #[expect(dead_code, reason = "for people")]
    reason: String,
    /// Cases that are refused so, as JSON: settings, and counts of the library if they matter.
    examples: Vec<String>,
}

impl Differences {
    pub fn read() -> Self {
        toml::from_str(include_str!("differences.toml")).expect("the list of differences is well formed")
    }

    /// Notes a difference of two runs, which has to be listed.
    pub fn note(&mut self, id: &str) {
        assert!(self.difference.iter().any(|it| it.id == id), "{id} is not in the list of differences");
        *self.seen.entry(id.to_owned()).or_default() += 1;
    }

    /// Records that ours refuses with this error what the official one did so; an error if that is not listed.
    pub fn refused(&mut self, error: &str, official: &str) -> Result<(), String> {
        let is_listed =
            |it: &&Refusal| error.contains(&it.error) && it.official.iter().any(|how| how == official);
        let found = self.refusal.iter().find(is_listed);
        let found = found.ok_or_else(|| format!("ours refuses ({error}), the official one: {official}"))?;
        *self.seen.entry(found.id.clone()).or_default() += 1;
        Ok(())
    }

    /// Every case that the list gives as an example, with the id of its refusal.
    pub fn refused_cases(&self) -> Vec<(String, Case)> {
        let example = |text: &String| serde_json::from_str(text).map(Example::into_case);
        let cases = |refusal: &Refusal| {
            let cases: Result<Vec<_>, _> = refusal.examples.iter().map(example).collect();
            let cases = cases.unwrap_or_else(|error| panic!("an example of {}: {error}", refusal.id));
            let id = refusal.id.clone();
            cases.into_iter().map(move |case| (id.clone(), case))
        };
        self.refusal.iter().flat_map(cases).collect()
    }

    /// Notes that the official program crashed with threads, or issued the first query after the whole duration, as
    /// often as the case was tried.
    pub fn note_not_compared(&mut self) {
        self.not_compared_count += 1;
    }

    /// Number of cases without anything to compare.
    pub fn not_compared_count(&self) -> u32 {
        self.not_compared_count
    }

    /// Returns how often this one was met.
    pub fn count(&self, id: &str) -> u64 {
        self.seen.get(id).copied().unwrap_or(0)
    }

    /// Reports how often each was met.
    pub fn report(&self) -> String {
        let seen: Vec<_> = self.seen.iter().map(|(id, count)| format!("{id} {count}")).collect();
        if seen.is_empty() { "none".to_owned() } else { seen.join(", ") }
    }
}

#[derive(Debug, Deserialize)]
struct Example {
    #[serde(default = "ten")]
    total_count: u64,
    #[serde(default = "ten")]
    performance_count: u64,
    settings: Map<String, Value>,
}

fn ten() -> u64 {
    10
}

impl Example {
    fn into_case(self) -> Case {
        let mut settings = self.settings;
        for (name, value) in [("min_duration_ms", 0), ("min_query_count", 5)] {
            settings.entry(name).or_insert(value.into());
        }
        let performance_count = self.performance_count;
        Case { performance_count, ..Case::of(self.total_count, settings, Script::default()) }
    }
}

#[test]
fn the_page_about_differences_names_each() {
    let page = include_str!("../../../../../docs/loadgen-compat.md");
    let list = Differences::read();
    let ids = list.difference.iter().map(|it| &it.id).chain(list.refusal.iter().map(|it| &it.id));
    let absent: Vec<_> = ids.filter(|id| !page.contains(&format!("`{id}`"))).collect();
    assert_eq!(absent, Vec::<&String>::new(), "docs/loadgen-compat.md does not name these");
}
