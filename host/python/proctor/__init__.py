"""Proctor measures machine-learning inference: runs, results, and backends in Python.

>>> import proctor
>>> result = proctor.run(benchmark="digits-lstm", scenario="Offline")  # doctest: +SKIP
>>> result.valid, result.metric.value, result.metric.unit  # doctest: +SKIP
(True, 51234.5, 'samples/s')
"""

from . import _native, samples
from ._program import program as _program

# Before anything asks where plugins and programs lie.
_native.embed_host(_program(), _native.__file__)

from ._arrays import Tensor  # noqa: E402
from ._backend.manifest import Option, backend  # noqa: E402
from ._backend.work import Batch, Model, Query  # noqa: E402
from ._data import (  # noqa: E402
    BenchmarkInfo,
    Data,
    PluginInfo,
    data,
    list_benchmarks,
    list_plugins,
)
from ._errors import (  # noqa: E402
    BackendError,
    BusyError,
    DataError,
    Error,
    Interrupted,
    OutputError,
    PluginError,
    SettingsError,
)
from ._measure import compare, find_max, load, run, scale  # noqa: E402
from ._plugin import OpenModel, Plugin  # noqa: E402
from ._results import (  # noqa: E402
    Accuracy,
    Comparison,
    Figure,
    Finding,
    FindMaxResult,
    Metric,
    Result,
    ScaleResult,
    Verdict,
)

__version__: str = _native.__version__

# As the caller knows them, in messages and where they are pickled.
for _public in (BackendError, BusyError, DataError, Error, Interrupted, OutputError, PluginError, SettingsError):
    _public.__module__ = "proctor"

__all__ = [
    "Accuracy",
    "BackendError",
    "Batch",
    "BenchmarkInfo",
    "BusyError",
    "Comparison",
    "Data",
    "DataError",
    "Error",
    "Figure",
    "FindMaxResult",
    "Finding",
    "Interrupted",
    "Metric",
    "Model",
    "OpenModel",
    "Option",
    "OutputError",
    "Plugin",
    "PluginError",
    "PluginInfo",
    "Query",
    "Result",
    "ScaleResult",
    "SettingsError",
    "Tensor",
    "Verdict",
    "__version__",
    "backend",
    "compare",
    "data",
    "find_max",
    "list_benchmarks",
    "list_plugins",
    "load",
    "run",
    "samples",
    "scale",
]
