"""Tensors, and the arrays of NumPy over them, which only the functions with arrays need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Element types of tensors and those of NumPy that hold them. NumPy has none for some: they are handed over as unsigned
#: integers of their size, and two of four bits as one byte.
DTYPES = {
    "f32": "<f4",
    "f64": "<f8",
    "f16": "<f2",
    "bf16": "<u2",
    "i8": "i1",
    "u8": "u1",
    "i16": "<i2",
    "u16": "<u2",
    "i32": "<i4",
    "u32": "<u4",
    "i64": "<i8",
    "u64": "<u8",
    "bool": "?",
    "f8e4m3": "u1",
    "f8e5m2": "u1",
    "i4": "u1",
    "u4": "u1",
}

#: Types of which a byte holds two elements.
PACKED = ("i4", "u4")


def numpy() -> Any:
    """Returns the module ``numpy``.

    Raises ``ImportError`` with the line that installs it.
    """
    try:
        import numpy as np
    except ImportError as error:
        raise ImportError("this needs NumPy: pip install numpy") from error
    return np


@dataclass(frozen=True)
class Tensor:
    """An input or output of one sample; there is no dimension of the batch."""

    #: Name as the benchmark knows it.
    name: str
    #: Type of the elements, by the host's name, such as ``"f32"``.
    type: str
    #: Extents; a backend gets those of the bytes where two elements share one.
    shape: tuple[int, ...]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type of NumPy that holds the elements."""
        dtype: np.dtype[Any] = numpy().dtype(DTYPES[self.type])
        return dtype

    def array(self, data: bytes, shape: Optional[Iterable[int]] = None) -> NDArray[Any]:
        """Returns an array of these bytes, read-only. One of another size than the shape's has one dimension."""
        flat = numpy().frombuffer(data, self.dtype)
        extents = self.shape if shape is None else tuple(shape)
        array: NDArray[Any] = flat.reshape(extents) if flat.size == math.prod(extents) else flat
        return array


def tensors_of(rows: Iterable[tuple[str, str, Sequence[int]]]) -> tuple[Tensor, ...]:
    """Returns the tensors that the native part tells of."""
    return tuple(Tensor(name, kind, tuple(shape)) for name, kind, shape in rows)
