//! Turns the manifest in Rust into the one of the ABI, made once for each description and kept forever.

use std::{
    any::TypeId,
    collections::HashMap,
    ptr,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

use super::{plugin::Plugin, raw::text};
use crate::{
    abi,
    manifest::{Manifest, ModelSupport},
    options::{OptionKind, OptionSpec},
};

/// A plugin's description of itself, in Rust and in the form of the ABI.
pub(super) struct Described {
    pub(super) manifest: &'static Manifest,
    pub(super) raw: abi::ProctorManifest,
}

// SAFETY: it is made once and then only read, as is everything that it points to.
unsafe impl Send for Described {}
// SAFETY: as above.
unsafe impl Sync for Described {}

/// Returns the latest description of `P`. Valid to the end of the process.
pub(super) fn described<P: Plugin>() -> &'static Described {
    let known = known().get(&TypeId::of::<P>()).copied();
    known.unwrap_or_else(describe::<P>)
}

/// Asks `P` for its description. As long as it says the same, what is returned is the same.
pub(super) fn describe<P: Plugin>() -> &'static Described {
    let manifest = P::manifest();
    let mut known = known();
    match known.get(&TypeId::of::<P>()) {
        Some(same) if *same.manifest == manifest => same,
        _ => {
            let manifest: &'static Manifest = Box::leak(Box::new(manifest));
            let new: &'static Described =
                Box::leak(Box::new(Described { manifest, raw: raw_manifest(manifest) }));
            known.insert(TypeId::of::<P>(), new);
            new
        }
    }
}

/// Returns the latest description of each plugin.
fn known() -> MutexGuard<'static, HashMap<TypeId, &'static Described>> {
    // A static inside a generic function would be one for all plugins.
    static KNOWN: LazyLock<Mutex<HashMap<TypeId, &'static Described>>> = LazyLock::new(Mutex::default);
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn raw_manifest(manifest: &'static Manifest) -> abi::ProctorManifest {
    let mut capabilities = 0;
    if manifest.execute {
        capabilities |= abi::PROCTOR_CAPABILITY_EXECUTE;
    }
    if manifest.issue {
        capabilities |= abi::PROCTOR_CAPABILITY_ISSUE;
    }
    if manifest.concurrent_issue {
        capabilities |= abi::PROCTOR_CAPABILITY_CONCURRENT_ISSUE;
    }
    if manifest.virtual_time {
        capabilities |= abi::PROCTOR_CAPABILITY_VIRTUAL_TIME;
    }
    if manifest.network {
        capabilities |= abi::PROCTOR_CAPABILITY_NETWORK;
    }
    abi::ProctorManifest {
        size: size_of::<abi::ProctorManifest>(),
        name: text(&manifest.name),
        vendor: text(&manifest.vendor),
        version: text(&manifest.version),
        license: text(&manifest.license),
        description: text(&manifest.description),
        capabilities,
        models: leak(manifest.models.iter().map(raw_model)),
        model_count: manifest.models.len(),
        model_stride: size_of::<abi::ProctorModelSupport>(),
        options: leak(manifest.options.iter().map(raw_option)),
        option_count: manifest.options.len(),
        option_stride: size_of::<abi::ProctorOptionSpec>(),
    }
}

fn raw_model(model: &'static ModelSupport) -> abi::ProctorModelSupport {
    abi::ProctorModelSupport {
        model: text(&model.model),
        format: text(&model.format),
        precision: text(&model.precision),
        device: text(&model.device),
        scenarios: model.scenarios.iter().fold(0, |bits, scenario| bits | 1 << (*scenario as u32)),
        batch_size_max: model.batch_size_max,
        flags: if model.dynamic_shapes { abi::PROCTOR_MODEL_DYNAMIC_SHAPES } else { 0 },
        memory_bytes: model.memory_bytes,
    }
}

fn raw_option(option: &'static OptionSpec) -> abi::ProctorOptionSpec {
    let mut raw = abi::ProctorOptionSpec {
        name: text(&option.name),
        help: text(&option.help),
        default_value: option
            .default
            .as_deref()
            .map_or(abi::ProctorString { data: ptr::null(), length: 0 }, text),
        kind: 0,
        choice_count: 0,
        choices: ptr::null(),
        integer_min: i64::MIN,
        integer_max: i64::MAX,
        float_min: f64::MIN,
        float_max: f64::MAX,
    };
    raw.kind = match &option.kind {
        OptionKind::Boolean => abi::PROCTOR_OPTION_BOOLEAN,
        OptionKind::Integer(range) => {
            (raw.integer_min, raw.integer_max) = (*range.start(), *range.end());
            abi::PROCTOR_OPTION_INTEGER
        }
        OptionKind::Float(range) => {
            (raw.float_min, raw.float_max) = (*range.start(), *range.end());
            abi::PROCTOR_OPTION_FLOAT
        }
        OptionKind::Text => abi::PROCTOR_OPTION_TEXT,
        OptionKind::Path => abi::PROCTOR_OPTION_PATH,
        OptionKind::Choice(words) => {
            raw.choices = leak(words.iter().map(|word| text(word)));
            raw.choice_count =
                u32::try_from(words.len()).expect("a choice has fewer than four billion words");
            abi::PROCTOR_OPTION_CHOICE
        }
    };
    raw
}

fn leak<T>(items: impl Iterator<Item = T>) -> *const T {
    Box::leak(items.collect::<Box<[T]>>()).as_ptr()
}
