//! Fuzzes `proctor_readers::check_torch`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| proctor_readers::check_torch(data));
