#!/bin/sh
# Builds the plugin. CC may have arguments, as in CC="ccache gcc".
set -e
here=$(dirname "$0")
${CC:-cc} -std=c99 -O2 -Wall -Wextra -pthread -shared -fPIC -fvisibility=hidden -I "$here/include" \
    -o "$here/lib@FILE@_sut.so" "$here"/*.c
