"""The decorator :func:`backend`, which makes a class a backend and is its manifest."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Optional, TypeVar, Union

from .._arrays import DTYPES
from .._errors import BackendError
from .text import near

SCENARIOS = ("SingleStream", "MultiStream", "Server", "Offline")

#: Attribute of a class that holds its manifest.
MANIFEST = "__proctor_backend__"

_Class = TypeVar("_Class", bound=type)


@dataclass(frozen=True)
class Option:
    """An option that a backend takes, set by ``--set NAME.OPTION=VALUE``; its kind is that of its default."""

    default: Union[bool, int, float, str, None] = None
    help: str = ""
    minimum: Union[int, float, None] = None
    maximum: Union[int, float, None] = None
    choices: Sequence[str] = ()
    #: ``boolean``, ``integer``, ``float``, ``text``, ``path`` or ``choice``, where the default does not say it.
    kind: Optional[str] = None


@dataclass(frozen=True)
class OptionRow:
    """An option as the plugin reads it: limits of its kind where none are set."""

    name: str
    kind: str
    default: Optional[str]
    help: str
    choices: list[str]
    integer_min: int
    integer_max: int
    float_min: float
    float_max: float


@dataclass(frozen=True)
class ModelRow:
    """A kind of model that the backend takes, as the plugin reads it."""

    model: str
    format: str
    precision: str
    device: str
    scenarios: list[str]
    batch_size_max: int
    dynamic_shapes: bool
    memory_bytes: int


@dataclass(frozen=True)
class Manifest:
    """The manifest of a class, as the plugin reads it."""

    name: str
    version: str
    vendor: str
    license: str
    description: str
    issue: bool
    network: bool
    live_instances: bool
    models: list[ModelRow]
    options: list[OptionRow]
    file: Optional[str]


def backend(
    *,
    name: str,
    models: Union[str, Sequence[str]],
    formats: Union[str, Sequence[str]] = "*",
    precisions: Union[str, Sequence[str]] = "f32",
    devices: Union[str, Sequence[str]] = "cpu",
    scenarios: Union[str, Sequence[str]] = SCENARIOS,
    version: str = "0",
    vendor: str = "",
    license: str = "proprietary",
    description: Optional[str] = None,
    batch_size_max: int = 0,
    dynamic_shapes: bool = False,
    memory_bytes: int = 0,
    options: Optional[Mapping[str, Union[Option, bool, int, float, str]]] = None,
    network: bool = False,
    live_instances: bool = False,
) -> Callable[[_Class], _Class]:
    """Makes a class a backend, and says what it can do: its manifest.

    ``models`` are ids of models, or beginnings of ids and ``*``; ``*`` alone is any. ``formats`` are those of the files
    that it reads, ``none`` if it needs no file and ``*`` for any. A ``batch_size_max`` of 0 is no limit.
    ``live_instances``: objects may be made and dropped while others run. ``description`` is by default the first line
    of the class's own.
    """

    def decorate(cls: _Class) -> _Class:
        if not inspect.isclass(cls):
            raise BackendError(f"@proctor.backend decorates a class, and {cls!r} is none")
        what = f'backend "{name}" (class {cls.__name__})'
        executes, issues = (callable(getattr(cls, method, None)) for method in ("execute", "issue"))
        if executes == issues:
            both = "both execute and issue: it can" if executes else "neither execute nor issue: it has to"
            raise BackendError(f"{what} has {both} take work in one of the two ways")
        for scenario in _list(scenarios):
            if scenario not in SCENARIOS:
                raise BackendError(f'{what} names the unknown scenario "{scenario}"{near(scenario, SCENARIOS)}')
        for precision in _list(precisions):
            if precision not in DTYPES:
                raise BackendError(f'{what} names the unknown precision "{precision}"{near(precision, DTYPES)}')
        for title, value in {"models": models, "formats": formats, "devices": devices, "scenarios": scenarios}.items():
            if not _list(value):
                raise BackendError(f"{what} has no {title}")
        for title, number in {"batch_size_max": batch_size_max, "memory_bytes": memory_bytes}.items():
            if not isinstance(number, int) or number < 0:
                raise BackendError(f"{what} has a {title} of {number!r}: it takes a count, or 0")
        if issues and batch_size_max:
            raise BackendError(f"{what} takes whole queries, which no batch_size_max limits")
        rows = [
            ModelRow(
                model, format, precision, device, _list(scenarios), batch_size_max, dynamic_shapes, memory_bytes
            )
            for model in _list(models)
            for format in _list(formats)
            for precision in _list(precisions)
            for device in _list(devices)
        ]
        about = description if description is not None else (inspect.getdoc(cls) or "").split("\n")[0]
        manifest = Manifest(
            name=name,
            version=version,
            vendor=vendor,
            license=license,
            description=about,
            issue=issues,
            network=network,
            live_instances=live_instances,
            models=rows,
            options=[_option(what, key, value) for key, value in (options or {}).items()],
            file=_file_of(cls),
        )
        setattr(cls, MANIFEST, manifest)
        return cls

    return decorate


def _option(what: str, name: str, value: Union[Option, bool, int, float, str]) -> OptionRow:
    """Checks an option of this backend."""
    option = value if isinstance(value, Option) else Option(value)
    kind = option.kind
    if kind is None:
        kinds = {bool: "boolean", int: "integer", float: "float", str: "text", type(None): "text"}
        kind = "choice" if option.choices else kinds.get(type(option.default))
    known = ("boolean", "integer", "float", "text", "path", "choice")
    if kind not in known:
        raise BackendError(f'{what}: option "{name}" is of no kind of {", ".join(known)}')
    if kind == "choice" and (not option.choices or option.default not in (None, *option.choices)):
        raise BackendError(f'{what}: option "{name}" has a default that is none of its choices')
    default = option.default
    text = None if default is None else str(default).lower() if kind == "boolean" else str(default)
    of_integer, of_float = kind == "integer", kind == "float"
    low, high = option.minimum, option.maximum
    return OptionRow(
        name=name,
        kind=kind,
        default=text,
        help=option.help,
        choices=list(option.choices),
        integer_min=int(low) if of_integer and low is not None else -(1 << 63),
        integer_max=int(high) if of_integer and high is not None else (1 << 63) - 1,
        float_min=float(low) if of_float and low is not None else -sys.float_info.max,
        float_max=float(high) if of_float and high is not None else sys.float_info.max,
    )


def _file_of(cls: type) -> Optional[str]:
    """Returns the file that a class is in, if it is in one."""
    try:
        file = inspect.getsourcefile(cls)
    except (TypeError, OSError):
        return None
    # The cells of a notebook have names of files that are not there.
    return os.path.abspath(file) if file and os.path.isfile(file) else None


def manifest_of(cls: Any) -> Manifest:
    """Returns the manifest of a class."""
    # That of a class above is of another class.
    manifest = vars(cls).get(MANIFEST) if inspect.isclass(cls) else None
    if not isinstance(manifest, Manifest):
        called = getattr(cls, "__name__", repr(cls))
        raise BackendError(f"{called} is no backend: decorate the class with @proctor.backend(...)")
    return manifest


def _list(value: Union[str, Sequence[str]]) -> list[str]:
    """Returns names that are given as one text or as several."""
    return [value] if isinstance(value, str) else list(value)
