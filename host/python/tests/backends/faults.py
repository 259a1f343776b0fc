"""Exceptions that backends raise where a test asks for them."""

import sys


def end_by(fault):
    """Raises what ends an interpreter, if that is the fault."""
    if fault == "interrupt":
        raise KeyboardInterrupt
    if fault == "exit":
        sys.exit(3)
