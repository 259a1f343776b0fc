"""The notebooks of the examples, executed cell by cell."""

import contextlib
import io
import json
import unittest
from pathlib import Path

from support import InFolder, needs_numpy

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def cells(notebook):
    """Returns the code of each cell."""
    document = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]


@needs_numpy
class Notebooks(InFolder):
    def test_the_first_run(self):
        notebook = EXAMPLES / "first_run.ipynb"
        namespace = {"__name__": "__main__"}
        self.enter()
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            for number, cell in enumerate(cells(notebook)):
                code = compile(cell, f"{notebook.name}, cell {number}", "exec")
                exec(code, namespace)  # noqa: S102
        self.assertTrue(namespace["result"].valid)
        self.assertIn("VALID", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
