//! A system whose batch size and number of instances are turned while it serves.

mod bed;
pub(crate) mod scaler;
pub(crate) mod supply;
pub(crate) mod system;
pub(crate) mod trace;
