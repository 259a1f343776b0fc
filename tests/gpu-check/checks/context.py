"""Shared by all steps: where things are, how commands are run, and how a step ends."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional


class Missing(Exception):
    """Something that this machine does not have; nothing is wrong with the plugin."""


class Failed(Exception):
    """A command that failed, or an answer that is wrong."""


class TimedOut(Exception):
    """A command that took longer than its step may."""


@dataclass
class Step:
    """A row of the list of steps. `action` adds rows to the section's table."""

    section: str
    name: str
    limit_s: float
    action: Callable[["Context"], None]
    in_quick: bool = False

    @property
    def path(self) -> str:
        return f"{self.section}/{self.name}"


@dataclass
class Context:
    """Settings of the check, and the state of the step that runs."""

    package: Path
    output: Path
    plugin: str
    quick: bool
    double: Optional[Path]
    nvrtc: Optional[Path]
    environment: dict
    # Rows of a step that ran before, by its section and name.
    earlier: Callable[[str, str], list]
    rows: list = field(default_factory=list)
    commands: list = field(default_factory=list)
    step: Optional[Step] = None
    step_ends: float = 0.0

    def begin(self, step: Step, limit_s: float) -> None:
        """Makes everything ready for a step; its log is new."""
        self.step, self.step_ends = step, time.monotonic() + limit_s
        self.rows, self.commands = [], []
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")

    def add(self, *rows: dict) -> None:
        """Adds rows of plain values to the section's table. They stay if the step fails later."""
        self.rows += rows

    @property
    def log(self) -> Path:
        """The log file of the step."""
        return self.output / "logs" / (self.step.path.replace("/", "-") + ".log")

    def left_s(self) -> float:
        """Time that the step still has."""
        return self.step_ends - time.monotonic()

    def command(self, words: list, may_fail: bool = False) -> str:
        """Runs a command to its end within the time of the step and returns its stdout; stderr goes to the log.

        The command and all that it starts are killed when the time is up.
        """
        words = [str(word) for word in words]
        line = shlex.join(words)
        self.commands.append(line)
        with open(self.log, "a") as log:
            log.write(f"$ {line}\n")
            log.flush()
            left_s = self.left_s()
            if left_s <= 0:
                raise TimedOut("no time left for a further command")
            try:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    errors="replace",
                    env=self.environment,
                    cwd=self.output,
                    start_new_session=True,
                )
            except OSError as error:
                raise Missing(f"cannot start {words[0]}: {error.strerror}") from error
            try:
                stdout, _ = process.communicate(timeout=left_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                raise TimedOut(f"no end after {left_s:.0f} s") from None
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
            log.write(stdout)
            log.write(f"\n(exit code {process.returncode})\n")
        if process.returncode != 0 and not may_fail:
            raise Failed(f"exit code {process.returncode}: {self.last_words()}")
        return stdout

    def last_words(self) -> str:
        """The last line of the log that says what went wrong."""
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines()]
        # Of the last command: those before may fail.
        lines = lines[max((place for place, line in enumerate(lines) if line.startswith("$ ")), default=0) :]
        errors = [line for line in lines if line.lower().startswith("error")]
        raised = [line for line in lines if "Error: " in line]
        said = [line for line in lines if line and not line.startswith(("$ ", "(exit code"))]
        return ((errors or raised or said or ["it says nothing"])[-1])[:400]

    def probe(self, name: str, *arguments: object) -> dict:
        """Runs a script of the folder `probes` by this Python and returns the JSON that it prints as its last line."""
        script = Path(__file__).parent / "probes" / name
        stdout = self.command([sys.executable, script, *arguments])
        try:
            answer = json.loads(stdout.strip().splitlines()[-1])
        except (IndexError, json.JSONDecodeError):
            raise Failed(f"{name} prints no JSON") from None
        if "missing" in answer:
            raise Missing(answer["missing"])
        return answer

    @property
    def host(self) -> Path:
        """The program."""
        return self.package / "bin" / "host"

    def options(self, plugin: Optional[str] = None) -> list:
        """Options of a plugin, as flags: where its compiler is."""
        if (plugin or self.plugin) == "cuda" and self.nvrtc:
            return ["--set", f"cuda.nvrtc={self.nvrtc}"]
        return []

    def benchmark(self, name: str) -> str:
        """A benchmark by its name, or the file of a tiny one."""
        file = self.package / "benchmarks" / f"{name}.toml"
        return str(file) if file.is_file() else name
