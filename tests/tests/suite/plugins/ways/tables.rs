//! Tables, manifests and extensions that the host refuses before anything is measured.

use proctor_plugin_api::abi::PROCTOR_ABI_MINOR;

use super::row::{
    Dispatch::{Batches, Queries},
    Outcome, Row,
};

/// Call, way, and the host's words, with the minor version of the ABI.
const WRONG: [(&str, &str, &str); 87] = [
    ("proctor_plugin_entry", "null", "returned no table and gave no reason"),
    ("proctor_plugin_entry", "refuse", "refuses this host: it wants a full moon"),
    ("proctor_plugin_entry", "refuse-beyond", "returned no table and gave no reason"),
    ("proctor_plugin_entry", "unaligned", "ProctorPlugin is not aligned"),
    ("proctor_plugin_entry", "size=0", "ProctorPlugin has 0 bytes"),
    ("proctor_plugin_entry", "size=24", "ProctorPlugin has 24 bytes"),
    ("proctor_plugin_entry", "size=1001", "ProctorPlugin has 1001 bytes"),
    ("proctor_plugin_entry", "size=0x10000000000", "ProctorPlugin has 1099511627776 bytes"),
    ("proctor_plugin_entry", "major=0", "follows ABI 0.MINOR, this host speaks 1.x only"),
    ("proctor_plugin_entry", "major=99", "follows ABI 99.MINOR, this host speaks 1.x only"),
    ("proctor_plugin_entry", "no-describe", "the required function ProctorPlugin.describe is null"),
    ("proctor_plugin_entry", "no-open", "the required function ProctorPlugin.open is null"),
    ("proctor_plugin_entry", "no-load_model", "the required function ProctorPlugin.load_model is null"),
    ("proctor_plugin_entry", "no-create_instance", "function ProctorPlugin.create_instance is null"),
    ("proctor_plugin_entry", "no-execute", "the required function ProctorPlugin.execute is null"),
    ("proctor_plugin_entry", "no-destroy_instance", "function ProctorPlugin.destroy_instance is null"),
    ("proctor_plugin_entry", "no-unload_model", "the required function ProctorPlugin.unload_model is null"),
    ("proctor_plugin_entry", "no-close", "the required function ProctorPlugin.close is null"),
    ("proctor_plugin_entry", "no-extension", "but its table has no function `extension`"),
    (
        "extension",
        "null",
        "the manifest promises \"proctor.issue/1\", but its function `extension` returns null",
    ),
    ("extension", "unaligned", "ProctorIssue is not aligned"),
    ("extension", "no-issue", "the required function ProctorIssue.issue is null"),
    ("extension", "size=0", "ProctorIssue has 0 bytes"),
    ("extension", "size=9", "ProctorIssue has 9 bytes"),
    ("extension", "size=0x10000000000", "ProctorIssue has 1099511627776 bytes"),
    ("describe", "null", "ProctorManifest is null"),
    ("describe", "unaligned", "ProctorManifest is not aligned"),
    ("describe", "size=0", "ProctorManifest has 0 bytes"),
    ("describe", "size=8", "ProctorManifest has 8 bytes"),
    ("describe", "size=0x10000000000", "ProctorManifest has 1099511627776 bytes"),
    ("describe", "name-null", "manifest.name is null"),
    ("describe", "name-empty", "manifest.name is empty"),
    ("describe", "name-null-with-length", "manifest.name is null with a length of 5"),
    ("describe", "name-wild", "manifest.name is 18446744073709551615 bytes long, more than 1048576"),
    ("describe", "name-not-utf8", "manifest.name is not UTF-8"),
    ("describe", "name-controls", "manifest.name has the control character '\\n'"),
    (
        "describe",
        "name-upper-case",
        "the name \"Wayward\" has more than lower-case letters, digits and hyphens",
    ),
    ("describe", "name-long-name", "manifest.name is 129 bytes long, more than the 128 of a name"),
    ("describe", "name-long", "manifest.name is 1048577 bytes long, more than 1048576"),
    ("describe", "vendor-not-utf8", "manifest.vendor is not UTF-8"),
    ("describe", "vendor-long", "manifest.vendor is 1048577 bytes long, more than 1048576"),
    ("describe", "vendor-escape", "manifest.vendor has the control character '\\u{1b}'"),
    ("describe", "vendor-separated", "manifest.vendor has the control character '\\u{2028}'"),
    ("describe", "vendor-null-with-length", "manifest.vendor is null with a length of 5"),
    ("describe", "version-null", "manifest.version is null"),
    ("describe", "version-empty", "manifest.version is empty"),
    ("describe", "version-turned", "manifest.version has the control character '\\u{202e}'"),
    ("describe", "license-empty", "manifest.license is empty"),
    ("describe", "license-controls", "manifest.license has the control character '\\n'"),
    ("describe", "description-controls", "manifest.description has the control character '\\n'"),
    ("describe", "description-wild", "manifest.description is 18446744073709551615 bytes long"),
    ("describe", "capabilities=0", "of the capabilities EXECUTE and ISSUE, a plugin has to have one"),
    ("describe", "model-empty", "models[0].model is empty"),
    ("describe", "model-null", "models[0].model is null"),
    ("describe", "model-long-name", "models[0].model is 129 bytes long, more than the 128 of a name"),
    ("describe", "format-empty", "models[0].format is empty"),
    ("describe", "format-wild", "models[0].format is 18446744073709551615 bytes long"),
    ("describe", "precision-controls", "models[0].precision has the control character '\\n'"),
    ("describe", "precision-null", "models[0].precision is null"),
    ("describe", "device-null", "models[0].device is null"),
    ("describe", "device-not-utf8", "models[0].device is not UTF-8"),
    ("describe", "scenarios=0", "models[0] has no scenario"),
    ("describe", "scenarios=0x100", "models[0] has unknown scenario bits 0x100"),
    ("describe", "flags=0x80000000", "models[0] has unknown flags 0x80000000"),
    ("describe", "model-stride=0", "ProctorModelSupport has 0 bytes"),
    ("describe", "model-stride=0x10000000000", "ProctorModelSupport has 1099511627776 bytes"),
    ("describe", "models-null", "manifest.models is null"),
    ("describe", "models-unaligned", "manifest.models is not aligned"),
    ("describe", "model-count=0", "it declares no models"),
    ("describe", "model-count=-1", "18446744073709551615 manifest.models are more than 65536"),
    ("describe", "model-count=65537", "65537 manifest.models are more than 65536"),
    ("describe", "option-null", "options[0].name is null"),
    ("describe", "option-upper-case", "option \"Wayward\" has more in its name than lower-case letters"),
    ("describe", "option-controls", "options[0].name has the control character '\\n'"),
    ("describe", "help-not-utf8", "options[0].help is not UTF-8"),
    ("describe", "help-controls", "options[0].help has the control character '\\n'"),
    ("describe", "default-null-with-length", "options[0].default_value is null with a length of 5"),
    ("describe", "default-beyond", "option \"level\" has a default that it does not take"),
    ("describe", "kind=0", "option \"level\" has the unknown kind 0"),
    ("describe", "kind=99", "option \"level\" has the unknown kind 99"),
    ("describe", "option-stride=0", "ProctorOptionSpec has 0 bytes"),
    ("describe", "options-null", "manifest.options is null"),
    ("describe", "options-unaligned", "manifest.options is not aligned"),
    ("describe", "option-count=-1", "18446744073709551615 manifest.options are more than 65536"),
    ("describe", "choices-null", "choices of option \"level\" is null"),
    ("describe", "choice-count=0", "option \"level\" is a choice without words"),
    ("describe", "choice-count=0xffffffff", "4294967295 choices of option \"level\" are more than 65536"),
];

/// Further ones of options.
const OPTIONS: [(&str, &str); 3] = [
    ("twice-declared", "option \"level\" is declared twice"),
    ("range-inverted", "option \"level\" has a range whose smallest value is above the largest"),
    ("range-nan", "option \"level\" has a range whose smallest value is above the largest"),
];

pub(super) fn rows() -> Vec<Row> {
    let options = OPTIONS.iter().map(|(way, says)| ("describe", *way, *says));
    WRONG
        .into_iter()
        .chain(options)
        .map(|(call, way, says)| {
            let dispatch = if call == "extension" { Queries } else { Batches };
            let says = says.replace("MINOR", &PROCTOR_ABI_MINOR.to_string());
            Row::new(call, way, dispatch, Outcome::Refused, &[&says])
        })
        .collect()
}
