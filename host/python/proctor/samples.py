"""The samples of a run, as :meth:`proctor.Result.samples` returns them: what their latencies say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Latency of a sample that never completed.
NEVER = 2**64 - 1

#: Set in the latency of a sample that completed as failed.
FAILED_BIT = 2**63


def completed(samples: NDArray[np.void]) -> NDArray[np.bool_]:
    """Returns for each sample whether it completed, also as failed."""
    is_completed: NDArray[np.bool_] = samples["latency_ns"] != NEVER
    return is_completed


def failed(samples: NDArray[np.void]) -> NDArray[np.bool_]:
    """Returns for each sample whether it completed as failed."""
    latencies = samples["latency_ns"]
    has_failed: NDArray[np.bool_] = (latencies != NEVER) & (latencies >= FAILED_BIT)
    return has_failed


def answered(samples: NDArray[np.void]) -> NDArray[np.bool_]:
    """Returns for each sample whether it was answered: completed, and not as failed."""
    is_answered: NDArray[np.bool_] = samples["latency_ns"] < FAILED_BIT
    return is_answered
