#!/bin/sh
# Tests whether the plugin keeps the rules: ./validate.sh [flags of `host validate`]
set -e
here=$(dirname "$0")
"${HOST:-host}" validate "$here/@FILE@_sut.py" "$@"
