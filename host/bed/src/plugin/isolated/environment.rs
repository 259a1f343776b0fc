//! Builds the environment of a plugin's process. The user's own would pass on keys and other secrets.

use std::{env, ffi::OsString};

/// Variables that it receives: the paths of programs and libraries, languages and times, and the output of a panic.
const NAMES: [&str; 9] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TZDIR",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "GLIBC_TUNABLES",
];

/// Beginnings of the names of others: locales, threads and memory, libraries that compute, and drivers of devices.
const BEGINNINGS: [&str; 33] = [
    "LC_",
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "DNNL_",
    "ONEDNN_",
    "OPENBLAS_",
    "BLIS_",
    "TBB_",
    "RAYON_",
    "MALLOC_",
    "CPU_RNN_",
    "ORT_",
    "CUDA_",
    "CUBLAS_",
    "CUBLASLT_",
    "CUDNN_",
    "NVIDIA_",
    "OCL_",
    "OPENCL_",
    "POCL_",
    "HSA_",
    "HIP_",
    "ROCR_",
    "ROCM_",
    "MIOPEN_",
    "GPU_",
    "AMD_",
    "ZE_",
    "NEO_",
    "SYCL_",
    "ONEAPI_",
];

/// Parts of the names of secrets, such as `NVIDIA_API_KEY`.
const SECRETS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// Returns the variables that a plugin's process inherits from this one, plus the ones with the given names.
pub(super) fn environment(added: &[String]) -> Vec<(OsString, OsString)> {
    passed(env::vars_os(), added)
}

fn passed(
    variables: impl Iterator<Item = (OsString, OsString)>,
    added: &[String],
) -> Vec<(OsString, OsString)> {
    let is_of_kind = |name: &str| {
        let has = |part: &&str| name.contains(part);
        BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) && !SECRETS.iter().any(has)
    };
    let is_passed =
        |name: &str| NAMES.contains(&name) || is_of_kind(name) || added.iter().any(|added| added == name);
    variables.filter(|(name, _)| name.to_str().is_some_and(is_passed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_on_isolation_has_each_name() {
        let page = include_str!("../../../../../docs/isolation.md");
        for name in NAMES.iter().chain(&BEGINNINGS).chain(&SECRETS) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }

    #[test]
    fn what_is_named_passes_and_nothing_else() {
        let names = |added: &[&str]| {
            let all = [
                "PATH",
                "HOME",
                "LC_ALL",
                "AWS_SECRET_ACCESS_KEY",
                "NVIDIA_API_KEY",
                "OMP_NUM_THREADS",
                "LD_PRELOAD",
                "SSH_AUTH_SOCK",
            ];
            let added: Vec<_> = added.iter().map(|name| (*name).to_owned()).collect();
            let passed = passed(all.iter().map(|name| (name.into(), "1".into())), &added);
            passed.into_iter().map(|(name, _)| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["PATH", "LC_ALL", "OMP_NUM_THREADS"]);
        assert_eq!(names(&["LD_PRELOAD", "GONE"]), ["PATH", "LC_ALL", "OMP_NUM_THREADS", "LD_PRELOAD"]);
    }
}
