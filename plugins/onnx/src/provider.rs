//! Execution providers, which compute a session's operators.

pub(crate) mod library;

use std::fmt;

use ort::{
    ep::{self, ExecutionProvider, ExecutionProviderDispatch},
    sys,
};

use crate::{error::LoadError, runtime_library::runtime::Runtime};

/// An execution provider that the plugin knows how to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    Cpu,
    Cuda,
    TensorRt,
    OpenVino,
}

impl Provider {
    pub(crate) const ALL: [Self; 4] = [Self::Cpu, Self::Cuda, Self::TensorRt, Self::OpenVino];

    /// Returns the name in the options.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::TensorRt => "tensorrt",
            Self::OpenVino => "openvino",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// Returns the name in the runtime.
    fn runtime_name(self) -> &'static str {
        match self {
            Self::Cpu => ep::CPU::NAME,
            Self::Cuda => ep::CUDA::NAME,
            Self::TensorRt => ep::TensorRT::NAME,
            Self::OpenVino => ep::OpenVINO::NAME,
        }
    }

    /// Returns the kind of device, as manifests call it, that it computes on.
    fn device(self) -> &'static str {
        match self {
            Self::Cpu | Self::OpenVino => "cpu",
            Self::Cuda | Self::TensorRt => "cuda",
        }
    }

    /// Returns the provider of a run: the requested one, or the device's default.
    ///
    /// # Errors
    /// If it runs on another device, or the runtime does not have it.
    pub(crate) fn choose(wanted: Option<Self>, device: &str, runtime: &Runtime) -> Result<Self, LoadError> {
        let own = if device == Self::Cuda.device() { Self::Cuda } else { Self::Cpu };
        let provider = wanted.unwrap_or(own);
        if provider.device() != device {
            let (provider, computes_on, device) = (provider.name(), provider.device(), device.to_owned());
            return Err(LoadError::Device { provider, computes_on, device });
        }
        let available = available();
        if !available.iter().any(|name| name == provider.runtime_name()) {
            // The runtime's names are long and end all alike.
            let short = |name: &String| name.trim_end_matches("ExecutionProvider").to_owned();
            let available = available.iter().map(short).collect();
            let (path, provider) = (runtime.path().to_owned(), provider.name());
            return Err(LoadError::NoProvider { path, provider, available });
        }
        Ok(provider)
    }

    /// Returns the providers of a session, the preferred one first; operators that the others do not have run on the
    /// last. With `arena` the memory of intermediate results is kept.
    pub(crate) fn dispatches(self, arena: bool, threads: usize) -> Vec<ExecutionProviderDispatch> {
        let cpu = ep::CPU::default().with_arena_allocator(arena).build();
        let own = match self {
            Self::Cpu => vec![],
            Self::Cuda => vec![ep::CUDA::default().build()],
            // TensorRT leaves to CUDA what it does not take.
            Self::TensorRt => vec![ep::TensorRT::default().build(), ep::CUDA::default().build()],
            // On processors that have it OpenVINO takes bf16 by itself, which is not what the file says.
            Self::OpenVino => vec![
                ep::OpenVINO::default()
                    .with_device_type("CPU")
                    .with_num_threads(threads)
                    .with_precision("FP32")
                    .build(),
            ],
        };
        own.into_iter().chain([cpu]).map(ExecutionProviderDispatch::error_on_failure).collect()
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns the providers of the runtime that is loaded, by its names.
fn available() -> Vec<String> {
    let api = ort::api();
    let (mut names, mut count) = (std::ptr::null_mut(), 0);
    // SAFETY: both point to room for what the function writes, and the runtime is loaded, or `api` had not returned.
    let listed = unsafe {
        ort::Error::result_from_status((api.GetAvailableProviders)(&raw mut names, &raw mut count))
    };
    let Ok(length) = usize::try_from(count) else { return Vec::new() };
    if listed.is_err() || names.is_null() {
        return Vec::new();
    }
    // SAFETY: on success `names` points to `count` texts that end with 0 and live until they are released below.
    let texts = unsafe { std::slice::from_raw_parts(names, length) };
    let text = |text: &*mut std::ffi::c_char| {
        // SAFETY: each element of the list is such a text.
        unsafe { std::ffi::CStr::from_ptr(*text) }.to_string_lossy().into_owned()
    };
    let found = texts.iter().map(text).collect();
    // SAFETY: the list came from `GetAvailableProviders`, and nothing refers to it after this.
    let released: sys::OrtStatusPtr = unsafe { (api.ReleaseAvailableProviders)(names, count) };
    // SAFETY: the status is the one that the call just returned. That it failed would change nothing.
    drop(unsafe { ort::Error::result_from_status(released) });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_has_a_name_of_its_own_and_a_device() {
        for provider in Provider::ALL {
            assert_eq!(Provider::from_name(provider.name()), Some(provider));
            assert!(["cpu", "cuda"].contains(&provider.device()));
            assert!(provider.runtime_name().ends_with("ExecutionProvider"));
        }
        assert_eq!(Provider::from_name("auto"), None);
    }
}
