"""Objects that a backend is given: the model to load, and batches and queries to work on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union

from .._arrays import Tensor
from .._errors import BackendError
from .answers import Answers, answers_of, joined
from .text import listed

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Model:
    """The model to load, and its intended use: what ``load`` gets."""

    #: Id of the model, such as ``digits-lstm``.
    name: str
    precision: str
    #: Kind of device, one that the manifest declares.
    device: str
    #: Paths of the files of the model, by format, such as ``onnx``.
    files: Mapping[str, Path]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    scenario: str
    #: Maximum number of samples in a batch.
    batch_size_max: int
    #: Number of this instance, counted from 0, and of all of them; 0 of 0 for a backend that takes whole queries.
    instance: int
    instance_count: int
    #: Processors that the instance should keep to; empty for any.
    cpus: tuple[int, ...]
    #: The options of the backend that have a value.
    options: Mapping[str, Union[bool, int, float, str, Path]]
    #: Folder for compiled models that outlives the run, if there is one.
    cache_folder: Optional[Path]
    #: True if the last output of a sample may have fewer elements than its shape says.
    last_output_varies: bool
    #: True if the inputs of a sample may be smaller than their shapes say.
    inputs_vary: bool
    #: The expected load, as far as it is known.
    latency_bound_ns: Optional[int]
    first_token_bound_ns: Optional[int]
    per_token_bound_ns: Optional[int]
    target_qps: Optional[float]
    samples_per_query: Optional[int]
    expected_batch_size: Optional[int]
    _host: Any

    def metric(self, name: str, unit: str, value: float) -> None:
        """Adds a figure to the result, such as ``gpu_power`` in ``W``. Not for the timed path."""
        self._host.metric(name, unit, value)

    def progress(self, done: int, total: int, task: str) -> None:
        """Says how far a long call has come, so that it is not taken for one that hangs; ``total`` 0 if not known."""
        self._host.progress(done, total, task)


def positions_of(tensors: Sequence[Tensor]) -> dict[str, int]:
    """Returns the positions of tensors by their names."""
    return {tensor.name: at for at, tensor in enumerate(tensors)}


class Inputs(Mapping[str, "NDArray[Any]"]):
    """The inputs by name: each a read-only array over all samples, whose first dimension is the samples.

    Where the samples lie at one distance from each other it is a view of the host's memory, else a copy of all of them.
    Arrays are made when they are asked for.
    """

    __slots__ = ("_arrays", "_native", "_positions")

    def __init__(self, positions: Mapping[str, int], native: Any) -> None:
        self._positions = positions
        self._native = native
        self._arrays: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        array = self._arrays.get(name)
        if array is None:
            array = self._arrays[name] = self._native.array(self._position(name))
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def _position(self, name: str) -> int:
        position = self._positions.get(name)
        if position is None:
            raise KeyError(f"the model has no input {name!r}: it has {listed(self._positions)}")
        return position


class Work:
    """Samples of a batch or a query, whose inputs are read and whose tokens are reported."""

    __slots__ = ("_native", "inputs", "model")

    def __init__(self, model: Model, positions: Mapping[str, int], native: Any) -> None:
        #: The model that was loaded.
        self.model = model
        #: The inputs by name, each an array over all samples.
        self.inputs = Inputs(positions, native)
        self._native = native

    def views(self, name: str) -> list[NDArray[Any]]:
        """Returns an input of each sample by itself: views of the host's memory, also where samples differ in shape."""
        views: list[NDArray[Any]] = self._native.views(self.inputs._position(name))
        return views

    @property
    def indices(self) -> list[int]:
        """Positions of the samples in the data set."""
        indices: list[int] = self._native.indices()
        return indices

    @property
    def ids(self) -> list[int]:
        """Identities of the issued samples, each of which comes once."""
        ids: list[int] = self._native.ids()
        return ids

    def first_token(self, position: int, data: Any = b"") -> None:
        """Reports the first token of a sample; ``data`` is its bytes, or an array of them."""
        self._native.first_token(position, bytes(data))

    def tokens(self, position: int, count: int) -> None:
        """Reports that ``count`` more tokens of a sample have come."""
        self._native.tokens(position, count)


class Batch(Work):
    """The samples of one call of ``execute``, during that call. Afterwards it is over: it has no inputs and takes no
    tokens."""

    __slots__ = ("_asked", "_counts", "_failures", "_outputs", "_size", "_sizes")

    def __init__(
        self, model: Model, positions: Mapping[str, int], native: Any, size: int, outputs: dict[str, NDArray[Any]]
    ) -> None:
        super().__init__(model, positions, native)
        self._asked = False
        self._outputs = outputs
        self._size = size
        self._sizes: Optional[list[int]] = None
        self._counts: Optional[list[int]] = None
        self._failures: dict[int, str] = {}

    def __len__(self) -> int:
        return self._size

    @property
    def outputs(self) -> dict[str, NDArray[Any]]:
        """The outputs by name, each an array over all samples, to be written in place: zero where nothing is written.
        The host copies them after the call; the arrays are used again for the next one."""
        if not self._asked:
            self._asked = True
            for array in self._outputs.values():
                array.fill(0)
        return self._outputs

    def fail(self, position: int, reason: str) -> None:
        """Reports that a sample failed, while others of the batch may be fine."""
        self._failures[self._checked(position)] = str(reason)

    def set_token_count(self, position: int, count: int) -> None:
        """Sets the number of output tokens of a sample."""
        if self._counts is None:
            self._counts = [0] * self._size
        self._counts[self._checked(position)] = count

    def set_output_size(self, position: int, count: int) -> None:
        """Sets the number of elements of a sample's last output, where that may have fewer than its shape says."""
        last = self.model.outputs[-1]
        most = math.prod(last.shape)
        if not self.model.last_output_varies:
            raise BackendError(f'output "{last.name}" of this benchmark has {most} elements in every sample')
        if not 0 <= count <= most:
            raise BackendError(f'output "{last.name}" has room for {most} elements, not for {count}')
        if self._sizes is None:
            self._sizes = [most] * self._size
        self._sizes[self._checked(position)] = count

    def _checked(self, position: int) -> int:
        if not 0 <= position < self._size:
            raise IndexError(f"sample {position} of a batch of {self._size}")
        return position


class Query(Work):
    """A whole query, or a part of a large one. Each of its samples is completed or failed once, from any thread."""

    __slots__ = ("_size", "offset", "total")

    def __init__(
        self, model: Model, positions: Mapping[str, int], native: Any, size: int, offset: int, total: int
    ) -> None:
        super().__init__(model, positions, native)
        self._size = size
        #: Number of samples of the query that came before, if it comes in parts.
        self.offset = offset
        #: Number of samples of the whole query.
        self.total = total

    def __len__(self) -> int:
        return self._size

    def complete(
        self,
        outputs: Answers,
        positions: Optional[Sequence[int]] = None,
        token_counts: Optional[Sequence[int]] = None,
    ) -> None:
        """Answers all samples, or those at ``positions``: with an array, one for each output, or arrays by name, whose
        first dimension is these samples."""
        chosen = None if positions is None else [index(position) for position in positions]
        count = self._size if chosen is None else len(chosen)
        counts = None if token_counts is None else [int(tokens) for tokens in token_counts]
        if counts is not None and len(counts) != count:
            raise BackendError(f"there are {len(counts)} token counts for {count} samples")
        answers = answers_of(self.model, outputs, count, "query.complete was given")
        data, row_bytes = joined(answers, count)
        self._native.complete(chosen, data, row_bytes, counts)

    def fail(self, reason: str, positions: Optional[Sequence[int]] = None) -> None:
        """Reports that all samples that are not completed yet failed, or those at ``positions``."""
        chosen = None if positions is None else [index(position) for position in positions]
        self._native.fail(chosen, str(reason))
