//! Layers of settings, which figment carries: decides which of them wins, and records the replaced values.
//!
//! To figment every setting is a list. Each [`Layer`] is a provider that adds its values to the lists: the
//! last value of a list is in effect, the others are replaced. figment's tag on each value identifies its
//! provider.

use std::{collections::BTreeMap, mem};

use figment::{
    Figment, Metadata, Profile, Provider,
    providers::Serialized,
    value::{Dict, Map, Tag, Value as FigmentValue, magic::Tagged},
};

use crate::{origin::Origin, value::Value};

/// A value, its origin, and the values that it replaces.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Effective {
    /// Value in effect.
    pub value: Value,
    /// Origin of the value.
    pub origin: Origin,
    /// The values that it replaces, the nearest first, the default last.
    pub overridden: Vec<Overridden>,
}

/// A value that did not win.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Overridden {
    /// The replaced value.
    pub value: Value,
    /// Origin of the value.
    pub origin: Origin,
}

impl Effective {
    /// Puts a value on top of this one, which is kept as the nearest that it replaces.
    pub fn replace(&mut self, value: Value, origin: Origin) {
        let value = mem::replace(&mut self.value, value);
        let origin = mem::replace(&mut self.origin, origin);
        self.overridden.insert(0, Overridden { value, origin });
    }
}

/// All settings from one line, variable, flag or definition, checked. If a setting occurs twice in it, the
/// last one counts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layer {
    pub(crate) origin: Origin,
    pub(crate) values: Vec<(String, Value)>,
}

impl Layer {
    pub(crate) fn new<K: Into<String>>(origin: Origin, values: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self { origin, values: values.into_iter().map(|(key, value)| (key.into(), value)).collect() }
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        self.origin.metadata()
    }

    /// Returns a list for each setting. A dot in the name of a plugin's option is part of the name: a table of options
    /// would take the place of a setting with the name of the plugin.
    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let mut lists: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for (key, value) in &self.values {
            lists.entry(key).or_default().push(value);
        }
        Serialized::defaults(lists).data()
    }
}

/// Layers, the weakest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layers {
    figment: Figment,
    /// The origin of each layer by its tag. figment's own metadata has the same as a text.
    origins: BTreeMap<Tag, Origin>,
}

impl Layers {
    /// Returns the defaults, with the values of a layer in place of theirs. Nobody has set the defaults, so the layer
    /// does not count as replacing them.
    pub(crate) fn of_defaults_but(mut defaults: Layer, layer: Layer) -> Self {
        defaults.values.retain(|(key, _)| layer.values.iter().all(|(other, _)| other != key));
        Self::of_one(defaults).under(&Self::of_one(layer))
    }

    fn of_one(layer: Layer) -> Self {
        let figment = Figment::from(&layer);
        let values = figment.data().expect("names with lists of plain values are no error");
        // An empty layer has no value that could carry its tag, and is never asked for.
        let tag = values.values().flat_map(Dict::values).map(FigmentValue::tag).next();
        Self { figment, origins: tag.map(|tag| (tag, layer.origin)).into_iter().collect() }
    }

    /// Merges layers by halves: figment copies everything on each merge, so one by one would take quadratic time in the
    /// length of a file.
    fn of(mut layers: Vec<Layer>) -> Self {
        if layers.len() > 1 {
            let upper = layers.split_off(layers.len() / 2);
            return Self::of(layers).under(&Self::of(upper));
        }
        layers.pop().map(Self::of_one).unwrap_or_default()
    }

    /// Puts a layer on top.
    pub(crate) fn put(&mut self, layer: Layer) {
        self.extend([layer]);
    }

    /// Puts the layers of `upper` above these.
    pub(crate) fn under(mut self, upper: &Self) -> Self {
        self.origins.extend(upper.origins.iter().map(|(tag, origin)| (*tag, origin.clone())));
        Self { figment: self.figment.admerge(&upper.figment), origins: self.origins }
    }

    /// Returns each setting and option that a layer names, with its value, its origin, and everything that it replaces.
    pub(crate) fn effective(&self) -> BTreeMap<String, Effective> {
        let lists: BTreeMap<String, Vec<Tagged<Value>>> =
            self.figment.extract().expect("every layer provides lists of values");
        let with_chain = |(key, list): (String, Vec<Tagged<Value>>)| {
            let mut chain = list.into_iter().rev().map(|said| {
                let origin = self.origins[&said.tag()].clone();
                Overridden { value: said.into_inner(), origin }
            });
            let Overridden { value, origin } = chain.next()?;
            Some((key, Effective { value, origin, overridden: chain.collect() }))
        };
        lists.into_iter().filter_map(with_chain).collect()
    }
}

impl Extend<Layer> for Layers {
    /// Puts layers on top, the weakest first.
    fn extend<T: IntoIterator<Item = Layer>>(&mut self, layers: T) {
        let upper = Self::of(layers.into_iter().collect());
        *self = mem::take(self).under(&upper);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{keys, preset};

    fn of_defaults() -> Layers {
        Layers::of_one(preset::defaults())
    }

    fn flag(name: &str, values: &[(&str, Value)]) -> Layer {
        Layer::new(Origin::Flag { flag: name.to_owned() }, values.iter().cloned())
    }

    fn chain(effective: &Effective) -> Vec<String> {
        effective.overridden.iter().map(|it| format!("{} {}", it.value, it.origin)).collect()
    }

    #[test]
    fn the_upper_layer_wins_and_the_chain_is_kept() {
        let mut layers = of_defaults();
        let text = Value::Text("1".to_owned());
        layers.put(flag("a", &[("batch_size", Value::Integer(2)), ("mock.x", text)]));
        layers.put(flag("b", &[("instances", Value::Integer(4))]));
        layers.put(flag("c", &[("batch_size", Value::Integer(3))]));
        layers.put(flag("d", &[("batch_size", Value::Integer(4))]));
        let effective = layers.effective();
        let batch_size = &effective["batch_size"];
        assert_eq!(
            (&batch_size.value, batch_size.origin.to_string()),
            (&Value::Integer(4), "flag d".to_owned())
        );
        assert_eq!(chain(batch_size), ["3 flag c", "2 flag a", "1 default"]);
        assert_eq!(effective["instances"].origin.to_string(), "flag b");
        assert_eq!(effective["mock.x"].overridden, []);
        assert!(!effective.contains_key("mock.y"));
    }

    #[test]
    fn the_defaults_give_every_setting() {
        let effective = of_defaults().effective();
        for key in keys::keys() {
            let effective = &effective[key.name];
            assert_eq!(
                (&effective.origin, &effective.overridden[..]),
                (&Origin::Default, &[][..]),
                "{}",
                key.name
            );
        }
        assert_eq!(effective.len(), keys::keys().len());
    }

    #[test]
    fn what_is_put_below_later_does_not_win() {
        let mut lower = of_defaults();
        let mut upper = Layers::default();
        upper.put(flag("upper", &[("batch_size", Value::Integer(3))]));
        lower.put(flag("lower", &[("batch_size", Value::Integer(2))]));
        let both = lower.under(&upper).effective();
        assert_eq!(both["batch_size"].value, Value::Integer(3));
        assert_eq!(chain(&both["batch_size"]), ["2 flag lower", "1 default"]);
        // A setting that the upper layers do not name comes from the lower ones.
        assert_eq!(both["instances"].value, Value::Integer(1));
    }

    #[test]
    fn an_option_of_a_plugin_that_is_named_like_a_setting_replaces_nothing() {
        let mut layers = of_defaults();
        layers.put(flag("a", &[("instances.x", Value::Text("5".to_owned()))]));
        let effective = layers.effective();
        assert_eq!(effective["instances"].value, Value::Integer(1));
        assert_eq!(effective["instances.x"].value, Value::Text("5".to_owned()));
    }

    #[test]
    fn layers_that_come_at_once_have_the_order_of_those_that_come_one_by_one() {
        let all: Vec<_> =
            (0..11).map(|it| flag(&it.to_string(), &[("batch_size", Value::Integer(it))])).collect();
        let mut at_once = of_defaults();
        at_once.extend(all.clone());
        let mut one_by_one = of_defaults();
        all.into_iter().for_each(|layer| one_by_one.put(layer));
        assert_eq!(at_once.effective(), one_by_one.effective());
        assert_eq!(at_once.effective()["batch_size"].value, Value::Integer(10));
    }

    #[test]
    fn a_layer_that_says_nothing_changes_nothing() {
        let mut layers = of_defaults();
        layers.put(flag("a", &[]));
        layers.extend([]);
        assert_eq!(layers.effective(), of_defaults().effective());
    }

    /// figment numbers its tags for the whole process, so two loads at once have tags of their own.
    #[test]
    fn the_metadata_of_figment_names_the_origin_of_every_value() {
        let file = |line| Origin::File { path: "proctor.toml".into(), line };
        let user =
            Origin::LoadGenConf { path: "user.conf".into(), line: 2, key: "*.*.min_duration".to_owned() };
        let mut layers = of_defaults();
        layers.put(Layer::new(file(3), [("min_duration_ms", Value::Integer(5))]));
        layers.put(Layer::new(user, [("min_duration_ms", Value::Integer(6))]));
        layers.put(flag("--set min_duration_ms", &[("min_duration_ms", Value::Integer(7))]));
        let list: Vec<Tagged<Value>> = layers.figment.extract_inner("min_duration_ms").unwrap();
        let seen: Vec<_> = list
            .iter()
            .map(|said| {
                let metadata = layers.figment.get_metadata(said.tag()).unwrap();
                assert_eq!(metadata.name, layers.origins[&said.tag()].to_string());
                let source = metadata.source.as_ref().map(ToString::to_string).unwrap_or_default();
                (metadata.name.to_string(), source)
            })
            .collect();
        let expected = [
            ("default", ""),
            ("proctor.toml:3", "proctor.toml"),
            ("user.conf:2 (*.*.min_duration)", "user.conf"),
            ("flag --set min_duration_ms", "--set min_duration_ms"),
        ];
        assert_eq!(seen, expected.map(|(name, source)| (name.to_owned(), source.to_owned())));
    }

    /// Every form of a value comes back as it was: figment's numbers have types of their own.
    #[test]
    fn values_pass_through_figment_unchanged() {
        let values = [
            Value::Unset,
            Value::Bool(true),
            Value::Integer(0),
            Value::Integer(u64::MAX),
            Value::Number(5.0),
            Value::Number(0.9990000000000001),
            Value::Text("5".to_owned()),
            Value::Text(String::new()),
        ];
        let mut layers = Layers::default();
        layers.extend(values.iter().map(|value| flag("x", &[("mock.x", value.clone())])));
        let effective = &layers.effective()["mock.x"];
        let replaced = effective.overridden.iter().rev().map(|it| &it.value);
        assert_eq!(replaced.chain([&effective.value]).collect::<Vec<_>>(), values.iter().collect::<Vec<_>>());
    }
}
