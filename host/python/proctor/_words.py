"""Keyword arguments as the words of the command line, which the host reads and checks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Optional, Union

from ._backend.manifest import manifest_of
from ._backend.runner import load_file
from ._errors import SettingsError

#: Options of plugins, by the name of the plugin and that of the option.
Options = Mapping[str, Mapping[str, Any]]

Path = Union[str, "os.PathLike[str]"]

#: Seconds, or a text such as ``"500ms"``.
Duration = Union[float, str]


def text_of(value: Any) -> str:
    """Returns a value as settings are written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, (list, tuple)):
        texts = [text_of(one) for one in value]
        separator = os.pathsep if any(isinstance(one, os.PathLike) for one in value) else ","
        return separator.join(texts)
    if hasattr(value, "tolist"):
        # A number or an array of NumPy.
        return text_of(value.tolist())
    raise SettingsError(f"{value!r} is no value of a setting: give a text, a number, True or False, or a list of them")


def duration_of(value: Duration) -> str:
    """Returns a duration as flags take it."""
    try:
        return value if isinstance(value, str) else f"{round(value * 1e9)}ns"
    except (TypeError, ValueError, OverflowError):
        raise SettingsError(f"{value!r} is no duration: give seconds, or a text such as '500ms'") from None


def texts_of(texts: Iterable[str]) -> list[str]:
    """Returns texts that are given as one or as several."""
    return [texts] if isinstance(texts, str) else list(texts)


def plugin_of(plugin: Any) -> str:
    """Returns the name or the path of a plugin. A backend, which is a class, becomes one."""
    if isinstance(plugin, (str, os.PathLike)):
        return str(os.fspath(plugin))
    if not isinstance(plugin, type):
        raise SettingsError(f"{plugin!r} is no plugin: give its name, the path of its library, or a backend's class")
    _name_in(plugin)
    # The name by which the plugin of the chosen class is found.
    return "python"


def backend_of(plugin: Any) -> Optional[type]:
    """Returns the class of a backend, which is chosen only by whoever has the turn in this process."""
    return plugin if isinstance(plugin, type) else None


def name_of(plugin: Any) -> str:
    """Returns the name by which a plugin is given options."""
    if isinstance(plugin, type):
        return _name_in(plugin)
    text = plugin_of(plugin)
    path, cls = (text, None) if text.endswith(".py") else (text.rpartition(":")[0], text.rpartition(":")[2])
    if path.endswith(".py"):
        return _name_in(path, cls)
    stem = os.path.basename(text)
    if "." in stem or os.sep in text:
        stem = stem.split(".")[0].removeprefix("lib").removesuffix("_sut").replace("_", "-")
    return stem


def _name_in(backend: Union[type, str], cls: Optional[str] = None) -> str:
    """Returns the name in the manifest of a backend: of a class, or of the one in a file."""
    try:
        found = backend if isinstance(backend, type) else load_file(os.path.abspath(backend), cls)
        return manifest_of(found).name
    except ValueError as error:
        raise SettingsError(str(error)) from error


def words_of(
    command: str,
    settings: Mapping[str, Any],
    *,
    plugin: Any = None,
    options: Optional[Options] = None,
    flags: Optional[Mapping[str, Any]] = None,
) -> list[str]:
    """Returns the words of a command. Settings and flags that are ``None`` are left out."""
    words = [command]
    given = dict(settings)
    if plugin is not None:
        given["plugin"] = plugin_of(plugin)
    for key, value in given.items():
        if value is not None:
            words.append(f"--set={key}={text_of(value)}")
    if not isinstance(options, (Mapping, type(None))):
        raise SettingsError(f"options is {options!r}: give a dictionary, as in options={{'mock': {{'sigma': 1}}}}")
    for name, of_plugin in (options or {}).items():
        if not isinstance(of_plugin, Mapping):
            raise SettingsError(
                f"options[{name!r}] is {of_plugin!r}: give the options of a plugin by its name, as in "
                "options={'mock': {'sigma': 1}}"
            )
        words.extend(f"--set={name}.{option}={text_of(value)}" for option, value in of_plugin.items())
    for flag, value in (flags or {}).items():
        if value is not None:
            words.append(f"--{flag}={text_of(value)}")
    return words
