//! Comparing the types of host and plugin field by field, for plugins in Rust that name the host's own ABI version.

use std::{ffi::c_void, path::Path};

use abi_stable::library::{AbiHeader, LibraryError, ROOT_MODULE_LOADER_NAME, lib_header_from_path};
use libloading::os::unix::Library;
use proctor_plugin_api::{RootModuleRef, abi};

use crate::{error::PluginHostError, foreign::Reader};

/// Compares the layout of all types, if the library has a root module made by the host's own version of
/// `abi_stable`. Returns whether it has. Warns of a module made by another version.
pub(crate) fn check_layout(
    library: &Library,
    path: &Path,
    reader: Reader<'_>,
) -> Result<bool, PluginHostError> {
    // SAFETY: the address is only compared, never read through.
    if unsafe { library.get::<*const c_void>(ROOT_MODULE_LOADER_NAME) }.is_err() {
        return Ok(false);
    }
    let layout = |error: &dyn std::fmt::Display| {
        let detail = innermost_difference(&error.to_string());
        let (major, minor) = (abi::PROCTOR_ABI_MAJOR, abi::PROCTOR_ABI_MINOR);
        reader.version(format!("says that it follows ABI {major}.{minor}, but its types differ: {detail}"))
    };
    // Not `load_from_file`: it remembers the first library of a type and returns it for every later path.
    let header = match lib_header_from_path(path) {
        // Another version of the crate that describes layouts has another form of them. That says nothing of the ABI.
        Err(LibraryError::InvalidAbiHeader(other)) => {
            let (found, own) = (words_of(&other), words_of(&AbiHeader::VALUE));
            tracing::warn!(
                "the types of {} were not compared with the host's: they are described by {found}, the host's by \
                 {own}; what it hands over is checked all the same",
                reader.source_name
            );
            return Ok(false);
        }
        header => header.map_err(|error| layout(&error))?,
    };
    header.ensure_layout::<RootModuleRef>().map_err(|error| layout(&error))?;
    Ok(true)
}

/// Returns the version of the crate that made this description.
fn words_of(header: &AbiHeader) -> String {
    if header.magic_string == AbiHeader::VALUE.magic_string {
        format!("abi_stable {}.{}", header.abi_major, header.abi_minor)
    } else {
        "something other than abi_stable".to_owned()
    }
}

/// Returns the useful end of a layout error, which can be a thousand lines long: the path of the innermost
/// field, and its expected layout. The whole text goes to the log.
fn innermost_difference(text: &str) -> String {
    tracing::debug!(error = text, "layout of a plugin");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let place = lines.iter().rposition(|line| line.ends_with("inside:")).unwrap_or(0);
    let path: Vec<&str> = lines[place..]
        .iter()
        .take_while(|line| !line.starts_with("Layout of"))
        .filter_map(|line| line.strip_prefix("field_name:"))
        .collect();
    let error = lines.iter().rposition(|line| line.starts_with("Error:"));
    let after = |label: &str| {
        let lines = &lines[error?..];
        lines.iter().position(|line| *line == label).and_then(|at| lines.get(at + 1))
    };
    match (error, after("Expected:"), after("Found:")) {
        (Some(error), Some(expected), Some(found)) => {
            let error = lines[error].trim_start_matches("Error:");
            format!("field {}: {error}, the host has {expected}, the plugin {found}", path.join("."))
        }
        _ => lines[lines.len().saturating_sub(6)..].join("; "),
    }
}

#[cfg(test)]
mod tests {
    use abi_stable::{StableAbi, abi_stability::check_layout_compatibility};

    use super::*;

    mod host {
        #[repr(C)]
        #[derive(abi_stable::StableAbi)]
        pub struct Table {
            size: usize,
            inner: Inner,
        }

        #[repr(C)]
        #[derive(abi_stable::StableAbi)]
        pub struct Inner {
            count: u64,
        }
    }

    mod plugin {
        #[repr(C)]
        #[derive(abi_stable::StableAbi)]
        pub struct Table {
            size: usize,
            inner: Inner,
        }

        #[repr(C)]
        #[derive(abi_stable::StableAbi)]
        pub struct Inner {
            count: u32,
        }
    }

    #[test]
    fn a_layout_mismatch_is_told_by_its_innermost_field() {
        let result = check_layout_compatibility(host::Table::LAYOUT, plugin::Table::LAYOUT);
        let text = result.into_result().unwrap_err().to_string();
        assert_eq!(
            innermost_difference(&text),
            "field inner.count: mismatched type, the host has u64, the plugin u32"
        );
    }

    #[test]
    fn a_text_of_another_form_is_cut_to_its_end() {
        assert_eq!(innermost_difference("1\n\n2\n3\n4\n5\n6\n7\n"), "2; 3; 4; 5; 6; 7");
    }
}
