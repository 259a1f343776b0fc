"""The report: gpu-check.json for programs and gpu-check.md for people, written anew after each step."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from pathlib import Path

SCHEMA_VERSION = 1

# Rows of a step that its table shows.
ROWS_MAX = 30

# Sections in their order, with the line that says what their table is about.
SECTIONS = {
    "machine": "What was run, and on what.",
    "correctness": "Accuracy runs: trained digits against labels, generated models against reference outputs in f64.",
    "sweeps": "Throughput and latency by batch size and instances. Stages are by the device's clock, means of a batch.",
    "scaling": "What the policies of `host scale` choose. The tail is the 95th percentile of the latency of a batch.",
    "peers": "The same work by other systems on this machine.",
    "ceilings": "What the device can do at most, and each call of a model: bytes are those of its operands and results.",
}


class Report:
    """All steps so far, those of earlier calls with the same folder included."""

    def __init__(self, folder: Path, head: dict):
        self.folder = folder
        self.head = head
        self.steps = []
        file = folder / "gpu-check.json"
        if file.is_file():
            earlier = json.loads(file.read_text())
            for key in ("schema_version", "double", "plugin"):
                here = SCHEMA_VERSION if key == "schema_version" else head[key]
                if earlier.get(key) != here:
                    raise SystemExit(
                        f"error: {file} is of another check ({key} is {earlier.get(key)}, not {here}): "
                        "name another folder by --output"
                    )
            self.steps = earlier["steps"]

    def add(self, record: dict) -> None:
        """Adds a step, in the place of an earlier one of its name, and writes both files."""
        same = lambda step: (step["section"], step["name"]) == (record["section"], record["name"])
        places = [place for place, step in enumerate(self.steps) if same(step)]
        if places:
            self.steps[places[0]] = record
        else:
            self.steps.append(record)
        self.write()

    def rows(self, section: str, name: str) -> list:
        """Rows of a step that ran before, none if it did not."""
        return [
            row for step in self.steps if (step["section"], step["name"]) == (section, name) for row in step["rows"]
        ]

    def write(self) -> None:
        """Writes both files; whoever reads them meanwhile sees the old ones or the new ones."""
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        whole = {"schema_version": SCHEMA_VERSION, **self.head, "written_at_utc": now, "steps": self.steps}
        self._replace("gpu-check.json", json.dumps(whole, indent=1) + "\n")
        self._replace("gpu-check.md", self.page())

    def _replace(self, name: str, text: str) -> None:
        partial = self.folder / (name + ".partial")
        partial.write_text(text)
        os.replace(partial, self.folder / name)

    def page(self) -> str:
        """The report for people: a table for each section."""
        title = f"# GPU check of the plugin {self.head['plugin']}\n"
        parts = [title]
        if self.head["double"]:
            parts.append("**On a double of the driver, not on a GPU: no figure here says anything about speed.**\n")
        for section, about in SECTIONS.items():
            steps = [step for step in self.steps if step["section"] == section]
            if steps:
                parts.append(f"## {section.capitalize()}\n\n{about}\n\n{table(steps)}")
        return "\n".join(parts)


def table(steps: list) -> str:
    """A table of steps: a line for each of their rows, or one for a step without."""
    lines = []
    for step in steps:
        common = {"device": step["device"], "step": step["name"], "status": step["status"]}
        rows = step["rows"] or [{}]
        for row in rows[:ROWS_MAX]:
            lines.append({**common, **row, "reason": row.get("reason", "")})
        if len(rows) > ROWS_MAX:
            lines.append({**common, "reason": f"{len(rows) - ROWS_MAX} more rows are in gpu-check.json"})
        if step["reason"]:
            lines[-1]["reason"] = "; ".join(filter(None, [lines[-1]["reason"], step["reason"]]))
    columns = list(dict.fromkeys(key for line in lines for key in line if key != "reason"))
    if any(line["reason"] for line in lines):
        columns.append("reason")
    text = [columns, ["---"] * len(columns)]
    text += [[shown(line.get(column)) for column in columns] for line in lines]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in text)


def shown(value: object) -> str:
    """A value as a cell of a table."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"
    return str(value).replace("|", "\\|").replace("\n", " ")
