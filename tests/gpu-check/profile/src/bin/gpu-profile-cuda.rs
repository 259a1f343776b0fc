//! `gpu-profile` with the driver of the plugin cuda.

#![forbid(unsafe_code)]

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Parser};
use cuda_sut::{Compiler, ConvolutionLibrary, Cuda, Libraries, ProductLibrary, devices};
use proctor_device::program::Tuning;
use proctor_gpu_profile::Cli;
use proctor_plugin_api::Host;

#[derive(Args)]
struct Own {
    /// Folder of CUDA's compiler [default: the system's]
    #[arg(long)]
    nvrtc: Option<PathBuf>,
    /// Folder for compiled kernels.
    #[arg(long)]
    cache: Option<PathBuf>,
}

fn main() -> Result<()> {
    let Cli { device, own, task } = Cli::<Own>::parse();
    let devices = devices()?;
    let info = devices.get(device).context("there is no device of this number")?;
    let compiler = Compiler::load(own.nvrtc.as_deref(), own.cache)?;
    // As the plugin does by itself: the libraries where they are there.
    let folder = own.nvrtc.as_deref();
    let libraries = Libraries {
        products: ProductLibrary::load(None, folder, false).ok(),
        convolutions: ConvolutionLibrary::load(None, folder, false).ok(),
    };
    let driver = Cuda::open(Host::detached(), info, compiler, &libraries)?;
    let tuning = Tuning { has_library: libraries.products.is_some(), ..Tuning::GPU };
    println!("{}", task.run(&driver, &info.name, tuning, info.limits.threads)?);
    Ok(())
}
