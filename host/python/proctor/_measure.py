"""Runs, searches, scaling and comparisons."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Optional, Union, cast

from . import _native
from ._errors import Interrupted, error_of
from ._progress import Progress, plan
from ._results import Comparison, FindMaxResult, Result, ScaleResult, result_of
from ._words import Duration, Options, Path, backend_of, duration_of, texts_of, words_of

Loaded = Union[Result, FindMaxResult, ScaleResult]


def run(
    *,
    benchmark: Optional[str] = None,
    scenario: Optional[str] = None,
    plugin: Any = None,
    options: Optional[Options] = None,
    duration: Optional[Duration] = None,
    config: Optional[Path] = None,
    mlperf_conf: Optional[Path] = None,
    user_conf: Optional[Path] = None,
    progress: Progress = True,
    **settings: Any,
) -> Result:
    """Runs a benchmark: accuracy, then performance, then the verdict.

    Runs in this process, as ``host run`` does in its own. An INVALID run is a result, too.

    :param benchmark: name of a benchmark, or the path of its definition
    :param scenario: ``"SingleStream"``, ``"MultiStream"``, ``"Server"``, ``"Offline"`` or ``"Interactive"``
    :param plugin: name of a plugin, path of its library, or a backend: a class in Python
    :param options: options of plugins, such as ``{"mock": {"sigma": 1}}``
    :param duration: least time of the run, in seconds or as ``"500ms"``
    :param config: configuration file, in place of ``proctor.toml`` in the current folder
    :param mlperf_conf: settings of the rules, a file in LoadGen's format
    :param user_conf: settings of the submitter, a file in LoadGen's format
    :param progress: ``True``, ``False``, or a function that gets events
    :param settings: any setting that ``host explain`` shows, such as ``batch_size=8`` or ``output_folder="runs/mine"``
    :raises Error: if there is no result; its kind says why
    :raises Interrupted: at Ctrl-C, with the INVALID result
    """
    flags = _flags(duration, config, mlperf_conf, user_conf)
    words = _words("run", benchmark, scenario, plugin, options, settings, flags)
    return cast(Result, _measure(words, progress, plugin))


def find_max(
    *,
    benchmark: Optional[str] = None,
    scenario: Optional[str] = None,
    plugin: Any = None,
    options: Optional[Options] = None,
    lowest: Optional[float] = None,
    highest: Optional[float] = None,
    resolution: Optional[float] = None,
    confirm_runs: Optional[int] = None,
    latency_bound: Optional[Duration] = None,
    max_error_share: Optional[float] = None,
    resume: Optional[Path] = None,
    duration: Optional[Duration] = None,
    config: Optional[Path] = None,
    mlperf_conf: Optional[Path] = None,
    user_conf: Optional[Path] = None,
    progress: Progress = True,
    **settings: Any,
) -> FindMaxResult:
    """Finds the highest VALID rate of Server, or the most samples of a query of MultiStream.

    As ``host find-max``; :func:`run` has the other arguments.

    :param lowest: lowest load to consider
    :param highest: highest load to consider
    :param resolution: Server: how close to get to the limit, as a fraction of the rate
    :param confirm_runs: full runs that must be VALID at the result
    :param latency_bound: MultiStream: longest latency of a query, in seconds or as ``"50ms"``
    :param max_error_share: fraction of samples that may fail
    :param resume: folder of an interrupted search to go on with
    """
    flags = {
        **_flags(duration, config, mlperf_conf, user_conf),
        "from": lowest,
        "to": highest,
        "resolution": resolution,
        "confirm-runs": confirm_runs,
        "latency-bound": None if latency_bound is None else duration_of(latency_bound),
        "max-error-share": max_error_share,
        "resume": resume,
    }
    words = _words("find-max", benchmark, scenario, plugin, options, settings, flags)
    return cast(FindMaxResult, _measure(words, progress, plugin))


def scale(
    *,
    benchmark: Optional[str] = None,
    scenario: Optional[str] = None,
    plugin: Any = None,
    options: Optional[Options] = None,
    policies: Union[str, Iterable[str], None] = None,
    rounds: Optional[int] = None,
    slo_at: Optional[Mapping[str, str]] = None,
    duration: Optional[Duration] = None,
    config: Optional[Path] = None,
    mlperf_conf: Optional[Path] = None,
    user_conf: Optional[Path] = None,
    progress: Progress = True,
    **settings: Any,
) -> ScaleResult:
    """Finds the batch size and number of instances with the highest throughput under a latency target.

    As ``host scale``; the target is a setting, ``slo_ms`` or ``slo_x``, and :func:`run` has the other arguments.

    :param policies: policies to run in turn, such as ``["dnnscaler", "joint", "64x3"]``
    :param rounds: number of passes through them
    :param slo_at: changes of the target during the run, such as ``{"30s": "20ms"}``
    """
    flags = {
        **_flags(duration, config, mlperf_conf, user_conf),
        "compare": None if policies is None else ",".join(texts_of(policies)),
        "rounds": rounds,
    }
    words = _words("scale", benchmark, scenario, plugin, options, settings, flags)
    words.extend(f"--slo-at={time}={target}" for time, target in (slo_at or {}).items())
    return cast(ScaleResult, _measure(words, progress, plugin))


def compare(
    a: Union[Path, Result],
    b: Union[Path, Result],
    *,
    fail_if: Union[str, Iterable[str]] = (),
    confidence: Optional[float] = None,
    seed: Optional[int] = None,
) -> Comparison:
    """Compares two runs, or two folders with repeats of a run: whether they differ, and by how much.

    :param a: the baseline: a result or its folder
    :param b: what is compared with it
    :param fail_if: conditions such as ``"p99 > 5%"``; :attr:`Comparison.failed` says whether one is fulfilled
    :param confidence: confidence level of the intervals
    :param seed: seed for resampling
    """
    words = ["compare"]
    words.extend(f"--fail-if={condition}" for condition in texts_of(fail_if))
    if confidence is not None:
        words.append(f"--confidence={confidence}")
    if seed is not None:
        words.append(f"--seed={seed}")
    words.extend(["--", _folder_of(a), _folder_of(b)])
    return Comparison(json.loads(_native.compare(words)))


def load(folder: Path) -> Loaded:
    """Returns the result of a folder that a run, a search or scaling has left.

    :raises DataError: if there is none, or it is damaged
    """
    kind, found = _native.open_folder(os.fspath(folder))
    return result_of(kind, str(found))


def _folder_of(side: Union[Path, Result]) -> str:
    return side.folder if isinstance(side, Result) else os.fspath(side)


def _flags(
    duration: Optional[Duration],
    config: Optional[Path],
    mlperf_conf: Optional[Path],
    user_conf: Optional[Path],
) -> dict[str, Any]:
    files = {"config": config, "mlperf-conf": mlperf_conf, "user-conf": user_conf}
    return {"duration": duration, **files}


def _words(
    command: str,
    benchmark: Optional[str],
    scenario: Optional[str],
    plugin: Any,
    options: Optional[Options],
    settings: Mapping[str, Any],
    flags: dict[str, Any],
) -> list[str]:
    # Flags of their own, as `host find-max` and `host scale` have other defaults than `host run`.
    flags = {**flags, "scenario": scenario}
    given = {"benchmark": None if benchmark is None else os.fspath(benchmark), **settings}
    return words_of(command, given, plugin=plugin, options=options, flags=flags)


def _measure(words: list[str], progress: Progress, plugin: Any) -> Loaded:
    command = words[0]
    form, take = plan(progress, shows_answers=command != "run")
    outcome = _native.measure(words, form, take, backend_of(plugin))
    folder, failure, raised = outcome["folder"], outcome["failure"], outcome["raised"]
    result: Optional[Loaded] = None
    if failure is None:
        result = result_of(command, str(folder), text=outcome["answer"])
    if raised is not None and not isinstance(raised, KeyboardInterrupt):
        # A handler of the user's own, or the function that takes events.
        raise raised
    if raised is not None or outcome["conclusion"] == "interrupted":
        text = failure[1] if failure else "interrupted"
        interrupted = error_of("Interrupted", text, folder)
        assert isinstance(interrupted, Interrupted)
        interrupted.result = result if isinstance(result, Result) else None
        raise interrupted from raised
    if failure is not None:
        kind, text = failure
        raise error_of(kind, text, folder)
    assert result is not None
    return result
