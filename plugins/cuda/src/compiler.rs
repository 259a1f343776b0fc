//! From kernels to code for a device.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use proctor_device::{cache::Cache, driver::DeviceError, kernels, program::call::Kernel};
use proctor_plugin_api::Host;

use crate::{
    error::{OpenError, refused},
    libraries::{
        cuda,
        nvrtc::{Nvrtc, Source},
    },
};

/// Compiles kernels for devices, or finds them where it has kept them.
pub struct Compiler {
    nvrtc: Nvrtc,
    cache: Option<Cache>,
}

impl Compiler {
    /// Loads the compiler, from `nvrtc` if that names its folder. Kernels that it compiles are kept in `cache`, if that
    /// is there.
    ///
    /// # Errors
    /// A driver or a compiler that is not there.
    pub fn load(nvrtc: Option<&Path>, cache: Option<PathBuf>) -> Result<Arc<Self>, OpenError> {
        let nvrtc = Nvrtc::load(nvrtc, cuda::open()?)?;
        Ok(Arc::new(Self { nvrtc, cache: cache.map(Cache::new) }))
    }

    /// Its name and version.
    pub(crate) fn version(&self) -> String {
        self.nvrtc.name_and_version()
    }

    /// The code of a kernel for an architecture such as `sm_90`, a cubin. `host` hears of it if it takes a while.
    pub(crate) fn compile(
        &self,
        host: Host,
        kernel: &Kernel,
        architecture: &str,
    ) -> Result<Vec<u8>, DeviceError> {
        let text = kernel.cuda_text();
        let options = [format!("--gpu-architecture={architecture}")];
        let version = self.version();
        let key = [text.as_str(), kernels::CUDA, &options[0], &version];
        if let Some(code) = self.cache.as_ref().and_then(|cache| cache.load(&key)) {
            return Ok(code);
        }
        host.progress(0, 0, &format!("compiling kernel {}", kernel.function));
        let source = Source {
            text: &text,
            name: &format!("{}.cu", kernel.function),
            header: kernels::CUDA,
            header_name: kernels::CUDA_NAME,
            options: &options,
        };
        let code = self.nvrtc.compile(&source);
        let code = code.map_err(|error| refused(format!("kernel {}: {error}", kernel.function)))?;
        if let Some(cache) = &self.cache {
            cache.store(&key, &code);
        }
        Ok(code)
    }
}
