//! Differences of two sides other than the measurements: settings, machine, plugin, model, seeds, program.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;
use serde_json::Value;

/// A part of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The machine, with its kernel.
    Machine,
    /// The program that ran it.
    Program,
    /// The plugin, with its options and its hash.
    Plugin,
    /// The files of the model, by their hashes.
    Model,
    /// The benchmark.
    Benchmark,
    /// The samples that were loaded, by the hash of their inputs.
    Samples,
    /// A setting of the host.
    Setting,
    /// A seed.
    Seed,
    /// The build of another load generator than the host's own.
    Engine,
}

/// A difference between two sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The part of the result.
    pub part: Part,
    /// The key in the part.
    pub key: String,
    /// Values of A, each once; null if it has none.
    pub a: Vec<Value>,
    /// Values of B.
    pub b: Vec<Value>,
}

/// Settings that say where to and not how.
const NOT_SETTINGS: [&str; 1] = ["output_folder"];
/// The end of the names of seeds, which have their own part.
const SEED: &str = "_seed";
/// Keys of the load generator that say which build it is.
const BUILD: [&str; 3] = ["version", "revision", "known"];
/// Keys of the plugin that are measured, or have their own part.
const NOT_PLUGIN: [&str; 3] = ["metrics", "stages", "model_files"];

type Facts = BTreeMap<(Part, String), Value>;

/// Returns the differences of the results of two sides, in the order of parts and keys.
pub(crate) fn differences(a: &[&Value], b: &[&Value]) -> Vec<Difference> {
    let facts = |runs: &[&Value]| runs.iter().map(|run| facts_of(run)).collect::<Vec<_>>();
    let (a, b) = (facts(a), facts(b));
    let keys: std::collections::BTreeSet<_> = a.iter().chain(&b).flat_map(Facts::keys).collect();
    let values = |runs: &[Facts], key| {
        let mut values: Vec<Value> = Vec::new();
        for run in runs {
            let value = run.get(key).cloned().unwrap_or_default();
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    };
    let found = keys.into_iter().map(|key| Difference {
        part: key.0,
        key: key.1.clone(),
        a: values(&a, key),
        b: values(&b, key),
    });
    // That one has another load generator than the host's own is a setting already, and results of earlier versions do
    // not say which samples they had.
    let is_told = |found: &Difference| {
        matches!(found.part, Part::Engine | Part::Samples)
            && found.a.iter().chain(&found.b).any(Value::is_null)
    };
    found.filter(|found| (found.a != found.b || found.a.len() > 1) && !is_told(found)).collect()
}

fn facts_of(result: &Value) -> Facts {
    let mut facts = Facts::new();
    let object = |key: &str| result[key].as_object().into_iter().flatten();
    for (key, value) in object("machine").filter(|(key, _)| *key != "load_average") {
        facts.insert((Part::Machine, key.clone()), value.clone());
    }
    for (key, value) in object("program") {
        facts.insert((Part::Program, key.clone()), value.clone());
    }
    for (key, value) in object("benchmark") {
        facts.insert((Part::Benchmark, key.clone()), value.clone());
    }
    for (key, value) in object("samples") {
        facts.insert((Part::Samples, key.clone()), value.clone());
    }
    for (key, value) in object("seeds") {
        facts.insert((Part::Seed, key.clone()), value.clone());
    }
    for (key, value) in object("engine").filter(|(key, _)| BUILD.contains(&key.as_str())) {
        facts.insert((Part::Engine, key.clone()), value.clone());
    }
    for (key, setting) in object("settings") {
        // The options of a plugin are set by its name, a point and theirs, and are all in its own part.
        if !NOT_SETTINGS.contains(&key.as_str()) && !key.ends_with(SEED) && !key.contains('.') {
            facts.insert((Part::Setting, key.clone()), setting["value"].clone());
        }
    }
    for (key, value) in object("plugin").filter(|(key, _)| !NOT_PLUGIN.contains(&key.as_str())) {
        match value.as_object() {
            Some(inner) => facts.extend(
                inner.iter().map(|(name, value)| ((Part::Plugin, format!("{key}.{name}")), value.clone())),
            ),
            None => _ = facts.insert((Part::Plugin, key.clone()), value.clone()),
        }
    }
    for (number, file) in result["plugin"]["model_files"].as_array().into_iter().flatten().enumerate() {
        let format = file["format"].as_str().unwrap_or("file");
        facts.insert((Part::Model, format!("{format} {}", number + 1)), file["sha256"].clone());
    }
    facts
}

/// Maximum number of characters shown of a value.
const SHOWN_MAX: usize = 40;

impl Difference {
    /// Returns the values of a side for people.
    #[must_use]
    pub fn shown(values: &[Value]) -> String {
        let one = |value: &Value| {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Null => "none".to_owned(),
                other => other.to_string(),
            };
            if text.chars().count() <= SHOWN_MAX {
                return text;
            }
            text.chars().take(SHOWN_MAX - 3).chain("...".chars()).collect()
        };
        values.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Difference {
    /// Writes the name that a sentence has for it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::Machine | Part::Setting | Part::Seed => f.write_str(&self.key),
            Part::Program => write!(f, "program {}", self.key),
            Part::Engine => write!(f, "engine {}", self.key),
            Part::Plugin => write!(f, "plugin {}", self.key),
            Part::Model => write!(f, "model file {}", self.key),
            Part::Benchmark => write!(f, "benchmark {}", self.key),
            Part::Samples => write!(f, "samples {}", self.key),
        }
    }
}

/// Joins names with commas, and an `and` before the last one.
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(kernel: &str, batch_size: u64, hash: &str) -> Value {
        json!({
            "machine": {"kernel": kernel, "cpu_count": 2, "load_average": [batch_size as f64, 0.0, 0.0]},
            "program": {"version": "1"},
            "benchmark": {"id": "digits"},
            "seeds": {"qsl_rng_seed": 1},
            "plugin": {
                "name": "mock", "options": {"service": hash}, "metrics": {"x": batch_size},
                "model_files": [{"format": "onnx", "path": kernel, "sha256": hash}],
            },
            "settings": {
                "batch_size": {"value": batch_size, "origin": {"kind": "flag"}},
                "output_folder": {"value": kernel, "origin": {"kind": "flag"}},
                "mock.service": {"value": hash, "origin": {"kind": "set"}},
                "qsl_rng_seed": {"value": batch_size, "origin": {"kind": "default"}},
            },
        })
    }

    #[test]
    fn what_decides_is_compared_and_what_was_measured_is_not() {
        let (a, b) = (result("6.1", 1, "x"), result("6.2", 8, "y"));
        let names = |a: &[&Value], b: &[&Value]| {
            differences(a, b).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            names(&[&a], &[&b]),
            ["kernel", "plugin options.service", "model file onnx 1", "batch_size"]
        );
        assert_eq!(names(&[&a], &[&a.clone()]), [""; 0]);
        // Repeats that differ among themselves, too.
        assert_eq!(names(&[&a, &result("6.2", 1, "x")], &[&a]), ["kernel"]);
        let found = differences(&[&a], &[&b]);
        assert_eq!(
            (Difference::shown(&found[3].a), Difference::shown(&found[3].b)),
            ("1".into(), "8".into())
        );
        // A run without a result has no facts.
        assert_eq!(names(&[&Value::Null], &[&json!([1])]), [""; 0]);
        assert_eq!(Difference::shown(&[Value::Null, "é".repeat(50).into()]).chars().count(), 46);
    }

    #[test]
    fn samples_are_compared_where_both_sides_say_which_they_had() {
        let with = |sha256: &str| {
            let mut result = result("6.1", 1, "x");
            result["samples"] = json!({"count": 600, "sha256": sha256});
            result
        };
        let names = |a: &Value, b: &Value| {
            differences(&[a], &[b]).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(names(&with("aa"), &with("bb")), ["samples sha256"]);
        assert_eq!(names(&with("aa"), &with("aa")), [""; 0]);
        assert_eq!(names(&with("aa"), &result("6.1", 1, "x")), [""; 0]);
    }

    #[test]
    fn names_are_listed() {
        let list = |names: &[&str]| listed(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            (list(&[]), list(&["a"]), list(&["a", "b", "c"])),
            ("".into(), "a".into(), "a, b and c".into())
        );
    }
}
