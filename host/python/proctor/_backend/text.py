"""Names in messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def listed(names: Iterable[str]) -> str:
    """Returns names in quotes, separated by commas."""
    return ", ".join(f'"{name}"' for name in names)


def close(name: str, known: Iterable[str]) -> str:
    """Returns a question for the known name that an unknown one resembles; nothing if it resembles none."""
    near_names = get_close_matches(name, list(known), 1)
    return f', did you mean "{near_names[0]}"?' if near_names else ""


def near(name: str, known: Iterable[str]) -> str:
    """Returns a question for the known name that an unknown one resembles, or all known names."""
    names = list(known)
    return close(name, names) or f": there are {', '.join(names)}"
