"""The list of checksums beside the data."""

import hashlib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def write_checksums(folder=HERE):
    """Lists every file of a folder that is data, in the form of sha256sum."""
    made = (".idx1-ubyte", ".idx3-ubyte", ".json", ".onnx", ".safetensors", ".toml")
    files = [path for path in sorted(folder.iterdir()) if path.suffix in made]
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "checksums.sha256").write_text("".join(lines))
