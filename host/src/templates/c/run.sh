#!/bin/sh
# Builds the plugin, and runs the benchmark digits-mlp with it: ./run.sh [flags of `host run`]
set -e
here=$(dirname "$0")
"${CC:-cc}" -std=c99 -O2 -Wall -Wextra -pthread -shared -fPIC -fvisibility=hidden -I "$here/include" \
    -o "$here/lib@FILE@_sut.so" "$here"/*.c
"${HOST:-host}" run --plugin "$here/lib@FILE@_sut.so" --benchmark digits-mlp "$@"
