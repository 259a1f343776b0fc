"""Results as values. Everything is read from the files of the run folder."""

from __future__ import annotations

import enum
import html
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _native
from ._arrays import numpy
from ._errors import DataError
from .samples import answered

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Verdict(enum.Enum):
    """Whether a run counts. In a condition it is true if it does."""

    VALID = "VALID"
    INVALID = "INVALID"

    def __bool__(self) -> bool:
        return self is Verdict.VALID

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Metric:
    """The figure that a scenario is about."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Accuracy:
    """The score of the answers."""

    metric: str
    value: float
    target: float
    passed: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """A rule that the verdict rests on."""

    #: Test that it is about: ``"performance"`` or ``"accuracy"``.
    test: str
    #: Name of the rule.
    rule: str
    #: ``"broken"``, which makes the test INVALID, ``"limiting"`` or ``"met"``.
    standing: str
    #: The whole finding as a sentence.
    text: str
    #: Measured value, in ``unit``; ``None`` if it is no number.
    measured: Optional[float]
    #: Bound of the rule, in ``unit``.
    limit: Optional[float]
    unit: Optional[str]
    #: Change that would make the next run VALID, as ``result.json`` has it.
    remedy: Optional[dict[str, Any]]

    @property
    def is_broken(self) -> bool:
        """Whether it makes the test INVALID."""
        return self.standing == "broken"


class _Folder:
    """A folder of results."""

    #: Name of the file with everything.
    _FILE = "result.json"

    def __init__(self, folder: Union[str, os.PathLike[str]], text: Optional[str] = None) -> None:
        #: Path of the folder.
        self.folder: str = os.path.abspath(folder)
        self._text = text
        path = os.path.join(self.folder, self._FILE)
        try:
            with open(path, encoding="utf-8") as file:
                #: Everything in the file of the result.
                self.json: dict[str, Any] = json.load(file)
        except (OSError, ValueError) as error:
            raise DataError(f"cannot read {path}: {error}") from error

    def report(self, output: Union[str, os.PathLike[str], None] = None) -> str:
        """Writes the HTML report, and returns its path.

        :param output: file to write in place of ``report.html`` in the folder
        """
        words = ["report", "--", self.folder]
        if output is not None:
            words.insert(1, f"--output={os.fspath(output)}")
        return str(_native.report(words))

    def _rows(self) -> list[tuple[str, str]]:
        return []

    def _title(self) -> str:
        return type(self).__name__

    def __str__(self) -> str:
        if self._text:
            return self._text.rstrip("\n")
        rows = self._rows()
        width = max((len(name) for name, _ in rows), default=0)
        return "\n".join([self._title(), *(f"  {name:<{width}}  {value}" for name, value in rows)])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left;padding-right:1em'>{html.escape(name)}</td>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in self._rows()
        )
        return f"<div><b>{html.escape(self._title())}</b><table>{rows}</table></div>"


class Result(_Folder):
    """The result of a run, VALID or not. It is true in a condition if the run counts and its accuracy passed."""

    @property
    def valid(self) -> bool:
        """Whether the run is VALID."""
        return bool(self.json["verdict"]["valid"])

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return Verdict.VALID if self.valid else Verdict.INVALID

    @property
    def interrupted(self) -> bool:
        """Whether the user ended the run early."""
        return bool(self.json["verdict"].get("interrupted", False))

    @property
    def reasons(self) -> list[str]:
        """Reasons why the run is INVALID, in words."""
        return [str(reason) for reason in self.json["verdict"].get("reasons", [])]

    @property
    def metric(self) -> Optional[Metric]:
        """The metric of the scenario; ``None`` without a performance run, or if no query completed."""
        found = self.json.get("metric")
        if not found or found.get("value") is None:
            return None
        return Metric(str(found["name"]), float(found["value"]), str(found["unit"]))

    @property
    def accuracy(self) -> Optional[Accuracy]:
        """The score of the answers; ``None`` without an accuracy run."""
        found = self.json.get("accuracy")
        if not found:
            return None
        value = found.get("value")
        return Accuracy(
            metric=str(found["metric"]),
            value=float("nan") if value is None else float(value),
            target=float(found["target"]),
            passed=bool(found["passed"]),
            reasons=tuple(str(reason) for reason in found.get("reasons", [])),
        )

    @property
    def findings(self) -> list[Finding]:
        """The rules that the verdict rests on, kept or broken; those of the performance run come first."""
        findings = []
        for test in ("performance", "accuracy"):
            part = self.json.get(f"{test}_run") or {}
            for finding in part.get("findings", []):
                findings.append(
                    Finding(
                        test=test,
                        rule=finding["rule"],
                        standing=finding["standing"],
                        text=finding["text"],
                        measured=finding.get("measured"),
                        limit=finding.get("bound"),
                        unit=finding.get("unit"),
                        remedy=finding.get("remedy"),
                    )
                )
        return findings

    @property
    def settings(self) -> dict[str, Any]:
        """Value of each setting in effect. ``json["settings"]`` has their origins, too."""
        return {key: setting["value"] for key, setting in self.json["settings"].items()}

    @property
    def warnings(self) -> list[str]:
        """Warnings about settings."""
        return [str(warning) for warning in self.json.get("setting_warnings", [])]

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""
        return str(self.json["benchmark"]["id"])

    @property
    def scenario(self) -> str:
        """Name of the scenario."""
        return str(self.json["scenario"])

    @property
    def plugin(self) -> str:
        """Name of the plugin."""
        return str(self.json["plugin"]["name"])

    def samples(self, test: str = "performance") -> NDArray[np.void]:
        """Returns the samples of a test in the order of their issue, as a view of their file: nothing is copied.

        The array has the fields ``scheduled_ns``, the instant from which the latency counts, and ``latency_ns``. In the
        latter, ``proctor.samples.NEVER`` is a sample that never completed, and ``proctor.samples.FAILED_BIT`` is set in
        one that failed: ``answered``, ``failed`` and ``completed`` of that module tell them apart.

        :param test: ``"performance"`` or ``"accuracy"``
        """
        arrays = numpy()
        parts = {"performance": (), "accuracy": ("accuracy",)}
        if test not in parts:
            raise ValueError(f"{test!r} is no test: give 'performance' or 'accuracy'")
        path = os.path.join(self.folder, *parts[test], "samples.bin")
        dtype = arrays.dtype([("scheduled_ns", "<u8"), ("latency_ns", "<u8")])
        try:
            count = os.path.getsize(path) // dtype.itemsize
            # An empty file cannot be mapped. Bytes behind the last record are torn by a crash.
            samples: NDArray[np.void] = (
                arrays.memmap(path, dtype, mode="r", shape=(count,)) if count else arrays.empty(0, dtype)
            )
        except OSError as error:
            raise DataError(f"cannot read {path}: {error}") from error
        return samples

    def latencies(self) -> NDArray[np.uint64]:
        """Returns the latencies of the answered samples of the performance run, in ns."""
        samples = self.samples()
        latencies: NDArray[np.uint64] = samples["latency_ns"][answered(samples)]
        return latencies

    def __bool__(self) -> bool:
        return self.valid and (self.accuracy is None or self.accuracy.passed)

    def __repr__(self) -> str:
        metric = self.metric
        figure = f", {metric.value:g} {metric.unit}" if metric else ""
        return f"<Result {self.benchmark} {self.scenario}: {self.verdict}{figure}; {self.folder}>"

    def _title(self) -> str:
        return f"{self.benchmark} on {self.scenario}: {self.verdict}"

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("plugin", f"{self.plugin} {self.json['plugin'].get('version', '')}")]
        if accuracy := self.accuracy:
            passed = "passed" if accuracy.passed else "failed"
            rows.append(("accuracy", f"{accuracy.metric} {accuracy.value:.5g}, target {accuracy.target:.5g}: {passed}"))
        if metric := self.metric:
            rows.append(("metric", f"{metric.value:g} {metric.unit} ({metric.name})"))
        rows.extend(("", reason) for reason in self.reasons)
        rows.append(("folder", self.folder))
        return rows


class FindMaxResult(_Folder):
    """The result of a search. It is true in a condition if the search found a load."""

    _FILE = "find_max.json"

    @property
    def load(self) -> Optional[float]:
        """The highest load that is VALID; ``None`` if none is."""
        found = self.json.get("load")
        return None if found is None else float(found)

    @property
    def unit(self) -> str:
        """Unit of the load."""
        return str(self.json["unit"])

    @property
    def summary(self) -> str:
        """The answer in words."""
        return str(self.json["summary"])

    @property
    def curve(self) -> list[dict[str, Any]]:
        """Probes and full runs, in their order, each as a dictionary."""
        return list(self.json.get("curve", []))

    @property
    def full_runs(self) -> list[Result]:
        """Results of the full runs."""
        return [Result(os.path.join(self.folder, run["folder"])) for run in self.json.get("full_runs", [])]

    def __bool__(self) -> bool:
        return self.load is not None

    def __repr__(self) -> str:
        return f"<FindMaxResult {self.summary}; {self.folder}>"

    def _title(self) -> str:
        return "search for the highest load"

    def _rows(self) -> list[tuple[str, str]]:
        return [("result", self.summary), ("folder", self.folder)]


class ScaleResult(_Folder):
    """The result of scaling."""

    _FILE = "scale.json"

    @property
    def courses(self) -> list[dict[str, Any]]:
        """Course of each policy, and the setting to use, each as a dictionary."""
        return list(self.json.get("courses", []))

    @property
    def objections(self) -> list[str]:
        """Reasons why no setting counts, in words."""
        return [str(objection) for objection in self.json.get("objections", [])]

    def __repr__(self) -> str:
        policies = ", ".join(str(course.get("policy")) for course in self.courses)
        return f"<ScaleResult {policies}; {self.folder}>"

    def _title(self) -> str:
        return "scaling"

    def _rows(self) -> list[tuple[str, str]]:
        policies = ", ".join(str(course.get("policy")) for course in self.courses)
        return [("policies", policies), *(("", text) for text in self.objections), ("folder", self.folder)]


@dataclass(frozen=True)
class Figure:
    """A figure of two sides, and how it changes from the first to the second."""

    name: str
    unit: str
    a: Optional[float]
    b: Optional[float]
    #: Relative change.
    change: Optional[float]
    #: Ends of its confidence interval.
    low: Optional[float]
    high: Optional[float]
    verdict: str
    text: str


class Comparison:
    """Differences between two runs."""

    def __init__(self, value: dict[str, Any]) -> None:
        self._text: str = value.pop("text")
        #: The whole comparison, as ``host compare --json`` prints it.
        self.json: dict[str, Any] = value

    @property
    def figures(self) -> list[Figure]:
        """Latencies, throughput and accuracy of both sides."""
        names = ("unit", "a", "b", "change", "low", "high", "verdict", "text")
        return [Figure(figure["figure"], *(figure[name] for name in names)) for figure in self.json["figures"]]

    def figure(self, name: str) -> Figure:
        """Returns the figure of this name, such as ``"p99"``."""
        for figure in self.figures:
            if figure.name == name:
                return figure
        raise KeyError(f"{name!r}: there are {', '.join(figure.name for figure in self.figures)}")

    @property
    def differences(self) -> Any:
        """Everything but the figures that differs, such as settings and machine."""
        return self.json["differences"]

    @property
    def failed(self) -> list[str]:
        """The conditions of ``fail_if`` that are fulfilled."""
        return [one["condition"] for one in self.json["conditions"] if one["fails"]]

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def __repr__(self) -> str:
        return f"<Comparison of {self.json['a']['folder']} and {self.json['b']['folder']}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def result_of(
    kind: str, folder: Union[str, os.PathLike[str]], text: Optional[str] = None
) -> Union[Result, FindMaxResult, ScaleResult]:
    """Returns the result of a folder of this kind."""
    if kind == "find-max":
        return FindMaxResult(folder, text)
    return ScaleResult(folder, text) if kind == "scale" else Result(folder, text)
