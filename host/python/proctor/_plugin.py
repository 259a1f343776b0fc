"""A plugin worked by hand: arrays in, arrays out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._arrays import PACKED, Tensor, numpy, tensors_of
from ._errors import SettingsError
from ._words import backend_of, name_of, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: One array for the only input, or arrays by the names of inputs. Samples are the first dimension.
Inputs = Union["NDArray[Any]", Mapping[str, Any]]


class Plugin:
    """A plugin with options.

    >>> with Plugin("mock", sigma=0).model(benchmark="digits-lstm") as model:  # doctest: +SKIP
    ...     outputs = model.execute(proctor.data("digits-lstm").stack(range(8)))
    """

    def __init__(self, plugin: Any, **options: Any) -> None:
        """
        :param plugin: name of a plugin, path of its library, or a backend: a class in Python
        :param options: the plugin's own options, which are checked when a model is opened
        """
        self._plugin = plugin
        self._options = options

    def model(
        self,
        benchmark: Optional[str] = None,
        *,
        precision: Optional[str] = None,
        batch_size: Optional[int] = None,
        **settings: Any,
    ) -> OpenModel:
        """Opens the plugin and loads the model of a benchmark.

        :param benchmark: name of a benchmark, or the path of its definition
        :param precision: precision to compute in; the plugin chooses one if it is left out
        :param batch_size: greatest number of samples of a batch; larger calls are split
        :param settings: other settings of a run, such as ``device="cuda"``
        :raises PluginError: if the plugin cannot be loaded or does not take the model
        """
        given = {"benchmark": benchmark, "precision": precision, "batch_size": batch_size, **settings}
        options = {name_of(self._plugin): self._options} if self._options else None
        words = words_of("run", given, plugin=self._plugin, options=options)
        return OpenModel(_native.OpenedModel(words, backend_of(self._plugin)))

    def __repr__(self) -> str:
        return f"<Plugin {self._plugin}>"


class OpenModel:
    """A loaded model. Leaving its ``with`` block closes the plugin."""

    def __init__(self, native: _native.OpenedModel) -> None:
        self._native = native
        facts = native.facts()
        #: Name of the plugin, and its version.
        self.plugin: str = facts["plugin"]
        self.plugin_version: str = facts["version"]
        #: Id of the model.
        self.name: str = facts["model"]
        #: Precision that it computes in.
        self.precision: str = facts["precision"]
        #: Greatest number of samples of a batch.
        self.batch_size: int = facts["batch_size"]
        #: Tensors of a sample, in the form that the plugin takes.
        self.inputs: tuple[Tensor, ...] = tensors_of(facts["inputs"])
        #: Tensors of an answer.
        self.outputs: tuple[Tensor, ...] = tensors_of(facts["outputs"])
        self._inputs_vary: bool = facts["inputs_vary"]
        self._varies: bool = facts["last_output_varies"]

    def execute(self, inputs: Inputs, *, timeout: Optional[float] = None) -> dict[str, Any]:
        """Runs samples, and returns the outputs by their names.

        :param inputs: one array for each input by its name, or the array of the only input. Their first dimension are
            the samples; for samples of different shapes, a list of arrays.
        :param timeout: seconds after which a call that has not returned is left behind, and the model with it
        :returns: for each output an array whose first dimension are the samples, or a list of arrays if they have
            different sizes
        :raises PluginError: if the plugin fails a sample, or does not answer in time
        """
        np = numpy()
        if not isinstance(inputs, Mapping):
            if len(self.inputs) != 1:
                names = ", ".join(spec.name for spec in self.inputs)
                raise SettingsError(f"the model has the inputs {names}: give a dictionary with an array for each")
            inputs = {self.inputs[0].name: inputs}
        known = {spec.name for spec in self.inputs}
        if set(inputs) != known:
            raise SettingsError(f"the inputs are {', '.join(sorted(known))}, and not {', '.join(sorted(inputs))}")
        columns = [self._column(spec, inputs[spec.name]) for spec in self.inputs]
        if len({len(column) for column in columns}) > 1:
            raise SettingsError("the inputs have different numbers of samples")
        answers = self._native.execute(list(map(list, zip(*columns))), timeout)
        outputs: dict[str, list[Any]] = {spec.name: [] for spec in self.outputs}
        for answer in answers:
            start = 0
            for spec in self.outputs:
                is_last = spec is self.outputs[-1]
                end = len(answer) if is_last else start + _size(spec)
                outputs[spec.name].append(spec.array(answer[start:end]))
                start = end
        return {spec.name: self._joined(np, spec, outputs[spec.name]) for spec in self.outputs}

    def close(self) -> None:
        """Unloads the model and closes the plugin."""
        self._native.close()

    def __enter__(self) -> OpenModel:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<OpenModel {self.name} ({self.precision}) by {self.plugin} {self.plugin_version}>"

    def _column(self, spec: Tensor, value: Any) -> list[tuple[list[int], bytes]]:
        """Returns shape and bytes of one input of each sample."""
        np = numpy()
        if not hasattr(value, "__iter__"):
            raise SettingsError(f"input {spec.name} is {value!r}: give an array whose first dimension are the samples")
        column = []
        for sample in value:
            given = np.asarray(sample)
            if not np.can_cast(given.dtype, spec.dtype, "same_kind"):
                raise SettingsError(f"input {spec.name} has the type {given.dtype}, and the model takes {spec.type}")
            array = np.ascontiguousarray(given, spec.dtype)
            if array.dtype.kind in "iu" and (array != given).any():
                raise SettingsError(f"input {spec.name} has values that {spec.type} cannot hold")
            # Of a scalar, `ascontiguousarray` makes an array of one element.
            shape = list(given.shape)
            if spec.type in PACKED and not self._inputs_vary:
                shape = list(spec.shape)
            column.append((shape, array.tobytes()))
        return column

    @staticmethod
    def _joined(np: Any, spec: Tensor, arrays: Sequence[Any]) -> Any:
        if not arrays:
            return np.empty((0, *spec.shape), spec.dtype)
        is_even = len({array.shape for array in arrays}) == 1
        return np.stack(arrays) if is_even else list(arrays)


def _size(spec: Tensor) -> int:
    """Returns the size of a tensor in bytes."""
    elements = math.prod(spec.shape)
    if spec.type in PACKED:
        return (elements + 1) // 2
    return elements * spec.dtype.itemsize
