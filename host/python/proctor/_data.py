"""Benchmarks and plugins to run, and the samples of a benchmark as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._arrays import Tensor, numpy, tensors_of
from ._words import words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Data:
    """The samples of a benchmark, preprocessed as plugins get them. They are read when they are asked for."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        facts = _native.data_facts(words)
        #: Name of the benchmark.
        self.benchmark: str = facts["benchmark"]
        #: Name of the data set.
        self.name: str = facts["name"]
        #: Number of samples that are loaded in a performance run.
        self.performance_sample_count: int = facts["performance_sample_count"]
        #: Tensors of a sample.
        self.inputs: tuple[Tensor, ...] = tensors_of(facts["inputs"])
        #: Tensors of an answer.
        self.outputs: tuple[Tensor, ...] = tensors_of(facts["outputs"])
        self._count: int = facts["sample_count"]

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> dict[str, NDArray[Any]]:
        """Returns the inputs of a sample by their names."""
        return self.samples([index])[0]

    def __iter__(self) -> Iterator[dict[str, NDArray[Any]]]:
        step = 256
        for start in range(0, len(self), step):
            yield from self.samples(range(start, min(start + step, len(self))))

    def samples(self, indices: Union[Iterable[int], slice, None] = None) -> list[dict[str, NDArray[Any]]]:
        """Returns the inputs of samples by their names, a dictionary for each; of all samples if none are named."""
        numpy()
        found = []
        for tensors in _native.data_samples(self._words, self._indices(indices)):
            pairs = zip(self.inputs, tensors)
            found.append({spec.name: spec.array(data, shape) for spec, (shape, data) in pairs})
        return found

    def stack(self, indices: Union[Iterable[int], slice, None] = None) -> dict[str, NDArray[Any]]:
        """Returns the inputs of samples, one array for each input, with the samples as its first dimension."""
        np = numpy()
        samples = self.samples(indices)
        if not samples:
            return {spec.name: np.empty((0, *spec.shape), spec.dtype) for spec in self.inputs}
        return {spec.name: np.stack([sample[spec.name] for sample in samples]) for spec in self.inputs}

    def labels(self) -> Optional[NDArray[np.int64]]:
        """Returns the class of each sample; ``None`` for a benchmark whose right answers are no classes."""
        found = _native.data_labels(self._words)
        labels: Optional[NDArray[np.int64]] = None if found is None else numpy().array(found, "int64")
        return labels

    def __repr__(self) -> str:
        inputs = ", ".join(f"{spec.name} {spec.type}{list(spec.shape)}" for spec in self.inputs)
        return f"<Data {self.name}: {len(self)} samples of {inputs}>"

    def _indices(self, indices: Union[Iterable[int], slice, None]) -> list[int]:
        everything = range(len(self))
        if indices is None:
            return list(everything)
        if isinstance(indices, slice):
            return list(everything[indices])
        # The range refuses what is outside of it, and counts from the end below 0.
        return [everything[index] for index in indices]


def data(benchmark: Optional[str] = None, **settings: Any) -> Data:
    """Returns the samples of a benchmark.

    :param benchmark: name of a benchmark, or the path of its definition
    :param settings: settings of a run, such as ``dataset_folder="/data/imagenet"``
    :raises DataError: if the data are missing or damaged
    """
    return Data(words_of("run", {"benchmark": benchmark, **settings}))


@dataclass(frozen=True)
class BenchmarkInfo:
    """A benchmark that is built in."""

    name: str
    description: str
    model: str
    dataset: str
    scenarios: tuple[str, ...]


@dataclass(frozen=True)
class PluginInfo:
    """A plugin that is found by its name."""

    name: str
    #: Path of its library; ``None`` if it is linked in.
    path: Optional[str]


def list_benchmarks() -> list[BenchmarkInfo]:
    """Returns the built-in benchmarks."""
    return [
        BenchmarkInfo(name, description, model, dataset, tuple(scenarios))
        for name, description, model, dataset, scenarios in _native.benchmarks()
    ]


def list_plugins() -> list[PluginInfo]:
    """Returns the plugins that are found by name. None of them is loaded."""
    return [PluginInfo(name, path) for name, path in _native.plugins()]
