//! Models through the program, against other implementations of them.

#![forbid(unsafe_code)]

mod recurrent;
mod texts;
