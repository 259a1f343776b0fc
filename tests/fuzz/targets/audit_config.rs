//! Fuzzes `proctor_readers::check_audit_config`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| proctor_readers::check_audit_config(data));
