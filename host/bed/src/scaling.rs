//! A system whose batch size and number of instances are turned while it serves.

pub mod course;
mod inbox;
pub mod scaler;
pub(crate) mod scaler_thread;
pub mod settings;
pub(crate) mod supply;
pub mod system;
pub mod timeline;
