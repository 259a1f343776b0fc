//! The policies over systems whose service times are known, in virtual time.

mod dnnscaler;
mod joint;
mod properties;
mod rate;
mod simulated;
