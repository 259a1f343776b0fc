//! A device of a plugin.

/// A device of a plugin, over which a host may spread instances.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Device {
    /// Display name, such as the product's.
    pub name: String,
    /// Text that distinguishes it from others of its name, also at the next start of the machine, such as a
    /// UUID; `None` if there is no such text.
    pub id: Option<String>,
    /// Memory of the device, in bytes; `None` if not known.
    pub memory_bytes: Option<u64>,
    /// Number of the NUMA node of the host that is nearest; `None` if not known.
    pub numa_node: Option<u32>,
}
