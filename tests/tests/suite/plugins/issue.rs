//! Whole queries: refused for a while, from several threads, in parts.

mod busy;
mod concurrent;
mod parts;
