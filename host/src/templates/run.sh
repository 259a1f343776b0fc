#!/bin/sh
# Builds the plugin, and runs the benchmark digits-mlp with it: ./run.sh [flags of `host run`]
set -e
here=$(dirname "$0")
"$here/build.sh"
"${HOST:-host}" run --plugin "$here/lib@FILE@_sut.so" --benchmark digits-mlp "$@"
