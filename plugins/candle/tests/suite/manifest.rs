//! The manifest of the plugin.

use candle_sut::{Candle, models::MODELS};
use proctor_plugin_api::{Plugin, linked_plugins, vocabulary::Scenario};
use proctor_plugin_host::{LoadedPlugin, PluginLocation};

#[test]
fn it_is_linked_in_under_its_name_and_declares_every_model_in_every_precision() {
    let names: Vec<String> = linked_plugins().map(|plugin| (plugin.name)()).collect();
    assert_eq!(names, ["candle"]);
    let manifest = Candle::manifest();
    for id in ["digits-lstm", "digits-cnn", "resnet50", "mobilenet-v1-tiny", "bert-large", "lstm-stack"] {
        for precision in ["f32", "bf16", "f16"] {
            let row = manifest.models.iter().find(|row| row.model == id && row.precision == precision);
            let row = row.unwrap_or_else(|| panic!("{id} in {precision}"));
            assert_eq!((row.format.as_str(), row.device.as_str()), ("safetensors", "cpu"));
            assert_eq!((row.scenarios.as_slice(), row.batch_size_max), (Scenario::ALL, 0));
        }
    }
}

#[test]
fn no_two_kinds_of_models_share_an_id() {
    let mut ids: Vec<&str> = MODELS.iter().flat_map(|known| known.ids).copied().collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn options_are_checked() {
    let library = LoadedPlugin::load(&PluginLocation::Linked("candle")).unwrap();
    let resolve = |name: &str, value: &str| library.options(&[(name.to_owned(), value.to_owned())].into());
    assert!(resolve("threads", "2").is_ok());
    for (name, value) in [("threads", "1025"), ("threads", "two"), ("thread", "1")] {
        assert!(resolve(name, value).expect_err("a bad option").to_string().contains(name));
    }
}
