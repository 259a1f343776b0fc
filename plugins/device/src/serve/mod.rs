//! A model of a device behind the traits of a plugin.
//!
//! A model is planned for a few batch sizes, out of which every batch is put together. All instances share its kernels
//! and weights; each has memory and a queue of its own.

mod error;
mod instance;
mod model;
mod shared;

pub use error::LoadError;
pub use instance::DeviceInstance;
pub use model::{DeviceModel, load};
