//! Turns the ABI's manifest into [`Manifest`], with every pointer and value checked.

use proctor_plugin_api::{
    Manifest, ModelSupport, OptionKind, OptionSpec,
    abi::{self, ProctorManifest, ProctorModelSupport, ProctorOptionSpec},
    vocabulary::Scenario,
};

use crate::{
    error::PluginHostError,
    foreign::Reader,
    load::rules::{OptionTexts, check_manifest},
};

const SCENARIOS: [(u32, Scenario); 4] = [
    (abi::PROCTOR_SCENARIO_SINGLE_STREAM, Scenario::SingleStream),
    (abi::PROCTOR_SCENARIO_MULTI_STREAM, Scenario::MultiStream),
    (abi::PROCTOR_SCENARIO_SERVER, Scenario::Server),
    (abi::PROCTOR_SCENARIO_OFFLINE, Scenario::Offline),
];

pub(crate) fn scenario_bit(scenario: Scenario) -> u32 {
    SCENARIOS.iter().find(|(_, known)| *known == scenario).map_or(0, |(bit, _)| *bit)
}

/// Reads and checks the manifest. `newer` is true for a plugin whose minor version is above the host's: it may have
/// scenarios, flags and kinds that the host does not know. Capabilities may be a vendor's own, and are ignored then.
///
/// # Safety
/// `raw` is null, or the plugin vouches for the manifest there and everything that it points to.
pub(crate) unsafe fn read_manifest(
    reader: Reader<'_>,
    raw: *const ProctorManifest,
    newer: bool,
) -> Result<Manifest, PluginHostError> {
    // SAFETY: `raw` is null or points to a manifest that says its size, which the caller promises for this function.
    let raw = unsafe { reader.structure(raw) }?;
    let has = |capability| raw.capabilities & capability != 0;
    // SAFETY: the texts belong to the manifest, and the caller promises all that it points to.
    let (name, vendor, version, license, description) = unsafe {
        (
            reader.name("manifest.name", raw.name)?,
            reader.line("manifest.vendor", raw.vendor)?.unwrap_or_default(),
            reader.required_line("manifest.version", raw.version)?,
            reader.required_line("manifest.license", raw.license)?,
            reader.line("manifest.description", raw.description)?.unwrap_or_default(),
        )
    };
    // SAFETY: the rows belong to the manifest, and the caller promises all that it points to.
    let rows = unsafe { reader.list("manifest.models", raw.models, raw.model_count, raw.model_stride) }?;
    // SAFETY: the options belong to the manifest, and the caller promises all that it points to.
    let specs = unsafe { reader.list("manifest.options", raw.options, raw.option_count, raw.option_stride) }?;
    let mut manifest = Manifest::new(&name, &version, &description).vendor(&vendor, &license);
    manifest.execute = has(abi::PROCTOR_CAPABILITY_EXECUTE);
    manifest.issue = has(abi::PROCTOR_CAPABILITY_ISSUE);
    manifest.concurrent_issue = has(abi::PROCTOR_CAPABILITY_CONCURRENT_ISSUE);
    manifest.network = has(abi::PROCTOR_CAPABILITY_NETWORK);
    manifest.virtual_time = has(abi::PROCTOR_CAPABILITY_VIRTUAL_TIME);
    for (index, row) in rows.iter().enumerate() {
        // SAFETY: the row is a copy of one of the manifest's, whose texts the caller promises with it.
        manifest.models.extend(unsafe { read_model(reader, index, row, newer) }?);
    }
    if manifest.models.is_empty() && !rows.is_empty() {
        return Err(reader.bad_manifest("all of its models are for scenarios that only a newer host knows"));
    }
    // While they are copied: many may point to one long text.
    let mut texts = OptionTexts::default();
    for (index, spec) in specs.iter().enumerate() {
        // SAFETY: the option is a copy of one of the manifest's, whose texts and choices the caller promises with it.
        let spec = unsafe { read_option(reader, index, spec, newer) }?;
        let Some(spec) = spec else { continue };
        texts.add(reader, &spec)?;
        manifest.options.push(spec);
    }
    check_manifest(reader, &manifest)?;
    Ok(manifest)
}

/// Returns a row, or `None` for one of a newer plugin that has no scenario which this host knows.
///
/// # Safety
/// The plugin vouches for what `row` points to.
unsafe fn read_model(
    reader: Reader<'_>,
    index: usize,
    row: &ProctorModelSupport,
    newer: bool,
) -> Result<Option<ModelSupport>, PluginHostError> {
    let unknown_scenarios = row.scenarios & !SCENARIOS.iter().fold(0, |bits, (bit, _)| bits | bit);
    if unknown_scenarios != 0 && !newer {
        let what = format!("models[{index}] has unknown scenario bits {unknown_scenarios:#x}");
        return Err(reader.bad_manifest(&what));
    }
    let unknown = row.flags & !abi::PROCTOR_MODEL_DYNAMIC_SHAPES;
    if unknown != 0 && !newer {
        return Err(reader.bad_manifest(&format!("models[{index}] has unknown flags {unknown:#x}")));
    }
    let scenarios: Vec<Scenario> =
        SCENARIOS.iter().filter(|(bit, _)| row.scenarios & bit != 0).map(|(_, scenario)| *scenario).collect();
    if scenarios.is_empty() && unknown_scenarios != 0 {
        tracing::info!(
            plugin = reader.source_name,
            "models[{index}] is for scenarios that only a newer host knows"
        );
        return Ok(None);
    }
    // SAFETY: the text is a field of `row`, for whose pointers the plugin vouches.
    let text = |field: &str, text| unsafe { reader.name(&format!("models[{index}].{field}"), text) };
    Ok(Some(ModelSupport {
        model: text("model", row.model)?,
        format: text("format", row.format)?,
        precision: text("precision", row.precision)?,
        device: text("device", row.device)?,
        scenarios,
        batch_size_max: row.batch_size_max,
        dynamic_shapes: row.flags & abi::PROCTOR_MODEL_DYNAMIC_SHAPES != 0,
        memory_bytes: row.memory_bytes,
    }))
}

/// Returns an option, or `None` for one of a newer plugin whose kind this host does not know: it cannot be set.
///
/// # Safety
/// The plugin vouches for what `raw` points to.
unsafe fn read_option(
    reader: Reader<'_>,
    index: usize,
    raw: &ProctorOptionSpec,
    newer: bool,
) -> Result<Option<OptionSpec>, PluginHostError> {
    // SAFETY: the three texts are fields of `raw`, for whose pointers the plugin vouches.
    let (name, help, default) = unsafe {
        (
            reader.name(&format!("options[{index}].name"), raw.name)?,
            reader.line(&format!("options[{index}].help"), raw.help)?.unwrap_or_default(),
            reader.line(&format!("options[{index}].default_value"), raw.default_value)?,
        )
    };
    let kind = match raw.kind {
        abi::PROCTOR_OPTION_BOOLEAN => OptionKind::Boolean,
        abi::PROCTOR_OPTION_INTEGER if (raw.integer_min, raw.integer_max) == (0, 0) => {
            OptionKind::Integer(i64::MIN..=i64::MAX)
        }
        abi::PROCTOR_OPTION_FLOAT if (raw.float_min, raw.float_max) == (0.0, 0.0) => {
            OptionKind::Float(f64::MIN..=f64::MAX)
        }
        abi::PROCTOR_OPTION_INTEGER => OptionKind::Integer(raw.integer_min..=raw.integer_max),
        abi::PROCTOR_OPTION_FLOAT => OptionKind::Float(raw.float_min..=raw.float_max),
        abi::PROCTOR_OPTION_TEXT => OptionKind::Text,
        abi::PROCTOR_OPTION_PATH => OptionKind::Path,
        abi::PROCTOR_OPTION_CHOICE => {
            let count = usize::try_from(raw.choice_count).unwrap_or(usize::MAX);
            // SAFETY: choices and count are fields of `raw`, for whose pointers the plugin vouches.
            let words = unsafe { reader.texts(&format!("choices of option \"{name}\""), raw.choices, count) };
            OptionKind::Choice(words?)
        }
        unknown if newer => {
            tracing::info!(
                plugin = reader.source_name,
                "option \"{name}\" is of kind {unknown}, which only a newer host knows"
            );
            return Ok(None);
        }
        unknown => {
            return Err(reader.bad_manifest(&format!("option \"{name}\" has the unknown kind {unknown}")));
        }
    };
    Ok(Some(OptionSpec { name, kind, default, help }))
}
