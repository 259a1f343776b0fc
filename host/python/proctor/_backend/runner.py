"""Functions for the plugin that stands for a class: `plugins/python` looks them up by name."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

from .._arrays import numpy, tensors_of
from .._errors import BackendError
from .answers import Answers, answers_of
from .manifest import MANIFEST, manifest_of
from .text import close, listed
from .work import Batch, Model, Query, positions_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BackendError",
    "Issuer",
    "Runner",
    "explain",
    "flush_streams",
    "load_file",
    "make",
    "manifest_of",
    "model_of",
    "unload",
]

#: Modules by path, with the state of the file that they were run from.
_loaded: dict[str, tuple[tuple[int, int], Any]] = {}


def load_file(path: str, name: Optional[str]) -> type:
    """Runs a file once, and returns the backend in it: the class of this name, or the only one."""
    try:
        module = _run_file(path)
    except BaseException as error:  # also SystemExit and KeyboardInterrupt, which are not meant for the host
        raise BackendError(f"{path}: {explain(error)}") from error
    found = {key: value for key, value in vars(module).items() if inspect.isclass(value) and MANIFEST in vars(value)}
    if name is not None:
        if name in found:
            return found[name]
        there = f": it has {listed(found)}" if found else ", and no other"
        raise BackendError(f'{path} has no backend "{name}"{close(name, found)}{there}')
    own = {key: value for key, value in found.items() if value.__module__ == module.__name__}
    chosen = list({id(value): value for value in (own or found).values()}.values())
    if not chosen:
        raise BackendError(f"{path} has no backend: decorate a class with @proctor.backend(...)")
    if len(chosen) > 1:
        names = [value.__name__ for value in chosen]
        raise BackendError(
            f"{path} has {len(names)} backends, {listed(names)}: choose one, as in {os.path.basename(path)}:{names[0]}"
        )
    return chosen[0]


def _run_file(path: str) -> Any:
    """Runs a file as a module, unless that was done and the file is the same."""
    status = os.stat(path)
    state = (status.st_mtime_ns, status.st_size)
    known = _loaded.get(path)
    if known and known[0] == state:
        return known[1]
    folder, stem = os.path.dirname(path), Path(path).stem
    # As for a program, whose neighbours it imports.
    if folder not in sys.path:
        sys.path.insert(0, folder)
    called = stem if stem.isidentifier() and stem not in sys.modules else f"proctor_backend_{len(_loaded)}_{stem}"
    spec = importlib.util.spec_from_file_location(called, path)
    if spec is None or spec.loader is None:
        raise BackendError("it cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[called] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[called]
        raise
    _loaded[path] = (state, module)
    return module


def model_of(
    inputs: Sequence[tuple[str, str, Sequence[int]]],
    outputs: Sequence[tuple[str, str, Sequence[int]]],
    files: Mapping[str, str],
    options: Mapping[str, tuple[str, Union[bool, int, float, str]]],
    cpus: Sequence[int],
    cache_folder: Optional[str],
    host: Any,
    **others: Any,
) -> Model:
    """Returns the model of a request."""
    return Model(
        inputs=tensors_of(inputs),
        outputs=tensors_of(outputs),
        files={format: Path(path) for format, path in files.items()},
        options={name: Path(str(value)) if kind == "path" else value for name, (kind, value) in options.items()},
        cpus=tuple(cpus),
        cache_folder=None if cache_folder is None else Path(cache_folder),
        _host=host,
        **others,
    )


def make(cls: type, model: Model) -> Any:
    """Makes an object of a backend, and lets it load the model."""
    made = cls()
    load = getattr(made, "load", None)
    if load is not None:
        load(model)
    return made


def unload(made: Any) -> None:
    """Ends an object of a backend."""
    unload = getattr(made, "unload", None)
    if unload is not None:
        unload()


def flush_streams() -> None:
    """Writes what was printed: the host ends the process without it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass


class Runner:
    """Runs the batches of one instance. The outputs lie in rooms that the plugin copies from."""

    __slots__ = ("_arrays", "_execute", "_model", "_of_size", "_positions", "_title")

    def __init__(self, made: Any, model: Model, rooms: Sequence[bytearray]) -> None:
        array = numpy().ndarray
        self._execute = made.execute
        self._title = f"{type(made).__name__}.execute"
        self._model = model
        self._positions = positions_of(model.inputs)
        rows = max(model.batch_size_max, 1)
        self._arrays = {
            tensor.name: array((rows, *tensor.shape), tensor.dtype, room)
            for tensor, room in zip(model.outputs, rooms)
        }
        self._of_size: dict[int, dict[str, NDArray[Any]]] = {}

    def __call__(
        self, size: int, native: Any
    ) -> Optional[tuple[Optional[list[int]], Optional[list[int]], dict[int, str]]]:
        """Runs a batch; returns nothing, or sizes of the last output, token counts and failures."""
        outputs = self._of_size.get(size)
        if outputs is None:
            outputs = self._of_size[size] = {name: array[:size] for name, array in self._arrays.items()}
        batch = Batch(self._model, self._positions, native, size, outputs)
        answer = self._execute(batch)
        if answer is not None:
            self._take(answer, batch, outputs, size)
        elif not batch._asked and outputs and len(batch._failures) < size:
            names = listed(outputs)
            raise BackendError(
                f"{self._title} returned nothing and wrote no output: return {names}, or write to batch.outputs"
            )
        if batch._sizes is None and batch._counts is None and not batch._failures:
            return None
        return (batch._sizes, batch._counts, batch._failures)

    def _take(self, answer: Answers, batch: Batch, outputs: dict[str, NDArray[Any]], size: int) -> None:
        if len(outputs) == 1:
            # The usual case, in few steps.
            ((_, target),) = outputs.items()
            if type(answer) is type(target) and answer.dtype == target.dtype and answer.shape == target.shape:
                target[...] = answer
                return
        answers = answers_of(batch.model, answer, size, f"{self._title} returned")
        for target, value in zip(outputs.values(), answers):
            if not isinstance(value, list):
                target[...] = value
                continue
            for position, part in enumerate(value):
                target[position].reshape(-1)[: part.size] = part
                batch.set_output_size(position, part.size)


class Issuer:
    """Hands queries to the object of a backend that takes whole ones."""

    __slots__ = ("_made", "_model", "_positions")

    def __init__(self, made: Any, model: Model) -> None:
        self._made = made
        self._model = model
        self._positions = positions_of(model.inputs)

    def issue(self, native: Any, size: int, offset: int, total: int) -> None:
        """Hands a query over, or a part of one."""
        self._made.issue(Query(self._model, self._positions, native, size, offset, total))

    def flush(self) -> None:
        """Says that no further query comes."""
        flush = getattr(self._made, "flush", None)
        if flush is not None:
            flush()


#: Folder of this package, whose own calls are left out of what is said about an exception.
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

#: Number of calls that are named at either end of those that led to an exception: the backend's, and those that raised it.
_CALLS_MAX = 2

#: Number of characters of what an exception says.
_SAID_MAX = 500


def explain(error: BaseException) -> str:
    """Returns an exception in a line: what it says, and the calls that led to it, the last first."""
    if isinstance(error, BackendError):
        return str(error)
    kind, text = type(error).__name__, " ".join(str(error).split())
    if isinstance(error, SyntaxError) and error.filename:
        text = f"{error.msg} (at {os.path.basename(error.filename)}:{error.lineno})"
    said = f"{kind}: {text[:_SAID_MAX]}" if text else kind
    calls = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((_OWN, "<frozen importlib"))
    ]
    places = [
        f"{os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}" + (f": {frame.line}" if frame.line else "")
        for frame in reversed(calls if len(calls) <= 2 * _CALLS_MAX else calls[:_CALLS_MAX] + calls[-_CALLS_MAX:])
    ]
    cause = error.__cause__
    because = f"; its cause is {explain(cause)}" if cause is not None and cause is not error else ""
    return f"{said} (at {'; called at '.join(places)}){because}" if places else said + because
