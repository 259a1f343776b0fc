"""Prints the symbols of Python, one a line on stdin, that are not in the stable ABI of Python 3.10."""

import sys

try:
    from abi3info import DATAS, FUNCTIONS
except ImportError:
    print("no abi3info")
    sys.exit(3)

OLDEST = (3, 10)

known = {
    item.symbol.name
    for table in (FUNCTIONS, DATAS)
    for item in table.values()
    if (item.added.major, item.added.minor) <= OLDEST
}
names = set(sys.stdin.read().split())
print("looked at", len(names))
for name in sorted(names - known):
    print(name)
