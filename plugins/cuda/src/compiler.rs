//! Turns kernels into code for a device.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use proctor_device::{cache::Cache, driver::DeviceError, kernels, program::call::Kernel};
use proctor_plugin_api::Host;

use crate::{
    error::OpenError,
    libraries::{
        cuda,
        nvrtc::{Compiled, Nvrtc, Source},
    },
};

/// Compiles kernels for devices, or finds them where it has kept them.
pub struct Compiler {
    nvrtc: Nvrtc,
    cache: Option<Cache>,
}

impl Compiler {
    /// Loads the compiler, from `nvrtc` if that names its folder. `cache`, if given, keeps the compiled kernels.
    ///
    /// # Errors
    /// Fails for a driver or a compiler that is not there.
    pub fn load(nvrtc: Option<&Path>, cache: Option<PathBuf>) -> Result<Arc<Self>, OpenError> {
        Self::for_driver(nvrtc, cuda::open()?, cache)
    }

    /// Works as [`load`](Self::load), without a driver: `driver` is the version of CUDA that one would be for, by
    /// CUDA's number, such as 12040.
    ///
    /// # Errors
    /// Fails for a compiler that is not there.
    pub fn for_driver(
        nvrtc: Option<&Path>,
        driver: i32,
        cache: Option<PathBuf>,
    ) -> Result<Arc<Self>, OpenError> {
        let nvrtc = Nvrtc::load(nvrtc, driver)?;
        Ok(Arc::new(Self { nvrtc, cache: cache.map(Cache::new) }))
    }

    pub(crate) fn version(&self) -> String {
        self.nvrtc.name_and_version()
    }

    /// Returns the code of a kernel for an architecture such as `sm_90`, a cubin. Notifies `host` if it takes a while.
    pub(crate) fn compile(
        &self,
        host: Host,
        kernel: &Kernel,
        architecture: &str,
    ) -> Result<Vec<u8>, DeviceError> {
        let text = kernel.cuda_text();
        let options = [architecture_option(architecture)];
        let version = self.version();
        let key = [text.as_str(), kernels::CUDA, &options[0], &version];
        if let Some(code) = self.cache.as_ref().and_then(|cache| cache.load(&key)) {
            return Ok(code);
        }
        host.progress(0, 0, &format!("compiling kernel {}", kernel.function));
        let code = self.compiled(kernel, &text, &options)?.code;
        if let Some(cache) = &self.cache {
            cache.store(&key, &code);
        }
        Ok(code)
    }

    /// Returns the report of the compiler and the assembler about a kernel for an architecture: the registers and the
    /// memory that it takes.
    ///
    /// # Errors
    /// Returns the compiler's log.
    pub fn report(&self, kernel: &Kernel, architecture: &str) -> Result<String, DeviceError> {
        let options = [architecture_option(architecture), "--ptxas-options=-v".to_owned()];
        Ok(self.compiled(kernel, &kernel.cuda_text(), &options)?.log)
    }

    fn compiled(&self, kernel: &Kernel, text: &str, options: &[String]) -> Result<Compiled, DeviceError> {
        let source = Source {
            text,
            name: &format!("{}.cu", kernel.function),
            header: kernels::CUDA,
            header_name: kernels::CUDA_NAME,
            options,
        };
        let compiled = self.nvrtc.compile(&source);
        compiled.map_err(|error| DeviceError::refused(format!("kernel {}: {error}", kernel.function)))
    }
}

fn architecture_option(architecture: &str) -> String {
    format!("--gpu-architecture={architecture}")
}
