#!/bin/sh
# Builds the plugin, and runs the benchmark digits-mlp with it: ./run.sh [flags of `host run`]
set -e
cd "$(dirname "$0")"
"${CC:-cc}" -std=c99 -O2 -Wall -Wextra -pthread -shared -fPIC -fvisibility=hidden -I include -o lib@FILE@_sut.so *.c
"${HOST:-host}" run --plugin ./lib@FILE@_sut.so --benchmark digits-mlp "$@"
