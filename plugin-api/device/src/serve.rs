//! A model of a device behind the traits of a plugin.
//!
//! A model is planned for a few batch sizes, and every batch is composed of them. All instances at a device
//! share its kernels and weights; each has queues and memory of its own, one of each for a batch in flight.

mod choose;
mod classes;
mod error;
mod file;
mod instance;
mod lane;
mod loaded;
mod memory;
mod model;
mod options;

pub use choose::{Named, NoSuchDevice, at_position, chosen};
pub use error::LoadError;
pub use instance::DeviceInstance;
pub use model::{DeviceModel, OpenedDevice, load};
pub use options::{DeviceOptions, PRECISIONS};
