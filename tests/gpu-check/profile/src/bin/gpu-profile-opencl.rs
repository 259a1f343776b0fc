//! `gpu-profile` with the driver of the plugin opencl.

#![forbid(unsafe_code)]

use anyhow::{Context, Result};
use clap::{Args, Parser};
use opencl_sut::{OpenCl, devices};
use proctor_device::program::Tuning;
use proctor_gpu_profile::Cli;

#[derive(Args)]
struct Own {}

fn main() -> Result<()> {
    let Cli { device, task, .. } = Cli::<Own>::parse();
    let devices = devices()?;
    let info = devices.get(device).context("there is no device of this number")?;
    let tuning = if info.is_processor { Tuning::PROCESSOR } else { Tuning::GPU };
    println!("{}", task.run(&OpenCl::open(info)?, &info.name, tuning, info.group_items_max)?);
    Ok(())
}
