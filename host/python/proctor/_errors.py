"""Exceptions, one for each kind of error of the program, and that of backends. An INVALID run is a result."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._results import Result


class Error(Exception):
    """Reason why there is no result, in the program's words, with a line for each cause."""

    #: Folder with what was recorded until then; ``None`` if nothing was.
    folder: Optional[str] = None


class SettingsError(Error, ValueError):
    """A setting or an argument is wrong, or contradicts another one."""


class PluginError(Error, RuntimeError):
    """The plugin cannot be loaded or used, or it hangs."""


class DataError(Error):
    """A data set, a model, a result or another file is missing or damaged."""


class OutputError(Error):
    """The results cannot be written."""


class BusyError(Error, RuntimeError):
    """Another run or test of this process is under way."""


class Interrupted(KeyboardInterrupt, Error):
    """Ctrl-C ended a run early. It is a ``KeyboardInterrupt`` as well."""

    #: Result of the run, which is INVALID; ``None`` if there is none.
    result: Optional[Result] = None


class BackendError(ValueError):
    """A backend that says or answers what cannot be."""


def error_of(kind: str, text: str, folder: Optional[os.PathLike[str] | str] = None) -> BaseException:
    """Returns the exception of this kind."""
    kinds: dict[str, type[BaseException]] = {
        one.__name__: one
        for one in (Error, SettingsError, PluginError, DataError, OutputError, BusyError, Interrupted)
    }
    error = kinds.get(kind, Error)(text)
    if isinstance(error, Error) and folder is not None:
        error.folder = os.fspath(folder)
    return error
