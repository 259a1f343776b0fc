#!/bin/sh
# Builds the plugin. CXX may have arguments, as in CXX="ccache g++".
set -e
here=$(dirname "$0")
${CXX:-c++} -std=c++17 -O2 -Wall -Wextra -pthread -shared -fPIC -fvisibility=hidden -I "$here/include" \
    -o "$here/lib@FILE@_sut.so" "$here/plugin.cpp"
