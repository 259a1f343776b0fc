#!/bin/sh
# The program is called `host`, as a tool for the DNS may be that comes first on the search path.
exec "$(dirname "$(readlink -f "$0")")/host" "$@"
