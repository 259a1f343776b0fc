#!/bin/sh
# Builds the plugin, and tests whether it keeps the rules: ./validate.sh [flags of `host validate`]
set -e
here=$(dirname "$0")
"$here/build.sh"
"${HOST:-host}" validate "$here/lib@FILE@_sut.so" "$@"
