//! Each kind of wrong file, table or manifest has its own message.

use proctor_plugin_api::{
    LinkedPlugin, Manifest, ModelSupport, OptionKind,
    abi::{PROCTOR_ABI_MINOR, PROCTOR_MODEL_DYNAMIC_SHAPES, PROCTOR_TEXT_LENGTH_MAX},
    vocabulary::Scenario,
};

use super::*;
use crate::{Described, PluginIdentity};

fn refused(table: ProctorPlugin, manifest: ProctorManifest) -> String {
    load(table, manifest).unwrap_err().to_string()
}

fn bad_table(change: impl FnOnce(&mut ProctorPlugin)) -> String {
    let mut table = table();
    change(&mut table);
    refused(table, good_manifest())
}

fn bad_manifest(change: impl FnOnce(&mut ProctorManifest)) -> String {
    let mut manifest = good_manifest();
    change(&mut manifest);
    refused(table(), manifest)
}

fn bad_model(change: impl FnOnce(&mut ProctorModelSupport)) -> String {
    let mut row = model_row();
    change(&mut row);
    refused(table(), manifest(vec![model_row(), row], vec![]))
}

fn bad_option(change: impl FnOnce(&mut ProctorOptionSpec)) -> String {
    let mut row = option_row();
    row.name = text("other");
    change(&mut row);
    refused(table(), manifest(vec![model_row()], vec![option_row(), row]))
}

fn good_manifest() -> ProctorManifest {
    manifest(vec![model_row()], vec![option_row()])
}

#[test]
fn a_good_table_is_read_into_rust() {
    let library = good_library();
    let identity = library.identity();
    assert_eq!((identity.abi_major, identity.layout_checked, library.sha256()), (1, false, None));
    let manifest = library.manifest();
    assert_eq!((manifest.name.as_str(), manifest.version.as_str()), ("hand-made", "1.2.3"));
    assert_eq!(manifest.models[0].scenarios, [Scenario::Server, Scenario::Offline]);
    assert_eq!(manifest.options[0].kind, OptionKind::Integer(1..=8));
    assert!(manifest.issue);
    assert!(manifest.virtual_time);
    assert_eq!(manifest.vendor, "");
}

#[test]
fn a_refusal_is_the_plugins_own_words() {
    TABLE.set(ptr::null());
    let refuse =
        || LoadedPlugin::from_entry(entry, "hand", Origin::linked(), &mut |_| ()).unwrap_err().to_string();
    REFUSAL.set("speaks 7.0 only");
    assert_eq!(refuse(), "hand refuses this host: speaks 7.0 only");
    REFUSAL.set("");
    assert_eq!(refuse(), "hand returned no table and gave no reason; it should write one to `refusal`");
}

#[test]
fn another_version_or_size_is_refused() {
    assert_eq!(
        bad_table(|table| (table.abi_major, table.abi_minor) = (2, 0)),
        "hand follows ABI 2.0, this host speaks 1.x only: rebuild the plugin"
    );
    for size in [0, size_of::<ProctorPlugin>() - 1, 1 << 40] {
        let message = bad_table(|table| table.size = size);
        let expected =
            format!("hand: ProctorPlugin has {size} bytes, which is not from the 136 of ABI 1.0 to 65536");
        assert!(message.starts_with(&expected), "{message}");
    }
}

#[test]
fn a_newer_minor_version_is_taken_with_what_both_know() {
    #[repr(C)]
    struct Longer {
        table: ProctorPlugin,
        more: [usize; 9],
    }
    let mut longer = Longer { table: table(), more: [usize::MAX; 9] };
    (longer.table.size, longer.table.abi_minor) = (size_of::<Longer>(), 9);
    TABLE.set(&raw const leak(longer).table);
    MANIFEST.set(leak(ProctorManifest {
        capabilities: good_manifest().capabilities | 1 << 40,
        ..good_manifest()
    }));
    let library = LoadedPlugin::from_entry(entry, "hand", Origin::linked(), &mut |_| ()).unwrap();
    assert_eq!(library.identity().abi_minor, 9);
}

#[test]
fn rows_and_options_that_only_a_newer_host_knows_are_left_out() {
    let rows = || {
        let newer_scenario = ProctorModelSupport { scenarios: 1 << 20, ..model_row() };
        let both = ProctorModelSupport { scenarios: model_row().scenarios | 1 << 20, ..model_row() };
        vec![newer_scenario, ProctorModelSupport { flags: 1 << 20, ..both }]
    };
    let options = || vec![ProctorOptionSpec { kind: 99, name: text("newer"), ..option_row() }, option_row()];
    let of_minor =
        |abi_minor, models, options| load(ProctorPlugin { abi_minor, ..table() }, manifest(models, options));
    let library = of_minor(9, rows(), options()).unwrap();
    let (models, specs) = (&library.manifest().models, &library.manifest().options);
    assert_eq!((models.len(), specs.len()), (1, 1), "{models:?} {specs:?}");
    assert_eq!(models[0].scenarios, [Scenario::Server, Scenario::Offline]);
    assert_eq!(specs[0].name, "threads");

    // Of this host's own minor version they are mistakes.
    let own = PROCTOR_ABI_MINOR;
    let message = of_minor(own, rows(), vec![]).unwrap_err().to_string();
    assert_eq!(message, "hand: the manifest is wrong: models[0] has unknown scenario bits 0x100000");
    let message = of_minor(own, vec![model_row()], options()).unwrap_err().to_string();
    assert_eq!(message, "hand: the manifest is wrong: option \"newer\" has the unknown kind 99");
    let all = vec![ProctorModelSupport { scenarios: 1 << 20, ..model_row() }];
    let message = of_minor(9, all, vec![]).unwrap_err().to_string();
    assert!(
        message.ends_with("all of its models are for scenarios that only a newer host knows"),
        "{message}"
    );
}

#[test]
fn dynamic_shapes_mean_nothing_before_inputs_could_vary() {
    let varies = |abi_minor| {
        let row = ProctorModelSupport { flags: PROCTOR_MODEL_DYNAMIC_SHAPES, ..model_row() };
        let library = load(ProctorPlugin { abi_minor, ..table() }, manifest(vec![row], vec![])).unwrap();
        library.manifest().models[0].dynamic_shapes
    };
    assert_eq!([1, 2, 3, 9].map(varies), [false, false, true, true]);
}

#[test]
fn a_capability_that_the_host_does_not_know_is_ignored() {
    TABLE.set(leak(table()));
    MANIFEST.set(leak(ProctorManifest {
        capabilities: good_manifest().capabilities | 1 << 40,
        ..good_manifest()
    }));
    LoadedPlugin::from_entry(entry, "hand", Origin::linked(), &mut |_| ()).unwrap();
}

#[test]
fn a_missing_function_is_named() {
    assert_eq!(
        bad_table(|table| table.execute = None),
        "hand: the required function ProctorPlugin.execute is null"
    );
    assert_eq!(
        bad_table(|table| table.close = None),
        "hand: the required function ProctorPlugin.close is null"
    );
    assert_eq!(
        bad_table(|table| table.extension = None),
        "hand: the manifest promises \"proctor.issue/1\", but its table has no function `extension`"
    );
}

#[test]
fn a_wrong_pointer_is_refused() {
    TABLE.set(leak(table()));
    MANIFEST.set(ptr::null());
    let refuse =
        || LoadedPlugin::from_entry(entry, "hand", Origin::linked(), &mut |_| ()).unwrap_err().to_string();
    assert_eq!(refuse(), "hand: ProctorManifest is null");
    MANIFEST.set(ptr::from_ref(leak(good_manifest())).wrapping_byte_add(1));
    assert_eq!(refuse(), "hand: ProctorManifest is not aligned");
    assert_eq!(bad_manifest(|manifest| manifest.models = ptr::null()), "hand: manifest.models is null");
    assert_eq!(bad_manifest(|manifest| manifest.options = ptr::null()), "hand: manifest.options is null");
}

#[test]
fn texts_are_checked() {
    assert_eq!(bad_manifest(|manifest| manifest.name = NULL), "hand: manifest.name is null");
    assert_eq!(bad_manifest(|manifest| manifest.name = text("")), "hand: manifest.name is empty");
    assert_eq!(
        bad_manifest(|manifest| manifest.name = text("Hand made")),
        "hand: the manifest is wrong: the name \"Hand made\" has more than lower-case letters, digits and hyphens"
    );
    let bytes: &[u8] = b"a\xff";
    let message = bad_manifest(|manifest| {
        manifest.vendor = ProctorString { data: bytes.as_ptr(), length: bytes.len() }
    });
    assert!(message.starts_with("hand: manifest.vendor is not UTF-8: "), "{message}");
    let message = bad_manifest(|manifest| manifest.version.length = usize::MAX);
    assert!(message.contains("manifest.version is 18446744073709551615 bytes long"), "{message}");
    let null = ProctorString { data: ptr::null(), length: 3 };
    assert_eq!(
        bad_manifest(|manifest| manifest.description = null),
        "hand: manifest.description is null with a length of 3"
    );
}

#[test]
fn a_manifest_has_to_make_sense() {
    let starts = |message: String, what: &str| {
        assert_eq!(message, format!("hand: the manifest is wrong: {what}"));
    };
    starts(bad_manifest(|manifest| manifest.model_count = 0), "it declares no models");
    starts(
        bad_manifest(|manifest| manifest.capabilities = PROCTOR_CAPABILITY_NETWORK),
        "of the capabilities EXECUTE and ISSUE, a plugin has to have one",
    );
    starts(
        bad_manifest(|manifest| {
            manifest.capabilities = PROCTOR_CAPABILITY_ISSUE | PROCTOR_CAPABILITY_VIRTUAL_TIME;
        }),
        "the capability VIRTUAL_TIME is there without EXECUTE",
    );
    starts(
        bad_manifest(|manifest| manifest.model_count = 70_000),
        "70000 manifest.models are more than 65536",
    );
    starts(bad_model(|row| row.scenarios = 16), "models[1] has unknown scenario bits 0x10");
    starts(bad_model(|row| row.scenarios = 0), "models[1] has no scenario");
    starts(bad_model(|row| row.flags = 2), "models[1] has unknown flags 0x2");
    starts(bad_model(|row| row.model = text("di*ts")), "models[1].model \"di*ts\" has a * before its end");
    starts(
        bad_model(|row| row.format = text("onnx*")),
        "models[1].format \"onnx*\" has a *, which stands for any format, alone",
    );
    assert_eq!(bad_model(|row| row.device = NULL), "hand: models[1].device is null");
}

#[test]
fn an_option_has_to_make_sense() {
    let starts = |message: String, what: &str| {
        assert_eq!(message, format!("hand: the manifest is wrong: option {what}"));
    };
    starts(bad_option(|row| row.kind = 9), "\"other\" has the unknown kind 9");
    starts(
        bad_option(|row| row.integer_min = 9),
        "\"other\" has a range whose smallest value is above the largest",
    );
    starts(
        bad_option(|row| row.default_value = text("9")),
        "\"other\" has a default that it does not take: option \"other\" cannot be \"9\": it takes an integer from 1 to 8",
    );
    starts(bad_option(|row| row.name = text("threads")), "\"threads\" is declared twice");
    starts(bad_option(|row| row.kind = PROCTOR_OPTION_CHOICE), "\"other\" is a choice without words");
    starts(
        bad_option(|row| row.name = text("No-thing")),
        "\"No-thing\" has more in its name than lower-case letters, digits and underscores",
    );
    starts(
        bad_option(|row| (row.kind, row.float_min) = (PROCTOR_OPTION_FLOAT, f64::NAN)),
        "\"other\" has a range whose smallest value is above the largest",
    );
}

#[test]
fn choices_are_copied() {
    let words = leak([text("fifo"), text("shuffled")]);
    let row = ProctorOptionSpec {
        kind: PROCTOR_OPTION_CHOICE,
        choices: words.as_ptr(),
        choice_count: 2,
        default_value: text("fifo"),
        ..option_row()
    };
    let library = load(table(), manifest(vec![model_row()], vec![row])).unwrap();
    assert_eq!(
        library.manifest().options[0].kind,
        OptionKind::Choice(vec!["fifo".into(), "shuffled".into()])
    );
}

#[test]
fn the_texts_of_all_options_are_bounded_together() {
    let help = text(Box::leak("x".repeat(PROCTOR_TEXT_LENGTH_MAX / 4).into_boxed_str()));
    let options = |count: usize| {
        let option = |number: usize| {
            let name = text(Box::leak(format!("o{number}").into_boxed_str()));
            ProctorOptionSpec { name, help, default_value: NULL, ..option_row() }
        };
        (0..count).map(option).collect()
    };
    load(table(), manifest(vec![model_row()], options(4))).unwrap();
    assert_eq!(
        refused(table(), manifest(vec![model_row()], options(5))),
        "hand: the manifest is wrong: its options have more than 1048576 bytes of text"
    );
}

#[test]
fn a_range_that_is_left_out_bounds_nothing() {
    let left_out = |kind| ProctorOptionSpec {
        kind,
        default_value: NULL,
        integer_min: 0,
        integer_max: 0,
        float_min: 0.0,
        float_max: 0.0,
        ..option_row()
    };
    for (kind, value) in [(PROCTOR_OPTION_INTEGER, "-9223372036854775808"), (PROCTOR_OPTION_FLOAT, "-1e308")]
    {
        let library = load(table(), manifest(vec![model_row()], vec![left_out(kind)])).unwrap();
        library.options(&given("threads", value)).unwrap();
    }
}

#[test]
fn a_wrong_option_names_the_plugin() {
    let library = good_library();
    let message = library.options(&given("thread", "1")).unwrap_err().to_string();
    assert_eq!(message, "plugin hand-made: the plugin has no option \"thread\", did you mean \"threads\"?");
    let message = library.options(&given("threads", "0")).unwrap_err().to_string();
    assert!(message.starts_with("plugin hand-made: option \"threads\" cannot be \"0\""), "{message}");
}

#[test]
fn a_description_from_another_process_keeps_the_same_rules() {
    good_library();
    let stand_in = || LinkedPlugin { entry, name: || "hand-made".to_owned() };
    let described = |change: fn(&mut Described)| {
        let identity = PluginIdentity {
            abi_major: PROCTOR_ABI_MAJOR,
            abi_minor: 0,
            source: "linked in".to_owned(),
            layout_checked: true,
        };
        let manifest = Manifest::new("other", "1", "").model(ModelSupport::new("*", "*"));
        let mut described = Described { manifest, identity, has_warm_up: false, file: None };
        change(&mut described);
        LoadedPlugin::elsewhere(stand_in(), "hand", || Ok(described)).map_err(|error| error.to_string())
    };
    assert_eq!(described(|_| ()).unwrap().manifest().name, "other");
    let error = |change| described(change).unwrap_err();
    assert_eq!(
        error(|it| it.manifest.name = "../../victim".to_owned()),
        "hand: the manifest is wrong: the name \"../../victim\" has more than lower-case letters, digits and hyphens"
    );
    assert_eq!(
        error(|it| it.manifest.version = "1\n  verdict     VALID".to_owned()),
        "hand: manifest.version has the control character '\\n'"
    );
    assert_eq!(error(|it| it.manifest.models.clear()), "hand: the manifest is wrong: it declares no models");
    assert_eq!(
        error(|it| it.identity.abi_major += 1),
        "hand follows ABI 2.0, this host speaks 1.x only: rebuild the plugin"
    );
}
