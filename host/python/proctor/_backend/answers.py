"""Answers of a backend as arrays that fit the outputs of its model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._arrays import Tensor, numpy
from .._errors import BackendError
from .text import listed

if TYPE_CHECKING:
    from .work import Model

#: One array, one for each output in their order, or arrays by the name of the output.
Answers = Any


def answers_of(model: Model, answer: Answers, count: int, what: str) -> list[Any]:
    """Returns an array for each output over ``count`` samples; of one that varies perhaps a list, an array for each."""
    tensors = model.outputs
    names = [tensor.name for tensor in tensors]
    if isinstance(answer, Mapping):
        wrong = [name for name in answer if name not in names]
        if wrong:
            raise BackendError(f'{what} the output "{wrong[0]}", and the model has {listed(names)}')
        lacking = [name for name in names if name not in answer]
        if lacking:
            raise BackendError(f'{what} no output "{lacking[0]}", and the model has {listed(names)}')
        values = [answer[name] for name in names]
    elif len(tensors) == 1:
        values = [answer]
    elif isinstance(answer, (tuple, list)) and len(answer) == len(tensors):
        values = list(answer)
    else:
        raise BackendError(f"{what} a {type(answer).__name__}, and the model has {len(tensors)} outputs: {listed(names)}")
    last = len(tensors) - 1
    return [
        _answer(tensor, value, count, what, model.last_output_varies and at == last)
        for at, (tensor, value) in enumerate(zip(tensors, values))
    ]


def _answer(tensor: Tensor, value: Any, count: int, what: str, varies: bool) -> Any:
    """Returns the array of one output, or a list of arrays of one that varies."""
    np = numpy()
    if varies and isinstance(value, (list, tuple)):
        if len(value) != count:
            raise BackendError(f'{what} "{tensor.name}" for {len(value)} samples instead of {count}')
        parts = [np.asarray(part, tensor.dtype if len(part) == 0 else None).reshape(-1) for part in value]
        most = math.prod(tensor.shape)
        for part in parts:
            if part.dtype != tensor.dtype or part.size > most:
                raise BackendError(
                    f'{what} "{tensor.name}" with a sample of {part.size} elements of {part.dtype}: a sample has at most '
                    f"{most} of {tensor.dtype}"
                )
        return parts
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BackendError(f'{what} "{tensor.name}" as a {type(value).__name__}, which is no array ({error})') from None
    wanted = (count, *tensor.shape)
    if array.dtype == tensor.dtype and array.shape == wanted:
        return array
    if array.dtype != tensor.dtype:
        remedy = f"convert it, as with .astype(numpy.{tensor.dtype})"
    elif array.size == math.prod(wanted):
        remedy = f"give it that shape, as with .reshape({wanted})"
    else:
        remedy = "the first dimension is the samples of the batch"
    raise BackendError(
        f'{what} "{tensor.name}" as {array.dtype}{list(array.shape)} instead of {tensor.dtype}{list(wanted)}: {remedy}'
    )


def joined(answers: list[Any], count: int) -> tuple[Any, int]:
    """Returns the bytes of all samples one after another, and those of one; or a list of the bytes of each, and 0."""
    np = numpy()
    if count == 0:
        return b"", 0
    if any(isinstance(answer, list) for answer in answers):
        return [b"".join(answer[at].tobytes() for answer in answers) for at in range(count)], 0
    rows = [np.ascontiguousarray(answer).reshape(count, -1).view(np.uint8) for answer in answers]
    data = (rows[0] if len(rows) == 1 else np.concatenate(rows, axis=1)).tobytes()
    return data, len(data) // count
