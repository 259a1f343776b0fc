#!/bin/sh
# Builds the plugin, and puts the library beside this script.
set -e
here=$(dirname "$0")
cargo build --release --manifest-path "$here/Cargo.toml"
cp "${CARGO_TARGET_DIR:-$here/target}/release/lib@FILE@_sut.so" "$here"
