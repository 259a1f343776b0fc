//! `cargo xtask asan`, `memcheck` and `tsan`: the unsafe and the concurrent code, run where its faults are seen.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::{
    command::{cargo, run as run_command, workspace_root},
    setup,
};

pub(crate) const ASAN_LONG_ABOUT: &str = "Run the tests of the plugin host, the mock and cpu-rnn's engine under AddressSanitizer.

Builds the tests with the sanitizer, which stable Rust allows with RUSTC_BOOTSTRAP=1. It finds out-of-bounds accesses and \
uses after free, on the heap, the stack and in globals, but not inside the standard library, which is built without it. \
Leak checks are off: the host deliberately never frees what a plugin may still use.";

pub(crate) const MEMCHECK_LONG_ABOUT: &str = "Run the plugin host with linked plugins under Valgrind's memcheck.

Checks every memory access of the process, including the standard library's, and branches on uninitialised memory. It \
runs one thread at a time, takes about thirty times as long, and does not support AVX-512.";

pub(crate) const TSAN_LONG_ABOUT: &str = "Run the stress program of scheduler and completions under ThreadSanitizer.

Finds data races. The standard library is built without the sanitizer, so synchronisation by a Mutex, a Condvar or a \
OnceLock looks like a race. tests/stress/tsan.supp lists these places; treat any other report as a hint, not a proof. \
The proofs are the tests under loom.";

/// The target triple: with one, build scripts and macros are built without the sanitizer.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Debug information with which a report names lines; tests do without.
const LINES: &str = "line-tables-only";

/// Tests of code that is unsafe.
const ASAN_TESTS: &str =
    "-p proctor-plugin-host -p proctor-mock -p proctor-rnn-kernels -p proctor-rnn-engine";

/// Leaks are ignored; and the host has its own crash handler, which the tests check.
const ASAN_OPTIONS: &str = "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:\
                            handle_abort=0:use_sigaltstack=0";

/// Starts each test program under memcheck. Threads take turns fairly: one that spins must not keep the others off.
const VALGRIND: &str = "valgrind --quiet --error-exitcode=99 --leak-check=no --fair-sched=yes";

/// A test that keeps a thread from making system calls; Valgrind makes calls of its own on each.
const NO_SYSTEM_CALL: &str = "a_completion_makes_no_system_call";

/// Runs tests under AddressSanitizer, repeatedly until the time is over.
///
/// # Errors
/// If something does not build, a test fails, or the sanitizer reports.
pub(crate) fn asan(minutes: u32) -> Result<()> {
    repeat(minutes, || {
        let mut tests = cargo("nextest run --target");
        tests
            .args([TARGET, "--target-dir", "target/asan"])
            .args(ASAN_TESTS.split_whitespace())
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", LINES)
            // A plugin finds the functions of the sanitizer in the program that loads it.
            .env("RUSTFLAGS", "-Zsanitizer=address -Clink-arg=-Wl,--export-dynamic")
            .env("ASAN_OPTIONS", ASAN_OPTIONS);
        run_command(&mut tests)
    })
}

/// Runs the tests of the plugin host and of the mock, which is linked into them, under memcheck, repeatedly until the
/// time is over.
///
/// # Errors
/// If valgrind cannot be installed, something does not build, a test fails, or memcheck reports.
pub(crate) fn memcheck(minutes: u32) -> Result<()> {
    setup::set_up_valgrind()?;
    repeat(minutes, || {
        let mut tests = cargo(
            "test --target-dir target/memcheck -p proctor-plugin-host -p proctor-mock --lib --tests --",
        );
        tests.args(["--skip", NO_SYSTEM_CALL]).env("CARGO_PROFILE_DEV_DEBUG", LINES);
        run_command(tests.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", VALGRIND))
    })
}

/// Runs the stress program under ThreadSanitizer.
///
/// # Errors
/// If it does not build, fails, or the sanitizer reports.
pub(crate) fn tsan(minutes: u32) -> Result<()> {
    let suppressions = workspace_root().join("tests/stress/tsan.supp");
    let mut stress = cargo("run -p proctor-stress --profile loom --target");
    stress
        .args([TARGET, "--target-dir", "target/tsan", "--", &(60 * minutes).to_string()])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer")
        .env("TSAN_OPTIONS", format!("suppressions={} halt_on_error=0 exitcode=66", suppressions.display()));
    run_command(&mut stress)
}

/// Runs an action once, and again until `minutes` are over.
fn repeat(minutes: u32, mut work: impl FnMut() -> Result<()>) -> Result<()> {
    let (start, duration) = (Instant::now(), Duration::from_secs(60) * minutes);
    for round in 1.. {
        work()?;
        let taken = start.elapsed();
        println!("round {round} is clean, {} s since the start", taken.as_secs());
        if taken >= duration {
            break;
        }
    }
    Ok(())
}
