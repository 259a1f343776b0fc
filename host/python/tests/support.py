"""Helpers of the tests of the package."""

import contextlib
import os
import sys
import tempfile
import unittest

import proctor

try:
    import numpy
except ImportError:
    numpy = None

needs_numpy = unittest.skipIf(numpy is None, "no NumPy")

#: A run of the mock plugin whose time costs nothing.
VIRTUAL = {"plugin": "mock", "virtual_time": True, "noise": False, "floor": False}


class InFolder(unittest.TestCase):
    """A test with a folder of its own for runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def enter(self):
        """Makes the folder the current one until the end of the test."""
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)

    def place(self, name="run"):
        return os.path.join(self.folder, name)

    def run_virtually(self, name="run", **settings):
        given = {**VIRTUAL, "scenario": "Offline", "progress": False, **settings}
        return proctor.run(output_folder=self.place(name), **given)


@contextlib.contextmanager
def without(module):
    """Makes a module impossible to import."""
    kept = {name: value for name, value in sys.modules.items() if name.split(".")[0] == module}
    for name in kept:
        del sys.modules[name]
    sys.modules[module] = None
    try:
        yield
    finally:
        del sys.modules[module]
        sys.modules.update(kept)
