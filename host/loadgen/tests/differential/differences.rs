//! The differences that are meant: a list as data, and how often each was met.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct Differences {
    difference: Vec<Difference>,
    refusal: Vec<Refusal>,
    #[serde(skip)]
    seen: BTreeMap<String, u64>,
}

/// Both run, and what they write differs.
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
    /// What the official one does: `ran`, `crash` or `hang`.
    official: Vec<String>,
    #[expect(dead_code, reason = "for people")]
    reason: String,
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

    /// Notes that ours refuses with this error what the official one did so; an error if that is not listed.
    pub fn refused(&mut self, error: &str, official: &str) -> Result<(), String> {
        let is_listed =
            |it: &&Refusal| error.contains(&it.error) && it.official.iter().any(|how| how == official);
        let found = self.refusal.iter().find(is_listed);
        let found = found.ok_or_else(|| format!("ours refuses ({error}), the official one: {official}"))?;
        *self.seen.entry(found.id.clone()).or_default() += 1;
        Ok(())
    }

    /// How often each was met.
    pub fn report(&self) -> String {
        let seen: Vec<_> = self.seen.iter().map(|(id, count)| format!("{id} {count}")).collect();
        if seen.is_empty() { "none".to_owned() } else { seen.join(", ") }
    }
}
