//! Layers of settings: which of them wins, and what it replaces.

use std::collections::{BTreeMap, BTreeSet};

use proctor_loadgen::{SettingKind, SettingValue, TestSettings};

use crate::{
    check::Entry,
    keys,
    origin::Origin,
    preset,
    run_settings::{RUN_KEYS, RunSettings},
    value::Value,
};

/// A value, where it comes from, and what it replaces.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Effective {
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
    /// The values that it replaces, the nearest first, the default last.
    pub overridden: Vec<Overridden>,
}

/// A value that did not win.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Overridden {
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
}

/// All layers, the weakest first. Where a setting stands twice in a layer, the last one counts.
#[derive(Debug)]
pub(crate) struct Stack {
    entries: Vec<Entry>,
}

impl Stack {
    /// A stack of the defaults, which hold every setting: LoadGen's own, with the seeds of `mlperf.conf`, and the
    /// host's.
    pub(crate) fn of_defaults() -> Self {
        let (test, seeds) = (TestSettings::default(), preset::seeds().collect::<BTreeMap<_, _>>());
        let fields = keys::test_fields().map(|field| {
            let value = || test.get(field.name).expect("it is a field").into();
            (field.name, seeds.get(field.name).cloned().unwrap_or_else(value))
        });
        let run = RUN_KEYS.iter().filter_map(|key| Some((key.name, key.default.value()?)));
        let values = run.chain(fields);
        let entry = |(key, value): (&str, _)| Entry { key: key.to_owned(), value, origin: Origin::Default };
        Self { entries: values.map(entry).collect() }
    }

    /// Puts a layer on top.
    pub(crate) fn push(&mut self, layer: Vec<Entry>) {
        self.entries.extend(layer);
    }

    /// Puts a layer on top, in the place of the defaults of its settings: nobody has set these, so that they are not
    /// said to be replaced.
    pub(crate) fn push_for_defaults(&mut self, layer: Vec<Entry>) {
        let is_new = |key: &str| layer.iter().any(|entry| entry.key == key);
        self.entries.retain(|entry| entry.origin != Origin::Default || !is_new(&entry.key));
        self.push(layer);
    }

    /// The place above all layers so far, for [`insert`](Self::insert).
    pub(crate) fn height(&self) -> usize {
        self.entries.len()
    }

    /// Puts a value at a place, below all layers above it.
    pub(crate) fn insert(&mut self, place: usize, entry: Entry) {
        self.entries.insert(place, entry);
    }

    pub(crate) fn run_settings(&self) -> RunSettings {
        RunSettings::from_values(|key| self.value(key).clone())
    }

    /// The settings of the load generator.
    pub(crate) fn test_settings(&self) -> TestSettings {
        let run = self.run_settings();
        let mut test = TestSettings { scenario: run.scenario, rules: run.rules, ..TestSettings::default() };
        if let Some(mode) = run.mode {
            test.mode = mode;
        }
        for field in keys::test_fields() {
            let value = self.value(field.name).to_setting().expect("fields are no texts");
            // The one signed field is checked to fit, and takes unsigned values.
            debug_assert!(field.kind != SettingKind::Signed || matches!(value, SettingValue::Unsigned(_)));
            test.set(field.name, value).expect("each value was checked for its key");
        }
        test
    }

    /// Names of all plugin options that have a value, in alphabetic order.
    pub(crate) fn option_keys(&self) -> BTreeSet<String> {
        self.entries.iter().filter(|entry| entry.key.contains('.')).map(|entry| entry.key.clone()).collect()
    }

    /// The value of a setting or an option, with its origin and everything that it replaces.
    pub(crate) fn effective(&self, key: &str) -> Option<Effective> {
        let mut chain = self.chain(key).cloned();
        let Entry { value, origin, .. } = chain.next()?;
        let overridden = chain.map(|entry| Overridden { value: entry.value, origin: entry.origin }).collect();
        Some(Effective { value, origin, overridden })
    }

    fn value(&self, key: &str) -> &Value {
        &self.chain(key).next().expect("the defaults hold every setting").value
    }

    /// All that is said about a setting, the strongest first.
    fn chain(&self, key: &str) -> impl Iterator<Item = &Entry> {
        self.entries.iter().rev().filter(move |entry| entry.key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, value: Value, flag: &str) -> Entry {
        Entry { key: key.to_owned(), value, origin: Origin::Flag { flag: flag.to_owned() } }
    }

    #[test]
    fn the_upper_layer_wins_and_the_chain_is_kept() {
        let mut stack = Stack::of_defaults();
        stack.push(vec![
            entry("batch_size", Value::Integer(2), "a"),
            entry("mock.x", Value::Text("1".to_owned()), "a"),
        ]);
        stack.push(vec![entry("instances", Value::Integer(4), "b")]);
        stack.push(vec![
            entry("batch_size", Value::Integer(3), "c"),
            entry("batch_size", Value::Integer(4), "d"),
        ]);
        assert_eq!(stack.run_settings().batch_size, 4);
        let effective = stack.effective("batch_size").unwrap();
        assert_eq!((effective.value, effective.origin.to_string().as_str()), (Value::Integer(4), "flag d"));
        let chain: Vec<_> =
            effective.overridden.iter().map(|o| format!("{} {}", o.value, o.origin)).collect();
        assert_eq!(chain, ["3 flag c", "2 flag a", "1 default"]);
        assert_eq!(stack.effective("instances").unwrap().origin.to_string(), "flag b");
        assert_eq!(stack.option_keys(), BTreeSet::from(["mock.x".to_owned()]));
        assert_eq!(stack.effective("mock.x").unwrap().overridden, []);
        assert_eq!(stack.effective("mock.y"), None);
    }

    #[test]
    fn the_defaults_give_every_setting() {
        let stack = Stack::of_defaults();
        for key in keys::keys() {
            let effective = stack.effective(key.name).unwrap();
            assert_eq!((effective.origin, effective.overridden), (Origin::Default, vec![]), "{}", key.name);
        }
        assert_eq!(stack.test_settings().min_query_count, 100);
    }
}
