//! Fuzzes `proctor_readers::check_graph_model`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| proctor_readers::check_graph_model(data));
