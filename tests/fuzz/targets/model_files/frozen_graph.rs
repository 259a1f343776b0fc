//! Fuzzes `proctor_readers::check_frozen_graph`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| proctor_readers::check_frozen_graph(data));
