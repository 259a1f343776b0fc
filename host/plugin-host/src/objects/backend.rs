//! An opened plugin.

use std::{
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use proctor_plugin_api::{
    OptionError, OptionValue, Options,
    abi::{self, ProctorBackend, ProctorOpenRequest, ProctorOptionValue},
    vocabulary::{CompletionSink, did_you_mean},
};

use crate::{
    call::Call,
    error::PluginHostError,
    foreign::Reader,
    guard::{activity::Activity, checked::checked, handlers::watched},
    load::loaded_plugin::LoadedPlugin,
    objects::{
        demand::bad_demand,
        handle::{Handle, NO_TEXT, borrowed},
    },
    services::{
        context::{HostContext, HostServices},
        host_side::HostSide,
        host_table,
    },
};

/// An opened plugin. Clones share it; when the last one and all its models are gone, it is closed, but not unloaded.
///
/// One thread should open it, load and control its models, and drop it: the ABI promises that to plugins.
#[derive(Clone)]
pub struct Backend {
    pub(crate) inner: Arc<BackendInner>,
}

pub(crate) struct BackendInner {
    pub(crate) library: LoadedPlugin,
    pub(crate) handle: Handle<ProctorBackend>,
    pub(crate) host: &'static HostContext,
    pub(crate) activity: &'static Activity,
    /// True if a model is loaded; one at a time, so that the size of a response is known.
    pub(crate) has_model: AtomicBool,
}

impl LoadedPlugin {
    /// Opens the device or the library below the plugin. [main thread]
    ///
    /// # Errors
    /// [`PluginHostError::Option`] for an option that the manifest does not allow, or why the plugin cannot open.
    pub fn open(&self, options: &Options, services: HostServices) -> Result<Backend, PluginHostError> {
        let name = &self.manifest().name;
        let values = self.check_options(options)?;
        let raw: Vec<ProctorOptionValue> =
            values.iter().map(|(name, value, text)| raw_option(name, value, text)).collect();
        let activity = Activity::new(name, None);
        let (context, host) = host_table::leak(activity.plugin(), services);
        let request = ProctorOpenRequest {
            size: size_of::<ProctorOpenRequest>(),
            host,
            options: raw.as_ptr(),
            option_count: raw.len(),
            option_stride: size_of::<ProctorOptionValue>(),
        };
        let mut backend = ptr::null_mut();
        let open = required!(self.table(), open);
        let call = |error: *mut _| {
            // SAFETY: the function is that of a checked table. The host table lives for ever; the request with its
            // options, the room for the handle and `error` live for the call.
            unsafe { open(&raw const request, &raw mut backend, error) }
        };
        watched(name, Call::Open, || checked(activity, Call::Open, call))?;
        Ok(Backend {
            inner: Arc::new(BackendInner {
                library: self.clone(),
                handle: Handle::new(backend, name, Call::Open)?,
                host: context,
                activity,
                has_model: AtomicBool::new(false),
            }),
        })
    }

    /// Returns the name, value and text of each option; paths are made absolute.
    fn check_options(
        &self,
        options: &Options,
    ) -> Result<Vec<(String, OptionValue, String)>, PluginHostError> {
        let specs = &self.manifest().options;
        let wrap = |error| PluginHostError::Option { plugin: self.manifest().name.clone(), error };
        let check = |(name, value): (&str, &OptionValue)| {
            let spec = specs.iter().find(|spec| spec.name == name).ok_or_else(|| OptionError::Unknown {
                name: name.to_owned(),
                hint: did_you_mean(name, specs.iter().map(|spec| spec.name.as_str())),
            })?;
            let mut value = spec.parse(&value.to_string())?;
            if let OptionValue::Path(path) = &mut value {
                *path = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
            }
            let text = value.to_string();
            Ok((name.to_owned(), value, text))
        };
        options.iter().map(check).collect::<Result<_, _>>().map_err(wrap)
    }
}

/// Returns the ABI's form of an option; borrows `name` and `text`.
fn raw_option(name: &str, value: &OptionValue, text: &str) -> ProctorOptionValue {
    let mut raw = ProctorOptionValue {
        name: borrowed(name),
        text: NO_TEXT,
        integer: 0,
        number: 0.0,
        kind: 0,
        reserved: 0,
    };
    raw.kind = match value {
        OptionValue::Boolean(value) => {
            raw.integer = i64::from(*value);
            abi::PROCTOR_OPTION_BOOLEAN
        }
        OptionValue::Integer(value) => {
            raw.integer = *value;
            abi::PROCTOR_OPTION_INTEGER
        }
        OptionValue::Float(value) => {
            raw.number = *value;
            abi::PROCTOR_OPTION_FLOAT
        }
        OptionValue::Text(_) => abi::PROCTOR_OPTION_TEXT,
        OptionValue::Path(_) => abi::PROCTOR_OPTION_PATH,
        OptionValue::Choice(_) => abi::PROCTOR_OPTION_CHOICE,
    };
    if matches!(value, OptionValue::Text(_) | OptionValue::Path(_) | OptionValue::Choice(_)) {
        raw.text = borrowed(text);
    }
    raw
}

impl Backend {
    /// Sets the destination of completions of issued samples and first tokens; `None` between runs.
    pub fn set_sink(&self, sink: Option<Arc<dyn CompletionSink>>) {
        self.inner.host.set_sink(sink);
    }

    /// Returns the host's side of it.
    #[must_use]
    pub fn host_side(&self) -> HostSide {
        HostSide::new(self.inner.host)
    }
}

impl BackendInner {
    pub(crate) fn plugin(&self) -> &str {
        self.activity.plugin()
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { source_name: self.plugin() }
    }

    pub(crate) fn bad_demand(&self, what: String) -> PluginHostError {
        bad_demand(self.plugin(), &what)
    }

    pub(crate) fn wrong_state(
        &self,
        call: Call,
        object: &'static str,
        state: &'static str,
    ) -> PluginHostError {
        let plugin = self.plugin();
        PluginHostError::WrongState(format!(
            "plugin {plugin}: {call} does not fit the state \"{state}\" of the {object}"
        ))
    }
}

impl Drop for BackendInner {
    fn drop(&mut self) {
        debug_assert!(!self.has_model.load(Ordering::Relaxed), "a model keeps its backend");
        let close = required!(self.library.table(), close);
        let closed = checked(self.activity, Call::Close, |error| {
            // SAFETY: the function is that of a checked table; the handle came from `open` of the same table, has no
            // models left, as each of them holds this backend, and is not used again.
            unsafe { close(self.handle.get(), error) }
        });
        self.host.faults.record_failure(closed);
    }
}
