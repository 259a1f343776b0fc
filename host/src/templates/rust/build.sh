#!/bin/sh
# Builds the plugin, and puts the library beside this script.
set -e
here=$(dirname "$0")
target=${CARGO_TARGET_DIR:-$here/target}
cargo build --release --manifest-path "$here/Cargo.toml" --target-dir "$target"
cp "$target/release/lib@FILE@_sut.so" "$here"
