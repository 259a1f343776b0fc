//! Fuzzes `proctor_readers::check_summary_log`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| proctor_readers::check_summary_log(data));
