"""Progress of a run, as the user sees it."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable, Optional, Union

#: ``True`` shows progress on ``sys.stderr``, ``False`` nothing. A function gets events as dictionaries: those that
#: ``host run --json`` prints, and ``message`` and ``answer`` with a ``text``.
Progress = Union[bool, Callable[[dict[str, Any]], object]]

Take = Callable[[str, str], None]


def plan(progress: Progress, shows_answers: bool) -> tuple[str, Optional[Take]]:
    """Returns the form of progress, and the function that takes kinds and texts."""
    if callable(progress):
        return "events", _events(progress)
    if not progress:
        return "nothing", None
    return ("view" if _is_terminal() else "lines"), _lines(shows_answers)


def _events(take: Callable[[dict[str, Any]], object]) -> Take:
    def took(kind: str, text: str) -> None:
        if kind in ("event", "verdict"):
            take(json.loads(text))
        elif kind in ("message", "answer"):
            take({"event": kind, "text": text.rstrip("\n")})

    return took


def _lines(shows_answers: bool) -> Take:
    def took(kind: str, text: str) -> None:
        # The last answer of a run is its verdict, which the result has.
        if kind in ("message", "progress") or (kind == "answer" and shows_answers):
            stream = sys.stderr
            if stream is not None:
                stream.write(text.rstrip("\n") + "\n")
                stream.flush()

    return took


def _is_terminal() -> bool:
    """Returns whether messages go to the terminal that the process has, and not to a notebook or a file."""
    try:
        return sys.stderr.isatty() and sys.stderr.fileno() == 2 and os.environ.get("TERM") != "dumb"
    except (AttributeError, OSError, ValueError):
        return False
