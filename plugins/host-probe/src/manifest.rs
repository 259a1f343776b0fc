//! The manifest, and the options of a backend.

use proctor_plugin_api::abi::*;

/// Largest batch that the manifest declares.
pub(crate) const BATCH_SIZE_MAX: u32 = 64;
/// The one precision that the manifest declares.
pub(crate) const PRECISION: &str = "f32";
/// The one device that the manifest declares.
pub(crate) const DEVICE: &str = "cpu";

/// Batches in flight of each instance.
const IN_FLIGHT: &str = "in_flight";
/// Time that a batch takes, in microseconds.
const SERVICE_US: &str = "service_us";

/// A constant.
struct Constant<T>(T);

// SAFETY: it is made at compile time, and nobody writes to it or to what it points to.
unsafe impl<T> Sync for Constant<T> {}

const fn text(text: &'static str) -> ProctorString {
    ProctorString { data: text.as_ptr(), length: text.len() }
}

const fn integer(
    name: &'static str,
    help: &'static str,
    default: &'static str,
    most: i64,
) -> ProctorOptionSpec {
    ProctorOptionSpec {
        name: text(name),
        help: text(help),
        default_value: text(default),
        kind: PROCTOR_OPTION_INTEGER,
        choice_count: 0,
        choices: std::ptr::null(),
        integer_min: 0,
        integer_max: most,
        float_min: 0.0,
        float_max: 0.0,
    }
}

static MODELS: Constant<[ProctorModelSupport; 1]> = Constant([ProctorModelSupport {
    model: text("*"),
    format: text("none"),
    precision: text(PRECISION),
    device: text(DEVICE),
    scenarios: PROCTOR_SCENARIO_SINGLE_STREAM
        | PROCTOR_SCENARIO_MULTI_STREAM
        | PROCTOR_SCENARIO_SERVER
        | PROCTOR_SCENARIO_OFFLINE,
    batch_size_max: BATCH_SIZE_MAX,
    flags: PROCTOR_MODEL_DYNAMIC_SHAPES,
    memory_bytes: 0,
}]);

static OPTIONS: Constant<[ProctorOptionSpec; 2]> = Constant([
    integer(IN_FLIGHT, "Batches that an instance takes at a time; 0 executes one after the other.", "0", 8),
    integer(SERVICE_US, "Time that a batch takes, in microseconds.", "0", 1_000_000),
]);

static MANIFEST: Constant<ProctorManifest> = Constant(ProctorManifest {
    size: size_of::<ProctorManifest>(),
    name: text("host-probe"),
    vendor: text("Proctor"),
    version: text(env!("CARGO_PKG_VERSION")),
    license: text(env!("CARGO_PKG_LICENSE")),
    description: text("Checks that the host keeps what the header promises to a plugin."),
    // Not several queries at the same time: the issuing threads have to take turns.
    capabilities: PROCTOR_CAPABILITY_EXECUTE | PROCTOR_CAPABILITY_ISSUE | PROCTOR_CAPABILITY_VIRTUAL_TIME,
    models: &raw const MODELS.0 as *const ProctorModelSupport,
    model_count: MODELS.0.len(),
    model_stride: size_of::<ProctorModelSupport>(),
    options: &raw const OPTIONS.0 as *const ProctorOptionSpec,
    option_count: OPTIONS.0.len(),
    option_stride: size_of::<ProctorOptionSpec>(),
});

/// Returns the manifest, which is never freed.
pub(crate) fn manifest() -> *const ProctorManifest {
    &raw const MANIFEST.0
}

/// The options that a backend was opened with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Options {
    /// Number of batches in flight of each instance; 0 for none.
    pub(crate) in_flight: u32,
    /// Time that a batch takes, in microseconds.
    pub(crate) service_us: u64,
}

impl Options {
    /// Takes the value of one option.
    ///
    /// # Errors
    /// Returns a sentence about an option that the manifest does not declare, or a value that it does not allow.
    pub(crate) fn set(&mut self, name: &str, value: &ProctorOptionValue) -> Result<(), String> {
        let most = match name {
            IN_FLIGHT => OPTIONS.0[0].integer_max,
            SERVICE_US => OPTIONS.0[1].integer_max,
            _ => return Err(format!("option \"{name}\" is none of the manifest")),
        };
        if value.kind != PROCTOR_OPTION_INTEGER {
            return Err(format!("option \"{name}\" is of kind {}, not {PROCTOR_OPTION_INTEGER}", value.kind));
        }
        if !(0..=most).contains(&value.integer) {
            return Err(format!("option \"{name}\" is {}, not from 0 to {most}", value.integer));
        }
        match name {
            IN_FLIGHT => self.in_flight = u32::try_from(value.integer).unwrap_or(0),
            _ => self.service_us = value.integer.unsigned_abs(),
        }
        Ok(())
    }
}
