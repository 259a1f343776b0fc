#!/bin/sh
# Builds the plugin, and runs the benchmark digits-mlp with it: ./run.sh [flags of `host run`]
set -e
cd "$(dirname "$0")"
cargo build --release
"${HOST:-host}" run --plugin "${CARGO_TARGET_DIR:-target}/release/lib@FILE@_sut.so" --benchmark digits-mlp "$@"
