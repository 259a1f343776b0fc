"""Finds the program ``host`` that belongs to this package."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator

from . import _native

#: A program beside ``host``, by which it is told from the tool for the DNS that has the same name.
_NEIGHBOUR = "proctor-worker"


def program() -> str:
    """Returns the path of ``host``: beside the library in a build, among the scripts of an installed package."""
    native = os.path.realpath(_native.__file__)
    build = os.path.join(os.path.dirname(native), "host")
    if os.path.isfile(build):
        return build
    for folder in _folders(os.path.dirname(os.path.dirname(native))):
        if os.path.isfile(os.path.join(folder, _NEIGHBOUR)):
            return os.path.join(folder, "host")
    return os.path.join(sysconfig.get_path("scripts"), "host")


def _folders(packages: str) -> Iterator[str]:
    """Yields the folders that may have the program of an installed package."""
    # <prefix>/bin goes with <prefix>/lib/python3.x/site-packages.
    for _ in range(4):
        yield os.path.join(packages, "bin")
        packages = os.path.dirname(packages)
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", f"{os.name}_user")
