#!/bin/sh
# Runs the benchmark digits-mlp with the plugin: ./run.sh [flags of `host run`]
set -e
here=$(dirname "$0")
"${HOST:-host}" run --plugin "$here/@FILE@_sut.py" --benchmark digits-mlp "$@"
