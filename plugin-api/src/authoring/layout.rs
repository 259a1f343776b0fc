//! The layouts of the table's types, exported as the root module of abi_stable: the feature `abi_stable`.

use abi_stable::{
    StableAbi,
    library::{__call_root_module_loader, CheckTypeLayout, LibHeader, RootModule, RootModuleResult},
    package_version_strings,
    prefix_type::PrefixTypeTrait,
    sabi_types::VersionStrings,
};

use crate::abi;

/// The abi_stable root module of a Rust plugin. It exports the same entry point as the C symbol, and adds the layout of
/// every type of the table, which a host compares with its own.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = RootModuleRef)))]
pub struct Root {
    /// The function that is exported as `proctor_plugin_entry`.
    #[sabi(last_prefix_field)]
    pub entry: unsafe extern "C" fn(
        speaks: *const abi::ProctorVersionRange,
        refusal: *mut abi::ProctorError,
    ) -> *const abi::ProctorPlugin,
}

impl RootModule for RootModuleRef {
    abi_stable::declare_root_module_statics! {RootModuleRef}
    const BASE_NAME: &'static str = "proctor_plugin";
    const NAME: &'static str = "proctor_plugin";
    const VERSION_STRINGS: VersionStrings = package_version_strings!();
}

/// Returns the header that [`export_plugin!`](crate::export_plugin) exports under abi_stable's name.
#[doc(hidden)]
#[must_use]
pub const fn header(constructor: extern "C" fn() -> RootModuleResult) -> LibHeader {
    // SAFETY: the one caller is `__export_layouts!`, whose constructor returns the result of `root_module` below, a
    // RootModuleRef.
    unsafe { LibHeader::from_constructor::<RootModuleRef>(constructor, CheckTypeLayout::Yes) }
}

/// Creates the root module with the loader of one plugin.
#[doc(hidden)]
#[must_use]
pub fn call(loader: fn() -> RootModuleRef) -> RootModuleResult {
    __call_root_module_loader(loader)
}

/// Creates the root module around an entry point.
#[doc(hidden)]
#[must_use]
pub fn root_module(entry: abi::ProctorPluginEntry) -> RootModuleRef {
    Root { entry }.leak_into_prefix()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_exported_name_is_the_one_that_abi_stable_looks_for() {
        let macro_source = include_str!("export.rs");
        let exported = format!("export_name = \"{}\"", abi_stable::library::ROOT_MODULE_LOADER_NAME);
        assert!(macro_source.contains(&exported), "{exported}");
    }
}
