#!/bin/sh
# Builds the plugin, and runs the benchmark digits-mlp with it: ./run.sh [flags of `host run`]
set -e
here=$(dirname "$0")
cargo build --release --manifest-path "$here/Cargo.toml"
"${HOST:-host}" run --plugin "${CARGO_TARGET_DIR:-$here/target}/release/lib@FILE@_sut.so" --benchmark digits-mlp "$@"
