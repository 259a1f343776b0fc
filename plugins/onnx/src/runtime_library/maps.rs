//! Files that are mapped into this process, as the kernel lists them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Prefix of the file names of ONNX Runtime; its providers' continue with an underscore.
const RUNTIME_PREFIX: &str = "libonnxruntime.so";

/// Returns the file that holds the code of this plugin: its library, or the program that it is linked into.
pub(super) fn own_image() -> Option<PathBuf> {
    let here = own_image as fn() -> Option<PathBuf> as usize;
    image_at(&maps(), here)
}

/// Returns the ONNX Runtimes that are loaded, by their real paths.
pub(super) fn runtimes() -> BTreeSet<PathBuf> {
    runtimes_in(&maps()).iter().map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.clone())).collect()
}

/// Returns whether a file with this name is an ONNX Runtime of any version.
pub(super) fn is_runtime(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(RUNTIME_PREFIX))
}

/// Returns the memory map. Without it nothing is known, which costs a way to find the library and a check, but no run.
fn maps() -> String {
    fs::read_to_string("/proc/self/maps").unwrap_or_default()
}

/// Returns the address range and file of each mapping that has a file.
fn mappings(maps: &str) -> impl Iterator<Item = (std::ops::Range<usize>, &Path)> {
    maps.lines().filter_map(|line| {
        // `begin-end rights offset device inode   path`; the path may have spaces.
        let (range, rest) = line.split_once(' ')?;
        let path = rest.find('/').map(|begin| Path::new(&rest[begin..]))?;
        let (begin, end) = range.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        Some((address(begin)?..address(end)?, path))
    })
}

fn image_at(maps: &str, address: usize) -> Option<PathBuf> {
    mappings(maps).find(|(range, _)| range.contains(&address)).map(|(_, path)| path.to_owned())
}

fn runtimes_in(maps: &str) -> BTreeSet<PathBuf> {
    mappings(maps).map(|(_, path)| path).filter(|path| is_runtime(path)).map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d000-55e000 r-xp 00000000 fe:00 12 /opt/host
7f1000-7f2000 r-xp 00001000 fe:00 13 /opt/a folder/libonnxruntime.so.1.31.1
7f2000-7f3000 rw-p 00002000 fe:00 13 /opt/a folder/libonnxruntime.so.1.31.1
7f4000-7f5000 r-xp 00000000 fe:00 14 /opt/libonnxruntime_providers_shared.so
7f6000-7f7000 rw-p 00000000 00:00 0
7ffd00-7ffe00 rw-p 00000000 00:00 0                          [stack]
";

    #[test]
    fn a_runtime_is_found_by_its_name_and_its_providers_are_not_it() {
        let found: Vec<PathBuf> = runtimes_in(MAPS).into_iter().collect();
        assert_eq!(found, [PathBuf::from("/opt/a folder/libonnxruntime.so.1.31.1")]);
    }

    #[test]
    fn an_address_belongs_to_the_file_that_is_mapped_there() {
        assert_eq!(image_at(MAPS, 0x55_d123), Some("/opt/host".into()));
        assert_eq!(image_at(MAPS, 0x7f_5000), None);
    }

    #[test]
    fn this_code_is_in_the_program_of_the_test() {
        assert_eq!(own_image(), std::env::current_exe().ok());
    }
}
