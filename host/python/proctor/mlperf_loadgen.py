"""The official LoadGen's module ``mlperf_loadgen``, on Proctor's own load generator.

A harness that imports ``mlperf_loadgen`` needs another line and no other change::

    import proctor.mlperf_loadgen as mlperf_loadgen

or none at all::

    python -m proctor.mlperf_loadgen harness.py ARGUMENTS

Logs have the names and the form of the package ``mlcommons-loadgen`` 6.0.17. MLPerf's rules accept only results of that
package; this module is for development and for whoever wants its errors in words. `docs/loadgen-compat.md` lists the
differences.
"""

from __future__ import annotations

from ._native import mlperf_loadgen as _module

TestScenario = _module.TestScenario
TestMode = _module.TestMode
LoggingMode = _module.LoggingMode
TestSettings = _module.TestSettings
LogOutputSettings = _module.LogOutputSettings
LogSettings = _module.LogSettings
QuerySample = _module.QuerySample
QuerySampleResponse = _module.QuerySampleResponse
ConstructSUT = _module.ConstructSUT
DestroySUT = _module.DestroySUT
ConstructFastSUT = _module.ConstructFastSUT
DestroyFastSUT = _module.DestroyFastSUT
ConstructQSL = _module.ConstructQSL
DestroyQSL = _module.DestroyQSL
ConstructQDL = _module.ConstructQDL
DestroyQDL = _module.DestroyQDL
StartTest = _module.StartTest
StartTestWithLogSettings = _module.StartTestWithLogSettings
QuerySamplesComplete = _module.QuerySamplesComplete
FirstTokenComplete = _module.FirstTokenComplete


class _Vector(list):
    """A list whose elements have one type."""

    _type: type

    def __init__(self, items=()) -> None:
        super().__init__(self._checked(item) for item in items)

    def _checked(self, item):
        if isinstance(item, self._type):
            return item
        raise TypeError(f"a {type(self).__name__} holds {self._type.__name__}, not {item!r}")

    def append(self, item) -> None:
        super().append(self._checked(item))

    def extend(self, items) -> None:
        super().extend([self._checked(item) for item in items])

    def __iadd__(self, items):
        self.extend(items)
        return self

    def insert(self, index, item) -> None:
        super().insert(index, self._checked(item))

    def __setitem__(self, index, value) -> None:
        if isinstance(index, slice):
            value = [self._checked(item) for item in value]
        else:
            value = self._checked(value)
        super().__setitem__(index, value)


class VectorQuerySample(_Vector):
    """A list of ``QuerySample``."""

    _type = QuerySample


class VectorQuerySampleResponse(_Vector):
    """A list of ``QuerySampleResponse``, which the completion functions take as they take any list."""

    _type = QuerySampleResponse


__all__ = [
    "ConstructFastSUT",
    "ConstructQDL",
    "ConstructQSL",
    "ConstructSUT",
    "DestroyFastSUT",
    "DestroyQDL",
    "DestroyQSL",
    "DestroySUT",
    "FirstTokenComplete",
    "LogOutputSettings",
    "LogSettings",
    "LoggingMode",
    "QuerySample",
    "QuerySampleResponse",
    "QuerySamplesComplete",
    "StartTest",
    "StartTestWithLogSettings",
    "TestMode",
    "TestScenario",
    "TestSettings",
    "VectorQuerySample",
    "VectorQuerySampleResponse",
]

# Names of LoadGen in C++, and of older modules, with the reason why they are not here.
_ABSENT = {
    "AbortTest": "LoadGen's module has it neither: raise an exception in a callback, which ends the test",
    "RegisterIssueQueryThread": "LoadGen's module has it neither: the thread that calls StartTest issues all queries",
    "QuerySamplesCompleteResponseCb": "pass response_cb to QuerySamplesComplete",
    "FirstTokenCompleteResponseCb": "pass response_cb to FirstTokenComplete",
    "ConstructGroupedQSL": "it is of another release: LoadGen 6.0.17 has no groups of samples",
    "DestroyGroupedQSL": "it is of another release: LoadGen 6.0.17 has no groups of samples",
    "StartTestWithGroupedQSL": "it is of another release: LoadGen 6.0.17 has no groups of samples",
}


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    reason = _ABSENT.get(name, "LoadGen 6.0.17 has no such name")
    raise AttributeError(f"proctor.mlperf_loadgen has no {name}: {reason}", name=name)


def _run() -> None:
    """Runs a script for which ``mlperf_loadgen`` is this module."""
    import importlib
    import os
    import runpy
    import sys

    if len(sys.argv) < 2:
        sys.exit("usage: python -m proctor.mlperf_loadgen SCRIPT [ARGUMENTS]")
    sys.modules["mlperf_loadgen"] = importlib.import_module("proctor.mlperf_loadgen")
    del sys.argv[0]
    # As for `python SCRIPT`. With safe_path, which Python has from 3.11 on, the first entry is another folder.
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    _run()
