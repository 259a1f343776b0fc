//! Layers of settings: figment merges them and remembers which layer won; the chain of what was overridden is ours.

use figment::{
    Figment, Metadata, Profile, Provider,
    value::{Dict, Map, Value as FigmentValue},
};
use proctor_loadgen::{SettingKind, SettingValue, TestSettings};

use crate::{Origin, RunSettings, Value, check::Entry, keys};

/// Where plugin options lie within figment's dictionary: there are dots in their names, which figment would split.
const PLUGIN_OPTIONS: &str = "plugin_options";

/// The settings of one layer, each with its own origin. Where a key stands twice, the last one counts.
#[derive(Debug, Clone)]
struct Layer {
    /// Position in the stack, which is also the layer's name in figment's metadata.
    number: usize,
    entries: Vec<Entry>,
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::from("layer", self.number.to_string())
    }

    fn data(&self) -> figment::error::Result<Map<Profile, Dict>> {
        let mut settings = Dict::new();
        let mut options = Dict::new();
        for Entry { key, value, .. } in &self.entries {
            let target = if key.contains('.') { &mut options } else { &mut settings };
            target.insert(key.clone(), value.to_figment());
        }
        settings.insert(PLUGIN_OPTIONS.to_owned(), options.into());
        Ok(Profile::Default.collect(settings))
    }
}

/// A value, where it comes from, and what it replaces.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Effective {
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub origin: Origin,
    /// What it replaces, the nearest first, the default last.
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

/// All layers, the weakest first.
#[derive(Debug)]
pub(crate) struct Stack {
    figment: Figment,
    layers: Vec<Layer>,
}

impl Stack {
    /// A stack of the defaults, which hold every setting.
    pub(crate) fn new(defaults: Vec<Entry>) -> Self {
        let mut stack = Self { figment: Figment::new(), layers: Vec::new() };
        stack.push(defaults);
        stack
    }

    /// Puts a layer on top.
    pub(crate) fn push(&mut self, entries: Vec<Entry>) {
        let layer = Layer { number: self.layers.len(), entries };
        self.figment = std::mem::take(&mut self.figment).merge(layer.clone());
        self.layers.push(layer);
    }

    /// The settings of the host.
    pub(crate) fn run_settings(&self) -> RunSettings {
        self.figment.extract().expect("the defaults are complete, and each value was checked for its key")
    }

    /// The settings of the load generator.
    pub(crate) fn test_settings(&self) -> TestSettings {
        let run = self.run_settings();
        let mut test = TestSettings { scenario: run.scenario, rules: run.rules, ..TestSettings::default() };
        if let Some(mode) = run.mode {
            test.mode = mode;
        }
        for field in keys::test_fields() {
            let value = self.find(field.name).and_then(|value| value.to_setting());
            let value = value.expect("the defaults hold every field");
            // The one signed field is checked to fit, and takes unsigned values.
            debug_assert!(field.kind != SettingKind::Signed || matches!(value, SettingValue::Unsigned(_)));
            test.set(field.name, value).expect("each value was checked for its key");
        }
        test
    }

    /// Names of all plugin options that have a value, in alphabetic order.
    pub(crate) fn option_keys(&self) -> Vec<String> {
        let options = self.figment.find_value(PLUGIN_OPTIONS).ok().and_then(FigmentValue::into_dict);
        options.unwrap_or_default().into_keys().collect()
    }

    /// The value of a setting or an option, with its origin and everything that it replaces.
    pub(crate) fn effective(&self, key: &str) -> Option<Effective> {
        let figment_value = self.figment_value(key)?;
        let value = Value::from_figment(&figment_value)?;
        let winner = self.layer_of(&figment_value);
        let in_layer = |layer: &Layer| {
            let entries = layer.entries.iter().rev().filter(|entry| entry.key == key);
            entries.cloned().collect::<Vec<_>>()
        };
        let mut chain = self.layers[..=winner].iter().rev().flat_map(in_layer);
        let origin = chain.next()?.origin;
        let overridden = chain.map(|entry| Overridden { value: entry.value, origin: entry.origin }).collect();
        Some(Effective { value, origin, overridden })
    }

    fn find(&self, key: &str) -> Option<Value> {
        Value::from_figment(&self.figment_value(key)?)
    }

    fn figment_value(&self, key: &str) -> Option<FigmentValue> {
        if key.contains('.') {
            let options = self.figment.find_value(PLUGIN_OPTIONS).ok()?.into_dict()?;
            return options.get(key).cloned();
        }
        self.figment.find_value(key).ok()
    }

    /// The number of the layer that a merged value comes from, by the tag that figment keeps on it.
    fn layer_of(&self, value: &FigmentValue) -> usize {
        let metadata = self.figment.get_metadata(value.tag());
        let name = metadata.and_then(|metadata| metadata.source.as_ref()?.custom()?.parse().ok());
        name.expect("every value of the stack is of a layer, and layers are named by number")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::defaults;

    fn entry(key: &str, value: Value, flag: &str) -> Entry {
        Entry { key: key.to_owned(), value, origin: Origin::Flag { flag: flag.to_owned() } }
    }

    #[test]
    fn the_upper_layer_wins_and_the_chain_is_kept() {
        let mut stack = Stack::new(defaults());
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
        assert_eq!(stack.option_keys(), ["mock.x"]);
        assert_eq!(stack.effective("mock.x").unwrap().overridden, []);
        assert_eq!(stack.effective("mock.y"), None);
    }

    #[test]
    fn the_defaults_give_every_setting() {
        let stack = Stack::new(defaults());
        for key in keys::keys() {
            assert_eq!(stack.effective(key.name).unwrap().origin, Origin::Default, "{}", key.name);
        }
        assert_eq!(stack.test_settings().min_query_count, 100);
    }
}
