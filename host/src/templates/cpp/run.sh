#!/bin/sh
# Builds the plugin, and runs the benchmark digits-mlp with it: ./run.sh [flags of `host run`]
set -e
cd "$(dirname "$0")"
"${CXX:-c++}" -std=c++17 -O2 -Wall -Wextra -pthread -shared -fPIC -fvisibility=hidden -I include -o lib@FILE@_sut.so plugin.cpp
"${HOST:-host}" run --plugin ./lib@FILE@_sut.so --benchmark digits-mlp "$@"
