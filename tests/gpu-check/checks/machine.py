"""Section machine: device, driver, Python packages, and the program with its libraries."""

from __future__ import annotations

import hashlib
import os
import platform
import site
import sys
from importlib import metadata
from pathlib import Path
from typing import Optional

from .context import Context, Missing, Step

# Libraries of CUDA that are of use to the plugin and its peers: the compiler, products and convolutions.
LIBRARIES = ("libnvrtc", "libcublasLt", "libcudnn")
PACKAGES = ("numpy", "torch", "torchvision", "onnxruntime", "onnxruntime-gpu", "tensorrt")
# Lines of `nvidia-smi -q` that say what limits a device.
SMI_LINES = (
    "Driver Version",
    "CUDA Version",
    "Product Name",
    "VBIOS Version",
    "MIG Mode",
    "Current Power Limit",
    "Persistence Mode",
    "ECC Mode",
    "Compute Mode",
    "Graphics",
    "SM ",
    "Memory",
    "Performance State",
    "Temp",
    "PCIe Generation",
    "Link Width",
)


def steps() -> list:
    return [
        Step("machine", "device", 60, device, in_quick=True),
        Step("machine", "nvidia-smi", 60, nvidia_smi, in_quick=True),
        Step("machine", "libraries", 60, libraries, in_quick=True),
        Step("machine", "python", 60, python, in_quick=True),
        Step("machine", "program", 60, program, in_quick=True),
    ]


def add(context: Context, what: str, value: object) -> None:
    context.add({"what": what, "value": value})


def device(context: Context) -> None:
    """The devices of the driver, and the system around them."""
    add(context, "system", f"{platform.platform()}, {' '.join(platform.libc_ver())}")
    add(context, "processors", os.cpu_count())
    if context.plugin != "cuda":
        add(context, "device", f"that of the plugin {context.plugin}")
        return
    found = context.probe("driver.py")
    add(context, "driver is for CUDA", found["cuda"])
    for number, it in enumerate(found["devices"]):
        memory = f"{it['memory_bytes'] / 2**30:.1f} GiB"
        add(context, f"device {number}", f"{it['name']}, capability {it['capability']}, {memory}, {it['uuid']}")


def nvidia_smi(context: Context) -> None:
    """Lines of `nvidia-smi -q` about limits; all of it is in the log."""
    if context.double:
        raise Missing("a double has no nvidia-smi")
    lines = context.command(["nvidia-smi", "-q"]).splitlines()
    pairs = [line.split(":", 1) for line in lines if ":" in line and line.strip().startswith(SMI_LINES)]
    # The first of a name is that of the first device.
    values = {}
    for name, value in pairs:
        values.setdefault(name.strip(), value.strip())
    for name, value in values.items():
        if value not in ("N/A", ""):
            add(context, name, value)


def library_folders() -> list:
    """Folders that may have libraries of CUDA: those of Python's packages, then the toolkit's."""
    places = dict.fromkeys([*sys.path, *site.getsitepackages(), site.getusersitepackages()])
    packages = [Path(place) for place in places if place and os.path.isdir(place)]
    folders = [folder for place in packages for folder in sorted(place.glob("nvidia/*/lib"))]
    folders += sorted(Path("/usr/local").glob("cuda*/lib64"))
    folders.append(Path(f"/usr/lib/{platform.machine()}-linux-gnu"))
    return folders


def find_library(name: str) -> list:
    """All files of a library, those of Python's packages first."""
    files = [file for folder in library_folders() for file in sorted(folder.glob(f"{name}.so.*")) if file.is_file()]
    return [file for file in files if "alt" not in file.name]


def find_nvrtc(major: str) -> Optional[Path]:
    """The folder of the compiler, of this major version of CUDA if there is one: a driver may refuse code of a newer."""
    files = find_library("libnvrtc")
    fitting = [file for file in files if file.name.startswith(f"libnvrtc.so.{major}")]
    return (fitting or files)[0].parent if files else None


def libraries(context: Context) -> None:
    """Where the libraries of CUDA are; the compiler is what the plugin cannot do without."""
    for name in LIBRARIES:
        files = find_library(name)
        add(context, name, ", ".join(map(str, files[:3])) or "not there")
    add(context, "cuda.nvrtc", str(context.nvrtc or "not set: the system's"))
    if context.plugin == "cuda":
        found = context.probe("libraries.py", *([context.nvrtc] if context.nvrtc else []))
        for what, name in (("products", "cuBLASLt"), ("convolutions", "cuDNN")):
            version = found[name.lower()]
            add(context, f"{what} of the plugin", f"{name} {version}" if version else f"own kernels: no {name}")


def python(context: Context) -> None:
    """This Python and its packages that compute."""
    add(context, "python", platform.python_version())
    for name in PACKAGES:
        try:
            add(context, name, metadata.version(name))
        except metadata.PackageNotFoundError:
            add(context, name, "not there")


def program(context: Context) -> None:
    """Version of the program, and digests of what runs."""
    add(context, "host --version", context.command([context.host, "--version"]).strip())
    for file in sorted([*context.package.glob("bin/*"), *context.package.glob("lib/proctor/*.so")]):
        add(context, f"sha256 of {file.name}", hashlib.sha256(file.read_bytes()).hexdigest())
