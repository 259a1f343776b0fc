//! The variables.

use std::{env, path::PathBuf, str::FromStr};

/// Values of the variables.
#[derive(Debug)]
pub(crate) struct Settings {
    pub devices: Vec<String>,
    /// Major and minor.
    pub capability: (i32, i32),
    pub driver: i32,
    pub memory: usize,
    pub threads_max: usize,
    pub lost_at: Option<u64>,
    pub algorithms: Option<u64>,
    pub convolutions: Option<u64>,
    pub seed: u64,
    pub report: Option<PathBuf>,
}

impl Settings {
    pub fn read() -> Self {
        let names = env::var("CUDA_DOUBLE_DEVICES").unwrap_or_else(|_| "Double of a GPU".to_owned());
        let capability = env::var("CUDA_DOUBLE_CAPABILITY").unwrap_or_else(|_| "9.0".to_owned());
        let numbers = capability
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        Self {
            devices: names.split(';').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            capability: numbers.unwrap_or_else(|| panic!("CUDA_DOUBLE_CAPABILITY={capability}")),
            driver: number("DRIVER").unwrap_or(12_090),
            memory: number("MEMORY").unwrap_or(1 << 30),
            threads_max: number("THREADS").unwrap_or(1024),
            lost_at: number("LOST_AT"),
            algorithms: number("ALGORITHMS"),
            convolutions: number("CONVOLUTIONS"),
            seed: number("SEED").unwrap_or(1),
            report: env::var_os("CUDA_DOUBLE_REPORT").map(PathBuf::from),
        }
    }

    /// Returns the architecture in the compiler's spelling, such as `sm_90`.
    pub fn architecture(&self) -> String {
        format!("sm_{}{}", self.capability.0, self.capability.1)
    }
}

/// Returns the version of cuDNN, which may be queried before there is a world.
pub(crate) fn cudnn_version() -> usize {
    number("CUDNN").unwrap_or(91_002)
}

fn number<T: FromStr>(name: &str) -> Option<T> {
    let name = format!("CUDA_DOUBLE_{name}");
    let text = env::var(&name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}
