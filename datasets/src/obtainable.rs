//! Models and data sets that `host data get` fetches, by name. The crate `proctor-packages`, which few programs are
//! linked with, has their packages and files.

/// Names in order; each is also the name of the folder below the data root.
pub const OBTAINABLE: &[&str] = &[
    "efficientnet-lite0",
    "fashion-mnist",
    "foolbox-photographs",
    "librivox",
    "minilm-int8",
    "moonshine-tiny",
    "smollm2-135m",
    "ssdlite-mobilenet-v2",
];

/// Returns the name by which a folder, or a file in it, can be fetched; `wanted` is a path below the data root.
#[must_use]
pub fn obtainable(wanted: &str) -> Option<&'static str> {
    let folder = wanted.split('/').next();
    OBTAINABLE.iter().copied().find(|name| Some(*name) == folder)
}
