"""Packs a folder into a wheel: ``pack.py FOLDER WHEEL``. The folder has everything but RECORD, which is written here."""

import base64
import hashlib
import pathlib
import sys
import zipfile

# The earliest time that a zip can have: the same files make the same wheel.
TIME = (1980, 1, 1, 0, 0, 0)


def main(folder: pathlib.Path, wheel: pathlib.Path) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    info = next(folder.glob("*.dist-info"))
    record = (info / "RECORD").relative_to(folder).as_posix()
    lines = []
    with zipfile.ZipFile(wheel, "w") as archive:

        def add(name: str, data: bytes, is_program: bool) -> None:
            member = zipfile.ZipInfo(name, TIME)
            member.external_attr = (0o100755 if is_program else 0o100644) << 16
            archive.writestr(member, data, zipfile.ZIP_DEFLATED)

        # By the format the files that describe the wheel come last.
        for path in sorted(files, key=lambda path: (info in path.parents, path)):
            name, data = path.relative_to(folder).as_posix(), path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}\n")
            add(name, data, bool(path.stat().st_mode & 0o100))
        lines.append(f"{record},,\n")
        add(record, "".join(lines).encode(), False)


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
